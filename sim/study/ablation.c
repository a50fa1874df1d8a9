/* Ablation: a validation, and one more without each mechanism. */
#include "meshsim/ablation.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "study/validate_parts.h"

#define AT(member) offsetof(ms_ablation_row, member)
#define GAIN(word, member)                                                                         \
    { word, MS_COLUMN_NUMBER, .offset = AT(member), .print = MS_PRINT_PERCENT, .digits = 2 }

const ms_table_column MS_ABLATION_COLUMNS[] = {
    {"mechanism", MS_COLUMN_TEXT, .offset = AT(name)},
    {"off", MS_COLUMN_TEXT, .offset = AT(off)},
    {"moved", MS_COLUMN_INT, .offset = AT(moved)},
    {"mean_of_groups", MS_COLUMN_NUMBER, .offset = AT(mean_of_groups), .print = MS_PRINT_PERCENT,
     .digits = 1},
    GAIN("gain", gain),
    GAIN("fitted_gain", fitted_gain),
    GAIN("unseen_gain", unseen_gain),
    GAIN("layer_gain", layer_gain),
    GAIN("memory_gain", memory_gain),
    GAIN("collective_gain", collective_gain),
    {"most", MS_COLUMN_TEXT, .offset = AT(most)},
    GAIN("most_gain", most_gain),
    {0},
};

/* A prediction that differs by less is the same one: rounding. */
static const double MOVE_MIN = 1e-9;

/* Which rows of the score a mean is taken over. */
typedef enum ablated_part { PART_ALL, PART_FITTED, PART_UNSEEN } ablated_part;

/* One ablation. */
typedef struct ablating {
    const ms_validate_study *study;
    size_t runs; /* validations in all */
    size_t done; /* of them */
    ms_arena *arena;
    ms_diag *diag;
} ablating;

static double mean_of_points(const ms_validate_points *points) {
    double sum = 0;
    for (size_t i = 0; i < points->count; i++) {
        sum += fabs(points->items[i].error);
    }
    return points->count == 0 ? NAN : sum / (double)points->count;
}

/* Two validations of the same rows: with a mechanism and without it. */
typedef struct ablated_pair {
    const ms_validation *on, *off;
    ms_arena *scratch;
} ablated_pair;

/* Rows [from, to) of them. */
typedef struct ablated_rows {
    size_t from, to;
    ablated_part which;
} ablated_rows;

static bool has_error(const ms_validate_row *row) {
    return row->reason == NULL && !isnan(row->error);
}

/* Errors by group of some rows that run both with and without the mechanism. */
static ms_status sum_up(const ablated_pair *p, const ms_validation *v, ablated_rows range,
                        ms_validate_groups *groups_out) {
    ms_error_item *items = MS_NEW(p->scratch, ms_error_item, range.to - range.from);
    if (items == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = range.from; i < range.to; i++) {
        const ms_validate_row *row = &v->rows[i];
        bool is_part = range.which == PART_ALL || row->is_unseen == (range.which == PART_UNSEEN);
        bool counts = is_part && has_error(&p->on->rows[i]) && has_error(&p->off->rows[i]);
        items[i - range.from] = (ms_error_item){counts ? row->group : NULL, row->id, row->error};
    }
    return ms_validate_sum_up(items, range.to - range.from, p->scratch, groups_out);
}

/* ---- one mechanism ---- */

static ms_status find_gain(const ablated_pair *p, ablated_part which, double *gain_out) {
    const ablated_rows scored = {0, p->on->scored, which};
    ms_validate_groups with, without;
    ms_status status = sum_up(p, p->on, scored, &with);
    status = status == MS_OK ? sum_up(p, p->off, scored, &without) : status;
    if (status == MS_OK) {
        *gain_out = ms_validate_mean(&without) - ms_validate_mean(&with);
    }
    return status;
}

static int64_t count_moved(const ms_validation *on, const ms_validation *off) {
    int64_t count = 0;
    for (size_t i = 0; i < on->timed; i++) {
        double with_s = on->rows[i].predicted_s, without_s = off->rows[i].predicted_s;
        count += fabs(without_s - with_s) > MOVE_MIN * with_s;
    }
    return count;
}

/* What each group gains. */
static void take_gains(const ms_validate_groups *with, const ms_validate_groups *without,
                       ms_ablation_row *row) {
    for (size_t i = 0; i < with->count; i++) {
        const char *name = with->items[i].name;
        double gain = without->items[i].mean_abs_error - with->items[i].mean_abs_error;
        row->groups[row->group_count++] = (ms_ablation_gain){name, gain};
        if (fabs(gain) > (row->most == NULL ? MOVE_MIN : fabs(row->most_gain))) {
            row->most = name;
            row->most_gain = gain;
        }
    }
}

static ms_status find_group_gains(const ablated_pair *p, ms_ablation_row *row) {
    const ablated_rows ranges[] = {{0, p->on->scored, PART_ALL},
                                   {p->on->scored, p->on->timed, PART_ALL}};
    ms_status status = MS_OK;
    row->most_gain = NAN;
    for (size_t i = 0; i < sizeof ranges / sizeof ranges[0] && status == MS_OK; i++) {
        ms_validate_groups with, without;
        status = sum_up(p, p->on, ranges[i], &with);
        status = status == MS_OK ? sum_up(p, p->off, ranges[i], &without) : status;
        if (status == MS_OK) {
            take_gains(&with, &without, row);
        }
    }
    return status;
}

static ms_status compare(const ablated_pair *p, ms_ablation_row *row) {
    const ms_validation *on = p->on, *off = p->off;
    row->moved = count_moved(on, off);
    row->mean_of_groups = off->mean_of_groups;
    row->layer_gain = mean_of_points(&off->layers) - mean_of_points(&on->layers);
    row->memory_gain = ms_validate_mean(&off->memory_groups) - ms_validate_mean(&on->memory_groups);
    row->collective_gain = ms_validate_mean(&off->sizes) - ms_validate_mean(&on->sizes);
    ms_status status = find_group_gains(p, row);
    status = status == MS_OK ? find_gain(p, PART_ALL, &row->gain) : status;
    status = status == MS_OK ? find_gain(p, PART_FITTED, &row->fitted_gain) : status;
    return status == MS_OK ? find_gain(p, PART_UNSEEN, &row->unseen_gain) : status;
}

/* ---- all ---- */

/* Simulations of all validations together. */
static void show_progress(void *context, size_t done, size_t count) {
    const ablating *a = context;
    a->study->progress(a->study->context, a->done * count + done, a->runs * count);
}

static ms_status validate(ablating *a, const ms_words *sets, ms_arena *arena,
                          ms_validation *validation_out) {
    ms_validate_study study = *a->study;
    study.sets = *sets;
    study.progress = a->study->progress == NULL ? NULL : show_progress;
    study.context = a;
    ms_status status = ms_validate_run(&study, arena, a->diag, validation_out);
    a->done++;
    return status;
}

/* The study's overrides with the mechanism's behind them, and these as a text. */
static ms_status take_sets(const ablating *a, const ms_mechanism *mechanism, ms_words *sets_out,
                           const char **text_out) {
    const ms_words *given = &a->study->sets;
    const char *text = "";
    *sets_out =
        (ms_words){.items = MS_NEW(a->arena, const char *, given->count + MS_MECHANISM_SETS_MAX)};
    if (sets_out->items == NULL) {
        return ms_diag_no_memory(a->diag);
    }
    for (size_t i = 0; i < given->count; i++) {
        sets_out->items[sets_out->count++] = given->items[i];
    }
    for (int i = 0; i < MS_MECHANISM_SETS_MAX && mechanism->off[i] != NULL && text != NULL; i++) {
        sets_out->items[sets_out->count++] = mechanism->off[i];
        text = ms_arena_printf(a->arena, "%s%s%s", text, i == 0 ? "" : ", ", mechanism->off[i]);
    }
    *text_out = text;
    return text == NULL ? ms_diag_no_memory(a->diag) : MS_OK;
}

/* Validate without one mechanism; what is not kept is given back at once. */
static ms_status ablate(ablating *a, const ms_mechanism *mechanism, const ms_validation *whole,
                        ms_ablation_row *row) {
    ms_words sets;
    ms_arena scratch;
    ms_validation without;
    *row = (ms_ablation_row){.name = mechanism->name};
    row->groups = MS_NEW(a->arena, ms_ablation_gain, whole->groups.count + whole->apart.count);
    ms_status status = row->groups == NULL ? ms_diag_no_memory(a->diag)
                                           : take_sets(a, mechanism, &sets, &row->off);
    if (status != MS_OK) {
        return status;
    }
    ms_arena_init(&scratch);
    status = validate(a, &sets, &scratch, &without);
    const ablated_pair both = {whole, &without, &scratch};
    if (status == MS_OK && compare(&both, row) != MS_OK) {
        status = ms_diag_no_memory(a->diag);
    }
    ms_arena_release(&scratch);
    return status;
}

ms_status ms_ablation_run(const ms_validate_study *study, const ms_mechanism *mechanisms,
                          ms_arena *arena, ms_diag *diag, ms_ablation *ablation_out) {
    ms_ablation ablation = {.count = 0};
    while (mechanisms[ablation.count].name != NULL) {
        ablation.count++;
    }
    ablating a = {.study = study, .runs = ablation.count + 1, .arena = arena, .diag = diag};
    ablation.rows = MS_NEW(arena, ms_ablation_row, ablation.count);
    ms_status status = ablation.rows == NULL ? ms_diag_no_memory(diag)
                                             : validate(&a, &study->sets, arena, &ablation.whole);
    for (size_t i = 0; i < ablation.count && status == MS_OK; i++) {
        status = ablate(&a, &mechanisms[i], &ablation.whole, &ablation.rows[i]);
    }
    if (status == MS_OK) {
        *ablation_out = ablation;
    }
    return status;
}
