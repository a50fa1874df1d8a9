/* Warnings about what latency costs, before a step is simulated and after. */
#include "estimate/advice.h"
#include "job_fixture.h"

/* Nodes of 8 GPUs. */
#define ON_NODES(microbatches, layout)                                                             \
    "platform: {file: dgx-h100, nodes: 4, library: none}\n"                                        \
    "model: {type: gpt, layers: 8, hidden: 1024, heads: 16, vocab: 1024, sequence: 2048}\n"        \
    "batch: {microbatches: " #microbatches "}\n" layout "\n"

/* Data parallelism of a small model over many GPUs waits for the ring's steps. */
#define MANY                                                                                       \
    "platform: {file: dgx-h100, nodes: 64, library: none}\n"                                       \
    "model: {type: gpt, layers: 4, hidden: 1024, heads: 16, vocab: 0, sequence: 512}\n"            \
    "mesh: {dp: 512, order: [dp]}\n"                                                               \
    "batch: {global: 512}\n"
/* Two GPUs: a ring of two sends what any other algorithm does. */
#define PAIR                                                                                       \
    "platform: {file: two-sites, nodes: 2, library: none, node: {gpus: 1, nics: 1}}\n"             \
    "model: {type: gpt, layers: 1, hidden: 64, heads: 4, vocab: 0, sequence: 64}\n"                \
    "mesh: {dp: 2, order: [dp]}\n"                                                                 \
    "batch: {global: 2}\n"

typedef struct latency_case {
    const char *workload;
    const char *says; /* NULL: nothing */
} latency_case;

/* The norm is an all-reduce of 4 bytes among all ranks, here a ring as any other one: among 512
 * GPUs 1,022 steps, more than the 83 % of the gradients' that latency is; among 32 on four nodes
 * 62 steps, 319 us of a step of 11.1 ms or of one of more microbatches, of which that is little. */
static const latency_case LATENCIES[] = {
    {MANY, "79.3 % of the step waits for rings whose time is mostly latency: other all_reduce of "
           "4 B among 512 (100 %), dp all_reduce of 192.2 MiB among 512 ("},
    {MANY "data_parallel: {zero: 1}\n",
     "other all_reduce of 4 B among 512 (100 %), dp reduce_scatter of 192.2 MiB among 512"},
    {PAIR, NULL},
    {ON_NODES(8, "mesh: {dp: 4, tp: 8, order: [dp, tp]}"), "tp all_reduce of 4 MiB among 8 ("},
    {ON_NODES(8, "mesh: {dp: 4, pp: 8, order: [dp, pp]}"),
     "2.9 % of the step waits for rings whose time is mostly latency: other all_reduce of 4 B "
     "among 32 (100 %); "},
    {ON_NODES(64, "mesh: {dp: 4, pp: 8, order: [dp, pp]}"), NULL},
};

Test(latency_advice, latency_that_dominates_is_told_before_and_after) {
    for (size_t i = 0; i < sizeof LATENCIES / sizeof LATENCIES[0]; i++) {
        const latency_case *c = &LATENCIES[i];
        for (int is_ahead = 0; is_ahead < 2; is_ahead++) {
            job_fixture f;
            ms_estimate estimate;
            cr_assert_eq(job_fixture_load_text(&f, c->workload), MS_OK, "case %zu: %s", i,
                         ms_buffer_text(&f.messages));
            if (is_ahead == 1) {
                cr_assert_eq(ms_job_estimate(&f.job, &f.arena, &f.diag, &estimate), MS_OK);
                cr_assert_eq(ms_advise_latency_ahead(&f.job, &estimate, &f.diag), MS_OK);
            } else {
                f.job.spec.simulation.fidelity = MS_FIDELITY_ANALYTIC;
                cr_assert_eq(ms_job_run(&f.job, &f.arena, &f.diag, &f.result), MS_OK);
                ms_advise_latency(&f.result.metrics, &f.diag);
            }
            const char *said = ms_buffer_text(&f.messages);
            if (c->says == NULL) {
                cr_assert_str_empty(said, "case %zu: %s", i, said);
            } else {
                cr_assert_not_null(strstr(said, c->says), "case %zu: %s", i, said);
                cr_assert_not_null(strstr(said, "'auto' is a ring at every size"), "%s", said);
            }
            job_fixture_release(&f);
        }
    }
}

/* The latency of a row is that of a ring's steps: 2 (n - 1) of the slowest edge. */
Test(latency_advice, rows_tell_their_latency) {
    job_fixture f;
    cr_assert_eq(job_fixture_load_text(&f, MANY), MS_OK, "%s", ms_buffer_text(&f.messages));
    f.job.spec.simulation.fidelity = MS_FIDELITY_ANALYTIC;
    cr_assert_eq(ms_job_run(&f.job, &f.arena, &f.diag, &f.result), MS_OK);
    bool is_found = false;
    for (int i = 0; i < f.result.metrics.collective_count; i++) {
        const ms_coll_row *row = &f.result.metrics.collectives[i];
        cr_assert_leq(row->latency_s, row->alone_s);
        if (row->kind == MS_COLL_ALL_REDUCE && row->axis == MS_AXIS_DP) {
            is_found = true;
            cr_assert_gt(row->latency_s, 2.0 * 511 * 1.7e-6);
            cr_assert_lt(row->latency_s, 2.0 * 511 * 16e-6);
        }
    }
    cr_assert(is_found);
    job_fixture_release(&f);
}
