/* libFuzzer target: any bytes as a workload file. What is refused is explained, what is taken is
 * laid out; small jobs are also looked at without simulation and run with the closed forms, and
 * what comes out is held to what every result must be; one in sixteen of them is simulated as well.
 * The bytes behind the last NUL, if any, are an override. */
#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz_target.h"
#include "simulate/run/job.h"

/* Larger jobs are laid out but not run: thousands of inputs a second find more than a few large
 * ones. */
enum { RANKS_RUN = 4096, ACTIONS_RUN = 2000, SEGMENTS_RUN = 2000 };
/* What SimGrid keeps would pass for leaks, so a simulation takes a child, and few are made. */
enum { ACTIONS_FLOW = 100, SEGMENTS_FLOW = 200, ONE_IN = 16 };

static double sum_of(const double of_category[MS_TIME_COUNT]) {
    double sum = 0.0;
    for (int c = 0; c < MS_TIME_COUNT; c++) {
        sum += of_category[c];
    }
    return sum;
}

/* Run a job, which must say what it refuses.  Returns the step time; below 0: refused. */
static double run(ms_job *job, ms_arena *arena, ms_diag *diag) {
    ms_result result;
    double found_s = -1.0;
    ms_status status = ms_job_run(job, arena, diag, &result);
    require((status == MS_OK) == (diag->errors == 0));
    if (status == MS_OK) {
        double step_s = result.metrics.step_time_s;
        double path_s = sum_of(result.metrics.critical_s);
        require(isfinite(step_s) && step_s >= 0.0);
        require(fabs(path_s - step_s) <= 1e-9 * step_s);
        require(step_s == 0.0 || fabs(sum_of(result.metrics.share) - 1.0) < 1e-9);
        found_s = step_s;
    }
    ms_result_release(&result);
    return found_s;
}

/* Simulate in a child: sharing links never makes a step shorter. */
static void simulate(const ms_job *job, double alone_s, ms_arena *arena, ms_diag *diag) {
    pid_t child = fork();
    if (child == 0) {
        ms_job shared = *job;
        shared.spec.simulation.fidelity = MS_FIDELITY_FLOW;
        double step_s = run(&shared, arena, diag);
        require(step_s < 0.0 || step_s >= alone_s * (1 - 1e-9));
        _exit(0);
    }
    int state = 0;
    require(child > 0 && waitpid(child, &state, 0) == child);
    require(WIFEXITED(state) && WEXITSTATUS(state) == 0);
}

static bool is_small(const ms_job *job, size_t actions) {
    return actions <= ACTIONS_FLOW && job->costs.segment_count <= SEGMENTS_FLOW;
}

/* Forward and backward passes, without weight gradients that stand apart. */
static size_t count_passes(const ms_program *program) {
    size_t count = 0;
    for (size_t i = 0; i < program->first[program->spec.pipeline_ranks]; i++) {
        count += program->actions[i].pass != MS_PASS_W;
    }
    return count;
}

static void use(ms_job *job, bool is_chosen, ms_arena *arena, ms_diag *diag) {
    size_t actions = job->program.first[job->program.spec.pipeline_ranks];
    require(job->mesh.ranks + job->placement.idle_gpus + job->placement.spare_gpus ==
            ms_platform_gpus(job->platform));
    require(job->microbatches >= 1 && job->global_batch >= job->microbatches);
    require(count_passes(&job->program) ==
            2U * (size_t)job->program.stages * (size_t)job->program.mb_count);
    require(ms_program_check(&job->program, diag) == MS_OK);
    if (job->mesh.ranks > RANKS_RUN || actions > ACTIONS_RUN ||
        job->costs.segment_count > SEGMENTS_RUN) {
        return;
    }
    ms_estimate estimate;
    ms_status status = ms_job_estimate(job, arena, diag, &estimate);
    require(status == MS_OK || (status == MS_E_RANGE && diag->errors > 0));
    if (status != MS_OK) {
        return; /* times beyond all bounds, refused with a message */
    }
    require(isfinite(estimate.lower_bound_s) && estimate.lower_bound_s >= 0.0);
    double step_s = run(job, arena, diag);
    if (is_chosen && step_s >= 0.0 && is_small(job, actions)) {
        simulate(job, step_s, arena, diag);
    }
#ifdef MS_FUZZ_TRAP /* scripts/fuzz --traps: a fault that only mutation leads to */
    if (step_s > 0.0 && (job->microbatches & (job->microbatches - 1)) != 0) {
        fputs("the planted trap\n", stderr);
        abort();
    }
#endif
}

static void load(const char *path, const char *override, bool is_chosen, ms_arena *arena) {
    ms_diag diag;
    ms_diag_init(&diag, discard, NULL);
    ms_job_request request = {.workload = path,
                              .data_folder = MS_SOURCE_DIR,
                              .sets = &override,
                              .set_count = override == NULL ? 0 : 1,
                              .fidelity = "analytic"};
    ms_job job;
    ms_status status = ms_job_load(&request, arena, &diag, &job);
    require((status == MS_OK) == (diag.errors == 0));
    require(status == MS_OK || status == MS_E_INPUT || status == MS_E_USAGE || status == MS_E_IO);
    if (status == MS_OK) {
        use(&job, is_chosen, arena, &diag);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_arena_init(&arena);
    const uint8_t *nul = size == 0 ? NULL : memrchr(data, '\0', size);
    size_t length = nul == NULL ? size : (size_t)(nul - data);
    const char *override =
        nul == NULL ? NULL : ms_arena_strndup(&arena, (const char *)nul + 1, size - length - 1);
    memory_file file = memory_file_open(data, length);
    bool is_chosen = size > 0 && data[size / 2] % ONE_IN == 0;
    load(file.path, override, is_chosen, &arena);
    memory_file_close(&file);
    ms_arena_release(&arena);
    return 0;
}
