/* Time to load workloads in process: reading, checking, laying out, without a simulation.
 *
 *   bench_load [WORKLOAD...]     default: tiny and llama3-405b-8k of workloads/
 *
 * Prints the fastest of five loads of each. */
#include <stdio.h>
#include <time.h>

#include "simulate/run/job.h"

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* Seconds of one load; negative after a fault, which has been reported. */
static double time_load(const char *path) {
    ms_arena arena;
    ms_diag diag;
    ms_job job;
    ms_arena_init(&arena);
    ms_diag_init(&diag, NULL, NULL);
    ms_job_request request = {.workload = path, .data_folder = MS_SOURCE_DIR};
    double start_s = now_s();
    ms_status status = ms_job_load(&request, &arena, &diag, &job);
    double time_s = now_s() - start_s;
    ms_arena_release(&arena);
    return status == MS_OK ? time_s : -1.0;
}

int main(int argc, char **argv) {
    static const char *const DEFAULTS[] = {MS_SOURCE_DIR "/workloads/tiny.yaml",
                                           MS_SOURCE_DIR "/workloads/llama3-405b-8k.yaml"};
    const char *const *paths = argc > 1 ? (const char *const *)argv + 1 : DEFAULTS;
    int count = argc > 1 ? argc - 1 : 2;
    for (int i = 0; i < count; i++) {
        double best_s = time_load(paths[i]);
        for (int round = 1; round < 5 && best_s >= 0.0; round++) {
            double time_s = time_load(paths[i]);
            best_s = time_s < best_s ? time_s : best_s;
        }
        if (best_s < 0.0) {
            return 3;
        }
        printf("%-60s %8.3f ms\n", paths[i], 1e3 * best_s);
    }
    return 0;
}
