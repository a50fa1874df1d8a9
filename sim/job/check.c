/* Lays a spec (the keys of a workload as a struct) out to a job: mesh and GPUs, layout, batch,
 * order of passes, layers over stages. Each step checks the keys that only make sense together;
 * faults are reported at the key that has to change. `checking` carries the state of one such check
 * through its steps. */
#include <stdio.h>
#include <string.h>

#include "job/internal.h"

/* A check of a spec under way. */
typedef struct checking {
    const ms_job_spec *spec;
    const ms_platform *cluster;
    ms_arena *arena;
    ms_diag *diag;
    ms_job *out;
    ms_status status; /* first fault of any part */
} checking;

/* Keep a step's status if it is the first that is not MS_OK. Returns whether the step went well. */
static bool keep_status(checking *check, ms_status status) {
    check->status = check->status == MS_OK ? status : check->status;
    return status == MS_OK;
}

/* Write the sizes of a mesh into text [size], such as "pp 64 x dp 6 x tp 8". */
static void describe_mesh(const ms_mesh *mesh, char *text, size_t size) {
    int length = 0;
    text[0] = '\0';
    for (int a = 0; a < mesh->axes && length < (int)size; a++) {
        length += snprintf(text + length, size - (size_t)length, "%s%s %d", a > 0 ? " x " : "",
                           mesh->names[a], mesh->sizes[a]);
    }
}

/* Check that the mesh has as many ranks as the platform has GPUs, where the workload places no
 * ranks. If there are fewer ranks than GPUs, the message points to the key `placement`. */
static ms_status check_ranks(const checking *check) {
    int gpus = ms_platform_gpus(check->cluster);
    if (check->out->mesh.ranks == gpus) {
        return MS_OK;
    }
    char shape[128];
    bool is_part = check->out->mesh.ranks < gpus;
    describe_mesh(&check->out->mesh, shape, sizeof shape);
    return ms_spec_fault(check->spec, check->diag, "mesh",
                         "%s needs %d GPU%s, the platform '%s' has %d (%d node%s of %d)%s", shape,
                         check->out->mesh.ranks, ms_plural(check->out->mesh.ranks),
                         check->cluster->name, gpus, check->cluster->nodes,
                         ms_plural(check->cluster->nodes), check->cluster->gpus_per_node,
                         is_part ? "; 'placement' may leave GPUs idle" : "");
}

/* Give every rank its GPU. Without the key `placement` a mesh takes the whole platform: a job that
 * leaves GPUs out is a mistake more often than a wish. */
static ms_status place_ranks(const checking *check) {
    ms_key_diag at_key;
    ms_key_diag_init(&at_key, check->spec, "placement", check->diag);
    ms_status status = check->spec->placement.is_given ? MS_OK : check_ranks(check);
    status = status == MS_OK ? ms_placement_make(&check->spec->placement, check->cluster,
                                                 check->out->mesh.ranks, check->arena, &at_key.diag,
                                                 &check->out->placement)
                             : status;
    if (status == MS_OK) {
        check->out->mesh.devices = check->out->placement.gpus;
    }
    return status;
}

/* Check that the tp ranks fit into a scale-up domain, the GPUs that share the fast links, unless
 * the user allows more: a wider tp group is a mistake more often than a wish. */
static ms_status check_tensor_domain(const checking *check) {
    int tp = ms_mesh_size(&check->out->mesh, MS_AXIS_TP);
    int domain = ms_platform_scale_up_domain(check->cluster);
    if (tp <= domain || check->spec->allows_slow_tp) {
        return MS_OK;
    }
    return ms_spec_fault(check->spec, check->diag, "mesh.tp",
                         "%d tensor-parallel ranks are more than the %d GPU%s that share the fast "
                         "links; at most %d, or set tensor_parallel.allow_slow",
                         tp, domain, ms_plural(domain), domain);
}

/* Set the microbatches per step and replica, and the sequences per step, from the keys of `batch`.
 * Either `global` or `microbatches` is given, or both and they agree. */
static ms_status count_microbatches(const checking *check) {
    const ms_spec_batch *batch = &check->spec->batch;
    /* sequences that all replicas take together in one microbatch */
    long unit = (long)batch->micro * ms_layout_replicas(&check->out->layout);
    if (batch->global == 0 && batch->microbatches == 0) {
        return ms_spec_fault(check->spec, check->diag, "batch",
                             "expected 'global' (sequences per step) or 'microbatches'");
    }
    if (batch->global % unit != 0) {
        long least = batch->global < unit ? unit : batch->global / unit * unit;
        return ms_spec_fault(check->spec, check->diag, "batch.global",
                             "%d sequences do not divide into microbatches of %d on %ld "
                             "replicas (%ld at a time); nearest: %ld or %ld",
                             batch->global, batch->micro, unit / batch->micro, unit, least,
                             least + unit);
    }
    long microbatches = batch->global > 0 ? batch->global / unit : batch->microbatches;
    if (batch->microbatches > 0 && microbatches != batch->microbatches) {
        return ms_spec_fault(check->spec, check->diag, "batch.microbatches",
                             "%d disagrees with batch.global, which gives %ld", batch->microbatches,
                             microbatches);
    }
    if (microbatches > MS_BATCH_MAX / unit) {
        return ms_spec_fault(check->spec, check->diag, "batch",
                             "%ld microbatches of %d on %ld replicas are more than %d sequences",
                             microbatches, batch->micro, unit / batch->micro, (int)MS_BATCH_MAX);
    }
    check->out->microbatches = (int)microbatches;
    check->out->global_batch = (int)(microbatches * unit);
    return MS_OK;
}

/* Steps that a job with post-validation needs. Its ranks do not wait for each other at a step's
 * end, so they drift apart in the first step; a step between two others is the one that repeats. */
enum { POST_VALIDATION_STEPS_MIN = 3 };

/* Check that post-validation (schedule.step_end) has steps enough to be measured. A number below 1
 * is a fault of the key `steps` itself. */
static ms_status check_steps(const checking *check) {
    int steps = check->spec->simulation.steps;
    bool is_late = check->spec->schedule.step_end == MS_STEP_END_POST_VALIDATION;
    if (!is_late || steps < 1 || steps >= POST_VALIDATION_STEPS_MIN) {
        return MS_OK;
    }
    return ms_spec_fault(check->spec, check->diag, "schedule.step_end",
                         "post_validation is measured between steps that overlap and needs "
                         "'steps: %d' or more, got %d",
                         (int)POST_VALIDATION_STEPS_MIN, steps);
}

/* Check that the GPU type has a peak for the format that products multiply in. */
static ms_status check_products(const checking *check) {
    ms_product_format format = check->spec->precision.products.format;
    const ms_gpu_type *gpu = &check->cluster->gpu;
    if (!check->spec->has_model || format == MS_PRODUCT_PLAIN ||
        gpu->products.of[format].peak_flop_per_s > 0) {
        return MS_OK;
    }
    const char *word = ms_job_spec_words("precision.products")[format];
    return ms_spec_fault(check->spec, check->diag, "precision.products",
                         "%s: the GPU '%s' has no such products: its type has no '%s: {peak: ...}' "
                         "('platform.gpu.%s.peak' sets one)",
                         word, gpu->name, word, word);
}

/* Check that there are attention kernels for the format that precision.attention names. */
static ms_status check_attention_format(const checking *check) {
    const ms_products *products = &check->spec->precision.products;
    const char *against =
        check->spec->has_model
            ? ms_attention_format_against(&check->spec->model, &check->out->layout, products,
                                          &check->cluster->gpu)
            : NULL;
    return against == NULL
               ? MS_OK
               : ms_spec_fault(check->spec, check->diag, "precision.attention", "%s on '%s': %s",
                               ms_job_spec_words("precision.attention")[products->attention],
                               check->cluster->gpu.name, against);
}

/* Check that a job in fp32 can run: the GPU type must have rates of fp32 products, and attention
 * must be unfused, as no fused kernel takes fp32. Source: flash-attention, README ("Datatype fp16
 * and bf16"); Transformer Engine, get_attention_backend (FlashAttention and FusedAttention for
 * fp16, bf16 and fp8 alone). */
static ms_status check_single(const checking *check) {
    const ms_gpu_type *gpu = &check->cluster->gpu;
    if (!check->spec->has_model || check->spec->precision.parameters != MS_DTYPE_FP32) {
        return MS_OK;
    }
    if (gpu->products.single.peak_flop_per_s <= 0) {
        return ms_spec_fault(check->spec, check->diag, "precision.parameters",
                             "fp32: what products of it reach on '%s' is not known: its type has "
                             "no 'fp32: {peak: ...}' ('platform.gpu.fp32.peak' sets one)",
                             gpu->name);
    }
    if (check->spec->model.attention != MS_ATTENTION_UNFUSED) {
        return ms_spec_fault(check->spec, check->diag, "precision.parameters",
                             "fp32: fused kernels of attention take bf16 and fp16 only; set "
                             "'model.attention: unfused'");
    }
    return MS_OK;
}

/* Check that communication leaves SMs for computation in overlapped pairs of passes. */
static ms_status check_sms(const checking *check) {
    int held = check->spec->schedule.communication_sms;
    const ms_gpu_type *gpu = &check->cluster->gpu;
    if (held < gpu->sms) {
        return MS_OK;
    }
    return ms_spec_fault(check->spec, check->diag, "schedule.communication_sms",
                         "%d leave none of the %d SMs of '%s' to compute", held, gpu->sms,
                         gpu->name);
}

/* Set the job's mesh from the sizes of its axes. */
static ms_status build_mesh(const checking *check) {
    const ms_spec_mesh *mesh = &check->spec->mesh;
    ms_key_diag at_key;
    ms_key_diag_init(&at_key, check->spec, "mesh", check->diag);
    return ms_mesh_init(&check->out->mesh, mesh->names, mesh->sizes, mesh->axes, &at_key.diag);
}

/* Set the job's mesh of experts, where `expert_mesh` gives one: the same ranks along other axes. */
static ms_status build_expert_mesh(const checking *check) {
    const ms_expert_axes *axes = &check->spec->experts;
    if (axes->ep == 0) {
        return axes->tp > 1 || axes->order.count > 0
                   ? ms_spec_fault(check->spec, check->diag, "expert_mesh",
                                   "expected 'ep', the ranks that the experts are spread over")
                   : MS_OK;
    }
    ms_mesh *experts = MS_NEW(check->arena, ms_mesh, 1);
    if (experts == NULL) {
        return MS_E_NOMEM;
    }
    ms_key_diag at_key;
    ms_key_diag_init(&at_key, check->spec, "expert_mesh", check->diag);
    check->out->expert_mesh = experts;
    return ms_mesh_of_experts(&check->out->mesh, axes, &at_key.diag, experts);
}

/* Check that every list of given costs has one value, or one per virtual stage (costs.optimizer:
 * per pipeline rank). */
static ms_status check_costs(const checking *check) {
    const ms_given_costs *costs = &check->spec->costs;
    size_t ranks = (size_t)check->out->layout.pp,
           stages = ranks * (size_t)check->out->layout.chunks;
    const struct {
        const char *key_path;
        const ms_numbers *values;
        size_t wanted;
    } LISTS[] = {{"costs.forward", &costs->forward, stages},
                 {"costs.input_gradient", &costs->input_gradient, stages},
                 {"costs.weight_gradient", &costs->weight_gradient, stages},
                 {"costs.p2p", &costs->p2p, stages},
                 {"costs.states", &costs->states, stages},
                 {"costs.activations", &costs->activations, stages},
                 {"costs.optimizer", &costs->optimizer, ranks}};
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof LISTS / sizeof LISTS[0]; i++) {
        size_t count = LISTS[i].values->count;
        if (count != 1 && count != LISTS[i].wanted) {
            status = ms_spec_fault(check->spec, check->diag, LISTS[i].key_path,
                                   "list of '%zu' values, expected one value or %zu", count,
                                   LISTS[i].wanted);
        }
    }
    return status;
}

/* Whether the keys that an order of passes needs could be read; their faults are reported
 * already. */
static bool has_order(const ms_job_spec *spec) {
    const ms_spec_schedule *schedule = &spec->schedule;
    bool is_named = schedule->kind != MS_SCHEDULE_CUSTOM || schedule->csv != NULL;
    return is_named && schedule->chunks >= 0 && spec->batch.micro >= 1;
}

/* Lay out all of the job but its order of passes. A step runs when the steps that it needs went
 * well, so that one call reports the faults of all that can be judged. Returns whether the order
 * can be built. */
static bool lay_out_shape(checking *check) {
    const ms_job_spec *spec = check->spec;
    bool has_mesh = spec->mesh.axes > 0 && keep_status(check, build_mesh(check));
    keep_status(check, check_steps(check));
    if (has_mesh && check->cluster != NULL) {
        keep_status(check, place_ranks(check));
        keep_status(check, check_tensor_domain(check));
        keep_status(check, check_products(check));
        keep_status(check, check_single(check));
        keep_status(check, check_sms(check));
    }
    /* after place_ranks, as the experts' mesh takes over the GPUs of the job's mesh */
    has_mesh = has_mesh && keep_status(check, build_expert_mesh(check));
    if (!has_mesh || !has_order(spec)) {
        return false;
    }
    bool has_layout =
        keep_status(check, ms_spec_find_layout(check->out, check->arena, check->diag));
    if (has_layout && check->cluster != NULL) {
        keep_status(check, check_attention_format(check));
    }
    if (has_layout) {
        keep_status(check, ms_spec_check_refusals(spec, &check->out->layout, check->diag));
    }
    return has_layout && keep_status(check, count_microbatches(check));
}

/* Build the order of passes, and check given costs against the number of its stages. */
static ms_status lay_out_order(const checking *check) {
    const ms_job_spec *spec = check->spec;
    ms_status status = ms_spec_build_program(check->out, check->arena, check->diag);
    bool has_costs = !spec->has_model && spec->costs.forward.count > 0;
    return status == MS_OK && has_costs ? check_costs(check) : status;
}

/* Begin a job with its spec. All other bytes are 0, padding included, because searches compare
 * layouts and precisions byte by byte (ms_memo). */
static void begin_job(const ms_job_spec *spec, ms_job *job) {
    memset(job, 0, sizeof *job);
    job->spec = *spec;
    job->name = spec->name;
    job->platform = spec->platform.cluster;
    job->precision.parameter_B = ms_dtype_B(spec->precision.parameters);
    job->precision.gradient_B = ms_dtype_B(spec->precision.gradients);
    job->precision.optimizer_B = spec->precision.optimizer_B;
    job->precision.products = spec->precision.products;
    job->host = ms_spec_host_of(spec);
}

/* The state of a check of a job that begin_job has begun. */
static checking begin(ms_job *job, ms_arena *arena, ms_diag *diag) {
    return (checking){
        .spec = &job->spec, .cluster = job->platform, .arena = arena, .diag = diag, .out = job};
}

/* Report the faults that laying out a spec finds, as far as its parts are there. The job that is
 * laid out on the way is dropped. */
void ms_spec_check_parts(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag) {
    ms_job job;
    begin_job(spec, &job);
    checking check = begin(&job, arena, diag);
    if (lay_out_shape(&check)) {
        lay_out_order(&check);
    }
}

/* Lay out all of a job but its order of passes. *job_out is set on success only. */
ms_status ms_job_shape(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag, ms_job *job_out) {
    ms_job job;
    begin_job(spec, &job);
    checking check = begin(&job, arena, diag);
    if (keep_status(&check, ms_spec_check_fields(spec, diag)) && lay_out_shape(&check)) {
        keep_status(&check, ms_spec_count_node_ranks(&job, arena));
    }
    if (check.status == MS_OK) {
        *job_out = job;
    }
    return check.status;
}

ms_status ms_job_order(ms_job *job, ms_arena *arena, ms_diag *diag) {
    checking check = begin(job, arena, diag);
    return lay_out_order(&check);
}

/* Share the model's layers out among the stages, and check the model against the layout. */
ms_status ms_job_partition(ms_job *job, ms_arena *arena, ms_diag *diag) {
    ms_status status = ms_spec_partition_layers(job, arena, diag);
    if (status != MS_OK) {
        return status;
    }
    ms_key_diag at_key;
    ms_key_diag_init(&at_key, &job->spec, "model", diag);
    return ms_layout_check(&job->spec.model, &job->layout, &job->platform->gpu, &at_key.diag);
}

/* Lay a spec out to a job in three parts: shape, order of passes, layers over stages. */
ms_status ms_job_lay_out(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag, ms_job *job_out) {
    ms_job job;
    ms_status status = ms_job_shape(spec, arena, diag, &job);
    status = status == MS_OK ? ms_job_order(&job, arena, diag) : status;
    if (status == MS_OK && spec->has_model) {
        status = ms_job_partition(&job, arena, diag);
    }
    if (status == MS_OK) {
        *job_out = job;
    }
    return status;
}
