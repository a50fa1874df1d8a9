/* What a validated run comes to besides its figures: passes, phases, the last rank's memory. */
#include <math.h>
#include <string.h>

#include "study/validate_parts.h"

/* Time of a pass of each kind: all computing time of the kind over all its passes, of which every
 * stage has one for each microbatch. */
static void find_passes(const ms_result *result, ms_validate_finding *out) {
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

/* Whether an operation belongs to the layers' passes: neither to the step's end, the norms'
 * gradients summed over tp among it, nor to what is reduced and gathered for it. */
static bool is_of_layers(const ms_dag_op *op) {
    bool is_shared = op->axis == MS_AXIS_DP || op->axis == MS_AXIS_OTHER || op->axis == MS_AXIS_PP;
    return op->mb >= 0 && !is_shared;
}

/* Collectives that a forward pass of the first stage ends with. */
static int closing_collectives(const ms_stage_costs *costs) {
    const ms_pass_plan *forward = &costs->stage[0].passes[MS_PASS_F];
    const ms_segment *segments = costs->segments + forward->first;
    int count = 0;
    while (count < forward->count && segments[forward->count - 1 - count].is_collective) {
        count++;
    }
    return count;
}

/* A job of one stage and microbatch: the forward pass until its last computation and the
 * collectives that close it have ended, then the backward one, collectives that open it included,
 * until the last operation of the layers ends. */
static void find_halves(const ms_result *result, ms_validate_finding *out) {
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

static void find_last_rank(const ms_result *result, ms_validate_finding *out) {
    const ms_dag *dag = &result->dag;
    int last = 0;
    for (int r = 1; r < dag->rank_count; r++) {
        const ms_dag_rank *rank = &dag->ranks[r];
        bool is_later = rank->pp > dag->ranks[last].pp ||
                        (rank->pp == dag->ranks[last].pp && rank->rank > dag->ranks[last].rank);
        last = is_later ? r : last;
    }
    const ms_rank_memory *memory = &result->memory[last];
    out->last_peak_B = memory->peak_B;
    out->last_static_B = memory->parameter_B + memory->gradient_B + memory->optimizer_B +
                         memory->framework_B + memory->update_B;
}

void ms_validate_find(size_t index, const ms_result *result, void *finding_out) {
    (void)index;
    ms_validate_finding finding;
    memset(&finding, 0, sizeof finding);
    find_passes(result, &finding);
    find_halves(result, &finding);
    ms_validate_find_phases(result, finding.phase_s);
    find_last_rank(result, &finding);
    finding.reserve_B = result->job->platform.gpu.reserve_B;
    memcpy(finding_out, &finding, sizeof finding);
}
