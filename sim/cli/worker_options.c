#include "cli/worker_options.h"

#include <stdio.h>
#include <unistd.h>

#include "meshsim/usage.h"

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

void ms_cli_show_progress(void *start_s, size_t done, size_t count) {
    const double *start = start_s;
    if (isatty(STDERR_FILENO) && ms_wall_s() - *start >= QUIET_S) {
        fprintf(stderr, "\r%zu of %zu simulated%s", done, count, done == count ? "\n" : "");
    }
}
