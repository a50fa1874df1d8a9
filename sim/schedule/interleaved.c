/* Interleaved 1F1B: each rank owns V stages and works through groups of N microbatches, chunk by
 * chunk. Source: Narayanan et al., SC'21, interleaved schedule; the order of Megatron-LM's
 * forward_backward_pipelining_with_interleaving with microbatch_group_size_per_vp_stage = N. */
#include "schedule/internal.h"

static int group_size(const ms_schedule_spec *spec) {
    return spec->group == 0 ? spec->pipeline_ranks : spec->group;
}

static ms_status check(const ms_schedule_spec *spec, ms_diag *diag) {
    int ranks = spec->pipeline_ranks;
    int microbatches = spec->microbatches;
    int group = group_size(spec);
    if (microbatches < ranks) {
        ms_diag_error(
            diag,
            "interleaved needs at least as many microbatches as pipeline ranks, got M = '%d' "
            "for P = %d; nearest legal M: %d",
            microbatches, ranks, ranks);
        return MS_E_INPUT;
    }
    if (group < ranks || group > microbatches) {
        ms_diag_error(
            diag,
            "interleaved needs groups of P to M microbatches, got N = '%d' for P = %d and "
            "M = %d; nearest legal N: %d",
            group, ranks, microbatches, group < ranks ? ranks : microbatches);
        return MS_E_INPUT;
    }
    int rest = microbatches % group;
    if (rest > 0 && rest < ranks) {
        ms_diag_error(
            diag,
            "M = '%d' in groups of N = %d leaves a last group of %d, and interleaved needs P = %d "
            "or none there; nearest legal M: %d or %lld",
            microbatches, group, rest, ranks, microbatches - rest,
            (long long)microbatches - rest + ranks);
        return MS_E_INPUT;
    }
    return MS_OK;
}

/* Entry k of the table: for each group of N microbatches, for each chunk, its microbatches in
 * order. The last group keeps the remainder. Backwards go through the chunks the other way round.
 */
static void unit(const ms_pairs *pairs, ms_pass pass, int64_t k, ms_action_list *list) {
    const ms_schedule_spec *spec = pairs->spec;
    int64_t group = group_size(spec);
    int64_t first_mb = k / (group * spec->chunks) * group;
    int64_t width = spec->microbatches - first_mb;
    width = width < group ? width : group;
    int64_t within = k - first_mb * spec->chunks;
    int chunk = (int)(within / width);
    int mb = (int)(first_mb + within % width);
    if (pass != MS_PASS_F) {
        chunk = spec->chunks - 1 - chunk;
    }
    ms_action_list_add(list, pass, chunk * spec->pipeline_ranks + pairs->rank, mb);
}

static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    int64_t total = (int64_t)spec->chunks * spec->microbatches;
    int64_t distance = spec->pipeline_ranks - 1 - rank;
    int64_t warmup = spec->chunks == 1
                         ? distance /* one chunk is plain 1F1B */
                         : 2 * distance + (int64_t)(spec->chunks - 1) * group_size(spec);
    ms_pairs pairs = {
        .spec = spec,
        .rank = rank,
        .total = total,
        .warmup = warmup < total ? warmup : total,
        .unit = unit,
    };
    ms_generate_pairs(&pairs, list);
}

/* N = P, M a multiple of P: (VM+P-1)(f+b) + 2l(VP-1); N = 2P, M a multiple of 2P: 2l(P-1) in the
 * place of the last term; both while l <= min(f, b) of a virtual stage. Source: derived by
 * exhaustive evaluation; tests/unit/schedule sweeps both. At l = 0 it is Narayanan et al., SC'21.
 */
static bool formula(const ms_program *program, const ms_schedule_costs *costs,
                    double *makespan_out) {
    const ms_schedule_spec *spec = &program->spec;
    int ranks = spec->pipeline_ranks;
    int group = group_size(spec);
    ms_even_costs even;
    if (!ms_schedule_costs_are_even(program, costs, &even)) {
        return false;
    }
    if (spec->chunks == 1) {
        *makespan_out = ms_formula_1f1b(ranks, spec->microbatches, &even);
        return true;
    }
    bool is_hidden = even.p2p <= even.forward && even.p2p <= even.backward;
    bool is_even_group = (group == ranks || group == 2 * ranks) && spec->microbatches % group == 0;
    if (!is_hidden || !is_even_group) {
        return false;
    }
    double units = (double)spec->chunks * spec->microbatches + ranks - 1;
    double trips = group == ranks ? (double)program->stages - 1 : (double)ranks - 1;
    *makespan_out = units * (even.forward + even.backward) + 2 * even.p2p * trips;
    return true;
}

const ms_schedule_type ms_schedule_interleaved = {
    .name = "interleaved",
    .passes = 2,
    .parameter_replicas = 1,
    .check = check,
    .place = ms_place_loop,
    .generate = generate,
    .formula = formula,
};
