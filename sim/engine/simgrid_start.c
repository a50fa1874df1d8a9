/* What every run on SimGrid begins with; see simgrid_start.h. */
#include "engine/simgrid_start.h"

#include <math.h>
#include <signal.h>
#include <unistd.h>

#include "engine/no_memory.h"

/* SimGrid replaces these; ours are put back once it is up. */
static const int SIGNALS[] = {SIGINT, SIGTERM, SIGSEGV, SIGFPE, SIGABRT, SIGPIPE};
enum { SIGNAL_COUNT = sizeof SIGNALS / sizeof SIGNALS[0] };

/* Whom to tell that memory ran out: of the simulation at hand. */
static ms_diag *the_diag = NULL;

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

/* The process ends here, which somebody has to be told. */
static void on_no_memory(void *context) {
    ms_diag spoken;
    (void)context;
    ms_diag_init_stderr(&spoken);
    ms_diag_error(ms_diag_is_mute(the_diag) ? &spoken : the_diag, "out of memory while simulating");
    _exit(ms_status_exit_code(MS_E_NOMEM));
}

/* SimGrid's own allocations that fail end in abort(). */
static void on_abort(int number) {
    static const char TEXT[] =
        "meshsim: error: SimGrid ended the run, as it does when it is out of memory\n";
    (void)number;
    ssize_t written = write(STDERR_FILENO, TEXT, sizeof TEXT - 1);
    _exit(ms_status_exit_code(written < 0 ? MS_E_IO : MS_E_NOMEM));
}

/* Let SimGrid work, and leave its handlers of signals as they were. */
static ms_status call_simgrid(ms_status (*work)(const ms_bridge_setup *),
                              const ms_bridge_setup *setup) {
    struct sigaction handlers[SIGNAL_COUNT];
    const struct sigaction abortion = {.sa_handler = on_abort};
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        sigaction(SIGNALS[i], NULL, &handlers[i]);
    }
    sigaction(SIGABRT, &abortion, NULL);
    ms_status status = work(setup);
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        sigaction(SIGNALS[i], &handlers[i], NULL);
    }
    return status;
}

ms_status ms_simgrid_start(ms_bridge_setup *setup, ms_diag *diag) {
    ms_status status = ms_bridge_load();
    if (status != MS_OK) {
        ms_diag_error(diag, "cannot load SimGrid, which shares links among transfers: %s",
                      ms_bridge_error());
        return status;
    }
    the_diag = diag;
    setup->on_no_memory = on_no_memory;
    return call_simgrid(ms_bridge_start, setup);
}

static ms_status run(const ms_bridge_setup *setup) {
    (void)setup;
    return ms_bridge_run();
}

ms_status ms_simgrid_run(void) {
    return call_simgrid(run, NULL);
}
