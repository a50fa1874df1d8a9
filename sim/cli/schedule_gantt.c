#include "cli/schedule_gantt.h"

#include <stdlib.h>

#include "meshsim/report.h"

static uint8_t kind_of(uint8_t pass) {
    static const uint8_t KINDS[MS_PASS_COUNT] = {[MS_PASS_F] = MS_OP_FORWARD,
                                                 [MS_PASS_I] = MS_OP_INPUT_GRAD,
                                                 [MS_PASS_W] = MS_OP_WEIGHT_GRAD,
                                                 [MS_PASS_B] = MS_OP_BACKWARD};
    return KINDS[pass];
}

/* Passes that run together share the height of the row: the first on top. They do so only where
 * their times are one; run one after the other, each has the whole row. */
static void set_halves(const ms_program *program, ms_gantt_box *boxes, size_t count) {
    for (size_t i = 0; i + 1 < count; i++) {
        if (program->actions[i].is_overlapped && boxes[i].row == boxes[i + 1].row &&
            boxes[i + 1].start < boxes[i].end) {
            boxes[i].half = 1;
            boxes[i + 1].half = 2;
        }
    }
}

static ms_gantt_box *make_boxes(const ms_invocation *call, const ms_program *program,
                                const ms_schedule_result *result) {
    int ranks = program->spec.pipeline_ranks;
    size_t count = program->first[ranks];
    ms_gantt_box *boxes = MS_NEW(call->arena, ms_gantt_box, count);
    for (int rank = 0; boxes != NULL && rank < ranks; rank++) {
        for (size_t i = program->first[rank]; i < program->first[rank + 1]; i++) {
            const ms_action *action = &program->actions[i];
            boxes[i] = (ms_gantt_box){.start = result->slots[i].start,
                                      .end = result->slots[i].end,
                                      .row = rank,
                                      .mb = action->mb,
                                      .chunk = (int16_t)program->stage_chunk[action->stage],
                                      .kind = kind_of(action->pass)};
        }
    }
    if (boxes != NULL) {
        set_halves(program, boxes, count);
    }
    return boxes;
}

static const char **make_labels(const ms_invocation *call, int ranks) {
    const char **labels = MS_NEW(call->arena, const char *, ranks);
    for (int rank = 0; labels != NULL && rank < ranks; rank++) {
        labels[rank] = ms_arena_printf(call->arena, "pp %d", rank);
        labels = labels[rank] == NULL ? NULL : labels;
    }
    return labels;
}

/* ---- microbatches in flight ---- */

/* A forward pass that starts, or a pass that ends the work on a microbatch. */
typedef struct level_change {
    double time;
    int difference;
} level_change;

/* At one instant what ends goes before what starts: they run one after the other. */
static int by_time(const void *left, const void *right) {
    const level_change *a = left;
    const level_change *b = right;
    if (a->time != b->time) {
        return a->time < b->time ? -1 : 1;
    }
    return a->difference - b->difference;
}

/* Changes of one rank, as the evaluation counts its peak: +1 as F starts, -1 as B or W ends. */
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

/* One level per change at most; `share` is what a stage and a unit of work count. */
static ms_gantt_memory *make_memory(const ms_invocation *call, const ms_cli_drawn *drawn) {
    const ms_program *program = drawn->program;
    int ranks = program->spec.pipeline_ranks;
    size_t actions = program->first[ranks];
    ms_gantt_memory *memory = MS_NEW(call->arena, ms_gantt_memory, 1);
    ms_gantt_level *levels = MS_NEW(call->arena, ms_gantt_level, actions);
    size_t *first = MS_NEW(call->arena, size_t, ranks + 1);
    level_change *changes = MS_NEW(call->arena, level_change, actions);
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
        .name = ms_arena_printf(call->arena, "microbatches in flight per rank, %s", drawn->unit),
        .levels = levels,
        .row_first = first};
    if (memory->name == NULL) {
        return NULL;
    }
    return memory;
}

/* ---- the picture ---- */

static const char *make_title(const ms_invocation *call, const ms_program *program) {
    const ms_schedule_spec *spec = &program->spec;
    const char *stages =
        spec->chunks > 1 ? ms_arena_printf(call->arena, ", %d stages each", spec->chunks) : "";
    return stages == NULL
               ? NULL
               : ms_arena_printf(call->arena, "%s: %d pipeline ranks%s, %d microbatches",
                                 program->name, spec->pipeline_ranks, stages, spec->microbatches);
}

static const char *make_subtitle(const ms_invocation *call, const ms_cli_drawn *drawn) {
    int peak = 0;
    for (int rank = 0; rank < drawn->program->spec.pipeline_ranks; rank++) {
        int at = drawn->result->ranks[rank].peak_inflight;
        peak = at > peak ? at : peak;
    }
    return ms_arena_printf(
        call->arena, "makespan %.6g \xc2\xb7 idle %.1f %% \xc2\xb7 peak in flight %.4g%s",
        drawn->result->makespan, 100.0 * drawn->result->bubble_fraction, peak * drawn->share,
        drawn->program->parameter_replicas > 1 ? " \xc2\xb7 parameters twice" : "");
}

static ms_status make_gantt(const ms_invocation *call, const ms_cli_drawn *drawn,
                            ms_gantt *gantt_out) {
    int ranks = drawn->program->spec.pipeline_ranks;
    const ms_gantt gantt = {.title = make_title(call, drawn->program),
                            .subtitle = make_subtitle(call, drawn),
                            .row_labels = make_labels(call, ranks),
                            .rows = ranks,
                            .boxes = make_boxes(call, drawn->program, drawn->result),
                            .box_count = drawn->program->first[ranks],
                            .memory = make_memory(call, drawn),
                            .slices = drawn->program->spec.slices,
                            .has_directions = drawn->program->stages > drawn->program->model_stages,
                            .end = drawn->result->makespan};
    if (gantt.title == NULL || gantt.subtitle == NULL || gantt.row_labels == NULL ||
        gantt.boxes == NULL || gantt.memory == NULL) {
        ms_diag_error(call->diag, "out of memory");
        return MS_E_NOMEM;
    }
    *gantt_out = gantt;
    return MS_OK;
}

static ms_status draw(const ms_invocation *call, const ms_gantt *gantts, size_t count,
                      const char *path) {
    ms_buffer svg;
    ms_buffer_init(&svg);
    ms_status status = ms_gantt_write_svg(gantts, count, &svg);
    if (status == MS_E_RANGE) {
        ms_diag_error(call->diag, "cannot draw '%s': %s takes no time", path,
                      count == 1 ? "the schedule" : "one of the schedules");
        status = MS_E_USAGE; /* all costs came from options */
    } else if (status != MS_OK) {
        ms_diag_error(call->diag, "out of memory");
    } else {
        status = ms_cli_write_file(call, path, ms_buffer_text(&svg), svg.length);
    }
    ms_buffer_release(&svg);
    return status;
}

ms_status ms_cli_schedule_gantt(const ms_invocation *call, const ms_cli_drawn *drawn, size_t count,
                                const char *path) {
    ms_gantt gantts[MS_GANTT_PICTURES_MAX];
    if (count == 0) {
        ms_diag_error(
            call->diag,
            "cannot draw '%s': none of the schedules is possible here; the table, without "
            "'--gantt', says why",
            path);
        return MS_E_NO;
    }
    if (count > MS_GANTT_PICTURES_MAX) {
        ms_diag_error(call->diag,
                      "cannot draw '%s': at most %d schedules are stacked in a picture, got %zu; "
                      "name fewer with '--compare'",
                      path, MS_GANTT_PICTURES_MAX, count);
        return MS_E_USAGE;
    }
    ms_status status = MS_OK;
    for (size_t i = 0; status == MS_OK && i < count; i++) {
        status = make_gantt(call, &drawn[i], &gantts[i]);
    }
    return status == MS_OK ? draw(call, gantts, count, path) : status;
}
