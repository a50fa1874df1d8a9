/* Buckets of gradients while passes are added: each is reduced behind the kernel that completes it.
 */
#include "model/buckets.h"

void ms_buckets_begin_unit(ms_cost_builder *builder, ms_pass pass, int unit) {
    ms_stage_buckets *b = builder->unit.buckets.of;
    if (b == NULL) {
        return;
    }
    const ms_bucket_unit *at = &b->units[unit];
    b->unit = unit;
    b->event = at->first_event;
    b->is_reducing =
        (pass == MS_PASS_B || pass == MS_PASS_W) && ms_reduces_in_passes(builder->layout);
    b->is_ordered = false;
    for (int kind = 0; kind < MS_BUCKET_KINDS; kind++) {
        const ms_bucket_list *list = &b->of[kind];
        int next = 0;
        while (next < list->count && list->items[next].event < at->first_event) {
            next++;
        }
        b->next[kind] = next;
        b->is_ordered =
            b->is_ordered || (b->is_reducing && next < list->count &&
                              list->items[next].event < at->first_event + at->events - 1);
    }
}

/* Reduce what is complete behind an event.  Returns whether anything was. */
static bool reduce_complete(ms_cost_builder *builder, int event) {
    ms_stage_buckets *b = builder->unit.buckets.of;
    size_t before = builder->segments.count;
    for (int kind = 0; kind < MS_BUCKET_KINDS; kind++) {
        const ms_bucket_list *list = &b->of[kind];
        for (; b->next[kind] < list->count && list->items[b->next[kind]].event <= event;
             b->next[kind]++) {
            double bytes = list->items[b->next[kind]].parameters * builder->precision->gradient_B;
            ms_shard_reduce(builder, bytes, kind == MS_BUCKET_EXPERT, false);
        }
    }
    return builder->segments.count > before;
}

void ms_buckets_made(ms_cost_builder *builder, double each, double count, bool is_expert) {
    ms_stage_buckets *b = builder->unit.buckets.of;
    if (builder->unit.buckets.listed != NULL) {
        const ms_made_weights made = {.each = each, .count = count, .is_expert = is_expert};
        ms_vector_add(builder->unit.buckets.listed, &made, 1);
    } else if (b != NULL && b->is_ordered) {
        int last = b->units[b->unit].first_event + b->units[b->unit].events - 1;
        if (b->event < last && reduce_complete(builder, b->event++)) {
            ms_cost_compute(builder); /* what follows runs beside it */
        }
    }
}

void ms_buckets_end_unit(ms_cost_builder *builder, int layer) {
    const ms_stage_buckets *b = builder->unit.buckets.of;
    const ms_bucket_unit *unit = &b->units[b->unit];
    if (b->is_reducing) {
        builder->layer = layer;
        reduce_complete(builder, unit->first_event + unit->events - 1);
        builder->layer = -1;
    }
}

void ms_buckets_skip(ms_cost_builder *builder, int from, int to) {
    ms_stage_buckets *b = builder->unit.buckets.of;
    for (int kind = 0; b != NULL && kind < MS_BUCKET_KINDS; kind++) {
        int known = b->units[from].lowest[kind], wanted = b->units[to].lowest[kind];
        if (known >= 0 && wanted >= 0) {
            b->gathers[kind][wanted] = b->gathers[kind][known];
        }
    }
}

/* ---- what is alike ---- */

/* First bucket of a kind that ends in a unit or behind it. */
static int first_of(const ms_bucket_list *list, const ms_bucket_unit *unit) {
    int i = 0;
    while (i < list->count && list->items[i].event < unit->first_event) {
        i++;
    }
    return i;
}

static bool is_inside(const ms_bucket_list *list, int i, const ms_bucket_unit *unit) {
    return i < list->count && list->items[i].event < unit->first_event + unit->events;
}

bool ms_buckets_are_alike(const ms_stage_buckets *buckets, int a, int b) {
    if (buckets == NULL) {
        return true;
    }
    const ms_bucket_unit *x = &buckets->units[a], *y = &buckets->units[b];
    bool is_same = x->events == y->events;
    for (int kind = 0; kind < MS_BUCKET_KINDS && is_same; kind++) {
        const ms_bucket_list *list = &buckets->of[kind];
        int i = first_of(list, x), k = first_of(list, y);
        is_same = (x->lowest[kind] < 0) == (y->lowest[kind] < 0);
        for (; is_same && (is_inside(list, i, x) || is_inside(list, k, y)); i++, k++) {
            is_same =
                is_inside(list, i, x) && is_inside(list, k, y) &&
                list->items[i].event - x->first_event == list->items[k].event - y->first_event &&
                list->items[i].parameters == list->items[k].parameters &&
                list->items[i].quantized == list->items[k].quantized;
        }
    }
    return is_same;
}
