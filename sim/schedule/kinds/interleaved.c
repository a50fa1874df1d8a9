/* Interleaved 1F1B: each rank owns V stages (chunks) and takes the microbatches in groups of N: it
 * runs a whole group on one chunk, then the same group on the next chunk. Three kinds differ in
 * their groups. Megatron-LM's have N >= P, and the last group, of M mod N microbatches, is empty or
 * has at least P; PyTorch's are M/P (rounded down) groups of equal size; Llama 3's (flexible) have
 * any N, as long as the ranks' lists do not deadlock. Source: Narayanan et al., SC'21, interleaved
 * schedule; the order of Megatron-LM's forward_backward_pipelining_with_interleaving with
 * microbatch_group_size_per_vp_stage = N. */

#include "schedule/order.h"

int ms_schedule_group(const ms_schedule_spec *spec) {
    int most =
        spec->microbatches < spec->pipeline_ranks ? spec->microbatches : spec->pipeline_ranks;
    return spec->group == 0 ? most : spec->group;
}

/* Whether the last, smaller group of M mod N microbatches is empty or has at least P. group: N. */
static bool has_full_rest(const ms_schedule_spec *spec, int group) {
    int rest = spec->microbatches % group;
    return rest == 0 || rest >= spec->pipeline_ranks;
}

/* The legal group size closest to `group`, for an error message: between `least` and M, with a full
 * last group. M itself is always legal, as it makes one group. */
static int nearest_group(const ms_schedule_spec *spec, int group, int least) {
    for (int step = 0; step <= spec->microbatches; step++) {
        const int candidates[2] = {group - step, group + step};
        for (int i = 0; i < 2; i++) {
            if (candidates[i] >= least && candidates[i] <= spec->microbatches &&
                has_full_rest(spec, candidates[i])) {
                return candidates[i];
            }
        }
    }
    return spec->microbatches;
}

/* Report that the group size is out of range, with the nearest legal one. least_name, least: the
 * smallest group size of the kind, as the message names it and as a number. Returns MS_E_INPUT. */
static ms_status report_group(const ms_schedule_type *type, const ms_schedule_spec *spec,
                              const char *least_name, int least, ms_diag *diag) {
    return ms_diag_error(
        diag,
        "%s needs groups of %s to M microbatches, got N = '%d' for P = %d and M = %d; "
        "nearest legal N: %d",
        type->name, least_name, spec->group, spec->pipeline_ranks, spec->microbatches,
        nearest_group(spec, spec->group, least));
}

/* Check that M >= P and that the group size is from P to M. */
static ms_status check(const ms_schedule_type *type, const ms_schedule_spec *spec, ms_diag *diag) {
    int group = ms_schedule_group(spec);
    if (ms_schedule_check_m_at_least_p(type, spec, diag) != MS_OK) {
        return MS_E_INPUT;
    }
    bool is_legal = group >= spec->pipeline_ranks && group <= spec->microbatches;
    return is_legal ? MS_OK : report_group(type, spec, "P", spec->pipeline_ranks, diag);
}

/* Check that a group of the flexible kind has at most M microbatches. Sizes with which the ranks
 * deadlock are found later, on the finished lists (check_flow). */
static ms_status check_flexible(const ms_schedule_type *type, const ms_schedule_spec *spec,
                                ms_diag *diag) {
    return ms_schedule_group(spec) <= spec->microbatches ? MS_OK
                                                         : report_group(type, spec, "1", 1, diag);
}

/* Check the group size for Megatron-LM's kind, which also refuses a last group of less than P
 * microbatches. The flexible kind takes such a group, at the cost of bubbles. */
static ms_status check_rest(const ms_schedule_type *type, const ms_schedule_spec *spec,
                            ms_diag *diag) {
    if (check(type, spec, diag) != MS_OK) {
        return MS_E_INPUT;
    }
    int group = ms_schedule_group(spec);
    if (has_full_rest(spec, group)) {
        return MS_OK;
    }
    int rest = spec->microbatches % group;
    return ms_diag_error(
        diag,
        "M = '%d' in groups of N = %d leaves a last group of %d, and interleaved needs "
        "P = %d or none there; nearest legal M: %d or %lld",
        spec->microbatches, group, rest, spec->pipeline_ranks, spec->microbatches - rest,
        (long long)spec->microbatches - rest + spec->pipeline_ranks);
}

/* Report that the lists deadlock with this group size, with the nearest size that always runs:
 * because of a last group of less than P microbatches, or because all groups are smaller than P.
 * Returns MS_E_INPUT. */
static ms_status report_flow(const ms_schedule_spec *spec, ms_diag *diag) {
    int group = ms_schedule_group(spec);
    if (group >= spec->pipeline_ranks) {
        return ms_diag_error(
            diag,
            "M = '%d' in groups of N = %d leaves a last group of %d, and the ranks would "
            "wait for each other there; a last group of P = %d or none always runs, as "
            "with N = %d",
            spec->microbatches, group, spec->microbatches % group, spec->pipeline_ranks,
            nearest_group(spec, group, spec->pipeline_ranks));
    }
    return ms_diag_error(
        diag,
        "in groups of N = '%d' less than P = %d the ranks would wait for each other; "
        "nearest N that always runs: %d",
        group, spec->pipeline_ranks,
        nearest_group(spec, group,
                      spec->microbatches < spec->pipeline_ranks ? spec->microbatches
                                                                : spec->pipeline_ranks));
}

/* Check that the finished lists of the flexible kind do not deadlock. With many chunks, groups
 * smaller than P, or a very short last group, can make ranks wait for each other; no closed rule is
 * known, so the lists are walked through. */
static ms_status check_flow(ms_program *program, ms_arena *scratch, ms_diag *diag) {
    int group = ms_schedule_group(&program->spec);
    if (group >= program->spec.pipeline_ranks && has_full_rest(&program->spec, group)) {
        return MS_OK;
    }
    ms_diag mute;
    ms_diag_init_mute(&mute);
    ms_status status = ms_program_check_ends(program, NULL, scratch, &mute);
    if (status == MS_E_INPUT) {
        return report_flow(&program->spec, diag);
    }
    return status == MS_OK ? MS_OK : ms_diag_no_memory(diag);
}

/* Append the k-th forward or backward pass of a rank in the interleaved order. All groups before
 * that of pass k are full, so k / (N V) is the number of this group; the last group may be smaller.
 */
void ms_interleaved_add(const ms_1f1b_list *order, ms_pass pass, int64_t k, ms_action_list *list) {
    const ms_schedule_spec *spec = order->spec;
    int64_t group = order->group;
    int64_t first_mb = k / (group * spec->chunks) * group; /* of the group that pass k is in */
    int64_t width = spec->microbatches - first_mb;
    width = width < group ? width : group;
    int64_t within = k - first_mb * spec->chunks; /* passes of the group before pass k */
    int chunk = (int)(within / width);
    int mb = (int)(first_mb + within % width);
    if (pass != MS_PASS_F) {
        chunk = spec->chunks - 1 - chunk;
    }
    ms_action_list_add(list, pass, chunk * spec->pipeline_ranks + order->rank, mb);
}

/* Append a rank's list: 1F1B with `warmup` forward passes first, on groups of `group` microbatches.
 */
static void generate_groups(const ms_schedule_spec *spec, int rank, int group, int64_t warmup,
                            ms_action_list *list) {
    ms_1f1b_list order = ms_1f1b_list_of(spec, rank, warmup);
    order.group = group;
    order.add = ms_interleaved_add;
    ms_generate_1f1b(&order, list);
}

/* Append a rank's list with Megatron-LM's warm-up: 2(P-1-r) + (V-1)N forward passes, and P-1-r,
 * that of plain 1F1B, for V = 1. */
static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    int64_t distance = spec->pipeline_ranks - 1 - rank;
    int group = ms_schedule_group(spec);
    int64_t warmup =
        spec->chunks == 1 ? distance : 2 * distance + (int64_t)(spec->chunks - 1) * group;
    generate_groups(spec, rank, group, warmup, list);
}

int ms_torch_group(const ms_schedule_spec *spec) {
    int rounds = spec->microbatches / spec->pipeline_ranks;
    return spec->microbatches / (rounds > 1 ? rounds : 1);
}

/* Whether PyTorch's number of groups, M/P rounded down and at least 1, divides M. */
static bool has_even_rounds(int64_t microbatches, int ranks) {
    int64_t rounds = microbatches / ranks;
    return rounds <= 1 || microbatches % rounds == 0;
}

/* Check that PyTorch's number of groups divides M. The nearest legal M below and above are found by
 * trying; any M < 2P and any multiple of P is legal, so the loops end. */
ms_status ms_torch_check(const ms_schedule_type *type, const ms_schedule_spec *spec,
                         ms_diag *diag) {
    if (has_even_rounds(spec->microbatches, spec->pipeline_ranks)) {
        return MS_OK;
    }
    int64_t below = spec->microbatches, above = spec->microbatches;
    while (!has_even_rounds(below, spec->pipeline_ranks)) {
        below--;
    }
    while (!has_even_rounds(above, spec->pipeline_ranks)) {
        above++;
    }
    return ms_diag_error(diag,
                         "%s runs M/P = %d rounds (rounded down) of equally many microbatches, and "
                         "M = '%d' does not divide; nearest legal M: %lld or %lld",
                         type->name, spec->microbatches / spec->pipeline_ranks, spec->microbatches,
                         (long long)below, (long long)above);
}

/* Append a rank's list in PyTorch's order: groups of equal size, and a warm-up of 2(P-1-r) + (V-1)N
 * passes for V = 1, too. */
static void generate_torch(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    int64_t distance = spec->pipeline_ranks - 1 - rank;
    int group = ms_torch_group(spec);
    generate_groups(spec, rank, group, 2 * distance + (int64_t)(spec->chunks - 1) * group, list);
}

/* Closed form of the makespan for V > 1 and even costs: forward time f and backward time b of a
 * virtual stage, latency l. N = P, M a multiple of P: (VM+P-1)(f+b) + 2l(VP-1). N = 2P, M a
 * multiple of 2P: the last term is 2l(P-1), as the larger groups hide the latency between chunks.
 * Both hold while l <= min(f, b). group: N. Source: derived by exhaustive evaluation;
 * tests/unit/schedule sweeps both. At l = 0 it is Narayanan et al., SC'21. */
static bool formula_groups(const ms_program *program, const ms_schedule_costs *costs, int group,
                           double *makespan_out) {
    const ms_schedule_spec *spec = &program->spec;
    int ranks = spec->pipeline_ranks;
    ms_even_costs even;
    if (!ms_schedule_costs_are_even(program, costs, &even)) {
        return false;
    }
    bool is_hidden = even.p2p <= even.forward && even.p2p <= even.backward;
    bool is_even_group = (group == ranks || group == 2 * ranks) && spec->microbatches % group == 0;
    if (!is_hidden || !is_even_group) {
        return false;
    }
    double passes = (double)spec->chunks * spec->microbatches + ranks - 1;
    double trips = group == ranks ? (double)program->stages - 1 : (double)ranks - 1;
    *makespan_out = passes * (even.forward + even.backward) + 2 * even.p2p * trips;
    return true;
}

/* Closed form of the makespan: formula_groups, or 1F1B's for V = 1. */
static bool formula(const ms_program *program, const ms_schedule_costs *costs,
                    double *makespan_out) {
    const ms_schedule_spec *spec = &program->spec;
    ms_even_costs even;
    if (spec->chunks > 1) {
        return formula_groups(program, costs, ms_schedule_group(spec), makespan_out);
    }
    if (!ms_schedule_costs_are_even(program, costs, &even)) {
        return false;
    }
    *makespan_out = ms_formula_1f1b(spec->pipeline_ranks, spec->microbatches, &even);
    return true;
}

/* Closed form of the makespan of PyTorch's order. For V > 1 and groups of P it is Megatron-LM's
 * order; for other groups no form is known. */
static bool formula_torch(const ms_program *program, const ms_schedule_costs *costs,
                          double *makespan_out) {
    int group = ms_torch_group(&program->spec);
    return program->spec.chunks > 1 && group == program->spec.pipeline_ranks &&
           formula_groups(program, costs, group, makespan_out);
}

const ms_schedule_type ms_schedule_interleaved = {
    .name = "interleaved",
    .passes = 2,
    .directions = 1,
    .options = MS_TAKES_GROUP,
    .check = check_rest,
    .rank_of_stage = ms_stage_rank_loop,
    .round = ms_schedule_group,
    .generate = generate,
    .formula = formula,
};

/* Source: order of torch.distributed.pipelining.ScheduleInterleaved1F1B. */
const ms_schedule_type ms_schedule_interleaved_torch = {
    .name = "interleaved_torch",
    .passes = 2,
    .directions = 1,
    .check = ms_torch_check,
    .rank_of_stage = ms_stage_rank_loop,
    .round = ms_torch_group,
    .generate = generate_torch,
    .formula = formula_torch,
};

/* Source: Llama Team, "The Llama 3 Herd of Models", 2024, section on parallelism: any number N of
 * consecutive microbatches per stage, and M need not divide. */
const ms_schedule_type ms_schedule_interleaved_flexible = {
    .name = "interleaved_flexible",
    .passes = 2,
    .directions = 1,
    .options = MS_TAKES_GROUP,
    .check = check_flexible,
    .rank_of_stage = ms_stage_rank_loop,
    .round = ms_schedule_group,
    .generate = generate,
    .finish = check_flow,
    .formula = formula,
};
