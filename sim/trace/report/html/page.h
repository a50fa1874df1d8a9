/* What all pages are made of. */
#ifndef MS_REPORT_HTML_PAGE_H
#define MS_REPORT_HTML_PAGE_H

#include <stddef.h>

#include "trace/report/report.h"

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

#endif
