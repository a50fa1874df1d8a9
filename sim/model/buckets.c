/* Buckets of gradients that are cut between weights; the rules and their sources are in buckets.md.
 */
#include "model/buckets.h"

#include <math.h>

#include "model/moe.h"

/* Elements of a bucket where none are given, and for each replica.
 * Source: Megatron-LM, megatron.core.distributed.distributed_data_parallel. */
static const double MEGATRON_ELEMENTS = 40e6, MEGATRON_ELEMENTS_PER_REPLICA = 1e6;

/* ---- rules ---- */

static double replicas(const ms_model_layout *layout) {
    unsigned axes = MS_AXIS_BIT(MS_AXIS_DP) | MS_AXIS_BIT(MS_AXIS_OTHER);
    axes |= layout->expert_mesh.tp > 0 ? 0 : MS_AXIS_BIT(MS_AXIS_EP);
    return ms_group_size(layout, axes);
}

/* Smallest or largest bucket of a stage [count]; infinite: all is one bucket. */
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

static bool has_buckets(const ms_model_layout *layout) {
    unsigned all = MS_AXIS_BIT(MS_AXIS_DP) | MS_AXIS_BIT(MS_AXIS_CP) | MS_AXIS_BIT(MS_AXIS_EP) |
                   MS_AXIS_BIT(MS_AXIS_OTHER);
    return layout->bucketing != MS_BUCKETS_LAYERS && ms_group_size(layout, all) > 1;
}

/* Whether the table of words is a bucket of its own: both ends of the pipeline hold it, and shard
 * it alike. Source: Megatron-LM, megatron.core.distributed.param_and_grad_buffer
 * (_does_param_require_new_bucket). */
static bool has_lone_table(const ms_cost_builder *builder) {
    const ms_model_layout *layout = builder->layout;
    return layout->bucketing == MS_BUCKETS_MEGATRON && layout->zero > 0 &&
           builder->model->has_tied_embeddings && !ms_has_joined_ends(layout);
}

/* ---- how gradients fall into buckets ---- */

typedef struct bucket_finder {
    ms_cost_builder *builder;
    ms_stage_buckets *found;
    ms_vector closed[MS_BUCKET_KINDS]; /* ms_bucket */
    ms_bucket open[MS_BUCKET_KINDS];
    ms_vector weights; /* ms_made_weights of a unit */
    double limit;
    double alone; /* a weight of at least this many parameters is a bucket of its own; 0: no weight
                     is */
} bucket_finder;

static void close_bucket(bucket_finder *f, int kind, int event) {
    if (f->open[kind].parameters > 0) {
        f->open[kind].event = event;
        ms_vector_add(&f->closed[kind], &f->open[kind], 1);
        f->open[kind] = (ms_bucket){.parameters = 0};
    }
}

static void add_weight(bucket_finder *f, ms_bucket_unit *unit, int kind, ms_bucket weight) {
    bool is_capped = f->builder->layout->bucketing == MS_BUCKETS_CAPPED;
    bool is_alone = f->alone > 0 && weight.parameters >= f->alone;
    if (weight.parameters <= 0) {
        return;
    }
    if (is_alone || (is_capped && f->open[kind].parameters + weight.parameters > f->limit)) {
        close_bucket(f, kind, weight.event);
    }
    if (unit->lowest[kind] < 0) {
        unit->lowest[kind] = (int)f->closed[kind].count;
    }
    f->open[kind].parameters += weight.parameters;
    f->open[kind].quantized += weight.quantized;
    f->open[kind].event = weight.event;
    if (is_alone || (!is_capped && f->open[kind].parameters >= f->limit)) {
        close_bucket(f, kind, weight.event);
    }
}

static int kind_of(const ms_cost_builder *builder, bool is_expert) {
    bool is_separate = ms_ep_of(builder->layout) > 1 || builder->layout->expert_mesh.tp > 0;
    return is_expert && is_separate ? MS_BUCKET_EXPERT : MS_BUCKET_DENSE;
}

/* Add the events of a unit's weights, then its other parameters (norms, biases) at the unit's end.
 * Where the weights' products count more parameters than the unit holds (a head that uses the
 * embedding's table), all gradients of the unit come at its end. */
static void add_unit(bucket_finder *f, const ms_fsdp_unit *of, ms_bucket_unit *unit) {
    const double all[MS_BUCKET_KINDS] = {of->parameters.dense, of->parameters.expert};
    const double cast[MS_BUCKET_KINDS] = {of->parameters.dense_quantized,
                                          of->parameters.expert_quantized};
    double rest[MS_BUCKET_KINDS] = {all[0], all[1]};
    for (size_t i = 0; i < f->weights.count; i++) {
        const ms_made_weights *made = &MS_AT(&f->weights, ms_made_weights, i);
        rest[kind_of(f->builder, made->is_expert)] -= made->each * made->count;
    }
    bool is_known = rest[0] >= 0 && rest[1] >= 0;
    unit->events = (int)f->weights.count + 1;
    for (size_t i = 0; i < f->weights.count && is_known; i++) {
        const ms_made_weights *made = &MS_AT(&f->weights, ms_made_weights, i);
        int kind = kind_of(f->builder, made->is_expert);
        for (double k = 0; k < made->count; k++) {
            add_weight(f, unit, kind,
                       (ms_bucket){.parameters = made->each,
                                   .quantized = made->each / all[kind] * cast[kind],
                                   .event = unit->first_event + (int)i});
        }
    }
    for (int kind = 0; kind < MS_BUCKET_KINDS; kind++) {
        double left = is_known ? rest[kind] : all[kind];
        double share = all[kind] > 0 ? left / all[kind] : 0;
        add_weight(f, unit, kind,
                   (ms_bucket){.parameters = left,
                               .quantized = share * cast[kind],
                               .event = unit->first_event + unit->events - 1});
    }
}

/* List what the kernels of a unit's backward pass make: the pass is added, listened to, and taken
 * back. */
static void list_weights(bucket_finder *f, const ms_fsdp_unit *unit) {
    ms_cost_builder *builder = f->builder;
    const size_t counts[] = {builder->segments.count, builder->kernels.count, builder->uses.count};
    ms_stage_buckets ordered = {.is_ordered = true};
    builder->unit.buckets.of = &ordered;
    builder->unit.buckets.listed = &f->weights;
    f->weights.count = 0;
    ms_cost_add_fsdp_unit(builder, MS_PASS_B, unit);
    builder->unit.buckets.listed = NULL;
    builder->unit.buckets.of = NULL;
    builder->segments.count = counts[0];
    builder->kernels.count = counts[1];
    builder->uses.count = counts[2];
}

static bool is_like_before(const bucket_finder *f, const ms_fsdp_unit *before,
                           const ms_fsdp_unit *unit) {
    const int layers[2] = {before->layer, unit->layer};
    const int position = unit->layer - f->builder->stage_first;
    const int positions[2] = {position, position};
    return before->kind == MS_FSDP_UNIT_LAYER && unit->kind == MS_FSDP_UNIT_LAYER &&
           before->layer >= 0 && ms_layers_are_alike(f->builder, layers, positions);
}

static void add_units(bucket_finder *f, ms_stage_content content) {
    ms_stage_buckets *found = f->found;
    ms_fsdp_unit before = {.kind = MS_FSDP_UNIT_HEAD, .layer = -1};
    bool has_table = has_lone_table(f->builder);
    int event = 0;
    for (int u = 0; u < found->unit_count; u++) {
        ms_fsdp_unit unit = ms_stage_fsdp_unit(f->builder, content, found->unit_count - 1 - u);
        bool may_have_table = unit.kind == MS_FSDP_UNIT_EMBEDDING || unit.kind == MS_FSDP_UNIT_HEAD;
        if (!is_like_before(f, &before, &unit)) {
            list_weights(f, &unit);
        }
        const ms_shard *shard = &f->builder->shard;
        f->alone = has_table && may_have_table ? shard->vocab * shard->hidden : 0;
        found->units[u] = (ms_bucket_unit){.first_event = event, .lowest = {-1, -1}};
        add_unit(f, &unit, &found->units[u]);
        event += found->units[u].events;
        before = unit;
    }
    bool is_capped = f->builder->layout->bucketing == MS_BUCKETS_CAPPED;
    for (int kind = 0; kind < MS_BUCKET_KINDS; kind++) { /* none comes that had no room in it */
        close_bucket(f, kind, is_capped ? event - 1 : f->open[kind].event);
    }
}

static void note_reached(ms_stage_buckets *found) {
    for (int kind = 0; kind < MS_BUCKET_KINDS; kind++) {
        int reached = found->of[kind].count;
        for (int u = found->unit_count - 1; u >= 0; u--) {
            reached = found->units[u].lowest[kind] >= 0 ? found->units[u].lowest[kind] : reached;
            found->units[u].reached[kind] = reached;
        }
    }
}

/* Move what was found to the arena. */
static ms_status keep(bucket_finder *f) {
    ms_arena *arena = f->builder->arena;
    bool has_failed = f->weights.failed || ms_cost_failed(f->builder);
    for (int kind = 0; kind < MS_BUCKET_KINDS; kind++) {
        ms_bucket_list *list = &f->found->of[kind];
        list->count = (int)f->closed[kind].count;
        list->items = ms_vector_keep(&f->closed[kind], arena);
        f->found->gathers[kind] = MS_NEW(arena, int, list->count);
        has_failed = has_failed || list->items == NULL || f->found->gathers[kind] == NULL;
    }
    note_reached(f->found);
    return has_failed ? MS_E_NOMEM : MS_OK;
}

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
    bucket_finder f = {
        .builder = builder, .found = found, .limit = limit_of(builder, content.is_first)};
    for (int kind = 0; kind < MS_BUCKET_KINDS; kind++) {
        ms_vector_init(&f.closed[kind], sizeof(ms_bucket));
    }
    ms_vector_init(&f.weights, sizeof(ms_made_weights));
    ms_cost_begin_plan(builder);
    builder->stage_first = content.layer_first;
    add_units(&f, content);
    ms_status status = keep(&f);
    ms_vector_release(&f.weights);
    *buckets_out = found;
    return status;
}
