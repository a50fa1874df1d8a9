/* Queries of any program, however it was made: which stage follows which, which actions need the
 * result of which, and where a fault in it is reported. In a program of two directions (DualPipe,
 * Chimera), stages 0 to S-1 are the model in the first direction and stages S to 2S-1 the same
 * model in the second. */
#include <stdarg.h>
#include <stdio.h>

#include "schedule/internal.h"

/* Whether a program has overlapped pairs. */
bool ms_program_has_pairs(const ms_program *program) {
    size_t count = program->first[program->spec.pipeline_ranks];
    for (size_t i = 0; i < count; i++) {
        if (program->actions[i].is_overlapped != 0) {
            return true;
        }
    }
    return false;
}

void ms_program_part_pairs(ms_program *program) {
    size_t count = program->first[program->spec.pipeline_ranks];
    for (size_t i = 0; i < count; i++) {
        program->actions[i].is_overlapped = 0;
    }
}

bool ms_program_has_next(const ms_program *program, int stage) {
    return stage + 1 != program->model_stages && stage + 1 != program->stages;
}

bool ms_program_has_previous(const ms_program *program, int stage) {
    return stage != 0 && stage != program->model_stages;
}

/* List the producers of an action, the passes whose results it needs. F needs F of the previous
 * stage; W the I of its own stage; I and B the F of their own stage, and the gradient of the next
 * stage. In ms_producer, is_forward false stands for I or B. */
int ms_action_producers(const ms_program *program, const ms_action *action,
                        ms_producer producers_out[2]) {
    int count = 0;
    if (action->pass == MS_PASS_F) {
        if (ms_program_has_previous(program, action->stage)) {
            producers_out[count++] = (ms_producer){action->stage - 1, action->mb, true};
        }
    } else if (action->pass == MS_PASS_W) {
        producers_out[count++] = (ms_producer){action->stage, action->mb, false};
    } else {
        producers_out[count++] = (ms_producer){action->stage, action->mb, true};
        if (ms_program_has_next(program, action->stage)) {
            producers_out[count++] = (ms_producer){action->stage + 1, action->mb, false};
        }
    }
    return count;
}

/* Stage that needs the result of an action; -1: none, as of W. */
int ms_action_consumer(const ms_program *program, const ms_action *action) {
    if (action->pass == MS_PASS_F) {
        return ms_program_has_next(program, action->stage) ? action->stage + 1 : -1;
    }
    bool passes_on = action->pass != MS_PASS_W && ms_program_has_previous(program, action->stage);
    return passes_on ? action->stage - 1 : -1;
}

int ms_action_receiver(const ms_program *program, const ms_action *action) {
    int consumer = ms_action_consumer(program, action);
    bool is_remote =
        consumer >= 0 && program->stage_rank[consumer] != program->stage_rank[action->stage];
    return is_remote ? consumer : -1;
}

/* Number of earlier passes with the same effect on the action's stage. I and the first half of B
 * count B and I; W and the second half of B (at_end) count B and W. */
int ms_action_count_earlier(const ms_action *action, const int *runs, bool at_end) {
    const int *own = &runs[action->stage * MS_PASS_COUNT];
    if (action->pass == MS_PASS_F) {
        return own[MS_PASS_F];
    }
    bool is_input = action->pass == MS_PASS_I || (action->pass == MS_PASS_B && !at_end);
    return own[MS_PASS_B] + own[is_input ? MS_PASS_I : MS_PASS_W];
}

/* Report a fault of a program at its cell in the file, or by its rank if the program is not from a
 * file. */
ms_status ms_fault_report(const ms_fault_location *location, int rank, int64_t index, ms_diag *diag,
                          const char *format, ...) {
    char what[256];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    if (location == NULL) {
        ms_diag_error(diag, "rank %d: %s", rank, what);
    } else {
        location->report(location->context, rank, index, what);
    }
    return MS_E_INPUT;
}
