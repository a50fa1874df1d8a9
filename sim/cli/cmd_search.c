/* meshsim search: finds the best meshes and settings for a workload. This file reads the space of
 * candidates and the goal from options, runs the search (search/search.h), and writes its results:
 * a workload file of the best candidate, CSV, a page of HTML, and text or JSON. A candidate is one
 * job of the space; a shard is one of several processes that share the candidates of a search. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/usage.h"
#include "cli/commands.h"
#include "cli/html_option.h"
#include "cli/job_options.h"
#include "cli/run_whatif.h"
#include "cli/show_search.h"
#include "cli/shown_tables.h"
#include "cli/study_options.h"
#include "cli/tool.h"

/* Most GPUs of --gpus, most candidates of --top, and its default. */
enum { GPUS_MAX = 1 << 24, TOP_MAX = 100000, TOP_DEFAULT = 10 };

/* Most candidates on a page of HTML beside the best ones; so many take some 1.5 MB. */
enum { PAGE_REST_MAX = 2000 };

/* The line of progress is first drawn QUIET_S after the start, and then at most every DRAW_S
 * [s]. */
static const double QUIET_S = 2.0, DRAW_S = 0.2;

/* The options of the command. */
static const ms_option OPTIONS[] = {
    {"vary", "KEY=V1,V2", .is_repeatable = true, .takes = MS_TAKES_WORKLOAD_KEY,
     .help = "values of a key, its own or its platform's; of an axis of the mesh also 'all'. dp "
             "takes the GPUs that other axes leave"},
    {"space", "S.yaml",
     .help = "file with what varies: usual, gpus, platforms, vary (workloads/search.md)"},
    {"usual", .help = "vary the default space, too, beside the keys of --vary"},
    {"gpus", "N1,N2|up-to:N", .fallback = "those of the workload",
     .help = "numbers of GPUs; with up-to: the most below N that each platform can use"},
    {"platform", "P1,P2", .fallback = "the workload's",
     .help = "platform files, or names of some; '--set NAME:key=value' sets a key of one of them"},
    {"best-of", "platform",
     .help = "find the best of each platform, and compare them; --top is then 1 for each"},
    {"objective", "Q1[,Q2]", .fallback = "step_time_s",
     .help = "what is best: step_time_s, tokens_per_s, cost_per_million_tokens, energy_J, gpus "
             "(the fastest with that many GPUs), training_time_s, training_cost; with two, the "
             "Pareto front: all candidates that no other one beats by both"},
    {"max", "QUANTITY=VALUE", .is_repeatable = true,
     .help = "leave out candidates above this limit, such as peak_B=70GiB; QUANTITY is an "
             "objective other than tokens_per_s, peak_B, bubble_fraction or tokens_per_step"},
    {MS_OPTION_TOKENS},
    {"top", "N", .fallback = "10", .help = "how many of the best are found"},
    {"exhaustive", .help = "simulate all that fit, prune nothing"},
    {MS_OPTION_JOBS("simulations, or threads that estimate, at once; changes no result")},
    {"explain", "RANK",
     .help = "where the time of the candidate of this rank goes, beside the best one's"},
    {"whatif", .help = "simulate the best candidate again with one improvement at a time, as 'run "
                       "--whatif' does"},
    {"output", "FILE", .letter = 'o', .help = "write the best one as a workload",
     .writes = ".yaml"},
    {"csv", "FILE", .help = "write what is found as CSV", .writes = ".csv"},
    {MS_OPTION_PARETO("the best candidates by the cost and the time of a step")},
    {MS_OPTION_HTML},
    {MS_OPTION_STORE},
    {MS_OPTION_RESUME},
    {MS_OPTION_FRESH},
    {MS_OPTION_SHARD},
    {MS_OPTION_PLAN},
    {MS_OPTION_SHARDS},
    {MS_OPTION_SET},
    {MS_OPTION_FIDELITY},
    {MS_OPTION_GRANULARITY},
    {MS_OPTION_JSON},
    {MS_OPTION_MARKDOWN},
    {0},
};

/* ---- the space and the goal ---- */

/* Split the comma list of an option into its words; no words without the option.  *words_out: in
 * the call's arena.  Returns MS_OK; MS_E_USAGE (reported) for an empty word. */
static ms_status split(const ms_invocation *call, const char *option, ms_words *words_out) {
    const char *text = ms_cli_value(call, option, "");
    words_out->items = MS_NEW(call->arena, const char *, strlen(text) + 1); /* enough in any case */
    words_out->count = 0;
    for (const char *at = text; *at != '\0' && words_out->items != NULL;) {
        size_t length = strcspn(at, ",");
        if (length == 0) {
            return ms_diag_usage(call->diag, "option '--%s' has an empty place in '%s'", option,
                                 text);
        }
        words_out->items[words_out->count++] = ms_arena_strndup(call->arena, at, length);
        at += length + (at[length] == ',');
    }
    return call->arena->has_failed ? ms_diag_no_memory(call->diag) : MS_OK;
}

/* The word before a maximum number of GPUs. */
static const char UP_TO[] = "up-to:";

/* Read the comma list of --gpus, or the maximum behind UP_TO.  *gpus_out: zeroed before the call;
 * its list is in the call's arena.  Returns MS_OK; MS_E_USAGE (reported). */
static ms_status read_gpus(const ms_invocation *call, ms_ints *gpus_out) {
    ms_words words;
    ms_status status = split(call, "gpus", &words);
    gpus_out->items = status == MS_OK ? MS_NEW(call->arena, int, words.count + 1) : NULL;
    if (gpus_out->items == NULL) {
        return status == MS_OK ? ms_diag_no_memory(call->diag) : status;
    }
    for (size_t i = 0; i < words.count; i++) {
        int end = 0, gpus = 0;
        bool is_most = words.count == 1 && strncmp(words.items[i], UP_TO, sizeof UP_TO - 1) == 0;
        const char *number = words.items[i] + (is_most ? sizeof UP_TO - 1 : 0);
        bool is_number = sscanf(number, "%8d%n", &gpus, &end) == 1 && number[end] == '\0' &&
                         gpus >= 1 && gpus <= GPUS_MAX;
        if (!is_number) {
            return ms_diag_usage(call->diag, "option '--gpus' takes numbers from 1 to %d, got '%s'",
                                 (int)GPUS_MAX, words.items[i]);
        }
        gpus_out->items[gpus_out->count++] = gpus;
    }
    return MS_OK;
}

/* Move the overrides of one platform, "NAME:key.path=value", from the job's to those of the space.
 * Returns MS_OK; MS_E_USAGE (reported) for a NAME that is no word of --platform. */
static ms_status part_sets(const ms_invocation *call, ms_job_request *job,
                           ms_space_request *request) {
    const ms_words *platforms = &request->platforms;
    const char **all = MS_NEW(call->arena, const char *, job->set_count + 1);
    const char **own = MS_NEW(call->arena, const char *, job->set_count + 1);
    size_t count = 0;
    if (all == NULL || own == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    request->own_sets.items = own;
    for (size_t i = 0; i < job->set_count; i++) {
        const char *text = job->sets[i];
        size_t length = strcspn(text, ":=");
        if (text[length] != ':') {
            all[count++] = text;
            continue;
        }
        const char *name = ms_arena_strndup(call->arena, text, length);
        if (name != NULL && ms_word_index(name, platforms->items, (int)platforms->count) < 0) {
            ms_diag_unknown(call->diag, "platform of --set", name, platforms->items,
                            platforms->count);
            return MS_E_USAGE;
        }
        own[request->own_sets.count++] = text;
    }
    job->sets = all;
    job->set_count = count;
    return call->arena->has_failed ? ms_diag_no_memory(call->diag) : MS_OK;
}

/* Read which candidates the space has: workload, --vary, --usual, --gpus, --platform, and the file
 * of --space. The default space is varied without --vary and --space, and with --usual in addition
 * to the keys that these name.  job: the request for the workload, which *request_out borrows. */
static ms_status read_request(const ms_invocation *call, ms_job_request *job,
                              ms_space_request *request_out) {
    const ms_given varied = ms_cli_all(call, "vary");
    *request_out = (ms_space_request){
        .job = job,
        .varied = {varied.values, varied.count},
        .has_defaults =
            (varied.count == 0 && !ms_cli_has(call, "space")) || ms_cli_has(call, "usual"),
    };
    ms_status status = ms_cli_job_request(call, call->positionals[0], job);
    job->platform = NULL; /* --platform may name several, which the space has as a list */
    status = status == MS_OK ? split(call, "platform", &request_out->platforms) : status;
    status = status == MS_OK ? read_gpus(call, &request_out->gpus) : status;
    if (status == MS_OK && ms_cli_has(call, "space")) {
        status = ms_space_read_file(ms_cli_value(call, "space", NULL), call->arena, call->diag,
                                    request_out);
    }
    return status == MS_OK ? part_sets(call, job, request_out) : status;
}

/* Read --objective, --max, --best-of and --tokens: the quantities that the search minimises, their
 * limits, and whether the best of each platform is wanted. */
static ms_status read_goal(const ms_invocation *call, ms_search_goal *goal) {
    static const char *const GROUPS[] = {"platform", NULL};
    const ms_given limits = ms_cli_all(call, "max");
    int group = 0;
    ms_search_goal_init(goal);
    ms_status status = ms_search_goal_read(
        goal, ms_cli_value(call, "objective", ms_search_quantity_name(MS_SEEK_STEP_TIME)),
        call->diag);
    for (size_t i = 0; i < limits.count && status == MS_OK; i++) {
        status = ms_search_goal_limit(goal, limits.values[i], call->diag);
    }
    status = status == MS_OK ? ms_cli_choice(call, "best-of", GROUPS, &group) : status;
    return status == MS_OK ? ms_cli_tokens(call, &goal->training_tokens) : status;
}

/* ---- progress ---- */

/* State of the line of progress on the terminal. */
typedef struct search_line {
    double start_s,
        drawn_s; /* start of the search and last drawing [s], on the clock of ms_wall_s */
    ms_cli_rate rate;
    bool is_drawn; /* the line is on the terminal */
} search_line;

/* Draw the line of progress on the standard error if that is a terminal: candidates done, rate, and
 * time left. `progress` of ms_search_study, with a search_line as its context. The line is wiped
 * when the last candidate is simulated. */
static void show_progress(void *context, const ms_search_progress *now) {
    static const char *const NAMES[] = {[MS_SEARCH_BOUNDING] = "bounding:",
                                        [MS_SEARCH_ESTIMATING] = "estimating:",
                                        [MS_SEARCH_SIMULATING] = "simulating:"};
    search_line *line = context;
    double time_s = ms_wall_s();
    bool is_simulating = now->phase == MS_SEARCH_SIMULATING;
    double rate = ms_cli_rate_of(&line->rate, NAMES[now->phase], time_s, time_s, (double)now->done);
    bool is_end = is_simulating && now->done == now->count;
    bool is_due = time_s - line->start_s >= QUIET_S && time_s - line->drawn_s >= DRAW_S;
    if (!isatty(STDERR_FILENO) || (!is_due && !(is_end && line->is_drawn))) {
        return;
    }
    line->drawn_s = time_s;
    line->is_drawn = !is_end;
    if (is_end) {
        fputs("\r\033[K", stderr);
        return;
    }
    fprintf(stderr, "\r\033[K%s %lld of %lld candidates, %.0f/s", NAMES[now->phase],
            (long long)now->done, (long long)now->count, rate);
    if (rate > 0) {
        fprintf(stderr, ", %s%.0f s left", is_simulating ? "at most " : "",
                (double)(now->count - now->done) / rate);
    }
    if (is_simulating) {
        fprintf(stderr, ", %lld simulated", (long long)now->simulated);
    }
}

/* ---- the search ---- */

/* Options that name an output file. */
static const char *const FILES[] = {"output", "csv", "pareto", "html", NULL};

/* Whether the file that an option names is to be written. An interrupted search writes new files
 * only: an older file, which may hold the results of a whole search, is kept, and a note says
 * so. */
static bool is_written(const ms_invocation *call, const ms_shown_search *shown,
                       const char *option) {
    const char *path = ms_cli_value(call, option, NULL);
    bool is_kept = path != NULL && shown->result->is_partial && strcmp(path, "-") != 0 &&
                   ms_file_is_there(path);
    if (is_kept) {
        ms_diag_note(call->diag, NULL, NULL, "'%s' is left as it was", path);
    }
    return path != NULL && !is_kept;
}

/* The absolute path of a file in `folder`, with or without ".yaml"; `name` itself where it is
 * absolute, NULL, or no such file exists.  In `arena`. */
static const char *make_absolute(const char *folder, const char *name, ms_arena *arena) {
    static const char *const ENDINGS[] = {"", ".yaml"};
    for (size_t i = 0; name != NULL && name[0] != '/' && i < 2; i++) {
        const char *path = ms_arena_printf(arena, "%s/%s%s", folder, name, ENDINGS[i]);
        char *real = path == NULL ? NULL : realpath(path, NULL);
        if (real != NULL) {
            const char *copy = ms_arena_strdup(arena, real);
            (free)(real); /* allocated by realpath, not by us */
            return copy;
        }
        if (path != NULL) {
            ms_failure_note_file(path, errno);
        }
    }
    return name;
}

/* Append a candidate as a workload file. Paths in it become absolute, so that the file may lie in
 * any folder. */
static void add_workload(const ms_search_row *row, ms_arena *arena, ms_buffer *out) {
    ms_job_spec spec = row->spec;
    const char *folder = spec.folder == NULL ? "." : spec.folder;
    spec.platform.file = make_absolute(folder, spec.platform.file, arena);
    spec.schedule.csv = make_absolute(folder, spec.schedule.csv, arena);
    spec.placement.file = make_absolute(folder, spec.placement.file, arena);
    out->failed = out->failed || ms_job_spec_write(&spec, out) != MS_OK || arena->has_failed;
}

/* Write the best candidate as a workload to the file of --output, and all candidates found to that
 * of --csv and as the picture of --pareto. */
static ms_status write_files(const ms_invocation *call, const ms_shown_search *shown) {
    ms_buffer workload = {0};
    bool has_best = shown->result->row_count > 0;
    ms_status status = MS_OK;
    if (has_best && is_written(call, shown, "output")) {
        if (shown->result->is_partial) {
            ms_buffer_puts(&workload, "# Partial: the search was interrupted, and a better one may "
                                      "be among what it did not simulate.\n");
        }
        add_workload(&shown->result->rows[0], call->arena, &workload);
        status = ms_cli_write_option(call, "output", &workload);
    }
    if (status == MS_OK && is_written(call, shown, "csv")) {
        ms_value *root = ms_show_search_tree(shown, call->arena);
        ms_show_search_add_page(shown, root);
        status = ms_cli_write_csv(call, "csv", root);
    }
    if (status == MS_OK && has_best && is_written(call, shown, "pareto")) {
        status = ms_cli_draw_pareto(call, ms_show_search_tree(shown, call->arena));
    }
    ms_buffer_release(&workload);
    return status;
}

/* Make the tree that --json prints, with the rows of --whatif for the best candidate. */
static ms_value *make_tree(const ms_invocation *call, const ms_shown_search *shown,
                           const ms_cli_whatif *whatif) {
    ms_value *root = ms_show_search_tree(shown, call->arena);
    if (whatif->is_asked) {
        ms_whatif_add(whatif->rows, whatif->count, root, "whatif");
    }
    return root;
}

/* Write the page of --html, which also lists candidates that are not among the best. */
static ms_status write_html(const ms_invocation *call, const ms_shown_search *shown,
                            const ms_cli_whatif *whatif) {
    const char *files[] = {shown->workload, ms_cli_value(call, "space", shown->workload)};
    const char *name = ms_space_base(shown->space)->name;
    const ms_cli_page page = {.title = name == NULL ? shown->workload : name,
                              .files = {files, sizeof files / sizeof files[0]}};
    if (!is_written(call, shown, "html")) {
        return MS_OK;
    }
    ms_value *root = make_tree(call, shown, whatif);
    ms_show_search_rest(shown, root);
    return ms_cli_write_html(call, &page, root);
}

/* Write notes on what the platforms of the results lack of prices and power (ms_cli_note_upkeep).
 * Several platforms get theirs by "NAME:key=value". */
static void note_upkeep(const ms_invocation *call, const ms_shown_search *shown) {
    const ms_words *platforms = ms_space_platforms(shown->space);
    const char *before = "";
    for (size_t i = 0; i < shown->result->row_count; i++) {
        const ms_search_row *row = &shown->result->rows[i];
        const char *word = platforms->count < 2
                               ? NULL
                               : platforms->items[ms_space_platform_of(shown->space, row->index)];
        const ms_platform *cluster = row->spec.platform.cluster;
        if (strcmp(cluster->name, before) != 0) {
            ms_cli_note_upkeep(call, cluster, word);
        }
        before = cluster->name;
    }
}

/* Write the files of the results, then print them unless a file is the standard output. */
static ms_status print(const ms_invocation *call, const ms_shown_search *shown,
                       const ms_cli_whatif *whatif) {
    ms_status status = write_files(call, shown);
    status = status == MS_OK ? write_html(call, shown, whatif) : status;
    if (status != MS_OK || ms_cli_uses_stdout(call, FILES)) {
        return status;
    }
    const char *name = ms_space_base(shown->space)->name;
    ms_value *root = make_tree(call, shown, whatif);
    if (!ms_cli_has(call, "json")) {
        ms_show_search_add_page(shown, root);
    }
    note_upkeep(call, shown);
    return ms_cli_show(call, name == NULL ? shown->workload : name, MS_SEARCH_TABLES, root);
}

/* Write a note after an interrupt: whether the same command continues from a store, or starts
 * again. */
static void tell_rest(const ms_invocation *call) {
    const char *store = ms_cli_value(call, "store", NULL);
    ms_diag_note(call->diag, NULL, NULL,
                 store != NULL
                     ? "interrupted: what was simulated is in '%s', and the same command goes on"
                     : "interrupted: the same command begins anew; '--store FILE.db' keeps what is "
                       "simulated",
                 store);
}

/* Find the status that a search ends with: that of the first simulation that failed; MS_E_NO where
 * nothing is feasible. A shard that finds nothing feasible ends with MS_OK, since other shards may
 * find something. */
static ms_status verdict_of(const ms_search_study *study, const ms_search_findings *result) {
    ms_status none = study->shard == NULL ? MS_E_NO : MS_OK;
    return result->failure != MS_OK ? result->failure : result->row_count == 0 ? none : MS_OK;
}

/* Run a search, close its store, simulate the what-ifs of the best candidate, and write the
 * results. After an interrupt the results so far are written.  request: for the workload.  kept:
 * the store. */
static ms_status search(const ms_invocation *call, const ms_search_study *study,
                        const ms_job_request *request, ms_cli_store *kept) {
    ms_search_findings result = {.row_count = 0};
    ms_shown_search shown = {.workload = call->positionals[0],
                             .goal = study->goal,
                             .is_by_platform = study->is_by_platform,
                             .space = study->space,
                             .result = &result};
    ms_cli_whatif whatif = {.is_asked = false};
    long rank = 0;

    ms_status status = ms_cli_int(call, "explain", 0, 1, TOP_MAX, &rank);
    status = status == MS_OK ? ms_search_run(study, call->arena, call->diag, &result) : status;
    shown.explained = (size_t)rank <= result.row_count ? (size_t)rank : 0;
    if (status == MS_OK && shown.explained == 0 && rank > 0) {
        ms_diag_note(call->diag, NULL, NULL, "no rank %ld to explain: %zu are found", rank,
                     result.row_count);
    }
    if (status == MS_E_INTERRUPTED) {
        tell_rest(call);
        print(call, &shown, &whatif);
        return status;
    }
    /* The store is closed before results are written, so that a shard is complete even if they
     * cannot be written. */
    status = status == MS_OK ? ms_cli_close_store(call, kept, result.failure == MS_OK) : status;
    if (status == MS_OK && result.row_count > 0) {
        const ms_search_row *best = &result.rows[0];
        status = ms_cli_simulate_whatifs_of(call, request, &best->settings,
                                            best->figures.step_time_s, &whatif);
    }
    status = status == MS_OK ? print(call, &shown, &whatif) : status;
    return status == MS_OK ? verdict_of(study, &result) : status;
}

/* Read the options, and run the search, or with --plan write a plan that runs all its shards. */
static ms_status run(const ms_invocation *call) {
    ms_job_request job;
    ms_space_request request;
    ms_search_goal goal;
    ms_cli_store kept = {.file = {.lock_file = -1}};
    long top = 0;
    search_line line = {.start_s = ms_wall_s()};
    ms_search_study study = {.goal = &goal,
                             .is_by_platform = ms_cli_has(call, "best-of"),
                             .rest_max = ms_cli_has(call, "html") ? PAGE_REST_MAX : 0,
                             .is_exhaustive = ms_cli_has(call, "exhaustive"),
                             .program = ms_cli_program(call->arena),
                             .progress = show_progress,
                             .context = &line};
    ms_status status = ms_cli_jobs(call, &study.jobs);
    status = status == MS_OK
                 ? ms_cli_int(call, "top", study.is_by_platform ? 1 : TOP_DEFAULT, 1, TOP_MAX, &top)
                 : status;
    status = status == MS_OK ? ms_cli_check_targets(call, FILES) : status;
    status = status == MS_OK ? read_goal(call, &goal) : status;
    status = status == MS_OK ? read_request(call, &job, &request) : status;
    bool is_most = strncmp(ms_cli_value(call, "gpus", ""), UP_TO, sizeof UP_TO - 1) == 0;
    if (status == MS_OK && is_most) {
        ms_cli_progress waiting;
        ms_progress_begin("finding how many GPUs each platform can use", 0);
        ms_cli_progress_start(&waiting, call);
        status = ms_space_open_most(&request, call->arena, call->diag, &study.space);
        ms_cli_progress_stop(&waiting);
    } else if (status == MS_OK) {
        status = ms_space_open(&request, call->arena, call->diag, &study.space);
    }
    status = status == MS_OK ? ms_cli_note_framework(call, ms_cli_data_folder(call->arena),
                                                     ms_space_base(study.space))
                             : status;
    study.top = (int)top;
    if (status == MS_OK && ms_cli_has(call, "plan")) {
        return ms_cli_write_plan(call);
    }
    status = status == MS_OK ? ms_cli_open_store(call, &kept) : status;
    study.store = kept.store;
    study.shard = kept.is_shard ? &kept.shard : NULL;
    study.share = kept.is_shard ? kept.file.folder : NULL;
    status = status == MS_OK ? search(call, &study, &job, &kept) : status;
    /* After an interrupt or a failure the store is still open. */
    ms_cli_close_store(call, &kept, false);
    return status;
}

const ms_command ms_cmd_search = {
    .name = "search",
    .summary = "find the fastest meshes and settings for a workload",
    .positional_help = "WORKLOAD.yaml",
    .positionals = {1, 1},
    .options = OPTIONS,
    .description =
        "Tries every candidate of a space: the workload with several values of some keys, on every "
        "mesh that fills the GPUs. Without --vary it takes what is usual: sizes of the axes and "
        "their order, schedules, microbatches, recomputation and sharding of state "
        "(workloads/search.md lists the values). Candidates that cannot be are counted by reason, "
        "those that do not fit in memory too. The others are simulated, best estimate first, until "
        "no lower bound of the rest is below the last of the wanted ones: what is pruned could not "
        "have been among them. Layers are shared out anew where stages do not divide them. Passes "
        "are simulated as single operations unless --granularity or --set says otherwise. --shard "
        "simulates a share of them, into a folder in which shards tell each other their best; "
        "--plan writes what makes Makeflow or Slurm run all shards. Exits with 1 when nothing is "
        "feasible.",
    .example = "meshsim search workloads/tiny.yaml --vary mesh.tp=1,2,4 --vary mesh.pp=1,2,4",
    .run = run,
};
