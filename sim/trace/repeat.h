/**
 * @file
 * Repeated periods of a run. Where a part of a step repeats itself (fast-forward), the trace holds
 * the first period only; a reader adds the copies of its events. */
#ifndef MS_TRACE_REPEAT_H
#define MS_TRACE_REPEAT_H

#include "base/arena.h"
#include "base/status.h"
#include "simulate/engine/engine.h"
#include "trace/trace.h"

/** Size of the text that describes the repeated periods of a run. Each operation that starts in
 * such a period starts again one period later, with a microbatch that is higher by `mbs`, and so
 * on, `times` times. Periods in the text, and operations after the repetitions, have the times of
 * the run. */
enum { MS_TRACE_REPEAT_TEXT_B = 112 * MS_REPEATED_PERIODS_MAX };

/** Write the text for the attribute fast_forwarded of /events.  repeat: with the times of the
 * timeline, in which repetitions take no time.  text_out: [size].  Returns text_out. */
char *ms_trace_repeat_write(const ms_steady *repeat, char *text_out, size_t size);
/** Read the text; "" stands for no period.  Returns whether the text is sound. */
bool ms_trace_repeat_read(const char *text, ms_steady *repeat_out);

/** Number of later copies of an event or point of memory of the file that starts at `start_ps`. */
int32_t ms_trace_repeat_copies(const ms_repeated_period *repeat, int64_t start_ps);

/** By how much a copy is later than the event or point of the file [ps]. */
int64_t ms_trace_repeat_shift_ps(const ms_repeated_period *repeat, int32_t copy);

/** Add the copies of all repeated events and points of memory to a trace, and sort its events by
 * start. A run of more than `passes_above` events gets one event per pass, as MS_TRACE_MERGED says.
 * A trace without events is not changed, nor is one with no copies and too few events.
 *  most: maximum number of events, and of points of memory.  trace: as read from the file; its new
 * arrays are in `arena`.  Returns MS_OK; MS_E_NOMEM, also for more than `most`; MS_E_INPUT if there
 * are more than 2^30 events, or some end after the run (neither reported).  O(n log n) for n events
 * of the file, O(events). */
ms_status ms_trace_repeat_apply(const ms_steady *repeat, int32_t passes_above, int32_t most,
                                ms_arena *arena, ms_trace *trace);

/** Sort events by start, then by index.  Returns the indices, [count] in `arena`; NULL when memory
 * runs out.  O(count) where the events are sorted, else O(count log count). */
int32_t *ms_trace_events_sort(const ms_trace_event *events, int32_t count, ms_arena *arena);

/* ---- passes ---- */

/** A pass of a compute stream that may go on. */
typedef struct ms_open_pass {
    int32_t row; /**< its event or box, as its owner counts; -1: there is no open pass */
    int32_t mb;
    int16_t stage, step;
    uint8_t kind; /**< ms_op_kind; that of a backward pass follows its recomputation */
} ms_open_pass;

/** The computations of a stream so far. Operations of an overlapped pair alternate, so that two
 * passes are open. */
typedef struct ms_open_stream {
    int64_t end_ps; /**< end of its last computation; set by the owner */
    ms_open_pass passes[2];
    int last; /**< index of the open pass that ran last */
} ms_open_stream;

/** Allocate `count` streams without open passes; NULL when memory runs out. */
ms_open_stream *ms_open_streams_new(ms_arena *arena, int32_t count);

/** Index of the open pass with which a computation goes on, of the same stage, microbatch, step and
 * kind; -1: it begins a pass.  event: of it mb, stage, step and kind are used. */
int ms_open_stream_find(const ms_open_stream *stream, const ms_trace_event *event);

/** Add a computation to the pass with which it goes on, or to a new one, which replaces the older
 * open one and gets `row`.  Returns the row of the pass. */
int32_t ms_open_stream_add(ms_open_stream *stream, const ms_trace_event *event, int32_t row);

#endif
