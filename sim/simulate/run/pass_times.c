/* Times of passes and phases of a step, and the memory of the last pipeline rank, for comparison
 * with published measurements (pass_times.h). */
#include "simulate/run/pass_times.h"

#include <math.h>

/* ---- passes ---- */

/* Set the mean computing time of a pass of each kind before MS_OP_OPTIMIZER: the sum over all
 * computations of the kind on all ranks of the job, divided by the number of passes. Every stage of
 * the model has one pass of a kind for each microbatch and step. */
static void find_passes(const ms_result *result, ms_pass_times *out) {
    const ms_dag *dag = &result->dag;
    const ms_program *program = &result->job->program;
    double passes = 0;
    for (int r = 0; r < dag->rank_count; r++) {
        double stages = (double)program->model_stages / program->spec.pipeline_ranks;
        passes += dag->ranks[r].multiplicity * stages * program->spec.microbatches *
                  result->job->spec.simulation.steps;
    }
    for (int32_t op = 0; op < dag->op_count; op++) {
        int kind = dag->ops[op].kind;
        if (kind < MS_OP_OPTIMIZER) {
            int rank = dag->streams[dag->member_stream[dag->member_first[op]]].rank;
            out->pass_s[kind] += (result->timeline.end_s[op] - result->timeline.start_s[op]) *
                                 dag->ranks[rank].multiplicity / passes;
        }
    }
}

/* Whether an operation belongs to the passes of layers: it has a microbatch, which operations of
 * the step's end do not have, and is no message, no reduction or gather among replicas, and not the
 * norm. */
static bool is_of_layers(const ms_dag_op *op) {
    bool is_shared = op->axis == MS_AXIS_DP || op->axis == MS_AXIS_OTHER || op->axis == MS_AXIS_PP;
    return op->mb >= 0 && !is_shared;
}

/* Number of collectives at the end of a forward pass of the first stage, after its last
 * computation. */
static int closing_collectives(const ms_stage_costs *costs) {
    const ms_pass_plan *forward = &costs->stage[0].passes[MS_PASS_F];
    const ms_segment *segments = costs->segments + forward->first;
    int count = 0;
    while (count < forward->count && segments[forward->count - 1 - count].is_collective) {
        count++;
    }
    return count;
}

/* Set the times of the forward and backward half of a step, for a job of one stage and microbatch.
 * The forward half ends with the last forward computation or the collectives that close the pass.
 * The backward half is the rest, until the last operation of the layers ends. Operations are in the
 * order of launches, so the collectives right after a forward computation, as many as close the
 * pass, are taken for the closing ones. */
static void find_halves(const ms_result *result, ms_pass_times *out) {
    const ms_dag *dag = &result->dag;
    int closing = 0;
    double turn_s = 0;
    double end_s = 0;
    for (int32_t op = 0; op < dag->op_count; op++) {
        bool is_forward = dag->ops[op].kind == MS_OP_FORWARD;
        closing = is_forward ? closing_collectives(&result->job->costs) : closing;
        if (is_forward || (closing > 0 && !ms_dag_is_compute(dag, op))) {
            closing -= !is_forward;
            turn_s = fmax(turn_s, result->timeline.end_s[op]);
        }
        if (is_of_layers(&dag->ops[op])) {
            end_s = fmax(end_s, result->timeline.end_s[op]);
        }
    }
    out->forward_s = turn_s;
    out->backward_s = end_s - turn_s;
}

/* Set the memory of the last pipeline rank: of its simulated ranks, that of the highest rank
 * number. */
static void find_last_rank(const ms_result *result, ms_pass_times *out) {
    const ms_dag *dag = &result->dag;
    int last = 0;
    for (int r = 1; r < dag->rank_count; r++) {
        const ms_dag_rank *rank = &dag->ranks[r];
        bool is_later = rank->pp > dag->ranks[last].pp ||
                        (rank->pp == dag->ranks[last].pp && rank->rank > dag->ranks[last].rank);
        last = is_later ? r : last;
    }
    const ms_rank_memory *memory = &result->memory[last];
    out->last_peak_B = memory->held.total_B;
    out->last_static_B = memory->held.parameter_B + memory->held.gradient_B +
                         memory->held.optimizer_B + memory->held.framework_B +
                         memory->held.update_B;
}

/* ---- phases ---- */

/* Phases of a step: the time of a pipeline rank, divided by the passes that run (ms_step_phase).
 *
 * A pass lasts from the start of its first computation to the end of its last one, including the
 * communication that it exposes in between; an overlapped pair counts as one pass. The time between
 * two passes is bubble, and so is the wait for ranks that end later. After the last pass of all
 * ranks comes the step's end. So the phases of a rank sum to the step. */

/* The position in a rank's list of passes. */
typedef struct rank_walk {
    ms_rank_cursor cursor;
    ms_program_stop stop; /* the current pass or pair; width 0: none yet */
    double end_s;         /* end of the last computation of a pass so far */
} rank_walk;

/* The walk through all operations. */
typedef struct phase_walk {
    const ms_result *result;
    rank_walk *ranks;   /* [rank_count] */
    double *phase_s;    /* [MS_STEP_PHASE_COUNT] sums, weighted by ranks */
    double last_end_s;  /* latest end of a pass of any rank so far */
    double rank_weight; /* weight of one rank of the job in the means: 1 / ranks */
} phase_walk;

/* Whether a computation belongs to an action; recomputation belongs to any backward pass. */
static bool is_action_of(const ms_action *action, const ms_dag_op *op) {
    bool is_kind = op->kind == ms_op_kind_of_pass((ms_pass)action->pass) ||
                   (op->kind == MS_OP_RECOMPUTE && action->pass != MS_PASS_F);
    return is_kind && action->stage == op->stage && action->mb == op->mb;
}

/* Whether a computation belongs to an action of a stop (a pass, or both passes of a pair). */
static bool is_of_stop(const ms_program_stop *stop, const ms_dag_op *op) {
    return (stop->width > 0 && is_action_of(&stop->actions[0], op)) ||
           (stop->width > 1 && is_action_of(&stop->actions[1], op));
}

/* The phase that the time of a stop (a pass, or an overlapped pair) counts for. */
static ms_step_phase phase_of(const ms_program_stop *stop) {
    static const ms_step_phase ALONE[MS_PASS_COUNT] = {[MS_PASS_F] = MS_STEP_FORWARD,
                                                       [MS_PASS_I] = MS_STEP_BACKWARD,
                                                       [MS_PASS_B] = MS_STEP_BACKWARD,
                                                       [MS_PASS_W] = MS_STEP_WEIGHT};
    return stop->width == 2 ? MS_STEP_PAIR : ALONE[stop->actions[0].pass];
}

/* Add a computation of a pass, and the time before it, to the phases. If it does not belong to the
 * rank's current stop, the walk moves to the stop that it belongs to; the time before it is then
 * bubble, else it is part of the pass. */
static void add_computation(phase_walk *walk, int32_t op) {
    const ms_dag *dag = &walk->result->dag;
    int32_t r = dag->streams[dag->member_stream[dag->member_first[op]]].rank;
    rank_walk *rank = &walk->ranks[r];
    bool goes_on = is_of_stop(&rank->stop, &dag->ops[op]);
    bool has_stop = true;
    while (has_stop && !is_of_stop(&rank->stop, &dag->ops[op])) {
        has_stop = ms_rank_next(&rank->cursor, &rank->stop);
    }
    double share = dag->ranks[r].multiplicity * walk->rank_weight;
    double start_s = walk->result->timeline.start_s[op];
    double end_s = walk->result->timeline.end_s[op];
    ms_step_phase phase = has_stop ? phase_of(&rank->stop) : MS_STEP_BUBBLE;
    walk->phase_s[goes_on ? phase : MS_STEP_BUBBLE] += share * (start_s - rank->end_s);
    walk->phase_s[phase] += share * (end_s - start_s);
    rank->end_s = end_s;
    walk->last_end_s = fmax(walk->last_end_s, end_s);
}

/* Begin the walk of every rank before its first pass. */
static void begin_ranks(phase_walk *walk) {
    const ms_dag *dag = &walk->result->dag;
    double ranks = 0;
    for (int32_t r = 0; r < dag->rank_count; r++) {
        walk->ranks[r] =
            (rank_walk){.cursor = ms_rank_begin(&walk->result->job->program, dag->ranks[r].pp)};
        ranks += dag->ranks[r].multiplicity;
    }
    walk->rank_weight = 1 / ranks;
}

/* Add the time after the last pass of each rank: bubble until the last pass of all ranks, then the
 * step's end. */
static void add_ends(phase_walk *walk) {
    const ms_dag *dag = &walk->result->dag;
    for (int32_t r = 0; r < dag->rank_count; r++) {
        walk->phase_s[MS_STEP_BUBBLE] += dag->ranks[r].multiplicity * walk->rank_weight *
                                         (walk->last_end_s - walk->ranks[r].end_s);
    }
    walk->phase_s[MS_STEP_END] = walk->result->timeline.makespan_s - walk->last_end_s;
}

/* Set the phases of the step, the mean over ranks; NAN if several steps were simulated or memory
 * ran out. */
static void find_phases(const ms_result *result, double *phase_s_out) {
    const ms_dag *dag = &result->dag;
    ms_arena scratch;
    ms_arena_init(&scratch);
    phase_walk walk = {.result = result,
                       .ranks = MS_NEW(&scratch, rank_walk, dag->rank_count),
                       .phase_s = phase_s_out};
    bool is_one = walk.ranks != NULL && dag->step_count == 1;
    for (int i = 0; i < MS_STEP_PHASE_COUNT; i++) {
        phase_s_out[i] = is_one ? 0 : NAN;
    }
    if (is_one) {
        begin_ranks(&walk);
        for (int32_t op = 0; op < dag->op_count; op++) {
            if (dag->ops[op].kind < MS_OP_OPTIMIZER) {
                add_computation(&walk, op);
            }
        }
        add_ends(&walk);
    }
    ms_arena_release(&scratch);
}

/* ---- all of it ---- */

const char *ms_step_phase_name(ms_step_phase phase) {
    static const char *const NAMES[MS_STEP_PHASE_COUNT] = {
        [MS_STEP_FORWARD] = "1F", [MS_STEP_BUBBLE] = "bubble", [MS_STEP_BACKWARD] = "1B",
        [MS_STEP_WEIGHT] = "1W",  [MS_STEP_PAIR] = "1F1B",     [MS_STEP_END] = "optimizer"};
    return NAMES[phase];
}

void ms_result_pass_times(const ms_result *result, ms_pass_times *times_out) {
    *times_out = (ms_pass_times){.reserve_B = result->job->platform->gpu.reserve_B};
    find_passes(result, times_out);
    find_halves(result, times_out);
    find_phases(result, times_out->phase_s);
    find_last_rank(result, times_out);
}
