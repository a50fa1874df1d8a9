/* Reports by the ending of their name, whole or not at all. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "meshsim/report.h"
#include "meshsim/target.h"

typedef enum report_format { FORMAT_NONE, FORMAT_SVG, FORMAT_JSON } report_format;

static report_format format_of(const char *path) {
    const char *dot = strrchr(path, '.');
    if (dot != NULL && strcmp(dot, ".svg") == 0) {
        return FORMAT_SVG;
    }
    return dot != NULL && strcmp(dot, ".json") == 0 ? FORMAT_JSON : FORMAT_NONE;
}

static ms_status check_format(const char *path, ms_diag *diag) {
    const char *dot = strrchr(path, '.');
    if (format_of(path) != FORMAT_NONE) {
        return MS_OK;
    }
    if (dot != NULL && strcmp(dot, ".html") == 0) {
        ms_diag_error(diag, "'%s': HTML reports are not built; write .svg or .json", path);
    } else {
        ms_diag_error(diag, "'%s': unknown kind of report; the name must end in .svg or .json",
                      path);
    }
    return MS_E_USAGE;
}

ms_status ms_report_check_target(const char *path, ms_diag *diag) {
    ms_status status = check_format(path, diag);
    return status == MS_OK ? ms_trace_check_target(path, diag) : status;
}

/* The file as sink; keeps errno of the first failure. */
typedef struct file_sink {
    FILE *file;
    int error;
} file_sink;

static ms_status put(void *context, const char *text, size_t length) {
    file_sink *sink = context;
    if (fwrite(text, 1, length, sink->file) != length && sink->error == 0) {
        sink->error = errno;
    }
    return sink->error == 0 ? MS_OK : MS_E_IO;
}

static ms_status write_svg(const ms_trace *trace, file_sink *sink) {
    ms_arena arena;
    ms_buffer text;
    ms_gantt gantt;
    ms_arena_init(&arena);
    ms_buffer_init(&text);
    ms_status status = ms_gantt_from_trace(trace, &arena, &gantt);
    if (status == MS_OK) {
        status = ms_gantt_write_svg(&gantt, &text);
    }
    if (status == MS_OK) {
        status = put(sink, ms_buffer_text(&text), text.length);
    }
    ms_buffer_release(&text);
    ms_arena_release(&arena);
    return status;
}

static ms_status fill(const ms_trace *trace, report_format format, const char *path,
                      file_sink *sink) {
    sink->file = fopen(path, "wxe");
    if (sink->file == NULL) {
        sink->error = errno;
        return MS_E_IO;
    }
    ms_status status =
        format == FORMAT_SVG ? write_svg(trace, sink) : ms_chrome_write(trace, put, sink);
    if (fclose(sink->file) != 0 && sink->error == 0) {
        sink->error = errno;
    }
    return sink->error != 0 ? MS_E_IO : status;
}

ms_status ms_report_write(const ms_trace *trace, const char *path, ms_diag *diag) {
    ms_target target;
    ms_status status = check_format(path, diag);
    if (status == MS_OK) {
        status = ms_target_open(&target, path, diag);
    }
    if (status != MS_OK) {
        return status;
    }
    file_sink sink = {0};
    status = fill(trace, format_of(path), target.temporary, &sink);
    if (status == MS_OK) {
        return ms_target_commit(&target, diag);
    }
    if (status == MS_E_IO) {
        return ms_target_fail(&target, strerror(sink.error), diag);
    }
    ms_target_abandon(&target);
    ms_diag_error(diag, "cannot draw '%s': %s", path,
                  status == MS_E_NOMEM  ? "out of memory"
                  : trace->step_ps <= 0 ? "the trace's step takes no time"
                                        : "the trace contradicts itself");
    return status == MS_E_NOMEM ? status : MS_E_INPUT;
}
