/* Makes the Gantt picture of a trace (ms_gantt_from_trace) from its passes and idle time
 * (passes.h), the memory of its ranks, and figures of its summary for the titles. */
#include <stdio.h>
#include <string.h>

#include "trace/report/caption.h"
#include "trace/report/passes.h"

enum { TITLE_B = 400 };

/* The text at a key of the summary; `fallback` where it has none. */
static const char *text_at(const ms_value *summary, const char *key, const char *fallback) {
    const ms_value *value = ms_value_get(summary, key);
    return value != NULL && value->type == MS_VALUE_STRING ? value->as.string : fallback;
}

/* Write the ranks of the rows, such as " (rank 0, 64, 128 ... 960)": of more than a few only the
 * first ones and the last.  text_out: [TITLE_B]. */
static void list_ranks(const ms_trace *trace, const ms_shown_rows *rows, char *text_out) {
    enum { FEW = 6, FIRST = 3 };
    size_t used = 0;
    for (int32_t i = 0; i < rows->count; i++) {
        if (rows->count > FEW && i == FIRST) {
            i = rows->count - 1;
        }
        const char *before = i == 0 ? " (rank " : rows->count > FEW && i > FIRST ? " ... " : ", ";
        used += (size_t)snprintf(text_out + used, TITLE_B - used, "%s%d", before,
                                 trace->ranks[rows->rank_of[i]].rank);
    }
    snprintf(text_out + used, TITLE_B - used, ")");
}

/* Make the title: workload, schedule and sizes; NULL when memory runs out. */
static const char *make_title(const ms_trace *trace, const ms_shown_rows *rows, ms_arena *arena) {
    const ms_value *s = trace->summary;
    char ranks[TITLE_B] = "";
    if (rows->is_choice) {
        list_ranks(trace, rows, ranks);
    }
    return ms_arena_printf(
        arena, "%s: %s, %.0f pipeline ranks%s, %.0f microbatches", text_at(s, "workload", "trace"),
        ms_caption_short(text_at(s, "schedule", "schedule")), ms_value_number(s, "mesh.pp", 1.0),
        ranks, ms_value_number(s, "num_microbatches", 0.0));
}

/* Make the subtitle: the time of a step and its shares, and the number of GPUs; NULL when memory
 * runs out. */
static const char *make_subtitle(const ms_trace *trace, const ms_shown_rows *rows,
                                 ms_arena *arena) {
    static const struct {
        const char *path;
        const char *name;
    } SHARES[] = {{"bubble_fraction", "bubble"},           {"time_share.compute", "compute"},
                  {"time_share.exposed_tp", "exposed tp"}, {"time_share.exposed_cp", "exposed cp"},
                  {"time_share.exposed_ep", "exposed ep"}, {"time_share.exposed_pp", "exposed pp"},
                  {"time_share.exposed_dp", "exposed dp"}};
    const ms_value *s = trace->summary;
    char time[32];
    double run_s = (double)trace->step_ps / MS_PS_PER_S;
    double steps = ms_value_number(s, "steps", 1.0);
    ms_unit_format(steps > 1.0 ? ms_value_number(s, "step_time_s", run_s) : run_s, MS_DIM_TIME,
                   time, sizeof time);
    char text[TITLE_B];
    size_t used = (size_t)snprintf(text, sizeof text, "step %s", time);
    if (steps > 1.0) {
        used += (size_t)snprintf(text + used, sizeof text - used, ", mean of %.0f after the first",
                                 steps - 1.0);
    }
    for (size_t i = 0; i < sizeof SHARES / sizeof SHARES[0]; i++) {
        double share = ms_value_number(s, SHARES[i].path, 0.0);
        if (share >= 5e-4 && used < sizeof text) { /* at least 0.1 % when rounded */
            used += (size_t)snprintf(text + used, sizeof text - used, " \xc2\xb7 %s %.1f %%",
                                     SHARES[i].name, 100.0 * share);
        }
    }
    double gpus = ms_value_number(s, "gpus", 0.0);
    const char *all =
        ms_arena_printf(arena, "%s \xc2\xb7 %.0f GPUs of %s, %d simulated", text, gpus,
                        text_at(s, "platform", "the platform"), trace->rank_count);
    return all == NULL || rows->is_choice || rows->count == trace->rank_count
               ? all
               : ms_arena_printf(arena, "%s, %d shown", all, rows->count);
}

/* Whether the trace has any memory above 0: workloads with `costs:` have none. */
static bool has_memory(const ms_trace *trace) {
    for (int32_t i = 0; i < trace->memory_count; i++) {
        if (trace->memory[i].bytes > 0.0) {
            return true;
        }
    }
    return false;
}

/* Make the memory curves of the rows, in `arena`; NULL when memory runs out. The points of the
 * trace are by rank, and rows are in the order of ranks, so that the levels are by row as they
 * come. */
static const ms_gantt_memory *make_memory(const ms_trace *trace, const ms_shown_rows *rows,
                                          ms_arena *arena) {
    ms_gantt_memory *memory = MS_NEW(arena, ms_gantt_memory, 1);
    ms_gantt_level *levels = MS_NEW(arena, ms_gantt_level, trace->memory_count);
    size_t *first = MS_NEW(arena, size_t, (size_t)rows->count + 1);
    if (memory == NULL || levels == NULL || first == NULL) {
        return NULL;
    }
    size_t count = 0;
    for (int32_t i = 0; i < trace->memory_count; i++) {
        const ms_trace_memory *point = &trace->memory[i];
        int32_t row = rows->row_of[point->rank_index];
        if (row >= 0) {
            levels[count++] = (ms_gantt_level){(double)point->time_ps / MS_PS_PER_S, point->bytes};
            first[row + 1] = count;
        }
    }
    /* rows without points have 0 so far */
    for (int32_t row = 0; row < rows->count; row++) {
        first[row + 1] = first[row + 1] > first[row] ? first[row + 1] : first[row];
    }
    *memory = (ms_gantt_memory){.name = "memory per rank",
                                .levels = levels,
                                .row_first = first,
                                .limit = ms_value_number(trace->summary, "memory.capacity_B", 0.0),
                                .has_bytes = true};
    return memory;
}

/* Make the boxes of all rows, in `arena`; NULL when memory runs out. */
static ms_gantt_box *make_boxes(const ms_trace *trace, const ms_shown_rows *rows, ms_arena *arena,
                                size_t *count_out) {
    ms_passes passes;
    ms_status status = ms_passes_collect(trace, &(ms_passes_choice){.rows = rows}, arena, &passes);
    ms_passes_cut_pairs(&passes.boxes, &passes.pairs);
    *count_out = passes.boxes.count;
    ms_gantt_box *kept = status == MS_OK ? ms_vector_keep(&passes.boxes, arena) : NULL;
    for (size_t i = 0; kept != NULL && i < *count_out; i++) {
        kept[i].row = rows->row_of[kept[i].row];
    }
    ms_passes_release(&passes);
    return kept;
}

/* Find whether the pipeline has two directions, and the slices per microbatch, from the largest
 * number of a box and the microbatches of the summary: with two directions each has half of the
 * microbatches, and with slices the numbers are microbatch * slices + slice. */
static void find_units(const ms_trace *trace, ms_gantt *gantt) {
    int32_t units = 0;
    double said = ms_value_number(trace->summary, "num_microbatches", 0.0);
    int32_t microbatches = said >= 0.0 && said < INT32_MAX ? (int32_t)said : 0;
    for (size_t i = 0; i < gantt->box_count; i++) {
        units = gantt->boxes[i].mb >= units ? gantt->boxes[i].mb + 1 : units;
    }
    gantt->has_directions = units > 0 && microbatches == 2 * units;
    gantt->slices = microbatches > 0 && units % microbatches == 0 ? units / microbatches : 1;
}

ms_status ms_gantt_from_trace(const ms_trace *trace, ms_gantt_rows which, ms_arena *arena,
                              ms_gantt *gantt_out) {
    ms_shown_rows rows;
    if (!ms_shown_rows_find(trace, which, arena, &rows)) {
        return MS_E_NOMEM;
    }
    ms_gantt gantt = {.title = make_title(trace, &rows, arena),
                      .subtitle = make_subtitle(trace, &rows, arena),
                      .row_labels = ms_shown_rows_label(trace, &rows, arena),
                      .rows = rows.count,
                      .memory = has_memory(trace) ? make_memory(trace, &rows, arena) : NULL,
                      .end = (double)trace->step_ps / MS_PS_PER_S,
                      .has_seconds = true};
    gantt.boxes = make_boxes(trace, &rows, arena, &gantt.box_count);
    if (gantt.title == NULL || gantt.subtitle == NULL || gantt.row_labels == NULL ||
        gantt.boxes == NULL || (gantt.memory == NULL && has_memory(trace))) {
        return MS_E_NOMEM;
    }
    find_units(trace, &gantt);
    *gantt_out = gantt;
    return MS_OK;
}
