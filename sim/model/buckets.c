/* Finds the gradient buckets of a virtual stage: goes through its units in the order of the
 * backward pass and puts the gradient of each weight into a bucket by the rule of
 * data_parallel.bucketing. The words (unit, event) are in buckets.h; the rules and their sources
 * are in buckets.md. */
#include "model/buckets.h"

#include <math.h>

#include "model/moe.h"

/* Megatron Core's smallest bucket where the user gives none [elements]: the larger of a fixed size
 * and a size for each replica. Source: Megatron-LM,
 * megatron.core.distributed.distributed_data_parallel. */
static const double MEGATRON_ELEMENTS = 40e6, MEGATRON_ELEMENTS_PER_REPLICA = 1e6;

/* ---- rules ---- */

/* Data-parallel replicas that Megatron Core's bucket size is multiplied by [count]: over dp, the
 * user's axis and ep, unless experts have a mesh of their own. cp is not among them. */
static double replicas(const ms_model_layout *layout) {
    unsigned axes = MS_AXIS_BIT(MS_AXIS_DP) | MS_AXIS_BIT(MS_AXIS_OTHER);
    axes |= layout->expert_mesh.tp > 0 ? 0 : MS_AXIS_BIT(MS_AXIS_EP);
    return ms_group_size(layout, axes);
}

/* Parameters from which on a bucket of a stage is full; with MS_BUCKETS_CAPPED the most that a
 * bucket may have [count]. INFINITY: all gradients of the stage are one bucket. So it is in
 * Megatron Core's stages behind the pipeline's first and, where nothing overlaps the reduction,
 * with Megatron Core's buckets and with a reduction in each round. */
static double limit_of(const ms_cost_builder *builder, bool is_first_stage) {
    const ms_model_layout *layout = builder->layout;
    bool is_megatron = layout->bucketing == MS_BUCKETS_MEGATRON;
    bool is_whole =
        !layout->has_reduce_overlap && (is_megatron || layout->reduce == MS_REDUCE_ROUND);
    bool is_stage = layout->bucketing == MS_BUCKETS_STAGES || (is_megatron && !is_first_stage);
    if (is_whole || is_stage) {
        return INFINITY;
    }
    if (is_megatron && layout->bucket_B <= 0) {
        return fmax(MEGATRON_ELEMENTS, MEGATRON_ELEMENTS_PER_REPLICA * replicas(layout));
    }
    return layout->bucket_B / builder->precision->gradient_B;
}

/* Whether gradients are cut into buckets between weights. They are not where whole units are
 * reduced (MS_BUCKETS_LAYERS), nor where a rank has no replica to reduce with. */
static bool has_buckets(const ms_model_layout *layout) {
    unsigned all = MS_AXIS_BIT(MS_AXIS_DP) | MS_AXIS_BIT(MS_AXIS_CP) | MS_AXIS_BIT(MS_AXIS_EP) |
                   MS_AXIS_BIT(MS_AXIS_OTHER);
    return layout->bucketing != MS_BUCKETS_LAYERS && ms_group_size(layout, all) > 1;
}

/* Whether the word embedding's table is a bucket of its own, because the first and the last stage,
 * on different ranks, both hold it and have to shard it alike. Source: Megatron-LM,
 * megatron.core.distributed.param_and_grad_buffer (_does_param_require_new_bucket). */
static bool has_lone_table(const ms_cost_builder *builder) {
    const ms_model_layout *layout = builder->layout;
    return layout->bucketing == MS_BUCKETS_MEGATRON && layout->zero > 0 &&
           builder->model->has_tied_embeddings && !ms_has_joined_ends(layout);
}

/* ---- how gradients fall into buckets ---- */

/* The buckets of one stage while they are found. */
typedef struct bucket_finder {
    ms_cost_builder *builder;
    ms_stage_buckets *found;           /* the result */
    ms_vector closed[MS_BUCKET_KINDS]; /* ms_bucket: full ones of each kind */
    ms_bucket open[MS_BUCKET_KINDS];   /* bucket of each kind that weights are added to */
    ms_vector weights;                 /* ms_made_weights of the unit being added */
    double limit;                      /* as limit_of */
    double alone; /* a weight of at least this many parameters is a bucket of its own; 0: no weight
                     is */
} bucket_finder;

/* Close the open bucket of a kind, if it holds anything. event: the one that it is reduced
 * behind. */
static void close_bucket(bucket_finder *finder, int kind, int event) {
    if (finder->open[kind].parameters > 0) {
        finder->open[kind].event = event;
        ms_vector_add(&finder->closed[kind], &finder->open[kind], 1);
        finder->open[kind] = (ms_bucket){.parameters = 0};
    }
}

/* Put the gradient of a weight into the open bucket of its kind. weight: its parameters, and the
 * event that makes its gradient. A capped bucket without room for the weight is closed first: the
 * framework finds that out when the weight's gradient has been computed, so the bucket is reduced
 * behind the weight's event. unit: gets the index of its first bucket (lowest). */
static void add_weight(bucket_finder *finder, ms_bucket_unit *unit, int kind, ms_bucket weight) {
    bool is_capped = finder->builder->layout->bucketing == MS_BUCKETS_CAPPED;
    bool is_alone = finder->alone > 0 && weight.parameters >= finder->alone;
    if (weight.parameters <= 0) {
        return;
    }
    if (is_alone ||
        (is_capped && finder->open[kind].parameters + weight.parameters > finder->limit)) {
        close_bucket(finder, kind, weight.event);
    }
    if (unit->lowest[kind] < 0) {
        unit->lowest[kind] = (int)finder->closed[kind].count;
    }
    finder->open[kind].parameters += weight.parameters;
    finder->open[kind].quantized += weight.quantized;
    finder->open[kind].event = weight.event;
    if (is_alone || (!is_capped && finder->open[kind].parameters >= finder->limit)) {
        close_bucket(finder, kind, weight.event);
    }
}

/* The kind of bucket for a weight's gradient. Routed experts have buckets of their own where their
 * replicas are other ranks than those of all other parameters. */
static int kind_of(const ms_cost_builder *builder, bool is_expert) {
    bool is_separate = ms_ep_of(builder->layout) > 1 || builder->layout->expert_mesh.tp > 0;
    return is_expert && is_separate ? MS_BUCKET_EXPERT : MS_BUCKET_DENSE;
}

/* Put the gradients of a unit into buckets: first those of the weights in finder->weights, one by
 * one, each with the event of the kernel that makes it; then those of the unit's other parameters
 * (norms, biases), with the event of the unit's end. If these weights have more parameters than the
 * unit (a head that uses the embedding's table), all gradients of the unit get the event of its
 * end. Quantized parameters are spread evenly over the parameters of their kind. of: the unit and
 * its parameter counts. unit: its first_event is set; gets the number of its events. */
static void add_unit(bucket_finder *finder, const ms_fsdp_unit *of, ms_bucket_unit *unit) {
    /* by kind: all parameters; the quantized ones among them; those outside finder->weights */
    const double all[MS_BUCKET_KINDS] = {of->parameters.dense, of->parameters.expert};
    const double cast[MS_BUCKET_KINDS] = {of->parameters.dense_quantized,
                                          of->parameters.expert_quantized};
    double rest[MS_BUCKET_KINDS] = {all[0], all[1]};
    for (size_t i = 0; i < finder->weights.count; i++) {
        const ms_made_weights *made = &MS_AT(&finder->weights, ms_made_weights, i);
        rest[kind_of(finder->builder, made->is_expert)] -= made->each * made->count;
    }
    bool is_known = rest[0] >= 0 && rest[1] >= 0;
    unit->events = (int)finder->weights.count + 1;
    for (size_t i = 0; i < finder->weights.count && is_known; i++) {
        const ms_made_weights *made = &MS_AT(&finder->weights, ms_made_weights, i);
        int kind = kind_of(finder->builder, made->is_expert);
        for (double k = 0; k < made->count; k++) {
            add_weight(finder, unit, kind,
                       (ms_bucket){.parameters = made->each,
                                   .quantized = made->each / all[kind] * cast[kind],
                                   .event = unit->first_event + (int)i});
        }
    }
    for (int kind = 0; kind < MS_BUCKET_KINDS; kind++) {
        double left = is_known ? rest[kind] : all[kind];
        double share = all[kind] > 0 ? left / all[kind] : 0;
        add_weight(finder, unit, kind,
                   (ms_bucket){.parameters = left,
                               .quantized = share * cast[kind],
                               .event = unit->first_event + unit->events - 1});
    }
}

/* List in finder->weights the weights whose gradients a unit's backward pass makes, in order. To
 * that end the pass is added to the builder, where each kernel reports its weights
 * (ms_buckets_count_event), and its segments and kernels are removed again. Scratch buckets that
 * are marked as ordered make the kernels come in the order in which they run. */
static void list_weights(bucket_finder *finder, const ms_fsdp_unit *unit) {
    ms_cost_builder *builder = finder->builder;
    const size_t counts[] = {builder->segments.count, builder->kernels.count, builder->uses.count};
    ms_stage_buckets ordered = {.is_ordered = true};
    builder->unit.buckets.of = &ordered;
    builder->unit.buckets.listed = &finder->weights;
    finder->weights.count = 0;
    ms_cost_add_fsdp_unit(builder, MS_PASS_B, unit);
    builder->unit.buckets.listed = NULL;
    builder->unit.buckets.of = NULL;
    builder->segments.count = counts[0];
    builder->kernels.count = counts[1];
    builder->uses.count = counts[2];
}

/* Whether a unit is a layer that makes the same weight gradients as the unit before it. Both are
 * compared as if at the same position of the stage, because recomputation, which depends on the
 * position, adds no weight gradients. */
static bool is_like_before(const bucket_finder *finder, const ms_fsdp_unit *before,
                           const ms_fsdp_unit *unit) {
    const int layers[2] = {before->layer, unit->layer};
    const int position = unit->layer - finder->builder->stage_first;
    const int positions[2] = {position, position};
    return before->kind == MS_FSDP_UNIT_LAYER && unit->kind == MS_FSDP_UNIT_LAYER &&
           before->layer >= 0 && ms_layers_are_alike(finder->builder, layers, positions);
}

/* Put the gradients of all units of a stage into buckets, in the order of the backward pass, and
 * set each unit's events. A unit like the one before it has the same list of weights. Where the
 * word embedding's table is a bucket of its own (has_lone_table), it is so in the embedding and the
 * head. */
static void add_units(bucket_finder *finder, ms_stage_content content) {
    ms_stage_buckets *found = finder->found;
    ms_fsdp_unit before = {.kind = MS_FSDP_UNIT_HEAD, .layer = -1};
    bool has_table = has_lone_table(finder->builder);
    int event = 0;
    for (int u = 0; u < found->unit_count; u++) {
        ms_fsdp_unit unit = ms_stage_fsdp_unit(finder->builder, content, found->unit_count - 1 - u);
        bool may_have_table = unit.kind == MS_FSDP_UNIT_EMBEDDING || unit.kind == MS_FSDP_UNIT_HEAD;
        if (!is_like_before(finder, &before, &unit)) {
            list_weights(finder, &unit);
        }
        const ms_shard *shard = &finder->builder->shard;
        finder->alone = has_table && may_have_table ? shard->vocab * shard->hidden : 0;
        found->units[u] = (ms_bucket_unit){.first_event = event, .lowest = {-1, -1}};
        add_unit(finder, &unit, &found->units[u]);
        event += found->units[u].events;
        before = unit;
    }
    bool is_capped = finder->builder->layout->bucketing == MS_BUCKETS_CAPPED;
    for (int kind = 0; kind < MS_BUCKET_KINDS; kind++) {
        /* no further weight finds the last capped bucket full, so the pass's end reduces it */
        close_bucket(finder, kind, is_capped ? event - 1 : finder->open[kind].event);
    }
}

/* Set `reached` of every unit: its own `lowest` bucket, or where it has none that of the nearest
 * unit before it in forward order (units are in backward order). Without any such unit it is the
 * number of buckets. */
static void set_reached(ms_stage_buckets *found) {
    for (int kind = 0; kind < MS_BUCKET_KINDS; kind++) {
        int reached = found->of[kind].count;
        for (int u = found->unit_count - 1; u >= 0; u--) {
            reached = found->units[u].lowest[kind] >= 0 ? found->units[u].lowest[kind] : reached;
            found->units[u].reached[kind] = reached;
        }
    }
}

/* Move the buckets to the arena, as the stage's lists. Returns MS_OK; MS_E_NOMEM. */
static ms_status move_to_arena(bucket_finder *finder) {
    ms_arena *arena = finder->builder->arena;
    bool has_failed = finder->weights.failed || ms_cost_failed(finder->builder);
    for (int kind = 0; kind < MS_BUCKET_KINDS; kind++) {
        ms_bucket_list *list = &finder->found->of[kind];
        list->count = (int)finder->closed[kind].count;
        list->items = ms_vector_keep(&finder->closed[kind], arena);
        finder->found->gathers[kind] = MS_NEW(arena, int, list->count);
        has_failed = has_failed || list->items == NULL || finder->found->gathers[kind] == NULL;
    }
    set_reached(finder->found);
    return has_failed ? MS_E_NOMEM : MS_OK;
}

/* Find the gradient buckets of a stage. The finder uses the builder as a scratch pad: it starts a
 * plan of its own, whose segments it removes. */
ms_status ms_buckets_find(ms_cost_builder *builder, ms_stage_content content, bool is_first_of_rank,
                          ms_stage_buckets **buckets_out) {
    int count = ms_stage_fsdp_unit_count(builder, content);
    ms_stage_buckets *found = NULL;
    if (!has_buckets(builder->layout) || count == 0) {
        *buckets_out = NULL;
        return MS_OK;
    }
    found = MS_NEW(builder->arena, ms_stage_buckets, 1);
    ms_bucket_unit *units = MS_NEW(builder->arena, ms_bucket_unit, count);
    if (found == NULL || units == NULL) {
        return MS_E_NOMEM;
    }
    *found =
        (ms_stage_buckets){.units = units, .unit_count = count, .is_gathered = is_first_of_rank};
    bucket_finder finder = {
        .builder = builder, .found = found, .limit = limit_of(builder, content.is_first)};
    for (int kind = 0; kind < MS_BUCKET_KINDS; kind++) {
        ms_vector_init(&finder.closed[kind], sizeof(ms_bucket));
    }
    ms_vector_init(&finder.weights, sizeof(ms_made_weights));
    ms_cost_begin_plan(builder);
    builder->stage_first = content.layer_first;
    add_units(&finder, content);
    ms_status status = move_to_arena(&finder);
    ms_vector_release(&finder.weights);
    *buckets_out = found;
    return status;
}
