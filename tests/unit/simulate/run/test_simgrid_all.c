/* The engine leaves out known dates only: on every shipped workload each operation starts and ends
 * when it does with everything on SimGrid (tests/support/engine/simgrid_all.h), and has the same
 * cause. MS_ALL=1: megatron-1t-3072 as well, a minute more. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "job_fixture.h"
#include "workload_names.h"

#define SLOW                                                                                       \
    "platform.gpu.compute_slowdown={p2p: 1.2, all_reduce: 1.3, all_gather: 1.5, "                  \
    "reduce_scatter: 1.4, all_to_all: 1.25, ring_shift: 1.1}"
#define HOST "host.launch=60 us", "host.sync=[messages, norm]"

static void check_workload(const char *name, const char *const *sets) {
    job_fixture f;
    cr_assert_eq(job_fixture_load(&f, name, sets, NULL, false), MS_OK, "%s: %s", name,
                 ms_buffer_text(&f.messages));
    ms_dag *dag = &f.result.dag;
    cr_assert_eq(ms_job_lower(&f.job, &f.diag, dag, &f.result.fold), MS_OK, "%s", name);
    case_is_simgrid_all = false;
    const case_run *run = case_fork(dag, MS_FIDELITY_FLOW);
    case_is_simgrid_all = true;
    const case_run *oracle = case_fork(dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s: %s", name, run->message);
    cr_assert_eq(oracle->status, MS_OK, "%s: %s", name, oracle->message);
    cr_expect_lt(case_difference(run, oracle), 1e-9, "%s", name);
    for (int32_t op = 0; op < dag->op_count; op++) {
        cr_assert_eq(run->timeline.cause[op], oracle->timeline.cause[op], "%s: operation %d", name,
                     op);
    }
    ms_dag_release(dag);
    job_fixture_release(&f);
}

static void check_all(const char *const *sets) {
    workload_name names[WORKLOADS_MAX];
    size_t count = find_workloads(names);
    for (size_t i = 0; i < count; i++) {
        bool is_large = strcmp(names[i].text, "megatron-1t-3072") == 0; /* 920,000 operations */
        if (!is_large || getenv("MS_ALL") != NULL) {
            check_workload(names[i].text, sets);
        }
    }
}

Test(simgrid_all, workloads) {
    check_all(NULL);
}

Test(simgrid_all, workloads_whose_computations_are_slowed) {
    check_all((const char *const[]){SLOW, NULL});
}

Test(simgrid_all, workloads_whose_hosts_launch_late) {
    check_workload("tiny", (const char *const[]){HOST, NULL});
    check_workload("textbook-70b-64", (const char *const[]){SLOW, HOST, NULL});
    check_workload("tiny", (const char *const[]){"schedule.kind=dualpipe", SLOW, HOST, NULL});
}
