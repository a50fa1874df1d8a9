/* Estimates against simulations: equal in the analytic fidelity, where nothing shares links with
 * anything else, and bounds below all. */
#include <criterion/parameterized.h>
#include <math.h>

#include "job_fixture.h"

typedef struct estimate_case {
    char workload[32];
    char sets[8][80];
} estimate_case;

static estimate_case CASES[] = {
    {"tiny", {""}},
    {"tiny", {"schedule.kind=interleaved", "schedule.v=2", "recompute=full"}},
    {"tiny", {"schedule.kind=zbv", "pipeline.scatter_gather=true"}},
    {"tiny", {"schedule.kind=dualpipe", "batch.global=32"}},
    {"tiny", {"schedule.kind=dualpipev", "tensor_parallel.sequence=true"}},
    {"tiny", {"schedule.kind=chimera", "data_parallel.zero=1"}},
    {"tiny", {"schedule.kind=seq1f1b", "schedule.splits=2"}},
    {"tiny", {"schedule.sends=blocking", "schedule.kind=zbh1"}},
    {"tiny", {"data_parallel.zero=1", "data_parallel.overlap_gather=true"}},
    {"tiny", {"data_parallel.zero=2", "data_parallel.overlap_reduce=true"}},
    {"tiny",
     {"data_parallel.zero=3", "data_parallel.overlap_gather=true",
      "data_parallel.overlap_reduce=true"}},
    {"tiny",
     {"data_parallel.zero=3", "schedule.kind=interleaved", "schedule.v=2",
      "data_parallel.reduce=round"}},
    {"tiny",
     {"data_parallel.zero=3", "data_parallel.gather_stages=2", "schedule.kind=interleaved",
      "schedule.v=2"}},
    {"tiny", {"tensor_parallel.sequence=true", "tensor_parallel.overlap=ring", "steps=3"}},
    {"tiny", {"schedule.step_end=post_validation", "steps=4"}},
    {"tiny",
     {"mesh.cp=2", "mesh.order=[pp, dp, cp, tp]", "platform.nodes=2",
      "schedule.partition=balanced"}},
    {"tiny",
     {"mesh.ep=2", "mesh.order=[pp, dp, ep, tp]", "platform.nodes=2", "model.bias=false",
      "model.moe={experts: 8, top_k: 2, shared_experts: 1, overlap: shared}"}},
    {"tiny",
     {"mesh.order=[tp, pp, dp]", "schedule.kind=dualpipe", "data_parallel.zero=3",
      "data_parallel.gather_stages=1", "platform.tiers.nvlink.latency=0 s", "model.mtp_layers=1"}},
    {"tiny", {"host.launch=8 us"}},
    {"tiny", {"host.launch=40 us", "host.sync=[messages, norm]", "steps=3"}},
    {"tiny",
     {"host.launch=60 us", "tensor_parallel.sequence=true", "tensor_parallel.overlap=bulk",
      "host.sync=[messages]"}},
    {"tiny",
     {"host.launch=40 us", "schedule.kind=dualpipe", "data_parallel.zero=3",
      "data_parallel.overlap_gather=true", "data_parallel.overlap_reduce=true",
      "host.sync=[messages, norm, batch]"}},
    {"tiny",
     {"host.launch=40 us", "schedule.kind=zbv", "schedule.sends=blocking", "data_parallel.zero=1",
      "host.sync=[messages]"}},
    {"tiny",
     {"host.launch=60 us", "data_parallel.zero=3", "data_parallel.gather_stages=2",
      "schedule.kind=interleaved", "schedule.v=2"}},
    {"tiny",
     {"host.launch=20 us", "mesh.ep=2", "mesh.order=[pp, dp, ep, tp]", "platform.nodes=2",
      "model.bias=false", "model.moe={experts: 8, top_k: 2}", "host.sync=[messages, experts]"}},
    {"tiny",
     {"host.launch=60 us", "mesh.tp=1", "mesh.dp=4", "model.bias=false",
      "model.moe={experts: 8, top_k: 2}", "recompute=full", "host.sync=[experts]"}},
    {"textbook-70b-64", {""}},
    {"mixtral-8x7b-64", {""}},
    {"llama3-8b-128k-64", {""}},
    {"gpt3-175b-1024", {"mesh.order=[dp, pp, tp]"}},
    {"gpt3-175b-1024", {"host.launch=900 us", "host.sync=[norm]"}},
};

ParameterizedTestParameters(job_estimate, is_what_is_simulated) {
    return cr_make_param_array(estimate_case, CASES, sizeof CASES / sizeof CASES[0]);
}

ParameterizedTest(estimate_case *c, job_estimate, is_what_is_simulated) {
    static const char *const FIDELITIES[] = {"analytic", "flow"};
    static const double TOLERANCE[] = {2e-3, 0.03};
    const char *sets[9] = {NULL};
    for (int i = 0; i < 8 && c->sets[i][0] != '\0'; i++) {
        sets[i] = c->sets[i];
    }
    for (int i = 0; i < 2; i++) {
        job_fixture f;
        ms_estimate estimate;
        double step_s =
            job_fixture_run(&f, c->workload, sets, FIDELITIES[i], false)->metrics.step_time_s;
        cr_assert_eq(ms_job_estimate(&f.job, &f.arena, &f.diag, &estimate), MS_OK);
        cr_assert_lt(fabs(estimate.step_s / step_s - 1.0), TOLERANCE[i],
                     "%s %s %s: %.12g, run %.12g", c->workload, c->sets[0], FIDELITIES[i],
                     estimate.step_s, step_s);
        cr_assert_leq(estimate.lower_bound_s, step_s, "%s %s", c->workload, c->sets[0]);
        cr_assert_gt(estimate.lower_bound_s, 0.5 * step_s, "%s %s: bound %g of %g", c->workload,
                     c->sets[0], estimate.lower_bound_s, step_s);
        cr_assert_lt(fabs(estimate.ranks[estimate.peak_rank].peak_B /
                              f.result.memory[f.result.peak_rank].held.total_B -
                          1.0),
                     1e-12, "%s %s", c->workload, c->sets[0]);
        job_fixture_release(&f);
    }
}
