/* meshsim run: simulates one training step of a workload, or several, and prints where the time
 * goes; writes a trace with -o. Before the job itself, --whatif simulates it with single
 * improvements. */
#include <stdio.h>
#include <string.h>

#include "base/config/ranges.h"
#include "base/progress.h"
#include "base/target.h"
#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/progress.h"
#include "cli/run_whatif.h"
#include "cli/show_text.h"
#include "cli/shown_tables.h"
#include "cli/study_options.h"
#include "estimate/advice.h"
#include "trace/summary.h"
#include "trace/trace.h"

/* The value of --trace that a list of ranks follows. */
static const char RANKS[] = "ranks=";

/* Words of --trace by index; NULL behind the last. */
static const char *level_word(int index) {
    if (index == MS_TRACE_RANKS) {
        return RANKS;
    }
    return index < MS_TRACE_LEVEL_COUNT ? ms_trace_level_name((ms_trace_level)index) : NULL;
}

/* The options of the command. */
static const ms_option OPTIONS[] = {
    {MS_OPTION_PLATFORM},
    {MS_OPTION_SET},
    {"output", "TRACE.h5", .letter = 'o',
     .help = "write a trace of the operations to this HDF5 file", .writes = ".h5",
     .no_stdout = "HDF5 needs a file with random access"},
    {"trace", "LEVEL", .word = level_word,
     .help = "what of the operations the trace holds: full, passes, ranks=0,8-15 or summary"},
    {MS_OPTION_TOKENS},
    {MS_OPTION_JSON},
    {MS_OPTION_MARKDOWN},
    {MS_OPTION_FIDELITY},
    {MS_OPTION_GRANULARITY},
    {MS_OPTION_OVERLAP},
    {MS_OPTION_SENDS},
    {"fold", "exact|bounded|off",
     .help = "which ranks are simulated: exact (one of each role), bounded (one of each pipeline "
             "rank) or off (all)"},
    {"no-fold", .help = "the same as --fold off"},
    {"no-fast-forward",
     .help = "simulate every microbatch, also where a step repeats itself period after period"},
    {MS_OPTION_SOLVER},
    {"whatif", .help =
                   "simulate the job again with one improvement at a time: a tier's bandwidth x "
                   "2 or latency 0, the GPU's peak or memory x 2, perfect overlap"},
    {MS_OPTION_JOBS("with --whatif: simulations at once")},
    {"ranks", .help = "with --json: the time of each simulated rank by category, calls of kernels "
                      "by pipeline rank and sizes of groups"},
    {"passes", .help = "with --json: times of passes and phases of the step, memory of the last "
                       "pipeline rank, the framework; simulates every microbatch"},
    {"ignore-memory", .help = "exit with 0 also if the job does not fit in memory"},
    {0},
};

/* Add the object `page`: sentences that text and Markdown show and --json does not print, about the
 * mean of several steps and about folding. Folding: one simulated rank stands for all ranks of its
 * role. */
static void add_page(const ms_result *result, ms_value *root) {
    ms_value *page = ms_cli_add_job_page(result->job, root);
    const ms_lower_fold *fold = &result->fold;
    int steps = result->metrics.step_count;
    if (steps > 1) {
        const char *mean = ms_arena_printf(root->arena, "%d step%s after the first", steps - 1,
                                           steps == 2 ? "" : "s");
        ms_value_add_string(page, "mean", mean);
    }
    if (!fold->is_exact) {
        ms_value_add_string(page, "inexact",
                            fold->is_chaotic ? "rounding errors of the folded run grow"
                                             : "simulated ranks stand for others that differ");
    }
    if (result->job->run.no_fold) {
        ms_value_add_string(page, "folding",
                            fold->is_chaotic ? "off, as rounding errors of a folded run grow"
                                             : "off");
    }
}

/* Print the summary of a simulated job, with the parts that --ranks, --passes and --whatif ask
 * for. */
static ms_status print_result(const ms_invocation *call, const ms_result *result,
                              const ms_cli_whatif *whatif) {
    ms_value *summary = NULL;
    ms_status status = ms_summary_build(result, call->arena, &summary);
    if (status == MS_OK) {
        ms_summary_add_usage(result, summary);
    }
    if (status == MS_OK && ms_cli_has(call, "ranks")) {
        status = ms_summary_add_ranks(result, call->arena, summary);
    }
    if (status != MS_OK) {
        ms_diag_error(call->diag, "out of memory while summing up");
        return status;
    }
    if (ms_cli_has(call, "passes")) {
        ms_summary_add_passes(result, summary);
    }
    double tokens = 0.0;
    (void)ms_cli_tokens(call, &tokens); /* was read before */
    ms_summary_add_training(tokens, result->job->mesh.ranks, summary);
    ms_cli_note_upkeep(call, result->job->platform, NULL);
    if (whatif->is_asked) {
        ms_whatif_add(whatif->rows, whatif->count, summary, "whatif");
    }
    if (!ms_cli_has(call, "json")) {
        add_page(result, summary);
    }
    return ms_cli_show(call, result->job->name, MS_RUN_TABLES, summary);
}

/* Report a job that does not fit in memory, with the rank of the highest peak, and return MS_E_NO;
 * MS_OK where the job fits, or with --ignore-memory. */
static ms_status judge_memory(const ms_invocation *call, const ms_result *result) {
    if (result->fits || ms_cli_has(call, "ignore-memory")) {
        return MS_OK;
    }
    char peak[32];
    char capacity[96];
    char text[256];
    double peak_B = result->memory[result->peak_rank].held.total_B;
    snprintf(text, sizeof text, "meshsim: does not fit in memory: rank %d needs %s, %s\n",
             result->dag.ranks[result->peak_rank].rank,
             ms_unit_format(peak_B, MS_DIM_BYTES, peak, sizeof peak),
             ms_show_capacity(&result->job->platform->gpu, capacity, sizeof capacity));
    ms_cli_write_message(call->results, text);
    return MS_E_NO;
}

/* Read --trace: which operations the trace holds.  gpus: ranks of the job.  *detail_out: its list
 * of ranks is in the call's arena.  Returns MS_OK; MS_E_USAGE (reported). */
static ms_status read_detail(const ms_invocation *call, int gpus, ms_trace_detail *detail_out) {
    const char *value = ms_cli_value(call, "trace", "full");
    for (int level = 0; level < MS_TRACE_LEVEL_COUNT; level++) {
        if (level != MS_TRACE_RANKS &&
            strcmp(value, ms_trace_level_name((ms_trace_level)level)) == 0) {
            *detail_out = (ms_trace_detail){.level = (ms_trace_level)level};
            return MS_OK;
        }
    }
    bool is_list = strncmp(value, RANKS, sizeof RANKS - 1) == 0;
    const char *list = is_list ? value + sizeof RANKS - 1 : "";
    int count = is_list ? ms_ranges_read(list, gpus, NULL) : -1; /* < 0: no valid list */
    if (count < 0) {
        return ms_diag_usage(call->diag,
                             "bad value '%s' for --trace; expected full, passes, summary, or "
                             "ranks=LIST of ranks 0 to %d, such as ranks=0,8-15",
                             value, gpus - 1);
    }
    int *ranks = MS_NEW(call->arena, int, count);
    if (ranks == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    ms_ranges_read(list, gpus, ranks);
    *detail_out = (ms_trace_detail){.level = MS_TRACE_RANKS, .ranks = ranks, .rank_count = count};
    return MS_OK;
}

/* Write the trace, with the rows of --whatif.  trace_path: NULL: no trace is wanted. */
static ms_status write_trace(const ms_invocation *call, const char *trace_path,
                             const ms_result *result, const ms_cli_whatif *whatif,
                             ms_trace_detail *detail) {
    if (trace_path == NULL) {
        return MS_OK;
    }
    if (whatif->is_asked) {
        ms_value *root = ms_value_new_object(call->arena);
        ms_whatif_add(whatif->rows, whatif->count, root, "whatif");
        detail->whatif = ms_value_get(root, "whatif");
        if (call->arena->has_failed) {
            return ms_diag_no_memory(call->diag);
        }
    }
    return ms_trace_write_detail(trace_path, result, detail, MESHSIM_VERSION, call->diag);
}

/* Simulate a job, print its summary, write its trace, and report whether it fits in memory.
 * request: by which the job was read.  trace_path: NULL: no trace.  progress: is stopped before
 * messages about the result. */
static ms_status run_job(const ms_invocation *call, const ms_job_request *request, ms_job *job,
                         const char *trace_path, ms_cli_progress *progress) {
    ms_result result;
    ms_trace_detail detail;
    ms_cli_whatif whatif;
    ms_status status = read_detail(call, job->mesh.ranks, &detail);
    status = status == MS_OK ? ms_cli_simulate_whatifs(call, request, job, &whatif) : status;
    if (status != MS_OK) {
        return status;
    }
    status = ms_job_run(job, call->arena, call->diag, &result);
    if (status == MS_OK) {
        ms_whatif_rank(result.metrics.step_time_s, whatif.rows, whatif.count);
        status = print_result(call, &result, &whatif);
    }
    if (status == MS_OK) { /* all else that needs memory has succeeded */
        status = write_trace(call, trace_path, &result, &whatif, &detail);
    }
    ms_cli_progress_stop(progress);
    if (status == MS_OK) {
        ms_advise_placement(&job->mesh, job->platform, call->diag);
        ms_advise_latency(&result.metrics, call->diag);
    }
    status = status == MS_OK ? judge_memory(call, &result) : status;
    ms_result_release(&result);
    return status;
}

/* Check the options, load the workload and run the job, with a line of progress on a terminal. */
static ms_status run(const ms_invocation *call) {
    const char *trace_path = ms_cli_value(call, "output", NULL);
    ms_job_request request;
    ms_job job;
    ms_cli_progress progress;
    if (ms_cli_has(call, "trace") && trace_path == NULL) {
        return ms_diag_usage(call->diag, "--trace says what -o writes; expected -o TRACE.h5, too");
    }
    static const char *const ADDING[] = {"ranks", "passes"};
    for (size_t i = 0; i < sizeof ADDING / sizeof ADDING[0]; i++) {
        if (ms_cli_has(call, ADDING[i]) && !ms_cli_has(call, "json")) {
            return ms_diag_usage(call->diag, "'--%s' needs '--json', to which it adds", ADDING[i]);
        }
    }
    double tokens = 0.0;
    if (ms_cli_tokens(call, &tokens) != MS_OK) {
        return MS_E_USAGE;
    }
    ms_progress_begin("reading", 0);
    ms_cli_progress_start(&progress, call);
    ms_status status = ms_cli_load_requested(call, &request, &job);
    if (status == MS_OK &&
        (ms_cli_has(call, "passes") || strcmp(ms_cli_value(call, "trace", ""), "full") == 0)) {
        job.run.no_fast_forward = true; /* each operation is to be simulated, not repeated */
    }
    if (status == MS_OK && trace_path != NULL) {
        status = ms_target_check(trace_path, MS_TARGET_FILE, call->diag);
    }
    status = status == MS_OK ? run_job(call, &request, &job, trace_path, &progress) : status;
    ms_cli_progress_stop(&progress);
    return status;
}

const ms_command ms_cmd_run = {
    .name = "run",
    .summary = "simulate one training step of a workload",
    .positional_help = "WORKLOAD.yaml",
    .positionals = {1, 1},
    .options = OPTIONS,
    .description =
        "Reads the workload and its platform, lays model, mesh and schedule out as operations, "
        "runs them on SimGrid and prints where the step's time went. With several steps (the "
        "workload's 'steps') every figure is one step's, the mean of all but the first. "
        "'exposed_dp' is the time in which a GPU computes nothing because it waits for "
        "communication along dp, its own or that of other GPUs; 'stalling' is the part of its own "
        "communication that falls into that time. 'other' parts into waiting for the norm of the "
        "world's gradient and for the host. A trace holds every operation, unless --trace asks for "
        "less: 'passes' for a row per pass of a rank, 'ranks=0,8-15' for these ranks (simulated "
        "ones: of a folded job those that stand for others), 'summary' for sums alone. --whatif "
        "simulates the job again with one improvement at a time and prints, by gain, how much of "
        "the step each saves and the --set that makes it; a trace keeps that as /whatif. Exits "
        "with 1 "
        "when the job does not fit in memory.",
    .example = "meshsim run workloads/tiny.yaml --set batch.global=64 -o tiny.h5",
    .run = run,
};
