/* Chooses the rows of pictures and pages of a trace, and labels them (passes.h). */
#include "trace/report/passes.h"

/* Whether rank `a` of a pipeline rank is shown rather than `b`: it stands for more ranks, or for as
 * many and is lower. */
static bool stands_for_more(const ms_trace_rank *a, const ms_trace_rank *b) {
    return a->multiplicity > b->multiplicity ||
           (a->multiplicity == b->multiplicity && a->rank < b->rank);
}

/* Keep of the ranks that are shown only one for each pipeline rank.  is_shown: [rank_count].
 * Returns false when memory runs out. */
static bool leave_pipeline_ranks(const ms_trace *trace, ms_arena *arena, bool *is_shown) {
    int32_t most = 0;
    for (int32_t i = 0; i < trace->rank_count; i++) {
        most = trace->ranks[i].pp > most ? trace->ranks[i].pp : most;
    }
    int32_t *best = MS_NEW(arena, int32_t,
                           (size_t)most + 1); /* by pipeline rank: index of its rank + 1; 0: none */
    for (int32_t i = 0; best != NULL && i < trace->rank_count; i++) {
        int32_t *mine = &best[trace->ranks[i].pp];
        if (!is_shown[i] ||
            (*mine > 0 && !stands_for_more(&trace->ranks[i], &trace->ranks[*mine - 1]))) {
            is_shown[i] = false;
            continue;
        }
        if (*mine > 0) {
            is_shown[*mine - 1] = false;
        }
        *mine = i + 1;
    }
    return best != NULL;
}

bool ms_shown_rows_find(const ms_trace *trace, ms_gantt_rows which, ms_arena *arena,
                        ms_shown_rows *rows) {
    bool *is_shown = ms_passes_shown(trace, arena);
    if (is_shown != NULL && which == MS_GANTT_PIPELINE_RANKS && trace->level != MS_TRACE_RANKS &&
        !leave_pipeline_ranks(trace, arena, is_shown)) {
        return false;
    }
    rows->row_of = MS_NEW(arena, int32_t, trace->rank_count);
    rows->rank_of = MS_NEW(arena, int32_t, trace->rank_count);
    if (is_shown == NULL || rows->row_of == NULL || rows->rank_of == NULL) {
        return false;
    }
    rows->count = 0;
    for (int32_t i = 0; i < trace->rank_count; i++) {
        rows->row_of[i] = is_shown[i] ? rows->count : -1;
        if (is_shown[i]) {
            rows->rank_of[rows->count++] = i;
        }
    }
    rows->is_choice = trace->level != MS_TRACE_RANKS && rows->count < trace->rank_count;
    return true;
}

const char **ms_shown_rows_label(const ms_trace *trace, const ms_shown_rows *rows,
                                 ms_arena *arena) {
    const char **labels = MS_NEW(arena, const char *, rows->count);
    bool has_repeats = false;
    for (int32_t i = 1; i < rows->count; i++) {
        has_repeats = has_repeats ||
                      trace->ranks[rows->rank_of[i]].pp == trace->ranks[rows->rank_of[i - 1]].pp;
    }
    for (int32_t i = 0; labels != NULL && i < rows->count; i++) {
        const ms_trace_rank *rank = &trace->ranks[rows->rank_of[i]];
        labels[i] = has_repeats ? ms_arena_printf(arena, "rank %d", rank->rank)
                                : ms_arena_printf(arena, "pp %d", rank->pp);
        if (labels[i] == NULL) {
            return NULL;
        }
    }
    return labels;
}
