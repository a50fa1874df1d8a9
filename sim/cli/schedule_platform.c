/* meshsim schedule --compare --workload: many schedules simulated on a platform. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/job_options.h"
#include "cli/schedule_studies.h"
#include "cli/show_platform.h"
#include "meshsim/outlook.h"
#include "meshsim/report.h"
#include "meshsim/target.h"
#include "meshsim/trace.h"
#include "meshsim/units.h"
#include "meshsim/workers.h"

/* Chunks and parts of sequences that schedules which take any number get where nobody says. */
enum { SHARE_DEFAULT = 2, JOBS_DEFAULT_MAX = 4, JOBS_MAX = 1024, OWN_SETS = 10 };

typedef struct study {
    const ms_invocation *call;
    ms_job base;            /* the workload with its own schedule */
    ms_job_request request; /* for it */
    ms_schedule_spec sizes; /* V, N, K and reordering of the command line; 0: not given */
    ms_simulated_table table;
    ms_job_request *requests; /* [planned] */
    int *row_of;              /* [planned] row of each request */
    size_t planned;
    const char **traces; /* [planned], for the children */
    struct timespec start;
} study;

static ms_status report_no_memory(const ms_invocation *call) {
    ms_diag_error(call->diag, "out of memory");
    return MS_E_NOMEM;
}

/* ---- options ---- */

/* Sizes and times come from the workload; --compare leaves the options of one schedule out. */
static ms_status check_options(const ms_invocation *call) {
    static const char *const OF_PAPER[] = {"ranks", "microbatches", "tf",          "tb",
                                           "tw",    "costs",        "p2p",         "fbscale",
                                           "csv",   "csv-form",     "csv-dialect", "merge-bw"};
    const size_t SINGLE = 6; /* of these, one schedule on paper may have those from here on */
    bool is_single = !ms_cli_has(call, "compare");
    for (size_t i = 0; i < (is_single ? SINGLE : sizeof OF_PAPER / sizeof OF_PAPER[0]); i++) {
        if (ms_cli_has(call, OF_PAPER[i])) {
            ms_diag_error(
                call->diag,
                "'--%s' is for schedules on paper; sizes and times come from '--workload'",
                OF_PAPER[i]);
            return MS_E_USAGE;
        }
    }
    if (!is_single && ms_cli_has(call, "gantt") && !ms_cli_has(call, "traces")) {
        ms_diag_error(call->diag,
                      "'--gantt' draws the traces of '--traces FOLDER', which is missing");
        return MS_E_USAGE;
    }
    return MS_OK;
}

ms_status ms_cli_schedule_check_workload(const ms_invocation *call) {
    static const char *const OF_WORKLOADS[] = {"platform", "set", "fidelity", "traces", "jobs"};
    for (size_t i = 0; i < sizeof OF_WORKLOADS / sizeof OF_WORKLOADS[0]; i++) {
        if (ms_cli_has(call, OF_WORKLOADS[i]) && !ms_cli_has(call, "workload")) {
            ms_diag_error(call->diag, "'--%s' goes with '--workload'", OF_WORKLOADS[i]);
            return MS_E_USAGE;
        }
    }
    static const char *const OF_COMPARISONS[] = {"traces", "jobs"};
    for (size_t i = 0; i < sizeof OF_COMPARISONS / sizeof OF_COMPARISONS[0]; i++) {
        if (ms_cli_has(call, OF_COMPARISONS[i]) && !ms_cli_has(call, "compare")) {
            ms_diag_error(call->diag, "'--%s' goes with '--compare'", OF_COMPARISONS[i]);
            return MS_E_USAGE;
        }
    }
    return MS_OK;
}

/* A cap in bytes; what is in flight has no other unit on a platform. */
static ms_status read_cap(const ms_invocation *call, double *cap_B_out) {
    const char *text = ms_cli_value(call, "memory-cap", NULL);
    const char *reason = NULL;
    double cap_B = 0;
    if (text == NULL) {
        return MS_OK;
    }
    if (ms_unit_parse(text, MS_DIM_BYTES, &cap_B, &reason) != MS_OK) {
        char why[512];
        ms_diag_error(call->diag, "option '--memory-cap' with '--workload': %s",
                      ms_unit_explain(text, MS_DIM_BYTES, why, sizeof why));
        return MS_E_USAGE;
    }
    if (cap_B <= 0) {
        ms_diag_error(call->diag, "option '--memory-cap' takes a size > 0, got '%s'", text);
        return MS_E_USAGE;
    }
    *cap_B_out = cap_B;
    return MS_OK;
}

static ms_status read_jobs(const ms_invocation *call, int *jobs_out) {
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    long fallback = processors < 1                  ? 1
                    : processors > JOBS_DEFAULT_MAX ? JOBS_DEFAULT_MAX
                                                    : processors;
    long jobs = 0;
    ms_status status = ms_cli_int(call, "jobs", fallback, 1, JOBS_MAX, &jobs);
    *jobs_out = (int)jobs;
    return status;
}

/* ---- one schedule after the other: what is asked of the workload ---- */

/* What the command line, the workload and the kind make of V, N, K and reordering. */
static ms_schedule_spec sizes_of(const study *s, ms_schedule_kind kind) {
    const ms_schedule_spec *own = &s->base.program.spec;
    const ms_schedule_spec *given = &s->sizes;
    ms_schedule_traits traits = ms_schedule_kind_traits(kind);
    ms_schedule_spec spec = {.kind = kind,
                             .pipeline_ranks = own->pipeline_ranks,
                             .microbatches = own->microbatches,
                             .chunks = traits.chunks,
                             .slices = 1};
    bool is_own = own->kind == kind;
    if (traits.chunks == 0) {
        bool has_own = is_own || own->chunks > 1;
        spec.chunks = given->chunks > 0 ? given->chunks : has_own ? own->chunks : SHARE_DEFAULT;
    }
    if (traits.takes_group) {
        spec.group = given->group > 0 ? given->group : own->group;
    }
    if (traits.takes_slices) {
        bool has_own = is_own || own->slices > 1;
        spec.slices = given->slices > 0 ? given->slices : has_own ? own->slices : SHARE_DEFAULT;
    }
    spec.is_reordered = traits.takes_reorder && (given->is_reordered || own->is_reordered);
    return spec;
}

/* K of a file: with K times as many units as the workload has microbatches, they are parts. */
static int file_splits(const study *s, const ms_program *program) {
    int splits = s->sizes.slices > 0 ? s->sizes.slices : s->base.program.spec.slices;
    bool are_parts = program->spec.microbatches == (long)s->base.microbatches * splits;
    return are_parts ? splits : 1;
}

/* A file is read once before any child does: its faults are told in full, and its sizes are known.
 * A child gets its whole path, because in a workload a path starts at that one's folder. */
static ms_status read_file(const study *s, const char *name, int *stages_out, int *splits_out,
                           const char **kind_out) {
    const ms_invocation *call = s->call;
    const ms_schedule_spec none = {0};
    char path[PATH_MAX];
    ms_cli_schedule schedule;
    ms_status status = ms_cli_schedule_load_named(call, name, &none, &schedule);
    if (status != MS_OK) {
        return status;
    }
    if (realpath(name + strlen("csv:"), path) == NULL) {
        ms_diag_error(call->diag, "cannot find '%s': %s", name, strerror(errno));
        return MS_E_IO;
    }
    const char *kind = ms_arena_printf(call->arena, "csv:%s", path);
    ms_buffer quoted;
    ms_buffer_init(&quoted);
    ms_json_write_string(&quoted,
                         kind == NULL ? "" : kind); /* one YAML string, whatever is in it */
    *kind_out = kind == NULL ? NULL : ms_arena_strdup(call->arena, ms_buffer_text(&quoted));
    bool has_failed = quoted.failed || *kind_out == NULL;
    ms_buffer_release(&quoted);
    *stages_out = schedule.program.model_stages;
    *splits_out = file_splits(s, &schedule.program);
    return has_failed ? report_no_memory(call) : MS_OK;
}

/* Whether all stages of the workload have equally many layers. */
static bool is_even(const study *s) {
    const int *layers = s->base.layout.stage_layers;
    for (int stage = 1; stage < s->base.program.model_stages; stage++) {
        if (layers[stage] != layers[0]) {
            return false;
        }
    }
    return true;
}

/* The keys that make the workload run one schedule. */
typedef struct own_sets {
    const char *items[OWN_SETS];
    size_t count;
    bool has_failed;
} own_sets;

static void add_set(const study *s, own_sets *sets, const char *key, const char *value) {
    const char *set = ms_arena_printf(s->call->arena, "schedule.%s=%s", key, value);
    sets->has_failed = sets->has_failed || set == NULL;
    sets->items[sets->count++] = set;
}

static void add_int_set(const study *s, own_sets *sets, const char *key, int value) {
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    add_set(s, sets, key, text);
}

/* Layers for a number of stages that is not the workload's: as it deals them where that is
 * balanced, or even and stays so; else balanced, and what it gives its own ends says nothing. */
static void add_layers(const study *s, int stages, own_sets *sets, ms_simulated *row) {
    if (stages == s->base.program.model_stages) {
        return;
    }
    add_set(s, sets, "stage_layers", "[]");
    row->is_dealt_anew =
        s->base.has_first_layers || s->base.has_last_layers ||
        (!s->base.is_balanced && (!is_even(s) || s->base.model.layers % stages != 0));
    if (row->is_dealt_anew) {
        add_set(s, sets, "deal", "balanced");
    }
    if (s->base.has_first_layers) {
        add_set(s, sets, "first_stage_layers", "null");
    }
    if (s->base.has_last_layers) {
        add_set(s, sets, "last_stage_layers", "null");
    }
}

/* Given times are per stage, and say nothing of other stages. */
static ms_status check_costs(const study *s, int stages, int splits, ms_simulated *row) {
    const ms_program *own = &s->base.program;
    if (s->base.has_model || (stages == own->model_stages && splits == own->spec.slices)) {
        return MS_OK;
    }
    row->status = MS_E_INPUT;
    row->reason = ms_arena_printf(s->call->arena,
                                  "the workload's 'costs' are those of %d stages and %d part%s of "
                                  "a sequence, it has %d and %d",
                                  own->model_stages, own->spec.slices,
                                  own->spec.slices == 1 ? "" : "s", stages, splits);
    return row->reason == NULL ? report_no_memory(s->call) : MS_OK;
}

/* The request of a row behind those planned so far; the user's --set come first. */
static ms_status add_request(study *s, const own_sets *sets, int row) {
    size_t given = s->request.set_count;
    const char **all = MS_NEW(s->call->arena, const char *, given + sets->count);
    if (all == NULL || sets->has_failed) {
        return report_no_memory(s->call);
    }
    for (size_t i = 0; i < given + sets->count; i++) {
        all[i] = i < given ? s->request.sets[i] : sets->items[i - given];
    }
    s->requests[s->planned] = s->request;
    s->requests[s->planned].sets = all;
    s->requests[s->planned].set_count = given + sets->count;
    s->traces[s->planned] = s->table.rows[row].trace;
    s->row_of[s->planned++] = row;
    return MS_OK;
}

/* The keys of a row's schedule, or the reason why it cannot run. */
static ms_status find_sets(const study *s, ms_simulated *row, own_sets *sets) {
    ms_schedule_kind kind = MS_SCHEDULE_CUSTOM;
    ms_schedule_spec spec = {.slices = 1};
    const char *value = row->name;
    int stages = 0;
    ms_status status = MS_OK;
    if (strncmp(row->name, "csv:", 4) == 0) {
        status = read_file(s, row->name, &stages, &spec.slices, &value);
    } else {
        status = ms_cli_schedule_kind(s->call, row->name, &kind);
        spec = status == MS_OK ? sizes_of(s, kind) : spec;
        stages = spec.pipeline_ranks * spec.chunks;
    }
    row->chunks = spec.chunks;
    if (status == MS_OK) {
        status = check_costs(s, stages, spec.slices, row);
    }
    add_set(s, sets, "kind", value);
    add_int_set(s, sets, "v", spec.chunks);
    add_int_set(s, sets, "group", spec.group);
    add_int_set(s, sets, "splits", spec.slices);
    add_set(s, sets, "reorder", spec.is_reordered ? "true" : "false");
    if (s->base.has_model && status == MS_OK) {
        add_layers(s, stages, sets, row);
    }
    return status;
}

static ms_status plan_row(study *s, int index) {
    ms_simulated *row = &s->table.rows[index];
    own_sets sets = {.count = 0};
    ms_status status = find_sets(s, row, &sets);
    return status == MS_OK && row->reason == NULL ? add_request(s, &sets, index) : status;
}

/* ---- traces ---- */

/* FOLDER/NAME.h5; of a file its name without folder and ending. */
static const char *trace_path(const study *s, const char *folder, const char *name) {
    const char *slash = strrchr(name, '/');
    const char *base = slash != NULL ? slash + 1 : strncmp(name, "csv:", 4) == 0 ? name + 4 : name;
    const char *dot = strrchr(base, '.');
    int length = dot == NULL || dot == base ? (int)strlen(base) : (int)(dot - base);
    return ms_arena_printf(s->call->arena, "%s/%.*s.h5", folder, length, base);
}

/* Name the files, and see to it that they can be written before anything takes time. */
static ms_status name_traces(study *s) {
    const char *folder = ms_cli_value(s->call, "traces", NULL);
    if (folder == NULL) {
        return MS_OK;
    }
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        ms_diag_error(s->call->diag, "cannot make the folder '%s': %s", folder, strerror(errno));
        return MS_E_IO;
    }
    for (int i = 0; i < s->table.count; i++) {
        ms_simulated *row = &s->table.rows[i];
        row->trace = trace_path(s, folder, row->name);
        if (row->trace == NULL) {
            return report_no_memory(s->call);
        }
        for (int other = 0; other < i; other++) {
            if (strcmp(s->table.rows[other].trace, row->trace) == 0) {
                ms_diag_error(s->call->diag, "'%s' and '%s' would both write '%s'",
                              s->table.rows[other].name, row->name, row->trace);
                return MS_E_USAGE;
            }
        }
        ms_status status = ms_target_check(row->trace, MS_TARGET_FILE, s->call->diag);
        if (status != MS_OK) {
            return status;
        }
    }
    return MS_OK;
}

/* In a child. */
static ms_status keep_trace(void *context, size_t index, const ms_result *result, ms_diag *diag) {
    const study *s = context;
    return s->traces[index] == NULL
               ? MS_OK
               : ms_trace_write(s->traces[index], result, MESHSIM_VERSION, diag);
}

/* Draw the traces of the table, in its order. */
static ms_status draw(const study *s) {
    const char *path = ms_cli_value(s->call, "gantt", NULL);
    const char **traces = MS_NEW(s->call->arena, const char *, s->table.count);
    size_t count = 0;
    if (path == NULL) {
        return MS_OK;
    }
    if (traces == NULL) {
        return report_no_memory(s->call);
    }
    for (int i = 0; i < s->table.count; i++) {
        if (s->table.rows[i].reason == NULL) {
            traces[count++] = s->table.rows[i].trace;
        }
    }
    return count == 0 ? MS_OK : ms_report_write(traces, count, path, s->call->diag);
}

/* ---- running ---- */

/* On a terminal, and only where it takes long. */
static void show_progress(void *context, size_t done, size_t count) {
    const study *s = context;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (isatty(STDERR_FILENO) && now.tv_sec - s->start.tv_sec >= 2) {
        fprintf(stderr, "\r%zu of %zu simulated%s", done, count, done == count ? "\n" : "");
    }
}

/* What came of a simulation into its row. */
static ms_status take_outcome(study *s, const ms_worker_outcome *outcome, ms_simulated *row) {
    row->status = outcome->status;
    row->summary = outcome->summary;
    if (outcome->status != MS_OK) {
        row->reason = ms_worker_reason(outcome, s->call->arena);
        return row->reason == NULL ? report_no_memory(s->call) : MS_OK;
    }
    if (outcome->talk[0] != '\0') {
        s->call->diag->write(s->call->diag->context, outcome->talk);
    }
    row->chunks = outcome->chunks;
    row->parameter_replicas = outcome->parameter_replicas;
    if (s->table.cap_B > 0 && ms_simulated_peak_B(row) > s->table.cap_B) {
        char peak[32];
        char cap[32];
        row->reason = ms_arena_printf(
            s->call->arena, "needs %s, above the cap of %s",
            ms_unit_format(ms_simulated_peak_B(row), MS_DIM_BYTES, peak, sizeof peak),
            ms_unit_format(s->table.cap_B, MS_DIM_BYTES, cap, sizeof cap));
        return row->reason == NULL ? report_no_memory(s->call) : MS_OK;
    }
    return MS_OK;
}

static ms_status simulate(study *s, int jobs) {
    ms_worker_outcome *outcomes = MS_NEW(s->call->arena, ms_worker_outcome, s->planned);
    if (outcomes == NULL) {
        return report_no_memory(s->call);
    }
    ms_workers_options options = {
        .jobs = jobs, .keep = keep_trace, .progress = show_progress, .context = s};
    clock_gettime(CLOCK_MONOTONIC, &s->start);
    ms_status status =
        ms_workers_run(s->requests, s->planned, &options, s->call->arena, s->call->diag, outcomes);
    for (size_t i = 0; i < s->planned && status == MS_OK; i++) {
        status = take_outcome(s, &outcomes[i], &s->table.rows[s->row_of[i]]);
    }
    return status;
}

/* What the whole comparison comes to: a failure of the program or the system first; then "no" if
 * nothing in the table fits in memory. */
static ms_status judge(const ms_simulated_table *table) {
    bool has_any = false;
    for (int i = 0; i < table->count; i++) {
        const ms_simulated *row = &table->rows[i];
        if (row->status != MS_OK && row->status != MS_E_INPUT) {
            return row->status;
        }
        has_any = has_any || ms_simulated_fits(row);
    }
    return has_any ? MS_OK : MS_E_NO;
}

/* ---- the whole ---- */

static ms_status load_base(study *s) {
    ms_status status =
        ms_cli_job_request(s->call, ms_cli_value(s->call, "workload", NULL), &s->request);
    if (status == MS_OK) {
        status = ms_job_load(&s->request, s->call->arena, s->call->diag, &s->base);
    }
    const ms_gpu_type *gpu = &s->base.platform.gpu;
    s->table.job = &s->base;
    s->table.capacity_B = gpu->hbm_B - gpu->reserve_B;
    return status;
}

static ms_status plan(study *s) {
    const char **names = NULL;
    int count = 0;
    ms_arena *arena = s->call->arena;
    ms_status status = ms_cli_schedule_names(s->call, &names, &count);
    if (status != MS_OK) {
        return status;
    }
    if (ms_cli_has(s->call, "gantt") && count > MS_GANTT_PICTURES_MAX) {
        ms_diag_error(s->call->diag,
                      "'--gantt' stacks at most %d pictures, and these are %d; name "
                      "the schedules",
                      MS_GANTT_PICTURES_MAX, count);
        return MS_E_USAGE;
    }
    s->table.rows = MS_NEW(arena, ms_simulated, count);
    s->requests = MS_NEW(arena, ms_job_request, count);
    s->row_of = MS_NEW(arena, int, count);
    s->traces = MS_NEW(arena, const char *, count);
    if (s->table.rows == NULL || s->requests == NULL || s->row_of == NULL || s->traces == NULL) {
        return report_no_memory(s->call);
    }
    s->table.count = count;
    for (int i = 0; i < count; i++) {
        s->table.rows[i].name = names[i];
    }
    status = name_traces(s);
    for (int i = 0; i < count && status == MS_OK; i++) {
        status = plan_row(s, i);
    }
    return status;
}

/* Times of the passes in the place of those that options give; what else they say stays. */
static ms_status take_times(const ms_invocation *call, const ms_job *job,
                            ms_schedule_costs *costs_out) {
    ms_schedule_costs times;
    ms_status status = ms_cli_schedule_costs(call, job->program.model_stages, costs_out);
    if (status == MS_OK && ms_outlook_times(job, call->arena, &times) != MS_OK) {
        status = report_no_memory(call);
    }
    if (status == MS_OK) {
        costs_out->forward = times.forward;
        costs_out->input_grad = times.input_grad;
        costs_out->weight_grad = times.weight_grad;
    }
    return status;
}

ms_status ms_cli_schedule_of_workload(const ms_invocation *call, const char *name, ms_job *job_out,
                                      ms_schedule_costs *costs_out) {
    study s = {.call = call, .table = {.count = 1}};
    ms_simulated row = {.name = name};
    s.table.rows = &row;
    s.requests = MS_NEW(call->arena, ms_job_request, 1);
    s.row_of = MS_NEW(call->arena, int, 1);
    s.traces = MS_NEW(call->arena, const char *, 1);
    if (s.requests == NULL || s.row_of == NULL || s.traces == NULL) {
        return report_no_memory(call);
    }
    *job_out = (ms_job){0};
    ms_status status = check_options(call);
    status = status == MS_OK ? ms_cli_schedule_sizes(call, &s.sizes) : status;
    status = status == MS_OK ? load_base(&s) : status;
    status = status == MS_OK ? plan_row(&s, 0) : status;
    if (status == MS_OK && row.reason != NULL) {
        ms_diag_error(call->diag, "%s: %s", row.name, row.reason);
        status = row.status;
    }
    status =
        status == MS_OK ? ms_job_load(&s.requests[0], call->arena, call->diag, job_out) : status;
    status = status == MS_OK ? take_times(call, job_out, costs_out) : status;
    job_out->program.name = name;
    return status;
}

ms_status ms_cli_schedule_compare_on_platform(const ms_invocation *call) {
    study s = {.call = call};
    int jobs = 1;
    ms_status status = check_options(call);
    status = status == MS_OK ? ms_cli_schedule_sizes(call, &s.sizes) : status;
    status = status == MS_OK ? ms_simulated_column(call, &s.table.column) : status;
    status = status == MS_OK ? read_cap(call, &s.table.cap_B) : status;
    status = status == MS_OK ? read_jobs(call, &jobs) : status;
    status = status == MS_OK ? load_base(&s) : status;
    status = status == MS_OK ? plan(&s) : status;
    status = status == MS_OK ? simulate(&s, jobs) : status;
    if (status == MS_OK) {
        ms_simulated_sort(&s.table);
        status = draw(&s);
    }
    status = status == MS_OK ? ms_simulated_print(call, &s.table) : status;
    return status == MS_OK ? judge(&s.table) : status;
}
