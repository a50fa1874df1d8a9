/* Quantities beside step times: errors by group, memory, layer times, phases, collectives. */
#include <math.h>
#include <string.h>

#include "meshsim/collective.h"
#include "study/validate_parts.h"

enum { MEMORY_PER_ROW = 2, LAYER_PER_ROW = 3, SYSTEM_NODE_GPUS = 8 };

/* Sizes of collectives that are summed up together. Source: how the errors' causes change, launch
 * and latency below, bandwidth above. */
static const struct {
    double below_B;
    const char *name;
} SIZES[] = {{1048576.0, "below 1 MiB"},
             {16 * 1048576.0, "1 to 16 MiB"},
             {256 * 1048576.0, "16 to 256 MiB"},
             {INFINITY, "256 MiB and more"}};

static const char NO_PLATFORM[] = "no platform goes by the words of its source";

/* ---- errors by group ---- */

static ms_validate_group *find_group(ms_validate_groups *groups, const char *name) {
    for (size_t i = 0; i < groups->count; i++) {
        if (strcmp(groups->items[i].name, name) == 0) {
            return &groups->items[i];
        }
    }
    ms_validate_group *group = &groups->items[groups->count++];
    *group = (ms_validate_group){.name = name};
    return group;
}

ms_status ms_validate_sum_up(const ms_error_item *items, size_t count, ms_arena *arena,
                             ms_validate_groups *groups_out) {
    ms_validate_groups groups = {.items = MS_NEW(arena, ms_validate_group, count)};
    if (groups.items == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        if (items[i].group == NULL) {
            continue;
        }
        ms_validate_group *group = find_group(&groups, items[i].group);
        double size = fabs(items[i].error);
        group->n++;
        group->mean_abs_error += size;
        group->bias += items[i].error;
        if (group->worst == NULL || size > group->worst_abs_error) {
            group->worst_abs_error = size;
            group->worst = items[i].id;
        }
    }
    for (size_t i = 0; i < groups.count; i++) {
        groups.items[i].mean_abs_error /= (double)groups.items[i].n;
        groups.items[i].bias /= (double)groups.items[i].n;
    }
    *groups_out = groups;
    return MS_OK;
}

/* Errors of points by their group. */
static ms_status sum_up_points(const ms_validate_points *points, ms_arena *arena,
                               ms_validate_groups *groups_out) {
    ms_error_item *items = MS_NEW(arena, ms_error_item, points->count);
    if (items == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < points->count; i++) {
        const ms_validate_point *point = &points->items[i];
        items[i] = (ms_error_item){point->group, point->id, point->error};
    }
    return ms_validate_sum_up(items, points->count, arena, groups_out);
}

static void add_point(ms_validate_points *points, ms_validate_point point) {
    if (!isnan(point.measured)) {
        point.error = point.predicted / point.measured - 1;
        points->items[points->count++] = point;
    }
}

/* ---- memory ---- */

/* What a figure of a peak counts. */
static const char *peak_name(const ms_case_measured *measured) {
    const char *of_allocator = measured->is_allocated ? "peak_alloc" : "peak_reserved";
    return measured->is_device ? "peak_device" : of_allocator;
}

static void add_memory(const ms_validate_row *row, ms_validate_points *points) {
    const ms_case_measured *measured = &row->measured->measured;
    bool is_last = measured->is_last_rank;
    double beside_B = measured->is_device ? row->finding.reserve_B : 0;
    ms_validate_point point = {
        .id = row->id,
        .group = row->group,
        .quantity = peak_name(measured),
        .rank = is_last ? "last" : "peak",
        .predicted = beside_B + (is_last ? row->finding.last_peak_B : row->figures.peak_B),
        .measured = measured->peak_B};
    add_point(points, point);
    point.quantity = "between_steps";
    point.predicted = row->finding.last_static_B;
    point.measured = measured->static_B;
    add_point(points, point);
}

static void add_layer(const ms_validate_row *row, ms_validate_points *points) {
    const ms_case_measured *measured = &row->measured->measured;
    const struct {
        const char *name;
        double predicted_s, measured_s;
    } PARTS[LAYER_PER_ROW] = {
        {"forward", row->finding.forward_s, measured->forward_s},
        {"backward", row->finding.backward_s, measured->backward_s},
        {"combined", row->finding.forward_s + row->finding.backward_s, measured->layer_s}};
    for (int i = 0; i < LAYER_PER_ROW; i++) {
        add_point(points, (ms_validate_point){.id = row->id,
                                              .group = row->group,
                                              .quantity = PARTS[i].name,
                                              .predicted = PARTS[i].predicted_s,
                                              .measured = PARTS[i].measured_s});
    }
}

static void add_phases(const ms_validate_row *row, ms_validate_points *points) {
    static const char *const NAMES[MS_STEP_PHASE_COUNT] = {
        [MS_STEP_FORWARD] = "1F", [MS_STEP_BUBBLE] = "bubble", [MS_STEP_BACKWARD] = "1B",
        [MS_STEP_WEIGHT] = "1W",  [MS_STEP_PAIR] = "1F1B",     [MS_STEP_END] = "optimizer"};
    for (int i = 0; i < MS_STEP_PHASE_COUNT; i++) {
        add_point(points, (ms_validate_point){.id = row->id,
                                              .group = row->group,
                                              .quantity = NAMES[i],
                                              .predicted = row->finding.phase_s[i],
                                              .measured = row->measured->measured.phase_s[i]});
    }
}

ms_status ms_validate_take_points(ms_arena *arena, ms_validation *v) {
    v->memory.items = MS_NEW(arena, ms_validate_point, MEMORY_PER_ROW * v->row_count);
    v->layers.items = MS_NEW(arena, ms_validate_point, LAYER_PER_ROW * v->row_count);
    v->phases.items = MS_NEW(arena, ms_validate_point, MS_STEP_PHASE_COUNT * v->row_count);
    if (v->memory.items == NULL || v->layers.items == NULL || v->phases.items == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < v->row_count; i++) {
        const ms_validate_row *row = &v->rows[i];
        if (row->reason == NULL) {
            add_memory(row, &v->memory);
            add_layer(row, &v->layers);
            add_phases(row, &v->phases);
        }
    }
    return sum_up_points(&v->memory, arena, &v->memory_groups);
}

/* ---- collectives ---- */

static const char *size_name(double size_B) {
    size_t i = 0;
    while (size_B >= SIZES[i].below_B) {
        i++;
    }
    return SIZES[i].name;
}

/* Time a collective on the first GPUs of a platform with nothing else on its links, as its
 * benchmark does. */
static ms_status time_collective(const ms_platform *platform, const ms_case_collective *c,
                                 ms_arena *arena, double *time_s_out) {
    int *gpus = MS_NEW(arena, int, c->ranks);
    ms_coll_plan plan;
    if (gpus == NULL) {
        return MS_E_NOMEM;
    }
    for (int i = 0; i < c->ranks; i++) {
        gpus[i] = i;
    }
    const ms_coll_request request = {
        .kind = c->kind, .gpus = gpus, .members = c->ranks, .size_B = c->size_B};
    ms_status status = ms_coll_plan_build(platform, &request, arena, &plan);
    status = status == MS_OK ? ms_coll_plan_time(platform, &plan, time_s_out) : status;
    if (status == MS_OK) {
        const ms_timed_collective timed = {
            .timing = (int)c->timing, .ranks = c->ranks, .nodes = c->nodes, .size_B = c->size_B};
        *time_s_out = ms_timed_s(&timed, platform, *time_s_out);
    }
    return status;
}

/* The point of one, or why there is none. */
static ms_status take_collective(ms_case_rules *rules, const ms_case_collective *c, ms_arena *arena,
                                 ms_validate_points *points) {
    /* which cluster it was the source may say better than its name for the system */
    const char *words =
        ms_arena_printf(arena, "%s; %s", c->system, c->source == NULL ? "" : c->source);
    if (words == NULL) {
        return MS_E_NOMEM;
    }
    const ms_case_system system = {.gpu = c->system, .network = words};
    const ms_platform *platform = NULL;
    double time_s = NAN;
    int gpus = c->nodes == 1 ? c->ranks : c->nodes * SYSTEM_NODE_GPUS;
    ms_status status =
        ms_case_find_platform(rules, &system, gpus < c->ranks ? c->ranks : gpus, &platform);
    bool has_platform = status != MS_E_NO;
    if (has_platform && status == MS_OK) {
        status = time_collective(platform, c, arena, &time_s);
    }
    if (status != MS_OK && status != MS_E_NO) {
        return status;
    }
    add_point(points, (ms_validate_point){.id = c->system,
                                          .group = has_platform ? size_name(c->size_B) : NULL,
                                          .quantity = ms_coll_kind_name(c->kind),
                                          .ranks = c->ranks,
                                          .nodes = c->nodes,
                                          .size_B = c->size_B,
                                          .predicted = time_s,
                                          .measured = c->measured_s,
                                          .reason = has_platform ? NULL : NO_PLATFORM});
    return MS_OK;
}

ms_status ms_validate_collectives(const ms_validate_study *study, ms_case_rules *rules,
                                  ms_arena *arena, ms_diag *diag, ms_validation *v) {
    const ms_case_collective *list = study->measurements->collectives.data;
    size_t count = study->measurements->collectives.count;
    v->collectives.items = MS_NEW(arena, ms_validate_point, count);
    ms_status status = v->collectives.items == NULL ? MS_E_NOMEM : MS_OK;
    for (size_t i = 0; i < count && status == MS_OK; i++) {
        status = take_collective(rules, &list[i], arena, &v->collectives);
    }
    status = status == MS_OK ? sum_up_points(&v->collectives, arena, &v->sizes) : status;
    if (status == MS_E_NOMEM) {
        ms_diag_no_memory(diag);
    }
    return status;
}
