/* Periods of a run that a trace holds once, and that the run repeats. */
#ifndef MS_TRACE_REPEAT_H
#define MS_TRACE_REPEAT_H

#include "base/arena.h"
#include "base/status.h"
#include "simulate/engine/engine.h"
#include "trace/trace.h"

/* Length of the text that names the repeated periods of a run. A trace holds the operations of such
 * a period once. Each operation that begins in the period began again one period later, with a
 * microbatch that is higher by `mbs`, and so on, `times` times. The periods in the text, and the
 * operations behind the repetitions, have their true dates. */
enum { MS_TRACE_REPEAT_TEXT_B = 112 * MS_STRETCHES_MOST };

/* Write the text as the attribute fast_forwarded of /events holds it.  Returns text_out. */
char *ms_trace_repeat_write(const ms_steady *repeat, char *text_out, size_t size);
/* Read the text; "" names no period.  Returns whether the text is sound. */
bool ms_trace_repeat_read(const char *text, ms_steady *repeat_out);

/* Give a trace every operation, in the order of their starts, and every point of memory.
 *  trace: as its file has it, with starts and streams of its events; arrays in `arena`.  Returns
 * MS_OK; MS_E_NOMEM; MS_E_INPUT where that are more than 2^30 events, or some lie behind the run's
 * end (neither reported). O(n log n) for n events. */
ms_status ms_trace_repeat_apply(const ms_steady *repeat, ms_arena *arena, ms_trace *trace);

#endif
