/* A collective's bus bandwidth over size. */
#include <math.h>
#include <string.h>

#include "cli/draw.h"
#include "meshsim/lines.h"
#include "meshsim/units.h"

enum { ALGORITHMS_MAX = 16, TEXT_SIZE = 48 };

/* A picture while it is made. */
typedef struct coll_drawing {
    const ms_invocation *call;
    const ms_sizes_study *study;
    const ms_sizes_result *asked; /* what the command prints */
    const char *names[ALGORITHMS_MAX];
    ms_sizes_result results[ALGORITHMS_MAX]; /* of each name */
    size_t count;
    const char *left_out[ALGORITHMS_MAX]; /* which, and why */
    size_t left_count;
} coll_drawing;

/* Say of an algorithm that it has no line, below the picture without the keys that it would take.
 * reason: such as "...; algorithm 'nvls' needs one node (platform keys ...)". */
static ms_status leave_out(coll_drawing *d, const char *name, const char *reason) {
    ms_arena *arena = d->call->arena;
    const char *needs = strstr(reason, " needs ");
    needs = needs == NULL ? reason : needs + 1;
    int length = (int)strcspn(needs, "(");
    length -= length > 0 && needs[length] == '(' && needs[length - 1] == ' ';
    ms_diag_note(d->call->diag, NULL, NULL, "the picture has no line of %s: it %s", name, needs);
    d->left_out[d->left_count++] =
        ms_arena_printf(arena, "without %s, which %.*s", name, length, needs);
    return arena->has_failed ? ms_diag_no_memory(d->call->diag) : MS_OK;
}

/* The same sizes by one algorithm; one that the group or the platform does not have, which the
 * command would refuse, is left out. */
static ms_status add_algorithm(coll_drawing *d, ms_coll_algorithm algorithm) {
    ms_diag mute;
    ms_buffer reason;
    ms_diag_init_mute(&mute);
    ms_buffer_init(&reason);
    mute.reason = &reason;
    ms_sizes_study study = *d->study;
    study.algorithm = algorithm;
    ms_status status = ms_sizes_simulate(&study, d->call->arena, &mute, &d->results[d->count]);
    ms_diag_finish(&mute);
    if (status == MS_OK) {
        d->names[d->count++] = ms_coll_algorithm_name(algorithm);
    }
    if (status == MS_E_INPUT) {
        status = leave_out(d, ms_coll_algorithm_name(algorithm), ms_buffer_text(&reason));
    }
    ms_buffer_release(&reason);
    if (status != MS_OK) {
        ms_diag_error(d->call->diag, "the picture's line of %s: %s",
                      ms_coll_algorithm_name(algorithm), ms_status_name(status));
    }
    return status;
}

/* All algorithms that the kind knows; "auto" is the first word. */
static ms_status add_algorithms(coll_drawing *d) {
    ms_status status = MS_OK;
    const char *word = NULL;
    for (int i = 1; status == MS_OK && d->count < ALGORITHMS_MAX &&
                    (word = ms_coll_algorithm_word(d->study->kind, i)) != NULL;
         i++) {
        ms_coll_algorithm algorithm = MS_ALGORITHM_AUTO;
        if (ms_coll_algorithm_read(d->study->kind, word, &algorithm) == MS_OK) {
            status = add_algorithm(d, algorithm);
        }
    }
    return status;
}

static ms_lines_value value_of(const coll_drawing *d, size_t line, size_t size) {
    const ms_size_row *row = &d->results[line].rows[size];
    char size_text[TEXT_SIZE];
    char speed[TEXT_SIZE];
    char time[TEXT_SIZE];
    ms_arena *arena = d->call->arena;
    bool is_auto = d->study->algorithm == MS_ALGORITHM_AUTO;
    ms_unit_format(row->size_B, MS_DIM_BYTES, size_text, sizeof size_text);
    ms_unit_format(row->busbw_Bps, MS_DIM_BANDWIDTH, speed, sizeof speed);
    ms_unit_format(row->time_s, MS_DIM_TIME, time, sizeof time);
    return (ms_lines_value){
        .value = isfinite(row->busbw_Bps) ? row->busbw_Bps : (double)NAN,
        .is_marked = is_auto && d->asked->rows[size].algorithm == row->algorithm,
        .name = ms_arena_printf(arena, "%s, %s: %s in %s, %s", d->names[line],
                                row->protocol == NULL ? "no protocol" : row->protocol, size_text,
                                time, speed)};
}

static void write(const coll_drawing *d, ms_buffer *out) {
    ms_arena *arena = d->call->arena;
    const ms_sizes_study *study = d->study;
    size_t sizes = (size_t)study->count;
    const char **names = MS_NEW(arena, const char *, sizes);
    ms_lines_value *values = MS_NEW(arena, ms_lines_value, sizes * d->count);
    if (names == NULL || values == NULL) {
        return;
    }
    for (size_t i = 0; i < sizes; i++) {
        char text[TEXT_SIZE];
        ms_unit_format(study->sizes_B[i], MS_DIM_BYTES, text, sizeof text);
        names[i] = ms_arena_strdup(arena, text);
        for (size_t line = 0; line < d->count; line++) {
            values[line * sizes + i] = value_of(d, line, i);
        }
    }
    const ms_lines lines = {
        .title = ms_arena_printf(arena, "%s on %d GPUs of %s%s%s", ms_coll_kind_name(study->kind),
                                 study->ranks, study->platform->name, d->count == 1 ? ", " : "",
                                 d->count == 1 ? d->names[0] : ""),
        .x_label = "size",
        .y_label = "bus bandwidth",
        .x_names = names,
        .x = study->sizes_B,
        .x_count = sizes,
        .series = d->names,
        .series_count = d->count,
        .values = values,
        .dim = MS_DIM_BANDWIDTH,
        .notes = d->left_out,
        .note_count = d->left_count,
        .mark_note =
            study->algorithm == MS_ALGORITHM_AUTO && d->count > 1 ? "auto takes it" : NULL};
    if (!arena->has_failed) {
        ms_lines_write(&lines, out);
    }
}

/* On a platform without latency and of unlimited bandwidth nothing takes time. */
static ms_status check_values(const coll_drawing *d) {
    bool takes_time = false;
    for (int i = 0; i < d->study->count; i++) {
        takes_time = takes_time || isfinite(d->asked->rows[i].busbw_Bps);
    }
    if (!takes_time) {
        ms_diag_error(d->call->diag,
                      "there is nothing to draw: a transfer takes no time on platform '%s'",
                      d->study->platform->name);
        return MS_E_INPUT;
    }
    return MS_OK;
}

ms_status ms_draw_collective(const ms_invocation *call, const ms_sizes_study *study,
                             const ms_sizes_result *result, ms_buffer *out) {
    coll_drawing d = {.call = call, .study = study, .asked = result};
    ms_status status = check_values(&d);
    if (status == MS_OK && study->algorithm == MS_ALGORITHM_AUTO) {
        status = add_algorithms(&d);
    } else {
        d.names[0] = ms_coll_algorithm_name(study->algorithm);
        d.results[0] = *result;
        d.count = 1;
    }
    if (status == MS_OK) {
        write(&d, out);
    }
    return status;
}
