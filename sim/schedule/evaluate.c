/* Evaluates a schedule on paper (ms_schedule_evaluate): start and end of every action from given
 * costs of stages and latencies between stages, without a simulated network. From these times
 * follow the makespan and, per rank, the busy and idle times, activations in flight and messages. A
 * stop is a step of a walk over a rank's list: one action, or both actions of an overlapped pair
 * (ms_program_stop). */
#include <math.h>

#include "schedule/order.h"

/* Check that costs[0..count-1] are numbers from 0 to MS_SCHEDULE_COST_MAX. name: of one entry, in
 * the message. Returns false after reporting a fault. */
static bool check_cost(const char *name, const double *costs, int count, ms_diag *diag) {
    for (int i = 0; i < count; i++) {
        /* negated, so that it refuses NaN too */
        if (!(costs[i] >= 0 && costs[i] <= MS_SCHEDULE_COST_MAX)) {
            ms_diag_error(diag, "%s %d must be a number from 0 to %g, got '%g'", name, i,
                          MS_SCHEDULE_COST_MAX, costs[i]);
            return false;
        }
    }
    return true;
}

/* Check the factor by which the time of overlapped pairs is scaled. Returns false after reporting a
 * fault. */
static bool check_scale(double scale, ms_diag *diag) {
    if (scale >= 0 && scale <= MS_SCHEDULE_SCALE_MAX) {
        return true;
    }
    ms_diag_error(diag, "the scale of overlapped pairs must be a number from 0 to %g, got '%g'",
                  MS_SCHEDULE_SCALE_MAX, scale);
    return false;
}

/* Check all costs of a program. Returns false after reporting the first that is out of range. */
static bool check_costs(const ms_program *program, const ms_schedule_costs *costs, ms_diag *diag) {
    int stages = program->model_stages;
    return check_cost("forward cost of stage", costs->forward, stages, diag) &&
           check_cost("input gradient cost of stage", costs->input_grad, stages, diag) &&
           check_cost("weight gradient cost of stage", costs->weight_grad, stages, diag) &&
           check_cost("latency of boundary", costs->p2p, stages - 1, diag) &&
           check_scale(costs->pair_scale, diag);
}

/* An evaluation under way: the walk over the program's actions, and the times of those visited. */
typedef struct paper {
    const ms_program *program;
    const ms_schedule_costs *costs;
    ms_ready_order order;
    ms_schedule_slot *slots; /* [actions] */
} paper;

/* Duration of an action that is not overlapped. B takes the time of its input and its weight
 * gradient. */
static double cost_of_action(const paper *eval, const ms_action *action) {
    const ms_schedule_costs *costs = eval->costs;
    int stage = ms_program_model_stage(eval->program, action->stage);
    switch ((ms_pass)action->pass) {
    case MS_PASS_F:
        return costs->forward[stage];
    case MS_PASS_I:
        return costs->input_grad[stage];
    case MS_PASS_W:
        return costs->weight_grad[stage];
    case MS_PASS_B:
    case MS_PASS_COUNT:
        break;
    }
    return costs->input_grad[stage] + costs->weight_grad[stage];
}

/* Duration of a stop: of its action, or the scaled sum of the durations of a pair (a scale of 0
 * means 1). */
static double cost_of_stop(const paper *eval, const ms_program_stop *stop) {
    double cost = 0;
    for (int member = 0; member < stop->width; member++) {
        cost += cost_of_action(eval, &stop->actions[member]);
    }
    bool is_scaled = stop->width == 2 && eval->costs->pair_scale != 0;
    return is_scaled ? eval->costs->pair_scale * cost : cost;
}

/* Latency of a message between two stages: neighbours in the model, or the same stage, which is 0.
 */
static double latency(const paper *eval, int stage, int other) {
    if (other == stage) {
        return 0;
    }
    return ms_schedule_latency(eval->program, eval->costs, other < stage ? other : stage);
}

/* Time from which a rank is free for its action at `index`: the end of the action before; with
 * blocking sends, the time at which the messages of the action (or pair) before have arrived. */
static double free_at(const paper *eval, int rank, size_t index) {
    size_t begin = eval->program->first[rank];
    if (index == begin) {
        return 0;
    }
    const ms_action *last = &eval->program->actions[index - 1];
    double end = eval->slots[index - 1].end;
    if (!eval->costs->is_blocking) {
        return end;
    }
    bool is_pair = index - 1 > begin && last[-1].is_overlapped != 0 && !eval->costs->is_serial;
    double held = 0; /* longest latency of the messages sent */
    for (int member = 0; member <= is_pair; member++) {
        int receiver = ms_action_receiver(eval->program, last - member);
        double wait = receiver < 0 ? 0 : latency(eval, (last - member)->stage, receiver);
        held = wait > held ? wait : held;
    }
    return end + held;
}

/* Earliest start of a stop on a rank that is free at `start`: once the results of all producers of
 * the stop's actions have arrived. has_latency: false leaves out the latency of messages. */
static double start_of_stop(const paper *eval, const ms_program_stop *stop, double start,
                            bool has_latency) {
    for (int member = 0; member < stop->width; member++) {
        const ms_action *action = &stop->actions[member];
        ms_producer producers[2];
        int count = ms_action_producers(eval->program, action, producers);
        for (int i = 0; i < count; i++) {
            /* - 1: ms_ready_order_visited_at returns an index + 1, as every producer has been
             * visited */
            double arrival =
                eval->slots[ms_ready_order_visited_at(&eval->order, &producers[i]) - 1].end;
            arrival += has_latency ? latency(eval, action->stage, producers[i].stage) : 0;
            start = arrival > start ? arrival : start;
        }
    }
    return start;
}

/* Set start and end of all actions. Both actions of an overlapped pair get the times of the pair,
 * unless the costs say that pairs run serially. Returns MS_E_NOMEM or, on a deadlock, MS_E_INPUT,
 * both reported. */
static ms_status time_actions(paper *eval, ms_arena *scratch, ms_diag *diag) {
    if (ms_ready_order_init(eval->program, eval->costs->is_serial, scratch, &eval->order) !=
        MS_OK) {
        return ms_diag_no_memory(diag);
    }
    ms_program_stop stop;
    while (ms_ready_order_next(&eval->order, &stop)) {
        double free_from = free_at(eval, stop.rank, stop.index);
        double start = start_of_stop(eval, &stop, free_from, true);
        double end = start + cost_of_stop(eval, &stop);
        for (int member = 0; member < stop.width; member++) {
            eval->slots[stop.index + (size_t)member] =
                (ms_schedule_slot){.start = start, .end = end};
        }
    }
    return ms_ready_order_check(&eval->order, diag);
}

/* The positions in a rank's list that separate its warm-up, steady and cool-down phases. */
static ms_pipeline_phases find_phases(const ms_program *program, int rank) {
    ms_pipeline_phases phases = MS_NO_PHASES;
    size_t begin = program->first[rank];
    for (size_t i = begin; i < program->first[rank + 1]; i++) {
        ms_phases_add(&phases, (int64_t)(i - begin), (ms_pass)program->actions[i].pass);
    }
    return phases;
}

/* Add idle time to the total of the phase in which it lies. */
static void add_gap(ms_schedule_rank *rank, ms_pipeline_phase phase, double gap) {
    switch (phase) {
    case MS_PHASE_WARMUP:
        rank->idle_warmup += gap;
        break;
    case MS_PHASE_STEADY:
        rank->idle_steady += gap;
        break;
    case MS_PHASE_COOLDOWN:
        rank->idle_cooldown += gap;
        break;
    }
}

/* Count the activations of one pass and raise the rank's peaks. whole, input: activations in flight
 * on the rank, where a microbatch of a chunk counts until its weight gradient, or until its input
 * gradient, is done. The peak is taken before the pass releases its own, as it holds them while it
 * runs. */
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

/* Add the messages and activations of a stop's actions to the measures of a rank. whole, input: as
 * in count_inflight. */
static void count_actions(const paper *eval, const ms_program_stop *stop, int *whole, int *input,
                          ms_schedule_rank *rank) {
    for (int member = 0; member < stop->width; member++) {
        rank->messages_sent += ms_action_receiver(eval->program, &stop->actions[member]) >= 0;
        /* the forward pass of a pair counts first: both run together, so the activations of both
         * are in flight, whichever the list names first */
        bool is_swapped = stop->width == 2 && stop->actions[0].pass != MS_PASS_F;
        count_inflight(&stop->actions[is_swapped ? 1 - member : member], whole, input, rank);
    }
}

/* Measures of one rank from the times of its actions. Idle time after the rank's last action, up to
 * the makespan of all ranks, counts as cool-down. */
static ms_schedule_rank measure_rank(const paper *eval, int rank, double makespan) {
    size_t begin = eval->program->first[rank];
    ms_schedule_rank measured = {0};
    ms_pipeline_phases phases = find_phases(eval->program, rank);
    double previous = 0;
    int whole = 0;
    int input = 0;
    ms_rank_cursor cursor = ms_rank_begin(eval->program, rank);
    cursor.is_serial = eval->costs->is_serial;
    ms_program_stop stop;
    while (ms_rank_next(&cursor, &stop) && stop.width > 0) {
        const ms_schedule_slot *slot = &eval->slots[stop.index];
        add_gap(&measured, ms_phase_before(&phases, (int64_t)(stop.index - begin)),
                slot->start - previous);
        /* the start that free messages would allow: the rest of the wait is latency */
        measured.exposed_p2p += slot->start - start_of_stop(eval, &stop, previous, false);
        measured.busy += cost_of_stop(eval, &stop);
        count_actions(eval, &stop, &whole, &input, &measured);
        previous = slot->end;
    }
    measured.idle_cooldown += makespan - previous;
    measured.span = cursor.action > begin ? previous - eval->slots[begin].start : 0;
    return measured;
}

/* The makespan: the latest end of a rank's last action. */
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

/* Fill in the sums and maxima over all ranks, and the bubble fraction. result: makespan and ranks
 * are already set. */
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

/* Make the result from the times of all actions, with the closed forms of the kind where they hold.
 */
static ms_status evaluate(const paper *eval, ms_arena *arena, ms_diag *diag,
                          ms_schedule_result *result_out) {
    const ms_program *program = eval->program;
    int ranks = program->spec.pipeline_ranks;
    ms_schedule_result result = {
        .slots = eval->slots,
        .ranks = MS_NEW(arena, ms_schedule_rank, ranks),
        .makespan = latest_end(program, eval->slots),
    };
    if (result.ranks == NULL) {
        return ms_diag_no_memory(diag);
    }
    for (int rank = 0; rank < ranks; rank++) {
        result.ranks[rank] = measure_rank(eval, rank, result.makespan);
    }
    sum_up(program, &result);
    const ms_schedule_type *type = program->type;
    result.has_formula = type != NULL && type->formula != NULL &&
                         type->formula(program, eval->costs, &result.formula_makespan);
    result.has_span_formula = type != NULL && type->span_formula != NULL &&
                              type->span_formula(program, eval->costs, &result.formula_span_bubble);
    *result_out = result;
    return MS_OK;
}

/* Evaluate a program with given costs. Checks the form of the program (not all of ms_program_check)
 * and the costs, finds the times of all actions by a walk in order of readiness, then measures the
 * ranks. */
ms_status ms_schedule_evaluate(const ms_program *program, const ms_schedule_costs *costs,
                               ms_arena *arena, ms_diag *diag, ms_schedule_result *result_out) {
    if (!ms_program_is_well_formed(program, diag)) {
        return MS_E_INPUT;
    }
    if (!check_costs(program, costs, diag)) {
        return MS_E_RANGE;
    }
    size_t actions = program->first[program->spec.pipeline_ranks];
    paper eval = {
        .program = program,
        .costs = costs,
        .slots = MS_NEW(arena, ms_schedule_slot, actions),
    };
    if (eval.slots == NULL) {
        return ms_diag_no_memory(diag);
    }
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_status status = time_actions(&eval, &scratch, diag);
    status = status == MS_OK ? evaluate(&eval, arena, diag, result_out) : status;
    ms_arena_release(&scratch);
    return status;
}
