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
typedef struct key_search {
    const ms_job_spec *spec;
    const ms_job *job;
    const ms_stage_costs *costs;
    const ms_model_layout *layout; /* of the job */
    ms_idle_key *keys;             /* [KEYS_MAX] */
    int count;
} key_search;

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
static void note_idle(key_search *search, const char *key, bool is_idle, const char *why) {
    const ms_node *node = is_idle ? node_at(search->spec, key) : NULL;
    for (int i = 0; i < search->count && node != NULL; i++) {
        node = strcmp(search->keys[i].key, key) == 0 ? NULL : node;
    }
    if (node != NULL && search->count < KEYS_MAX) {
        search->keys[search->count++] =
            (ms_idle_key){.key = key, .mark = node->key_mark, .why = why};
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

/* Note idle keys of the schedule, and of given costs. has_no_gaps: of find_gaps. */
static void check_schedule(key_search *search, bool has_no_gaps) {
    const ms_spec_schedule *schedule = &search->spec->schedule;
    bool is_alone = search->layout->pp <= 1;
    note_idle(search, "schedule.reorder", has_no_gaps, "no pass has an earlier gap to move to");
    note_idle(search, "schedule.overlap",
              schedule->overlap == MS_OVERLAP_SERIAL && !search->job->has_pairs,
              "the schedule pairs no passes");
    note_idle(search, "schedule.communication_sms",
              schedule->communication_sms > 0 &&
                  (!search->job->has_pairs || schedule->overlap == MS_OVERLAP_SERIAL),
              "no passes run together");
    note_idle(search, "schedule.communication_sms",
              schedule->communication_sms > 0 && !search->spec->has_model,
              "given 'costs' are of no kernels");
    note_idle(search, "schedule.sends", schedule->sends == MS_SENDS_BLOCKING && is_alone,
              "mesh.pp is 1: no stage sends anything");
    note_idle(search, "schedule.step_end",
              schedule->step_end == MS_STEP_END_POST_VALIDATION && search->job->mesh.ranks == 1,
              "one rank waits for no other");
    note_idle(search, "schedule.partition",
              schedule->partition.kind == MS_PARTITION_BALANCED &&
                  search->job->program.model_stages == 1,
              "there is one stage to have the layers");
    note_idle(search, "costs.p2p", is_alone, "mesh.pp is 1: no stage sends anything");
    note_idle(search, "granularity",
              search->spec->simulation.granularity == MS_GRANULARITY_PASS &&
                  !search->spec->has_model,
              "given 'costs' are one operation for each pass as it is");
}

/* Whether some ranks do an all-reduce: in a pass, at the step's end, or for tied embeddings of the
 * first and the last stage. */
static bool has_all_reduce(const key_search *search) {
    const ms_stage_costs *costs = search->costs;
    bool is_tied = costs->stage[0].tied_B > 0.0 && search->layout->pp > 1;
    for (int i = 0; i < costs->segment_count && !is_tied; i++) {
        const ms_segment *segment = &costs->segments[i];
        const ms_job *job = search->job;
        unsigned axes = segment->group_axes != 0 ? segment->group_axes : MS_AXIS_BIT(segment->axis);
        if (segment->is_collective && segment->coll == MS_COLL_ALL_REDUCE &&
            segment->coll_B > 0.0 &&
            (segment->is_between_directions ||
             ms_mesh_members(ms_mesh_of_axes(&job->mesh, job->expert_mesh, axes), axes, 0, NULL) >
                 1)) {
            return true;
        }
    }
    return is_tied;
}

/* Note idle keys of the hosts that launch kernels. */
static void check_host(key_search *search) {
    static const char GIVEN[] = "given 'costs' are launched in no time";
    const ms_spec_host *host = &search->spec->host;
    note_idle(search, "host.launch", host->launch_s > 0 && !search->spec->has_model, GIVEN);
    note_idle(search, "host.sync", host->syncs != 0 && !search->spec->has_model, GIVEN);
    note_idle(search, "host.sync", host->syncs != 0 && host->launch_s <= 0,
              "'host.launch' is 0: the host is never late");
    note_idle(search, "host.sync", host->syncs == MS_SYNC_MESSAGES && search->layout->pp <= 1,
              "mesh.pp is 1: no stage sends anything");
    note_idle(search, "host.sync",
              host->syncs == MS_SYNC_EXPERTS && search->spec->has_model &&
                  (search->spec->model.moe.experts == 0 || search->spec->model.moe.has_padding),
              "the host knows all sizes: no experts take as many copies as are sent to them");
    note_idle(search, "host.replaces_slow_nodes",
              host->replaces_slow_nodes && !search->spec->has_model, GIVEN);
    note_idle(search, "host.replaces_slow_nodes",
              host->replaces_slow_nodes && search->spec->platform.cluster->slow_nodes.share <= 0,
              "the platform has no slow nodes");
}

/* Note an idle choice of the algorithm of all-reduces. */
static void check_algorithms(key_search *search) {
    note_idle(search, "collectives.algorithms.all_reduce",
              search->spec->algorithms.of[MS_COLL_ALL_REDUCE] != MS_ALGORITHM_AUTO &&
                  !has_all_reduce(search),
              "no ranks do an all-reduce");
}

/* Note idle keys of tensor parallelism, and of messages between stages. */
static void check_tensor(key_search *search) {
    static const char ALONE[] = "mesh.tp is 1: no ranks share a layer";
    const ms_model_layout *layout = search->layout;
    bool is_alone = layout->tp <= 1;
    /* collectives of shared experts do not overlap, and so take the style's copies */
    bool has_shared = search->spec->model.moe.shared_experts > 0;
    note_idle(search, "tensor_parallel.sequence", layout->has_sequence_parallel && is_alone, ALONE);
    note_idle(search, "tensor_parallel.overlap",
              layout->tp_overlap != MS_TP_OVERLAP_NONE && is_alone, ALONE);
    note_idle(search, "tensor_parallel.style", is_alone, ALONE);
    note_idle(search, "tensor_parallel.style",
              layout->tp_style != MS_TP_MEGATRON && !layout->has_sequence_parallel,
              "no rank has a share of the tokens ('tensor_parallel.sequence')");
    note_idle(search, "tensor_parallel.style",
              layout->tp_style != MS_TP_MEGATRON && layout->tp_overlap != MS_TP_OVERLAP_NONE &&
                  !has_shared,
              "'tensor_parallel.overlap' hands pieces over in order");
    note_idle(search, "tensor_parallel.chunks", is_alone, ALONE);
    note_idle(search, "tensor_parallel.chunks", layout->tp_overlap != MS_TP_OVERLAP_CHUNKS,
              "only 'tensor_parallel.overlap: chunks' cuts products into them");
    note_idle(search, "tensor_parallel.allow_slow",
              search->spec->allows_slow_tp &&
                  layout->tp <= ms_platform_scale_up_domain(search->spec->platform.cluster),
              "the tp ranks share the fast links");
    note_idle(search, "pipeline.scatter_gather", layout->has_scatter_gather && layout->pp <= 1,
              "mesh.pp is 1: no stage sends anything");
    note_idle(search, "pipeline.communicator",
              search->spec->algorithms.messages != MS_MESSAGES_PAIR && layout->pp <= 1,
              "mesh.pp is 1: no stage sends anything");
    note_idle(search, "pipeline.communicator",
              search->spec->algorithms.messages != MS_MESSAGES_PAIR && layout->pp > 1 &&
                  search->spec->platform.cluster->library == NULL,
              "the platform has no library: messages have no channels");
    note_idle(search, "pipeline.scatter_gather", layout->has_scatter_gather && is_alone, ALONE);
    note_idle(search, "pipeline.scatter_gather",
              layout->has_scatter_gather && layout->has_sequence_parallel,
              "with 'tensor_parallel.sequence' each tp rank sends its own share anyway");
}

/* Note idle keys of context parallelism. */
static void check_context(key_search *search) {
    static const char ALONE[] = "mesh.cp is 1: no ranks share a sequence";
    const ms_model_layout *layout = search->layout;
    note_idle(search, "context_parallel.kind", layout->cp_kind != MS_CP_RING && layout->cp <= 1,
              ALONE);
    note_idle(search, "context_parallel.overlap", layout->cp <= 1, ALONE);
}

/* Note idle keys of data parallelism. A single replica has no collectives of parameters and
 * gradients, but it has the buffers for them: whole parameters beside their shards (ZeRO 3), a
 * bucket beside the shards of gradients. copies_out: parameters are gathered layer by layer in
 * every pass. cuts_all: the bucketing also cuts gradients that are reduced at the step's end.
 * is_unused: no gradients are reduced in buckets. */
static void check_replicas(key_search *search) {
    static const char ALONE[] = "the mesh has one replica: dp, cp and ep are 1";
    const ms_model_layout *layout = search->layout;
    int experts = layout->expert_mesh.tp > 0 ? 1 : layout->ep; /* ep as an axis of the mesh */
    bool is_alone = layout->dp * layout->cp * experts * layout->other == 1;
    bool has_units = layout->zero >= 3, is_last = layout->reduce == MS_REDUCE_LAST;
    bool has_bucket = layout->reduce == MS_REDUCE_EVERY;
    note_idle(search, "data_parallel.zero", layout->zero > 0 && is_alone && !has_units && is_last,
              ALONE);
    note_idle(search, "data_parallel.shard", is_alone, ALONE);
    note_idle(search, "data_parallel.all_reduce", layout->all_reduces_gradients && is_alone, ALONE);
    note_idle(search, "data_parallel.all_reduce",
              layout->all_reduces_gradients && layout->directions > 1,
              "with two directions of the pipeline gradients are scattered, summed and gathered");
    note_idle(search, "data_parallel.overlap_reduce", layout->has_reduce_overlap && is_alone,
              ALONE);
    note_idle(search, "data_parallel.update",
              layout->update == MS_UPDATE_SEPARATE && !search->spec->has_model,
              "given 'costs.optimizer' is all that an update takes");
    note_idle(search, "data_parallel.overlap_gather",
              layout->has_gather_overlap && is_alone && (!has_units || layout->keeps_parameters),
              ALONE);
    bool copies_out = has_units && !layout->keeps_parameters && !layout->has_placed_unshards;
    note_idle(search, "data_parallel.units", layout->units != MS_UNITS_IN_PLACE && is_alone, ALONE);
    note_idle(search, "data_parallel.units",
              layout->units == MS_UNITS_FLAT || !copies_out
                  ? layout->units != MS_UNITS_IN_PLACE && !has_bucket
                  : false,
              "no layer is gathered or reduced by itself in every pass ('data_parallel.zero', "
              "'data_parallel.reduce')");
    note_idle(search, "data_parallel.bucket", layout->bucket_B > 0 && is_alone && !has_bucket,
              ALONE);
    bool cuts_all =
        layout->bucketing == MS_BUCKETS_WEIGHTS || layout->bucketing == MS_BUCKETS_CAPPED;
    bool is_whole = layout->bucketing == MS_BUCKETS_STAGES;
    note_idle(search, "data_parallel.bucketing", layout->bucketing != MS_BUCKETS_LAYERS && is_alone,
              ALONE);
    note_idle(search, "data_parallel.bucketing",
              layout->bucketing != MS_BUCKETS_LAYERS && !search->spec->has_model,
              "given 'costs' have no weights");
    note_idle(search, "data_parallel.bucket", layout->bucket_B > 0 && is_whole && !has_bucket,
              "a virtual stage is a bucket");
    bool is_unused = !layout->has_reduce_overlap && !has_bucket && !(cuts_all && is_last);
    note_idle(search, "data_parallel.bucket", layout->bucket_B > 0 && !is_whole && is_unused,
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

/* Note `memory.offload` where the model does not have the activations that it names, or recomputes
 * all. */
static void check_offloading(key_search *search) {
    unsigned there = MS_OFFLOAD_NORMS | MS_OFFLOAD_ATTENTION;
    there |= search->spec->model.moe.experts > 0 ? MS_OFFLOAD_EXPERTS : 0;
    bool is_repeated = recomputes_all(search->layout);
    note_idle(search, "memory.offload",
              search->layout->offloaded != 0 && (search->layout->offloaded & there) == 0,
              "the model has no experts");
    note_idle(search, "memory.offload", search->layout->offloaded != 0 && is_repeated,
              "'recompute: full' repeats every layer as a whole");
}

/* Note idle keys of the framework's buffers and workspaces. used: MS_BUFFER_ bits of the buffers
 * that this job has a use for. */
static void check_framework(key_search *search) {
    const ms_framework_memory *framework = &search->layout->framework_memory;
    const ms_model *model = &search->spec->model;
    bool has_engine = framework->libraries == MS_LIBRARIES_TRANSFORMER_ENGINE;
    bool has_sequence = search->layout->has_sequence_parallel && search->layout->tp > 1;
    unsigned used = 0;
    used |= has_engine && model->moe.experts > 0 ? MS_BUFFER_GROUPED_PRODUCTS : 0;
    used |= has_sequence && model->vocab > 0 ? MS_BUFFER_GATHER : 0;
    used |= model->has_fused_accumulation ? MS_BUFFER_WEIGHT_GRADIENTS : 0;
    used |= model->attention == MS_ATTENTION_UNFUSED ? MS_BUFFER_SCORES : 0;
    used |= MS_BUFFER_LAST_GRADIENTS;
    used |=
        search->layout->zero >= 3 && !search->layout->keeps_parameters ? MS_BUFFER_PREFETCHED : 0;
    note_idle(search, "memory.buffers", framework->buffers != 0 && (framework->buffers & used) == 0,
              "the job has none of what these buffers are for, or they come on top of no peak");
    check_offloading(search);
    note_idle(search, "memory.cublas_workspace",
              framework->cublas_B > 0 && framework->libraries == MS_LIBRARIES_NONE,
              "no libraries are named ('memory.libraries')");
}

/* Note idle traits of kernels that the model does not run. */
static void check_kernels(key_search *search) {
    const ms_model *model = &search->spec->model;
    const ms_kernel_traits *traits = &model->kernel_traits;
    bool is_wider = search->spec->precision.gradients == MS_DTYPE_FP32;
    note_idle(search, "model.two_pass_norms", traits->has_two_pass_norms && model->is_rms_norm,
              "'model.norm' is rms: there are no layer norms");
    note_idle(search, "model.complex_rotary",
              traits->has_complex_rotary && (model->has_positions || model->has_alibi),
              "no queries and keys are rotated ('model.positions')");
    note_idle(search, "model.separate_dropout", traits->has_separate_dropout && model->dropout <= 0,
              "'model.dropout' is 0");
    note_idle(search, "model.cast_gradients",
              traits->has_cast_gradients && model->has_fused_accumulation,
              "products add to the gradient buffer ('model.fused_accumulation')");
    note_idle(search, "model.cast_gradients", traits->has_cast_gradients && !is_wider,
              "gradients are accumulated in the type that they are made in");
}

/* Note idle keys of products in fewer bits. is_of_tensors: fp8 with one scale for a whole tensor.
 */
static void check_products(key_search *search) {
    static const char PLAIN[] = "'precision.products' is parameters: no product has fewer bits";
    const ms_products *products = &search->spec->precision.products;
    const ms_model *model = &search->spec->model;
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
        note_idle(search, KEYS[i], is_plain, PLAIN);
    }
    bool is_of_tensors =
        products->format == MS_PRODUCT_FP8 &&
        (products->scaling == MS_SCALING_DELAYED || products->scaling == MS_SCALING_CURRENT);
    note_idle(
        search, "precision.second_form",
        !is_plain && (is_of_tensors || products->kept == MS_TYPE_OF_PARAMETERS ||
                      products->weight_gradients == MS_TYPE_OF_PARAMETERS),
        "scales are of whole tensors, or inputs are kept or multiplied for weights' gradients in "
        "the working type: no second form is kept");
    note_idle(search, "precision.scaling", products->format > MS_PRODUCT_FP8,
              "the format has a scale of its own for every block of elements");
    note_idle(search, "precision.amax_group",
              products->format > MS_PRODUCT_FP8 || products->scaling != MS_SCALING_DELAYED,
              "only 'precision.scaling: delayed' shares maxima of earlier steps");
    note_idle(search, "precision.casts",
              products->casts != MS_CASTS_STREAMING &&
                  search->spec->platform.cluster->gpu.products.of[products->format]
                          .transposing_casts[products->casts] <= 0,
              "the GPU type has no such 'transposing_casts' for the format");
    note_idle(search, "precision.tensor_gathers",
              search->layout->tp <= 1 || !search->layout->has_sequence_parallel,
              "no tp ranks gather tokens ('tensor_parallel.sequence')");
    note_idle(search, "precision.products",
              !is_plain && products->kinds == MS_PRODUCT_EXPERTS && !has_experts,
              "'products_of' names experts, and the model has none");
    note_idle(search, "precision.products",
              !is_plain && products->kinds == MS_PRODUCT_HEAD && model->vocab == 0,
              "'products_of' names the head, and model.vocab is 0");
    note_idle(search, "precision.products",
              !is_plain &&
                  products->first_plain_layers + products->last_plain_layers >= model->layers &&
                  (products->kinds & MS_PRODUCT_HEAD) == 0,
              "'first_plain_layers' and 'last_plain_layers' leave no layer over");
    note_idle(search, "precision.attention",
              !is_plain &&
                  products->first_plain_layers + products->last_plain_layers >= model->layers,
              "'first_plain_layers' and 'last_plain_layers' leave no layer over");
}

/* Note idle keys of `precision`, and of recomputed parts. */
static void check_precision(key_search *search) {
    note_idle(search, "data_parallel.update",
              search->layout->update == MS_UPDATE_OPERATIONS && search->layout->is_offloaded,
              "'data_parallel.offload' leaves the update to the host");
    note_idle(search, "precision.parameters", search->spec->precision.parameters == MS_DTYPE_FP16,
              "fp16 has the bytes and the FLOP/s of bf16");
    check_products(search);
    note_idle(search, "recompute_parts",
              search->layout->recompute_parts != 0 && recomputes_all(search->layout),
              "'recompute: full' repeats every layer as a whole");
}

/* Note an idle `model.projections`. Only plain attention (q, k, v) and a dense gated MLP (gate,
 * value) have products that could be one. has_all_experts: no layer has a dense MLP. */
static void check_projections(key_search *search, bool has_all_experts) {
    const ms_model *model = &search->spec->model;
    const ms_model_layout *layout = search->layout;
    bool is_separate = model->projections == MS_PROJECTIONS_SEPARATE;
    bool is_concatenated = model->projections == MS_PROJECTIONS_CONCATENATED;
    bool is_latent = model->mla.kv_rank > 0, has_gates = model->is_gated && !has_all_experts;
    note_idle(
        search, "model.projections", (is_separate || is_concatenated) && is_latent && !has_gates,
        "neither latent attention nor experts nor an MLP without gate have products that could "
        "be one");
    note_idle(search, "model.projections",
              is_concatenated && !is_latent && model->attention == MS_ATTENTION_UNFUSED &&
                  !has_gates,
              "unfused attention puts the gradient together anyway, and no dense MLP has a gate");
    note_idle(
        search, "model.projections",
        model->projections == MS_PROJECTIONS_INTERLEAVED &&
            (is_latent || model->attention == MS_ATTENTION_UNFUSED),
        "latent attention lays its operands out itself, and unfused attention copies them anyway");
    note_idle(search, "model.projections",
              is_separate && layout->tp > 1 && layout->tp_overlap != MS_TP_OVERLAP_NONE &&
                  (!is_latent || has_gates),
              "products that 'tensor_parallel.overlap' runs beside collectives stay whole");
}

/* Note idle keys of the model's shape. */
static void check_model(key_search *search) {
    const ms_model *model = &search->spec->model;
    bool is_latent = model->mla.kv_rank > 0;
    bool has_all_experts = ms_model_expert_layers(model) == model->layers;
    bool is_given = node_at(search->spec, "model.moe.ffn") != NULL;
    static const char NO_VOCAB[] = "model.vocab is 0: there is neither embedding nor head";
    note_idle(search, "model.tied_embeddings", model->has_tied_embeddings && model->vocab == 0,
              NO_VOCAB);
    note_idle(search, "model.loss", model->loss != MS_LOSS_VOCAB_PARALLEL && model->vocab == 0,
              NO_VOCAB);
    note_idle(search, "model.repeat_key_values",
              model->repeats_key_values && (is_latent || model->kv_heads == model->heads),
              "there are as many heads of keys and values as of queries");
    note_idle(search, "model.biases",
              model->parts.biases != 0 && model->has_bias &&
                  (model->parts.biases & MS_BIAS_HEAD) == 0,
              "'model.bias' gives these layers one");
    note_idle(search, "model.biases", model->parts.biases == MS_BIAS_HEAD && model->vocab == 0,
              NO_VOCAB);
    note_idle(search, "model.branch_norms",
              model->parts.has_branch_norms && !model->has_parallel_block,
              "without 'model.parallel_block' attention and MLP have a norm each anyway");
    note_idle(search, "model.biases",
              model->parts.biases == MS_BIAS_EXPERTS && model->moe.experts == 0 && !model->has_bias,
              "no layer has experts");
    note_idle(search, "model.window_skip_freq",
              model->parts.window_skip_freq > 0 && model->window == 0,
              "no layer has a window: model.window is 0");
    note_idle(search, "model.qk_gains",
              model->parts.has_own_qk_gains && (!model->parts.has_qk_norms || is_latent),
              "queries and keys are not normed head by head");
    note_idle(search, "model.window", model->window >= model->sequence && model->sequence > 0,
              "the window is not smaller than the sequence");
    note_idle(search, "model.loss_metrics", model->loss_metrics > 0 && model->vocab == 0, NO_VOCAB);
    check_projections(search, has_all_experts);
    note_idle(search, "model.positions", is_latent && model->vocab == 0,
              "latent attention turns its keys anyway, and without a vocabulary no positions are "
              "learned");
    const ms_node *type = node_at(search->spec, "model.type");
    bool is_gpt = type != NULL && type->text != NULL && strcmp(type->text, "gpt") == 0;
    note_idle(
        search, "model.positions",
        model->has_alibi && is_gpt && model->vocab == 0 && model->attention != MS_ATTENTION_UNFUSED,
        "fused attention makes the biases on the way, and without a vocabulary no positions are "
        "learned");
    note_idle(search, "model.head_dim", is_latent,
              "heads of latent attention have the sizes of 'model.mla'");
    note_idle(search, "model.ffn", has_all_experts && is_given,
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

/* Whether `capacity_factor` changes nothing: no expert can get more copies than its capacity, so
 * that none is dropped, and no expert is padded up to its capacity. is_even: all experts are chosen
 * equally often. */
static bool drops_nothing(const ms_moe *moe, bool is_even) {
    double most = is_even ? 1 : (double)moe->experts / moe->top_k;
    return moe->capacity_factor >= most && !moe->has_padding;
}

/* Note idle keys of how unevenly tokens choose experts, and of the experts' capacity. is_unseen:
 * one rank computes the copies of all experts, and none is dropped. */
static void check_choice(key_search *search) {
    const ms_moe *moe = &search->spec->model.moe;
    bool has_kind = moe->imbalance != MS_IMBALANCE_NONE;
    bool is_even = !has_kind || moe->spread <= 0;
    bool is_unseen = search->layout->ep <= 1 && moe->capacity_factor <= 0;
    static const char UNSEEN[] =
        "mesh.ep is 1 and no 'capacity_factor' is given: the rank has all experts' tokens, however "
        "they are spread";
    note_idle(search, "model.moe.capacity_factor", drops_nothing(moe, is_even),
              is_even
                  ? "all experts are chosen equally often ('imbalance' says otherwise), none gets "
                    "more than it takes"
                  : "it is as much as all tokens, so none is dropped");
    note_idle(search, "model.moe.imbalance.distribution", has_kind && moe->spread <= 0,
              "'model.moe.imbalance.spread' is 0");
    note_idle(search, "model.moe.imbalance.spread", moe->spread > 0 && !has_kind,
              "'model.moe.imbalance.distribution' is none");
    note_idle(search, "model.moe.imbalance.distribution", has_kind && is_unseen, UNSEEN);
    note_idle(search, "model.moe.imbalance.spread", moe->spread > 0 && is_unseen, UNSEEN);
    note_idle(search, "model.moe.seed", is_even,
              "all experts are chosen equally often ('imbalance')");
    note_idle(search, "model.moe.seed", is_unseen, UNSEEN);
}

/* Note idle keys of the exchange with experts' ranks, and of shared experts. */
static void check_experts(key_search *search) {
    static const char ALONE[] = "mesh.ep is 1: no token is sent to another rank";
    const ms_moe *moe = &search->spec->model.moe;
    const ms_model_layout *layout = search->layout;
    bool is_alone = layout->ep <= 1, has_shared = moe->shared_experts > 0;
    note_idle(search, "model.moe.shared_ffn", !has_shared, "there are no 'shared_experts'");
    note_idle(search, "model.moe.node_limit", moe->node_limit > 0 && is_alone, ALONE);
    note_idle(search, "model.moe.node_limit",
              moe->node_limit > 0 && layout->ep_node_ranks == layout->ep,
              "the ranks of an ep group are on one node");
    note_idle(search, "model.moe.dispatch", moe->dispatch_element_B > 0 && is_alone, ALONE);
    note_idle(search, "model.moe.combine", moe->combine_element_B > 0 && is_alone, ALONE);
    note_idle(search, "model.moe.overlap", moe->overlap != MS_MOE_OVERLAP_NONE && is_alone, ALONE);
    note_idle(search, "model.moe.overlap", moe->overlap == MS_MOE_OVERLAP_SHARED && !has_shared,
              "there are no 'shared_experts'");
    note_idle(
        search, "model.moe.overlap",
        moe->overlap == MS_MOE_OVERLAP_ALL && !has_shared &&
            !has_whole_backward(&search->job->program),
        "there are no 'shared_experts', and the schedule has the weight gradients in passes of "
        "their own");
}

/* Find the keys of a job's file that change nothing, topic by topic. Keys of a model are checked
 * only where the job has one. */
ms_status ms_idle_keys_find(const ms_job *job, ms_arena *arena, ms_diag *diag,
                            ms_idle_keys *keys_out) {
    const ms_job_spec *spec = &job->spec;
    key_search search = {.spec = spec, .job = job, .costs = &job->costs, .layout = &job->layout};
    search.keys = MS_NEW(arena, ms_idle_key, KEYS_MAX);
    bool has_no_gaps = false;
    ms_status status = search.keys == NULL ? MS_E_NOMEM : find_gaps(job, arena, diag, &has_no_gaps);
    if (status != MS_OK) {
        return status;
    }
    check_schedule(&search, has_no_gaps);
    check_algorithms(&search);
    check_host(&search);
    if (spec->has_model) {
        check_tensor(&search);
        check_context(&search);
        check_replicas(&search);
        check_precision(&search);
        check_kernels(&search);
        check_framework(&search);
        check_model(&search);
    }
    if (spec->has_model && spec->model.moe.experts > 0) {
        check_choice(&search);
        check_experts(&search);
    }
    *keys_out = (ms_idle_keys){search.keys, search.count};
    return MS_OK;
}
