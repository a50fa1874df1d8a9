/* One way to say a job: a workload has several for the same thing, and two specs of one job shall
 * differ in no key. */
#include <math.h>
#include <string.h>

#include "study/export/kinds.h"

static void drop_axis(ms_spec_mesh *mesh, int axis) {
    for (int i = axis; i + 1 < mesh->axes; i++) {
        mesh->names[i] = mesh->names[i + 1];
        mesh->sizes[i] = mesh->sizes[i + 1];
    }
    mesh->axes--;
}

/* ---- experts ---- */

/* Of a single pipeline rank the place among the others says nothing. */
static ms_status settle_order(ms_job_spec *spec, const char *const *order, size_t count,
                              ms_arena *arena) {
    bool has_stages = ms_spec_axis_size(&spec->mesh, "pp") > 1;
    const char **items = MS_NEW(arena, const char *, count + 1);
    size_t kept = 0;
    for (size_t i = 0; items != NULL && i < count; i++) {
        if (has_stages || strcmp(order[i], "pp") != 0) {
            items[kept++] = order[i];
        }
    }
    spec->experts.order = (ms_words){.items = items, .count = kept};
    return items == NULL ? MS_E_NOMEM : MS_OK;
}

/* The order of the experts' axes that an axis ep of the mesh makes.  order: [4]. */
static size_t order_of_axes(const ms_spec_mesh *mesh, const char **order) {
    size_t count = 0;
    if (ms_spec_axis(mesh, "pp") < 0) {
        order[count++] = "pp";
    }
    for (int axis = 0; axis < mesh->axes; axis++) {
        const char *name = mesh->names[axis];
        bool is_one = strcmp(name, "pp") == 0 || strcmp(name, "dp") == 0 ||
                      strcmp(name, "ep") == 0 || strcmp(name, "tp") == 0;
        if (strcmp(name, "ep") == 0 && ms_spec_axis(mesh, "dp") < 0) {
            order[count++] = "dp";
        }
        if (is_one && count < 4) {
            order[count++] = name;
        }
    }
    if (ms_spec_axis(mesh, "tp") < 0 && count < 4) {
        order[count++] = "tp";
    }
    return count;
}

/* Replicas on the ep axis become replicas on dp. */
static void fold_replicas(ms_spec_mesh *mesh, int ep) {
    int at = ms_spec_axis(mesh, "ep"), dp = ms_spec_axis(mesh, "dp");
    if (dp < 0) {
        mesh->names[at] = "dp";
    } else {
        mesh->sizes[dp] *= ep;
        drop_axis(mesh, at);
    }
}

/* Experts on an axis of the mesh are experts on a mesh of their own, whose tp ranks share them. Not
 * beside cp, over which the former are alike, and the latter lie. */
static ms_status settle_experts(ms_job_spec *spec, ms_arena *arena) {
    static const char *const USUAL[] = {"pp", "dp", "ep", "tp"};
    const char *order[4] = {NULL};
    ms_spec_mesh *mesh = &spec->mesh;
    int ep = ms_spec_axis_size(mesh, "ep"), tp = ms_spec_axis_size(mesh, "tp");
    if (ep > 1 && ms_spec_axis_size(mesh, "cp") == 1) {
        size_t count = order_of_axes(mesh, order);
        fold_replicas(mesh, ep);
        spec->experts = (ms_expert_axes){.ep = ep, .tp = tp};
        return settle_order(spec, order, count, arena);
    }
    if (spec->experts.ep == 0 || (spec->experts.ep == 1 && spec->experts.tp == tp)) {
        spec->experts = (ms_expert_axes){.ep = 0, .tp = 1};
        return MS_OK;
    }
    bool is_given = spec->experts.order.count > 0;
    return settle_order(spec, is_given ? spec->experts.order.items : USUAL,
                        is_given ? spec->experts.order.count : 4, arena);
}

/* ---- stages ---- */

/* Layers of each virtual stage by what the partition says of the ends; all alike without. */
static ms_status list_layers(ms_job_spec *spec, ms_arena *arena) {
    ms_spec_partition *partition = &spec->schedule.partition;
    int chunks = spec->schedule.chunks < 1 ? 1 : spec->schedule.chunks;
    int stages = ms_spec_axis_size(&spec->mesh, "pp") * chunks;
    if (stages <= 1 || partition->stage_layers.count > 0) {
        return MS_OK;
    }
    ms_open_stages open = ms_spec_open_stages(spec, stages);
    int *items = MS_NEW(arena, int, stages);
    for (int stage = 0; items != NULL && stage < stages; stage++) {
        bool is_open = stage >= open.first && stage < open.first + open.count;
        items[stage] = is_open      ? open.layers / open.count
                       : stage == 0 ? partition->first_stage_layers
                                    : partition->last_stage_layers;
    }
    partition->stage_layers = (ms_ints){.items = items, .count = (size_t)stages};
    return items == NULL ? MS_E_NOMEM : MS_OK;
}

static ms_status settle_schedule(ms_job_spec *spec, ms_arena *arena) {
    ms_spec_schedule *schedule = &spec->schedule;
    int pp = ms_spec_axis_size(&spec->mesh, "pp");
    ms_status status = list_layers(spec, arena);
    schedule->chunks = schedule->chunks <= 1 ? 0 : schedule->chunks;
    schedule->group = schedule->group == pp ? 0 : schedule->group;
    schedule->partition.kind = MS_PARTITION_EVEN;
    schedule->partition.first_stage_layers = schedule->partition.last_stage_layers = 0;
    if (pp == 1 && schedule->chunks == 0) { /* a stage alone has no order */
        schedule->partition.stage_layers = (ms_ints){.count = 0};
    }
    return status;
}

/* ---- model ---- */

static ms_status settle_model(ms_job_spec *spec, ms_arena *arena) {
    ms_model *model = &spec->model;
    ms_moe *moe = &model->moe;
    const double multiple = 128.0 * ms_spec_axis_size(&spec->mesh, "tp");
    model->vocab = (int)(ceil(model->vocab / multiple) * multiple);
    if (moe->experts == 0) {
        return MS_OK;
    }
    int *dense = MS_NEW(arena, int, model->layers);
    size_t count = 0;
    for (int layer = 0; dense != NULL && layer < model->layers; layer++) {
        if (!ms_layer_is_moe(model, layer)) {
            dense[count++] = layer;
        }
    }
    moe->parts.dense_layers = (ms_ints){.items = dense, .count = count};
    moe->first_dense_layers = 0;
    moe->every = 1;
    moe->shared_ffn = moe->shared_experts == 0 ? moe->ffn : moe->shared_ffn; /* of none */
    return dense == NULL ? MS_E_NOMEM : MS_OK;
}

/* What is usual where nothing is said. */
static void settle_choices(ms_job_spec *spec) {
    ms_spec_data *data = &spec->data;
    bool has_stages = ms_spec_axis_size(&spec->mesh, "pp") > 1;
    if (data->reduce == MS_SPEC_USUAL) {
        data->reduce = data->zero >= 2 && !has_stages ? MS_REDUCE_EVERY : MS_REDUCE_LAST;
    }
    data->gather_stages = data->gather_stages == MS_SPEC_USUAL ? 0 : data->gather_stages;
    if (ms_spec_axis_size(&spec->mesh, "cp") == 1) {
        spec->context = (ms_spec_context){.kind = MS_CP_RING, .overlap = MS_SPEC_USUAL};
    } else if (spec->context.overlap == (spec->context.kind == MS_CP_RING)) {
        spec->context.overlap = MS_SPEC_USUAL;
    }
    if (spec->recompute.kind != MS_RECOMPUTE_FULL) {
        spec->recompute.layers = 0;
    }
}

ms_status ms_export_settle_spec(ms_job_spec *spec, ms_arena *arena, ms_diag *diag) {
    ms_spec_mesh *mesh = &spec->mesh;
    ms_status status = settle_experts(spec, arena);
    for (int axis = mesh->axes - 1; axis >= 0; axis--) {
        if (mesh->sizes[axis] == 1) {
            drop_axis(mesh, axis);
        }
    }
    status = status == MS_OK ? settle_schedule(spec, arena) : status;
    status = status == MS_OK ? settle_model(spec, arena) : status;
    settle_choices(spec);
    return status == MS_OK ? MS_OK : ms_diag_no_memory(diag);
}

ms_status ms_export_settle(const ms_job *job, ms_arena *arena, ms_diag *diag,
                           ms_job_spec *spec_out) {
    ms_job_spec spec = ms_job_spec_derive(&job->spec);
    size_t stages = (size_t)job->program.model_stages;
    int *layers = MS_NEW(arena, int, stages + 1);
    if (layers == NULL) {
        return ms_diag_no_memory(diag);
    }
    for (size_t stage = 0; job->layout.stage_layers != NULL && stage < stages; stage++) {
        layers[stage] = job->layout.stage_layers[stage];
    }
    spec.schedule.partition.stage_layers = (ms_ints){.items = layers, .count = stages};
    spec.schedule.chunks = job->layout.chunks;
    spec.batch.global = job->global_batch;
    spec.batch.microbatches = 0;
    spec.data.reduce = (int)job->layout.reduce;
    ms_status status = ms_export_settle_spec(&spec, arena, diag);
    if (status == MS_OK) {
        *spec_out = spec;
    }
    return status;
}
