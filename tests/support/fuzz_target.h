/* What fuzz targets share: claims, messages, and inputs that are read from a path. */
#ifndef MS_FUZZ_TARGET_H
#define MS_FUZZ_TARGET_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"

/* libFuzzer declares its entry point in no header. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/** Fail on an input for which a claim does not hold. */
static inline void require(bool claim) {
    if (!claim) {
        abort();
    }
}

/** What a diagnostic prints to: messages are whole lines. */
static inline void discard(void *context, const char *text) {
    (void)context;
    require(text[0] != '\0' && text[strlen(text) - 1] == '\n');
}

/** An input as a file in memory. */
typedef struct memory_file {
    int descriptor;
    char path[64];
} memory_file;

static inline memory_file memory_file_open(const uint8_t *data, size_t size) {
    memory_file file = {.descriptor = memfd_create("input", MFD_CLOEXEC)};
    snprintf(file.path, sizeof file.path, "/proc/self/fd/%d", file.descriptor);
    require(file.descriptor >= 0 && write(file.descriptor, data, size) == (ssize_t)size);
    return file;
}

static inline void memory_file_close(const memory_file *file) {
    close(file->descriptor);
}

/** Give an input as a file to `exercise`, with an arena that is released afterwards.  Returns 0, as
 * LLVMFuzzerTestOneInput has to. */
static inline int exercise_file(const uint8_t *data, size_t size,
                                void (*exercise)(const char *path, ms_arena *arena)) {
    memory_file file = memory_file_open(data, size);
    ms_arena arena;
    ms_arena_init(&arena);
    exercise(file.path, &arena);
    ms_arena_release(&arena);
    memory_file_close(&file);
    return 0;
}

#endif
