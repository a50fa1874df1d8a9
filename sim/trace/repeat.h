/* Operations that a trace holds once, and that happened again and again. */
#ifndef MS_TRACE_REPEAT_H
#define MS_TRACE_REPEAT_H

#include "base/arena.h"
#include "base/status.h"
#include "simulate/engine/engine.h"
#include "trace/trace.h"

/* Text of the stretches of a run that its trace holds once each: what begins in one began again a
 * period later, `mbs` microbatches on, and so on. What lies behind has its own dates already, and
 * so have the stretches in the text, and in what is read of it. */
enum { MS_TRACE_REPEAT_TEXT_B = 112 * MS_STRETCHES_MOST };

/* Write it, as the attribute fast_forwarded of /events has it.  Returns text_out. */
char *ms_trace_repeat_write(const ms_steady *repeat, char *text_out, size_t size);
/* Read it; "" gives none.  Returns whether it is sound. */
bool ms_trace_repeat_read(const char *text, ms_steady *repeat_out);

/* Give a trace every operation, in the order of their starts, and every point of memory.
 *  trace: as its file has it, with starts and streams of its events; arrays in `arena`.  Returns
 * MS_OK; MS_E_NOMEM; MS_E_INPUT where that are more than 2^30 events, or some lie behind the run's
 * end (neither reported). O(n log n) for n events. */
ms_status ms_trace_repeat_apply(const ms_steady *repeat, ms_arena *arena, ms_trace *trace);

#endif
