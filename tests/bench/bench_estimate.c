/* Estimates per second over layouts of gpt3-175b on 1,024 GPUs (tp, pp, dp, order, v, micro-batch,
 * recompute, zero), each once, caches empty at the start.
 *
 *   bench_estimate [SPECS]     default: all
 *
 * A second round over the same candidates counts what known ones allocate. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "meshsim/estimate.h"
#include "meshsim/job.h"

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

typedef struct candidates {
    ms_candidate *list;
    int count;
} candidates;

static const int ORDERS[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

static void add_layouts(candidates *all, ms_arena *arena, const ms_mesh *mesh, const int sizes[3],
                        int v) {
    static const ms_recompute KINDS[] = {MS_RECOMPUTE_NONE, MS_RECOMPUTE_FULL};
    for (int i = 0; i < 4 * 2 * 4; i++) {
        int micro = 1 << i % 4, zero = i / 8;
        ms_model_layout *layout = MS_NEW(arena, ms_model_layout, 1);
        layout->tp = sizes[2];
        layout->pp = sizes[0];
        layout->dp = sizes[1];
        layout->cp = layout->ep = layout->other = 1;
        layout->micro_batch = micro;
        layout->recompute = KINDS[i / 4 % 2];
        layout->zero = zero;
        layout->reduce = zero >= 2 ? MS_REDUCE_EVERY : MS_REDUCE_LAST;
        if (1536 % (sizes[1] * micro) == 0) {
            all->list[all->count++] = (ms_candidate){
                .mesh = mesh,
                .layout = layout,
                .schedule = {.kind = v > 1 ? MS_SCHEDULE_INTERLEAVED : MS_SCHEDULE_1F1B,
                             .pipeline_ranks = sizes[0],
                             .chunks = v,
                             .microbatches = 1536 / (sizes[1] * micro)}};
        }
    }
}

static void list_candidates(candidates *all, ms_arena *arena, ms_diag *diag) {
    static const char *const NAMES[] = {"pp", "dp", "tp"};
    all->list = MS_NEW(arena, ms_candidate, 100000);
    for (int i = 0; i < 4 * 6 * 6; i++) {
        int tp = 1 << i % 4, pp = 1 << i / 4 % 6;
        int sizes[3] = {pp, 1024 / (tp * pp), tp};
        const int *order = ORDERS[i / 24];
        const char *names[3];
        int ordered[3];
        for (int a = 0; a < 3; a++) {
            names[a] = NAMES[order[a]];
            ordered[a] = sizes[order[a]];
        }
        ms_mesh *mesh = MS_NEW(arena, ms_mesh, 1);
        ms_mesh_init(mesh, names, ordered, 3, diag);
        for (int v = 1; v <= 6; v++) {
            if (96 % (pp * v) == 0 && (v == 1 || pp > 1)) {
                add_layouts(all, arena, mesh, sizes, v);
            }
        }
    }
}

static int run_all(ms_estimator *estimator, const candidates *all, int limit, double *time_s_out) {
    ms_diag mute;
    ms_diag_init_mute(&mute);
    int done = 0;
    double start_s = now_s();
    for (int i = 0; i < all->count && done < limit; i++) {
        ms_candidate_estimate estimate;
        size_t at = (size_t)i * 7919 % (size_t)all->count; /* a search goes in no order */
        done += ms_estimator_run(estimator, &all->list[at], &mute, &estimate) == MS_OK;
    }
    *time_s_out = now_s() - start_s;
    return done;
}

int main(int argc, char **argv) {
    ms_arena arena;
    ms_diag diag;
    ms_job job;
    candidates all = {0};
    ms_arena_init(&arena);
    ms_diag_init_stderr(&diag);
    ms_job_request request = {.workload = MS_SOURCE_DIR "/workloads/gpt3-175b-1024.yaml",
                              .data_folder = MS_SOURCE_DIR};
    if (ms_job_load(&request, &arena, &diag, &job) != MS_OK) {
        return 3;
    }
    list_candidates(&all, &arena, &diag);
    ms_estimator *estimator =
        ms_estimator_new(&job.platform, &job.spec.model, &job.precision, &arena);
    for (int round = 0; round < 2; round++) {
        double time_s = 0.0;
        size_t before_B = mallinfo2().uordblks + mallinfo2().hblkhd;
        int done = run_all(estimator, &all, argc > 1 ? atoi(argv[1]) : all.count, &time_s);
        size_t after_B = mallinfo2().uordblks + mallinfo2().hblkhd;
        printf("%s: %d candidates in %.3f s, %.0f a second, %.1f MB more memory\n",
               round == 0 ? "all new" : "all known", done, time_s, done / time_s,
               1e-6 * ((double)after_B - (double)before_B));
    }
    ms_estimator_free(estimator);
    ms_arena_release(&arena);
    return 0;
}
