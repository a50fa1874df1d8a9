/* From a workload file to a job: platform, mesh, schedule and costs, each checked against the
 * others. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "job/deal.h"
#include "job/idle_keys.h"
#include "job/layout.h"
#include "job/pipeline.h"
#include "job/relay.h"

/* State of one load. */
typedef struct loading {
    const ms_job_request *request;
    ms_arena *arena;
    ms_diag *diag;
    ms_workload w;
    ms_job *job;
    ms_status status; /* first fault of any part */
} loading;

static bool note(loading *ld, ms_status status) {
    ld->status = ld->status == MS_OK ? status : ld->status;
    return status == MS_OK;
}

static void fault(loading *ld, ms_status status) {
    note(ld, status);
}

/* Folder of a path without its slash at the end, "." if it has none. */
static const char *folder_of(ms_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? "." : ms_arena_strndup(arena, path, (size_t)(slash - path));
}

/* Name of a workload without a `name:` key: its file's, without folder and ending. */
static const char *stem_of(ms_arena *arena, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(base, '.');
    return ms_arena_strndup(arena, base, dot == NULL ? strlen(base) : (size_t)(dot - base));
}

/* The platform mapping without its `file` key. */
static ms_node *overrides_of(ms_arena *arena, const ms_node *platform) {
    ms_node *copy = MS_NEW(arena, ms_node, 1);
    if (copy == NULL) {
        return NULL;
    }
    *copy = *platform;
    copy->first = copy->last = NULL;
    copy->count = 0;
    for (const ms_node *child = platform->first; child != NULL; child = child->next) {
        if (strcmp(child->key, "file") == 0) {
            continue;
        }
        ms_node *kept = MS_NEW(arena, ms_node, 1);
        if (kept == NULL) {
            return NULL;
        }
        *kept = *child;
        kept->next = NULL;
        if (copy->last == NULL) {
            copy->first = kept;
        } else {
            copy->last->next = kept;
        }
        copy->last = kept;
        copy->count++;
    }
    return copy;
}

/* Whether a workload names a file of its own folder, also where the current one has such a file. */
static bool is_beside(const char *home, const char *name, ms_arena *arena) {
    const char *path = ms_arena_printf(arena, "%s/%s", home, name);
    return strstr(name, ".yaml") != NULL && path != NULL && access(path, F_OK) == 0;
}

/* The platform file's name: from the request, or from the workload, where a path is relative to the
 * workload's folder. */
static ms_status platform_name(loading *ld, const char **name_out) {
    if (ld->request->platform != NULL) {
        *name_out = ld->request->platform;
        return MS_OK;
    }
    const ms_node *file = ms_node_get(ld->w.platform, "file");
    if (file == NULL || file->type != MS_NODE_SCALAR) {
        return ms_config_fault(ld->diag, file == NULL ? ld->w.platform : file, "platform.file",
                               "expected the name or path of a platform file");
    }
    const char *home = folder_of(ld->arena, ld->request->workload);
    if (home == NULL) {
        return MS_E_NOMEM;
    }
    bool is_relative = strchr(file->text, '/') != NULL || is_beside(home, file->text, ld->arena);
    *name_out = is_relative && file->text[0] != '/'
                    ? ms_arena_printf(ld->arena, "%s/%s", home, file->text)
                    : file->text;
    return *name_out == NULL ? MS_E_NOMEM : MS_OK;
}

/* The effective platform as YAML, and with the origin of every value: the keys that its files and
 * the workload give, whatever their tables are. */
static ms_status write_platform(loading *ld, const ms_node *document) {
    ms_field *fields = MS_NEW(ld->arena, ms_field, document->count + 1);
    if (fields == NULL) {
        return MS_E_NOMEM;
    }
    size_t count = 0;
    for (const ms_node *child = document->first; child != NULL; child = child->next) {
        fields[count++] = (ms_field){.key = child->key, .type = MS_FIELD_NODE};
    }
    ms_buffer text;
    ms_buffer effective;
    ms_buffer_init(&text);
    ms_buffer_init(&effective);
    ms_node_write(document, &text);
    ms_config_write_effective(document, fields, "platform", &effective);
    bool has_failed = text.failed || effective.failed;
    ld->job->platform_text = ms_arena_strdup(ld->arena, ms_buffer_text(&text));
    ld->job->platform_effective_text = ms_arena_strdup(ld->arena, ms_buffer_text(&effective));
    ms_buffer_release(&text);
    ms_buffer_release(&effective);
    has_failed =
        has_failed || ld->job->platform_text == NULL || ld->job->platform_effective_text == NULL;
    return has_failed ? MS_E_NOMEM : MS_OK;
}

static ms_status load_platform(loading *ld) {
    const char *name = NULL;
    ms_status status = platform_name(ld, &name);
    if (status != MS_OK) {
        return status;
    }
    const char *home = folder_of(ld->arena, ld->request->workload);
    const char *const *folders = NULL;
    ms_node *overrides = overrides_of(ld->arena, ld->w.platform);
    if (overrides != NULL && ld->request->platform != NULL) {
        overrides->mark = (ms_mark){.file = NULL}; /* not the workload named the platform */
    }
    if (home == NULL || overrides == NULL) {
        return MS_E_NOMEM;
    }
    const ms_node *document = NULL;
    status = ms_platform_folders(home, ld->request->data_folder, ld->arena, &folders);
    if (status != MS_OK) {
        return status;
    }
    status = ms_platform_load(name, folders, overrides, ld->arena, ld->diag, &ld->job->platform,
                              &document);
    if (status != MS_OK) {
        return status;
    }
    return write_platform(ld, document);
}

/* "pp 64 x dp 6 x tp 8" */
static void describe_mesh(const ms_mesh *mesh, char *text, size_t size) {
    int length = 0;
    text[0] = '\0';
    for (int a = 0; a < mesh->axes && length < (int)size; a++) {
        length += snprintf(text + length, size - (size_t)length, "%s%s %d", a > 0 ? " x " : "",
                           mesh->names[a], mesh->sizes[a]);
    }
}

static ms_status check_ranks(loading *ld) {
    const ms_job *job = ld->job;
    int gpus = ms_platform_gpus(&job->platform);
    if (job->mesh.ranks == gpus) {
        return MS_OK;
    }
    char shape[128];
    char advice[80] = "";
    describe_mesh(&job->mesh, shape, sizeof shape);
    int per_node = job->platform.gpus_per_node;
    if (job->mesh.ranks % per_node == 0) {
        snprintf(advice, sizeof advice, "; use 'platform.nodes: %d' or other sizes",
                 job->mesh.ranks / per_node);
    }
    return ms_config_fault(ld->diag, ld->w.mesh, "mesh",
                           "%s needs %d GPU%s, the platform '%s' has %d (%d node%s of %d)%s", shape,
                           job->mesh.ranks, ms_plural(job->mesh.ranks), job->platform.name, gpus,
                           job->platform.nodes, ms_plural(job->platform.nodes), per_node, advice);
}

/* More tp ranks than the scale-up domain holds are a mistake more often than a wish. */
static ms_status check_tensor_domain(loading *ld) {
    int tp = ms_mesh_size(&ld->job->mesh, MS_AXIS_TP);
    int domain = ms_platform_scale_up_domain(&ld->job->platform);
    if (tp <= domain || ld->w.allows_slow_tp) {
        return MS_OK;
    }
    return ms_config_fault(
        ld->diag, ms_node_get(ld->w.mesh, "tp"), "mesh.tp",
        "%d tensor-parallel ranks are more than the %d GPU%s that share the fast "
        "links; at most %d, or set tensor_parallel.allow_slow",
        tp, domain, ms_plural(domain), domain);
}

/* Microbatches per step and replica from the batch keys. */
static ms_status count_microbatches(loading *ld) {
    const ms_workload_batch *batch = &ld->w.batch;
    const ms_node *node = ms_node_get(ld->w.root, "batch");
    long unit = (long)batch->micro * ms_layout_replicas(&ld->job->layout);
    if (batch->global == 0 && batch->microbatches == 0) {
        if (ms_config_has(node, "global") || ms_config_has(node, "microbatches")) {
            return MS_E_INPUT; /* given, but not a number: already reported */
        }
        return ms_config_fault(ld->diag, node == NULL ? ld->w.root : node, "batch",
                               "expected 'global' (sequences per step) or 'microbatches'");
    }
    if (batch->global % unit != 0) {
        long below = batch->global / unit * unit;
        return ms_config_fault(ld->diag, ms_node_get(node, "global"), "batch.global",
                               "%d sequences do not divide into microbatches of %d on %ld "
                               "replicas (%ld at a time); nearest: %ld or %ld",
                               batch->global, batch->micro, unit / batch->micro, unit,
                               below > 0 ? below : unit, below + unit);
    }
    long microbatches = batch->global > 0 ? batch->global / unit : batch->microbatches;
    if (batch->microbatches > 0 && microbatches != batch->microbatches) {
        return ms_config_fault(ld->diag, ms_node_get(node, "microbatches"), "batch.microbatches",
                               "%d disagrees with batch.global, which gives %ld",
                               batch->microbatches, microbatches);
    }
    if (microbatches > MS_BATCH_MAX / unit) {
        return ms_config_fault(ld->diag, node, "batch",
                               "%ld microbatches of %d on %ld replicas are more than %d sequences",
                               microbatches, batch->micro, unit / batch->micro, (int)MS_BATCH_MAX);
    }
    ld->job->microbatches = (int)microbatches;
    ld->job->global_batch = (int)(microbatches * unit);
    return MS_OK;
}

/* Ranks that do not wait for each other at a step's end come apart in the first step; one between
 * two others is what they repeat. */
enum { POST_VALIDATION_STEPS_MIN = 3 };

static ms_status set_steps(loading *ld) {
    ld->job->steps = ld->w.steps;
    ld->job->is_validated_late = ld->w.schedule.step_end == MS_STEP_END_POST_VALIDATION;
    if (!ld->job->is_validated_late || ld->w.steps < 1 ||
        ld->w.steps >= POST_VALIDATION_STEPS_MIN) {
        return MS_OK;
    }
    return ms_config_fault(
        ld->diag, ms_node_get(ms_node_get(ld->w.root, "schedule"), "step_end"), "schedule.step_end",
        "post_validation is measured between steps that overlap and needs 'steps: %d' or more, got "
        "%d",
        (int)POST_VALIDATION_STEPS_MIN, ld->w.steps);
}

static ms_status build_schedule(loading *ld) {
    const char *home = folder_of(ld->arena, ld->request->workload);
    return home == NULL ? MS_E_NOMEM
                        : ms_pipeline_build(&ld->w, home, ld->arena, ld->diag, ld->job);
}

static ms_status cost_model(loading *ld) {
    ms_job *job = ld->job;
    job->precision = (ms_precision){.parameter_B = ms_dtype_B(ld->w.precision.parameters),
                                    .gradient_B = ms_dtype_B(ld->w.precision.gradients),
                                    .optimizer_B = ld->w.precision.optimizer_B};
    int *members = MS_NEW(ld->arena, int, job->layout.ep);
    if (members == NULL) {
        return MS_E_NOMEM;
    }
    job->layout.ep_node_ranks = ms_layout_node_ranks(&job->mesh, &job->platform, members);
    ms_status status = ms_deal_layers(&ld->w, ld->arena, ld->diag, job);
    if (status != MS_OK) {
        return status;
    }
    ms_relay relay = {.diag = ld->diag, .node = ld->w.model, .path = "model"};
    ms_diag placed;
    ms_relay_init(&placed, &relay);
    return ms_model_costs(&job->model, &job->layout, &job->precision, &job->platform.gpu, ld->arena,
                          &placed, &job->costs);
}

static ms_status find_costs(loading *ld) {
    ms_job *job = ld->job;
    job->has_model = ld->w.model != NULL;
    if (!job->has_model) {
        return ms_costs_read(ld->w.costs, "costs", job->layout.pp, job->layout.chunks,
                             job->layout.parts, ld->arena, ld->diag, &job->costs);
    }
    return cost_model(ld);
}

/* The effective workload as YAML, and with the origin of every value. */
static ms_status write_texts(loading *ld) {
    ms_buffer text;
    ms_buffer effective;
    ms_buffer_init(&text);
    ms_buffer_init(&effective);
    ms_node_write(ld->w.root, &text);
    ms_config_write_effective(ld->w.root, MS_WORKLOAD_FIELDS, "", &effective);
    bool has_failed = text.failed || effective.failed;
    ld->job->workload_text = ms_arena_strdup(ld->arena, ms_buffer_text(&text));
    ld->job->effective_text = ms_arena_strdup(ld->arena, ms_buffer_text(&effective));
    ms_buffer_release(&text);
    ms_buffer_release(&effective);
    has_failed = has_failed || ld->job->workload_text == NULL || ld->job->effective_text == NULL;
    return has_failed ? MS_E_NOMEM : MS_OK;
}

static ms_status set_names(loading *ld) {
    ms_job *job = ld->job;
    const ms_job_request *request = ld->request;
    job->name = ld->w.name != NULL ? ld->w.name : stem_of(ld->arena, request->workload);
    job->workload_path = request->workload;
    job->no_fold = request->no_fold;
    job->seed = (uint64_t)ld->w.seed;
    job->fidelity = (ms_fidelity)ld->w.fidelity;
    if (request->fidelity != NULL) {
        if (strcmp(request->fidelity, "analytic") == 0) {
            job->fidelity = MS_FIDELITY_ANALYTIC;
        } else if (strcmp(request->fidelity, "flow") == 0) {
            job->fidelity = MS_FIDELITY_FLOW;
        } else {
            ms_diag_error(ld->diag, "unknown fidelity '%s'; expected 'analytic' or 'flow'",
                          request->fidelity);
            return MS_E_USAGE;
        }
    }
    return job->name == NULL ? MS_E_NOMEM : write_texts(ld);
}

/* Parts in the order of their needs; a part runs when those it needs were fine, so one run reports
 * faults of all parts that can be read. */
static void load_parts(loading *ld) {
    ms_job *job = ld->job;
    bool has_platform = ld->w.platform != NULL && note(ld, load_platform(ld));
    bool has_mesh = ld->w.mesh != NULL &&
                    note(ld, ms_mesh_read(ld->w.mesh, "mesh", ld->arena, ld->diag, &job->mesh));
    bool has_model = ld->w.model == NULL || note(ld, ms_model_read(ld->w.model, "model", ld->arena,
                                                                   ld->diag, &job->model));
    fault(ld, set_steps(ld));
    if (has_mesh && has_platform) {
        fault(ld, check_ranks(ld));
        fault(ld, check_tensor_domain(ld));
    }
    if (!has_mesh || ld->w.schedule.kind == NULL || ld->w.schedule.chunks < 0 ||
        ld->w.batch.micro < 1) {
        return;
    }
    bool has_layout =
        note(ld, ms_layout_find(&ld->w, &job->mesh, ld->arena, ld->diag, &job->layout));
    bool has_costs = ld->w.model != NULL || ld->w.costs != NULL;
    if (has_layout && note(ld, count_microbatches(ld)) && note(ld, build_schedule(ld)) &&
        has_platform && has_model && has_costs) {
        fault(ld, find_costs(ld));
    }
}

ms_status ms_job_load(const ms_job_request *request, ms_arena *arena, ms_diag *diag,
                      ms_job *job_out) {
    ms_job *job = MS_NEW(arena, ms_job, 1);
    if (job == NULL) {
        ms_diag_error(diag, "out of memory while reading '%s'", request->workload);
        return MS_E_NOMEM;
    }
    loading ld = {.request = request, .arena = arena, .diag = diag, .job = job};
    ld.status = ms_workload_read(request, arena, diag, &ld.w);
    if (ld.w.root == NULL) {
        return ld.status;
    }
    load_parts(&ld);
    if (ld.status == MS_OK) {
        fault(&ld, set_names(&ld));
    }
    if (ld.status == MS_OK) {
        fault(&ld, ms_idle_keys_find(&ld.w, arena, diag, job));
    }
    if (ld.status == MS_OK) {
        *job_out = *job;
    }
    return ld.status;
}
