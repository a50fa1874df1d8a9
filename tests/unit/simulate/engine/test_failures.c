/* Deadlocks, second runs, memory that runs out, signals and silence. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "cases.h"

/* Two flows that share a link, then a computation that needs both. */
static void build_shared(ms_dag *dag) {
    case_init(dag, 1);
    int32_t link = ms_dag_add_link(dag, 1e9, 0, 0);
    int32_t work = case_p2p_work(dag, 1e9, link, 0.5, true);
    int32_t a = case_op(dag, work, case_stream(dag), -1);
    int32_t b = case_op(dag, work, case_stream(dag), -1);
    case_compute(dag, 1.0, 0, a);
    ms_dag_add_dep(dag, b);
}

static int count(const char *text, const char *word) {
    int found = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        found++;
    }
    return found;
}

Test(failures, deadlock_names_a_cycle_and_who_waits) {
    ms_dag dag;
    case_init(&dag, 3);
    case_compute(&dag, 1.0, 0, -1);
    int32_t one = ms_dag_add_op(&dag, &(ms_dag_op){.work = 0, .kind = MS_OP_FORWARD, .stage = 3});
    ms_dag_add_member(&dag, 1);
    ms_dag_add_dep(&dag, one + 1);
    int32_t two = ms_dag_add_op(&dag, &(ms_dag_op){.work = 0, .kind = MS_OP_BACKWARD, .stage = 4});
    ms_dag_add_member(&dag, 2);
    ms_dag_add_dep(&dag, one);
    case_compute(&dag, 1.0, 0, two); /* waits for the cycle, is not on it */
    for (int fidelity = 0; fidelity < 2; fidelity++) {
        case_run *run = case_fork(&dag, (ms_fidelity)fidelity);
        cr_assert_eq(run->status, MS_E_BUG);
        cr_assert_not_null(strstr(run->message, "3 of 4 operations"), "%s", run->message);
        cr_assert_not_null(strstr(run->message, "cycle: operation 1 (forward stage 3"), "%s",
                           run->message);
        cr_assert_not_null(strstr(run->message, "waits for operation 2 (backward stage 4"), "%s",
                           run->message);
        cr_assert_not_null(strstr(run->message, "operation 3 ("), "%s", run->message);
    }
    ms_dag_release(&dag);
}

/* The first operation that waits is not on the cycle, and is not named as if it were. */
Test(failures, deadlock_behind_which_others_wait) {
    ms_dag dag;
    case_init(&dag, 3);
    case_compute(&dag, 1.0, 0, -1);
    ms_dag_add_dep(&dag, 1);
    ms_dag_add_op(&dag, &(ms_dag_op){.work = 0, .kind = MS_OP_FORWARD, .stage = 3});
    ms_dag_add_member(&dag, 1);
    ms_dag_add_dep(&dag, 2);
    ms_dag_add_op(&dag, &(ms_dag_op){.work = 0, .kind = MS_OP_BACKWARD, .stage = 4});
    ms_dag_add_member(&dag, 2);
    ms_dag_add_dep(&dag, 1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_E_BUG);
    cr_assert_not_null(strstr(run->message, "cycle: operation 1 (forward stage 3"), "%s",
                       run->message);
    ms_dag_release(&dag);
}

Test(failures, deadlock_by_the_order_of_streams) {
    ms_dag dag;
    case_init(&dag, 2);
    /* each stream's first waits for the other's second: a malformed schedule */
    case_compute(&dag, 1.0, 0, 3);
    case_compute(&dag, 1.0, 0, -1);
    case_compute(&dag, 1.0, 1, 1);
    case_compute(&dag, 1.0, 1, -1);
    case_run *run = case_fork(&dag, MS_FIDELITY_ANALYTIC);
    cr_assert_eq(run->status, MS_E_BUG);
    cr_assert_eq(count(run->message, "waits for"), 4, "%s", run->message);
    ms_dag_release(&dag);
}

Test(failures, an_operation_that_waits_for_itself) {
    ms_dag dag;
    case_init(&dag, 1);
    case_compute(&dag, 1.0, 0, 0);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_E_BUG);
    cr_assert_eq(count(run->message, "waits for"), 1, "%s", run->message);
    ms_dag_release(&dag);
}

Test(failures, long_reports_are_cut) {
    enum { LENGTH = 50 };
    ms_dag dag;
    case_init(&dag, LENGTH);
    for (int32_t i = 0; i < LENGTH; i++) {
        case_compute(&dag, 1.0, i, (i + 1) % LENGTH);
    }
    case_run *run = case_fork(&dag, MS_FIDELITY_ANALYTIC);
    cr_assert_eq(run->status, MS_E_BUG);
    cr_assert_eq(count(run->message, "waits for"), 10, "%s", run->message);
    cr_assert_eq(count(run->message, ") for operation"), 10, "%s", run->message);
    cr_assert_not_null(strstr(run->message, "and on"));
    ms_dag_release(&dag);
}

Test(failures, deadlock_behind_flows_that_ran) {
    ms_dag dag;
    build_shared(&dag);
    int32_t next = 3;
    case_compute(&dag, 1.0, 0, next + 1);
    case_compute(&dag, 1.0, 0, -1); /* after it on the stream, and it waits for this one */
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_E_BUG);
    cr_assert_not_null(strstr(run->message, "2 of 5"), "%s", run->message);
    ms_dag_release(&dag);
}

Test(failures, running_out_of_memory_anywhere_is_reported) {
    ms_dag dag;
    build_shared(&dag);
    for (int fidelity = 0; fidelity < 2; fidelity++) {
        long allocations = 0;
        for (;; allocations++) {
            case_run *run = case_fork_failing(&dag, (ms_fidelity)fidelity, allocations);
            if (run->status == MS_OK) {
                break;
            }
            cr_assert_eq(run->status, MS_E_NOMEM, "after %ld allocations", allocations);
            cr_assert_eq(count(run->message, "out of memory"), 1, "%s", run->message);
        }
        cr_assert_geq(allocations, fidelity == MS_FIDELITY_FLOW ? 20 : 8);
    }
    ms_dag_release(&dag);
}

static void append(void *context, const char *text) {
    strncat(context, text, 500);
}

/* Run in this process. */
static ms_status run_here(const ms_dag *dag, ms_fidelity fidelity, ms_arena *arena,
                          char message[1000]) {
    ms_diag diag;
    ms_timeline timeline;
    message[0] = '\0';
    ms_diag_init(&diag, append, message);
    return ms_engine_run(dag, fidelity, MS_SOLVER_SIMGRID, arena, &diag, &timeline);
}

Test(failures, weights_beyond_any_route_are_refused) {
    ms_dag dag;
    case_init(&dag, 1);
    int32_t link = ms_dag_add_link(&dag, 1e9, 0, 0);
    case_op(&dag, case_flow_work(&dag, 1e6, &link, 1, 100001), case_stream(&dag), -1);
    case_op(&dag, case_flow_work(&dag, 1e6, &link, 1, 1), case_stream(&dag), -1);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_E_RANGE);
    cr_assert_not_null(strstr(run->message, "65536"), "%s", run->message);
    cr_assert_eq(case_fork(&dag, MS_FIDELITY_ANALYTIC)->status, MS_OK);
    ms_dag_release(&dag);
}

Test(failures, signal_handlers_survive_simgrid) {
    static const int NUMBERS[] = {SIGINT, SIGTERM, SIGSEGV, SIGPIPE};
    char message[1000];
    ms_dag dag;
    ms_diag diag;
    ms_arena arena;
    struct sigaction before[4];
    ms_diag_init_stderr(&diag);
    ms_arena_init(&arena);
    build_shared(&dag);
    cr_assert_eq(ms_dag_finish(&dag, &diag), MS_OK);
    ms_interrupt_install();
    for (int i = 0; i < 4; i++) {
        sigaction(NUMBERS[i], NULL, &before[i]);
    }
    cr_assert_eq(run_here(&dag, MS_FIDELITY_FLOW, &arena, message), MS_OK, "%s", message);
    for (int i = 0; i < 4; i++) {
        struct sigaction after;
        sigaction(NUMBERS[i], NULL, &after);
        cr_assert_eq(after.sa_handler, before[i].sa_handler, "signal %d", NUMBERS[i]);
    }
    ms_arena_release(&arena);
    ms_dag_release(&dag);
}

Test(failures, simgrid_prints_nothing) {
    char path[] = "/tmp/ms_silence_XXXXXX";
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    int out = dup(1);
    int err = dup(2);
    fflush(NULL);
    dup2(file, 1);
    dup2(file, 2);
    ms_dag dag;
    build_shared(&dag);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    fflush(NULL);
    dup2(out, 1);
    dup2(err, 2);
    struct stat info;
    cr_assert_eq(fstat(file, &info), 0);
    unlink(path);
    cr_assert_eq(run->status, MS_OK);
    cr_assert_eq(info.st_size, 0);
    ms_dag_release(&dag);
}
