#include <math.h>

#include "schedule/internal.h"

static bool check_cost(const char *name, const double *costs, int count, ms_diag *diag) {
    for (int i = 0; i < count; i++) {
        if (!(costs[i] >= 0 && costs[i] <= MS_SCHEDULE_COST_MAX)) {
            ms_diag_error(diag, "%s %d must be a number from 0 to %g, got '%g'", name, i,
                          MS_SCHEDULE_COST_MAX, costs[i]);
            return false;
        }
    }
    return true;
}

static bool check_scale(double scale, ms_diag *diag) {
    if (scale >= 0 && scale <= MS_SCHEDULE_SCALE_MAX) {
        return true;
    }
    ms_diag_error(diag, "the scale of overlapped pairs must be a number from 0 to %g, got '%g'",
                  MS_SCHEDULE_SCALE_MAX, scale);
    return false;
}

static bool check_costs(const ms_program *program, const ms_schedule_costs *costs, ms_diag *diag) {
    int stages = program->model_stages;
    return check_cost("forward cost of stage", costs->forward, stages, diag) &&
           check_cost("input gradient cost of stage", costs->input_grad, stages, diag) &&
           check_cost("weight gradient cost of stage", costs->weight_grad, stages, diag) &&
           check_cost("latency of boundary", costs->p2p, stages - 1, diag) &&
           check_scale(costs->pair_scale, diag);
}

/* Positions in a rank's list that divide its idle time. */
typedef struct phase_bounds {
    size_t first_backward; /* gaps up to the one before this action are warm-up */
    size_t last_forward;   /* gaps behind this action are cool-down; never before first_backward */
} phase_bounds;

static phase_bounds find_phases(const ms_program *program, int rank) {
    size_t begin = program->first[rank];
    size_t end = program->first[rank + 1];
    phase_bounds found = {.first_backward = end, .last_forward = begin};
    for (size_t i = begin; i < end; i++) {
        if (program->actions[i].pass == MS_PASS_F) {
            found.last_forward = i;
        } else if (found.first_backward == end && program->actions[i].pass != MS_PASS_W) {
            found.first_backward = i;
        }
    }
    if (found.last_forward < found.first_backward) {
        found.last_forward = found.first_backward;
    }
    return found;
}

static void add_gap(ms_schedule_rank *rank, const phase_bounds *phases, size_t index, double gap) {
    if (index <= phases->first_backward) {
        rank->idle_warmup += gap;
    } else if (index <= phases->last_forward) {
        rank->idle_steady += gap;
    } else {
        rank->idle_cooldown += gap;
    }
}

/* Earliest start of the `width` actions at `index` if messages took no time. */
static double start_without_latency(const ms_walk *walk, size_t index, size_t width,
                                    double previous) {
    for (size_t member = 0; member < width; member++) {
        const ms_action *action = &walk->program->actions[index + member];
        ms_producer producers[2];
        int count = ms_action_producers(walk->program, action, producers);
        for (int i = 0; i < count; i++) {
            double end = walk->slots[ms_walk_done(walk, &producers[i]) - 1].end;
            previous = end > previous ? end : previous;
        }
    }
    return previous;
}

/* Activations held: until the weight gradient is done, and until the input gradient is done. */
static void count_inflight(const ms_action *action, int *whole, int *input,
                           ms_schedule_rank *rank) {
    if (action->pass == MS_PASS_F) {
        ++*whole;
        ++*input;
    }
    rank->peak_inflight = *whole > rank->peak_inflight ? *whole : rank->peak_inflight;
    rank->peak_inflight_input =
        *input > rank->peak_inflight_input ? *input : rank->peak_inflight_input;
    *whole -= action->pass == MS_PASS_W || action->pass == MS_PASS_B;
    *input -= action->pass == MS_PASS_I || action->pass == MS_PASS_B;
}

static ms_schedule_rank measure_rank(const ms_walk *walk, int rank, double makespan) {
    const ms_program *program = walk->program;
    size_t begin = program->first[rank];
    size_t end = program->first[rank + 1];
    ms_schedule_rank measured = {0};
    phase_bounds phases = find_phases(program, rank);
    double previous = 0;
    int whole = 0;
    int input = 0;
    size_t width = 1;
    for (size_t i = begin; i < end; i += width) {
        width = ms_walk_width(walk, i);
        add_gap(&measured, &phases, i, walk->slots[i].start - previous);
        measured.exposed_p2p +=
            walk->slots[i].start - start_without_latency(walk, i, width, previous);
        measured.busy += ms_walk_cost(walk, i, width);
        for (size_t member = 0; member < width; member++) {
            measured.messages_sent +=
                ms_action_receiver(program, &program->actions[i + member]) >= 0;
            /* both of a pair are under way together, whichever the list names first */
            size_t at = width == 2 && program->actions[i].pass != MS_PASS_F ? 1 - member : member;
            count_inflight(&program->actions[i + at], &whole, &input, &measured);
        }
        previous = walk->slots[i].end;
    }
    measured.idle_cooldown += makespan - previous;
    measured.span = end > begin ? previous - walk->slots[begin].start : 0;
    return measured;
}

static double latest_end(const ms_program *program, const ms_schedule_slot *slots) {
    double latest = 0;
    for (int rank = 0; rank < program->spec.pipeline_ranks; rank++) {
        size_t end = program->first[rank + 1];
        if (end > program->first[rank] && slots[end - 1].end > latest) {
            latest = slots[end - 1].end;
        }
    }
    return latest;
}

static void sum_up(const ms_program *program, ms_schedule_result *result) {
    double busy = 0;
    for (int i = 0; i < program->spec.pipeline_ranks; i++) {
        const ms_schedule_rank *rank = &result->ranks[i];
        busy += rank->busy;
        result->busy_max = fmax(result->busy_max, rank->busy);
        result->max_span = fmax(result->max_span, rank->span);
        result->max_span_bubble = fmax(result->max_span_bubble, rank->span - rank->busy);
        result->messages_total += rank->messages_sent;
    }
    double whole = program->spec.pipeline_ranks * result->makespan;
    result->bubble_fraction = whole > 0 ? 1 - busy / whole : 0;
}

static ms_status evaluate(const ms_walk *walk, ms_arena *arena, ms_diag *diag,
                          ms_schedule_result *result_out) {
    const ms_program *program = walk->program;
    int ranks = program->spec.pipeline_ranks;
    ms_schedule_result result = {
        .slots = walk->slots,
        .ranks = MS_NEW(arena, ms_schedule_rank, ranks),
        .makespan = latest_end(program, walk->slots),
    };
    if (result.ranks == NULL) {
        ms_diag_error(diag, "out of memory");
        return MS_E_NOMEM;
    }
    for (int rank = 0; rank < ranks; rank++) {
        result.ranks[rank] = measure_rank(walk, rank, result.makespan);
    }
    sum_up(program, &result);
    const ms_schedule_type *type = ms_schedule_type_of(program->spec.kind);
    result.has_formula = type != NULL && type->formula != NULL &&
                         type->formula(program, walk->costs, &result.formula_makespan);
    result.has_span_formula = type != NULL && type->span_formula != NULL &&
                              type->span_formula(program, walk->costs, &result.formula_span_bubble);
    *result_out = result;
    return MS_OK;
}

ms_status ms_schedule_evaluate(const ms_program *program, const ms_schedule_costs *costs,
                               ms_arena *arena, ms_diag *diag, ms_schedule_result *result_out) {
    if (!ms_program_is_well_formed(program, diag)) {
        return MS_E_INPUT;
    }
    if (!check_costs(program, costs, diag)) {
        return MS_E_RANGE;
    }
    size_t actions = program->first[program->spec.pipeline_ranks];
    ms_walk walk = {
        .program = program,
        .costs = costs,
        .slots = MS_NEW(arena, ms_schedule_slot, actions),
    };
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_status status = MS_E_NOMEM;
    if (walk.slots == NULL) {
        ms_diag_error(diag, "out of memory");
    } else {
        status = ms_walk_run(&walk, &scratch, diag);
    }
    if (status == MS_OK) {
        status = evaluate(&walk, arena, diag, result_out);
    }
    ms_arena_release(&scratch);
    return status;
}
