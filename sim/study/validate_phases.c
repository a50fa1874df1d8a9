/* Phases of a step: what the time of a pipeline rank goes to, pass by pass.
 *
 * A pass lasts from the start of its first computation to the end of its last one, with what its
 * own communication exposes in between; a pair of passes is one. What lies between two passes is
 * bubble, and so is the wait for the ranks that end later; behind the last pass of all ranks comes
 * the step's end. So the phases of a rank sum to the step. */
#include <math.h>

#include "study/validate_parts.h"

/* Where a rank's list of passes stands. */
typedef struct rank_walk {
    ms_rank_cursor cursor;
    ms_program_stop stop; /* under way; width 0: none yet */
    double end_s;         /* of the last computation of a pass so far */
} rank_walk;

typedef struct phase_walk {
    const ms_result *result;
    rank_walk *ranks;   /* [rank_count] */
    double *phase_s;    /* [MS_STEP_PHASE_COUNT] */
    double last_end_s;  /* of the last pass of all ranks so far */
    double rank_weight; /* of a rank that stands for itself alone: 1 / ranks */
} phase_walk;

static bool is_action_of(const ms_action *action, const ms_dag_op *op) {
    bool is_kind = op->kind == ms_op_kind_of_pass((ms_pass)action->pass) ||
                   (op->kind == MS_OP_RECOMPUTE && action->pass != MS_PASS_F);
    return is_kind && action->stage == op->stage && action->mb == op->mb;
}

static bool is_of_stop(const ms_program_stop *stop, const ms_dag_op *op) {
    return (stop->width > 0 && is_action_of(&stop->actions[0], op)) ||
           (stop->width > 1 && is_action_of(&stop->actions[1], op));
}

static ms_step_phase phase_of(const ms_program_stop *stop) {
    static const ms_step_phase ALONE[MS_PASS_COUNT] = {[MS_PASS_F] = MS_STEP_FORWARD,
                                                       [MS_PASS_I] = MS_STEP_BACKWARD,
                                                       [MS_PASS_B] = MS_STEP_BACKWARD,
                                                       [MS_PASS_W] = MS_STEP_WEIGHT};
    return stop->width == 2 ? MS_STEP_PAIR : ALONE[stop->actions[0].pass];
}

/* A computation of a pass: it belongs to the stop under way, or to a later one of the list. */
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

static void add_ends(phase_walk *walk) {
    const ms_dag *dag = &walk->result->dag;
    for (int32_t r = 0; r < dag->rank_count; r++) {
        walk->phase_s[MS_STEP_BUBBLE] += dag->ranks[r].multiplicity * walk->rank_weight *
                                         (walk->last_end_s - walk->ranks[r].end_s);
    }
    walk->phase_s[MS_STEP_END] = walk->result->timeline.makespan_s - walk->last_end_s;
}

void ms_validate_find_phases(const ms_result *result, double *phase_s_out) {
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
