/* Hosts that launch what their ranks do, against timelines worked out by hand. */
#include <criterion/criterion.h>
#include <math.h>

#include "base/random.h"
#include "cases.h"

/* A computation that its host needs `host_s` to launch, on `stream` after `dep`. */
static int32_t launched(ms_dag *dag, double time_s, double host_s, int32_t stream, int32_t dep) {
    ms_dag_work work = {.time_s = time_s,
                        .host_s = host_s,
                        .stands_for = 1,
                        .group_size = 1,
                        .tier = -1,
                        .tag = -1};
    return case_op(dag, ms_dag_add_work(dag, &work), stream, dep);
}

/* The same after a wait of its host for all that it depends on. */
static int32_t synchronised(ms_dag *dag, double time_s, double host_s, int32_t stream,
                            int32_t dep) {
    ms_dag_work work = {.time_s = time_s,
                        .host_s = host_s,
                        .is_synchronising = true,
                        .stands_for = 1,
                        .group_size = 1,
                        .tier = -1,
                        .tag = -1};
    return case_op(dag, ms_dag_add_work(dag, &work), stream, dep);
}

static double end_s(ms_dag *dag, int32_t op) {
    const case_run *run = case_fork(dag, MS_FIDELITY_ANALYTIC);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    double end = run->timeline.end_s[op];
    ms_dag_release(dag);
    return end;
}

/* Whatever the GPU could do, a chain takes its launches times the time per launch. */
Test(host, a_chain_is_no_faster_than_its_launches) {
    static const double TIME_S[] = {0.0, 0.5, 2.9};
    for (int t = 0; t < 3; t++) {
        ms_dag dag;
        int32_t last = -1;
        case_init(&dag, 1);
        for (int i = 0; i < 7; i++) {
            last = launched(&dag, TIME_S[t], 3.0, 0, -1);
        }
        cr_assert_float_eq(end_s(&dag, last), 21.0, 1e-12);
    }
}

/* The host launches ten short kernels while a long one runs: none of them waits for it. */
Test(host, runs_ahead_under_a_long_kernel) {
    ms_dag dag;
    int32_t last = -1;
    case_init(&dag, 1);
    launched(&dag, 40.0, 1.0, 0, -1);
    for (int i = 0; i < 10; i++) {
        last = launched(&dag, 0.5, 3.0, 0, -1);
    }
    cr_assert_float_eq(end_s(&dag, last), 45.0, 1e-12);
}

/* As before, but the host waits for the long kernel and launches the others only then. */
Test(host, a_wait_for_the_gpu_restores_the_bound) {
    ms_dag dag;
    int32_t last = -1;
    case_init(&dag, 1);
    launched(&dag, 40.0, 1.0, 0, -1);
    synchronised(&dag, 0.5, 3.0, 0, -1);
    for (int i = 0; i < 9; i++) {
        last = launched(&dag, 0.5, 3.0, 0, -1);
    }
    cr_assert_float_eq(end_s(&dag, last), 70.0, 1e-12);
}

/* A host that is late itself does not go back in time when it comes to a wait. */
Test(host, a_late_host_does_not_wait) {
    ms_dag dag;
    case_init(&dag, 1);
    launched(&dag, 1.0, 9.0, 0, -1);
    int32_t other = ms_dag_add_stream(&dag, 0, -1, MS_AXIS_NONE);
    launched(&dag, 1.0, 5.0, other, -1);                /* launched at 14, beside the first */
    int32_t last = synchronised(&dag, 1.0, 2.0, 0, -1); /* the first has ended at 9 */
    cr_assert_float_eq(end_s(&dag, last), 16.0, 1e-12);
}

/* A collective starts when the last of its members' hosts has launched it, and takes its time. */
Test(host, a_collective_waits_for_the_slowest_host) {
    ms_dag dag;
    case_init(&dag, 2);
    int32_t stream[] = {ms_dag_add_stream(&dag, 0, -1, MS_AXIS_TP),
                        ms_dag_add_stream(&dag, 1, -1, MS_AXIS_TP)};
    int32_t before[] = {launched(&dag, 1.0, 2.0, 0, -1), launched(&dag, 1.0, 6.0, 1, -1)};
    ms_dag_work work = {.host_s = 0.5,
                        .stands_for = 1,
                        .group_size = 2,
                        .tier = -1,
                        .coll = MS_COLL_ALL_REDUCE,
                        .is_communication = true,
                        .tag = -1};
    int32_t index = ms_dag_add_work(&dag, &work);
    ms_dag_add_phase(&dag, 4.0);
    int32_t op =
        ms_dag_add_op(&dag, &(ms_dag_op){.work = index, .kind = MS_OP_ALL_REDUCE, .mb = -1});
    for (int m = 0; m < 2; m++) {
        ms_dag_add_member(&dag, stream[m]);
        ms_dag_add_dep(&dag, before[m]);
    }
    int32_t after = launched(&dag, 1.0, 0.25, 0, op);
    const case_run *run = case_fork(&dag, MS_FIDELITY_ANALYTIC);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    cr_assert_float_eq(run->timeline.start_s[op], 6.5, 1e-12); /* both computed until 2 and 6 */
    cr_assert_float_eq(run->timeline.end_s[op], 10.5, 1e-12);
    cr_assert_eq(run->timeline.cause[op], before[1]);
    cr_assert_float_eq(run->timeline.end_s[after], 11.5, 1e-12); /* launched long before */
    ms_dag_release(&dag);
}

/* Random passes of three ranks with messages between them; every host takes `scale` times as long.
 * Half of the passes are synchronising. */
static double random_step_s(uint64_t seed, double scale) {
    ms_dag dag;
    ms_random random = {seed};
    case_init(&dag, 3);
    int32_t last[3] = {-1, -1, -1};
    for (int i = 0; i < 60; i++) {
        int32_t rank = (int32_t)ms_random_range(&random, 0, 2);
        int32_t from = last[ms_random_range(&random, 0, 2)];
        double time_s = ms_random_unit(&random), host_s = scale * ms_random_unit(&random);
        last[rank] = ms_random_range(&random, 0, 1) == 0
                         ? launched(&dag, time_s, host_s, rank, from)
                         : synchronised(&dag, time_s, host_s, rank, from);
    }
    const case_run *run = case_fork(&dag, MS_FIDELITY_ANALYTIC);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    ms_dag_release(&dag);
    return run->timeline.makespan_s;
}

Test(host, a_faster_one_is_never_slower) {
    uint64_t seed = case_seed(7);
    for (uint64_t i = 0; i < 20; i++) {
        double before_s = 0.0;
        for (double scale = 0.0; scale < 4.0; scale += 0.5) {
            double step_s = random_step_s(seed + i, scale);
            cr_assert_geq(step_s, before_s * (1.0 - 1e-12), "seed %llu, scale %g",
                          (unsigned long long)(seed + i), scale);
            before_s = step_s;
        }
        cr_assert_gt(before_s, random_step_s(seed + i, 0.0) + 1.0); /* hosts do hold it up */
    }
}
