/* Bounds and estimates per second over specs of gpt3-175b on 1,024 GPUs (tp, pp, dp, order, v,
 * micro-batch, recompute, zero), each once, caches empty at the start.
 *
 *   bench_estimate [SPECS [ROUNDS]]     default: all, five times
 *
 * Each time with an estimator of its own, as a machine's clock goes up and down; the best
 * one counts, by processor time, as others may use the machine, too. A second round over the same
 * specs tells what known ones allocate. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "estimate/estimate.h"
#include "simulate/run/job.h"

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

enum { SPECS_MAX = 100000 };

typedef struct spec_list {
    ms_job_spec *list; /* [SPECS_MAX] */
    int count;
} spec_list;

static const int ORDERS[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

/* The spec's micro-batches, recomputation and ZeRO, where a schedule takes so many microbatches. */
static void add_choices(spec_list *all, const ms_job_spec *shape, int dp, int pp) {
    static const ms_recompute KINDS[] = {MS_RECOMPUTE_NONE, MS_RECOMPUTE_FULL};
    bool has_rounds = shape->schedule.kind == MS_SCHEDULE_INTERLEAVED;
    for (int i = 0; i < 4 * 2 * 4; i++) {
        int micro = 1 << i % 4, round = has_rounds ? pp : 1;
        if (shape->batch.global % (dp * micro * round) == 0) {
            ms_job_spec *spec = &all->list[all->count++];
            *spec = *shape;
            spec->batch.micro = micro;
            spec->choices.recompute = KINDS[i / 4 % 2];
            spec->choices.zero = i / 8;
        }
    }
}

static void add_shapes(spec_list *all, const ms_job_spec *base) {
    static const char *const NAMES[] = {"pp", "dp", "tp"};
    for (int i = 0; i < 4 * 6 * 6; i++) {
        int tp = 1 << i % 4, pp = 1 << i / 4 % 6;
        int sizes[3] = {pp, 1024 / (tp * pp), tp};
        ms_job_spec shape = ms_job_spec_derive(base);
        for (int a = 0; a < 3; a++) {
            shape.mesh.names[a] = NAMES[ORDERS[i / 24][a]];
            shape.mesh.sizes[a] = sizes[ORDERS[i / 24][a]];
        }
        for (int v = 1; v <= 6; v++) {
            shape.schedule.kind = v > 1 ? MS_SCHEDULE_INTERLEAVED : MS_SCHEDULE_1F1B;
            shape.schedule.chunks = v;
            if (96 % (pp * v) == 0 && (v == 1 || pp > 1)) {
                add_choices(all, &shape, sizes[1], sizes[0]);
            }
        }
    }
}

static ms_status bound_one(ms_estimator *estimator, const ms_job_spec *spec, ms_diag *diag) {
    ms_price_use least;
    return ms_estimator_bound(estimator, spec, diag, &least);
}

static ms_status estimate_one(ms_estimator *estimator, const ms_job_spec *spec, ms_diag *diag) {
    ms_spec_estimate estimate;
    return ms_estimator_run(estimator, spec, diag, &estimate);
}

/* What is done with every spec. */
typedef struct bench_round {
    const char *name;
    ms_status (*one)(ms_estimator *estimator, const ms_job_spec *spec, ms_diag *diag);
} bench_round;

static int run_all(ms_estimator *estimator, const spec_list *all, int limit,
                   const bench_round *round, double *time_s_out) {
    ms_diag mute;
    ms_diag_init_mute(&mute);
    int done = 0;
    double start_s = now_s();
    for (int i = 0; i < all->count && i < limit; i++) {
        size_t at = (size_t)i * 7919 % (size_t)all->count; /* a search goes in no order */
        done += round->one(estimator, &all->list[at], &mute) == MS_OK;
    }
    *time_s_out = now_s() - start_s;
    return done;
}

/* A round over all specs, told in a line.  Returns specs a second. */
static double run_round(ms_estimator *estimator, const spec_list *all, int limit,
                        const bench_round *round) {
    double time_s = 0.0;
    size_t before_B = mallinfo2().uordblks + mallinfo2().hblkhd;
    int done = run_all(estimator, all, limit, round, &time_s);
    size_t after_B = mallinfo2().uordblks + mallinfo2().hblkhd;
    printf("%s: %d of %d specs in %.3f s, %.0f a second, %.1f MB more memory\n", round->name, done,
           limit, time_s, done / time_s, 1e-6 * ((double)after_B - (double)before_B));
    return done / time_s;
}

/* Specs a second of each kind of round. */
typedef struct bench_rates {
    double bounds, estimates;
} bench_rates;

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* Bounds of all specs, estimates of all new ones, and of all known; the larger rates stay. */
static void run_rounds(const spec_list *all, int limit, bench_rates *best) {
    ms_arena arena;
    ms_arena_init(&arena);
    ms_estimator *estimator = ms_estimator_new(&arena);
    const bench_round bounds = {"bounds", bound_one}, news = {"all new", estimate_one},
                      known = {"all known", estimate_one};
    best->bounds = larger(best->bounds, run_round(estimator, all, limit, &bounds));
    ms_estimator_free(estimator);
    estimator = ms_estimator_new(&arena);
    best->estimates = larger(best->estimates, run_round(estimator, all, limit, &news));
    run_round(estimator, all, limit, &known);
    ms_estimator_free(estimator);
    ms_arena_release(&arena);
}

int main(int argc, char **argv) {
    ms_arena arena;
    ms_diag diag;
    ms_job_spec base;
    spec_list all = {0};
    ms_arena_init(&arena);
    ms_diag_init_stderr(&diag);
    ms_job_request request = {.workload = MS_SOURCE_DIR "/workloads/gpt3-175b-1024.yaml",
                              .data_folder = MS_SOURCE_DIR};
    if (ms_job_spec_read(&request, &arena, &diag, &base) != MS_OK) {
        return 3;
    }
    all.list = MS_NEW(&arena, ms_job_spec, SPECS_MAX);
    add_shapes(&all, &base);
    bench_rates best = {0};
    int rounds = argc > 2 ? atoi(argv[2]) : 5;
    for (int i = 0; i < rounds; i++) {
        run_rounds(&all, argc > 1 ? atoi(argv[1]) : all.count, &best);
    }
    printf("best of %d: %.0f new specs a second\n", rounds, best.estimates);
    printf("best of %d: %.0f bounds a second\n", rounds, best.bounds);
    ms_arena_release(&arena);
    return 0;
}
