/* `export torchtitan`: a job as torchtitan's job config, in TOML. There is no importer that would
 * read it back: each line stands beside the keys of the workload that it says, which are laid over
 * torchtitan's profile.
 * Source: pytorch/torchtitan 000204a4 of August 2025, torchtitan.config.job_config; names of
 * schedules: PyTorch, torch.distributed.pipelining.schedules. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "study/export/kinds.h"

static const char SOFTWARE[] = "torchtitan";
static const char FRAMEWORK[] = "torchtitan-2025";

static const ms_export_reason REASONS[] = {
    {"platform", "the cluster that the launcher starts the job on"},
    {"placement", "ranks fill the nodes in the launcher's order"},
    {"framework", "which software runs is not said by its config"},
    {"fidelity", "how the job is simulated, no part of it"},
    {"granularity", "how the job is simulated, no part of it"},
    {"steps", "how many steps are simulated, no part of the job"},
    {"host", "how fast hosts launch is found by running"},
    {"collectives", "the library chooses; the environment variable NCCL_ALGO says otherwise"},
    {"mesh.order", "ranks lie as tp, cp, dp and pp say, innermost first"},
    {"mesh", "a mesh has tp, cp, pp, and replicas that share state, or not"},
    {"expert_mesh", "experts lie over replicas, and are cut by tp as the other layers"},
    {"model", "the model's code and its flavor say it"},
    {"schedule.kind", "schedules are those of torch.distributed.pipelining"},
    {"schedule", "no key of the config says it"},
    {"precision.parameters", "parameters are mixed in bfloat16, or float32"},
    {"precision.gradients", "gradients are reduced in float32"},
    {"precision.optimizer", "AdamW keeps its state in the type of the sharded parameters"},
    {"precision", "products are torchao's, in float8 by tensors or rows, or in mxfp8"},
    {"tensor_parallel", "layers are cut by DTensor, with sequence parallelism"},
    {"context_parallel", "keys and values are gathered, or go around a ring"},
    {"data_parallel.zero", "FSDP shards parameters with all else; without it nothing is"},
    {"data_parallel.offload", "enable_cpu_offload moves parameters and gradients, too"},
    {"data_parallel", "FSDP2 does it in its own way"},
    {"pipeline.communicator", "stages send in batches, in the pipeline's group"},
    {"pipeline.scatter_gather", "stages send whole tensors"},
    {"recompute", "whole layers, or every second product with norms and activations"},
    {"recompute_parts", "whole layers, or every second product with norms and activations"},
    {"memory.allocator_overhead", "what the allocator loses is found by running"},
    {"memory", "what the software holds follows from its version"},
    {NULL, NULL}};

/* One export. */
typedef struct titan_export {
    const ms_export_source *source;
    const ms_job_spec *spec; /* settled */
    ms_arena *arena;
    ms_diag *diag;
    ms_buffer text;
    ms_vector claims; /* const char *: what is said, as overrides of the profile's spec */
} titan_export;

/* ---- lines ---- */

static void section(titan_export *x, const char *name) {
    ms_buffer_printf(&x->text, "\n[%s]\n", name);
}

static void say_int(titan_export *x, const char *name, long value) {
    ms_buffer_printf(&x->text, "%s = %ld\n", name, value);
}

static void say_bool(titan_export *x, const char *name, bool value) {
    ms_buffer_printf(&x->text, "%s = %s\n", name, value ? "true" : "false");
}

/* A basic string of TOML. */
static void put_string(titan_export *x, const char *text) {
    ms_buffer_puts(&x->text, "\"");
    for (; *text != '\0'; text++) {
        bool is_control = (unsigned char)*text < ' ' || *text == 0x7f;
        if (is_control) {
            ms_buffer_printf(&x->text, "\\u%04X", (unsigned)(unsigned char)*text);
        } else {
            ms_buffer_printf(&x->text, "%s%c", *text == '"' || *text == '\\' ? "\\" : "", *text);
        }
    }
    ms_buffer_puts(&x->text, "\"");
}

static void say_word(titan_export *x, const char *name, const char *word) {
    ms_buffer_printf(&x->text, "%s = ", name);
    put_string(x, word);
    ms_buffer_puts(&x->text, "\n");
}

/* What the line before says of the workload. */
static void claim(titan_export *x, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void claim(titan_export *x, const char *key, const char *format, ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *value = MS_NEW(x->arena, char, length + 1);
    const char *set = NULL;
    if (value != NULL) {
        vsnprintf(value, (size_t)length + 1, format, again);
        set = ms_export_override(x->arena, key, value);
    }
    if (set == NULL || ms_vector_add(&x->claims, &set, 1) == NULL) {
        x->text.failed = true;
    }
    va_end(again);
    va_end(args);
}

/* ---- training ---- */

/* Without a pipeline the local batch is a microbatch, and gradients are accumulated; a pipeline
 * cuts the local batch in microbatches itself. */
static void say_training(titan_export *x) {
    const ms_job *job = x->source->job;
    const ms_job_spec *spec = x->spec;
    bool is_half = spec->precision.parameters != MS_DTYPE_FP32;
    bool is_compiled = spec->model.kernels != MS_KERNELS_EAGER;
    long local = (long)spec->batch.micro * (job->layout.pp > 1 ? job->microbatches : 1);
    section(x, "training");
    say_int(x, "seq_len", spec->model.sequence);
    say_int(x, "local_batch_size", local);
    claim(x, "batch.micro", "%d", spec->batch.micro);
    say_int(x, "global_batch_size", spec->batch.global);
    claim(x, "batch.global", "%d", spec->batch.global);
    say_word(x, "mixed_precision_param", is_half ? "bfloat16" : "float32");
    claim(x, "precision.parameters", is_half ? "bf16" : "fp32");
    say_word(x, "mixed_precision_reduce", "float32");
    claim(x, "precision.gradients", "fp32");
    say_bool(x, "compile", is_compiled);
    claim(x, "model.kernels", is_compiled ? "compiled" : "eager");
}

/* ---- axes ---- */

/* Replicas: those that share state, and copies of these. */
static void say_replicas(titan_export *x) {
    const ms_job_spec *spec = x->spec;
    const ms_spec_mesh *mesh = &spec->mesh;
    const char *other = NULL;
    int dp = ms_spec_axis_size(mesh, "dp"), copies = 1;
    for (int axis = 0; axis < mesh->axes; axis++) {
        bool is_own = strcmp(mesh->names[axis], "dp") != 0 &&
                      strcmp(mesh->names[axis], "pp") != 0 &&
                      strcmp(mesh->names[axis], "cp") != 0 &&
                      strcmp(mesh->names[axis], "tp") != 0 && strcmp(mesh->names[axis], "ep") != 0;
        other = is_own ? mesh->names[axis] : other;
        copies = is_own ? mesh->sizes[axis] : copies;
    }
    bool is_sharded = spec->data.zero > 0;
    bool is_hybrid = is_sharded && other != NULL && spec->data.shard.count == 1 &&
                     strcmp(spec->data.shard.items[0], "dp") == 0;
    int shared = is_hybrid ? dp : dp * copies;
    say_int(x, "data_parallel_replicate_degree", !is_sharded ? shared : is_hybrid ? copies : 1);
    say_int(x, "data_parallel_shard_degree", is_sharded ? shared : 1);
    claim(x, "mesh.dp", "%d", shared);
    claim(x, "data_parallel.zero", is_sharded ? "3" : "0");
    if (is_hybrid) {
        claim(x, ms_arena_printf(x->arena, "mesh.%s", other), "%d", copies);
        claim(x, "data_parallel.shard", "[dp]");
    }
    claim(x, "mesh.order", "[pp, %s%sdp, cp, tp]", is_hybrid ? other : "", is_hybrid ? ", " : "");
    if (is_sharded) {
        say_word(x, "fsdp_reshard_after_forward", spec->data.keeps_parameters ? "never" : "always");
        claim(x, "data_parallel.keep_parameters", spec->data.keeps_parameters ? "true" : "false");
    } else { /* DistributedDataParallel's buckets are views of the gradients */
        claim(x, "data_parallel.overlap_gather", "false");
        claim(x, "data_parallel.units", "in_place");
    }
}

static void say_axes(titan_export *x) {
    const ms_job_spec *spec = x->spec;
    int tp = ms_spec_axis_size(&spec->mesh, "tp"), cp = ms_spec_axis_size(&spec->mesh, "cp");
    bool is_ring = spec->context.kind == MS_CP_RING;
    if (tp > 1) {
        say_int(x, "tensor_parallel_degree", tp);
        claim(x, "mesh.tp", "%d", tp);
        claim(x, "tensor_parallel.sequence", "true");
    }
    if (cp > 1) {
        say_int(x, "context_parallel_degree", cp);
        claim(x, "mesh.cp", "%d", cp);
        say_word(x, "context_parallel_rotate_method", is_ring ? "alltoall" : "allgather");
        claim(x, "context_parallel.kind", is_ring ? "ring" : "all_gather");
    }
    if (spec->model.moe.experts > 0 && spec->experts.ep > 1) {
        say_int(x, "expert_parallel_degree", spec->experts.ep);
        claim(x, "expert_mesh.ep", "%d", spec->experts.ep);
        claim(x, "expert_mesh.tp", "%d", tp);
    }
}

/* ---- stages ---- */

/* Kinds and their names; others run as 1F1B or, with several stages to a rank, interleaved. */
static const struct {
    ms_schedule_kind kind;
    const char *name;
} SCHEDULES[] = {{MS_SCHEDULE_GPIPE, "GPipe"},
                 {MS_SCHEDULE_1F1B, "1F1B"},
                 {MS_SCHEDULE_INTERLEAVED_TORCH, "Interleaved1F1B"},
                 {MS_SCHEDULE_LOOPED_BFS, "LoopedBFS"},
                 {MS_SCHEDULE_ZB1P, "InterleavedZeroBubble"},
                 {MS_SCHEDULE_ZBV, "ZBVZeroBubble"},
                 {MS_SCHEDULE_DUALPIPEV, "DualPipeV"}};

/* Layers of the stages that torchtitan gets: [count]. */
typedef struct titan_stages {
    int *layers;
    int count, chunks;
} titan_stages;

/* Stages as the job has them, where a rank's are dealt in turn or in the V of a schedule that is
 * known; else all of a rank are one. */
static bool list_stages(const titan_export *x, bool is_known, titan_stages *out) {
    const ms_program *program = &x->source->job->program;
    const int *layers = x->source->job->layout.stage_layers;
    int pp = ms_spec_axis_size(&x->spec->mesh, "pp"), stages = program->model_stages;
    bool is_dealt = true;
    for (int stage = 0; stage < stages && is_dealt; stage++) {
        is_dealt = program->stage_rank[stage] == stage % pp;
    }
    bool is_same = is_known || is_dealt;
    out->count = is_same ? stages : pp;
    out->chunks = out->count / pp;
    out->layers = MS_NEW(x->arena, int, out->count + 1);
    for (int stage = 0; out->layers != NULL && layers != NULL && stage < stages; stage++) {
        out->layers[is_same ? stage : program->stage_rank[stage]] += layers[stage];
    }
    return out->layers != NULL;
}

/* Where each stage but the first begins; false: one has no layers and is no end. */
static bool say_points(titan_export *x, const titan_stages *stages) {
    for (int stage = 1; stage < stages->count - 1; stage++) {
        if (stages->layers[stage] == 0) {
            return false;
        }
    }
    ms_buffer_puts(&x->text, "pipeline_parallel_split_points = [");
    for (int stage = 1, first = stages->layers[0]; stage < stages->count; stage++) {
        bool is_bare = stages->layers[stage] == 0; /* norm and output alone */
        ms_buffer_puts(&x->text, stage == 1 ? "" : ", ");
        if (is_bare) {
            ms_buffer_puts(&x->text, "\"norm\"");
        } else {
            ms_buffer_printf(&x->text, "\"layers.%d\"", first);
        }
        first += stages->layers[stage];
    }
    ms_buffer_puts(&x->text, "]\n");
    return true;
}

static void claim_layers(titan_export *x, const titan_stages *stages) {
    ms_buffer list;
    ms_buffer_init(&list);
    for (int stage = 0; stage < stages->count; stage++) {
        ms_buffer_printf(&list, "%s%d", stage == 0 ? "" : ", ", stages->layers[stage]);
    }
    claim(x, "schedule.stage_layers", "[%s]", ms_buffer_text(&list));
    ms_buffer_release(&list);
}

static void say_pipeline(titan_export *x) {
    const ms_job_spec *spec = x->spec;
    int pp = ms_spec_axis_size(&spec->mesh, "pp");
    const char *name = NULL;
    titan_stages stages;
    for (size_t i = 0; i < sizeof SCHEDULES / sizeof SCHEDULES[0]; i++) {
        name = SCHEDULES[i].kind == spec->schedule.kind ? SCHEDULES[i].name : name;
    }
    if (pp == 1) {
        claim(x, "schedule.kind", "1f1b");
        return;
    }
    if (!list_stages(x, name != NULL, &stages)) {
        x->text.failed = true;
        return;
    }
    bool is_known = name != NULL;
    name = is_known ? name : stages.chunks > 1 ? "Interleaved1F1B" : "1F1B";
    say_int(x, "pipeline_parallel_degree", pp);
    claim(x, "mesh.pp", "%d", pp);
    say_word(x, "pipeline_parallel_schedule", name);
    claim(x, "schedule.kind", "%s",
          is_known            ? ms_schedule_kind_name(spec->schedule.kind)
          : stages.chunks > 1 ? "interleaved_torch"
                              : "1f1b");
    if (stages.chunks > 1) {
        claim(x, "schedule.v", "%d", stages.chunks);
    }
    if (say_points(x, &stages)) {
        claim_layers(x, &stages);
    }
    say_int(x, "pipeline_parallel_microbatch_size", spec->batch.micro);
}

/* ---- layers ---- */

static void say_recompute(titan_export *x) {
    const ms_spec_recompute *recompute = &x->spec->recompute;
    const unsigned operations =
        MS_RECOMPUTE_NORMS | MS_RECOMPUTE_ACTIVATIONS | MS_RECOMPUTE_PRODUCTS;
    bool is_full = recompute->kind == MS_RECOMPUTE_FULL;
    bool is_by_operation = !is_full && recompute->parts == operations;
    section(x, "activation_checkpoint");
    say_word(x, "mode", is_full ? "full" : is_by_operation ? "selective" : "none");
    claim(x, "recompute", is_full ? "full" : "none");
    if (is_by_operation) {
        say_word(x, "selective_ac_option", "op");
    }
    claim(x, "recompute_parts", is_by_operation ? "[norms, activations, products]" : "[]");
}

static void say_products(titan_export *x) {
    const ms_products *products = &x->spec->precision.products;
    bool is_mx = products->format == MS_PRODUCT_MXFP8;
    bool is_rowwise = products->scaling == MS_SCALING_ROWWISE;
    bool is_float8 = products->format == MS_PRODUCT_FP8 &&
                     (is_rowwise || products->scaling == MS_SCALING_CURRENT);
    bool is_gathered = products->parameter_gathers == MS_TYPE_OF_PRODUCTS;
    if (!is_mx && !is_float8) {
        return;
    }
    section(x, "model");
    ms_buffer_printf(&x->text, "converters = [\"%s\"]\n", is_mx ? "mx" : "float8");
    section(x, is_mx ? "mx" : "float8");
    say_word(x, "recipe_name", is_mx ? "mxfp8" : is_rowwise ? "rowwise" : "tensorwise");
    claim(x, "precision.products", is_mx ? "mxfp8" : "fp8");
    if (is_float8) {
        claim(x, "precision.scaling", is_rowwise ? "rowwise" : "current");
        say_bool(x, "enable_fsdp_float8_all_gather", is_gathered);
    }
    claim(x, "precision.parameter_gathers", is_float8 && is_gathered ? "products" : "parameters");
}

/* ---- all ---- */

static ms_status find_unsaid(titan_export *x, ms_vector *unsaid) {
    static const ms_export_reasons ALL = {REASONS, "no key of the config says it"};
    const ms_words sets = {.items = x->claims.data, .count = x->claims.count};
    const ms_export_software theirs = {
        .framework = FRAMEWORK, .data_folder = x->source->data_folder, .sets = &sets};
    const ms_unsaid model = {.key = "model",
                             .value = x->spec->model.name,
                             .why = "its code and its flavor say it; name both under [model]"};
    ms_export_pair pair = {.mine = *x->spec};
    ms_status status = ms_export_adopt(&theirs, x->arena, x->diag, &pair);
    if (status == MS_OK && ms_vector_add(unsaid, &model, 1) == NULL) {
        status = ms_diag_no_memory(x->diag);
    }
    return status == MS_OK ? ms_export_compare(&pair, &ALL, x->arena, x->diag, unsaid) : status;
}

static void say_all(titan_export *x) {
    say_training(x);
    section(x, "parallelism");
    say_replicas(x);
    say_axes(x);
    say_pipeline(x);
    say_recompute(x);
    say_products(x);
}

static ms_status finish(titan_export *x, ms_exported *out) {
    ms_vector unsaid;
    ms_buffer head;
    ms_vector_init(&unsaid, sizeof(ms_unsaid));
    ms_buffer_init(&head);
    ms_status status = find_unsaid(x, &unsaid);
    if (status == MS_OK) {
        ms_export_name(x->source, "# Exported by meshsim: torchtitan's job config for\n", &head);
        ms_buffer_puts(&head, "# What no key of it says, and what torchtitan then does:\n");
        ms_export_comment(&unsaid, SOFTWARE, &head);
        ms_buffer_puts(&head, ms_buffer_text(&x->text));
        out->text = head.failed ? NULL : ms_arena_strdup(x->arena, ms_buffer_text(&head));
        status = out->text == NULL ? ms_diag_no_memory(x->diag)
                                   : ms_export_keep(&unsaid, x->arena, x->diag, out);
    }
    ms_buffer_release(&head);
    ms_vector_release(&unsaid);
    return status;
}

static ms_status write_torchtitan(const ms_export_source *source, ms_arena *arena, ms_diag *diag,
                                  ms_exported *out) {
    ms_job_spec spec;
    ms_status status = ms_export_settle(source->job, arena, diag, &spec);
    titan_export x = {.source = source, .spec = &spec, .arena = arena, .diag = diag};
    ms_buffer_init(&x.text);
    ms_vector_init(&x.claims, sizeof(const char *));
    if (status == MS_OK) {
        say_all(&x);
        status = x.text.failed ? ms_diag_no_memory(diag) : finish(&x, out);
    }
    ms_buffer_release(&x.text);
    ms_vector_release(&x.claims);
    return status;
}

const ms_export_kind ms_export_torchtitan = {
    .name = "torchtitan",
    .software = SOFTWARE,
    .summary = "torchtitan's job config, TOML",
    .ending = ".toml",
    .has_comments = true,
    .write = write_torchtitan,
};
