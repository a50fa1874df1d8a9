/* Lowers the gathering of a stage's sharded parameters where the program says so (UNSHARD of
 * PyTorch's schedules). The collectives run beside the passes; the stage's next computation waits
 * for them. */
#include "simulate/lower/lowering.h"

/* Emit a collective that gathers parameters of a stage. It starts when the operations lowered so
 * far on the rank have ended, and its end is in the list ms_unsharded.  Returns as
 * ms_group_lower. */
static ms_status lower_collective(ms_lowering *l, int p, int stage, const ms_segment *segment) {
    ms_group_op op = ms_group_op_of(segment);
    op.op.stage = (int16_t)stage;
    op.op.chunk = (int16_t)l->job->program.stage_chunk[stage];
    op.ends = ms_unsharded(l, stage);
    if (!ms_group_runs(l, p, &op)) {
        return MS_OK;
    }
    ms_before_merge(&l->waiting, ms_next(l, p));
    return ms_group_lower(l, p, &op);
}

ms_status ms_unshard_lower(ms_lowering *l, int p, int stage) {
    const ms_stage_costs *costs = &l->job->costs;
    const ms_pass_plan *plan =
        &costs->stage[ms_program_model_stage(&l->job->program, stage)].unshard;
    ms_status status = MS_OK;
    for (int i = 0; i < plan->count && status == MS_OK; i++) {
        status = lower_collective(l, p, stage, &costs->segments[plan->first + i]);
    }
    return status;
}
