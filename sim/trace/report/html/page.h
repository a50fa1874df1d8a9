/* The parts of HTML pages: the template, columns of numbers, slack of events, and the timeline of a
 * trace. A page holds its data as JSON; see page.md. */
#ifndef MS_REPORT_HTML_PAGE_H
#define MS_REPORT_HTML_PAGE_H

#include "trace/report/passes.h"

/* A text of sim/trace/report/html that the build put into the program. */
typedef struct ms_page_text {
    const char *text; /* [length], NUL behind it */
    size_t length;
} ms_page_text;

/* Texts that the build makes: of page.html, of page.css, and of the concatenated scripts of the
 * pages of traces and of results. */
extern const ms_page_text MS_PAGE_TEMPLATE;
extern const ms_page_text MS_PAGE_STYLE;
extern const ms_page_text MS_PAGE_TRACE_SCRIPT;
extern const ms_page_text MS_PAGE_RESULTS_SCRIPT;

/* The parts of a page that are put into the template, beside the style. */
typedef struct ms_page_parts {
    const ms_buffer *json; /* the page's data */
    const ms_page_text *script;
    const char *title;
} ms_page_parts;

/* Append a page.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_page_put(const ms_page_parts *parts, ms_buffer *out);

/* Append `"key":value,` to an object: a text, or a tree (NULL: null). */
void ms_page_put_string(ms_buffer *json, const char *key, const char *text);
void ms_page_put_tree(ms_buffer *json, const char *key, const ms_value *tree);

/* Append an input as an object: its name, digest and text. */
void ms_page_put_input(ms_buffer *json, const ms_page_input *input);

/* ---- columns of numbers ---- */

/* Append a number in groups of seven bits, a byte each, the lowest bits first, with the eighth bit
 * set in all bytes but the last.  Source: Protocol Buffers, Encoding, base 128 varints. */
void ms_varint_put(ms_buffer *out, uint64_t number);

/* Append a number with a sign as ms_varint_put does: 0, -1, 1, -2 ... become 0, 1, 2, 3 ... */
void ms_varint_put_signed(ms_buffer *out, int64_t number);

/* Append bytes as base64 with padding.  Source: RFC 4648, section 4. */
void ms_base64_write(const void *bytes, size_t length, ms_buffer *out);

/* Append `"name":"..."` with the column's bytes as base64, and a comma before it unless it is the
 * first of its object.  The column is released; its failure becomes that of `json`. */
void ms_column_write(const char *name, ms_buffer *column, ms_buffer *json);

/* ---- slack ---- */

/* A part of the critical path on one rank. */
typedef struct ms_path_span {
    int64_t start_ps, end_ps;
    int32_t rank_index;
} ms_path_span;

/* Slack of all events, and the critical path. */
typedef struct ms_slack {
    const int64_t *slack_ps;   /* [events] by how much the event could end later without a later end
                                  of the run, at most */
    const ms_path_span *spans; /* [span_count] from the end of the run to its start */
    size_t span_count;
} ms_slack;

/* Find the critical path and the slack of every event. Events that follow an event are the next
 * ones on its streams, those that it released (`cause`), the message that leaves its rank with its
 * microbatch, and the pass that uses a message. Other events may also wait for it, of which the
 * trace holds only the later cause, so that slack is an upper limit; on the critical path it is 0.
 *  trace: with every column.  *slack_out: in `arena`.  Returns MS_OK; MS_E_NOMEM.  O(events log
 * events). */
ms_status ms_slack_find(const ms_trace *trace, ms_arena *arena, ms_slack *slack_out);

/* ---- the timeline ---- */

/* The state of making the page of a trace. */
typedef struct ms_page {
    const ms_trace *trace;
    ms_shown_rows rows;
    ms_slack slack;
    ms_arena *arena;
    ms_buffer *json; /* the page's data so far */
} ms_page;

/* Maximum number of items of a page: passes and spans of idle time, without those inside passes.
 * Where there are more, every second row is left out until they fit. */
enum { MS_PAGE_ITEMS_MAX = 400000 };
/* Maximum number of all items, up to which those inside passes are in the page, too. */
enum { MS_PAGE_PARTS_MAX = 150000 };

/* Code of an idle item: MS_PAGE_IDLE + ms_time_category, or MS_PAGE_IDLE + MS_TIME_COUNT for idle
 * time whose cause the trace does not hold. The code of a pass is its ms_op_kind. */
enum { MS_PAGE_IDLE = 32 };
/* All codes are below this number. A page stores code + MS_PAGE_CODES * marks of an item as one
 * number. */
enum { MS_PAGE_CODES = 64 };

/* Append `"items":{...}`: the number of items, of all and of each row, and columns by row and
 * start: of all items, of passes only (slack, waiting, microbatch, chunk), and of idle time only
 * (the event that it waits for).  May remove rows from page->rows.  Returns MS_OK; MS_E_NOMEM;
 * MS_E_RANGE as ms_idle_phases_find.  O(events log events). */
ms_status ms_page_put_items(ms_page *page);

/* ---- what lies under it ---- */

/* Maximum number of points of memory of a page. Where there are more, each row has the highest
 * level in each of some equal bins of time. */
enum { MS_PAGE_POINTS_MAX = 100000 };

/* Number of bins of time in which sent bytes are counted. */
enum { MS_PAGE_BINS = 4096 };

/* Append `"memory":{...}`: the number of points of each row, and columns of their times and levels.
 *  O(points). */
void ms_page_put_memory(const ms_page *page);

/* Append `"sent":{...}`: for each axis that is used the rate at which a GPU sends, the mean over
 * all GPUs, in each of MS_PAGE_BINS equal bins of the run, as floats [B/s].  Returns MS_OK;
 * MS_E_NOMEM.
 *  O(events + bins that they cover). */
ms_status ms_page_put_sent(const ms_page *page);

#endif
