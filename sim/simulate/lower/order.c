/* Lowers the passes of a step in the schedule's order of readiness: every pass comes after the
 * passes whose results it needs, so the graph is topologically sorted. */
#include "simulate/lower/lowering.h"

/* Emit the collectives that gather parameters (unshards) before a stop's actions. Reshards, the
 * other moves, free memory and emit nothing. */
static ms_status unshard_stages(ms_lowering *l, const ms_program_stop *stop) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < stop->move_count && status == MS_OK; i++) {
        if (stop->moves[i].is_unshard) {
            status = ms_unshard_lower(l, stop->rank, stop->moves[i].stage);
        }
    }
    return status;
}

/* Lower one stop of a rank's list: its unshards, then a pass or an overlapped pair; width 0, behind
 * the last pass, has moves only. */
static ms_status lower_stop(ms_lowering *l, const ms_program_stop *stop) {
    ms_status status = unshard_stages(l, stop);
    if (status != MS_OK || stop->width == 0) {
        return status;
    }
    return stop->width == 2 ? ms_pair_lower(l, stop->rank, stop->actions)
                            : ms_pass_lower(l, stop->rank, stop->actions);
}

ms_status ms_order_lower(ms_lowering *l, ms_arena *arena, ms_diag *diag) {
    ms_ready_order order;
    ms_status status = ms_ready_order_init(&l->job->program, false, arena, &order);
    ms_program_stop stop;
    while (status == MS_OK && ms_ready_order_next(&order, &stop)) {
        status = lower_stop(l, &stop);
    }
    return status == MS_OK ? ms_ready_order_check(&order, diag) : status;
}
