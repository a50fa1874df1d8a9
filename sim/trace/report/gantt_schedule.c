/* Makes the Gantt picture of a schedule that was evaluated on paper (ms_gantt_from_schedule): a row
 * per pipeline rank, and microbatches in flight as memory. */
#include <stdlib.h>

#include "trace/report/report.h"

/* Give the passes of overlapped pairs half of the row's height, the first one the upper half, where
 * they run at the same time. In an evaluation that runs them one after the other, each has the
 * whole row.
 *  boxes: [count] in the order of the program's actions. */
static void set_halves(const ms_program *program, ms_gantt_box *boxes, size_t count) {
    for (size_t i = 0; i + 1 < count; i++) {
        if (program->actions[i].is_overlapped && boxes[i].row == boxes[i + 1].row &&
            boxes[i + 1].start < boxes[i].end) {
            boxes[i].half = 1;
            boxes[i + 1].half = 2;
        }
    }
}

/* Make a box for each action of the program: [actions] in `arena`; NULL when memory runs out. */
static ms_gantt_box *make_boxes(const ms_program *program, const ms_schedule_result *result,
                                ms_arena *arena) {
    int ranks = program->spec.pipeline_ranks;
    size_t count = program->first[ranks];
    ms_gantt_box *boxes = MS_NEW(arena, ms_gantt_box, count);
    for (int rank = 0; boxes != NULL && rank < ranks; rank++) {
        for (size_t i = program->first[rank]; i < program->first[rank + 1]; i++) {
            const ms_action *action = &program->actions[i];
            boxes[i] = (ms_gantt_box){.start = result->slots[i].start,
                                      .end = result->slots[i].end,
                                      .row = rank,
                                      .mb = action->mb,
                                      .chunk = (int16_t)program->stage_chunk[action->stage],
                                      .kind = (uint8_t)ms_op_kind_of_pass((ms_pass)action->pass)};
        }
    }
    if (boxes != NULL) {
        set_halves(program, boxes, count);
    }
    return boxes;
}

/* Make the labels of the rows, "pp 0" and so on: [ranks] in `arena`; NULL when memory runs out. */
static const char **make_labels(int ranks, ms_arena *arena) {
    const char **labels = MS_NEW(arena, const char *, ranks);
    for (int rank = 0; labels != NULL && rank < ranks; rank++) {
        labels[rank] = ms_arena_printf(arena, "pp %d", rank);
        labels = labels[rank] == NULL ? NULL : labels;
    }
    return labels;
}

/* ---- microbatches in flight ---- */

/* A change of the microbatches in flight on a rank. */
typedef struct level_change {
    double time;
    int difference; /* +1 or -1 */
} level_change;

/* Comparison for qsort: changes by time; at one time those of -1 first, as the passes run one after
 * the other. */
static int by_time(const void *left, const void *right) {
    const level_change *a = left;
    const level_change *b = right;
    if (a->time != b->time) {
        return a->time < b->time ? -1 : 1;
    }
    return a->difference - b->difference;
}

/* List the changes of one rank by time, as the evaluation counts its peak: +1 when F starts, -1
 * when B or W ends.  changes_out: [actions of the rank].  Returns how many. */
static size_t list_changes(const ms_program *program, const ms_schedule_result *result, int rank,
                           level_change *changes_out) {
    size_t count = 0;
    for (size_t i = program->first[rank]; i < program->first[rank + 1]; i++) {
        uint8_t pass = program->actions[i].pass;
        if (pass == MS_PASS_F) {
            changes_out[count++] = (level_change){result->slots[i].start, 1};
        } else if (pass != MS_PASS_I) {
            changes_out[count++] = (level_change){result->slots[i].end, -1};
        }
    }
    qsort(changes_out, count, sizeof changes_out[0], by_time);
    return count;
}

/* Make the microbatches in flight of all ranks, in `arena`; NULL when memory runs out. */
static ms_gantt_memory *make_memory(const ms_drawn_schedule *drawn, ms_arena *arena) {
    const ms_program *program = drawn->program;
    int ranks = program->spec.pipeline_ranks;
    size_t actions = program->first[ranks];
    ms_gantt_memory *memory = MS_NEW(arena, ms_gantt_memory, 1);
    ms_gantt_level *levels = MS_NEW(arena, ms_gantt_level, actions);
    size_t *first = MS_NEW(arena, size_t, ranks + 1);
    level_change *changes = MS_NEW(arena, level_change, actions);
    if (memory == NULL || levels == NULL || first == NULL || changes == NULL) {
        return NULL;
    }
    for (int rank = 0; rank < ranks; rank++) {
        size_t count = list_changes(program, drawn->result, rank, changes);
        int level = 0;
        first[rank + 1] = first[rank];
        for (size_t i = 0; i < count; i++) {
            level += changes[i].difference;
            levels[first[rank + 1]++] = (ms_gantt_level){changes[i].time, drawn->share * level};
        }
    }
    *memory = (ms_gantt_memory){
        .name = ms_arena_printf(arena, "microbatches in flight per rank, %s", drawn->unit),
        .levels = levels,
        .row_first = first};
    return memory->name == NULL ? NULL : memory;
}

/* ---- the picture ---- */

/* Make the title: name and sizes of the schedule.  NULL when memory runs out. */
static const char *make_title(const ms_program *program, ms_arena *arena) {
    const ms_schedule_spec *spec = &program->spec;
    const char *stages =
        spec->chunks > 1 ? ms_arena_printf(arena, ", %d stages each", spec->chunks) : "";
    return stages == NULL
               ? NULL
               : ms_arena_printf(arena, "%s: %d pipeline ranks%s, %d microbatches", program->name,
                                 spec->pipeline_ranks, stages, spec->microbatches);
}

/* Make the subtitle: makespan, bubble and peak in flight.  NULL when memory runs out. */
static const char *make_subtitle(const ms_drawn_schedule *drawn, ms_arena *arena) {
    int peak = 0;
    for (int rank = 0; rank < drawn->program->spec.pipeline_ranks; rank++) {
        int at = drawn->result->ranks[rank].peak_inflight;
        peak = at > peak ? at : peak;
    }
    double makespan = drawn->result->makespan;
    const char *own = drawn->share == 1 ? ""
                                        : ms_arena_printf(arena, " (%.6g in times of a stage)",
                                                          makespan / drawn->share);
    if (own == NULL) {
        return NULL;
    }
    return ms_arena_printf(
        arena, "makespan %.6g%s \xc2\xb7 idle %.1f %% \xc2\xb7 peak in flight %.4g%s", makespan,
        own, 100.0 * drawn->result->bubble_fraction, peak * drawn->share,
        drawn->program->parameter_replicas > 1 ? " \xc2\xb7 parameters twice" : "");
}

ms_status ms_gantt_from_schedule(const ms_drawn_schedule *drawn, ms_arena *arena,
                                 ms_gantt *gantt_out) {
    int ranks = drawn->program->spec.pipeline_ranks;
    const ms_gantt gantt = {.title = make_title(drawn->program, arena),
                            .subtitle = make_subtitle(drawn, arena),
                            .row_labels = make_labels(ranks, arena),
                            .rows = ranks,
                            .boxes = make_boxes(drawn->program, drawn->result, arena),
                            .box_count = drawn->program->first[ranks],
                            .memory = make_memory(drawn, arena),
                            .slices = drawn->program->spec.slices,
                            .has_directions = drawn->program->stages > drawn->program->model_stages,
                            .end = drawn->result->makespan};
    if (gantt.title == NULL || gantt.subtitle == NULL || gantt.row_labels == NULL ||
        gantt.boxes == NULL || gantt.memory == NULL) {
        return MS_E_NOMEM;
    }
    *gantt_out = gantt;
    return MS_OK;
}
