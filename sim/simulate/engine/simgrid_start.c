/* Starts SimGrid for a run and chooses the precision of its clock; see simgrid_start.h. */
#include "simulate/engine/simgrid_start.h"

#include <math.h>
#include <signal.h>

/* How close events may be for SimGrid to treat them as simultaneous: 1e-12 s, but no less than the
 * last bit of its clock at the end of the run (2^-52 of it). When the clock overshoots an event by
 * a bit and the event does not count as simultaneous, SimGrid loses it. The end of the run is not
 * known yet; it is taken to be at most 32 times what the busiest stream needs, or 4,096 s if that
 * is more. Hence ldexp(busiest_s, 5 - 52). */
ms_status ms_simgrid_choose_precision(const ms_replay *replay, ms_arena *scratch,
                                      double *precision_s_out) {
    const ms_dag *dag = replay->dag;
    double busiest_s = 0.0;
    double *busy_s = MS_NEW(scratch, double, dag->stream_count);
    if (busy_s == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t op = 0; op < dag->op_count; op++) {
        int32_t work = dag->ops[op].work;
        double time_s = replay->work_time_s[work] + dag->works[work].host_s;
        for (int32_t j = dag->member_first[op]; j < dag->member_first[op + 1]; j++) {
            double *busy = &busy_s[dag->member_stream[j]];
            *busy += time_s;
            busiest_s = fmax(busiest_s, *busy);
        }
    }
    *precision_s_out = fmax(1e-12, ldexp(busiest_s, 5 - 52));
    return MS_OK;
}

/* SimGrid installs a handler of interrupts (SIGINT) when it starts; the process's own is restored.
 */
ms_status ms_simgrid_start(const ms_bridge_setup *setup, ms_diag *diag) {
    struct sigaction handler;
    ms_status status = ms_bridge_load();
    if (status != MS_OK) {
        ms_diag_error(diag, "cannot load SimGrid, which shares links among transfers: %s",
                      ms_bridge_error());
        return status;
    }
    sigaction(SIGINT, NULL, &handler);
    status = ms_bridge_start(setup);
    sigaction(SIGINT, &handler, NULL);
    return status;
}
