/* What repeats in the steady phase of a picture. */
#ifndef MS_REPORT_GANTT_PERIOD_H
#define MS_REPORT_GANTT_PERIOD_H

#include "trace/report/gantt_sorted.h"

/* Find the period of a picture whose boxes are sorted and whose steady phases are known.
 * *period_out: written on success only.  Returns MS_OK; MS_E_NOMEM.  O(boxes of a row). */
ms_status ms_gantt_find_period(const ms_gantt_sorted *sorted, ms_arena *arena,
                               ms_gantt_period *period_out);

#endif
