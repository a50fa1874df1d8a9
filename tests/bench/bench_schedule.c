/* Passes per second of building and of evaluating a schedule on paper.
 *
 *   bench_schedule [KIND [P [V [M [REPEATS]]]]]     default: interleaved 64 4 1024 5
 *
 * Prints the fastest of the repeats. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "schedule/schedule.h"

static double now_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

typedef struct times {
    double build_s, evaluate_s, makespan;
    size_t passes;
} times;

static double *filled(ms_arena *arena, int count, double value) {
    double *items = MS_NEW(arena, double, count);
    for (int i = 0; items != NULL && i < count; i++) {
        items[i] = value;
    }
    return items;
}

/* Build and evaluate once; false after a fault, which has been reported. */
static bool run(const ms_schedule_spec *spec, times *out) {
    ms_arena arena;
    ms_diag diag;
    ms_program program;
    ms_schedule_result result;
    ms_arena_init(&arena);
    ms_diag_init(&diag, NULL, NULL);
    double start_s = now_s();
    ms_status status = ms_schedule_build(spec, &arena, &diag, &program);
    double built_s = now_s();
    if (status == MS_OK) {
        int stages = program.model_stages;
        ms_schedule_costs costs = {.forward = filled(&arena, stages, 1.0),
                                   .input_grad = filled(&arena, stages, 1.0),
                                   .weight_grad = filled(&arena, stages, 1.0),
                                   .p2p = filled(&arena, stages, 0.1)};
        status = ms_schedule_evaluate(&program, &costs, &arena, &diag, &result);
    }
    if (status == MS_OK) {
        *out = (times){.build_s = built_s - start_s,
                       .evaluate_s = now_s() - built_s,
                       .makespan = result.makespan,
                       .passes = program.first[spec->pipeline_ranks]};
    }
    ms_arena_release(&arena);
    return status == MS_OK;
}

static int number(int argc, char **argv, int index, int fallback) {
    return argc > index ? atoi(argv[index]) : fallback;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "interleaved";
    ms_schedule_spec spec = {.pipeline_ranks = number(argc, argv, 2, 64),
                             .chunks = number(argc, argv, 3, 4),
                             .microbatches = number(argc, argv, 4, 1024)};
    if (ms_schedule_kind_from_name(name, &spec.kind) != MS_OK) {
        fprintf(stderr, "usage: bench_schedule [KIND [P [V [M [REPEATS]]]]]\n");
        return 2;
    }
    times best = {0};
    for (int i = 0; i < number(argc, argv, 5, 5); i++) {
        times once;
        if (!run(&spec, &once)) {
            return 3;
        }
        if (i == 0 || once.build_s + once.evaluate_s < best.build_s + best.evaluate_s) {
            best = once;
        }
    }
    printf("%s, P=%d V=%d M=%d: %zu passes, makespan %g\n", name, spec.pipeline_ranks, spec.chunks,
           spec.microbatches, best.passes, best.makespan);
    printf("  built in     %.4f s, %.1f million passes/s\n", best.build_s,
           1e-6 * (double)best.passes / best.build_s);
    printf("  evaluated in %.4f s, %.1f million passes/s\n", best.evaluate_s,
           1e-6 * (double)best.passes / best.evaluate_s);
    return 0;
}
