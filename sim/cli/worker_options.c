#include "cli/worker_options.h"

#include <stdio.h>
#include <unistd.h>

#include "base/units.h"
#include "base/usage.h"

#define WIPE "\r\x1b[K" /* to the start of the line, and clear it */

enum { JOBS_DEFAULT_MAX = 4, JOBS_MAX = 1024 };
static const double QUIET_S = 2.0;

ms_status ms_cli_jobs(const ms_invocation *call, int *jobs_out) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    long fallback = processors < 1                  ? 1
                    : processors > JOBS_DEFAULT_MAX ? JOBS_DEFAULT_MAX
                                                    : processors;
    long jobs = 0;
    ms_status status = ms_cli_int(call, "jobs", fallback, 1, JOBS_MAX, &jobs);
    *jobs_out = (int)jobs;
    return status;
}

static bool is_shown(double spent_s) {
    return isatty(STDERR_FILENO) && spent_s >= QUIET_S;
}

void ms_cli_show_progress(void *start_s, size_t done, size_t count) {
    const double *start = start_s;
    double spent_s = ms_wall_s() - *start;
    char left[32];
    if (!is_shown(spent_s)) {
        return;
    }
    double per_s = (double)done / spent_s;
    ms_unit_format((double)(count - done) / per_s, MS_DIM_TIME, left, sizeof left);
    fprintf(stderr, WIPE "%zu of %zu simulated, %.3g/s", done, count, per_s);
    fprintf(stderr, ", %s left%s", left, done == count ? "\n" : "");
}

void ms_cli_leave_progress(const double *start_s) {
    if (is_shown(ms_wall_s() - *start_s)) {
        fputs("\n", stderr);
    }
}
