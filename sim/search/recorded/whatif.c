/* The what-ifs of `meshsim replay` (recorded.h): lists the changes of the measured job that the
 * options ask for, or a usual choice where they ask for none, and adds a row for each with the step
 * time of the changed job. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "search/recorded/change.h"

/* Most changes of a call. */
enum { CHANGES_MAX = 4096 };

/* The changes, in order. */
typedef struct asked_changes {
    ms_recorded_change items[CHANGES_MAX];
    size_t count;
} asked_changes;

/* Append a change that changes nothing yet. */
static ms_recorded_change *add(asked_changes *list, const char *name) {
    ms_recorded_change *change = &list->items[list->count < CHANGES_MAX ? list->count++ : 0];
    *change = (ms_recorded_change){
        .name = name, .without_dp = -1, .without_stage = -1, .transfer_factor = 1.0};
    return change;
}

/* Add the change of schedule and layers that --set asks for.  jobs: of the workload, before and
 * after it. */
static ms_status add_layout(const ms_recorded *job, ms_job *const jobs[2], const char *name,
                            ms_arena *arena, ms_diag *diag, asked_changes *list) {
    int counts[2] = {job->model_stages, jobs[1]->program.model_stages};
    int *layers[2];
    bool is_moved = false;
    if (jobs[1]->layout.pp != job->stages || ms_mesh_size(&jobs[1]->mesh, MS_AXIS_DP) != job->dp) {
        return ms_diag_error(diag, "--set changes the mesh, which a measured job keeps");
    }
    for (int i = 0; i < 2; i++) {
        layers[i] = MS_NEW(arena, int, counts[i]);
        for (int g = 0; layers[i] != NULL && g < counts[i]; g++) {
            const int *known = jobs[i]->layout.stage_layers;
            layers[i][g] = known != NULL ? known[g] : counts[1 - i];
            is_moved = is_moved || counts[0] != counts[1] ||
                       (i == 1 && layers[0] != NULL && layers[0][g] != layers[1][g]);
        }
    }
    bool is_reordered = !ms_recorded_has_order(job, &jobs[1]->program);
    if (!is_moved && !is_reordered) {
        return ms_diag_error(diag, "--set changes neither the order of passes nor the layers");
    }
    ms_recorded_change *change = add(list, name);
    change->program = is_reordered ? &jobs[1]->program : NULL;
    change->layers_before = layers[0];
    change->layers_after = layers[1];
    change->stages_after = counts[1];
    return arena->has_failed ? ms_diag_no_memory(diag) : MS_OK;
}

/* Add that a replica is left out, or replaced in a worker (stage >= 0). */
static void add_left_out(int dp, int stage, ms_arena *arena, asked_changes *list) {
    ms_recorded_change *change = add(
        list, stage >= 0 ? ms_arena_printf(arena, "a usual worker for dp %d, stage %d", dp, stage)
                         : ms_arena_printf(arena, "without dp %d", dp));
    change->without_dp = dp;
    change->without_stage = stage;
}

/* Read a word and the whole number behind it, such as "dp=" and 1, at *text, which moves behind
 * them.  Returns false, and moves nothing, where they are not there. */
static bool read_number(const char **text, const char *word, int *number_out) {
    size_t length = strlen(word);
    int end = 0;
    if (strncmp(*text, word, length) != 0 ||
        sscanf(*text + length, "%9d%n", number_out, &end) != 1) {
        return false;
    }
    *text += length + (size_t)end;
    return true;
}

/* Read --leave-out: "dp=1" or "dp=1,stage=3". */
static ms_status read_left_out(const ms_recorded *job, const char *text, ms_arena *arena,
                               ms_diag *diag, asked_changes *list) {
    const char *rest = text;
    int dp = -1;
    int stage = -1;
    bool has_replica = read_number(&rest, "dp=", &dp);
    bool has_stage = has_replica && read_number(&rest, ",stage=", &stage);
    if (!has_replica || *rest != '\0' || dp < 0 || dp >= job->dp || (has_stage && stage < 0) ||
        stage >= job->stages) {
        return ms_diag_usage(
            diag,
            "bad value '%s' for --leave-out; expected 'dp=D', or 'dp=D,stage=S' for a "
            "worker, with D below %d and S below %d",
            text, job->dp, job->stages);
    }
    add_left_out(dp, stage, arena, list);
    return MS_OK;
}

/* Add more replicas. */
static void add_replicas(int count, uint64_t seed, ms_arena *arena, asked_changes *list) {
    ms_recorded_change *change = add(list, ms_arena_printf(arena, "%d more replicas", count));
    change->replicas = count;
    change->seed = seed;
}

/* Add that the slowest stage has a layer less, and the fastest one more; nothing if a stage would
 * then have no layer, or has none now.  workload: has one virtual stage for each stage, and gives
 * their layers. */
static void add_moved_layer(const ms_recorded_findings *f, const ms_job *workload, ms_arena *arena,
                            asked_changes *list) {
    const ms_recorded_part_findings *stages = &f->parts[MS_PART_STAGE];
    int *layers = MS_NEW(arena, int, stages->count);
    int least = 0;
    bool has_layers = layers != NULL;
    for (int s = 0; s < stages->count && layers != NULL; s++) {
        layers[s] = workload->layout.stage_layers[s] - (s == stages->worst);
        has_layers = has_layers && layers[s] > 0;
        least = stages->slowdown[s] < stages->slowdown[least] ? s : least;
    }
    if (has_layers && least != stages->worst) {
        layers[least]++;
        ms_recorded_change *change =
            add(list, ms_arena_printf(arena, "a layer from stage %d to %d", stages->worst, least));
        change->layers_before = workload->layout.stage_layers;
        change->layers_after = layers;
        change->stages_after = stages->count;
    }
}

/* Add the changes that are of interest where a call asks for none.  workload: NULL: none is
 * given. */
static void add_usual(const ms_recorded_findings *f, const ms_job *workload, uint64_t seed,
                      ms_arena *arena, asked_changes *list) {
    const ms_recorded_part_findings *ranks = &f->parts[MS_PART_DP];
    if (workload != NULL && workload->layout.stage_layers != NULL &&
        f->job->model_stages == f->job->stages) {
        add_moved_layer(f, workload, arena, list);
    }
    if (f->job->dp > 1) {
        add_left_out(f->worst[0] / f->job->stages, f->worst[0] % f->job->stages, arena, list);
        add_left_out(ranks->values[ranks->worst], -1, arena, list);
    }
    add(list, "transfers x 0")->transfer_factor = 0.0;
    add_replicas(2, seed, arena, list);
    add_replicas(8, seed, arena, list);
}

/* Add what a changed job takes to the list of what-ifs. */
static ms_status add_row(const ms_recorded_findings *f, const char *name, const ms_recorded *job,
                         ms_arena *arena, ms_diag *diag, ms_value *rows) {
    ms_recorded_findings changed;
    ms_status status = ms_recorded_find(job, true, arena, diag, &changed);
    if (status == MS_OK) {
        ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "change", name);
        ms_value_add_double(row, "step_time_s", changed.measured_s);
        ms_value_add_double(row, "I", changed.ideal_s);
        ms_value_add_double(row, "S", changed.measured_s / changed.ideal_s);
        ms_value_add_double(row, "gain", 1.0 - changed.measured_s / f->measured_s);
    }
    return status;
}

/* The order in which changes come together: leaving out replicas comes last, the highest first, so
 * that the numbers of the others hold; replicas are drawn from those that are left. */
static int compare_changes(const void *a, const void *b) {
    const ms_recorded_change *pair[2] = {a, b};
    int ranks[2];
    for (int i = 0; i < 2; i++) {
        bool is_removal = pair[i]->without_dp >= 0 && pair[i]->without_stage < 0;
        ranks[i] = pair[i]->replicas > 0 ? INT_MAX
                   : is_removal          ? INT_MAX - 1 - pair[i]->without_dp
                                         : 0;
    }
    return (ranks[0] > ranks[1]) - (ranks[0] < ranks[1]);
}

/* Add a row for each change alone, and one for all of them together where the call asks for
 * them. */
static ms_status add_rows(const ms_recorded_findings *f, const asked_changes *list, bool is_asked,
                          ms_arena *arena, ms_diag *diag, ms_value *rows) {
    const ms_recorded *all = f->job;
    ms_status status = MS_OK;
    for (size_t i = 0; i < list->count && status == MS_OK; i++) {
        ms_recorded *changed = NULL;
        status = ms_recorded_change_job(f->job, &list->items[i], arena, diag, &changed);
        status =
            status == MS_OK ? add_row(f, list->items[i].name, changed, arena, diag, rows) : status;
        if (status == MS_OK && is_asked && list->count > 1) {
            status = ms_recorded_change_job(all, &list->items[i], arena, diag, &changed);
            all = changed;
        }
    }
    return status == MS_OK && all != f->job ? add_row(f, "all of these", all, arena, diag, rows)
                                            : status;
}

ms_status ms_recorded_add_whatifs(const ms_recorded_findings *f, const ms_recorded_whatif *request,
                                  ms_arena *arena, ms_diag *diag, ms_value *root) {
    asked_changes *list = MS_NEW(arena, asked_changes, 1);
    ms_job *jobs[2] = {NULL, NULL};
    ms_status status = list == NULL ? ms_diag_no_memory(diag) : MS_OK;
    if (status == MS_OK && (request->workload != NULL || request->sets.count > 0)) {
        status = ms_recorded_load_jobs(f->job, request, arena, diag, jobs);
    }
    if (status == MS_OK && request->sets.count > 0) {
        status = add_layout(f->job, jobs, request->name, arena, diag, list);
    }
    for (size_t i = 0; i < request->left_out_count && status == MS_OK; i++) {
        status = read_left_out(f->job, request->left_out[i], arena, diag, list);
    }
    if (status != MS_OK) {
        return status;
    }
    if (request->transfer_factor >= 0.0) {
        add(list, ms_arena_printf(arena, "transfers x %.6g", request->transfer_factor))
            ->transfer_factor = request->transfer_factor;
    }
    if (request->replicas > 0) {
        add_replicas(request->replicas, request->seed, arena, list);
    }
    bool is_asked = list->count > 0;
    qsort(list->items, list->count, sizeof list->items[0], compare_changes);
    if (!is_asked) {
        add_usual(f, jobs[0], request->seed, arena, list);
    }
    ms_value *rows = ms_value_add(root, "whatif", MS_VALUE_ARRAY);
    return add_rows(f, list, is_asked, arena, diag, rows);
}
