/* Options of the commands that run many simulations (`search`, `sweep`, `schedule --compare`, `run
 * --whatif`): the store of results, the shard, --jobs, and a line of progress (study_options.h). */
#include "cli/study_options.h"

#include <unistd.h>

#include "base/units.h"
#include "base/usage.h"

/* How long a process waits for another process that simulates the same shard [s]. A job manager
 * that has lost contact with a process starts a second one for its shard, while the first may still
 * run. */
static const double SHARD_WAIT_S = 60.0;

const char *ms_cli_program(ms_arena *arena) {
    return ms_arena_printf(arena, "%s+%s", MESHSIM_VERSION, MS_CLI_RESULT_DIGEST);
}

/* Check --fresh, --resume, --shard, --shards and --store against each other.  Returns MS_OK;
 * MS_E_USAGE (reported). */
static ms_status check_options(const ms_invocation *call) {
    static const char *const NEED_STORE[] = {"fresh", "resume", "shard"};
    if (ms_cli_has(call, "fresh") && ms_cli_has(call, "resume")) {
        return ms_diag_usage(call->diag, "options '--fresh' and '--resume' do not go together");
    }
    for (size_t i = 0; i < sizeof NEED_STORE / sizeof NEED_STORE[0]; i++) {
        if (ms_cli_has(call, NEED_STORE[i]) && !ms_cli_has(call, "store")) {
            return ms_diag_usage(call->diag, "option '--%s' needs '--store'", NEED_STORE[i]);
        }
    }
    if (ms_cli_has(call, "shards")) { /* with --plan no store is opened */
        return ms_diag_usage(call->diag, "option '--shards' needs '--plan'");
    }
    return MS_OK;
}

/* Open the store of a shard in the folder of --store.  text: the value of --shard, "I/N". */
static ms_status open_shard(const ms_invocation *call, const char *text, ms_cli_store *out) {
    ms_status status = ms_shard_read(text, call->diag, &out->shard);
    if (status != MS_OK) {
        return status;
    }
    out->is_shard = true;
    status =
        ms_shard_open(ms_cli_value(call, "store", NULL), &out->shard, ms_cli_has(call, "fresh"),
                      SHARD_WAIT_S, call->arena, call->diag, &out->file);
    out->store = out->file.store;
    return status;
}

ms_status ms_cli_open_store(const ms_invocation *call, ms_cli_store *store_out) {
    const char *path = ms_cli_value(call, "store", NULL);
    const char *shard = ms_cli_value(call, "shard", NULL);
    *store_out = (ms_cli_store){.shard = {0, 1}, .file = {.lock_file = -1}};
    ms_status status = check_options(call);
    if (status == MS_OK && shard != NULL) {
        return open_shard(call, shard, store_out);
    }
    const ms_store_options options = {.is_fresh = ms_cli_has(call, "fresh")};
    return status == MS_OK && path != NULL
               ? ms_store_open(path, &options, call->arena, call->diag, &store_out->store)
               : status;
}

ms_status ms_cli_close_store(const ms_invocation *call, ms_cli_store *store, bool is_complete) {
    ms_status status = MS_OK;
    if (store->is_shard) {
        status = ms_shard_close(&store->file, is_complete, call->diag);
    } else {
        ms_store_close(store->store);
    }
    store->store = NULL;
    return status;
}

/* ---- simulations at once ---- */

/* Move the cursor to the start of the line and clear the line. */
#define WIPE "\r\x1b[K"

/* Largest default of --jobs, and its largest value. */
enum { JOBS_DEFAULT_MAX = 4, JOBS_MAX = 1024 };

/* Progress is shown from this time on [s]. */
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

/* Whether progress is shown after `spent_s` seconds. */
static bool is_shown(double spent_s) {
    return isatty(STDERR_FILENO) && spent_s >= QUIET_S;
}

void ms_cli_show_progress(void *line, size_t done, size_t count) {
    ms_cli_line *state = line;
    double now_s = ms_wall_s(), start_s = state->start_s;
    char left[32];
    double per_s = ms_cli_rate_of(&state->rate, "", now_s, start_s, (double)done);
    if (!is_shown(now_s - start_s)) {
        return;
    }
    ms_unit_format((double)(count - done) / per_s, MS_DIM_TIME, left, sizeof left);
    fprintf(stderr, WIPE "%zu of %zu simulated, %.3g/s", done, count, per_s);
    fprintf(stderr, ", %s left%s", left, done == count ? "\n" : "");
}

void ms_cli_leave_progress(const ms_cli_line *line) {
    if (is_shown(ms_wall_s() - line->start_s)) {
        fputs("\n", stderr);
    }
}
