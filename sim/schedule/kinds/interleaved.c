/* Interleaved 1F1B: each rank owns V stages and works through groups of N microbatches, chunk by
 * chunk. Source: Narayanan et al., SC'21, interleaved schedule; the order of Megatron-LM's
 * forward_backward_pipelining_with_interleaving with microbatch_group_size_per_vp_stage = N. */

#include "schedule/order.h"

int ms_schedule_group(const ms_schedule_spec *spec) {
    int most =
        spec->microbatches < spec->pipeline_ranks ? spec->microbatches : spec->pipeline_ranks;
    return spec->group == 0 ? most : spec->group;
}

/* Whether M in groups of N leaves no last group or one of P at least. */
static bool has_full_rest(const ms_schedule_spec *spec, int group) {
    int rest = spec->microbatches % group;
    return rest == 0 || rest >= spec->pipeline_ranks;
}

/* The legal N closest to a group; M itself always is. */
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

/* least: with its name, the smallest group of the kind. */
static ms_status report_group(const ms_schedule_type *type, const ms_schedule_spec *spec,
                              const char *least_name, int least, ms_diag *diag) {
    return ms_diag_error(
        diag,
        "%s needs groups of %s to M microbatches, got N = '%d' for P = %d and M = %d; "
        "nearest legal N: %d",
        type->name, least_name, spec->group, spec->pipeline_ranks, spec->microbatches,
        nearest_group(spec, spec->group, least));
}

static ms_status check(const ms_schedule_type *type, const ms_schedule_spec *spec, ms_diag *diag) {
    int group = ms_schedule_group(spec);
    if (ms_schedule_check_filled(type, spec, diag) != MS_OK) {
        return MS_E_INPUT;
    }
    bool is_legal = group >= spec->pipeline_ranks && group <= spec->microbatches;
    return is_legal ? MS_OK : report_group(type, spec, "P", spec->pipeline_ranks, diag);
}

/* Llama 3's groups may be of any size; which of the smallest ones wait for each other is
 * found by visiting the lists. */
static ms_status check_flexible(const ms_schedule_type *type, const ms_schedule_spec *spec,
                                ms_diag *diag) {
    return ms_schedule_group(spec) <= spec->microbatches ? MS_OK
                                                         : report_group(type, spec, "1", 1, diag);
}

/* Megatron-LM's further rule; without it (Llama 3) a short last group costs bubbles. */
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

/* With many chunks small groups, or a very short last one, wait for themselves. */
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

void ms_interleaved_add(const ms_1f1b_order *order, ms_pass pass, int64_t k, ms_action_list *list) {
    const ms_schedule_spec *spec = order->spec;
    int64_t group = order->group;
    int64_t first_mb = k / (group * spec->chunks) * group;
    int64_t width = spec->microbatches - first_mb;
    width = width < group ? width : group;
    int64_t within = k - first_mb * spec->chunks;
    int chunk = (int)(within / width);
    int mb = (int)(first_mb + within % width);
    if (pass != MS_PASS_F) {
        chunk = spec->chunks - 1 - chunk;
    }
    ms_action_list_add(list, pass, chunk * spec->pipeline_ranks + order->rank, mb);
}

static void generate_groups(const ms_schedule_spec *spec, int rank, int group, int64_t warmup,
                            ms_action_list *list) {
    ms_1f1b_order order = ms_1f1b_order_of(spec, rank, warmup);
    order.group = group;
    order.add = ms_interleaved_add;
    ms_generate_1f1b(&order, list);
}

static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    int64_t distance = spec->pipeline_ranks - 1 - rank;
    int group = ms_schedule_group(spec);
    int64_t warmup = spec->chunks == 1 ? distance /* one chunk is plain 1F1B */
                                       : 2 * distance + (int64_t)(spec->chunks - 1) * group;
    generate_groups(spec, rank, group, warmup, list);
}

int ms_torch_group(const ms_schedule_spec *spec) {
    int rounds = spec->microbatches / spec->pipeline_ranks;
    return spec->microbatches / (rounds > 1 ? rounds : 1);
}

static bool has_even_rounds(int64_t microbatches, int ranks) {
    int64_t rounds = microbatches / ranks;
    return rounds <= 1 || microbatches % rounds == 0;
}

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

static void generate_torch(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    int64_t distance = spec->pipeline_ranks - 1 - rank;
    int group = ms_torch_group(spec);
    generate_groups(spec, rank, group, 2 * distance + (int64_t)(spec->chunks - 1) * group, list);
}

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

/* N = P, M a multiple of P: (VM+P-1)(f+b) + 2l(VP-1); N = 2P, M a multiple of 2P: 2l(P-1) in the
 * place of the last term; both while l <= min(f, b) of a virtual stage. Source: derived by
 * exhaustive evaluation; tests/unit/schedule sweeps both. At l = 0 it is Narayanan et al., SC'21.
 */
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

/* The order is Megatron-LM's when there are as many rounds as M/P. */
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
    .place = ms_place_loop,
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
    .place = ms_place_loop,
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
    .place = ms_place_loop,
    .round = ms_schedule_group,
    .generate = generate,
    .finish = check_flow,
    .formula = formula,
};
