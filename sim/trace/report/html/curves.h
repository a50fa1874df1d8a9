/* What lies under the timeline of a page: memory of the rows, and what is sent along each axis. */
#ifndef MS_REPORT_HTML_CURVES_H
#define MS_REPORT_HTML_CURVES_H

#include "trace/report/html/items.h"

/* Points of memory that a page holds at most; above, of each row the highest level of equal
 * stretches of time. */
enum { MS_PAGE_POINTS_MAX = 100000 };

/* Stretches of time in which sent bytes are counted. */
enum { MS_PAGE_BINS = 4096 };

/* Append `"memory":{...}`: points of each row and their columns (encode.h).  O(points). */
void ms_page_put_memory(const ms_page *page);

/* Append `"sent":{...}`: of each axis that is used what a GPU sends, the mean over all, in each of
 * MS_PAGE_BINS equal stretches of the run, as floats [B/s].  Returns MS_OK; MS_E_NOMEM.  O(events +
 * stretches that they cover). */
ms_status ms_page_put_sent(const ms_page *page);

#endif
