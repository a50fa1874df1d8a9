/* The texts of pages. */
#ifndef MS_REPORT_HTML_PAGE_H
#define MS_REPORT_HTML_PAGE_H

#include <stddef.h>

/* A text of sim/report/html that the build put into the program. */
typedef struct ms_page_text {
    const char *text; /* [length], NUL behind it */
    size_t length;
} ms_page_text;

/* Made by the build of page.html, page.css and of all scripts, one behind the other. */
extern const ms_page_text MS_PAGE_TEMPLATE;
extern const ms_page_text MS_PAGE_STYLE;
extern const ms_page_text MS_PAGE_SCRIPT;

#endif
