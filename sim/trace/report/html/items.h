/* What the timeline of a page shows: passes and idle time by row. */
#ifndef MS_REPORT_HTML_ITEMS_H
#define MS_REPORT_HTML_ITEMS_H

#include "trace/report/html/slack.h"
#include "trace/report/rows.h"

/* A trace being made into a page. */
typedef struct ms_page {
    const ms_trace *trace;
    ms_shown_rows rows;
    ms_slack slack;
    ms_arena *arena;
    ms_buffer *json; /* the page's data so far */
} ms_page;

/* Items that a page holds at most; rows are left out, evenly, until they fit. */
enum { MS_PAGE_ITEMS_MAX = 400000 };
/* Where there are no more than so many, waiting inside passes is among them. */
enum { MS_PAGE_PARTS_MAX = 150000 };

/* Codes of idle items: these and a category of time, or the one behind them for idle time whose
 * cause the trace does not hold. */
enum { MS_PAGE_IDLE = 32 };
/* Codes are below it; a code and so many times the marks of an item are one number. */
enum { MS_PAGE_CODES = 64 };

/* Append `"items":{...}`: their count, how many each row has, and columns of numbers (encode.h), by
 * row and start: of all items, of passes (slack, waiting, microbatch, chunk), and of idle time
 * (what it waits for).  May leave rows out of page->rows.  Returns MS_OK; MS_E_NOMEM; MS_E_RANGE as
 * ms_idle_phases_find.  O(events log events). */
ms_status ms_page_put_items(ms_page *page);

#endif
