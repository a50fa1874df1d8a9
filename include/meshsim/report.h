/**
 * @file
 * Reports: what people look at, made from a trace (or, for the Gantt picture, from any list of
 * boxes), and the comparison of two result trees.
 */
#ifndef MESHSIM_REPORT_H
#define MESHSIM_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meshsim/arena.h"
#include "meshsim/buffer.h"
#include "meshsim/diag.h"
#include "meshsim/event.h"
#include "meshsim/status.h"
#include "meshsim/trace.h"
#include "meshsim/value.h"

/** A piece of a row of a Gantt picture. */
typedef struct ms_gantt_box {
    double start; /**< in the picture's time unit */
    double end;
    int32_t row;   /**< 0..rows-1 */
    int32_t mb;    /**< number written into it, -1 none */
    int16_t chunk; /**< shade, 0: full colour */
    uint8_t kind;  /**< ms_op_kind: colour; communication kinds are exposed communication */
    uint8_t axis;  /**< ms_axis of exposed communication, else MS_AXIS_NONE */
    uint8_t half;  /**< 0: as high as the row; 1: its upper, 2: its lower half (passes that run
                      together) */
    bool is_part;  /**< drawn as a strip inside the box around it: recomputation, communication */
} ms_gantt_box;

/** A share of the whole, for the bar under the title. */
typedef struct ms_gantt_share {
    const char *name;
    double share; /**< 0..1 */
    uint8_t kind; /**< colour, as in a box */
    bool is_idle; /**< white, whatever the kind */
} ms_gantt_share;

/** A Gantt picture. All arrays are borrowed. */
typedef struct ms_gantt {
    const char *title;
    const char *subtitle;          /**< NULL: none */
    const char *const *row_labels; /**< [rows] */
    int32_t rows;
    const ms_gantt_box *boxes; /**< [box_count], any order; within a (half) row they do not overlap,
                                  parts aside */
    size_t box_count;
    const ms_gantt_share *shares; /**< [share_count] */
    size_t share_count;
    double end;       /**< right edge, > 0 */
    bool has_seconds; /**< times are seconds; else an abstract unit */
} ms_gantt;

/** Append a Gantt picture as SVG 1.1.  Where boxes would be too narrow to see, an overview with
 * mean colours and three excerpts take the place of the one panel, so that the size stays below 3
 * MB for any number of boxes.  Returns MS_OK; MS_E_RANGE when a box has no row or a bad time,
 * nothing appended; MS_E_NOMEM.  O(boxes log boxes). */
ms_status ms_gantt_write_svg(const ms_gantt *gantt, ms_buffer *out);

/** Make the picture of a trace: one row per simulated rank, the operations of a pass merged into
 * one box, waiting for communication shown where it is on the chain of causes.
 *  trace: with every column.  *gantt_out: in `arena`.  Returns MS_OK; MS_E_NOMEM.  O(events). */
ms_status ms_gantt_from_trace(const ms_trace *trace, ms_arena *arena, ms_gantt *gantt_out);

/** Events above which a Chrome trace shows passes instead of single operations [count]. */
#define MS_CHROME_EVENTS_MAX 200000

/** Takes the next piece of a report.  Returns MS_OK, or the status that ends the report. */
typedef ms_status (*ms_report_sink)(void *context, const char *text, size_t length);

/** Write a trace in Chrome's trace event format (JSON object form), which Perfetto opens too: a
 * process per simulated rank, a thread per stream, flow arrows for point-to-point messages, a
 * counter for memory.  Above MS_CHROME_EVENTS_MAX events the operations of a pass are merged and
 * collectives inside it left out; otherData.detail says which.
 *  trace: with every column.  Returns MS_OK; MS_E_NOMEM; what the sink returns.  O(events log
 * events), streamed in pieces of at most 64 KiB.
 *  Source: Trace Event Format, Google, sections JSON Object Format, Complete, Counter, Flow and
 * Metadata events. */
ms_status ms_chrome_write(const ms_trace *trace, ms_report_sink sink, void *context);

/** Write the report of a trace to a file, by the ending of its name: .svg or .json.
 *  Returns MS_OK; MS_E_USAGE for another ending (reported with what is possible); MS_E_IO
 * (reported, an older file stays as it was); MS_E_NOMEM. */
ms_status ms_report_write(const ms_trace *trace, const char *path, ms_diag *diag);

/** Check the ending of a report's name and that it could be written.  Returns as ms_report_write.
 */
ms_status ms_report_check_target(const char *path, ms_diag *diag);

/** How far quantities may differ. */
typedef struct ms_tolerance {
    const char
        *key; /**< dotted path; holds for it and all below it, "" for all; the longest wins */
    double relative; /**< |a - b| / max(|a|, |b|), >= 0 */
} ms_tolerance;

/** A quantity that differs. */
typedef struct ms_difference {
    const char *key;   /**< dotted path, such as "time_share.compute" or "stages[2].peak_B" */
    const ms_value *a; /**< NULL: only in b */
    const ms_value *b; /**< NULL: only in a */
    double relative;   /**< (b - a) / |a|; INFINITY where that is no number */
} ms_difference;

/** The outcome of a comparison; in the arena of ms_compare. */
typedef struct ms_comparison {
    ms_difference *differences; /**< [count], largest first */
    size_t count;
    size_t compared; /**< quantities looked at */
} ms_comparison;

/** Compare two result trees.  Wall time, the program's memory use, versions and paths are left out.
 * Numbers differ when |a - b| > t * max(|a|, |b|, 1e-9) with the tolerance t of their key; texts,
 * truth values and what is missing on one side always differ.
 *  tolerances: [count].  *comparison_out: in `arena`.  Returns MS_OK; MS_E_NOMEM.
 *  O(values * tolerances). */
ms_status ms_compare(const ms_value *a, const ms_value *b, const ms_tolerance *tolerances,
                     size_t count, ms_arena *arena, ms_comparison *comparison_out);

#endif
