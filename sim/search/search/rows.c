/* Makes the rows of a search's result: sorts the simulated candidates by the goal's score, and
 * describes each listed candidate by its settings and by what limits its step (computing, the
 * bubble, or communication along one axis of the mesh). */
#include "search/search/rows.h"

#include <stdlib.h>
#include <string.h>

/* A step is limited by computing if no other part of it has this share of its time. */
static const double LIMIT_MIN = 0.05;

/* ---- order ---- */

/* Order of two lists of settings: that of their first different texts, else the shorter list
 * first. */
static int compare_settings(const ms_words *a, const ms_words *b) {
    for (size_t i = 0; i < a->count && i < b->count; i++) {
        int order = strcmp(a->items[i], b->items[i]);
        if (order != 0) {
            return order;
        }
    }
    return (a->count > b->count) - (a->count < b->count);
}

/* Order of two simulated rows for qsort: by score, then by settings, then by candidate number. */
static int compare_rows(const void *a, const void *b) {
    const ms_search_row *left = a, *right = b;
    int order = ms_search_compare(&left->score, &right->score);
    order = order != 0 ? order : compare_settings(&left->settings, &right->settings);
    return order != 0 ? order : (left->index > right->index) - (left->index < right->index);
}

/* Fill in the settings of rows and sort the rows by score, equal scores by settings. Returns MS_OK;
 * MS_E_NOMEM. */
static ms_status sort_rows(const ms_space *space, ms_search_row *rows, size_t count,
                           ms_arena *arena) {
    for (size_t i = 0; i < count; i++) {
        if (ms_space_settings(space, rows[i].index, arena, &rows[i].settings) != MS_OK) {
            return MS_E_NOMEM;
        }
    }
    qsort(rows, count, sizeof *rows, compare_rows);
    return MS_OK;
}

/* Whether two simulated candidates differ only in the order of the mesh's axes, and have equal
 * steps and bubbles, to the digits of ms_search_is_equal. A bubble may be 0, so it is compared as a
 * part of the step. */
static bool is_other_order(const ms_space *space, const ms_search_row *a, const ms_search_row *b) {
    const ms_search_score own = {{a->figures.step_time_s, 1 + a->figures.bubble_fraction}};
    const ms_search_score other = {{b->figures.step_time_s, 1 + b->figures.bubble_fraction}};
    return ms_space_is_reordered(space, a->index, b->index) && ms_search_is_equal(&own, &other);
}

/* Merge simulated rows with equal figures that differ only in the order of the mesh's axes into the
 * first of them. rows: [count] sorted by score. Returns the number of rows that are left, which
 * keep their order. */
static size_t merge_orders(const ms_space *space, ms_search_row *rows, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = kept;
        bool is_known = false;
        while (at > 0 && !is_known && ms_search_is_equal(&rows[at - 1].score, &rows[i].score)) {
            is_known = is_other_order(space, &rows[--at], &rows[i]);
        }
        if (is_known) {
            rows[at].equal_orders++;
        } else {
            rows[kept++] = rows[i];
        }
    }
    return kept;
}

/* Whether a row is among the best: on the Pareto front, or one of the first `top` rows, of its
 * platform or of all. rows: [kept] the best rows so far. Rows come by their scores, and a row can
 * only be dominated by one before it (ms_search_dominates), so these rows decide. */
static bool is_among_best(const ms_search_study *study, const ms_search_row *rows, size_t kept,
                          const ms_search_row *row) {
    bool is_front = study->goal->objective_count > 1;
    size_t platform = ms_space_platform_of(study->space, row->index), better = 0;
    if (!is_front && !study->is_by_platform) {
        return kept < (size_t)study->top;
    }
    for (size_t i = 0; i < kept; i++) {
        bool is_other =
            study->is_by_platform && ms_space_platform_of(study->space, rows[i].index) != platform;
        better += !is_other && (!is_front || ms_search_dominates(&rows[i].score, &row->score));
    }
    return better < (is_front ? 1 : (size_t)study->top);
}

/* Move the best rows (is_among_best) to the beginning. Both parts keep their order. rows: [count]
 * sorted by score. *kept_out: number of the best rows. Returns MS_OK; MS_E_NOMEM. */
static ms_status partition_best(const ms_search_study *study, ms_search_row *rows, size_t count,
                                ms_arena *arena, size_t *kept_out) {
    ms_search_row *others = MS_NEW(arena, ms_search_row, count);
    size_t kept = 0, left = 0;
    if (others == NULL && count > 0) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_among_best(study, rows, kept, &rows[i])) {
            rows[kept++] = rows[i];
        } else {
            others[left++] = rows[i];
        }
    }
    for (size_t i = 0; i < left; i++) {
        rows[kept + i] = others[i];
    }
    *kept_out = kept;
    return MS_OK;
}

/* ---- what limits a candidate ---- */

/* Name of the outermost network tier that neighbours along an axis cross, such as "nvlink". The
 * axis is looked for in the job's mesh, then in the experts' own mesh. NULL: the mesh has no such
 * axis, or the axis has one rank. */
static const char *tier_of(const ms_job_spec *spec, const char *name, ms_arena *arena) {
    ms_diag mute;
    ms_job job;
    ms_diag_init_mute(&mute);
    if (ms_job_shape(spec, arena, &mute, &job) != MS_OK) {
        return NULL;
    }
    const ms_mesh *mesh = &job.mesh;
    int axis = ms_mesh_axis(mesh, name);
    if (axis < 0 && job.expert_mesh != NULL) {
        mesh = job.expert_mesh;
        axis = ms_mesh_axis(mesh, name);
    }
    int tier = axis < 0 ? -1 : ms_mesh_axis_tier(mesh, axis, spec->platform.cluster);
    return tier < 0 ? NULL : spec->platform.cluster->tiers[tier].name;
}

/* Set limited_by and limit_share of a simulated row: the part of the step with the largest share
 * besides computing. If that share is below LIMIT_MIN, computing is the limit. limited_by is NULL
 * when memory runs out. */
static void find_limit(ms_search_row *row, ms_arena *arena) {
    static const struct {
        ms_time_category category;
        const char *name;
        bool is_axis;
    } PARTS[] = {{MS_TIME_OPTIMIZER, "optimizer", false}, {MS_TIME_IMBALANCE, "imbalance", false},
                 {MS_TIME_EXPOSED_TP, "tp", true},        {MS_TIME_EXPOSED_CP, "cp", true},
                 {MS_TIME_EXPOSED_EP, "ep", true},        {MS_TIME_EXPOSED_PP, "pp", true},
                 {MS_TIME_EXPOSED_DP, "dp", true},        {MS_TIME_OTHER, "other", false}};
    const ms_run_figures *figures = &row->figures;
    const char *name = "bubble", *tier = NULL;
    double share = figures->bubble_fraction;
    for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++) {
        if (figures->share[PARTS[i].category] > share) {
            share = figures->share[PARTS[i].category];
            name = PARTS[i].name;
            tier = PARTS[i].is_axis ? tier_of(&row->spec, name, arena) : NULL;
        }
    }
    bool is_compute = share < LIMIT_MIN;
    row->limit_share = is_compute ? figures->share[MS_TIME_COMPUTE] : share;
    row->limited_by = is_compute     ? "compute"
                      : tier == NULL ? name
                                     : ms_arena_printf(arena, "%s over %s", name, tier);
}

/* Virtual stages per rank of a candidate that was not simulated: the number in its spec, else the
 * number that its kind of schedule fixes, else 1. */
static int chunks_of(const ms_job_spec *spec) {
    int own = ms_schedule_kind_traits(spec->schedule.kind).chunks;
    return spec->schedule.chunks > 0 ? spec->schedule.chunks : own > 0 ? own : 1;
}

/* Fill in the spec of a row; of a simulated row also what limits its step; of an estimated row also
 * its settings and virtual stages (a simulated row has these already). Returns MS_OK; MS_E_NOMEM;
 * as ms_space_spec. */
static ms_status describe(ms_space *space, ms_search_row *row, ms_arena *arena, ms_diag *diag) {
    ms_status status = ms_space_spec(space, row->index, diag, &row->spec);
    if (status == MS_OK && row->is_simulated) {
        find_limit(row, arena);
        status = row->limited_by == NULL ? MS_E_NOMEM : MS_OK;
    } else if (status == MS_OK) {
        row->figures.chunks = chunks_of(&row->spec);
        status = ms_space_settings(space, row->index, arena, &row->settings);
    }
    return status;
}

/* ---- the lists ---- */

/* Only rows that are listed are described, because finding a limit lays out the
 * job's mesh. */
ms_status ms_search_make_rows(const ms_search_study *study, ms_search_row *rows,
                              const size_t counts[2], ms_arena *arena, ms_diag *diag,
                              ms_search_findings *result) {
    size_t simulated = counts[0], top = 0, estimated = counts[1] - counts[0];
    ms_status status = sort_rows(study->space, rows, simulated, arena);
    if (status == MS_OK) {
        simulated = merge_orders(study->space, rows, simulated);
        memmove(rows + simulated, rows + counts[0], estimated * sizeof *rows);
        result->equal_orders = (int64_t)(counts[0] - simulated);
        status = partition_best(study, rows, simulated, arena, &top);
    }
    size_t listed = top + (size_t)study->rest_max;
    listed = listed < simulated + estimated ? listed : simulated + estimated;
    for (size_t i = 0; i < listed && status == MS_OK; i++) {
        status = describe(study->space, &rows[i], arena, diag);
    }
    result->rows = rows;
    result->row_count = top;
    result->rest = rows + top;
    result->rest_count = listed - top;
    return status;
}
