/* Repeated periods of a run. Where a part of a step repeats itself (fast-forward), the trace holds
 * the first period only; a reader adds the copies of its events. */
#ifndef MS_TRACE_REPEAT_H
#define MS_TRACE_REPEAT_H

#include "base/arena.h"
#include "base/status.h"
#include "simulate/engine/engine.h"
#include "trace/trace.h"

/* Size of the text that describes the repeated periods of a run. Each operation that starts in such
 * a period starts again one period later, with a microbatch that is higher by `mbs`, and so on,
 * `times` times. Periods in the text, and operations after the repetitions, have the times of the
 * run. */
enum { MS_TRACE_REPEAT_TEXT_B = 112 * MS_REPEATED_PERIODS_MAX };

/* Write the text for the attribute fast_forwarded of /events.  repeat: with the times of the
 * timeline, in which repetitions take no time.  text_out: [size].  Returns text_out. */
char *ms_trace_repeat_write(const ms_steady *repeat, char *text_out, size_t size);
/* Read the text; "" stands for no period.  Returns whether the text is sound. */
bool ms_trace_repeat_read(const char *text, ms_steady *repeat_out);

/* Number of later copies of an event or point of memory of the file that starts at `start_ps`. */
int32_t ms_trace_repeat_copies(const ms_repeated_period *repeat, int64_t start_ps);

/* By how much a copy is later than the event or point of the file [ps]. */
int64_t ms_trace_repeat_shift_ps(const ms_repeated_period *repeat, int32_t copy);

/* Whether a computation of the kind `kind` goes on with a pass of the kind `open_kind`, if stage,
 * microbatch and step are the same. Recomputation belongs to the backward pass that follows it. */
bool ms_trace_is_one_pass(uint8_t open_kind, uint8_t kind);

/* Add the copies of all repeated events and points of memory to a trace, and sort its events by
 * start. A run of more than `passes_above` events gets one event per pass, as MS_TRACE_MERGED says.
 * A trace without events is not changed, nor is one with no copies and too few events.
 *  most: maximum number of events with all copies.  trace: as read from the file; its new arrays
 * are in `arena`.  Returns MS_OK; MS_E_NOMEM; MS_E_INPUT if there are more than `most` events, or
 * some end after the run (neither reported).  O(n log n) for n events of the file, O(events). */
ms_status ms_trace_repeat_apply(const ms_steady *repeat, int32_t passes_above, int32_t most,
                                ms_arena *arena, ms_trace *trace);

#endif
