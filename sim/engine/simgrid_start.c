/* What every run on SimGrid begins with; see simgrid_start.h. */
#include "engine/simgrid_start.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "engine/no_memory.h"

/* SimGrid replaces these; ours are put back once it is up. */
static const int SIGNALS[] = {SIGINT, SIGTERM, SIGSEGV, SIGFPE, SIGABRT, SIGPIPE};
enum { SIGNAL_COUNT = sizeof SIGNALS / sizeof SIGNALS[0] };

/* Whom to tell that memory ran out: there is one simulation per process. */
static ms_diag *the_diag = NULL;

ms_status ms_simgrid_claim(ms_diag *diag) {
    if (the_diag != NULL) {
        ms_diag_error(diag, "a process simulates flows once: SimGrid's clock never resets; fork "
                            "before each further run");
        return MS_E_RANGE;
    }
    the_diag = diag;
    return MS_OK;
}

/* What SimGrid may take for simultaneous: 1e-12 s, but no less than the last bit of its clock at
 * the end of the run (2^-52 of it). When the clock overshoots an event by a bit and the event does
 * not count as simultaneous, SimGrid loses it. The end is not known; it is taken to be at most 32
 * times what the busiest stream needs, or 4,096 s. */
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

static void on_no_memory(void *context) {
    (void)context;
    ms_diag_error(the_diag, "out of memory while simulating");
    _exit(ms_status_exit_code(MS_E_NOMEM));
}

/* Go on in another process if that is wanted, which may then simulate. */
static ms_status move_apart(ms_apart *apart, ms_diag *diag) {
    ms_status status = apart == NULL ? MS_OK : ms_apart_split(apart);
    return apart == NULL || status != MS_OK ? status : ms_simgrid_claim(diag);
}

ms_status ms_simgrid_start(ms_bridge_setup *setup, ms_apart *apart, ms_diag *diag) {
    struct sigaction handlers[SIGNAL_COUNT];
    ms_status status = move_apart(apart, diag);
    if (status != MS_OK) {
        return status;
    }
    status = ms_bridge_load();
    if (status != MS_OK) {
        ms_diag_error(diag, "cannot load SimGrid, which shares links among transfers: %s",
                      ms_bridge_error());
        return status;
    }
    setup->on_no_memory = on_no_memory;
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        sigaction(SIGNALS[i], NULL, &handlers[i]);
    }
    status = ms_bridge_start(setup);
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        sigaction(SIGNALS[i], &handlers[i], NULL);
    }
    return status;
}
