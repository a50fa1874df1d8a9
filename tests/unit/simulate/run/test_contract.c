/* What must hold for every canonical workload, and the closed forms on the ideal platform. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>

#include "job_fixture.h"
#include "workload_names.h"

static double apart(double a, double b) {
    return fabs(a - b) / fmax(fabs(b), 1e-300);
}

/* Bytes are those of the messages; a flow that is slowed keeps its links busy for more of them. */
static void check_links(const ms_result *r) {
    double *expected = calloc((size_t)r->dag.network.link_count + 1, sizeof *expected);
    double *busy = calloc((size_t)r->dag.network.link_count + 1, sizeof *busy);
    for (int32_t i = 0; i < r->dag.op_count; i++) {
        const ms_dag_work *work = &r->dag.works[r->dag.ops[i].work];
        double times = ms_steady_count(&r->timeline.steady, r->timeline.start_s[i]);
        for (int32_t p = 0; p < work->phase_count; p++) {
            const ms_dag_phase *phase = &r->dag.network.phases[work->phase_first + p];
            for (int32_t j = 0; j < phase->flow_count; j++) {
                const ms_dag_flow *flow = &r->dag.network.flows[phase->flow_first + j];
                for (int32_t c = 0; c < flow->crossing_count; c++) {
                    const ms_dag_crossing *x = &r->dag.network.crossings[flow->crossing_first + c];
                    expected[x->link] += times * flow->bytes / flow->slowness * x->weight;
                    busy[x->link] += times * flow->bytes * x->weight;
                }
            }
        }
    }
    for (int32_t l = 0; l < r->dag.network.link_count; l++) {
        cr_assert_lt(apart(r->timeline.link_bytes[l], expected[l]), 1e-9, "link %d", l);
        cr_assert_leq(r->timeline.link_peak[l], 1.0 + 1e-9);
        /* never faster than the busiest link */
        cr_assert_geq(r->metrics.step_time_s * (1.0 + 1e-9),
                      busy[l] / r->dag.network.links[l].capacity_Bps);
    }
    free(expected);
    free(busy);
}

static void check_ranks(const ms_result *r) {
    for (int i = 0; i < r->dag.rank_count; i++) {
        double sum = 0.0;
        for (int c = 0; c < MS_TIME_COUNT; c++) {
            sum += r->metrics.ranks[i].time_s[c];
            cr_assert_geq(r->metrics.ranks[i].time_s[c], 0.0);
        }
        cr_assert_lt(apart(sum, r->metrics.step_time_s), 1e-9);
        const ms_rank_memory *m = &r->memory[i];
        double parts = m->held.parameter_B + m->held.gradient_B + m->held.optimizer_B +
                       m->held.activation_B + m->held.buffer_B + m->held.other_B;
        cr_assert(parts == m->held.total_B || apart(parts, m->held.total_B) < 1e-12);
        for (int a = 0; a < MS_AXIS_COUNT; a++) {
            const ms_axis_use *u = &r->metrics.ranks[i].axes[a];
            cr_assert_leq(fabs(u->exposed_s + u->overlapped_s + u->in_idle_s - u->busy_s),
                          1e-9 * r->metrics.step_time_s);
        }
    }
}

ParameterizedTestParameters(job_contract, canonical_workload) {
    static workload_name names[WORKLOADS_MAX];
    size_t count = find_workloads(names);
    return cr_make_param_array(workload_name, names, count);
}

ParameterizedTest(workload_name *name, job_contract, canonical_workload) {
    job_fixture f;
    const ms_result *r = job_fixture_run(&f, name->text, NULL, "flow", false);
    cr_assert_eq(ms_program_check(&f.job.program, &f.diag), MS_OK);
    cr_assert_lt(fabs(job_fixture_sum(r->metrics.share) - 1.0), 1e-9);
    cr_assert_lt(apart(job_fixture_sum(r->metrics.critical_s), r->metrics.step_time_s), 1e-9);
    check_links(r);
    check_ranks(r);
    ms_estimate estimate;
    cr_assert_eq(ms_job_estimate(&f.job, &f.arena, &f.diag, &estimate), MS_OK);
    cr_assert_geq(r->metrics.step_time_s * (1.0 + 1e-12), estimate.lower_bound_s * (1.0 - 1e-9),
                  "never faster than the schedule with free communication");
    cr_assert_lt(
        apart(estimate.ranks[estimate.peak_rank].peak_B, r->memory[r->peak_rank].held.total_B),
        1e-12, "memory follows from the order of passes");
    job_fixture_release(&f);
}

/* Contention can only slow a step down: the closed-form engine is a lower bound. */
ParameterizedTestParameters(job_contract, analytic_is_a_lower_bound) {
    static workload_name names[WORKLOADS_MAX];
    size_t count = find_workloads(names);
    return cr_make_param_array(workload_name, names, count);
}

ParameterizedTest(workload_name *name, job_contract, analytic_is_a_lower_bound) {
    job_fixture a;
    job_fixture b;
    const ms_result *analytic = job_fixture_run(&a, name->text, NULL, "analytic", false);
    const ms_result *flow = job_fixture_run(&b, name->text, NULL, "flow", false);
    cr_assert_leq(analytic->metrics.step_time_s, flow->metrics.step_time_s * (1.0 + 1e-9));
    cr_assert_lt(
        apart(analytic->metrics.axes[MS_AXIS_TP].bytes, flow->metrics.axes[MS_AXIS_TP].bytes),
        1e-12);
    job_fixture_release(&a);
    job_fixture_release(&b);
}

/* A closed form: kind, P, V, M. */
typedef struct ideal_case {
    char kind[16];
    int p, v, m;
} ideal_case;

static ideal_case IDEAL[] = {
    {"gpipe", 2, 1, 4},        {"gpipe", 4, 1, 8},          {"gpipe", 8, 1, 32},
    {"gpipe", 16, 1, 3},       {"1f1b", 2, 1, 2},           {"1f1b", 4, 1, 7},
    {"1f1b", 8, 1, 16},        {"1f1b", 35, 1, 70},         {"1f1b", 64, 1, 512},
    {"1f1b", 1, 1, 5},         {"interleaved", 2, 2, 4},    {"interleaved", 4, 2, 8},
    {"interleaved", 8, 4, 16}, {"interleaved", 16, 4, 128}, {"interleaved", 4, 3, 12},
};

ParameterizedTestParameters(job_contract, ideal_bubble) {
    return cr_make_param_array(ideal_case, IDEAL, sizeof IDEAL / sizeof IDEAL[0]);
}

ParameterizedTest(ideal_case *c, job_contract, ideal_bubble) {
    char text[512];
    snprintf(text, sizeof text,
             "platform: {file: ideal, nodes: %d}\n"
             "mesh: {pp: %d, order: [pp]}\n"
             "costs: {forward: 1 ms, input_gradient: 1 ms, weight_gradient: 1 ms}\n"
             "schedule: {kind: %s, v: %d}\n"
             "batch: {microbatches: %d}\n",
             c->p, c->p, c->kind, c->v, c->m);
    job_fixture f;
    ms_status status = job_fixture_load_text(&f, text);
    cr_assert_eq(status, MS_OK, "%s", ms_buffer_text(&f.messages));
    cr_assert_eq(ms_job_run(&f.job, &f.arena, &f.diag, &f.result), MS_OK);
    ms_run_figures figures;
    ms_result_figures(&f.result, &figures);
    double bubble = figures.bubble_fraction;
    double expected = (c->p - 1.0) / ((double)c->v * c->m + c->p - 1.0);
    cr_assert_lt(fabs(bubble - expected), 1e-9, "%s P %d V %d M %d: %.12f, expected %.12f", c->kind,
                 c->p, c->v, c->m, bubble, expected);
    cr_assert_lt(fabs(figures.idle_fraction - expected), 1e-9);
    job_fixture_release(&f);
}
