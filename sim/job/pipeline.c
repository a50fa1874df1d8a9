#include "job/pipeline.h"

#include <string.h>

#include "job/relay.h"
#include "meshsim/schedule_csv.h"

/* A pass of a model is four operations or more, and 4e7 operations are the most that is simulated.
 */
enum { PASSES_MAX = 10000000 };

static const char FILE_PREFIX[] = "csv:";

static const char *plural(int count) {
    return count == 1 ? "" : "s";
}

/* What faults of the schedule as a whole point at. */
static const ms_node *place_of(const ms_workload *w) {
    const ms_node *node = ms_node_get(w->root, "schedule");
    return node == NULL ? w->root : node;
}

static ms_status fault_kind(const ms_workload *w, ms_diag *diag) {
    const char *const *names = ms_schedule_kind_names();
    const char *nearest = ms_nearest_word(w->schedule.kind, names, MS_SCHEDULE_KIND_COUNT);
    return ms_config_fault(diag, ms_node_get(place_of(w), "kind"), "schedule.kind",
                           "unknown schedule '%s'%s%s%s", w->schedule.kind,
                           nearest == NULL ? "" : "; did you mean '",
                           nearest == NULL ? "" : nearest, nearest == NULL ? "" : "'?");
}

/* Refuse, before memory is asked for it, what is too large to be simulated. */
static ms_status check_passes(const ms_workload *w, const ms_schedule_spec *spec, ms_diag *diag) {
    int own = ms_schedule_kind_traits(spec->kind).chunks;
    int chunks = spec->chunks > 0 ? spec->chunks : own > 0 ? own : 1;
    double stages = (double)spec->pipeline_ranks * chunks;
    double passes = 2.0 * stages * spec->microbatches * spec->splits;
    if (passes <= PASSES_MAX) {
        return MS_OK;
    }
    return ms_config_fault(diag, ms_node_get(w->root, "batch"), "batch",
                           "%d microbatches on %.0f virtual stages are %.3g passes, more than the "
                           "limit of %.3g",
                           spec->microbatches, stages, passes, (double)PASSES_MAX);
}

static ms_status build_by_kind(const ms_workload *w, ms_arena *arena, ms_diag *diag, ms_job *job) {
    const ms_workload_schedule *schedule = &w->schedule;
    ms_schedule_spec spec = {.pipeline_ranks = job->layout.pp,
                             .chunks = schedule->chunks,
                             .microbatches = job->microbatches,
                             .group = schedule->group,
                             .splits = schedule->splits,
                             .is_reordered = schedule->is_reordered};
    if (ms_schedule_kind_from_name(schedule->kind, &spec.kind) != MS_OK) {
        return fault_kind(w, diag);
    }
    ms_status status = check_passes(w, &spec, diag);
    if (status == MS_OK) {
        ms_relay relay = {.diag = diag, .node = place_of(w), .path = "schedule"};
        ms_diag placed;
        ms_relay_init(&placed, &relay);
        status = ms_schedule_build(&spec, arena, &placed, &job->program);
    }
    return status;
}

/* The sizes of a file are those of the mesh and the batch, and keys that make an order have nothing
 * to say beside it. */
static ms_status check_file(const ms_workload *w, const ms_program *program, ms_diag *diag,
                            const ms_job *job) {
    const ms_node *node = place_of(w);
    const ms_schedule_spec *found = &program->spec;
    const struct {
        const char *what, *key;
        int found, wanted;
    } SIZES[] = {{"pipeline ranks", "mesh.pp", found->pipeline_ranks, job->layout.pp},
                 {"microbatches", "batch", found->microbatches, job->microbatches},
                 {"stages per rank", "schedule.v", found->chunks, w->schedule.chunks}};
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        if (SIZES[i].wanted != 0 && SIZES[i].found != SIZES[i].wanted) {
            return ms_config_fault(diag, ms_node_get(node, "kind"), "schedule.kind",
                                   "'%s' has %d %s, and '%s' gives %d", w->schedule.kind,
                                   SIZES[i].found, SIZES[i].what, SIZES[i].key, SIZES[i].wanted);
        }
    }
    if (program->model_stages != found->pipeline_ranks * found->chunks) {
        return ms_config_fault(diag, ms_node_get(node, "kind"), "schedule.kind",
                               "'%s' has %d stages on %d ranks; on a platform every rank has "
                               "equally many",
                               w->schedule.kind, program->model_stages, found->pipeline_ranks);
    }
    const struct {
        const char *key, *path;
        bool is_set;
    } OF_KINDS[] = {{"group", "schedule.group", w->schedule.group != 0},
                    {"splits", "schedule.splits", w->schedule.splits != 1},
                    {"reorder", "schedule.reorder", w->schedule.is_reordered}};
    for (size_t i = 0; i < sizeof OF_KINDS / sizeof OF_KINDS[0]; i++) {
        if (OF_KINDS[i].is_set) {
            return ms_config_fault(diag, ms_node_get(node, OF_KINDS[i].key), OF_KINDS[i].path,
                                   "makes an order, and '%s' has its own; leave it out",
                                   w->schedule.kind);
        }
    }
    return MS_OK;
}

static ms_status read_file(const ms_workload *w, const char *home, ms_arena *arena, ms_diag *diag,
                           ms_job *job) {
    const char *path = w->schedule.kind + sizeof FILE_PREFIX - 1;
    path = path[0] == '/' ? path : ms_arena_printf(arena, "%s/%s", home, path);
    if (path == NULL) {
        return MS_E_NOMEM;
    }
    ms_csv_table table;
    ms_program program;
    ms_status status = ms_csv_load(path, arena, diag, &table);
    if (status == MS_OK) {
        status = ms_csv_program(&table, w->schedule.kind, arena, diag, &program);
    }
    if (status == MS_OK) {
        status = check_file(w, &program, diag, job);
    }
    if (status == MS_OK) {
        job->program = program;
        job->schedule_text = table.text;
    }
    return status;
}

ms_status ms_pipeline_build(const ms_workload *w, const char *home, ms_arena *arena, ms_diag *diag,
                            ms_job *job) {
    bool is_file = strncmp(w->schedule.kind, FILE_PREFIX, sizeof FILE_PREFIX - 1) == 0;
    ms_status status =
        is_file ? read_file(w, home, arena, diag, job) : build_by_kind(w, arena, diag, job);
    if (status != MS_OK) {
        return status;
    }
    ms_relay relay = {.diag = diag, .node = place_of(w), .path = "schedule"};
    ms_diag placed;
    ms_relay_init(&placed, &relay);
    if (w->schedule.overlap == MS_OVERLAP_SERIAL) {
        ms_program_part_pairs(&job->program);
    }
    status = ms_program_check(&job->program, &placed);
    job->is_blocking = w->schedule.sends == MS_SENDS_BLOCKING;
    job->layout.chunks = job->program.spec.chunks;
    job->layout.copies = job->program.parameter_replicas;
    job->layout.parts = job->program.spec.splits;
    job->layout.stage_rank = job->program.stage_rank;
    return status;
}

/* Every stage's layers, as the workload lists them; the model checks their sum. */
static ms_status take_given(const ms_workload *w, ms_diag *diag, ms_job *job) {
    const ms_workload_schedule *schedule = &w->schedule;
    const ms_node *node = ms_node_get(place_of(w), "stage_layers");
    int stages = job->program.model_stages;
    if (schedule->first_stage_layers > 0 || schedule->last_stage_layers > 0 ||
        schedule->deal != MS_DEAL_EVEN) {
        return ms_config_fault(diag, node, "schedule.stage_layers",
                               "gives every stage its layers; leave 'first_stage_layers', "
                               "'last_stage_layers' and 'deal' out");
    }
    if (schedule->stage_layers.count != (size_t)stages) {
        return ms_config_fault(diag, node, "schedule.stage_layers",
                               "expected %d entries (pp x v), got %zu", stages,
                               schedule->stage_layers.count);
    }
    job->layout.stage_layers = schedule->stage_layers.items;
    return MS_OK;
}

/* A row of stages that share layers. */
typedef struct layer_row {
    int stages; /* stages of the row, one after the other */
    int layers;
    int behind;     /* further layers' worth of work on the last stage: prediction modules */
    bool has_start; /* the first one is the model's first stage */
    bool has_end;   /* the last one is the model's last stage */
} layer_row;

/* The same number everywhere; false if they do not divide. */
static bool deal_evenly(const layer_row *row, int *dealt_out) {
    int stages = row->stages;
    if (stages == 0 ? row->layers != 0 : row->layers < stages || row->layers % stages != 0) {
        return false;
    }
    for (int s = 0; s < stages; s++) {
        dealt_out[s] = row->layers / stages;
    }
    return true;
}

/* The i-th stage to get less: the last, the first, the last but one and so on, because head and
 * embedding are there. */
static int short_stage(const layer_row *row, int i) {
    if (row->has_start && row->has_end) {
        return i % 2 == 0 ? row->stages - 1 - i / 2 : i / 2;
    }
    return row->has_start ? i : row->stages - 1 - i;
}

/* Numbers that differ by one. */
static bool deal_balanced(const layer_row *row, int *dealt_out) {
    int stages = row->stages;
    int units = row->layers + row->behind;
    if (stages < 1) {
        return row->layers == 0;
    }
    int least = units / stages;
    if (least < row->behind) {
        /* the last stage has its fill without a layer */
        layer_row others = {
            .stages = stages - 1, .layers = row->layers, .has_start = row->has_start};
        dealt_out[stages - 1] = 0;
        return deal_balanced(&others, dealt_out);
    }
    for (int s = 0; s < stages; s++) {
        dealt_out[s] = least + 1;
    }
    int more = units - least * stages; /* stages that keep it */
    for (int i = 0; i < stages - more; i++) {
        dealt_out[short_stage(row, i)]--;
    }
    dealt_out[stages - 1] -= row->behind;
    return true;
}

static ms_status fault_shares(const ms_workload *w, const layer_row *inner, ms_diag *diag,
                              const ms_job *job) {
    const ms_node *node = ms_node_get(w->root, "schedule");
    int layers = job->model.layers;
    int stages = job->program.model_stages;
    int given = layers - inner->layers;
    int nearest =
        inner->stages <= 0
            ? 0
            : (inner->layers / inner->stages + (inner->layers < inner->stages)) * inner->stages;
    return ms_config_fault(diag, node == NULL ? w->model : node, "schedule",
                           "%d layer%s do not divide among %d virtual stages%s; nearest "
                           "number of layers: %d; or give 'deal: balanced', 'stage_layers', "
                           "'first_stage_layers' and 'last_stage_layers'",
                           layers, plural(layers), stages,
                           given > 0 ? " beside the given ends" : "", given + nearest);
}

/* Every stage between the ends has a layer. */
static bool has_no_gap(const int *dealt, int stages) {
    for (int s = 1; s + 1 < stages; s++) {
        if (dealt[s] == 0) {
            return false;
        }
    }
    return true;
}

ms_status ms_pipeline_deal_layers(const ms_workload *w, ms_arena *arena, ms_diag *diag,
                                  ms_job *job) {
    if (w->schedule.stage_layers.count > 0) {
        return take_given(w, diag, job);
    }
    int stages = job->program.model_stages;
    int layers = job->model.layers;
    int first = w->schedule.first_stage_layers;
    int last = w->schedule.last_stage_layers;
    bool is_balanced = w->schedule.deal == MS_DEAL_BALANCED;
    layer_row inner = {.stages = stages - (first > 0 ? 1 : 0) - (last > 0 ? 1 : 0),
                       .layers = layers - first - last,
                       .behind = last > 0 ? 0 : job->model.mtp_layers,
                       .has_start = first == 0,
                       .has_end = last == 0};
    int *dealt = MS_NEW(arena, int, stages);
    if (dealt == NULL) {
        return MS_E_NOMEM;
    }
    int *at = dealt + (first > 0 ? 1 : 0);
    bool is_dealt = inner.stages >= 0 && inner.layers >= 0 &&
                    (is_balanced ? deal_balanced(&inner, at) : deal_evenly(&inner, at));
    dealt[0] = first > 0 ? first : dealt[0];
    dealt[stages - 1] = last > 0 ? last : dealt[stages - 1];
    if (layers < (is_balanced ? stages - 2 : stages) || (is_dealt && !has_no_gap(dealt, stages))) {
        const ms_node *node = ms_node_get(w->root, "schedule");
        return ms_config_fault(diag, node == NULL ? w->model : node, "schedule",
                               "%d layer%s for %d virtual stages: more stages than layers", layers,
                               plural(layers), stages);
    }
    if (!is_dealt) {
        return fault_shares(w, &inner, diag, job);
    }
    job->layout.stage_layers = dealt;
    job->is_balanced = is_balanced;
    return MS_OK;
}
