/* Writes a report in the format of its name's ending (ms_report_write): reads the traces, makes
 * pictures, a trace for Chrome's viewer or a page, and writes the file whole or not at all. */
#include <string.h>

#include "base/target.h"
#include "trace/report/caption.h"
#include "trace/report/gzip.h"
#include "trace/report/report.h"
#include "trace/summary.h"

/* Formats of reports. */
typedef enum report_format {
    FORMAT_PICTURE,
    FORMAT_HTML,
    FORMAT_JSON,
    FORMAT_JSON_GZ
} report_format;

/* Whether a report shows several traces. */
static bool is_stack(report_format format) {
    return format == FORMAT_PICTURE || format == FORMAT_HTML;
}

/* The format of a report by its name's ending; that of a picture for any other ending. */
static report_format format_of(const char *path) {
    return ms_report_has_ending(path, ".json")      ? FORMAT_JSON
           : ms_report_has_ending(path, ".json.gz") ? FORMAT_JSON_GZ
           : ms_report_has_ending(path, ".html") || ms_report_has_ending(path, ".htm")
               ? FORMAT_HTML
               : FORMAT_PICTURE;
}

/* Check all that can be known before the traces are read: the number of traces and the target. */
static ms_status check_request(size_t count, const char *path, ms_diag *diag) {
    ms_status status = MS_OK;
    if (!is_stack(format_of(path)) && count > 1) {
        ms_diag_error(diag,
                      "'%s': a trace for a viewer is made of one run, got %zu; .svg and .html show "
                      "several",
                      path, count);
        status = MS_E_USAGE;
    } else if (count > MS_GANTT_PICTURES_MAX) {
        ms_diag_error(diag, "'%s': a picture or page shows at most %d traces, got %zu", path,
                      MS_GANTT_PICTURES_MAX, count);
        status = MS_E_USAGE;
    }
    return status == MS_OK ? ms_target_check(path, MS_TARGET_TEXT, diag) : status;
}

/* Read a trace with its operations; a trace without any is refused.  what: further parts, as in
 * ms_trace_read. */
static ms_status read_operations(const char *path, unsigned what, ms_arena *arena, ms_diag *diag,
                                 ms_trace *trace_out) {
    ms_status status = ms_trace_read(path, MS_TRACE_EVENTS | what, arena, diag, trace_out);
    if (status == MS_OK && trace_out->level == MS_TRACE_SUMMARY) {
        ms_diag_error(diag,
                      "cannot draw '%s': it was written with --trace summary and holds no "
                      "operations",
                      path);
        status = MS_E_INPUT;
    }
    return status;
}

/* The pictures, or the page, of several traces, which are made one after the other in `arena`. */
typedef struct picture_stack {
    ms_gantt gantts[MS_GANTT_PICTURES_MAX];
    ms_buffer page; /* of ms_page_put_trace */
    size_t count;
    ms_gantt_rows rows;
    double training_tokens; /* of a page */
    ms_trace first;         /* of ms_caption_keep: path and inputs of the first trace */
    ms_arena *arena;
    ms_diag *diag;
} picture_stack;

/* Make the caption of a trace that is being added; of the first trace only its inputs are kept. A
 * trace itself is released as soon as it is drawn. */
static ms_status make_caption(picture_stack *stack, const ms_trace *trace,
                              const char **caption_out) {
    if (stack->count == 0) {
        return ms_caption_keep(trace, stack->arena, &stack->first);
    }
    return ms_caption_make(&stack->first, trace, stack->arena, stack->diag, caption_out);
}

/* Read a trace and make its picture. */
static ms_status add_picture(picture_stack *stack, const char *trace_path) {
    ms_gantt *gantt = &stack->gantts[stack->count];
    ms_diag *diag = stack->diag;
    ms_arena scratch;
    ms_trace trace;
    ms_arena_init(&scratch);
    ms_status status = read_operations(trace_path, MS_TRACE_NOTHING, &scratch, diag, &trace);
    if (status == MS_OK && trace.step_ps <= 0) {
        ms_diag_error(diag, "cannot draw '%s': the trace's step takes no time", trace_path);
        status = MS_E_INPUT;
    } else if (status == MS_OK) {
        status = ms_gantt_from_trace(&trace, stack->rows, stack->arena, gantt);
        status = status == MS_OK ? make_caption(stack, &trace, &gantt->caption) : MS_E_NOMEM;
        if (status == MS_E_NOMEM) {
            ms_diag_error(diag, "cannot draw '%s': out of memory", trace_path);
        }
    }
    ms_arena_release(&scratch);
    stack->count += status == MS_OK;
    return status;
}

/* Put the name of its trace before the title of each of several pictures, which may show one
 * workload. */
static ms_status name_pictures(const char *const *traces, size_t count, ms_arena *arena,
                               ms_gantt *gantts) {
    for (size_t i = 0; count > 1 && i < count; i++) {
        const char *slash = strrchr(traces[i], '/');
        gantts[i].title = ms_arena_printf(arena, "%s \xc2\xb7 %s",
                                          slash == NULL ? traces[i] : slash + 1, gantts[i].title);
        if (gantts[i].title == NULL) {
            return MS_E_NOMEM;
        }
    }
    return MS_OK;
}

/* Write the pictures of traces to a file, as SVG, PNG or PDF.  stack: empty. */
static ms_status write_pictures(const char *const *traces, size_t count, picture_stack *stack,
                                const char *path) {
    ms_buffer svg = {0};
    ms_diag *diag = stack->diag;
    ms_status status = MS_OK;
    for (size_t i = 0; status == MS_OK && i < count; i++) {
        status = add_picture(stack, traces[i]);
    }
    if (status == MS_OK) {
        status = name_pictures(traces, count, stack->arena, stack->gantts);
        status = status == MS_OK ? ms_gantt_write_svg(stack->gantts, count, &svg) : status;
        if (status != MS_OK) {
            bool is_full = status == MS_E_NOMEM;
            ms_diag_error(diag, "cannot draw '%s'%s: %s", traces[0], count > 1 ? " and others" : "",
                          is_full ? "out of memory" : "the trace contradicts itself");
            status = is_full ? status : MS_E_INPUT;
        }
    }
    if (status == MS_OK) {
        status = ms_picture_write(path, ms_buffer_text(&svg), svg.length, diag);
    }
    ms_buffer_release(&svg);
    return status;
}

/* Sink of a report (ms_report_sink) that writes to a file. context: ms_target. */
static ms_status put_to_target(void *context, const char *text, size_t length) {
    return ms_target_write(context, text, length);
}

/* Write a trace in Chrome's format to an open file, compressed or not. */
static ms_status put_chrome(const ms_trace *trace, bool is_compressed, ms_target *target) {
    if (!is_compressed) {
        return ms_chrome_write(trace, put_to_target, target);
    }
    ms_arena arena;
    ms_gzip *gzip;
    ms_arena_init(&arena);
    ms_status status = ms_gzip_begin(put_to_target, target, &arena, &gzip);
    if (status == MS_OK) {
        status = ms_chrome_write(trace, ms_gzip_put, gzip);
        ms_status end = ms_gzip_end(gzip);
        status = status == MS_OK ? end : status;
    }
    ms_arena_release(&arena);
    return status;
}

/* Write a trace in Chrome's format to a file, chunk by chunk, as it is large. A failure of the file
 * itself is reported by ms_target_commit. */
static ms_status stream(const ms_trace *trace, const char *path, ms_diag *diag) {
    ms_target target;
    ms_status status = ms_target_open(&target, path, MS_TARGET_TEXT, diag);
    if (status != MS_OK) {
        return status;
    }
    status = put_chrome(trace, format_of(path) == FORMAT_JSON_GZ, &target);
    if (status != MS_OK && status != MS_E_IO) {
        bool is_full = status == MS_E_NOMEM;
        ms_target_abandon(&target);
        ms_diag_error(diag, "cannot write '%s': %s", path,
                      is_full ? "out of memory" : "the trace contradicts itself");
        return is_full ? status : MS_E_INPUT;
    }
    return ms_target_commit(&target, diag);
}

/* Read a trace and write it in Chrome's format. */
static ms_status write_json(const char *trace_path, const char *path, ms_diag *diag) {
    ms_arena arena;
    ms_trace trace;
    ms_arena_init(&arena);
    ms_status status = read_operations(trace_path, MS_TRACE_MERGED, &arena, diag, &trace);
    if (status == MS_OK) {
        status = stream(&trace, path, diag);
    }
    ms_arena_release(&arena);
    return status;
}

/* Read a trace and add it to the page. A trace without operations is accepted: it has no timeline.
 * The title is the workload's name. */
static ms_status add_to_page(picture_stack *stack, const char *trace_path, const char **title_out) {
    ms_arena arena;
    ms_trace trace;
    const char *caption = NULL;
    ms_arena_init(&arena);
    ms_status status =
        ms_trace_read(trace_path, MS_TRACE_EVENTS | MS_TRACE_TABLES | MS_TRACE_MERGED, &arena,
                      stack->diag, &trace);
    if (status == MS_OK) {
        ms_value *summary = ms_value_copy(trace.summary, &arena);
        const ms_value *name = ms_value_get(summary, "workload");
        bool is_text = name != NULL && name->type == MS_VALUE_STRING;
        ms_summary_add_training(stack->training_tokens, ms_value_number(summary, "gpus", 0.0),
                                summary);
        trace.summary = summary;
        *title_out = ms_arena_strdup(stack->arena, is_text ? name->as.string : "trace");
        status = make_caption(stack, &trace, &caption);
        status = status == MS_OK ? ms_page_put_trace(&trace, stack->rows, caption, &stack->page)
                                 : status;
        if (status == MS_E_NOMEM || status == MS_E_RANGE) { /* others are reported */
            bool is_full = status == MS_E_NOMEM;
            ms_diag_error(stack->diag, "cannot show '%s': %s", trace_path,
                          is_full             ? "out of memory"
                          : trace.step_ps > 0 ? "the trace contradicts itself"
                                              : "the trace's step takes no time");
            status = is_full ? status : MS_E_INPUT;
        }
    }
    ms_arena_release(&arena);
    stack->count += status == MS_OK;
    return status;
}

/* Write the page of traces.  stack: empty. */
static ms_status write_html(const char *const *traces, size_t count, picture_stack *stack,
                            const char *path) {
    ms_buffer html = {0};
    const char *title = NULL;
    ms_status status = MS_OK;
    for (size_t i = 0; status == MS_OK && i < count; i++) {
        status = add_to_page(stack, traces[i], &title);
    }
    title = count > 1 ? ms_arena_printf(stack->arena, "%zu runs side by side", count) : title;
    if (status == MS_OK) {
        bool is_full =
            title == NULL || ms_page_write_traces(&stack->page, title, count, &html) != MS_OK;
        status = is_full
                     ? ms_diag_no_memory(stack->diag)
                     : ms_target_write_text(path, ms_buffer_text(&html), html.length, stack->diag);
    }
    ms_buffer_release(&html);
    ms_buffer_release(&stack->page);
    return status;
}

ms_status ms_report_write(const char *const *traces, size_t count, ms_gantt_rows rows,
                          double training_tokens, const char *path, ms_diag *diag) {
    ms_status status = check_request(count, path, diag);
    if (status != MS_OK || !is_stack(format_of(path))) {
        return status != MS_OK ? status : write_json(traces[0], path, diag);
    }
    ms_arena arena;
    picture_stack stack = {
        .rows = rows, .training_tokens = training_tokens, .arena = &arena, .diag = diag};
    ms_arena_init(&arena);
    status =
        (format_of(path) == FORMAT_HTML ? write_html : write_pictures)(traces, count, &stack, path);
    ms_arena_release(&arena);
    return status;
}
