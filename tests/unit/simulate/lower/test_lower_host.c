/* What hosts have to launch, and where they wait. */
#include "lower_fixture.h"

/* Two ranks, a forward and a backward pass of one computation each: hosts wait before every pass
 * and before the update. */
Test(lower_host, launches_what_is_lowered) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){2, 1, 1}, 1, (const char *const[]){"0F0 0B0", "1F0 1B0"});
    lower_set_plain_passes(&x);
    x.segments[0].kernels.launches = 3;
    x.optimizer_s[0] = x.optimizer_s[1] = 1e-3;
    x.job.costs.optimizer_launches = 7;
    x.job.spec.schedule.step_end = MS_STEP_END_SYNCHRONOUS;
    x.job.host = (ms_spec_host){.launch_s = 2e-6, .syncs = MS_SYNC_MESSAGES | MS_SYNC_NORM};
    cr_assert_eq(ms_lower(&x.job, &x.f.diag, &x.dag, &x.fold), MS_OK);
    for (int32_t op = 0; op < x.dag.op_count; op++) {
        const ms_dag_work *work = &x.dag.works[x.dag.ops[op].work];
        int launches = work->is_communication ? 1 : x.dag.ops[op].kind == MS_OP_OPTIMIZER ? 7 : 3;
        cr_assert_float_eq(work->host_s, 2e-6 * launches, 1e-18, "operation %d", op);
        cr_assert_eq(work->is_synchronising, !work->is_communication, "operation %d", op);
    }
    lower_release(&x);
}

/* The host of a rank waits for the gradient's norm before it launches the update, if it is said to.
 */
Test(lower_host, waits_for_the_norm_before_the_update) {
    static const unsigned SYNCS[] = {MS_SYNC_MESSAGES, MS_SYNC_NORM};
    for (int i = 0; i < 2; i++) {
        lower_fixture x;
        lower_init(&x, (lower_degrees){2, 1, 1}, 1, (const char *const[]){"0F0 0B0", "1F0 1B0"});
        lower_set_plain_passes(&x);
        x.optimizer_s[0] = x.optimizer_s[1] = 1e-3;
        x.job.costs.optimizer_launches = 7;
        x.job.spec.schedule.step_end = MS_STEP_END_SYNCHRONOUS;
        x.job.host = (ms_spec_host){.launch_s = 2e-6, .syncs = SYNCS[i]};
        cr_assert_eq(ms_lower(&x.job, &x.f.diag, &x.dag, &x.fold), MS_OK);
        int updates = 0;
        for (int32_t op = 0; op < x.dag.op_count; op++) {
            if (x.dag.ops[op].kind == MS_OP_OPTIMIZER) {
                bool waits = x.dag.works[x.dag.ops[op].work].is_synchronising;
                cr_assert_eq(waits, SYNCS[i] == MS_SYNC_NORM, "%u", SYNCS[i]);
                updates++;
            }
        }
        cr_assert_eq(updates, 2);
        lower_release(&x);
    }
}

/* Hosts that learn the sizes of a batch wait before forward passes, on one pipeline rank as well;
 * for messages there is nothing to wait for on it. */
Test(lower_host, waits_before_some_passes) {
    static const unsigned SYNCS[] = {MS_SYNC_BATCH, MS_SYNC_MESSAGES, MS_SYNC_NORM};
    for (int i = 0; i < 3; i++) {
        lower_fixture x;
        lower_init(&x, (lower_degrees){1, 1, 1}, 1, (const char *const[]){"0F0 0I0 0W0"});
        lower_set_plain_passes(&x);
        x.job.host = (ms_spec_host){.launch_s = 2e-6, .syncs = SYNCS[i]};
        cr_assert_eq(ms_lower(&x.job, &x.f.diag, &x.dag, &x.fold), MS_OK);
        cr_assert_eq(x.dag.op_count, 3);
        for (int32_t op = 0; op < 3; op++) {
            bool waits = x.dag.works[x.dag.ops[op].work].is_synchronising;
            cr_assert_eq(waits, op == 0 && SYNCS[i] == MS_SYNC_BATCH, "%u, operation %d", SYNCS[i],
                         op);
        }
        lower_release(&x);
    }
}

/* A host waits before a computation that says so, in passes that run alone. */
Test(lower_host, waits_before_a_computation_inside_a_pass) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){1, 1, 1}, 1, (const char *const[]){"0F0 0I0 0W0"});
    lower_set_plain_passes(&x);
    x.segments[1] = x.segments[2] = lower_compute();
    x.segments[1].kernels.has_host_wait = true;
    lower_set_pass(&x, MS_PASS_F, 0, 3);
    x.job.host = (ms_spec_host){.launch_s = 2e-6, .syncs = MS_SYNC_EXPERTS};
    cr_assert_eq(ms_lower(&x.job, &x.f.diag, &x.dag, &x.fold), MS_OK);
    for (int32_t op = 0; op < x.dag.op_count; op++) {
        cr_assert_eq(x.dag.works[x.dag.ops[op].work].is_synchronising, op == 1, "operation %d", op);
    }
    lower_release(&x);
}

/* In a pair hosts do not wait, neither before a pass nor before a computation that says so. */
Test(lower_host, waits_nowhere_in_a_pair) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){1, 1, 1}, 2, (const char *const[]){"0F0 0F1+0B0 0B1"});
    lower_set_plain_passes(&x);
    x.segments[1] = x.segments[2] = lower_compute();
    x.segments[2].kernels.has_host_wait = true;
    lower_set_pass(&x, MS_PASS_F, 1, 2);
    x.job.host = (ms_spec_host){.launch_s = 2e-6, .syncs = MS_SYNC_BATCH | MS_SYNC_EXPERTS};
    lower_expect(&x, "0 forward s0 m0: 0\n"
                     "1 forward s0 m0: 0\n"
                     "2 forward s0 m1: 0\n"
                     "3 forward s0 m1: 0\n"
                     "4 backward s0 m0: 0\n"
                     "5 backward s0 m1: 0\n");
    for (int32_t op = 0; op < 6; op++) {
        bool waits = x.dag.works[x.dag.ops[op].work].is_synchronising;
        cr_assert_eq(waits, op < 2, "operation %d", op);
    }
    lower_release(&x);
}

/* What runs in a pair takes longer by what its communication holds of the GPU. */
Test(lower_host, computations_of_a_pair_take_longer) {
    lower_fixture x;
    lower_init(&x, (lower_degrees){1, 1, 1}, 2, (const char *const[]){"0F0 0F1+0B0 0B1"});
    lower_set_plain_passes(&x);
    x.segments[0].pair_extra_s = 0.25e-3;
    cr_assert_eq(ms_lower(&x.job, &x.f.diag, &x.dag, &x.fold), MS_OK);
    static const double EXPECTED_S[] = {1e-3, 1.25e-3, 1.25e-3, 1e-3};
    cr_assert_eq(x.dag.op_count, 4);
    for (int32_t op = 0; op < 4; op++) {
        cr_assert_float_eq(x.dag.works[x.dag.ops[op].work].time_s, EXPECTED_S[op], 1e-15,
                           "operation %d", op);
    }
    lower_release(&x);
}
