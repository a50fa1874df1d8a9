/* The page of one trace, as 'meshsim report' makes it. */
#ifndef TRACE_PAGE_H
#define TRACE_PAGE_H

#include "trace/report/report.h"

/* Append the page of a trace; nothing where its data cannot be made.  Returns as
 * ms_page_put_trace. */
static inline ms_status write_trace_page(const ms_trace *trace, ms_gantt_rows rows,
                                         ms_buffer *out) {
    ms_buffer json = {0};
    ms_status status = ms_page_put_trace(trace, rows, NULL, &json);
    const ms_value *name = ms_value_get(trace->summary, "workload");
    const char *title = name != NULL && name->type == MS_VALUE_STRING ? name->as.string : "trace";
    status = status == MS_OK ? ms_page_write_traces(&json, title, 1, out) : status;
    ms_buffer_release(&json);
    return status;
}

#endif
