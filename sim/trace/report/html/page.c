/* Makes the page of traces (ms_page_write_traces): their data as JSON, in the order in which the
 * scripts of this folder read it, then the page around it (parts.c). */
#include "trace/report/html/page.h"

#include <string.h>

/* ---- data ---- */

/* Append the names of kinds, categories and axes, whose numbers are in the columns. */
static void put_words(ms_buffer *json) {
    ms_buffer_puts(json, "\"kinds\":[");
    for (int kind = 0; kind < MS_OP_KIND_COUNT; kind++) {
        ms_buffer_printf(json, "%s\"%s\"", kind > 0 ? "," : "", ms_op_kind_name((ms_op_kind)kind));
    }
    ms_buffer_puts(json, "],\"categories\":[");
    for (int c = 0; c < MS_TIME_COUNT; c++) {
        ms_buffer_printf(json, "%s\"%s\"", c > 0 ? "," : "",
                         ms_time_category_name((ms_time_category)c));
    }
    ms_buffer_puts(json, "],\"axes\":[");
    for (int axis = 0; axis < MS_AXIS_COUNT; axis++) {
        ms_buffer_printf(json, "%s\"%s\"", axis > 0 ? "," : "", ms_axis_name((ms_axis)axis));
    }
    ms_buffer_printf(json, "],\"idle_code\":%d,\"codes\":%d,", MS_PAGE_IDLE, MS_PAGE_CODES);
}

/* Append the input texts of the run, each with its digest. */
static void put_inputs(const ms_trace *trace, ms_buffer *json) {
    const struct {
        const char *name, *text;
    } INPUTS[] = {{"workload", trace->inputs.workload},
                  {"platform", trace->inputs.platform},
                  {"schedule", trace->inputs.schedule},
                  {"placement", trace->inputs.placement},
                  {"sources", trace->inputs.sources}};
    ms_buffer_puts(json, "\"inputs\":[");
    bool has_some = false;
    for (size_t i = 0; i < sizeof INPUTS / sizeof INPUTS[0]; i++) {
        if (INPUTS[i].text != NULL) {
            ms_buffer_puts(json, has_some ? "," : "");
            ms_page_put_input(json, &(ms_page_input){.name = INPUTS[i].name,
                                                     .text = INPUTS[i].text,
                                                     .length = strlen(INPUTS[i].text)});
            has_some = true;
        }
    }
    ms_buffer_puts(json, "],");
}

/* Append all data but the timeline: names, inputs, summary and tables. */
static void put_head(const ms_trace *trace, ms_buffer *json) {
    const char *path = trace->path == NULL ? "trace.h5" : trace->path;
    const char *slash = strrchr(path, '/');
    ms_page_put_string(json, "page", "trace");
    ms_page_put_string(json, "trace", slash == NULL ? path : slash + 1);
    ms_page_put_string(json, "program_version", trace->program_version);
    ms_page_put_string(json, "level", ms_trace_level_name(trace->level));
    ms_buffer_printf(json, "\"end_ps\":%lld,\"events\":%d,", (long long)trace->step_ps,
                     trace->merged.count > 0 ? trace->merged.count : trace->event_count);
    put_words(json);
    put_inputs(trace, json);
    ms_page_put_tree(json, "summary", trace->summary);
    ms_page_put_tree(json, "tables", trace->tables);
}

/* Append the rows of the timeline, one for each shown rank; "multiplicity" is the number of ranks
 * that it stands for. Called after ms_page_put_items, which may remove rows. Labels consist of a
 * word and a number, so they need no escapes. */
static ms_status put_rows(const ms_page *page) {
    const char **labels = ms_shown_rows_label(page->trace, &page->rows, page->arena);
    if (labels == NULL) {
        return MS_E_NOMEM;
    }
    ms_buffer_puts(page->json, ",\"rows\":[");
    for (int32_t r = 0; r < page->rows.count; r++) {
        const ms_trace_rank *rank = &page->trace->ranks[page->rows.rank_of[r]];
        ms_buffer_printf(page->json,
                         "%s{\"label\":\"%s\",\"rank\":%d,\"multiplicity\":%d,\"pp\":%d}",
                         r > 0 ? "," : "", labels[r], rank->rank, rank->multiplicity, rank->pp);
    }
    ms_buffer_puts(page->json, "]");
    return MS_OK;
}

/* Append the critical path from the start of the run to its end: columns of the pipeline rank and
 * length of each part, and of the gap before it. The parts are stored from the end on. */
static void put_path(const ms_page *page) {
    const ms_slack *slack = &page->slack;
    ms_buffer pp = {0};
    ms_buffer start = {0};
    ms_buffer length = {0};
    int64_t before_ps = 0;
    for (size_t i = slack->span_count; i-- > 0;) {
        const ms_path_span *span = &slack->spans[i];
        ms_varint_put(&pp, (uint64_t)page->trace->ranks[span->rank_index].pp);
        ms_varint_put_signed(&start, span->start_ps - before_ps);
        ms_varint_put(&length, (uint64_t)(span->end_ps - span->start_ps));
        before_ps = span->end_ps;
    }
    ms_buffer_puts(page->json, ",\"path\":{");
    ms_column_write("pp", &pp, page->json);
    ms_column_write("gap_ps", &start, page->json);
    ms_column_write("length_ps", &length, page->json);
    ms_buffer_puts(page->json, "}");
}

/* Append the timeline, the critical path, the memory and the bytes that are sent. */
static ms_status put_timeline(ms_page *page) {
    ms_status status = ms_slack_find(page->trace, page->arena, &page->slack);
    status = status == MS_OK ? ms_page_put_items(page) : status;
    status = status == MS_OK ? put_rows(page) : status;
    if (status == MS_OK) {
        put_path(page);
        ms_buffer_puts(page->json, ",");
        ms_page_put_memory(page);
        ms_buffer_puts(page->json, ",");
        status = ms_page_put_sent(page);
    }
    return status;
}

/* Append the data of a trace as members of a JSON object, and end it. */
static ms_status put_data(const ms_trace *trace, ms_gantt_rows rows, ms_arena *arena,
                          ms_buffer *json) {
    ms_page page = {.trace = trace, .arena = arena, .json = json};
    ms_status status = MS_OK;
    put_head(trace, json);
    if (trace->level == MS_TRACE_SUMMARY) {
        ms_buffer_puts(json, "\"rows\":[]");
    } else if (ms_shown_rows_find(trace, rows, arena, &page.rows)) {
        status = put_timeline(&page);
    } else {
        status = MS_E_NOMEM;
    }
    ms_buffer_puts(json, "}");
    return status;
}

/* ---- the page ---- */

ms_status ms_page_put_trace(const ms_trace *trace, ms_gantt_rows rows, const char *differences,
                            ms_buffer *json) {
    if (trace->step_ps <= 0) {
        return MS_E_RANGE;
    }
    ms_arena arena;
    ms_arena_init(&arena);
    ms_buffer_puts(json, json->length > 0 ? ",{" : "{");
    if (differences != NULL) {
        ms_page_put_string(json, "differences", differences);
    }
    ms_status status = put_data(trace, rows, &arena, json);
    ms_arena_release(&arena);
    return status == MS_OK && json->failed ? MS_E_NOMEM : status;
}

ms_status ms_page_write_traces(const ms_buffer *traces, const char *title, size_t count,
                               ms_buffer *out) {
    ms_buffer json = {0};
    if (count > 1) {
        ms_buffer_puts(&json, "{");
        ms_page_put_string(&json, "page", "traces");
        put_words(&json);
        ms_buffer_puts(&json, "\"traces\":[");
        ms_buffer_add(&json, traces->data, traces->length);
        ms_buffer_puts(&json, "]}");
    }
    const ms_page_parts parts = {count > 1 ? &json : traces, &MS_PAGE_TRACE_SCRIPT, title};
    ms_status status = json.failed ? MS_E_NOMEM : ms_page_put(&parts, out);
    ms_buffer_release(&json);
    return status;
}
