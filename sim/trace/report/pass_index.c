#include "trace/report/pass_index.h"

#include "trace/report/gantt_sorted.h"

/* Half of the picosecond to which times are rounded: a message that ends as the pass starts. */
static const double ROUNDING_S = 0.5e-12;

ms_status ms_pass_index_build(const ms_vector *boxes, int32_t rank_count, ms_arena *arena,
                              ms_pass_index *index_out) {
    ms_gantt_box *passes = MS_NEW(arena, ms_gantt_box, boxes->count);
    size_t *first = MS_NEW(arena, size_t, (size_t)rank_count + 1);
    size_t *next = MS_NEW(arena, size_t, rank_count);
    if (passes == NULL || first == NULL || next == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < boxes->count; i++) {
        const ms_gantt_box *box = &MS_AT(boxes, const ms_gantt_box, i);
        first[box->row + 1] += ms_gantt_is_pass(box) ? 1 : 0;
    }
    for (int32_t rank = 0; rank < rank_count; rank++) {
        first[rank + 1] += first[rank];
        next[rank] = first[rank];
    }
    for (size_t i = 0; i < boxes->count; i++) {
        const ms_gantt_box *box = &MS_AT(boxes, const ms_gantt_box, i);
        if (ms_gantt_is_pass(box)) {
            passes[next[box->row]++] = *box;
        }
    }
    *index_out = (ms_pass_index){passes, first};
    return MS_OK;
}

const ms_gantt_box *ms_pass_index_find(const ms_pass_index *index, int32_t rank_index, int32_t mb,
                                       double time_s) {
    size_t low = index->rank_first[rank_index];
    size_t end = index->rank_first[rank_index + 1];
    size_t high = end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (index->passes[middle].start < time_s - ROUNDING_S) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (size_t i = low; i < end; i++) {
        const ms_gantt_box *pass = &index->passes[i];
        if (pass->mb == mb && pass->kind != MS_OP_WEIGHT_GRAD) {
            return pass;
        }
    }
    return NULL;
}
