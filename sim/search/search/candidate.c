/* From a number to a candidate: its digits, its spec, its settings. */
#include <string.h>

#include "search/points.h"
#include "search/search/space.h"

/* ---- digits ---- */

/* Whether a value makes a difference to the jobs of a shape, so that it is a candidate of its own.
 */
static bool has_place(const ms_space *space, const space_shape *shape, space_need need) {
    const int *sizes = shape->sizes;
    int64_t replicas = (int64_t)sizes[KNOWN_DP] * sizes[KNOWN_CP] * sizes[KNOWN_EP];
    return need == NEEDS_NOTHING || (need == NEEDS_PIPELINE && sizes[KNOWN_PP] > 1) ||
           (need == NEEDS_REPLICAS && replicas * space->other_size > 1);
}

/* Find the digits of a candidate's number.  Returns whether it differs from all candidates before
 * it. */
static bool take_apart(const ms_space *space, int64_t index, space_digits *digits_out) {
    bool is_own = true;
    for (size_t i = space->axis_count; i-- > 0;) {
        const space_axis *axis = &space->axes[i];
        digits_out->numbers[i] = (size_t)(index % (int64_t)axis->count);
        digits_out->values[i] = &axis->values[digits_out->numbers[i]];
        index /= (int64_t)axis->count;
    }
    digits_out->shape = &space->shapes[index];
    for (size_t i = 0; i < space->axis_count; i++) {
        is_own = is_own && has_place(space, digits_out->shape, digits_out->values[i]->need);
    }
    return is_own;
}

/* ---- layers ---- */

/* Set a balanced partition where the spec's own does not fit its stages.  Returns whether it was
 * changed. */
static bool place_layers(const ms_space *space, ms_job_spec *spec) {
    const ms_spec_schedule *schedule = &spec->schedule;
    const ms_spec_partition *own = &schedule->partition;
    if (!space->places_layers || schedule->csv != NULL ||
        (own->kind == MS_PARTITION_BALANCED && own->first_stage_layers == 0 &&
         own->last_stage_layers == 0)) {
        return false;
    }
    int needed = ms_schedule_kind_traits(schedule->kind).chunks;
    int chunks = needed > 0 ? needed : schedule->chunks > 0 ? schedule->chunks : 1;
    int stages = ms_spec_axis_size(&spec->mesh, "pp") * chunks;
    bool fits = own->stage_layers.count == (size_t)stages;
    if (own->stage_layers.count == 0) {
        const ms_open_stages open = ms_spec_open_stages(spec, stages);
        fits = open.count > 0 ? open.layers >= open.count && open.layers % open.count == 0
                              : open.count == 0 && open.layers == 0;
    }
    if (!fits) {
        spec->schedule.partition = (ms_spec_partition){.kind = MS_PARTITION_BALANCED};
    }
    return !fits;
}

/* Set all values of a candidate that need not be read with the file. */
static void set_values(const ms_space *space, const space_digits *digits, ms_job_spec *spec) {
    for (size_t i = 0; i < space->axis_count; i++) {
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): take_apart has set as many
        for (size_t s = 0; s < digits->values[i]->count; s++) {
            const space_setting *setting = &digits->values[i]->settings[s];
            if (setting->setter != NULL) {
                ms_space_set(setting->setter, setting->value, spec);
            }
        }
    }
}

/* ---- templates ---- */

/* Which template a candidate starts from. */
static size_t find_template(const ms_space *space, const space_digits *digits) {
    const int *sizes = digits->shape->sizes;
    size_t number = (size_t)digits->shape->cluster;
    if (space->base.framework.name != NULL) {
        number = number * 2 + (sizes[KNOWN_TP] > 1);
        number = number * 2 + (sizes[KNOWN_PP] > 1);
        number = number * 2 + (sizes[KNOWN_CP] > 1);
    }
    for (size_t i = 0; i < space->axis_count; i++) {
        const space_axis *axis = &space->axes[i];
        number = axis->is_read || axis->is_fit ? number * axis->count + digits->numbers[i] : number;
    }
    return number;
}

/* Platforms of equal texts are one, so that what is known of it serves all. */
static ms_status share_platform(ms_space *space, ms_job_spec *spec) {
    for (const space_platform *known = space->platforms; known != NULL; known = known->next) {
        if (strcmp(known->text, spec->platform.text) == 0) {
            spec->platform.cluster = known->cluster;
            return MS_OK;
        }
    }
    space_platform *first = MS_NEW(space->arena, space_platform, 1);
    if (first == NULL) {
        return MS_E_NOMEM;
    }
    *first = (space_platform){spec->platform.text, spec->platform.cluster, space->platforms};
    space->platforms = first;
    return MS_OK;
}

/* Read the workload with all settings of a candidate. */
static ms_status read_template(ms_space *space, int64_t index, ms_diag *diag, space_template *out) {
    ms_words settings;
    ms_point_refusal refusal;
    if (ms_space_settings(space, index, space->arena, &settings) != MS_OK) {
        return ms_diag_no_memory(diag);
    }
    ms_status status =
        ms_point_try(space->request->job, &settings, space->arena, &out->spec, &refusal);
    if (status == MS_E_INPUT || status == MS_E_USAGE) {
        out->reason = refusal.reason;
        return MS_OK;
    }
    if (status != MS_OK) {
        return status;
    }
    out->spec.source = (ms_spec_source){.path = out->spec.source.path};
    if (space->places_layers) {
        out->spec.schedule.partition = space->base.schedule.partition;
    }
    return share_platform(space, &out->spec);
}

/* ---- the candidate ---- */

ms_status ms_space_spec(ms_space *space, int64_t index, ms_diag *diag, ms_job_spec *spec_out) {
    space_digits digits;
    if (!take_apart(space, index, &digits)) {
        return MS_E_NO;
    }
    space_template **found = &space->templates[find_template(space, &digits)];
    if (*found == NULL) {
        space_template *made = MS_NEW(space->arena, space_template, 1);
        ms_status status = made == NULL ? MS_E_NOMEM : read_template(space, index, diag, made);
        if (status != MS_OK) {
            return status;
        }
        *found = made;
    }
    if ((*found)->reason != NULL) {
        ms_diag_error(diag, "%s", (*found)->reason);
        return MS_E_INPUT;
    }
    *spec_out = (*found)->spec;
    ms_space_mesh_of(space, digits.shape, &spec_out->mesh);
    set_values(space, &digits, spec_out);
    place_layers(space, spec_out);
    return MS_OK;
}

/* Settings, growing. */
typedef struct setting_list {
    ms_arena *arena;
    const char *items[SPACE_AXES_MAX * 4];
    size_t count;
} setting_list;

static void add(setting_list *list, const char *key, const char *value) {
    const char *setting = ms_point_setting(key, value, list->arena);
    if (list->count < sizeof list->items / sizeof list->items[0]) {
        list->items[list->count++] = setting;
    }
}

static void add_number(setting_list *list, const char *key, int number) {
    const char *value = ms_arena_printf(list->arena, "%d", number);
    add(list, key, value == NULL ? "" : value);
}

static void add_cluster(const space_cluster *cluster, setting_list *list) {
    if (cluster->file != NULL) {
        add(list, "platform.file", cluster->file);
    }
    if (cluster->nodes > 0) {
        add_number(list, "platform.nodes", cluster->nodes);
    }
}

/* Sizes of all axes that the workload's mesh or this one has, and the order where it is another.
 * Axes of size 1 stand nowhere in an order. */
static void add_mesh(const ms_space *space, const space_shape *shape, setting_list *list) {
    ms_spec_mesh mesh;
    ms_space_mesh_of(space, shape, &mesh);
    const ms_spec_mesh *base = &space->base.mesh;
    bool is_same = mesh.axes == base->axes;
    ms_buffer order;
    ms_buffer_init(&order);
    for (int axis = 0; axis < KNOWN_AXES; axis++) {
        if (shape->sizes[axis] > 1 || ms_spec_axis(base, ms_known_axis(axis)) >= 0) {
            add_number(list, MS_MESH_KEYS[axis], shape->sizes[axis]);
        }
    }
    for (int i = 0; i < mesh.axes; i++) {
        is_same = is_same && strcmp(mesh.names[i], base->names[i]) == 0;
        ms_buffer_printf(&order, "%s%s", i == 0 ? "[" : ", ", mesh.names[i]);
    }
    ms_buffer_puts(&order, "]");
    if (!is_same) {
        add(list, "mesh.order", ms_buffer_text(&order));
    }
    list->arena->has_failed = list->arena->has_failed || order.failed;
    ms_buffer_release(&order);
}

/* Where the layers are partitioned anew, add settings that take back what the workload says of
 * them. */
static void add_partition(const ms_space *space, const space_digits *digits, setting_list *list) {
    ms_job_spec spec = space->base;
    const ms_spec_partition own = spec.schedule.partition;
    ms_space_mesh_of(space, digits->shape, &spec.mesh);
    set_values(space, digits, &spec);
    if (!place_layers(space, &spec)) {
        return;
    }
    add(list, "schedule.partition", "balanced");
    if (own.stage_layers.count > 0) {
        add(list, "schedule.stage_layers", "null");
    }
    if (own.first_stage_layers > 0) {
        add(list, "schedule.first_stage_layers", "null");
    }
    if (own.last_stage_layers > 0) {
        add(list, "schedule.last_stage_layers", "null");
    }
}

ms_status ms_space_settings(const ms_space *space, int64_t index, ms_arena *arena,
                            ms_words *settings_out) {
    space_digits digits;
    setting_list list = {.arena = arena};
    take_apart(space, index, &digits);
    add_cluster(&space->clusters[digits.shape->cluster], &list);
    add_mesh(space, digits.shape, &list);
    for (size_t i = 0; i < space->axis_count; i++) {
        for (size_t s = 0; s < digits.values[i]->count; s++) {
            add(&list, digits.values[i]->settings[s].key, digits.values[i]->settings[s].value);
        }
    }
    add_partition(space, &digits, &list);
    if (space->is_at_pass_level) {
        add(&list, "granularity", "pass");
    }
    const char **items = MS_NEW(arena, const char *, list.count);
    if (items == NULL || arena->has_failed) {
        return MS_E_NOMEM;
    }
    memcpy(items, list.items, list.count * sizeof *items);
    *settings_out = (ms_words){.items = items, .count = list.count};
    return MS_OK;
}
