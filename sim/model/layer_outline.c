/* Outlines (ms_model_outline) leave out layers that are like others. Of a run of alike layers a
 * pass has the first three and the last one. The third must equal the second segment by segment, so
 * that it can be repeated in place of those that are left out (ms_repeat). The first may differ,
 * because the unit before it is no layer of its kind; the last hands over to the unit behind the
 * run. "Unit" is an FSDP unit. */
#include "model/buckets.h"

enum { LEADING = 3 };

/* Whether two units are layers with the same costs. */
static bool is_alike(const ms_cost_builder *builder, ms_stage_content content,
                     const ms_fsdp_unit *a, const ms_fsdp_unit *b) {
    const int layers[2] = {a->layer, b->layer};
    const int positions[2] = {a->layer - content.layer_first, b->layer - content.layer_first};
    return a->kind == MS_FSDP_UNIT_LAYER && b->kind == MS_FSDP_UNIT_LAYER &&
           ms_layers_are_alike(builder, layers, positions);
}

/* Unit `i` of a pass, in the order of the pass. count: units of the stage. */
static ms_fsdp_unit unit_at(const ms_cost_builder *builder, ms_stage_content content, ms_pass pass,
                            int count, int i) {
    return ms_stage_fsdp_unit(builder, content, pass == MS_PASS_F ? i : count - 1 - i);
}

/* Find the longest run of alike layers of a pass. A unit continues a run if it is like the unit
 * before it and completes the same buckets. Buckets count units in the order of the backward pass
 * (index). */
ms_outline_run ms_outline_begin(const ms_cost_builder *builder, ms_stage_content content,
                                ms_pass pass, ms_repeat *repeat_out) {
    ms_outline_run longest = {.repeat = repeat_out};
    int count = builder->wanted.is_outline ? ms_stage_fsdp_unit_count(builder, content) : 0;
    int from = 0;
    ms_fsdp_unit before = {.layer = -1};
    for (int i = 0; i < count; i++) {
        ms_fsdp_unit unit = unit_at(builder, content, pass, count, i);
        int index = pass == MS_PASS_F ? count - 1 - i : i;
        bool is_same = i > 0 && is_alike(builder, content, &before, &unit) &&
                       ms_buckets_are_alike(builder->unit.buckets.of, index,
                                            pass == MS_PASS_F ? index + 1 : index - 1);
        from = is_same ? from : i;
        if (i + 1 - from > longest.until - longest.from) {
            longest.from = from;
            longest.until = i + 1;
        }
        before = unit;
    }
    return longest;
}

/* Whether two segments of a pass are equal but for their layers: they take the same time, and wait
 * for segments that lie equally far before them. moved: segments from `a` to `b`. */
static bool is_same_segment(const ms_segment *a, const ms_segment *b, int moved) {
    bool is_same =
        a->is_collective == b->is_collective && a->is_async == b->is_async &&
        a->is_experts == b->is_experts && a->kernels.has_host_wait == b->kernels.has_host_wait &&
        a->when == b->when && a->time_s == b->time_s && a->pair_extra_s == b->pair_extra_s &&
        a->kernels.launches == b->kernels.launches && a->axis == b->axis &&
        a->group_axes == b->group_axes && a->coll == b->coll && a->coll_B == b->coll_B &&
        a->coll_intra_node_B == b->coll_intra_node_B &&
        a->coll_load_imbalance == b->coll_load_imbalance && a->wait_count == b->wait_count;
    for (int i = 0; i < a->wait_count && is_same; i++) {
        is_same = a->waits[i] + moved == b->waits[i];
    }
    return is_same;
}

/* Whether the run's third unit can be repeated: it has the same segments as the second, waits for
 * nothing before the second, and leaves no gradients to be reduced with those of later units. */
static bool repeats(const ms_outline_run *run, const ms_cost_builder *builder) {
    int first = (int)run->firsts[1], length = first - (int)run->firsts[0];
    int earliest = first - length - (int)builder->pass_first;
    bool is_same = length > 0 && (int)run->firsts[2] - first == length &&
                   builder->unit.bucket.dense + builder->unit.bucket.expert == 0;
    for (int i = first; i < first + length && is_same; i++) {
        const ms_segment *segment = &MS_AT(&builder->segments, ms_segment, i);
        is_same =
            is_same_segment(&MS_AT(&builder->segments, ms_segment, i - length), segment, length);
        for (int k = 0; k < segment->wait_count; k++) {
            is_same = is_same && segment->waits[k] >= earliest;
        }
    }
    return is_same;
}

/* The unit to add after `unit`. Up to the third unit of a run, note where the segments of the next
 * one begin; behind the third, skip to the run's last unit if the third can be repeated. */
int ms_outline_next(ms_outline_run *run, const ms_cost_builder *builder, int unit) {
    int index = unit - run->from;
    bool is_long = run->until - run->from > LEADING + 1; /* more than the units that are kept */
    if (is_long && index >= 0 && index < LEADING) {
        run->firsts[index] = builder->segments.count;
    }
    if (!is_long || index != LEADING - 1 || ms_cost_failed(builder) || !repeats(run, builder)) {
        return unit + 1;
    }
    *run->repeat = (ms_repeat){.first = (int)(run->firsts[1] - builder->pass_first),
                               .count = (int)(run->firsts[2] - run->firsts[1]),
                               .times = run->until - run->from - LEADING - 1};
    return run->until - 1;
}

/* Whether a stage costs the same as the stage before it. The pipeline's first and last stage are
 * like no other; of other stages each layer must be alike. */
bool ms_outline_is_alike(const ms_cost_builder *builder, ms_stage_content before,
                         ms_stage_content content) {
    bool is_same = builder->wanted.is_outline && before.layers == content.layers &&
                   !before.is_first && !before.is_last && !content.is_first && !content.is_last;
    for (int i = 0; i < content.layers && is_same; i++) {
        const int layers[2] = {before.layer_first + i, content.layer_first + i};
        is_same = ms_layers_are_alike(builder, layers, (const int[2]){i, i});
    }
    return is_same;
}
