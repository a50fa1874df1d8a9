/* Bytes of the tiers: what ranks send, times the links of the tier on the way, and nothing of what
 * slows it down. */
#include <criterion/criterion.h>
#include <math.h>

#include "job_fixture.h"

/* Sixteen experts over the sixteen GPUs of two nodes. */
typedef struct expert_job {
    double exchange_efficiency;
    int microbatches;
    ms_fidelity fidelity;
    bool no_fold;
} expert_job;

static const ms_result *run_experts(job_fixture *f, expert_job job) {
    char text[1024];
    snprintf(text, sizeof text,
             "platform: {file: dgx-h100, nodes: 2, tiers: {rail: {exchange_efficiency: %g}}}\n"
             "model: {type: llama, layers: 2, hidden: 1024, heads: 16, ffn: 2048, vocab: 0, "
             "sequence: 1024, "
             "moe: {experts: 16, top_k: 2, ffn: 2048}}\n"
             "mesh: {ep: 16, order: [ep]}\n"
             "batch: {global: %d}\n"
             "precision: {parameters: bf16, gradients: bf16}\n",
             job.exchange_efficiency, 16 * job.microbatches);
    cr_assert_eq(job_fixture_load_text(f, text), MS_OK, "%s", ms_buffer_text(&f->messages));
    f->job.spec.simulation.fidelity = job.fidelity;
    f->job.run.no_fold = job.no_fold;
    cr_assert_eq(ms_job_run(&f->job, &f->arena, &f->diag, &f->result), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    return &f->result;
}

/* Full buffers of all all-to-alls of a rank. */
static double exchanged_B(const ms_result *r) {
    double sum_B = 0.0;
    for (int i = 0; i < r->metrics.collective_count; i++) {
        const ms_coll_row *row = &r->metrics.collectives[i];
        sum_B += row->kind == MS_COLL_ALL_TO_ALL ? row->size_B * row->count_per_rank : 0.0;
    }
    return sum_B;
}

/* One microbatch more has its all-to-alls more. Each of 16 ranks sends a sixteenth of its buffer S
 * to each of 8 ranks of the other node, over two ports, and for 7 of them over two links of NVLink
 * to the GPU on their rail; and to each of 7 ranks of its own node, over two links of NVLink: 16 x
 * 8 x 2 / 16 S = 16 S over rails, 16 x (7 + 7) x 2 / 16 S = 28 S inside nodes. */
Test(tier_bytes, all_to_alls_by_hand) {
    static const double EFFICIENCIES[] = {0.92, 0.3};
    for (size_t i = 0; i < 2; i++) {
        job_fixture one, two;
        const ms_result *a = run_experts(
            &one, (expert_job){.exchange_efficiency = EFFICIENCIES[i], .microbatches = 1});
        const ms_result *b = run_experts(
            &two, (expert_job){.exchange_efficiency = EFFICIENCIES[i], .microbatches = 2});
        double size_B = exchanged_B(b) - exchanged_B(a);
        cr_assert_gt(size_B, 1e6);
        cr_assert_float_eq((b->tiers[0].bytes - a->tiers[0].bytes) / (28 * size_B), 1, 1e-12);
        cr_assert_float_eq((b->tiers[1].bytes - a->tiers[1].bytes) / (16 * size_B), 1, 1e-12);
        job_fixture_release(&one);
        job_fixture_release(&two);
    }
}

/* All-to-alls that reach less of the links take longer and carry the same; no link carries more
 * than it can. */
Test(tier_bytes, slow_transfers_carry_the_same) {
    static const double EFFICIENCIES[] = {0.6, 0.3};
    for (size_t i = 0; i < 2; i++) {
        job_fixture fast, slow;
        const ms_result *a = run_experts(&fast, (expert_job){0.92, 2, MS_FIDELITY_FLOW, false});
        const ms_result *b =
            run_experts(&slow, (expert_job){EFFICIENCIES[i], 2, MS_FIDELITY_FLOW, false});
        cr_assert_gt(b->metrics.step_time_s, a->metrics.step_time_s, "row %zu", i);
        for (int t = 0; t < 2; t++) {
            cr_assert_float_eq(b->tiers[t].bytes / a->tiers[t].bytes, 1, 1e-12, "row %zu tier %d",
                               i, t);
            double links = b->job->platform->tiers[t].links;
            double most_B =
                links * b->tiers[t].busy_s *
                ms_platform_link(b->job->platform, b->job->platform->tiers[t].first_link)
                    .capacity_Bps;
            cr_assert_leq(b->tiers[t].bytes, most_B, "row %zu tier %d", i, t);
        }
        job_fixture_release(&fast);
        job_fixture_release(&slow);
    }
}

/* Where every rank is simulated, the bytes of a tier are those of its links. */
Test(tier_bytes, are_the_sum_of_the_links) {
    static const ms_fidelity LEVELS[] = {MS_FIDELITY_ANALYTIC, MS_FIDELITY_FLOW, MS_FIDELITY_STEP};
    for (size_t i = 0; i < 3; i++) {
        job_fixture f;
        const ms_result *r = run_experts(&f, (expert_job){.exchange_efficiency = 0.3,
                                                          .microbatches = 2,
                                                          .fidelity = LEVELS[i],
                                                          .no_fold = true});
        for (int t = 0; t < 2; t++) {
            double sum_B = 0.0;
            for (int32_t l = 0; l < r->dag.network.link_count; l++) {
                bool is_here = r->dag.network.links[l].tier == t;
                sum_B += is_here ? r->timeline.link_bytes[l] : 0.0;
            }
            cr_assert_float_eq(sum_B / r->tiers[t].bytes, 1, 1e-12, "%s tier %d",
                               ms_fidelity_name(LEVELS[i]), t);
        }
        job_fixture_release(&f);
    }
}
