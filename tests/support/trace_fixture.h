/* A small job with given costs, simulated in closed form, and a folder of its own to write to. */
#ifndef MS_TRACE_FIXTURE_H
#define MS_TRACE_FIXTURE_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "simulate/run/job.h"
#include "trace/trace.h"

typedef struct trace_fixture {
    ms_arena arena;
    ms_diag diag;
    ms_buffer messages; /* all diagnostics so far */
    char folder[64];
    char path[96]; /* folder/t.h5 */
    ms_job job;
    ms_result result;
} trace_fixture;

/* Two pipeline ranks, four microbatches, two replicas. */
static const char TRACE_SMALL[] =
    "name: small\n"
    "platform: {file: " MS_SOURCE_DIR "/platforms/flat.yaml, nodes: 4}\n"
    "mesh: {pp: 2, dp: 2}\n"
    "costs: {forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms, p2p: 1 MB, "
    "optimizer: 1 ms}\n"
    "schedule: {kind: 1f1b}\n"
    "batch: {microbatches: 4}\n";

static inline void trace_fixture_keep(void *context, const char *text) {
    ms_buffer_puts(context, text);
}

static inline void trace_fixture_init(trace_fixture *fixture) {
    memset(fixture, 0, sizeof *fixture);
    ms_arena_init(&fixture->arena);
    ms_buffer_init(&fixture->messages);
    ms_diag_init(&fixture->diag, trace_fixture_keep, &fixture->messages);
    strcpy(fixture->folder, "/tmp/meshsim-trace-XXXXXX");
    cr_assert_not_null(mkdtemp(fixture->folder));
    snprintf(fixture->path, sizeof fixture->path, "%s/t.h5", fixture->folder);
}

/* Simulate a workload (YAML text) with an override ("key=value", or NULL). */
static inline void trace_fixture_run(trace_fixture *fixture, const char *workload,
                                     const char *set) {
    char path[96];
    snprintf(path, sizeof path, "%s/w.yaml", fixture->folder);
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file);
    fputs(workload, file);
    cr_assert_eq(fclose(file), 0);
    const ms_job_request request = {.workload = ms_arena_strdup(&fixture->arena, path),
                                    .fidelity = "analytic",
                                    .sets = &set,
                                    .set_count = set == NULL ? 0 : 1};
    ms_status status = ms_job_load(&request, &fixture->arena, &fixture->diag, &fixture->job);
    cr_assert_eq(status, MS_OK, "%s", ms_buffer_text(&fixture->messages));
    fixture->job.run.no_fast_forward = true; /* tests count operations */
    status = ms_job_run(&fixture->job, &fixture->arena, &fixture->diag, &fixture->result);
    cr_assert_eq(status, MS_OK, "%s", ms_buffer_text(&fixture->messages));
    unlink(path);
}

/* Both, and the trace written to fixture->path. */
static inline void trace_fixture_write(trace_fixture *fixture, const char *workload) {
    trace_fixture_init(fixture);
    trace_fixture_run(fixture, workload, NULL);
    ms_status status = ms_trace_write(fixture->path, &fixture->result, "0.0.1", &fixture->diag);
    cr_assert_eq(status, MS_OK, "%s", ms_buffer_text(&fixture->messages));
}

/* Files in the fixture's folder. */
static inline int trace_fixture_files(const trace_fixture *fixture) {
    int count = 0;
    DIR *folder = opendir(fixture->folder);
    cr_assert_not_null(folder);
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 ? 1 : 0;
    }
    closedir(folder);
    return count;
}

/* Everything in a file, in the fixture's arena. */
static inline char *trace_fixture_read_file(trace_fixture *fixture, const char *path,
                                            size_t *length_out) {
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    fseek(file, 0, SEEK_END);
    *length_out = (size_t)ftell(file);
    rewind(file);
    char *data = ms_arena_alloc(&fixture->arena, *length_out + 1, 1);
    cr_assert_not_null(data);
    cr_assert_eq(fread(data, 1, *length_out, file), *length_out);
    fclose(file);
    return data;
}

static inline void trace_fixture_write_file(const char *path, const char *data, size_t length) {
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file, "%s", path);
    cr_assert_eq(fwrite(data, 1, length, file), length);
    cr_assert_eq(fclose(file), 0);
}

/* Remove the folder with all files in it and free everything. */
static inline void trace_fixture_release(trace_fixture *fixture) {
    DIR *folder = opendir(fixture->folder);
    for (const struct dirent *entry = folder == NULL ? NULL : readdir(folder); entry != NULL;
         entry = readdir(folder)) {
        char path[512];
        snprintf(path, sizeof path, "%s/%s", fixture->folder, entry->d_name);
        unlink(path);
    }
    if (folder != NULL) {
        closedir(folder);
    }
    rmdir(fixture->folder);
    ms_result_release(&fixture->result);
    ms_buffer_release(&fixture->messages);
    ms_arena_release(&fixture->arena);
}

#endif
