#include "cases.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "simgrid_all.h"

ms_solver case_solver = MS_SOLVER_SIMGRID;
bool case_is_simgrid_all = false;

void case_init(ms_dag *dag, int32_t ranks) {
    ms_dag_init(dag);
    for (int32_t i = 0; i < ranks; i++) {
        ms_dag_add_rank(dag, i, 1, 0);
        ms_dag_add_stream(dag, i, -1, MS_AXIS_NONE);
    }
}

int32_t case_stream(ms_dag *dag) {
    return ms_dag_add_stream(dag, 0, -1, MS_AXIS_DP);
}

int32_t case_compute_work(ms_dag *dag, double time_s) {
    return ms_dag_add_work(dag, &(ms_dag_work){.time_s = time_s, .stands_for = 1, .tier = -1});
}

static int32_t add_communication(ms_dag *dag, double latency_s, bool is_pipelined) {
    int32_t work = ms_dag_add_work(dag, &(ms_dag_work){.stands_for = 1,
                                                       .tier = -1,
                                                       .coll = MS_COLL_P2P,
                                                       .is_communication = true,
                                                       .is_pipelined = is_pipelined});
    ms_dag_add_phase(dag, latency_s);
    return work;
}

int32_t case_flow_work(ms_dag *dag, double bytes, const int32_t *links, int32_t count,
                       int32_t weight) {
    int32_t work = add_communication(dag, 0.0, false);
    ms_dag_add_flow(dag, bytes);
    for (int32_t i = 0; i < count; i++) {
        ms_dag_add_crossing(dag, links[i], weight, 1);
    }
    return work;
}

int32_t case_p2p_work(ms_dag *dag, double bytes, int32_t link, double latency_s,
                      bool is_pipelined) {
    int32_t work = add_communication(dag, latency_s, is_pipelined);
    ms_dag_add_flow(dag, bytes);
    ms_dag_add_crossing(dag, link, 1, 1);
    return work;
}

int32_t case_op(ms_dag *dag, int32_t work, int32_t stream, int32_t dep) {
    int32_t op = ms_dag_add_op(
        dag, &(ms_dag_op){.work = work, .mb = -1, .stage = -1, .chunk = -1, .layer = -1});
    ms_dag_add_member(dag, stream);
    ms_dag_add_dep(dag, dep);
    return op;
}

int32_t case_compute(ms_dag *dag, double time_s, int32_t stream, int32_t dep) {
    return case_op(dag, case_compute_work(dag, time_s), stream, dep);
}

/* Memory that a child process can write and this one reads. */
static void *share(size_t size) {
    void *memory =
        mmap(NULL, size > 0 ? size : 1, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    return memory;
}

static void append(void *context, const char *text) {
    case_run *run = context;
    strncat(run->message, text, sizeof run->message - strlen(run->message) - 1);
}

static void run_here(const ms_dag *dag, ms_fidelity fidelity, long allocations, case_run *run) {
    ms_arena arena;
    ms_diag diag;
    ms_timeline t;
    ms_arena_init(&arena);
    ms_arena_fail_after(&arena, allocations);
    ms_diag_init(&diag, append, run);
    run->status = case_is_simgrid_all
                      ? simgrid_all_run(dag, &arena, &diag, &t)
                      : ms_engine_run(dag, fidelity, case_solver, &arena, &diag, &t);
    if (run->status == MS_OK) {
        size_t ops = (size_t)dag->op_count;
        size_t links = (size_t)dag->network.link_count;
        ms_timeline shared = run->timeline;
        memcpy(shared.start_s, t.start_s, ops * sizeof(double));
        memcpy(shared.end_s, t.end_s, ops * sizeof(double));
        memcpy(shared.cause, t.cause, ops * sizeof(int32_t));
        memcpy(shared.link_bytes, t.link_bytes, links * sizeof(double));
        memcpy(shared.link_busy_s, t.link_busy_s, links * sizeof(double));
        memcpy(shared.link_peak, t.link_peak, links * sizeof(double));
        t.start_s = shared.start_s;
        t.end_s = shared.end_s;
        t.cause = shared.cause;
        t.link_bytes = shared.link_bytes;
        t.link_busy_s = shared.link_busy_s;
        t.link_peak = shared.link_peak;
        run->timeline = t;
    }
    ms_arena_release(&arena);
}

case_run *case_fork(ms_dag *dag, ms_fidelity fidelity) {
    return case_fork_failing(dag, fidelity, -1);
}

case_run *case_fork_failing(ms_dag *dag, ms_fidelity fidelity, long allocations) {
    if (dag->ops == NULL) {
        ms_diag diag;
        ms_diag_init_stderr(&diag);
        cr_assert_eq(ms_dag_finish(dag, &diag), MS_OK);
    }
    case_run *run = share(sizeof *run);
    size_t ops = (size_t)dag->op_count;
    size_t links = (size_t)dag->network.link_count;
    run->timeline.start_s = share(ops * sizeof(double));
    run->timeline.end_s = share(ops * sizeof(double));
    run->timeline.cause = share(ops * sizeof(int32_t));
    run->timeline.link_bytes = share(links * sizeof(double));
    run->timeline.link_busy_s = share(links * sizeof(double));
    run->timeline.link_peak = share(links * sizeof(double));
    run->status = MS_E_INTERRUPTED;
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        run_here(dag, fidelity, allocations, run);
        _exit(0);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the run died with status %x", status);
    return run;
}

double case_difference(const case_run *a, const case_run *b) {
    double worst = 0.0;
    for (int32_t i = 0; i < a->timeline.op_count; i++) {
        double scale = fmax(a->timeline.makespan_s, 1e-300);
        worst = fmax(worst, fabs(a->timeline.end_s[i] - b->timeline.end_s[i]) / scale);
        worst = fmax(worst, fabs(a->timeline.start_s[i] - b->timeline.start_s[i]) / scale);
    }
    return worst;
}

uint64_t case_seed(uint64_t fallback) {
    const char *text = getenv("MS_SEED");
    return text == NULL ? fallback : strtoull(text, NULL, 0);
}
