/* Calibration: parameters of a platform fitted to measured collectives and kernels. */
#include "meshsim/calibrate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "meshsim/find.h"
#include "meshsim/kernel_times.h"
#include "meshsim/least_squares.h"
#include "meshsim/validate.h"
#include "study/calibrate_keys.h"

#define KEY(member)   offsetof(ms_calibrated_key, member)
#define POINT(member) offsetof(ms_calibration_point, member)

const ms_table_column MS_CALIBRATED_COLUMNS[] = {
    {"key", MS_COLUMN_TEXT, .offset = KEY(key)},
    {"before", MS_COLUMN_NUMBER, .offset = KEY(before)},
    {"after", MS_COLUMN_NUMBER, .offset = KEY(after)},
    {"low", MS_COLUMN_NUMBER, .offset = KEY(low)},
    {"high", MS_COLUMN_NUMBER, .offset = KEY(high)},
    {"at_bound", MS_COLUMN_BOOL, .offset = KEY(is_at_bound)},
    {"place", MS_COLUMN_TEXT, .offset = KEY(place)},
    {"before_text", MS_COLUMN_TEXT, .offset = KEY(before_text), .is_page_only = true},
    {"after_text", MS_COLUMN_TEXT, .offset = KEY(after_text), .is_page_only = true},
    {0},
};

const ms_table_column MS_CALIBRATION_COLUMNS[] = {
    {"name", MS_COLUMN_TEXT, .offset = POINT(name)},
    {"left_out", MS_COLUMN_BOOL, .offset = POINT(is_left_out)},
    {"measured_s", MS_COLUMN_NUMBER, .offset = POINT(measured_s)},
    {"before_s", MS_COLUMN_NUMBER, .offset = POINT(before_s)},
    {"after_s", MS_COLUMN_NUMBER, .offset = POINT(after_s)},
    {"before_error", MS_COLUMN_NUMBER, .offset = POINT(before_error)},
    {"after_error", MS_COLUMN_NUMBER, .offset = POINT(after_error)},
    {0},
};

/* A parameter moves a prediction if a twentieth of its range changes it by more. */
static const double MOVE_MIN = 1e-6, MOVE = 0.05;
static const double BOUND = 1e-6; /* of a range: nearer to its end is at it */
enum { BYTES_OF_BF16 = 2 };

/* What is timed for a point. */
typedef struct timed_work {
    const ms_case_collective *collective; /* NULL: a kernel */
    ms_measured_kernel kernel;
    const double *sizes;
} timed_work;

/* One calibration. */
typedef struct calibrating {
    const ms_calibration_study *study;
    ms_calibrated_platform *copy;
    ms_calibrated_value values[MS_CALIBRATED_MAX];
    size_t value_count;
    const ms_calibrated_value *fitted[MS_CALIBRATED_MAX];
    size_t fitted_count;
    timed_work *works;  /* [out->point_count] */
    int *gpus;          /* 0, 1, 2, ... of the platform */
    const char *system; /* of the points so far; NULL: none yet */
    ms_arena *arena;
    ms_diag *diag;
    ms_calibration *out;
} calibrating;

/* ---- points ---- */

static ms_status add_point(calibrating *c, timed_work work, const char *name, double measured_s) {
    if (name == NULL) {
        return ms_diag_no_memory(c->diag);
    }
    c->works[c->out->point_count] = work;
    c->out->points[c->out->point_count++] = (ms_calibration_point){
        .name = name, .measured_s = measured_s, .is_left_out = ms_validate_is_third(name)};
    return MS_OK;
}

/* All points are of one system: those that are named, or all there are. */
static ms_status check_system(calibrating *c, const ms_case_collective *point) {
    c->system = c->system == NULL ? point->system : c->system;
    if (strcmp(c->system, point->system) != 0) {
        ms_diag_error(c->diag, "collectives of '%s' and of '%s'; --system takes one of them",
                      c->system, point->system);
        return MS_E_INPUT;
    }
    return MS_OK;
}

static ms_status add_collective(calibrating *c, const ms_case_collective *point) {
    const char *wanted = c->study->system;
    if (wanted != NULL && strcmp(point->system, wanted) != 0) {
        return MS_OK;
    }
    if (check_system(c, point) != MS_OK) {
        return MS_E_INPUT;
    }
    int gpus = ms_platform_gpus(c->study->platform);
    if (point->ranks > gpus) {
        ms_diag_error(c->diag,
                      "%s among %d GPUs of '%s', and the platform has %d; --set platform.nodes=N "
                      "takes more",
                      ms_coll_kind_name(point->kind), point->ranks, point->system, gpus);
        return MS_E_INPUT;
    }
    const char *name = ms_arena_printf(c->arena, "%s/%d/%.0f", ms_coll_kind_name(point->kind),
                                       point->ranks, point->size_B);
    return add_point(c, (timed_work){.collective = point}, name, point->measured_s);
}

/* Kernels that count: by their names in a table, with how many sizes they have. */
static const struct {
    ms_measured_kernel kernel;
    const char *name;
    int sizes;
} KERNELS[] = {{MS_MEASURED_GEMM, "gemm", 4},
               {MS_MEASURED_MEMORY, "memory", 1},
               {MS_MEASURED_ATTENTION, "attention", 6},
               {MS_MEASURED_ATTENTION_BACKWARD, "attention_backward", 6}};
enum { KERNEL_COUNT = sizeof KERNELS / sizeof KERNELS[0] };

static ms_status add_kernel(calibrating *c, int index, const ms_measured_row *row) {
    const char *name = ms_arena_printf(c->arena, "%s/%.0f", KERNELS[index].name, row->sizes[0]);
    for (int i = 1; i < KERNELS[index].sizes && name != NULL; i++) {
        name = ms_arena_printf(c->arena, "%sx%.0f", name, row->sizes[i]);
    }
    return add_point(c, (timed_work){.kernel = KERNELS[index].kernel, .sizes = row->sizes}, name,
                     row->time_s);
}

static size_t count_points(const ms_calibration_study *study) {
    size_t count = study->measurements->collectives.count;
    for (int k = 0; k < KERNEL_COUNT && study->kernels != NULL; k++) {
        count += (size_t)study->kernels->counts[KERNELS[k].kernel];
    }
    return count;
}

static ms_status list_points(calibrating *c) {
    const ms_calibration_study *study = c->study;
    const ms_vector *collectives = &study->measurements->collectives;
    size_t count = count_points(study);
    c->works = MS_NEW(c->arena, timed_work, count);
    c->out->points = MS_NEW(c->arena, ms_calibration_point, count);
    if (c->works == NULL || c->out->points == NULL) {
        return ms_diag_no_memory(c->diag);
    }
    ms_status status = MS_OK;
    for (size_t i = 0; i < collectives->count && status == MS_OK; i++) {
        status = add_collective(c, &MS_AT(collectives, ms_case_collective, i));
    }
    for (int k = 0; k < KERNEL_COUNT && study->kernels != NULL; k++) {
        ms_measured_kernel kernel = KERNELS[k].kernel;
        for (int i = 0; i < study->kernels->counts[kernel] && status == MS_OK; i++) {
            status = add_kernel(c, k, &study->kernels->rows[kernel][i]);
        }
    }
    return status;
}

/* ---- predictions ---- */

static double kernel_time_s(const ms_gpu_type *gpu, const timed_work *work) {
    const double *n = work->sizes;
    switch (work->kernel) {
    case MS_MEASURED_MEMORY:
        return ms_memory_time_s(gpu, n[0]);
    case MS_MEASURED_ATTENTION:
        return ms_attention_time_s(gpu, n, false);
    case MS_MEASURED_ATTENTION_BACKWARD:
        return ms_attention_time_s(gpu, n, true);
    default:
        return ms_gemm_time_s(gpu, (ms_gemm_shape){n[0], n[1], n[2], n[3]}, BYTES_OF_BF16);
    }
}

static ms_status time_work(const calibrating *c, const timed_work *work, double *time_s_out) {
    const ms_platform *platform = &c->copy->platform;
    if (work->collective == NULL) {
        *time_s_out = kernel_time_s(&platform->gpu, work);
        return MS_OK;
    }
    const ms_coll_request request = {.kind = work->collective->kind,
                                     .gpus = c->gpus,
                                     .members = work->collective->ranks,
                                     .size_B = work->collective->size_B};
    ms_arena scratch;
    ms_coll_plan plan;
    ms_arena_init(&scratch);
    ms_status status = ms_coll_plan_build(platform, &request, &scratch, &plan);
    status = status == MS_OK ? ms_coll_plan_time(platform, &plan, time_s_out) : status;
    ms_arena_release(&scratch);
    return status;
}

/* Logarithms of predicted over measured times of the points that count. */
static ms_status find_residuals(void *context, const double *places, double *residuals_out) {
    const calibrating *c = context;
    size_t count = 0;
    for (size_t i = 0; i < c->fitted_count; i++) {
        ms_calibrated_set(c->fitted[i], places[i]);
    }
    for (size_t i = 0; i < c->out->point_count; i++) {
        double time_s = 0;
        if (c->out->points[i].is_left_out) {
            continue;
        }
        ms_status status = time_work(c, &c->works[i], &time_s);
        if (status != MS_OK) {
            return status;
        }
        residuals_out[count++] = log(time_s / c->out->points[i].measured_s);
    }
    return MS_OK;
}

static ms_status predict_all(const calibrating *c, bool is_after) {
    for (size_t i = 0; i < c->out->point_count; i++) {
        ms_calibration_point *point = &c->out->points[i];
        double time_s = 0;
        ms_status status = time_work(c, &c->works[i], &time_s);
        if (status != MS_OK) {
            return status;
        }
        *(is_after ? &point->after_s : &point->before_s) = time_s;
        *(is_after ? &point->after_error : &point->before_error) = time_s / point->measured_s - 1;
    }
    return MS_OK;
}

/* ---- which parameters ---- */

/* Whether a parameter moves a prediction of any point. */
static ms_status is_moving(const calibrating *c, const ms_calibrated_value *value,
                           bool *moves_out) {
    double start = *value->value, place = ms_calibrated_place(value);
    ms_status status = MS_OK;
    *moves_out = false;
    ms_calibrated_set(value, place > 0.5 ? place - MOVE : place + MOVE);
    for (size_t i = 0; i < c->out->point_count && status == MS_OK && !*moves_out; i++) {
        double time_s = 0, before_s = c->out->points[i].before_s;
        status = time_work(c, &c->works[i], &time_s);
        *moves_out = fabs(time_s - before_s) > MOVE_MIN * before_s;
    }
    *value->value = start;
    return status;
}

static const ms_calibrated_value *find_value(const calibrating *c, const char *key) {
    for (size_t i = 0; i < c->value_count; i++) {
        if (strcmp(c->values[i].key, key) == 0) {
            return &c->values[i];
        }
    }
    return NULL;
}

static ms_status refuse_key(const calibrating *c, const char *key) {
    const char *names[MS_CALIBRATED_MAX];
    for (size_t i = 0; i < c->value_count; i++) {
        names[i] = c->values[i].key;
    }
    ms_diag_error(c->diag, "no parameter '%s' can be calibrated%s", key,
                  ms_nearest_hint(key, names, c->value_count).text);
    return MS_E_INPUT;
}

static ms_status choose(calibrating *c) {
    ms_status status = MS_OK;
    size_t count = c->study->key_count == 0 ? c->value_count : c->study->key_count;
    for (size_t i = 0; i < count && status == MS_OK; i++) {
        bool is_open = c->study->key_count == 0;
        const ms_calibrated_value *value =
            is_open ? &c->values[i] : find_value(c, c->study->keys[i]);
        bool moves = false;
        if (value == NULL) {
            return refuse_key(c, c->study->keys[i]);
        }
        status = is_moving(c, value, &moves);
        if (status == MS_OK && !moves && !is_open) {
            ms_diag_error(c->diag, "no point depends on '%s'", value->key);
            status = MS_E_INPUT;
        }
        if (status == MS_OK && moves) {
            c->fitted[c->fitted_count++] = value;
        }
    }
    return status;
}

static ms_status check_count(const calibrating *c, size_t fitted_points) {
    if (fitted_points < c->fitted_count || fitted_points == 0) {
        ms_diag_error(c->diag,
                      "%zu points to fit to (of %zu, a third is left out) are too few for %zu "
                      "parameters",
                      fitted_points, c->out->point_count, c->fitted_count);
        return MS_E_INPUT;
    }
    if (c->fitted_count == 0) {
        ms_diag_error(c->diag, "the points depend on no parameter that can be calibrated");
        return MS_E_INPUT;
    }
    return MS_OK;
}

/* ---- what came out ---- */

/* The file and line of a key; library: the document of the platform's library, for its keys. */
static const char *place_of(const calibrating *c, const char *key, const ms_node *library) {
    static const char LIBRARY[] = "library.";
    bool is_library = strncmp(key, LIBRARY, sizeof LIBRARY - 1) == 0;
    bool is_found = false;
    const ms_node *node = ms_node_at(c->study->document, key, &is_found);
    if (!is_found && is_library) {
        node = ms_node_at(library, key + sizeof LIBRARY - 1, &is_found);
    }
    return is_found && node->mark.file != NULL
               ? ms_arena_printf(c->arena, "%s:%d", node->mark.file, node->mark.line)
               : "";
}

/* The document of the platform's library; NULL: it has none. */
static ms_status load_library(const calibrating *c, ms_node **root_out) {
    const ms_node *node = ms_node_get(c->study->document, "library");
    const ms_node *name =
        node != NULL && node->type == MS_NODE_MAPPING ? ms_node_get(node, "file") : node;
    const ms_file_search search = {.folders = c->study->folders, .subfolder = "libraries/"};
    const char *path = NULL, *looked = NULL;
    *root_out = NULL;
    if (c->study->platform->library == NULL || name == NULL) {
        return MS_OK;
    }
    ms_status status = ms_find_yaml(name->text, &search, c->arena, &path, &looked);
    return status == MS_OK && path != NULL ? ms_yaml_load(path, c->arena, c->diag, root_out)
                                           : status;
}

static ms_status list_keys(calibrating *c, const double *before) {
    ms_node *library = NULL;
    ms_status status = load_library(c, &library);
    c->out->keys = MS_NEW(c->arena, ms_calibrated_key, c->fitted_count);
    if (status != MS_OK || c->out->keys == NULL) {
        return status == MS_OK ? ms_diag_no_memory(c->diag) : status;
    }
    for (size_t i = 0; i < c->fitted_count; i++) {
        const ms_calibrated_value *value = c->fitted[i];
        double place = ms_calibrated_place(value);
        ms_calibrated_key *key = &c->out->keys[c->out->key_count++];
        *key = (ms_calibrated_key){
            .key = value->key,
            .dimension = value->dimension,
            .before = before[i],
            .after = *value->value,
            .low = value->low,
            .high = value->high,
            .before_text = ms_calibrated_text(before[i], value->dimension, c->arena),
            .after_text = ms_calibrated_text(*value->value, value->dimension, c->arena),
            .place = place_of(c, value->key, library),
            .is_at_bound = place < BOUND || place > 1 - BOUND};
        if (key->before_text == NULL || key->after_text == NULL || key->place == NULL) {
            return ms_diag_no_memory(c->diag);
        }
    }
    return MS_OK;
}

static void sum_up(const ms_calibration *calibration, bool are_left_out,
                   ms_calibration_error *error_out) {
    ms_calibration_error e = {.points = 0};
    for (size_t i = 0; i < calibration->point_count; i++) {
        const ms_calibration_point *point = &calibration->points[i];
        if (point->is_left_out == are_left_out) {
            double before = fabs(point->before_error), after = fabs(point->after_error);
            e.points++;
            e.before += before;
            e.after += after;
            e.worst_before = fmax(e.worst_before, before);
            e.worst_after = fmax(e.worst_after, after);
        }
    }
    e.before = e.points == 0 ? NAN : e.before / (double)e.points;
    e.after = e.points == 0 ? NAN : e.after / (double)e.points;
    *error_out = e;
}

/* ---- all ---- */

static ms_status fit(calibrating *c) {
    double places[MS_CALIBRATED_MAX], before[MS_CALIBRATED_MAX];
    size_t points = 0;
    for (size_t i = 0; i < c->out->point_count; i++) {
        points += !c->out->points[i].is_left_out;
    }
    ms_status status = check_count(c, points);
    for (size_t i = 0; i < c->fitted_count; i++) {
        before[i] = *c->fitted[i]->value;
        places[i] = ms_calibrated_place(c->fitted[i]);
    }
    const ms_least_squares problem = {.parameters = c->fitted_count,
                                      .residuals = points,
                                      .evaluate = find_residuals,
                                      .context = c};
    status = status == MS_OK ? ms_least_squares_solve(&problem, c->arena, places) : status;
    for (size_t i = 0; i < c->fitted_count && status == MS_OK; i++) {
        ms_calibrated_set(c->fitted[i], places[i]);
    }
    return status == MS_OK ? list_keys(c, before) : status;
}

/* A copy of the platform to change, without the measured table that would say the times itself. */
static ms_status copy_platform(calibrating *c) {
    const ms_platform *platform = c->study->platform;
    int gpus = ms_platform_gpus(platform);
    c->copy = MS_NEW(c->arena, ms_calibrated_platform, 1);
    c->gpus = MS_NEW(c->arena, int, gpus);
    if (c->copy == NULL || c->gpus == NULL) {
        return ms_diag_no_memory(c->diag);
    }
    c->copy->platform = *platform;
    c->copy->platform.gpu.measured = NULL;
    if (platform->library != NULL) {
        c->copy->library = *platform->library;
        c->copy->platform.library = &c->copy->library;
    }
    for (int i = 0; i < gpus; i++) {
        c->gpus[i] = i;
    }
    c->value_count = ms_calibrated_values(c->copy, c->arena, c->values);
    return c->value_count == 0 ? ms_diag_no_memory(c->diag) : MS_OK;
}

ms_status ms_calibrate_run(const ms_calibration_study *study, ms_arena *arena, ms_diag *diag,
                           ms_calibration *calibration_out) {
    *calibration_out = (ms_calibration){.key_count = 0};
    calibrating c = {.study = study, .arena = arena, .diag = diag, .out = calibration_out};
    ms_status status = copy_platform(&c);
    status = status == MS_OK ? list_points(&c) : status;
    status = status == MS_OK ? predict_all(&c, false) : status;
    status = status == MS_OK ? choose(&c) : status;
    status = status == MS_OK ? fit(&c) : status;
    status = status == MS_OK ? predict_all(&c, true) : status;
    if (status == MS_OK) {
        sum_up(calibration_out, false, &calibration_out->fitted);
        sum_up(calibration_out, true, &calibration_out->left_out);
    }
    return status;
}

/* ---- the file ---- */

/* Write a key below those that are open already: parts of a path that it has in common with the one
 * before are not written again. */
static void write_key(const ms_calibrated_key *key, const char *last, ms_buffer *out) {
    size_t common = 0; /* bytes of the path up to a dot */
    for (size_t i = 0; key->key[i] != '\0' && key->key[i] == last[i]; i++) {
        common = key->key[i] == '.' ? i + 1 : common;
    }
    int depth = 0;
    for (const char *part = key->key; *part != '\0'; depth++) {
        size_t length = strcspn(part, ".");
        bool is_last = part[length] == '\0';
        if ((size_t)(part - key->key) >= common) {
            ms_buffer_printf(out, "%*s%.*s:", 2 * depth, "", (int)length, part);
            if (is_last) {
                ms_buffer_printf(out, " %s  # fit: was %s%s%s%s", key->after_text, key->before_text,
                                 key->place[0] == '\0' ? "" : " (", key->place,
                                 key->place[0] == '\0' ? "" : ")");
            }
            ms_buffer_puts(out, "\n");
        }
        part += length + !is_last;
    }
}

void ms_calibration_write(const ms_calibration *calibration, const char *base, const char *name,
                          ms_buffer *out) {
    const ms_calibration_error *in = &calibration->fitted, *left = &calibration->left_out;
    const char *last = "";
    ms_buffer_printf(out,
                     "# %s calibrated by meshsim to %lld measured points: mean error %.1f %%, was "
                     "%.1f %%;\n# on %lld points left out %.1f %%, was %.1f %%.\n",
                     base, (long long)in->points, 100 * in->after, 100 * in->before,
                     (long long)left->points, 100 * left->after, 100 * left->before);
    ms_buffer_printf(out, "base: '%s'\nname: '%s'\n", base, name);
    for (size_t i = 0; i < calibration->key_count; i++) {
        write_key(&calibration->keys[i], last, out);
        last = calibration->keys[i].key;
    }
}
