#include "cli/schedule_gantt.h"

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

static ms_status draw(const ms_invocation *call, const ms_gantt *gantt, const char *path) {
    ms_buffer svg;
    ms_buffer_init(&svg);
    ms_status status = ms_gantt_write_svg(gantt, &svg);
    if (status == MS_E_RANGE) {
        ms_diag_error(call->diag, "cannot draw '%s': the schedule takes no time", path);
        status = MS_E_USAGE; /* all costs came from options */
    } else if (status != MS_OK) {
        ms_diag_error(call->diag, "out of memory");
    } else {
        status = ms_cli_write_file(call, path, ms_buffer_text(&svg), svg.length);
    }
    ms_buffer_release(&svg);
    return status;
}

ms_status ms_cli_schedule_gantt(const ms_invocation *call, const ms_program *program,
                                const ms_schedule_result *result, const char *path) {
    const ms_schedule_spec *spec = &program->spec;
    ms_gantt gantt = {
        .title = ms_arena_printf(call->arena, "%s: %d pipeline ranks, %d microbatches",
                                 program->name, spec->pipeline_ranks, spec->microbatches),
        .subtitle = ms_arena_printf(call->arena, "makespan %.6g \xc2\xb7 idle %.1f %%",
                                    result->makespan, 100.0 * result->bubble_fraction),
        .row_labels = make_labels(call, spec->pipeline_ranks),
        .rows = spec->pipeline_ranks,
        .boxes = make_boxes(call, program, result),
        .box_count = program->first[spec->pipeline_ranks],
        .end = result->makespan};
    if (gantt.title == NULL || gantt.subtitle == NULL || gantt.row_labels == NULL ||
        gantt.boxes == NULL) {
        ms_diag_error(call->diag, "out of memory");
        return MS_E_NOMEM;
    }
    return draw(call, &gantt, path);
}
