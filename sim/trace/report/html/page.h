/* What pages are made of: the template, columns of numbers, slack, and the parts of a timeline. */
#ifndef MS_REPORT_HTML_PAGE_H
#define MS_REPORT_HTML_PAGE_H

#include "trace/report/passes.h"

/* A text of sim/trace/report/html that the build put into the program. */
typedef struct ms_page_text {
    const char *text; /* [length], NUL behind it */
    size_t length;
} ms_page_text;

/* Made by the build of page.html, of page.css, and of the scripts of each sort of page, one behind
 * the other. */
extern const ms_page_text MS_PAGE_TEMPLATE;
extern const ms_page_text MS_PAGE_STYLE;
extern const ms_page_text MS_PAGE_TRACE_SCRIPT;
extern const ms_page_text MS_PAGE_RESULTS_SCRIPT;

/* What is put into the template. */
typedef struct ms_page_parts {
    const ms_buffer *json; /* the page's data */
    const ms_page_text *script;
    const char *title;
} ms_page_parts;

/* Append a page.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_page_put(const ms_page_parts *parts, ms_buffer *out);

/* Append `"key":value,` of an object. */
void ms_page_put_string(ms_buffer *json, const char *key, const char *text);
void ms_page_put_tree(ms_buffer *json, const char *key, const ms_value *tree);

/* Append an input as an object: its name, digest and text. */
void ms_page_put_input(ms_buffer *json, const ms_page_input *input);

/* ---- columns of numbers ---- */

/* Append a number in pieces of seven bits, the lowest first, with the eighth bit set in all but the
 * last.  Source: Protocol Buffers, Encoding, base 128 varints. */
void ms_varint_put(ms_buffer *out, uint64_t number);

/* The same of a number with a sign: 0, -1, 1, -2 ... become 0, 1, 2, 3 ... */
void ms_varint_put_signed(ms_buffer *out, int64_t number);

/* Append bytes as base64 with padding.  Source: RFC 4648, section 4. */
void ms_base64_write(const void *bytes, size_t length, ms_buffer *out);

/* Append `"name":"..."` with the column's bytes as base64, and a comma before it unless it is the
 * first of its object.  The column is released; its failure becomes that of `json`. */
void ms_column_write(const char *name, ms_buffer *column, ms_buffer *json);

/* ---- slack ---- */

/* A stretch of the critical path on one rank. */
typedef struct ms_path_piece {
    int64_t start_ps, end_ps;
    int32_t rank_index;
} ms_path_piece;

typedef struct ms_slack {
    const int64_t *slack_ps; /* [events] by how much the event could end later while the run ends at
                                the same time */
    const ms_path_piece *pieces; /* [piece_count] from the end of the run to its beginning */
    size_t piece_count;
} ms_slack;

/* Find the critical path and the slack of every event.  What follows an event is what stands behind
 * it on its streams, what it released (`cause`), the message that leaves its rank with its
 * microbatch, and the pass that a message is for.  Other things may wait for it that were held up
 * longer by something else, so slack is an upper limit; on the critical path it is 0.
 *  trace: with every column.  *slack_out: in `arena`.  Returns MS_OK; MS_E_NOMEM.  O(events log
 * events). */
ms_status ms_slack_find(const ms_trace *trace, ms_arena *arena, ms_slack *slack_out);

/* ---- the timeline ---- */

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
/* Up to this number of items, waiting inside passes is among them. */
enum { MS_PAGE_PARTS_MAX = 150000 };

/* Codes of idle items: these and a category of time, or the one behind them for idle time whose
 * cause the trace does not hold. */
enum { MS_PAGE_IDLE = 32 };
/* All codes are below this number. A page stores code + MS_PAGE_CODES * marks of an item as one
 * number. */
enum { MS_PAGE_CODES = 64 };

/* Append `"items":{...}`: their count, how many each row has, and columns of numbers, by
 * row and start: of all items, of passes (slack, waiting, microbatch, chunk), and of idle time
 * (what it waits for).  May leave rows out of page->rows.  Returns MS_OK; MS_E_NOMEM; MS_E_RANGE as
 * ms_idle_phases_find.  O(events log events). */
ms_status ms_page_put_items(ms_page *page);

/* ---- what lies under it ---- */

/* Points of memory that a page holds at most; above, of each row the highest level of equal
 * stretches of time. */
enum { MS_PAGE_POINTS_MAX = 100000 };

/* Stretches of time in which sent bytes are counted. */
enum { MS_PAGE_BINS = 4096 };

/* Append `"memory":{...}`: points of each row and their columns.  O(points). */
void ms_page_put_memory(const ms_page *page);

/* Append `"sent":{...}`: of each axis that is used what a GPU sends, the mean over all, in each of
 * MS_PAGE_BINS equal stretches of the run, as floats [B/s].  Returns MS_OK; MS_E_NOMEM.  O(events +
 * stretches that they cover). */
ms_status ms_page_put_sent(const ms_page *page);

#endif
