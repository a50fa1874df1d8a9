/* Draws an evaluated schedule in characters (ms_schedule_write_text), in one of two looks: each
 * pass with its microbatch, or in each column the kind of pass that takes most of its time. */
#include <math.h>
#include <string.h>

#include "trace/report/report.h"

enum { LABEL_COLUMNS = 8, COLUMNS_MAX = 512, RANKS_MAX = 32, SCALE_MAX = 2 };

/* ---- every pass with its microbatch ---- */

/* Length of the shortest action that takes time; 0 if none does. */
static double shortest_action(const ms_program *program, const ms_schedule_result *result) {
    double shortest = 0;
    for (size_t i = 0; i < program->first[program->spec.pipeline_ranks]; i++) {
        double duration = result->slots[i].end - result->slots[i].start;
        if (duration > 0 && (shortest == 0 || duration < shortest)) {
            shortest = duration;
        }
    }
    return shortest;
}

/* The mark of an action, which is its microbatch modulo 10: a digit for forward passes, a small
 * letter for backward passes and input gradients, a capital letter for weight gradients. */
static char mark_of(const ms_action *action) {
    static const char FIRST[MS_PASS_COUNT] = {
        [MS_PASS_F] = '0', [MS_PASS_I] = 'a', [MS_PASS_W] = 'A', [MS_PASS_B] = 'a'};
    return (char)(FIRST[action->pass] + action->mb % 10);
}

/* Whether an action is the second one of an overlapped pair, and runs at the same time as the
 * first. */
static bool is_second_of_pair(const ms_program *program, const ms_schedule_result *result, int rank,
                              size_t index) {
    return index > program->first[rank] && program->actions[index - 1].is_overlapped != 0 &&
           result->slots[index].start < result->slots[index - 1].end;
}

/* Draw the line of a rank with a mark in each column of a pass.  column: time of a column. */
static void draw_rank(const ms_program *program, const ms_schedule_result *result, int rank,
                      double column, ms_buffer *out) {
    char line[COLUMNS_MAX + 2];
    long width = lround(result->makespan / column);
    memset(line, '.', (size_t)width);
    line[width] = '\0';
    for (size_t i = program->first[rank]; i < program->first[rank + 1]; i++) {
        /* the second of a pair takes every other column */
        int step = is_second_of_pair(program, result, rank, i) ? 2 : 1;
        long end = lround(result->slots[i].end / column);
        for (long at = lround(result->slots[i].start / column) + step - 1; at < end; at += step) {
            line[at] = mark_of(&program->actions[i]);
        }
    }
    ms_buffer_printf(out, "%5d %s\n", rank, line);
}

/* Draw all ranks with the marks of their passes, under a legend.  column: time of a column. */
static void draw_passes(const ms_program *program, const ms_schedule_result *result, double column,
                        ms_buffer *out) {
    int ranks = program->spec.pipeline_ranks;
    bool has_split = false;
    for (size_t i = 0; i < program->first[ranks]; i++) {
        has_split = has_split || program->actions[i].pass == MS_PASS_W;
    }
    ms_buffer_printf(out, "\nforward 0-9, backward a-j%s, '.' idle; column = %.4g\n",
                     has_split                  ? ", weights A-J (modulo 10)"
                     : program->spec.slices > 1 ? " (part modulo 10)"
                                                : " (microbatch modulo 10)",
                     column);
    for (int rank = 0; rank < ranks; rank++) {
        draw_rank(program, result, rank, column, out);
    }
}

/* ---- what takes most of a column's time ---- */

/* Kinds of passes, each of a rank's first chunk and of later ones; overlapped pairs. */
enum { PAIR = 2 * MS_PASS_COUNT, KIND_COUNT };

/* The shares of a rank's line. */
typedef struct column_shares {
    double share[COLUMNS_MAX]
                [KIND_COUNT]; /* share of each kind in a column's time; the rest is idle */
    int columns;
} column_shares;

/* Add a time to the shares of a kind.  start, end: in columns. */
static void add_time(column_shares *shares, int kind, double start, double end) {
    for (int at = (int)start; at < shares->columns && at < end; at++) {
        shares->share[at][kind] += fmin(end, at + 1.0) - fmax(start, at);
    }
}

/* Add all passes of a rank to its shares. A pair counts once, from its start to its later end. */
static void add_rank(const ms_program *program, const ms_schedule_result *result, int rank,
                     column_shares *shares) {
    double scale = shares->columns / result->makespan;
    for (size_t i = program->first[rank]; i < program->first[rank + 1]; i++) {
        const ms_action *action = &program->actions[i];
        double start = result->slots[i].start * scale;
        double end = result->slots[i].end * scale;
        bool is_first =
            i + 1 < program->first[rank + 1] && is_second_of_pair(program, result, rank, i + 1);
        if (is_first) {
            add_time(shares, PAIR, start, fmax(end, result->slots[i + 1].end * scale));
        } else if (!is_second_of_pair(program, result, rank, i)) {
            bool is_later = program->stage_chunk[action->stage] > 0;
            add_time(shares, 2 * action->pass + (is_later ? 1 : 0), start, end);
        }
    }
}

/* The letter of a column: a dot if half of it is idle; the letter of a kind that has half of the
 * rest; else = for mixed kinds, or - if more than a quarter is idle. */
static char letter_of(const double share[KIND_COUNT]) {
    static const char LETTERS[KIND_COUNT + 1] = "FfIiWwBbO";
    double busy = 0;
    int most = 0;
    for (int kind = 0; kind < KIND_COUNT; kind++) {
        busy += share[kind];
        most = share[kind] > share[most] ? kind : most;
    }
    if (busy <= 0.5) {
        return '.';
    }
    return share[most] >= 0.5 * busy ? LETTERS[most] : busy < 0.75 ? '-' : '=';
}

/* Draw the ranks, at most RANKS_MAX, with the letters of their columns, under a legend. */
static void draw_shares(const ms_program *program, const ms_schedule_result *result, int columns,
                        ms_buffer *out) {
    int ranks = program->spec.pipeline_ranks;
    int step = (ranks + RANKS_MAX - 1) / RANKS_MAX;
    ms_buffer_printf(out,
                     "\nscaled, a column is %.4g; F, I, W, B: the pass that takes most of it,\n"
                     "small: %s; O overlapped pair, = mixed, - mixed and idle, . idle\n",
                     result->makespan / columns,
                     program->stages > program->model_stages ? "the other direction"
                                                             : "of a later chunk");
    if (step > 1) {
        ms_buffer_printf(out, "one rank in %d is shown, of %d\n", step, ranks);
    }
    for (int rank = 0; rank < ranks; rank += step) {
        column_shares shares = {.columns = columns};
        char line[COLUMNS_MAX + 1];
        add_rank(program, result, rank, &shares);
        for (int at = 0; at < columns; at++) {
            line[at] = letter_of(shares.share[at]);
        }
        line[columns] = '\0';
        ms_buffer_printf(out, "%5d %s\n", rank, line);
    }
}

void ms_schedule_write_text(const ms_program *program, const ms_schedule_result *result, int width,
                            ms_buffer *out) {
    int columns = width - LABEL_COLUMNS > COLUMNS_MAX ? COLUMNS_MAX : width - LABEL_COLUMNS;
    double shortest = shortest_action(program, result);
    if (shortest <= 0) {
        return;
    }
    double needed = result->makespan / shortest;
    if (program->spec.pipeline_ranks <= RANKS_MAX && needed <= columns) {
        double scale = fmin(floor(columns / needed), SCALE_MAX);
        draw_passes(program, result, shortest / scale, out);
    } else {
        draw_shares(program, result, columns, out);
    }
}
