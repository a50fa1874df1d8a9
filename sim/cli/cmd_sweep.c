/* meshsim sweep: simulates every point of a sweep, a workload in which some keys take several
 * values each. A point is one combination of values; an axis is a set of keys whose values change
 * together. This file runs the points, all or those of one shard, and shows their results. */
#include <math.h>

#include "base/units.h"
#include "base/usage.h"
#include "cli/commands.h"
#include "cli/html_option.h"
#include "cli/job_options.h"
#include "cli/render.h"
#include "cli/shown_tables.h"
#include "cli/study_options.h"
#include "cli/tool.h"
#include "search/points.h"
#include "search/sweep.h"
#include "trace/summary.h"

/* The options of the command. */
static const ms_option OPTIONS[] = {
    {MS_OPTION_JOBS("simulations at once")},
    {MS_OPTION_STORE},
    {MS_OPTION_RESUME},
    {MS_OPTION_FRESH},
    {MS_OPTION_SHARD},
    {MS_OPTION_PLAN},
    {MS_OPTION_SHARDS},
    {"csv", "FILE", .help = "write the points as CSV", .writes = ".csv"},
    {"plot", "FILE", .help = "draw the picture that the sweep's file asks for",
     .writes = ".svg, .png or .pdf"},
    {MS_OPTION_PARETO("the points by the cost and the time of a step")},
    {MS_OPTION_HTML},
    {MS_OPTION_TOKENS},
    {MS_OPTION_JSON},
    {MS_OPTION_MARKDOWN},
    {0},
};

/* Options that name an output file. */
static const char *const TARGETS[] = {"csv", "plot", "pareto", "html", NULL};

/* ---- the result ---- */

/* A sweep, with the shard of it that is simulated, the store of its results, and its results. */
typedef struct sweep_study {
    ms_sweep sweep;
    ms_cli_store kept;
    double training_tokens; /* --tokens; 0: not given */
    ms_store_row *rows;     /* [count] */
    size_t count;           /* points of the shard */
    ms_points_counts counts;
} sweep_study;

/* Number in the sweep of a point of the shard. */
static size_t point_of(const sweep_study *state, size_t index) {
    return ms_shard_point(&state->kept.shard, index);
}

/* Add the axes of the sweep: a list of objects, with the list of values of each key of the axis. */
static void add_axes(const ms_sweep *sweep, ms_value *root) {
    ms_value *list = ms_value_add(root, "axes", MS_VALUE_ARRAY);
    for (size_t axis = 0; axis < sweep->axis_count; axis++) {
        ms_value *object = ms_value_add(list, NULL, MS_VALUE_OBJECT);
        for (size_t key = 0; key < sweep->key_count; key++) {
            if (sweep->keys[key].axis == axis) {
                ms_value *values = ms_value_add(object, sweep->keys[key].path, MS_VALUE_ARRAY);
                for (size_t i = 0; i < sweep->counts[axis]; i++) {
                    ms_point_add_value(values, NULL, sweep->keys[key].values[i]);
                }
            }
        }
    }
}

/* A value such as "25 GB/s" as a number in SI units, whatever its dimension; NAN where it is no
 * number. */
static double number_of(const char *text) {
    double number = NAN;
    const char *reason = NULL;
    if (ms_number_parse(text, &number) == MS_OK) {
        return number;
    }
    for (int dim = MS_DIM_NONE + 1; dim < MS_DIM_COUNT; dim++) {
        if (ms_unit_parse(text, (ms_dimension)dim, &number, &reason) == MS_OK) {
            return number;
        }
    }
    return NAN;
}

/* Add the values of the picture's axis as numbers in SI units, by which it is drawn to scale; null
 * unless all are numbers and rise. Where several keys form the axis, the first one's values
 * count. */
static void add_places(const ms_sweep *sweep, ms_value *object) {
    size_t count = sweep->counts[sweep->picture.x];
    size_t key = 0;
    while (sweep->keys[key].axis != sweep->picture.x) {
        key++;
    }
    bool grows = true;
    for (size_t i = 0; i < count && grows; i++) {
        double number = number_of(sweep->keys[key].values[i]);
        grows = !isnan(number) && (i == 0 || number > number_of(sweep->keys[key].values[i - 1]));
    }
    ms_value *places = ms_value_add(object, "places", grows ? MS_VALUE_ARRAY : MS_VALUE_NULL);
    for (size_t i = 0; i < count && grows; i++) {
        ms_value_add_double(places, NULL, number_of(sweep->keys[key].values[i]));
    }
}

/* Add the picture that the sweep's file asks for. `x` is the index of its axis in the list of
 * axes. */
static void add_picture(const ms_sweep *sweep, ms_value *root) {
    const ms_sweep_picture *picture = &sweep->picture;
    ms_value *object = ms_value_add(root, "picture", MS_VALUE_OBJECT);
    ms_value_add_string(object, "kind", picture->kind == MS_DRAW_HEAT ? "heat" : "lines");
    ms_value_add_string(object, "quantity", picture->quantity);
    ms_value_add_int(object, "x", (int64_t)picture->x);
    ms_value_add_string(object, "title", picture->title == NULL ? sweep->name : picture->title);
    add_places(sweep, object);
}

/* Add how many points the sweep or shard has, and what became of them. */
static void add_counts(const ms_points_counts *counts, size_t points, ms_value *root) {
    ms_value *object = ms_value_add(root, "counts", MS_VALUE_OBJECT);
    ms_value_add_int(object, "points", (int64_t)points);
    ms_value_add_int(object, "simulated", (int64_t)counts->simulated);
    ms_value_add_int(object, "stored", (int64_t)counts->stored);
    ms_value_add_int(object, "refused", (int64_t)counts->refused);
    ms_value_add_int(object, "failed", (int64_t)counts->failed);
}

/* Add a row for each point: its settings, then its figures or the reason why it has none. */
static void add_rows(const sweep_study *shown, ms_arena *arena, ms_value *root) {
    ms_value *list = ms_value_add(root, "rows", MS_VALUE_ARRAY);
    for (size_t i = 0; i < shown->count; i++) {
        ms_words settings;
        ms_value *object = ms_value_add(list, NULL, MS_VALUE_OBJECT);
        ms_value *pairs = ms_value_add(object, "settings", MS_VALUE_OBJECT);
        if (ms_sweep_settings(&shown->sweep, point_of(shown, i), arena, &settings) == MS_OK) {
            ms_point_add_settings(&settings, pairs);
        }
        const ms_store_row *row = &shown->rows[i];
        ms_table_add_row(MS_STORE_COLUMNS, row, row->reason != NULL, object);
        if (row->reason == NULL) {
            ms_summary_add_training(shown->training_tokens, (double)row->gpus, object);
        }
    }
}

/* The workload's name, from the first point that is not refused; "" where all points are
 * refused. */
static const char *workload_of(const sweep_study *shown) {
    const char *name = "";
    for (size_t i = 0; i < shown->count && name[0] == '\0'; i++) {
        name = shown->rows[i].workload == NULL ? "" : shown->rows[i].workload;
    }
    return name;
}

/* Make the tree that --json prints.  In `arena`, which remembers lack of memory. */
static ms_value *make_tree(const sweep_study *shown, ms_arena *arena) {
    ms_value *root = ms_value_new_object(arena);
    ms_value_add_string(root, "name", shown->sweep.name);
    ms_value_add_string(root, "workload", workload_of(shown));
    add_axes(&shown->sweep, root);
    add_picture(&shown->sweep, root);
    add_counts(&shown->counts, shown->count, root);
    add_rows(shown, arena, root);
    return root;
}

/* Add to each row an object `varied`, which text and Markdown show and --json does not print: the
 * point's value of each key of the sweep. */
static void add_page(const sweep_study *shown, ms_value *root) {
    const ms_sweep *sweep = &shown->sweep;
    size_t index = 0;
    if (root == NULL || root->arena->has_failed) {
        return;
    }
    for (ms_value *row = ms_value_get(root, "rows")->first; row != NULL; row = row->next) {
        ms_value *varied = ms_value_add(row, "varied", MS_VALUE_OBJECT);
        for (size_t key = 0; key < sweep->key_count; key++) {
            ms_point_add_value(varied, sweep->keys[key].path,
                               ms_sweep_value(sweep, point_of(shown, index), key));
        }
        index++;
    }
}

/* Write CSV, pictures and page of HTML, then print the results unless a file is the standard
 * output. Without any simulated point there is nothing to draw, which a note says below the
 * results. */
static ms_status show(const ms_invocation *call, const sweep_study *shown) {
    const char *files[] = {call->positionals[0], shown->sweep.request.workload};
    const ms_cli_page page = {.title = shown->sweep.name,
                              .files = {files, sizeof files / sizeof files[0]}};
    ms_value *tree = make_tree(shown, call->arena);
    bool is_drawn = shown->counts.simulated + shown->counts.stored > 0;
    ms_status status = ms_cli_write_csv(call, "csv", tree);
    if (is_drawn) {
        status = status == MS_OK ? ms_cli_draw(call, "plot", NULL, tree) : status;
        status = status == MS_OK ? ms_cli_draw_pareto(call, tree) : status;
    }
    status = status == MS_OK ? ms_cli_write_html(call, &page, tree) : status;
    if (status == MS_OK && !ms_cli_uses_stdout(call, TARGETS)) {
        if (!ms_cli_has(call, "json")) {
            add_page(shown, tree);
        }
        status = ms_cli_show(call, shown->sweep.name, MS_SWEEP_TABLES, tree);
    }
    if (status == MS_OK && !is_drawn && (ms_cli_has(call, "plot") || ms_cli_has(call, "pareto"))) {
        ms_diag_note(call->diag, NULL, NULL,
                     "no point could be simulated, so there is nothing to draw");
    }
    return status;
}

/* ---- the study ---- */

/* Make a point: `make` of ms_points_study, with a sweep_study as its context.  index: of the point
 * in the shard. */
static ms_status make_point(void *context, size_t index, ms_arena *arena, ms_diag *diag,
                            ms_point *point_out) {
    sweep_study *state = context;
    return ms_sweep_make(&state->sweep, point_of(state, index), arena, diag, point_out);
}

/* Write a note after an interrupt: how many points are known, and whether the same command
 * continues from them.  rows: [count]. */
static void tell_rest(const ms_invocation *call, const ms_store_row *rows, size_t count) {
    const char *store = ms_cli_value(call, "store", NULL);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        kept += rows[i].status != NULL; /* a point that has not ended has no status */
    }
    ms_diag_note(call->diag, NULL, NULL,
                 store != NULL
                     ? "%zu of %zu points are in '%s'; the same command goes on"
                     : "%zu of %zu points were known, and are lost; '--store FILE.db' keeps them",
                 kept, count, store);
}

/* Find the status that a sweep ends with. A shard in which nothing is feasible ends with MS_OK,
 * since other shards may have feasible points. */
static ms_status verdict_of(const sweep_study *state) {
    return state->kept.is_shard ? state->counts.failure
                                : ms_points_verdict(state->rows, state->count, &state->counts);
}

/* Simulate the points of the sweep or shard, close the store, and show the results.  study: its
 * program, jobs and progress are set. */
static ms_status simulate(const ms_invocation *call, sweep_study *state, ms_points_study *study) {
    study->count = ms_shard_size(&state->kept.shard, state->sweep.count);
    study->make = make_point;
    study->make_context = state;
    study->store = state->kept.store;
    state->count = study->count;
    state->rows = MS_NEW(call->arena, ms_store_row, study->count);
    if (state->rows == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    ms_status status = ms_points_run(study, call->arena, call->diag, state->rows, &state->counts);
    if (status == MS_E_INTERRUPTED) {
        ms_cli_leave_progress(study->progress_context);
        tell_rest(call, state->rows, study->count);
    }
    status = status == MS_OK
                 ? ms_cli_close_store(call, &state->kept, state->counts.failure == MS_OK)
                 : status;
    status = status == MS_OK ? show(call, state) : status;
    return status == MS_OK ? verdict_of(state) : status;
}

/* Refuse --plot and --pareto with --shard.  Returns MS_OK; MS_E_USAGE (reported). */
static ms_status check_shard(const ms_invocation *call) {
    const char *picture = ms_cli_has(call, "plot") ? "plot" : "pareto";
    if (ms_cli_has(call, "shard") && ms_cli_has(call, picture)) {
        return ms_diag_usage(call->diag,
                             "options '--shard' and '--%s' do not go together: a picture is of all "
                             "points; 'meshsim merge' them first",
                             picture);
    }
    return MS_OK;
}

/* Read the sweep and simulate it, or with --plan write a plan that runs all its shards. */
static ms_status run(const ms_invocation *call) {
    sweep_study state = {.kept = {.file = {.lock_file = -1}}};
    ms_cli_line line = {.start_s = ms_wall_s()};
    ms_points_study study = {.program = ms_cli_program(call->arena),
                             .progress = ms_cli_show_progress,
                             .progress_context = &line};
    ms_status status = ms_cli_jobs(call, &study.jobs);
    status = status == MS_OK ? ms_cli_check_targets(call, TARGETS) : status;
    status = status == MS_OK ? check_shard(call) : status;
    status = status == MS_OK ? ms_cli_tokens(call, &state.training_tokens) : status;
    status = status == MS_OK ? ms_sweep_read(call->positionals[0], ms_cli_data_folder(call->arena),
                                             call->arena, call->diag, &state.sweep)
                             : status;
    if (status == MS_OK && ms_cli_has(call, "plan")) {
        return ms_cli_write_plan(call);
    }
    status = status == MS_OK ? ms_cli_open_store(call, &state.kept) : status;
    status = status == MS_OK ? simulate(call, &state, &study) : status;
    /* After an interrupt or a failure the store is still open. */
    ms_cli_close_store(call, &state.kept, false);
    return status;
}

const ms_command ms_cmd_sweep = {
    .name = "sweep",
    .summary = "simulate a workload with several values of some keys",
    .positional_help = "SWEEP.yaml",
    .positionals = {1, 1},
    .options = OPTIONS,
    .description =
        "Simulates every point of a sweep: a workload in which some keys, its own or its "
        "platform's, take several values each, as a file says (workloads/studies/README.md). "
        "Points that are no job, such as a mesh that does not fill the GPUs, are listed with the "
        "reason. Passes are simulated as single operations unless the workload or the sweep gives "
        "a granularity. With --store every point is kept in an SQLite file as soon as it is there: "
        "an interrupted or killed sweep goes on where it was, and what is known is not simulated "
        "again. --shard simulates a share of the points, into a folder that other processes have "
        "for theirs; --plan writes what makes Makeflow or Slurm run all shards.",
    .example = "meshsim sweep workloads/studies/tiny-links.yaml",
    .run = run,
};
