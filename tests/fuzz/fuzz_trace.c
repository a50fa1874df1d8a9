/* libFuzzer target: any bytes as a trace file. What is refused is explained; what is read can be
 * drawn, written for trace viewers, and made into a page. */
#include "fuzz_target.h"
#include "trace/report/report.h"
#include "trace_page.h"

static ms_status swallow(void *context, const char *bytes, size_t length) {
    (void)context;
    (void)bytes;
    (void)length;
    return MS_OK;
}

static void exercise(const char *path, ms_arena *arena) {
    ms_diag diag;
    ms_trace trace;
    ms_diag_init(&diag, discard, NULL);
    ms_status status = ms_trace_read(path, MS_TRACE_EVENTS | MS_TRACE_TABLES, arena, &diag, &trace);
    if ((status == MS_OK) != (diag.errors == 0) || status == MS_E_BUG) {
        abort();
    }
    if (status == MS_OK && ms_chrome_write(&trace, swallow, NULL) != MS_OK) {
        abort();
    }
    ms_buffer page;
    ms_buffer_init(&page);
    if (status == MS_OK && trace.step_ps > 0 &&
        write_trace_page(&trace, MS_GANTT_PIPELINE_RANKS, &page) != MS_OK) {
        abort();
    }
    ms_buffer_release(&page);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    return exercise_file(data, size, exercise);
}
