/* From a case to its job: sizes as published, and what is not, by the framework of its software. */
#include <string.h>

#include "study/cases_rules.h"

/* Axes of a case whose order its source does not tell. Source: README of the measurements. */
static const char *const USUAL_ORDER[] = {"pp", "dp", "cp", "tp"};
enum { AXES = 4, SHARDED_PARAMETERS = 3 };

static ms_job_spec *spec_of(ms_case_translation *t) {
    return &t->out->spec;
}

/* ---- what has to be published ---- */

static ms_status check_published(ms_case_translation *t) {
    const ms_case *c = t->c;
    const ms_case_parallel *p = &c->parallel;
    const struct {
        const char *name;
        int value;
    } NEEDED[] = {{"num_gpus", c->gpus},
                  {"parallel.tp", p->tp},
                  {"parallel.pp", p->pp},
                  {"parallel.dp", p->dp},
                  {"micro_batch", c->schedule.micro_batch},
                  {"global_batch", c->schedule.global_batch},
                  {"model.layers", c->model.layers},
                  {"model.hidden", c->model.hidden},
                  {"model.heads", c->model.heads},
                  {"model.ffn", c->model.ffn},
                  {"model.vocab", c->model.vocab},
                  {"model.seq_len", c->model.sequence}};
    for (size_t i = 0; i < sizeof NEEDED / sizeof NEEDED[0]; i++) {
        if (NEEDED[i].value == 0) {
            return ms_case_refuse(t, "%s is not published", NEEDED[i].name);
        }
    }
    if (c->system.gpu == NULL || c->model.type == NULL || c->schedule.kind == NULL) {
        return ms_case_refuse(t, "GPU type, model type or schedule is not published");
    }
    return MS_OK;
}

/* ---- mesh ---- */

static int or_one(int count) {
    return count == 0 ? 1 : count;
}

static int size_of(const ms_case_parallel *p, const char *axis) {
    const struct {
        const char *name;
        int size;
    } SIZES[] = {{"tp", p->tp}, {"pp", p->pp}, {"dp", p->dp}, {"cp", or_one(p->cp)}};
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        if (strcmp(SIZES[i].name, axis) == 0) {
            return SIZES[i].size;
        }
    }
    return 0;
}

static void add_axis(ms_spec_mesh *mesh, const char *name, int size) {
    mesh->names[mesh->axes] = name;
    mesh->sizes[mesh->axes++] = size;
}

/* Expert-parallel ranks are replicas to the rest. Where each of them holds its tokens alone, they
 * are the inner part of the replicas' axis; else the experts have a mesh of their own. */
static ms_status set_experts(ms_case_translation *t, bool *is_own_axis_out) {
    const ms_case_parallel *p = &t->c->parallel;
    ms_job_spec *spec = spec_of(t);
    int ep = or_one(p->ep);
    spec->experts = (ms_expert_axes){.tp = 1}; /* no mesh of their own */
    *is_own_axis_out = false;
    if (t->c->model.experts.experts == 0 || ep == 1) {
        return MS_OK;
    }
    bool is_alone = p->tp == 1 && or_one(p->cp) == 1;
    if (is_alone && p->dp % ep != 0) {
        return ms_case_refuse(t, "%d expert-parallel ranks do not divide %d replicas", ep, p->dp);
    }
    *is_own_axis_out = is_alone;
    if (!is_alone) {
        spec->experts = (ms_expert_axes){.ep = ep, .tp = or_one(p->etp)};
    }
    return MS_OK;
}

/* The pods of a torus that a job spans, 1: no more than one. */
static int count_pods(const ms_platform *platform, int gpus) {
    int pod = ms_platform_scale_up_domain(platform);
    bool is_torus = pod > platform->gpus_per_node;
    return is_torus && gpus % pod == 0 ? gpus / pod : 1;
}

/* The replicas' axis. Between pods parameters that are sharded are copies: nobody gathers them over
 * a data centre's network, layer by layer. Source: PaLM (arXiv 2204.02311), section 4. */
static ms_status add_replicas(ms_case_translation *t, int size) {
    ms_job_spec *spec = spec_of(t);
    int pods = count_pods(spec->platform.cluster, t->c->gpus);
    int zero = t->c->parallel.zero == MS_CASE_UNKNOWN ? spec->data.zero : t->c->parallel.zero;
    if (pods > 1 && zero == SHARDED_PARAMETERS && size % pods == 0) {
        const char **inside = MS_NEW(t->rules->arena, const char *, 1);
        if (inside == NULL) {
            return ms_diag_no_memory(t->rules->diag);
        }
        inside[0] = "dp";
        spec->data.shard = (ms_words){.items = inside, .count = 1};
        add_axis(&spec->mesh, "pod", pods);
        size /= pods;
    }
    add_axis(&spec->mesh, "dp", size);
    return MS_OK;
}

static ms_status set_mesh(ms_case_translation *t) {
    const ms_case_parallel *p = &t->c->parallel;
    ms_spec_mesh *mesh = &spec_of(t)->mesh;
    bool has_expert_axis = false;
    ms_status status = set_experts(t, &has_expert_axis);
    if (status != MS_OK) {
        return status;
    }
    long ranks = 1;
    *mesh = (ms_spec_mesh){.axes = 0};
    const char *const *order = p->order.count > 0 ? p->order.items : USUAL_ORDER;
    size_t count = p->order.count > 0 ? p->order.count : AXES;
    for (size_t i = 0; i < count; i++) {
        int size = size_of(p, order[i]);
        if (size == 0) {
            return ms_case_refuse(t, "parallel.order names an axis '%s' that is not known",
                                  order[i]);
        }
        ranks *= size;
        if (ranks > t->c->gpus || mesh->axes + 3 > MS_MESH_AXES_MAX) {
            break; /* told below */
        }
        bool is_replicas = strcmp(order[i], "dp") == 0;
        if (!is_replicas) {
            add_axis(mesh, order[i], size);
        } else {
            status = add_replicas(t, has_expert_axis ? size / p->ep : size);
        }
        if (status != MS_OK) {
            return status;
        }
        if (is_replicas && has_expert_axis) {
            add_axis(mesh, "ep", p->ep);
        }
    }
    return ranks == t->c->gpus
               ? MS_OK
               : ms_case_refuse(t, "the mesh has %ld ranks, and num_gpus is %d", ranks, t->c->gpus);
}

/* ---- cluster ---- */

static ms_status set_cluster(ms_case_translation *t) {
    const ms_case *c = t->c;
    ms_job_spec *spec = spec_of(t);
    ms_status status = ms_case_set_cluster(t->rules, &c->system, c->gpus, spec);
    if (status == MS_E_NO) {
        return ms_case_refuse(t, "no platform for a GPU '%s'", c->system.gpu);
    }
    if (status != MS_OK) {
        return status;
    }
    const ms_platform *platform = spec->platform.cluster;
    spec->placement = (ms_rank_placement_choice){.is_given = ms_platform_gpus(platform) > c->gpus,
                                                 .folder = spec->folder};
    if (platform->nodes > 1 && ms_case_has_other_network(&c->system, platform)) {
        ms_case_differs(t, "the network's bandwidth is the platform's, not the published one");
    }
    return MS_OK;
}

/* ---- batch, precision, sharding ---- */

static ms_status set_batch(ms_case_translation *t) {
    const ms_case_schedule *s = &t->c->schedule;
    long replicas = t->c->parallel.dp;
    spec_of(t)->batch = (ms_spec_batch){.global = s->global_batch, .micro = s->micro_batch};
    if (s->global_batch % (s->micro_batch * replicas) != 0) {
        return ms_case_refuse(t, "a batch of %d is no multiple of %d sequences on %ld replicas",
                              s->global_batch, s->micro_batch, replicas);
    }
    return MS_OK;
}

/* A GPU without products of few bits multiplies in the working type. */
static void fit_products(ms_case_translation *t) {
    ms_products *products = &spec_of(t)->precision.products;
    if (spec_of(t)->platform.cluster->gpu.products.of[products->format].peak_flop_per_s <= 0 &&
        products->format != MS_PRODUCT_PLAIN) {
        products->format = MS_PRODUCT_PLAIN;
        ms_case_differs(t, "products of fewer bits run in the working type: the GPU has none");
    }
}

/* What products multiply in: how that is done the setup says, unless the row names a scaling. With
 * scales of rows torchtitan gathers in the working type. Source of that: pytorch/torchtitan,
 * its page on float8 (gathers in float8 are of tensorwise scaling). */
static void set_products(ms_case_translation *t) {
    static const struct {
        const char *word;
        ms_product_format format;
    } FORMATS[] = {
        {"mxfp8", MS_PRODUCT_MXFP8}, {"nvfp4", MS_PRODUCT_NVFP4}, {"fp8", MS_PRODUCT_FP8}};
    static const struct {
        const char *word;
        ms_scaling scaling;
    } SCALINGS[] = {{"delayed", MS_SCALING_DELAYED},
                    {"tensorwise", MS_SCALING_CURRENT},
                    {"rowwise", MS_SCALING_ROWWISE},
                    {"blockwise", MS_SCALING_BLOCKWISE}};
    const char *words = t->c->schedule.precision;
    ms_products *products = &spec_of(t)->precision.products;
    products->format = MS_PRODUCT_PLAIN;
    for (size_t i = sizeof FORMATS / sizeof FORMATS[0]; i-- > 0;) {
        products->format =
            ms_case_says(words, FORMATS[i].word) ? FORMATS[i].format : products->format;
    }
    for (size_t i = 0; i < sizeof SCALINGS / sizeof SCALINGS[0]; i++) {
        products->scaling =
            ms_case_says(words, SCALINGS[i].word) ? SCALINGS[i].scaling : products->scaling;
    }
    if (products->scaling == MS_SCALING_ROWWISE) {
        products->tensor_gathers = products->parameter_gathers = MS_TYPE_OF_PARAMETERS;
    }
}

/* `amp_` is FSDP's mixed precision that reduces gradients in fp32. */
static void set_precision(ms_case_translation *t) {
    const char *words = t->c->schedule.precision;
    set_products(t);
    fit_products(t);
    if (ms_case_says(words, "amp_")) {
        spec_of(t)->precision.gradients = MS_DTYPE_FP32;
    }
}

/* Which attention ran, where the row names one and its software had none of its own. */
static void set_attention(ms_case_translation *t) {
    static const struct {
        const char *words[3];
        ms_attention_kernel attention;
    } KERNELS[] = {
        {{"no flash", "without flash", "not flash"}, MS_ATTENTION_UNFUSED},
        {{"FlashAttention-3", "FlashAttention 3", "flash3"}, MS_ATTENTION_FLASH3},
        {{"FlashAttention-2", "FlashAttention 2", "flash2"}, MS_ATTENTION_FLASH2},
        {{"FlashAttention", "flash attention", "flash-attn"}, MS_ATTENTION_FLASH1},
    };
    ms_model *model = &spec_of(t)->model;
    for (size_t i = 0; i < sizeof KERNELS / sizeof KERNELS[0]; i++) {
        for (size_t w = 0; w < sizeof KERNELS[i].words / sizeof KERNELS[i].words[0]; w++) {
            if (model->attention == MS_ATTENTION_UNFUSED &&
                ms_case_mentions(t->c->notes, KERNELS[i].words[w])) {
                model->attention = KERNELS[i].attention;
                return;
            }
        }
    }
}

/* Whose memory-bound kernels ran, where the row says so. */
static void set_kernels(ms_case_translation *t) {
    ms_model *model = &spec_of(t)->model;
    if (ms_case_says(t->c->notes, "no torch.compile")) {
        model->kernels = MS_KERNELS_EAGER;
    } else if (ms_case_says(t->c->notes, "torch.compile")) {
        model->kernels = MS_KERNELS_COMPILED;
    }
}

static void set_sharding(ms_case_translation *t) {
    const ms_case_parallel *p = &t->c->parallel;
    ms_job_spec *spec = spec_of(t);
    if (p->zero != MS_CASE_UNKNOWN) {
        spec->data.zero = p->zero;
    }
    if (spec->data.zero == 0 && ms_case_says(t->c->notes, "BF16 optimizer")) {
        /* DeepSpeed calls that stage 0, and shards the optimizer's state; a microbatch's gradients
         * stay in bf16 until the next backward pass. Source: deepspeed.runtime.bf16_optimizer */
        spec->data.zero = 1;
        spec->framework_memory.buffers |= MS_BUFFER_LAST_GRADIENTS;
    }
    spec->data.keeps_parameters = spec->data.zero == SHARDED_PARAMETERS && p->reshards == 0;
    bool has_tp = p->tp > 1;
    bool has_sequence = p->has_sequence_parallel == 1;
    spec->tensor.has_sequence_parallel = has_tp && has_sequence;
    spec->tensor.allows_slow = true; /* what ran, ran */
    if (ms_case_says(t->c->notes, "async TP")) {
        ms_case_differs(t, "asynchronous tp runs as plain, not in pieces beside its products");
    }
    ms_job_spec_fit_framework(spec);
}

/* ---- recomputation ---- */

/* The parts of layers that a source's words name, MS_RECOMPUTE_ bits; 0: none that is known here.
 */
static unsigned named_parts(const char *words) {
    static const struct {
        const char *word;
        unsigned part;
    } PARTS[] = {
        {"norm", MS_RECOMPUTE_NORMS},          {"up-projection", MS_RECOMPUTE_LATENT_UP},
        {"up_proj", MS_RECOMPUTE_LATENT_UP},   {"swiglu", MS_RECOMPUTE_ACTIVATIONS},
        {"moe_act", MS_RECOMPUTE_ACTIVATIONS}, {"activation function", MS_RECOMPUTE_ACTIVATIONS}};
    unsigned parts = 0;
    for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++) {
        parts |= ms_case_mentions(words, PARTS[i].word) ? PARTS[i].part : 0;
    }
    return parts;
}

/* What is recomputed: in the source's kinds. Which parts `selective` and `partial` mean, and what
 * runs where it is not stated, the framework says; without a word of it, `selective` is the
 * attention, and `partial` the parts that the source's own words name.
 */
static ms_status set_recompute(ms_case_translation *t) {
    static const char *const KINDS[] = {"none", "full", "selective"}; /* as in ms_recompute */
    const char *kind = t->c->schedule.recompute;
    ms_spec_recompute *recompute = &spec_of(t)->recompute;
    if (kind == NULL || strcmp(kind, "unstated") == 0) {
        return MS_OK; /* as the framework has it */
    }
    bool is_frameworks = recompute->parts != 0;
    if (is_frameworks && (strcmp(kind, "partial") == 0 || strcmp(kind, "selective") == 0)) {
        recompute->kind = MS_RECOMPUTE_NONE;
        return MS_OK;
    }
    unsigned parts = strcmp(kind, "partial") == 0 ? named_parts(t->c->schedule.recompute_words) : 0;
    if (parts != 0) {
        *recompute = (ms_spec_recompute){.kind = MS_RECOMPUTE_NONE, .parts = parts};
        return MS_OK;
    }
    for (int i = MS_RECOMPUTE_NONE; i <= MS_RECOMPUTE_SELECTIVE; i++) {
        if (strcmp(kind, KINDS[i]) == 0) {
            *recompute = (ms_spec_recompute){.kind = (ms_recompute)i};
            return MS_OK;
        }
    }
    return ms_case_refuse(t, "which parts '%s' recomputes is not known", kind);
}

/* ---- all ---- */

/* A layer alone: neither embedding nor head, and nothing shared. */
static void set_layer(ms_case_translation *t) {
    ms_job_spec *spec = spec_of(t);
    if (t->c->use == MS_CASE_LAYER) {
        spec->model.vocab = 0;
        spec->model.has_tied_embeddings = false;
        spec->model.has_positions = false;
        spec->data.zero = 0;
        spec->data.all_reduces = false;
        spec->data.reduce = MS_SPEC_USUAL;
    }
}

static ms_status translate(ms_case_translation *t) {
    ms_status (*const STEPS[])(ms_case_translation *) = {
        check_published,   set_cluster,          set_mesh, set_batch, set_recompute,
        ms_case_set_model, ms_case_set_schedule,
    };
    ms_status status = MS_OK;
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0] && status == MS_OK; i++) {
        status = STEPS[i](t);
    }
    if (status == MS_OK) {
        set_precision(t);
        set_kernels(t);
        set_attention(t);
        set_sharding(t);
        set_layer(t);
    }
    return status;
}

/* A row with its run's arguments. */
static ms_status translate_arguments(ms_case_translation *t) {
    ms_status status = ms_case_translate_arguments(t);
    status = status == MS_OK ? set_cluster(t) : status;
    if (status == MS_OK) {
        fit_products(t);
        ms_job_spec_fit_framework(spec_of(t));
    }
    return status;
}

ms_status ms_case_translate(ms_case_rules *rules, const ms_case *c, ms_case_job *job_out) {
    const ms_case_framework *framework = NULL;
    *job_out = (ms_case_job){.differs = ""};
    if (c->own.workload != NULL) {
        return ms_case_read_own_job(rules, c, job_out);
    }
    ms_status status = ms_case_find_framework(rules, c, &framework);
    if (status != MS_OK) {
        return status;
    }
    job_out->framework = framework->name;
    job_out->spec = ms_job_spec_derive(&framework->spec);
    job_out->spec.name = c->id;
    job_out->spec.description = c->source;
    ms_case_translation t = {.rules = rules, .c = c, .out = job_out};
    ms_buffer_init(&t.differs);
    if (c->foreign_keys != NULL) {
        ms_buffer_printf(&t.differs, "no rule for %s", c->foreign_keys);
    }
    status = c->arguments.count > 0 ? translate_arguments(&t) : translate(&t);
    if (status == MS_OK && rules->job_sets.count > 0) {
        status = ms_job_spec_override(&job_out->spec, &rules->job_sets, rules->arena, rules->diag,
                                      &job_out->spec);
    }
    job_out->differs = ms_buffer_keep(&t.differs, rules->arena);
    if (job_out->differs == NULL) {
        return ms_diag_no_memory(rules->diag);
    }
    return status == MS_E_NO ? MS_OK : status; /* its reason is there */
}
