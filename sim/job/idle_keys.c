/* Finds keys that the user gave and that change nothing in the job at hand, because what they ask
 * for needs another key or another mesh. A value that would say something untrue is refused where
 * it is read; the keys found here do no harm, but whoever wrote them may believe that they do
 * something. A value that asks for nothing (`offload: false`) is not reported.
 *
 * Each check_ function goes through the keys of one topic. A call of note_idle has the key, the
 * condition under which it is idle, and the reason that follows "changes nothing: " in the
 * message. */
#include <string.h>

#include "job/internal.h"

/* At most one note_idle per key of the file. */
enum { KEYS_MAX = 64 };

/* The search for idle keys of one job. */
typedef struct finding {
    const ms_job_spec *spec;
    const ms_job *job;
    const ms_stage_costs *costs;
    const ms_model_layout *layout; /* of the job */
    ms_idle_key *keys;             /* [KEYS_MAX] */
    int count;
} finding;

/* The node of a key by its dotted path; NULL: the user did not give the key (its value is a
 * default, or the framework's choice). */
static const ms_node *node_at(const ms_job_spec *spec, const char *path) {
    bool is_given = false;
    const ms_node *node = ms_node_at(spec->source.root, path, &is_given);
    return is_given && !ms_spec_is_choice(node) ? node : NULL;
}

/* Add a key to the idle ones if the user gave it and `is_idle` holds. The first reason found for a
 * key counts. is_idle: the key asks for something that the job does not have. why: end of "changes
 * nothing: ...". */
static void note_idle(finding *f, const char *key, bool is_idle, const char *why) {
    const ms_node *node = is_idle ? node_at(f->spec, key) : NULL;
    for (int i = 0; i < f->count && node != NULL; i++) {
        node = strcmp(f->keys[i].key, key) == 0 ? NULL : node;
    }
    if (node != NULL && f->count < KEYS_MAX) {
        f->keys[f->count++] = (ms_idle_key){.key = key, .mark = node->key_mark, .why = why};
    }
}

/* Find whether the schedule's order stays the same without moving passes to earlier gaps
 * (schedule.reorder): the order is built once more without it. Returns the status of that. */
static ms_status find_gaps(const ms_job *job, ms_arena *arena, ms_diag *diag, bool *has_none_out) {
    ms_schedule_spec spec = job->program.spec;
    ms_program plain;
    *has_none_out = false;
    if (!spec.is_reordered) {
        return MS_OK;
    }
    spec.is_reordered = false;
    ms_status status = ms_schedule_build(&spec, arena, diag, &plain);
    if (status == MS_OK) {
        *has_none_out = ms_program_crc32(&plain) == ms_program_crc32(&job->program);
    }
    return status;
}

/* Keys of the schedule, and of given costs. has_no_gaps: of find_gaps. */
static void check_schedule(finding *f, bool has_no_gaps) {
    const ms_spec_schedule *schedule = &f->spec->schedule;
    bool is_alone = f->layout->pp <= 1;
    note_idle(f, "schedule.reorder", has_no_gaps, "no pass has an earlier gap to move to");
    note_idle(f, "schedule.overlap", schedule->overlap == MS_OVERLAP_SERIAL && !f->job->has_pairs,
              "the schedule pairs no passes");
    note_idle(f, "schedule.communication_sms",
              schedule->communication_sms > 0 &&
                  (!f->job->has_pairs || schedule->overlap == MS_OVERLAP_SERIAL),
              "no passes run together");
    note_idle(f, "schedule.communication_sms",
              schedule->communication_sms > 0 && !f->spec->has_model,
              "given 'costs' are of no kernels");
    note_idle(f, "schedule.sends", schedule->sends == MS_SENDS_BLOCKING && is_alone,
              "mesh.pp is 1: no stage sends anything");
    note_idle(f, "schedule.step_end",
              schedule->step_end == MS_STEP_END_POST_VALIDATION && f->job->mesh.ranks == 1,
              "one rank waits for no other");
    note_idle(f, "schedule.partition",
              schedule->partition.kind == MS_PARTITION_BALANCED &&
                  f->job->program.model_stages == 1,
              "there is one stage to have the layers");
    note_idle(f, "costs.p2p", is_alone, "mesh.pp is 1: no stage sends anything");
    note_idle(f, "granularity",
              f->spec->simulation.granularity == MS_GRANULARITY_PASS && !f->spec->has_model,
              "given 'costs' are one operation for each pass as it is");
}

/* Whether some ranks do an all-reduce: in a pass, at the step's end, or for tied embeddings of the
 * first and the last stage. */
static bool has_all_reduce(const finding *f) {
    const ms_stage_costs *costs = f->costs;
    bool is_tied = costs->stage[0].tied_B > 0.0 && f->layout->pp > 1;
    for (int i = 0; i < costs->segment_count && !is_tied; i++) {
        const ms_segment *segment = &costs->segments[i];
        unsigned axes = segment->group_axes != 0 ? segment->group_axes : MS_AXIS_BIT(segment->axis);
        if (segment->is_collective && segment->coll == MS_COLL_ALL_REDUCE &&
            segment->coll_B > 0.0 &&
            (segment->is_between_directions || ms_mesh_members(&f->job->mesh, axes, 0, NULL) > 1)) {
            return true;
        }
    }
    return is_tied;
}

/* Keys of the hosts that launch kernels. */
static void check_host(finding *f) {
    static const char GIVEN[] = "given 'costs' are launched in no time";
    const ms_spec_host *host = &f->spec->host;
    note_idle(f, "host.launch", host->launch_s > 0 && !f->spec->has_model, GIVEN);
    note_idle(f, "host.sync", host->syncs != 0 && !f->spec->has_model, GIVEN);
    note_idle(f, "host.sync", host->syncs != 0 && host->launch_s <= 0,
              "'host.launch' is 0: the host is never late");
    note_idle(f, "host.sync", host->syncs == MS_SYNC_MESSAGES && f->layout->pp <= 1,
              "mesh.pp is 1: no stage sends anything");
    note_idle(f, "host.sync",
              host->syncs == MS_SYNC_EXPERTS && f->spec->has_model &&
                  (f->spec->model.moe.experts == 0 || f->spec->model.moe.has_padding),
              "the host knows all sizes: no experts take as many copies as are sent to them");
    note_idle(f, "host.replaces_slow_nodes", host->replaces_slow_nodes && !f->spec->has_model,
              GIVEN);
    note_idle(f, "host.replaces_slow_nodes",
              host->replaces_slow_nodes && f->spec->platform.cluster->slow_nodes.share <= 0,
              "the platform has no slow nodes");
}

/* The algorithm of all-reduces. */
static void check_algorithms(finding *f) {
    note_idle(f, "collectives.algorithms.all_reduce",
              f->spec->algorithms.of[MS_COLL_ALL_REDUCE] != MS_ALGORITHM_AUTO && !has_all_reduce(f),
              "no ranks do an all-reduce");
}

/* Keys of tensor parallelism, and of messages between stages. */
static void check_tensor(finding *f) {
    static const char ALONE[] = "mesh.tp is 1: no ranks share a layer";
    const ms_model_layout *l = f->layout;
    bool is_alone = l->tp <= 1;
    /* collectives of shared experts do not overlap, and so take the style's copies */
    bool has_shared = f->spec->model.moe.shared_experts > 0;
    note_idle(f, "tensor_parallel.sequence", l->has_sequence_parallel && is_alone, ALONE);
    note_idle(f, "tensor_parallel.overlap", l->tp_overlap != MS_TP_OVERLAP_NONE && is_alone, ALONE);
    note_idle(f, "tensor_parallel.style", is_alone, ALONE);
    note_idle(f, "tensor_parallel.style",
              l->tp_style != MS_TP_MEGATRON && !l->has_sequence_parallel,
              "no rank has a share of the tokens ('tensor_parallel.sequence')");
    note_idle(f, "tensor_parallel.style",
              l->tp_style != MS_TP_MEGATRON && l->tp_overlap != MS_TP_OVERLAP_NONE && !has_shared,
              "'tensor_parallel.overlap' hands pieces over in order");
    note_idle(f, "tensor_parallel.chunks", is_alone, ALONE);
    note_idle(f, "tensor_parallel.chunks", l->tp_overlap != MS_TP_OVERLAP_CHUNKS,
              "only 'tensor_parallel.overlap: chunks' cuts products into them");
    note_idle(f, "tensor_parallel.allow_slow",
              f->spec->allows_slow_tp &&
                  l->tp <= ms_platform_scale_up_domain(f->spec->platform.cluster),
              "the tp ranks share the fast links");
    note_idle(f, "pipeline.scatter_gather", l->has_scatter_gather && l->pp <= 1,
              "mesh.pp is 1: no stage sends anything");
    note_idle(f, "pipeline.communicator",
              f->spec->algorithms.messages != MS_MESSAGES_PAIR && l->pp <= 1,
              "mesh.pp is 1: no stage sends anything");
    note_idle(f, "pipeline.communicator",
              f->spec->algorithms.messages != MS_MESSAGES_PAIR && l->pp > 1 &&
                  f->spec->platform.cluster->library == NULL,
              "the platform has no library: messages have no channels");
    note_idle(f, "pipeline.scatter_gather", l->has_scatter_gather && is_alone, ALONE);
    note_idle(f, "pipeline.scatter_gather", l->has_scatter_gather && l->has_sequence_parallel,
              "with 'tensor_parallel.sequence' each tp rank sends its own share anyway");
}

/* Keys of context parallelism. */
static void check_context(finding *f) {
    static const char ALONE[] = "mesh.cp is 1: no ranks share a sequence";
    const ms_model_layout *l = f->layout;
    note_idle(f, "context_parallel.kind", l->cp_kind != MS_CP_RING && l->cp <= 1, ALONE);
    note_idle(f, "context_parallel.overlap", l->cp <= 1, ALONE);
}

/* Keys of data parallelism. A single replica has no collectives of parameters and gradients, but it
 * has the buffers for them: whole parameters beside their shards (ZeRO 3), a bucket beside the
 * shards of gradients. */
static void check_replicas(finding *f) {
    static const char ALONE[] = "the mesh has one replica: dp, cp and ep are 1";
    const ms_model_layout *l = f->layout;
    int experts = l->expert_mesh.tp > 0 ? 1 : l->ep; /* ep as an axis of the mesh */
    bool is_alone = l->dp * l->cp * experts * l->other == 1;
    bool has_units = l->zero >= 3, is_last = l->reduce == MS_REDUCE_LAST;
    bool has_bucket = l->reduce == MS_REDUCE_EVERY;
    note_idle(f, "data_parallel.zero", l->zero > 0 && is_alone && !has_units && is_last, ALONE);
    note_idle(f, "data_parallel.shard", is_alone, ALONE);
    note_idle(f, "data_parallel.all_reduce", l->all_reduces_gradients && is_alone, ALONE);
    note_idle(f, "data_parallel.all_reduce", l->all_reduces_gradients && l->directions > 1,
              "with two directions of the pipeline gradients are scattered, summed and gathered");
    note_idle(f, "data_parallel.overlap_reduce", l->has_reduce_overlap && is_alone, ALONE);
    note_idle(f, "data_parallel.update", l->update == MS_UPDATE_SEPARATE && !f->spec->has_model,
              "given 'costs.optimizer' is all that an update takes");
    note_idle(f, "data_parallel.overlap_gather",
              l->has_gather_overlap && is_alone && (!has_units || l->keeps_parameters), ALONE);
    bool copies_out = has_units && !l->keeps_parameters && !l->has_placed_unshards;
    note_idle(f, "data_parallel.units", l->units != MS_UNITS_IN_PLACE && is_alone, ALONE);
    note_idle(f, "data_parallel.units",
              l->units == MS_UNITS_FLAT || !copies_out
                  ? l->units != MS_UNITS_IN_PLACE && !has_bucket
                  : false,
              "no layer is gathered or reduced by itself in every pass ('data_parallel.zero', "
              "'data_parallel.reduce')");
    note_idle(f, "data_parallel.bucket", l->bucket_B > 0 && is_alone && !has_bucket, ALONE);
    bool cuts_all = l->bucketing == MS_BUCKETS_WEIGHTS || l->bucketing == MS_BUCKETS_CAPPED;
    bool is_whole = l->bucketing == MS_BUCKETS_STAGES;
    note_idle(f, "data_parallel.bucketing", l->bucketing != MS_BUCKETS_LAYERS && is_alone, ALONE);
    note_idle(f, "data_parallel.bucketing",
              l->bucketing != MS_BUCKETS_LAYERS && !f->spec->has_model,
              "given 'costs' have no weights");
    note_idle(f, "data_parallel.bucket", l->bucket_B > 0 && is_whole && !has_bucket,
              "a virtual stage is a bucket");
    bool is_unused = !l->has_reduce_overlap && !has_bucket && !(cuts_all && is_last);
    note_idle(f, "data_parallel.bucket", l->bucket_B > 0 && !is_whole && is_unused,
              is_last
                  ? "all gradients are reduced together at the step's end; 'overlap_reduce' and "
                    "'reduce: every' reduce them in buckets"
                  : "a round's gradients are reduced stage by stage; 'overlap_reduce' reduces them "
                    "in buckets");
}

/* Whether every layer is recomputed as a whole. */
static bool recomputes_all(const ms_model_layout *layout) {
    bool is_all = layout->recompute == MS_RECOMPUTE_FULL;
    for (int s = 0; s < layout->pp * layout->chunks && layout->recompute_layers > 0; s++) {
        is_all = is_all && layout->stage_layers[s] <= layout->recompute_layers;
    }
    return is_all;
}

/* Offloaded activations that the model does not have, or that are recomputed anyway. */
static void check_offloading(finding *f) {
    unsigned there = MS_OFFLOAD_NORMS | MS_OFFLOAD_ATTENTION;
    there |= f->spec->model.moe.experts > 0 ? MS_OFFLOAD_EXPERTS : 0;
    bool is_repeated = recomputes_all(f->layout);
    note_idle(f, "memory.offload", f->layout->offloaded != 0 && (f->layout->offloaded & there) == 0,
              "the model has no experts");
    note_idle(f, "memory.offload", f->layout->offloaded != 0 && is_repeated,
              "'recompute: full' repeats every layer as a whole");
}

/* Buffers and workspaces of the framework. used: MS_BUFFER_ bits of the buffers that this job has a
 * use for. */
static void check_framework(finding *f) {
    const ms_framework_memory *framework = &f->layout->framework_memory;
    const ms_model *model = &f->spec->model;
    bool has_engine = framework->libraries == MS_LIBRARIES_TRANSFORMER_ENGINE;
    bool has_sequence = f->layout->has_sequence_parallel && f->layout->tp > 1;
    unsigned used = 0;
    used |= has_engine && model->moe.experts > 0 ? MS_BUFFER_GROUPED_PRODUCTS : 0;
    used |= has_sequence && model->vocab > 0 ? MS_BUFFER_GATHER : 0;
    used |= model->has_fused_accumulation ? MS_BUFFER_WEIGHT_GRADIENTS : 0;
    used |= model->attention == MS_ATTENTION_UNFUSED ? MS_BUFFER_SCORES : 0;
    used |= MS_BUFFER_LAST_GRADIENTS;
    used |= f->layout->zero >= 3 && !f->layout->keeps_parameters ? MS_BUFFER_PREFETCHED : 0;
    note_idle(f, "memory.buffers", framework->buffers != 0 && (framework->buffers & used) == 0,
              "the job has none of what these buffers are for, or they come on top of no peak");
    check_offloading(f);
    note_idle(f, "memory.cublas_workspace",
              framework->cublas_B > 0 && framework->libraries == MS_LIBRARIES_NONE,
              "no libraries are named ('memory.libraries')");
}

/* Traits of kernels that the model does not run. */
static void check_kernels(finding *f) {
    const ms_model *model = &f->spec->model;
    const ms_kernel_traits *traits = &model->kernel_traits;
    bool is_wider = f->spec->precision.gradients == MS_DTYPE_FP32;
    note_idle(f, "model.two_pass_norms", traits->has_two_pass_norms && model->is_rms_norm,
              "'model.norm' is rms: there are no layer norms");
    note_idle(f, "model.complex_rotary",
              traits->has_complex_rotary && (model->has_positions || model->has_alibi),
              "no queries and keys are rotated ('model.positions')");
    note_idle(f, "model.separate_dropout", traits->has_separate_dropout && model->dropout <= 0,
              "'model.dropout' is 0");
    note_idle(f, "model.cast_gradients",
              traits->has_cast_gradients && model->has_fused_accumulation,
              "products add to the gradient buffer ('model.fused_accumulation')");
    note_idle(f, "model.cast_gradients", traits->has_cast_gradients && !is_wider,
              "gradients are accumulated in the type that they are made in");
}

/* Keys of products in fewer bits. */
static void check_products(finding *f) {
    static const char PLAIN[] = "'precision.products' is parameters: no product has fewer bits";
    const ms_products *products = &f->spec->precision.products;
    const ms_model *model = &f->spec->model;
    bool is_plain = products->format == MS_PRODUCT_PLAIN, has_experts = model->moe.experts > 0;
    static const char *const KEYS[] = {"precision.scaling",
                                       "precision.amax_group",
                                       "precision.casts",
                                       "precision.products_of",
                                       "precision.weight_gradients",
                                       "precision.kept",
                                       "precision.tensor_gathers",
                                       "precision.parameter_gathers",
                                       "precision.first_plain_layers",
                                       "precision.last_plain_layers",
                                       "precision.second_form"};
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        note_idle(f, KEYS[i], is_plain, PLAIN);
    }
    bool is_of_tensors =
        products->format == MS_PRODUCT_FP8 &&
        (products->scaling == MS_SCALING_DELAYED || products->scaling == MS_SCALING_CURRENT);
    note_idle(
        f, "precision.second_form",
        !is_plain && (is_of_tensors || products->kept == MS_TYPE_OF_PARAMETERS ||
                      products->weight_gradients == MS_TYPE_OF_PARAMETERS),
        "scales are of whole tensors, or inputs are kept or multiplied for weights' gradients in "
        "the working type: no second form is kept");
    note_idle(f, "precision.scaling", products->format > MS_PRODUCT_FP8,
              "the format has a scale of its own for every block of elements");
    note_idle(f, "precision.amax_group",
              products->format > MS_PRODUCT_FP8 || products->scaling != MS_SCALING_DELAYED,
              "only 'precision.scaling: delayed' shares maxima of earlier steps");
    note_idle(f, "precision.casts",
              products->casts != MS_CASTS_STREAMING &&
                  f->spec->platform.cluster->gpu.products.of[products->format]
                          .transposing_casts[products->casts] <= 0,
              "the GPU type has no such 'transposing_casts' for the format");
    note_idle(f, "precision.tensor_gathers",
              f->layout->tp <= 1 || !f->layout->has_sequence_parallel,
              "no tp ranks gather tokens ('tensor_parallel.sequence')");
    note_idle(f, "precision.products",
              !is_plain && products->kinds == MS_PRODUCT_EXPERTS && !has_experts,
              "'products_of' names experts, and the model has none");
    note_idle(f, "precision.products",
              !is_plain && products->kinds == MS_PRODUCT_HEAD && model->vocab == 0,
              "'products_of' names the head, and model.vocab is 0");
    note_idle(f, "precision.products",
              !is_plain &&
                  products->first_plain_layers + products->last_plain_layers >= model->layers &&
                  (products->kinds & MS_PRODUCT_HEAD) == 0,
              "'first_plain_layers' and 'last_plain_layers' leave no layer over");
    note_idle(f, "precision.attention",
              !is_plain &&
                  products->first_plain_layers + products->last_plain_layers >= model->layers,
              "'first_plain_layers' and 'last_plain_layers' leave no layer over");
}

/* Keys of `precision`, and of recomputed parts. */
static void check_precision(finding *f) {
    note_idle(f, "data_parallel.update",
              f->layout->update == MS_UPDATE_OPERATIONS && f->layout->is_offloaded,
              "'data_parallel.offload' leaves the update to the host");
    note_idle(f, "precision.parameters", f->spec->precision.parameters == MS_DTYPE_FP16,
              "fp16 has the bytes and the FLOP/s of bf16");
    check_products(f);
    note_idle(f, "recompute_parts", f->layout->recompute_parts != 0 && recomputes_all(f->layout),
              "'recompute: full' repeats every layer as a whole");
}

/* `model.projections`. Only plain attention (q, k, v) and a dense gated MLP (gate, value) have
 * products that could be one. has_all_experts: no layer has a dense MLP. */
static void check_projections(finding *f, bool has_all_experts) {
    const ms_model *model = &f->spec->model;
    const ms_model_layout *l = f->layout;
    bool is_separate = model->projections == MS_PROJECTIONS_SEPARATE;
    bool is_concatenated = model->projections == MS_PROJECTIONS_CONCATENATED;
    bool is_latent = model->mla.kv_rank > 0, has_gates = model->is_gated && !has_all_experts;
    note_idle(
        f, "model.projections", (is_separate || is_concatenated) && is_latent && !has_gates,
        "neither latent attention nor experts nor an MLP without gate have products that could "
        "be one");
    note_idle(f, "model.projections",
              is_concatenated && !is_latent && model->attention == MS_ATTENTION_UNFUSED &&
                  !has_gates,
              "unfused attention puts the gradient together anyway, and no dense MLP has a gate");
    note_idle(
        f, "model.projections",
        model->projections == MS_PROJECTIONS_INTERLEAVED &&
            (is_latent || model->attention == MS_ATTENTION_UNFUSED),
        "latent attention lays its operands out itself, and unfused attention copies them anyway");
    note_idle(f, "model.projections",
              is_separate && l->tp > 1 && l->tp_overlap != MS_TP_OVERLAP_NONE &&
                  (!is_latent || has_gates),
              "products that 'tensor_parallel.overlap' runs beside collectives stay whole");
}

/* Keys of the model's shape. */
static void check_model(finding *f) {
    const ms_model *model = &f->spec->model;
    bool is_latent = model->mla.kv_rank > 0;
    bool has_all_experts = ms_model_expert_layers(model) == model->layers;
    bool is_given = node_at(f->spec, "model.moe.ffn") != NULL;
    static const char NO_VOCAB[] = "model.vocab is 0: there is neither embedding nor head";
    note_idle(f, "model.tied_embeddings", model->has_tied_embeddings && model->vocab == 0,
              NO_VOCAB);
    note_idle(f, "model.loss", model->loss != MS_LOSS_VOCAB_PARALLEL && model->vocab == 0,
              NO_VOCAB);
    note_idle(f, "model.repeat_key_values",
              model->repeats_key_values && (is_latent || model->kv_heads == model->heads),
              "there are as many heads of keys and values as of queries");
    note_idle(f, "model.biases",
              model->parts.biases != 0 && model->has_bias &&
                  (model->parts.biases & MS_BIAS_HEAD) == 0,
              "'model.bias' gives these layers one");
    note_idle(f, "model.biases", model->parts.biases == MS_BIAS_HEAD && model->vocab == 0,
              NO_VOCAB);
    note_idle(f, "model.branch_norms", model->parts.has_branch_norms && !model->has_parallel_block,
              "without 'model.parallel_block' attention and MLP have a norm each anyway");
    note_idle(f, "model.biases",
              model->parts.biases == MS_BIAS_EXPERTS && model->moe.experts == 0 && !model->has_bias,
              "no layer has experts");
    note_idle(f, "model.window_skip_freq", model->parts.window_skip_freq > 0 && model->window == 0,
              "no layer has a window: model.window is 0");
    note_idle(f, "model.qk_gains",
              model->parts.has_own_qk_gains && (!model->parts.has_qk_norms || is_latent),
              "queries and keys are not normed head by head");
    note_idle(f, "model.window", model->window >= model->sequence && model->sequence > 0,
              "the window is not smaller than the sequence");
    note_idle(f, "model.loss_metrics", model->loss_metrics > 0 && model->vocab == 0, NO_VOCAB);
    check_projections(f, has_all_experts);
    note_idle(f, "model.positions", is_latent && model->vocab == 0,
              "latent attention turns its keys anyway, and without a vocabulary no positions are "
              "learned");
    const ms_node *type = node_at(f->spec, "model.type");
    bool is_gpt = type != NULL && type->text != NULL && strcmp(type->text, "gpt") == 0;
    note_idle(
        f, "model.positions",
        model->has_alibi && is_gpt && model->vocab == 0 && model->attention != MS_ATTENTION_UNFUSED,
        "fused attention makes the biases on the way, and without a vocabulary no positions are "
        "learned");
    note_idle(f, "model.head_dim", is_latent,
              "heads of latent attention have the sizes of 'model.mla'");
    note_idle(f, "model.ffn", has_all_experts && is_given,
              "every layer has experts, and these have 'model.moe.ffn'");
}

/* Whether the schedule has backward passes that are not split in input and weight gradients. */
static bool has_whole_backward(const ms_program *program) {
    size_t count = program->first[program->spec.pipeline_ranks];
    for (size_t i = 0; i < count; i++) {
        if (program->actions[i].pass == MS_PASS_B) {
            return true;
        }
    }
    return false;
}

/* Whether no expert can get more copies than its capacity, so that none is dropped. */
static bool drops_nothing(const ms_moe *moe, bool is_even) {
    double most = is_even ? 1 : (double)moe->experts / moe->top_k;
    return moe->capacity_factor >= most && !moe->has_padding;
}

/* Keys of how unevenly tokens choose experts, and of the experts' capacity. */
static void check_choice(finding *f) {
    const ms_moe *moe = &f->spec->model.moe;
    bool has_kind = moe->imbalance != MS_IMBALANCE_NONE;
    bool is_even = !has_kind || moe->spread <= 0;
    bool is_unseen = f->layout->ep <= 1 && moe->capacity_factor <= 0;
    static const char UNSEEN[] =
        "mesh.ep is 1 and no 'capacity_factor' is given: the rank has all experts' tokens, however "
        "they are spread";
    note_idle(f, "model.moe.capacity_factor", drops_nothing(moe, is_even),
              is_even
                  ? "all experts are chosen equally often ('imbalance' says otherwise), none gets "
                    "more than it takes"
                  : "it is as much as all tokens, so none is dropped");
    note_idle(f, "model.moe.imbalance.distribution", has_kind && moe->spread <= 0,
              "'model.moe.imbalance.spread' is 0");
    note_idle(f, "model.moe.imbalance.spread", moe->spread > 0 && !has_kind,
              "'model.moe.imbalance.distribution' is none");
    note_idle(f, "model.moe.imbalance.distribution", has_kind && is_unseen, UNSEEN);
    note_idle(f, "model.moe.imbalance.spread", moe->spread > 0 && is_unseen, UNSEEN);
    note_idle(f, "model.moe.seed", is_even, "all experts are chosen equally often ('imbalance')");
    note_idle(f, "model.moe.seed", is_unseen, UNSEEN);
}

/* Keys of the exchange with experts' ranks, and of shared experts. */
static void check_experts(finding *f) {
    static const char ALONE[] = "mesh.ep is 1: no token is sent to another rank";
    const ms_moe *moe = &f->spec->model.moe;
    const ms_model_layout *l = f->layout;
    bool is_alone = l->ep <= 1, has_shared = moe->shared_experts > 0;
    note_idle(f, "model.moe.shared_ffn", !has_shared, "there are no 'shared_experts'");
    note_idle(f, "model.moe.node_limit", moe->node_limit > 0 && is_alone, ALONE);
    note_idle(f, "model.moe.node_limit", moe->node_limit > 0 && l->ep_node_ranks == l->ep,
              "the ranks of an ep group are on one node");
    note_idle(f, "model.moe.dispatch", moe->dispatch_element_B > 0 && is_alone, ALONE);
    note_idle(f, "model.moe.combine", moe->combine_element_B > 0 && is_alone, ALONE);
    note_idle(f, "model.moe.overlap", moe->overlap != MS_MOE_OVERLAP_NONE && is_alone, ALONE);
    note_idle(f, "model.moe.overlap", moe->overlap == MS_MOE_OVERLAP_SHARED && !has_shared,
              "there are no 'shared_experts'");
    note_idle(
        f, "model.moe.overlap",
        moe->overlap == MS_MOE_OVERLAP_ALL && !has_shared && !has_whole_backward(&f->job->program),
        "there are no 'shared_experts', and the schedule has the weight gradients in passes of "
        "their own");
}

/* Keys of a model are checked only where the job has one. */
ms_status ms_idle_keys_find(const ms_job *job, ms_arena *arena, ms_diag *diag,
                            ms_idle_keys *keys_out) {
    const ms_job_spec *spec = &job->spec;
    finding f = {.spec = spec, .job = job, .costs = &job->costs, .layout = &job->layout};
    f.keys = MS_NEW(arena, ms_idle_key, KEYS_MAX);
    bool has_no_gaps = false;
    ms_status status = f.keys == NULL ? MS_E_NOMEM : find_gaps(job, arena, diag, &has_no_gaps);
    if (status != MS_OK) {
        return status;
    }
    check_schedule(&f, has_no_gaps);
    check_algorithms(&f);
    check_host(&f);
    if (spec->has_model) {
        check_tensor(&f);
        check_context(&f);
        check_replicas(&f);
        check_precision(&f);
        check_kernels(&f);
        check_framework(&f);
        check_model(&f);
    }
    if (spec->has_model && spec->model.moe.experts > 0) {
        check_choice(&f);
        check_experts(&f);
    }
    *keys_out = (ms_idle_keys){f.keys, f.count};
    return MS_OK;
}
