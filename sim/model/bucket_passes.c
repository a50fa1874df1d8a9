/* Places the reductions of gradient buckets in a backward pass while the pass is being added
 * (buckets.c has found the buckets of the stage before). A unit (layer, embedding, head) has
 * events: each kernel that makes the gradient of a weight, and the unit's end. A bucket is reduced
 * behind the event that completes it. buckets.md gives the reasons. */
#include "model/buckets.h"

/* Begin a unit of a pass: find its first event and, for each kind of bucket (dense or expert), the
 * first one that earlier units have not completed. Only B and W passes reduce, and only where the
 * layout reduces in passes. is_ordered: a bucket is complete before the unit's last event, so that
 * its reduction cuts the unit's computation in two, and the unit's kernels have to be added in the
 * order they run. */
void ms_buckets_begin_unit(ms_cost_builder *builder, ms_pass pass, int unit) {
    ms_stage_buckets *buckets = builder->unit.buckets.of;
    if (buckets == NULL) {
        return;
    }
    const ms_bucket_unit *at = &buckets->units[unit];
    buckets->unit = unit;
    buckets->event = at->first_event;
    buckets->is_reducing =
        (pass == MS_PASS_B || pass == MS_PASS_W) && ms_reduces_in_passes(builder->layout);
    buckets->is_ordered = false;
    for (int kind = 0; kind < MS_BUCKET_KINDS; kind++) {
        const ms_bucket_list *list = &buckets->of[kind];
        int next = 0;
        while (next < list->count && list->items[next].event < at->first_event) {
            next++;
        }
        buckets->next[kind] = next;
        buckets->is_ordered =
            buckets->is_ordered || (buckets->is_reducing && next < list->count &&
                                    list->items[next].event < at->first_event + at->events - 1);
    }
}

/* Reduce all buckets that are complete behind event `event` (its number in the stage). Returns
 * whether a collective was added. */
static bool reduce_complete(ms_cost_builder *builder, int event) {
    ms_stage_buckets *buckets = builder->unit.buckets.of;
    size_t before = builder->segments.count;
    for (int kind = 0; kind < MS_BUCKET_KINDS; kind++) {
        const ms_bucket_list *list = &buckets->of[kind];
        for (; buckets->next[kind] < list->count && list->items[buckets->next[kind]].event <= event;
             buckets->next[kind]++) {
            double bytes =
                list->items[buckets->next[kind]].parameters * builder->precision->gradient_B;
            ms_shard_reduce(builder, bytes, kind == MS_BUCKET_EXPERT, false);
        }
    }
    return builder->segments.count > before;
}

/* Count the event of a kernel that has made weight gradients, and reduce the buckets that the event
 * completes; or, while ms_buckets_find lists weights, list these. Events are counted in ordered
 * units only, as other units complete no bucket before their end. The unit's last event is left to
 * ms_buckets_end_unit. */
void ms_buckets_count_event(ms_cost_builder *builder, double each, double count, bool is_expert) {
    ms_stage_buckets *buckets = builder->unit.buckets.of;
    if (builder->unit.buckets.listed != NULL) {
        const ms_made_weights made = {.each = each, .count = count, .is_expert = is_expert};
        ms_vector_add(builder->unit.buckets.listed, &made, 1);
    } else if (buckets != NULL && buckets->is_ordered) {
        int last =
            buckets->units[buckets->unit].first_event + buckets->units[buckets->unit].events - 1;
        if (buckets->event < last && reduce_complete(builder, buckets->event++)) {
            ms_cost_compute(builder); /* the unit's next kernels run beside the reduction */
        }
    }
}

/* Reduce the buckets that the end of the unit completes. The stage must have buckets. layer: the
 * one that the reductions are counted for. */
void ms_buckets_end_unit(ms_cost_builder *builder, int layer) {
    const ms_stage_buckets *buckets = builder->unit.buckets.of;
    const ms_bucket_unit *unit = &buckets->units[buckets->unit];
    if (buckets->is_reducing) {
        builder->layer = layer;
        reduce_complete(builder, unit->first_event + unit->events - 1);
        builder->layer = -1;
    }
}

/* Take the gathers of one unit for those of another. An outline leaves out the units between two
 * that are alike, so unit `to` waits for the gather that was started for unit `from`. Units are
 * counted in the order of the backward pass. */
void ms_buckets_skip(ms_cost_builder *builder, int from, int to) {
    ms_stage_buckets *buckets = builder->unit.buckets.of;
    for (int kind = 0; buckets != NULL && kind < MS_BUCKET_KINDS; kind++) {
        int known = buckets->units[from].lowest[kind], wanted = buckets->units[to].lowest[kind];
        if (known >= 0 && wanted >= 0) {
            buckets->gathers[kind][wanted] = buckets->gathers[kind][known];
        }
    }
}

/* ---- comparing units ---- */

/* Index of the first bucket of a kind that is complete inside a unit or behind it; list->count:
 * none. */
static int first_of(const ms_bucket_list *list, const ms_bucket_unit *unit) {
    int i = 0;
    while (i < list->count && list->items[i].event < unit->first_event) {
        i++;
    }
    return i;
}

/* Whether bucket `i` exists and is complete by the end of a unit. */
static bool is_inside(const ms_bucket_list *list, int i, const ms_bucket_unit *unit) {
    return i < list->count && list->items[i].event < unit->first_event + unit->events;
}

/* Whether two units complete equal buckets. The buckets inside unit `a` (x) and inside unit `b` (y)
 * are compared one by one, with their events counted from the unit's first event. Besides, both
 * units or neither must have parameters of a kind. */
bool ms_buckets_are_alike(const ms_stage_buckets *buckets, int a, int b) {
    if (buckets == NULL) {
        return true;
    }
    const ms_bucket_unit *x = &buckets->units[a], *y = &buckets->units[b];
    bool is_same = x->events == y->events;
    for (int kind = 0; kind < MS_BUCKET_KINDS && is_same; kind++) {
        const ms_bucket_list *list = &buckets->of[kind];
        int in_x = first_of(list, x), in_y = first_of(list, y);
        is_same = (x->lowest[kind] < 0) == (y->lowest[kind] < 0);
        for (; is_same && (is_inside(list, in_x, x) || is_inside(list, in_y, y)); in_x++, in_y++) {
            is_same = is_inside(list, in_x, x) && is_inside(list, in_y, y) &&
                      list->items[in_x].event - x->first_event ==
                          list->items[in_y].event - y->first_event &&
                      list->items[in_x].parameters == list->items[in_y].parameters &&
                      list->items[in_x].quantized == list->items[in_y].quantized;
        }
    }
    return is_same;
}
