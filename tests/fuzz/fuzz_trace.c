/* libFuzzer target: any bytes as a trace file. What is refused is explained; what is read can be
 * drawn and written for trace viewers. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "meshsim/report.h"

static void discard(void *context, const char *text) {
    (void)context;
    if (text[0] == '\0' || text[strlen(text) - 1] != '\n') {
        abort(); /* messages are whole lines */
    }
}

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
    ms_status status = ms_trace_read(path, MS_TRACE_EVERYTHING, arena, &diag, &trace);
    if ((status == MS_OK) != (diag.errors == 0) || status == MS_E_BUG) {
        abort();
    }
    if (status == MS_OK && ms_chrome_write(&trace, swallow, NULL) != MS_OK) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64];
    int file = memfd_create("trace", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (file < 0 || write(file, data, size) != (ssize_t)size) {
        abort();
    }
    ms_arena arena;
    ms_arena_init(&arena);
    exercise(path, &arena);
    ms_arena_release(&arena);
    close(file);
    return 0;
}
