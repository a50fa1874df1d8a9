/* From a candidate's number to its spec and its settings (space.h). The number is written in mixed
 * radix: its first digit is the shape (cluster, sizes of the mesh's axes, order), then follows one
 * digit per varied key. Most keys are set directly in the spec (`setter`); the rest need the
 * workload file to be read again. Candidates that differ only in keys with setters share one such
 * reading, a template. */
#include <string.h>

#include "search/points.h"
#include "search/search/space.h"

/* ---- digits ---- */

/* Whether a value has an effect on the jobs of a shape: some values have none without several
 * pipeline ranks or several replicas. The same job is then already a candidate with the axis' first
 * value. need: what the value needs to have an effect. */
static bool makes_difference(const ms_space *space, const space_shape *shape, space_need need) {
    const int *sizes = shape->sizes;
    int64_t replicas = (int64_t)sizes[KNOWN_DP] * sizes[KNOWN_CP] * sizes[KNOWN_EP];
    return need == NEEDS_NOTHING || (need == NEEDS_PIPELINE && sizes[KNOWN_PP] > 1) ||
           (need == NEEDS_REPLICAS && replicas * space->other_size > 1);
}

/* Split a candidate's number into its digits, the last axis running fastest. Returns false if some
 * value has no effect in the candidate's shape (makes_difference): the same job has a lower number,
 * too. */
static bool split_number(const ms_space *space, int64_t index, space_digits *digits_out) {
    bool is_own = true;
    for (size_t i = space->axis_count; i-- > 0;) {
        const space_axis *axis = &space->axes[i];
        digits_out->numbers[i] = (size_t)(index % (int64_t)axis->count);
        digits_out->values[i] = &axis->values[digits_out->numbers[i]];
        index /= (int64_t)axis->count;
    }
    digits_out->shape = &space->shapes[index];
    for (size_t i = 0; i < space->axis_count; i++) {
        is_own = is_own && makes_difference(space, digits_out->shape, digits_out->values[i]->need);
    }
    return is_own;
}

/* ---- layers ---- */

/* Replace the partition of layers over stages by a balanced one, if the spec's own partition does
 * not fit its number of stages. A partition fits if it lists as many stages, or if the layers that
 * its given ends leave divide evenly among the remaining stages. Nothing changes where
 * places_layers is false (no model, or the user varies the partition), for a schedule from a CSV
 * file, or where the partition is balanced without given ends, which fits any number. Returns
 * whether the partition was changed. */
static bool place_layers(const ms_space *space, ms_job_spec *spec) {
    const ms_spec_schedule *schedule = &spec->schedule;
    const ms_spec_partition *own = &schedule->partition;
    if (!space->places_layers || schedule->csv != NULL ||
        (own->kind == MS_PARTITION_BALANCED && own->first_stage_layers == 0 &&
         own->last_stage_layers == 0)) {
        return false;
    }
    int fixed = ms_schedule_kind_traits(schedule->kind).chunks; /* virtual stages of the kind */
    int chunks = fixed > 0 ? fixed : schedule->chunks > 0 ? schedule->chunks : 1;
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

/* Set the values of a candidate that have a setter in a spec; the others were read with its
 * template. */
static void set_values(const ms_space *space, const space_digits *digits, ms_job_spec *spec) {
    for (size_t i = 0; i < space->axis_count; i++) {
        // NOLINTNEXTLINE(clang-analyzer-core.NullDereference): split_number has set as many
        for (size_t s = 0; s < digits->values[i]->count; s++) {
            const space_setting *setting = &digits->values[i]->settings[s];
            if (setting->setter != NULL) {
                ms_space_set(setting->setter, setting->value, spec);
            }
        }
    }
}

/* ---- templates ---- */

/* Index of a candidate's template in space->templates, in mixed radix over all that a template
 * depends on: the cluster; with a framework whether tp, pp and cp have more than one rank, because
 * the framework's choices depend on it; and the values of axes that are read with the file
 * (is_read) or that the framework's choices depend on (is_fit). */
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

/* Let a template use the platform of an earlier template with the same text, so that results that
 * the estimator keeps per platform serve both. Returns MS_OK; MS_E_NOMEM. */
static ms_status share_platform(ms_space *space, ms_job_spec *spec) {
    for (const space_platform *known = space->platforms; known != NULL; known = known->next) {
        if (strcmp(known->text, spec->platform.text) == 0) {
            spec->platform.cluster = known->cluster;
            return MS_OK;
        }
    }
    space_platform *added = MS_NEW(space->arena, space_platform, 1);
    if (added == NULL) {
        return MS_E_NOMEM;
    }
    *added = (space_platform){spec->platform.text, spec->platform.cluster, space->platforms};
    space->platforms = added;
    return MS_OK;
}

/* Read the workload with all settings of a candidate into its template. A workload that cannot be
 * read with these settings is no failure: the template keeps the reason. Returns MS_OK; MS_E_IO;
 * MS_E_NOMEM. */
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
    /* candidates of the template differ from the file's text, so faults must not point into it */
    out->spec.source = (ms_spec_source){.path = out->spec.source.path};
    if (space->places_layers) { /* each candidate decides anew (place_layers) */
        out->spec.schedule.partition = space->base.schedule.partition;
    }
    return share_platform(space, &out->spec);
}

/* ---- the candidate ---- */

/* Copy the spec of the candidate's template, which is read when the template's first candidate is
 * made, and set the mesh, the values with a setter and the partition. */
ms_status ms_space_spec(ms_space *space, int64_t index, ms_diag *diag, ms_job_spec *spec_out) {
    space_digits digits;
    if (!split_number(space, index, &digits)) {
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
        return ms_diag_error(diag, "%s", (*found)->reason);
    }
    *spec_out = (*found)->spec;
    ms_space_mesh_of(space, digits.shape, &spec_out->mesh);
    set_values(space, &digits, spec_out);
    place_layers(space, spec_out);
    return MS_OK;
}

/* A list of settings, "key.path=value", while it grows. */
typedef struct setting_list {
    ms_arena *arena; /* of the texts */
    ms_vector items;
} setting_list;

/* Append "key=value"; a lack of memory shows in the arena. */
static void add_setting(setting_list *list, const char *key, const char *value) {
    const char *setting = ms_point_setting(key, value, list->arena);
    ms_vector_add(&list->items, &setting, 1);
}

static void add_number(setting_list *list, const char *key, int number) {
    const char *value = ms_arena_printf(list->arena, "%d", number);
    add_setting(list, key, value == NULL ? "" : value);
}

/* Append the settings that choose a cluster: its platform file and its number of nodes, if they are
 * not the workload's, and the overrides of its platform alone. */
static void add_cluster(const ms_space *space, const space_cluster *cluster, setting_list *list) {
    if (cluster->file != NULL) {
        add_setting(list, "platform.file", cluster->file);
    }
    if (cluster->nodes > 0) {
        add_number(list, "platform.nodes", cluster->nodes);
    }
    for (size_t i = 0; i < space->request->own_sets.count; i++) {
        const char *own = ms_space_own_setting(space, i, cluster->platform);
        if (own != NULL) {
            ms_vector_add(&list->items, &own, 1);
        }
    }
}

/* Append the sizes of all axes that the workload's mesh or this shape has, and `mesh.order` where
 * the order of axes differs from the workload's. Axes of size 1 are not part of an order. */
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
        add_setting(list, "mesh.order", ms_buffer_text(&order));
    }
    list->arena->has_failed = list->arena->has_failed || order.failed;
    ms_buffer_release(&order);
}

/* Where a candidate's layers are partitioned anew (place_layers), append the settings that choose a
 * balanced partition and remove what the workload file says of the partition. */
static void add_partition(const ms_space *space, const space_digits *digits, setting_list *list) {
    ms_job_spec spec = space->base;
    const ms_spec_partition own = spec.schedule.partition;
    ms_space_mesh_of(space, digits->shape, &spec.mesh);
    set_values(space, digits, &spec);
    if (!place_layers(space, &spec)) {
        return;
    }
    add_setting(list, "schedule.partition", "balanced");
    if (own.stage_layers.count > 0) {
        add_setting(list, "schedule.stage_layers", "null");
    }
    if (own.first_stage_layers > 0) {
        add_setting(list, "schedule.first_stage_layers", "null");
    }
    if (own.last_stage_layers > 0) {
        add_setting(list, "schedule.last_stage_layers", "null");
    }
}

/* The settings are those of the cluster, the mesh, each value, the partition and the granularity.
 * With them the workload file gives the same spec as ms_space_spec. */
ms_status ms_space_settings(const ms_space *space, int64_t index, ms_arena *arena,
                            ms_words *settings_out) {
    space_digits digits;
    setting_list list = {.arena = arena};
    ms_vector_init(&list.items, sizeof(const char *));
    split_number(space, index, &digits);
    add_cluster(space, &space->clusters[digits.shape->cluster], &list);
    add_mesh(space, digits.shape, &list);
    for (size_t i = 0; i < space->axis_count; i++) {
        for (size_t s = 0; s < digits.values[i]->count; s++) {
            add_setting(&list, digits.values[i]->settings[s].key,
                        digits.values[i]->settings[s].value);
        }
    }
    add_partition(space, &digits, &list);
    if (space->is_at_pass_level) {
        add_setting(&list, "granularity", "pass");
    }
    size_t count = list.items.count;
    *settings_out = (ms_words){.items = ms_vector_keep(&list.items, arena), .count = count};
    return arena->has_failed ? MS_E_NOMEM : MS_OK;
}
