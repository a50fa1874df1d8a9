/**
 * @file
 * Reports: what people look at, made from a trace or from a schedule on paper (or, for the Gantt
 * picture, from any list of boxes).
 */
#ifndef MESHSIM_REPORT_H
#define MESHSIM_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/diag.h"
#include "base/event.h"
#include "base/status.h"
#include "base/value.h"
#include "schedule/schedule.h"
#include "trace/trace.h"

/** A box in a row of a Gantt picture. */
typedef struct ms_gantt_box {
    double start; /**< in the picture's time unit */
    double end;
    double waited; /**< of a pass of a trace: time inside it in which its rank computes nothing */
    double slack;  /**< of a pass of a trace: least slack of its computations; 0: not known */
    int32_t row;   /**< 0..rows-1 */
    int32_t mb;    /**< number written into it: microbatch, or microbatch * slices + slice; -1 none
                    */
    int16_t chunk; /**< shade, 0: full colour; later chunks, or the other direction, are paler */
    int16_t step;  /**< optimizer step, each with phases of its own; steps of a row follow one
                      another */
    uint8_t kind;  /**< ms_op_kind: colour; communication kinds are exposed communication */
    uint8_t axis;  /**< ms_axis of exposed communication, else MS_AXIS_NONE */
    uint8_t half;  /**< 0: as high as the row; 1: its upper, 2: its lower half (passes that run
                      together) */
    bool is_part;  /**< drawn as a strip inside the box around it: recomputation, communication */
    bool is_foreign; /**< waiting for communication of other ranks while the row's own rank has none
                        of that axis: paler */
} ms_gantt_box;

/** A level of a row's memory curve. */
typedef struct ms_gantt_level {
    double start; /**< holds from here to the row's next level or the picture's end */
    double level; /**< >= 0 */
} ms_gantt_level;

/** The memory of the rows over time, which is drawn as curves below the rows. Before its first
 * level a row holds 0. */
typedef struct ms_gantt_memory {
    const char *name;             /**< heading of the curves, such as "memory per rank" */
    const ms_gantt_level *levels; /**< by row, then start; levels of one start: the last holds */
    const size_t *row_first;      /**< [rows + 1] row r's levels are row_first[r] .. row_first[r+1]
                                   */
    double limit;                 /**< capacity, drawn where it is near; 0: none */
    bool has_bytes;               /**< levels are bytes; else a number */
} ms_gantt_memory;

/** A Gantt picture. All arrays are borrowed. */
typedef struct ms_gantt {
    const char *title;
    const char *subtitle;          /**< NULL: none */
    const char *caption;           /**< a line below it where pictures are stacked; NULL: none */
    const char *const *row_labels; /**< [rows] */
    int32_t rows;
    const ms_gantt_box *boxes; /**< [box_count], any order; within a (half) row they do not overlap,
                                  parts aside */
    size_t box_count;
    const ms_gantt_memory *memory; /**< NULL: none */
    int32_t slices;                /**< of a sequence per microbatch; up to 1: whole ones */
    bool has_directions;           /**< chunks are the directions of the pipeline */
    double end;                    /**< end of the picture, > 0 */
    bool has_seconds;              /**< times are seconds; else an abstract unit */
} ms_gantt;

/** Most pictures that are stacked. */
#define MS_GANTT_PICTURES_MAX 8

/** Append Gantt pictures as SVG 1.1: passes, idle time by phase, the memory curves.  Several are
 * stacked on one time axis, from 0 to the latest end, each with its distance to the shortest.
 * Where boxes of one of them would be too narrow to see, each row of all shows how the time is
 * shared among kinds of passes, in a single picture with three excerpts beside, so that the size
 * stays below 3 MB for any number of boxes. gantts: [count], count in 1..MS_GANTT_PICTURES_MAX, all
 * with the same kind of time unit. Returns MS_OK; MS_E_RANGE when a box has no row or a bad time, a
 * level is negative, or a picture takes no time, nothing appended; MS_E_NOMEM.  O(boxes log boxes +
 * levels). */
ms_status ms_gantt_write_svg(const ms_gantt *gantts, size_t count, ms_buffer *out);

/** The ranks of a trace that have a row of their own. */
typedef enum ms_gantt_rows {
    MS_GANTT_PIPELINE_RANKS, /**< for each pipeline rank its rank that stands for most ranks, of
                                several such ranks the lowest; of a trace of listed ranks
                                (MS_TRACE_RANKS) each rank */
    MS_GANTT_EVERY_RANK,     /**< each rank of which the trace holds operations */
} ms_gantt_rows;

/** Make the picture of a trace: a row per pipeline rank; a box per pass, of half the height while
 * two passes are under way; a box where a rank waits for communication that is on the chain of
 * causes; memory in bytes.
 *  trace: with every column; the picture does not borrow it.  rows: the ranks that are shown.
 * *gantt_out: in `arena`.  Returns MS_OK; MS_E_NOMEM.  O(events log events). */
ms_status ms_gantt_from_trace(const ms_trace *trace, ms_gantt_rows rows, ms_arena *arena,
                              ms_gantt *gantt_out);

/** An evaluated schedule that is drawn.  All is borrowed. */
typedef struct ms_drawn_schedule {
    const ms_program *program;
    const ms_schedule_result *result;
    const char *unit; /**< unit of the microbatches in flight: "per stage", or a unit that several
                         schedules share */
    double share;     /**< number of these units for one microbatch of one stage */
} ms_drawn_schedule;

/** Make the picture of an evaluated schedule: one row per pipeline rank, each pass a box (two half
 * as high where they run together), microbatches in flight as memory, time without a unit.
 *  *gantt_out: in `arena`.  Returns MS_OK; MS_E_NOMEM.  O(actions log actions). */
ms_status ms_gantt_from_schedule(const ms_drawn_schedule *drawn, ms_arena *arena,
                                 ms_gantt *gantt_out);

/** Append a picture of an evaluated schedule in characters: a line per rank with at most `width`
 * columns. Where all passes have room each is written with its microbatch; else each column shows
 * the kind of pass that takes most of its time. Nothing is appended if the schedule takes no time.
 * width: >= 40.  O(actions + ranks * width). */
void ms_schedule_write_text(const ms_program *program, const ms_schedule_result *result, int width,
                            ms_buffer *out);

/** A function that receives a report chunk by chunk.  text: [length].  Returns MS_OK, or a status
 * that ends the report. */
typedef ms_status (*ms_report_sink)(void *context, const char *text, size_t length);

/** Write a trace in Chrome's trace event format (JSON object form), which Perfetto opens too: a
 * process per simulated rank, a thread per stream, flow arrows for point-to-point messages, a
 * counter for memory.  Above MS_TRACE_OPERATIONS_MAX events the operations of a pass are merged and
 * collectives inside it left out; otherData.detail says which.
 *  trace: with every column.  Returns MS_OK; MS_E_NOMEM; MS_E_BUG where times contradict causes,
 * nothing written; what the sink returns.  O(events log events), streamed in chunks of at most 64
 * KiB.
 *  Source: Trace Event Format, Google, sections JSON Object Format, Complete, Counter, Flow and
 * Metadata events. */
ms_status ms_chrome_write(const ms_trace *trace, ms_report_sink sink, void *context);

/** Append a trace to the data of a page, as JSON; its figures stand there as they are in the trace.
 *  trace: with every column and MS_TRACE_TABLES; one of level summary gives a page without a
 * timeline.  rows: of the timeline; above 400,000 passes and idle times every second one is left
 * out until they fit.  differences: in words, from the first trace of the page; NULL: it is the
 * first.  Returns MS_OK; MS_E_RANGE where the trace contradicts itself or takes no time;
 * MS_E_NOMEM.  O(events log events). */
ms_status ms_page_put_trace(const ms_trace *trace, ms_gantt_rows rows, const char *differences,
                            ms_buffer *json);

/** Append the page of a trace, or of several side by side: one HTML file that a browser opens from
 * disk.  It makes no request: its Content-Security-Policy allows its own style and script, by their
 * hashes, and nothing else.
 *  traces: the data of `count` traces, of ms_page_put_trace.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_page_write_traces(const ms_buffer *traces, const char *title, size_t count,
                               ms_buffer *out);

/** A file that a page keeps, so that its reader can make it again. */
typedef struct ms_page_input {
    const char *name; /**< without folders */
    const char *text; /**< [length], NUL behind it */
    size_t length;
    bool is_left_out; /**< too large for a page, which holds only the digest of the text */
} ms_page_input;

/** The results of a study or a comparison.  All is borrowed. */
typedef struct ms_page_results {
    const char *kind;            /**< the command: "search", "sweep", "compare" or "validate" */
    const char *title;           /**< title of the page, such as the workload's name */
    const char *subject;         /**< first operand of the command line: of a search its workload */
    const char *command;         /**< the command line, as a shell reads it */
    const char *version;         /**< of the program */
    const ms_value *tree;        /**< the tree that the command prints with --json */
    const ms_page_input *inputs; /**< [input_count] */
    size_t input_count;
} ms_page_results;

/** Append the page of a search, a sweep, a comparison, a validation or a replay: one HTML file that
 * needs no other file, like the page of traces (ms_page_write_traces). Its script draws the tree of
 * results, which the file contains as JSON.  Returns MS_OK; MS_E_NOMEM.  O(tree). */
ms_status ms_page_write_results(const ms_page_results *results, ms_buffer *out);

/** Whether a file's name has an ending such as ".svg", in any case of letters. */
bool ms_report_has_ending(const char *path, const char *ending);

/** Another program that reads a text and writes another one. */
typedef struct ms_filter {
    const char *const *words; /**< the program, which is looked for in PATH, and its arguments; NULL
                                 behind the last */
    const char *text;         /**< [length] what the program reads from its standard input */
    size_t length;
    ms_buffer *said; /**< gets the standard error of the program; NULL: it goes to the standard
                        error of this process */
} ms_filter;

/** Run another program and wait until it has ended; it ends, too, when this process does.
 *  out: gets what the program writes to its standard output.  *exit_out: its exit code; -1: a
 * signal ended it; 127: it could not be started.  Returns false, and errno says why, where the
 * system fails; lack of memory shows in the buffers. */
bool ms_filter_run(const ms_filter *filter, ms_buffer *out, int *exit_out);

/** Write a picture, or any other text, to a file, whole or not at all: to a name in .png (with
 * two pixels for each unit) or .pdf by the program rsvg-convert, else as it is.
 *  svg: [length] of a name in .png or .pdf, SVG.  Returns MS_OK; MS_E_IO (reported), also without
 * that program, an older file stays as it was; MS_E_NOMEM (reported). */
ms_status ms_picture_write(const char *path, const char *svg, size_t length, ms_diag *diag);

/** Write the report of traces to a file. The ending of the file's name chooses the form: .svg, .png
 * and .pdf stack the timelines of the traces, with a line below each but the first that says which
 * inputs differ from those of the first; .html makes a page that sets several traces side by side;
 * .json makes a file for trace viewers of a single trace, .json.gz the same compressed. A name
 * without these endings, such as '-' for the standard output, gets SVG. The traces are read one
 * after the other.  traces: [count] paths, count >= 1.  rows: of pictures and pages.
 * training_tokens: a page also says what a training of so many tokens takes; 0: not. Returns MS_OK;
 * MS_E_USAGE (reported) for too many traces; MS_E_INPUT and MS_E_IO as ms_trace_read; MS_E_IO
 * (reported) when the report cannot be written, an older file stays as it was; MS_E_NOMEM. */
ms_status ms_report_write(const char *const *traces, size_t count, ms_gantt_rows rows,
                          double training_tokens, const char *path, ms_diag *diag);

#endif
