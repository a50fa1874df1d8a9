/* `export megatron`: a job as the arguments of Megatron-LM, in a script that can be sourced or run.
 * What they leave unsaid is found by importing them. */
#include <string.h>

#include "study/export/megatron.h"

static const char SOFTWARE[] = "Megatron-LM";
static const char USUAL_FRAMEWORK[] = "megatron-core";

static const ms_export_reason REASONS[] = {
    {"platform", "the cluster that the launcher starts the job on"},
    {"placement", "ranks fill the nodes in the launcher's order"},
    {"framework", "which software runs is not said by its arguments"},
    {"fidelity", "how the job is simulated, no part of it"},
    {"granularity", "how the job is simulated, no part of it"},
    {"steps", "how many steps are simulated, no part of the job"},
    {"host", "how fast hosts launch is found by running"},
    {"collectives", "the library chooses; the environment variable NCCL_ALGO says otherwise"},
    {"mesh.order", "ranks lie as tp, cp, ep, dp and pp say, innermost first, or with dp outermost"},
    {"mesh", "a mesh has tp, cp, pp, and what the GPUs leave as replicas"},
    {"expert_mesh", "experts lie over the tp, cp and dp ranks of a stage"},
    {"schedule.kind", "pipelines are 1F1B and its interleaved form"},
    {"schedule.v", "stages of a rank are dealt in turn, in an interleaved pipeline"},
    {"schedule.stage_layers", "stages of a rank are dealt in turn, in an interleaved pipeline"},
    {"schedule.communication_sms", "no pass runs beside another one's all-to-alls"},
    {"schedule.sends", "messages block in an interleaved pipeline where that is asked for"},
    {"schedule", "no argument says it"},
    {"model.vocab", "an embedding and a head are there in any case"},
    {"model.bias", "latent attention and experts have none"},
    {"model.attention", "Transformer Engine chooses the kernel"},
    {"model.kernels", "kernels are Megatron-LM's own"},
    {"model.projections", "kernels are Megatron-LM's own"},
    {"model.loss", "the loss is Megatron-LM's, or Transformer Engine's"},
    {"model.positions", "positions are learned, or queries and keys are rotated"},
    {"model.moe.shared_experts", "shared experts are one MLP of their sizes together"},
    {"model.moe.shared_ffn", "shared experts are one MLP of their sizes together"},
    {"model.moe.imbalance", "which experts tokens choose is found by training"},
    {"model.moe.seed", "which experts tokens choose is found by training"},
    {"model.moe.node_limit", "groups of experts (--moe-router-num-groups) are no nodes"},
    {"precision.optimizer", "an optimizer's bytes follow from its kind and types"},
    {"precision.attention", "the environment variable NVTE_FP8_DPA_BWD=0 leaves the attention's "
                            "backward pass in the working type"},
    {"precision", "no argument says it"},
    {"tensor_parallel.overlap", "layers overlap collectives of the backward pass, or with "
                                "--tp-comm-overlap pieces of products, not of experts and latents"},
    {"tensor_parallel.style", "layers are Megatron-LM's own"},
    {"tensor_parallel.allow_slow", "a check of meshsim's"},
    {"tensor_parallel.sequence", "experts beside several tp ranks need it"},
    {"data_parallel.bucketing", "buckets are cut as Megatron Core cuts them, or its FSDP"},
    {"data_parallel.bucket", "buckets are counted in elements, and only cut beside passes"},
    {"data_parallel.overlap_gather", "gathers overlap only beside reductions that do, and where "
                                     "state is sharded"},
    {"data_parallel.overlap_reduce", "PyTorch's FSDP overlaps in any case"},
    {"data_parallel.reduce",
     "gradients are reduced behind the last microbatch, by FSDP behind each "
     "where there is no pipeline"},
    {"data_parallel.update", "the optimizer is Megatron Core's"},
    {"data_parallel.units", "the software lays its units out"},
    {"data_parallel.shard", "state is sharded over all replicas, in "
                            "--num-distributed-optimizer-instances copies"},
    {"pipeline.communicator",
     "messages are batched in the pipeline's group, but for an interleaved "
     "pipeline that overlaps them"},
    {"pipeline.scatter_gather", "sequence parallelism sends shares in any case"},
    {"memory.allocator_overhead", "what the allocator loses is found by running"},
    {"memory", "what the software holds follows from its version and the other arguments"},
    {NULL, NULL}};

/* ---- the file ---- */

static void put_launcher(const ms_job *job, ms_buffer *out) {
    long ranks = ms_spec_ranks(&job->spec);
    int node = job->platform.gpus_per_node;
    int local = ranks < node ? (int)ranks : node;
    while (ranks % local != 0) {
        local--;
    }
    ms_buffer_printf(out, "LAUNCHER=(torchrun --nproc_per_node %d --nnodes %ld)\n", local,
                     ranks / local);
}

static void put_body(const ms_megatron_export *x, ms_buffer *out) {
    put_launcher(x->source->job, out);
    ms_buffer_printf(out, "MEGATRON_ARGS=(\n%s)\n", ms_buffer_text(&x->lines));
    ms_buffer_puts(out, "if [[ \"${BASH_SOURCE[0]}\" == \"$0\" ]]; then\n"
                        "    exec \"${LAUNCHER[@]}\" pretrain_gpt.py \"${MEGATRON_ARGS[@]}\" "
                        "\"$@\"\n"
                        "fi\n");
    out->failed = out->failed || x->lines.failed;
}

static void put_head(const ms_megatron_export *x, const ms_vector *unsaid, ms_buffer *out) {
    ms_export_name(x->source,
                   "#!/bin/bash\n# Exported by meshsim: the arguments of Megatron-LM for\n", out);
    ms_buffer_puts(out, "# Source it for MEGATRON_ARGS, or run it with those of data, tokenizer "
                        "and learning rate behind it.\n");
    if (unsaid->count > 0) {
        ms_buffer_puts(out, "# What no argument says, and what Megatron-LM then does:\n");
        ms_export_comment(unsaid, SOFTWARE, out);
    }
}

/* ---- reading it back ---- */

/* One reading. */
typedef struct read_back {
    ms_megatron_export *x;
    ms_diag *diag;
    ms_megatron_arguments arguments;
    ms_megatron_job job;
    const char *framework;
} read_back;

/* The profile whose arguments these are: Megatron Core's, of the version that the job has. */
static const char *framework_of(const ms_job_spec *spec) {
    const char *name = spec->framework.name;
    bool is_core = name != NULL && strncmp(name, USUAL_FRAMEWORK, strlen(USUAL_FRAMEWORK)) == 0;
    return is_core ? name : USUAL_FRAMEWORK;
}

/* The keys as overrides of the profile's spec; those that stay open are the job's own, and told.
 */
static ms_status list_sets(read_back *r, ms_words *sets_out, ms_vector *unsaid) {
    static const char *const OPEN[] = {"model.kv_heads=null", "model.head_dim=null",
                                       "model.ffn=null"};
    const bool has_experts = r->x->spec->model.moe.experts > 0;
    size_t count = r->job.settings.count;
    ms_words sets = {.items = MS_NEW(r->x->arena, const char *, count + 4)};
    bool is_fine = sets.items != NULL;
    for (size_t i = 0; is_fine && i < 3; i++) {
        sets.items[sets.count++] = OPEN[i];
    }
    if (is_fine) {
        sets.items[sets.count++] = has_experts ? "model.moe.ffn=null" : "model.moe=null";
    }
    for (size_t i = 0; i < count && is_fine; i++) {
        const ms_megatron_setting *setting = &MS_AT(&r->job.settings, ms_megatron_setting, i);
        if (setting->set != NULL) {
            sets.items[sets.count++] = setting->set;
            continue;
        }
        const ms_unsaid row = {.key = setting->key,
                               .value = ms_megatron_key(r->x, setting->key),
                               .why = "an argument must say it, and none says this"};
        is_fine = ms_vector_add(unsaid, &row, 1) != NULL;
    }
    *sets_out = sets;
    return is_fine ? MS_OK : ms_diag_no_memory(r->diag);
}

/* Arguments that the importer, too, simulates otherwise. */
static ms_status tell_arguments(read_back *r, ms_vector *unsaid) {
    for (size_t i = 0; i < r->arguments.items.count; i++) {
        const ms_megatron_argument *argument = &MS_AT(&r->arguments.items, ms_megatron_argument, i);
        bool is_optimizer = strcmp(argument->name, "--optimizer") == 0;
        const ms_unsaid row = {
            .key = argument->name,
            .value = is_optimizer ? argument->value : NULL,
            .why = is_optimizer
                       ? "chosen by its bytes, all that a workload says of it"
                       : ms_arena_printf(r->x->arena, "simulated otherwise: %s", argument->why)};
        bool is_row = argument->use == MS_MEGATRON_DIFFERENT || is_optimizer;
        bool is_told = !is_row || (row.why != NULL && ms_vector_add(unsaid, &row, 1) != NULL);
        if (!is_told) {
            return ms_diag_no_memory(r->diag);
        }
    }
    return MS_OK;
}

static ms_status find_unsaid(read_back *r, const char *text, ms_vector *unsaid) {
    static const ms_export_reasons ALL = {REASONS, "no argument says it"};
    ms_arena *arena = r->x->arena;
    const ms_text file = {"export", text, strlen(text)};
    const ms_megatron_facts facts = {.framework = r->framework,
                                     .data_folder = r->x->source->data_folder};
    ms_export_pair pair = {.mine = *r->x->spec};
    ms_words sets;
    ms_status status = ms_megatron_read(&file, 1, NULL, arena, r->diag, &r->arguments);
    status = status == MS_OK ? ms_megatron_translate(&r->arguments, &facts, arena, r->diag, &r->job)
                             : status;
    status = status == MS_OK ? list_sets(r, &sets, unsaid) : status;
    const ms_export_software theirs = {.framework = r->framework,
                                       .data_folder = r->x->source->data_folder,
                                       .sets = &sets,
                                       .has_model = true};
    status = status == MS_OK ? ms_export_adopt(&theirs, arena, r->diag, &pair) : status;
    status = status == MS_OK ? ms_export_compare(&pair, &ALL, arena, r->diag, unsaid) : status;
    return status == MS_OK ? tell_arguments(r, unsaid) : status;
}

/* ---- all ---- */

static ms_status say_all(ms_megatron_export *x, ms_diag *diag, ms_vector *unsaid,
                         ms_exported *out) {
    ms_buffer text;
    read_back r = {.x = x, .diag = diag, .framework = framework_of(x->spec)};
    ms_buffer_init(&text);
    ms_megatron_arguments_init(&r.arguments);
    ms_megatron_job_init(&r.job);
    ms_megatron_say_model(x);
    ms_megatron_say_experts(x);
    ms_megatron_say_mesh(x);
    ms_megatron_say_stages(x);
    ms_megatron_say_state(x);
    put_body(x, &text);
    const char *body = text.failed ? NULL : ms_arena_strdup(x->arena, ms_buffer_text(&text));
    ms_status status = body == NULL ? ms_diag_no_memory(diag) : find_unsaid(&r, body, unsaid);
    if (status == MS_OK) {
        text.length = 0;
        put_head(x, unsaid, &text);
        ms_buffer_puts(&text, body);
        out->text = text.failed ? NULL : ms_arena_strdup(x->arena, ms_buffer_text(&text));
        status = out->text == NULL ? ms_diag_no_memory(diag) : MS_OK;
    }
    ms_megatron_arguments_release(&r.arguments);
    ms_megatron_job_release(&r.job);
    ms_buffer_release(&text);
    return status;
}

static ms_status write_megatron(const ms_export_source *source, ms_arena *arena, ms_diag *diag,
                                ms_exported *out) {
    ms_job_spec spec;
    ms_node *root = NULL;
    ms_vector unsaid;
    ms_vector_init(&unsaid, sizeof(ms_unsaid));
    ms_status status = ms_export_settle(source->job, arena, diag, &spec);
    status = status == MS_OK ? ms_export_tree(&spec, arena, diag, &root) : status;
    ms_megatron_export x = {.source = source, .spec = &spec, .root = root, .arena = arena};
    x.defaults = ms_export_defaults(arena);
    ms_buffer_init(&x.lines);
    if (status == MS_OK && x.defaults == NULL) {
        status = ms_diag_no_memory(diag);
    }
    status = status == MS_OK ? say_all(&x, diag, &unsaid, out) : status;
    status = status == MS_OK ? ms_export_keep(&unsaid, arena, diag, out) : status;
    ms_buffer_release(&x.lines);
    ms_vector_release(&unsaid);
    return status;
}

const ms_export_kind ms_export_megatron = {
    .name = "megatron",
    .software = SOFTWARE,
    .summary = "the arguments of Megatron-LM, as a shell script with an array of them",
    .ending = ".sh",
    .has_comments = true,
    .write = write_megatron,
};
