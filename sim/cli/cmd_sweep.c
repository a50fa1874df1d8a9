/* meshsim sweep: a workload in which some keys take several values each. */
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
    {MS_OPTION_HTML},
    {MS_OPTION_TOKENS},
    {MS_OPTION_JSON},
    {MS_OPTION_MARKDOWN},
    {0},
};

/* Options that name a file to write. */
static const char *const TARGETS[] = {"csv", "plot", "html", NULL};

/* ---- what it prints ---- */

/* A simulated sweep.  All is borrowed. */
typedef struct shown_sweep {
    const ms_sweep *sweep;
    const ms_store_row *rows; /* [count] */
    const size_t *points;     /* [count] number of each in the sweep */
    size_t count;
    const ms_points_counts *counts;
    double training_tokens; /* --tokens; 0: not given */
} shown_sweep;

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

/* A number with any unit, in SI; NAN where it is none. */
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

/* Add the values of the first key of the picture's axis as numbers in SI units; null unless they
 * are numbers that grow. */
static void add_places(const ms_sweep *sweep, ms_value *object) {
    size_t count = sweep->counts[sweep->picture.x];
    size_t key = 0;
    while (sweep->keys[key].axis != sweep->picture.x) {
        key++;
    }
    bool grows = true;
    for (size_t i = 0; i < count && grows; i++) {
        double place = number_of(sweep->keys[key].values[i]);
        grows = !isnan(place) && (i == 0 || place > number_of(sweep->keys[key].values[i - 1]));
    }
    ms_value *places = ms_value_add(object, "places", grows ? MS_VALUE_ARRAY : MS_VALUE_NULL);
    for (size_t i = 0; i < count && grows; i++) {
        ms_value_add_double(places, NULL, number_of(sweep->keys[key].values[i]));
    }
}

/* The picture that the sweep's file asks for; x: place of its axis in the list of them. */
static void add_picture(const ms_sweep *sweep, ms_value *root) {
    const ms_sweep_picture *picture = &sweep->picture;
    ms_value *object = ms_value_add(root, "picture", MS_VALUE_OBJECT);
    ms_value_add_string(object, "kind", picture->kind == MS_DRAW_HEAT ? "heat" : "lines");
    ms_value_add_string(object, "quantity", picture->quantity);
    ms_value_add_int(object, "x", (int64_t)picture->x);
    ms_value_add_string(object, "title", picture->title == NULL ? sweep->name : picture->title);
    add_places(sweep, object);
}

static void add_counts(const ms_points_counts *counts, size_t points, ms_value *root) {
    ms_value *object = ms_value_add(root, "counts", MS_VALUE_OBJECT);
    ms_value_add_int(object, "points", (int64_t)points);
    ms_value_add_int(object, "simulated", (int64_t)counts->simulated);
    ms_value_add_int(object, "stored", (int64_t)counts->stored);
    ms_value_add_int(object, "refused", (int64_t)counts->refused);
    ms_value_add_int(object, "failed", (int64_t)counts->failed);
}

/* Every row as an object: its settings, then what was found. */
static void add_rows(const shown_sweep *shown, ms_arena *arena, ms_value *root) {
    ms_value *list = ms_value_add(root, "rows", MS_VALUE_ARRAY);
    for (size_t i = 0; i < shown->count; i++) {
        ms_words settings;
        ms_value *object = ms_value_add(list, NULL, MS_VALUE_OBJECT);
        ms_value *pairs = ms_value_add(object, "settings", MS_VALUE_OBJECT);
        if (ms_sweep_settings(shown->sweep, shown->points[i], arena, &settings) == MS_OK) {
            ms_point_add_settings(&settings, pairs);
        }
        const ms_store_row *row = &shown->rows[i];
        ms_table_add_row(MS_STORE_COLUMNS, row, row->reason != NULL, object);
        if (row->reason == NULL) {
            ms_summary_add_training(shown->training_tokens, (double)row->gpus, object);
        }
    }
}

/* The workload's name. A point that is refused has none; "" where all points are refused. */
static const char *workload_of(const shown_sweep *shown) {
    const char *name = "";
    for (size_t i = 0; i < shown->count && name[0] == '\0'; i++) {
        name = shown->rows[i].workload == NULL ? "" : shown->rows[i].workload;
    }
    return name;
}

/* The tree of --json.  In `arena`; lack of memory shows there. */
static ms_value *make_tree(const shown_sweep *shown, ms_arena *arena) {
    ms_value *root = ms_value_new_object(arena);
    ms_value_add_string(root, "name", shown->sweep->name);
    ms_value_add_string(root, "workload", workload_of(shown));
    add_axes(shown->sweep, root);
    add_picture(shown->sweep, root);
    add_counts(shown->counts, shown->count, root);
    add_rows(shown, arena, root);
    return root;
}

/* Add to each row the values that text and Markdown show and --json does not print: those of the
 * sweep's own keys, as `varied`. */
static void add_page(const shown_sweep *shown, ms_value *root) {
    const ms_sweep *sweep = shown->sweep;
    size_t at = 0;
    if (root == NULL || root->arena->has_failed) {
        return;
    }
    for (ms_value *row = ms_value_get(root, "rows")->first; row != NULL; row = row->next) {
        ms_value *varied = ms_value_add(row, "varied", MS_VALUE_OBJECT);
        for (size_t key = 0; key < sweep->key_count; key++) {
            ms_point_add_value(varied, sweep->keys[key].path,
                               ms_sweep_value(sweep, shown->points[at], key));
        }
        at++;
    }
}

static ms_status show(const ms_invocation *call, const shown_sweep *shown) {
    const char *files[] = {call->positionals[0], shown->sweep->request.workload};
    const ms_cli_page page = {.title = shown->sweep->name,
                              .files = {files, sizeof files / sizeof files[0]}};
    ms_value *tree = make_tree(shown, call->arena);
    ms_status status = ms_cli_write_csv(call, "csv", tree);
    status = status == MS_OK ? ms_cli_draw(call, "plot", NULL, tree) : status;
    status = status == MS_OK ? ms_cli_write_html(call, &page, tree) : status;
    if (status != MS_OK || ms_cli_takes_stdout(call, TARGETS)) {
        return status;
    }
    if (!ms_cli_has(call, "json")) {
        add_page(shown, tree);
    }
    return ms_cli_show(call, shown->sweep->name, MS_SWEEP_TABLES, tree);
}

/* ---- the study ---- */

/* A sweep, or a shard of it, and where its results are kept. */
typedef struct sweep_study {
    ms_sweep sweep;
    ms_cli_store kept;
    double training_tokens; /* --tokens; 0: not given */
} sweep_study;

static ms_status make(void *context, size_t index, ms_arena *arena, ms_diag *diag,
                      ms_point *point_out) {
    sweep_study *s = context;
    return ms_sweep_make(&s->sweep, ms_shard_point(&s->kept.shard, index), arena, diag, point_out);
}

/* Tell the user how to go on after an interrupt. */
static void tell_rest(const ms_invocation *call, const ms_store_row *rows, size_t count) {
    const char *store = ms_cli_value(call, "store", NULL);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        kept += rows[i].status != NULL;
    }
    if (store != NULL) {
        ms_diag_note(call->diag, NULL, NULL,
                     "%zu of %zu points are in '%s'; the same command goes on", kept, count, store);
    } else {
        ms_diag_note(call->diag, NULL, NULL,
                     "%zu of %zu points were known, and are lost; '--store FILE.db' keeps them",
                     kept, count);
    }
}

/* The status that a sweep ends with. What a shard finds infeasible says nothing of other shards. */
static ms_status verdict_of(const sweep_study *s, const shown_sweep *shown) {
    return s->kept.is_shard ? shown->counts->failure
                            : ms_points_verdict(shown->rows, shown->count, shown->counts);
}

static ms_status simulate(const ms_invocation *call, sweep_study *s, ms_points_study *study) {
    study->count = ms_shard_size(&s->kept.shard, s->sweep.count);
    study->make = make;
    study->make_context = s;
    study->store = s->kept.store;
    ms_store_row *rows = MS_NEW(call->arena, ms_store_row, study->count);
    size_t *points = MS_NEW(call->arena, size_t, study->count);
    if (rows == NULL || points == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    for (size_t i = 0; i < study->count; i++) {
        points[i] = ms_shard_point(&s->kept.shard, i);
    }
    ms_points_counts counts;
    ms_status status = ms_points_run(study, call->arena, call->diag, rows, &counts);
    if (status == MS_E_INTERRUPTED) {
        ms_cli_leave_progress(study->progress_context);
        tell_rest(call, rows, study->count);
    }
    status = status == MS_OK ? ms_cli_close_store(call, &s->kept, counts.failure == MS_OK) : status;
    const shown_sweep shown = {.sweep = &s->sweep,
                               .rows = rows,
                               .points = points,
                               .count = study->count,
                               .counts = &counts,
                               .training_tokens = s->training_tokens};
    status = status == MS_OK ? show(call, &shown) : status;
    return status == MS_OK ? verdict_of(s, &shown) : status;
}

/* Options that do not go together with a share of the points. */
static ms_status check_shard(const ms_invocation *call) {
    if (ms_cli_has(call, "shard") && ms_cli_has(call, "plot")) {
        return ms_diag_usage(call->diag, "options '--shard' and '--plot' do not go together: a "
                                         "picture is of all points; 'meshsim merge' them first");
    }
    return MS_OK;
}

static ms_status run(const ms_invocation *call) {
    sweep_study s = {.kept = {.file = {.lock_file = -1}}};
    double start_s = ms_wall_s();
    ms_points_study study = {.program = ms_cli_program(call->arena),
                             .progress = ms_cli_show_progress,
                             .progress_context = &start_s};
    ms_status status = ms_cli_jobs(call, &study.jobs);
    status = status == MS_OK ? ms_cli_check_targets(call, TARGETS) : status;
    status = status == MS_OK ? check_shard(call) : status;
    status = status == MS_OK ? ms_cli_tokens(call, &s.training_tokens) : status;
    status = status == MS_OK ? ms_sweep_read(call->positionals[0], ms_cli_data_folder(call->arena),
                                             call->arena, call->diag, &s.sweep)
                             : status;
    if (status == MS_OK && ms_cli_has(call, "plan")) {
        return ms_cli_write_plan(call);
    }
    status = status == MS_OK ? ms_cli_open_store(call, &s.kept) : status;
    status = status == MS_OK ? simulate(call, &s, &study) : status;
    ms_cli_close_store(call, &s.kept, false);
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
