/* Lays out a space of jobs (space.h): reads the keys that vary and their values, fills in what the
 * user leaves open, and counts the candidates. An axis here is a varied key with its values; the
 * axes of the mesh (tp, cp, ep, pp, dp) have sizes and orders of their own, which become shapes
 * (shapes.c). A template is the workload file, read once for all candidates that differ only in
 * keys that can be set afterwards (candidate.c). */
#include "search/search/space.h"

#include <stdio.h>
#include <string.h>

#include "search/points.h"
#include "search/sweep/values.h"

/* Maximum number of templates of a space, each of which is kept in memory. */
enum { TEMPLATES_MAX = 100000 };

/* A framework's choices depend on whether tp, pp and cp have more than one rank: three axes, eight
 * cases, each with a template of its own (find_template in candidate.c). */
enum { FIT_AXES = 3, FIT_CLASSES = 1 << FIT_AXES };

/* The fault of a repeated value: the same job would be two candidates, and both could be among the
 * best. */
static const char ONCE[] = "each value once";

/* ---- reading the keys that vary ---- */

/* Split "key=v1,v2". *key_out: the key. *list_out: the values as a YAML list. Both in the space's
 * arena. Returns MS_OK; MS_E_USAGE (reported); as ms_yaml_parse_list; MS_E_NOMEM (reported). */
static ms_status parse_varied(ms_space *space, const char *text, ms_diag *diag,
                              const char **key_out, ms_node **list_out) {
    const char *equals = strchr(text, '=');
    if (equals == NULL || equals == text || equals[1] == '\0') {
        return ms_diag_usage(diag, "expected '--vary key.path=v1,v2,...', got '%s'", text);
    }
    const char *list = ms_arena_printf(space->arena, "[%s]", equals + 1);
    *key_out = ms_arena_strndup(space->arena, text, (size_t)(equals - text));
    if (list == NULL || *key_out == NULL) {
        return ms_diag_no_memory(diag);
    }
    const ms_text yaml = {.name = "--vary", .data = list, .length_B = strlen(list)};
    return ms_yaml_parse_list(&yaml, space->arena, diag, list_out);
}

/* Report a fault of a varied key. node: the place in a file; NULL: the command line gave the key.
 * Returns MS_E_INPUT; MS_E_NOMEM. */
static ms_status fault_key(const ms_space *space, const char *key, const ms_node *node,
                           const char *text, ms_diag *diag) {
    const char *path = ms_arena_printf(space->arena, "vary.%s", key);
    const char *option = ms_arena_printf(space->arena, "--vary %s", key);
    return space->arena->has_failed ? ms_diag_no_memory(diag)
                                    : ms_space_fault(node, path, option, text, diag);
}

/* Report that a value of a key is not the expected one, at the value's place. index: of the value
 * in the key's list. expected: what follows "expected ". got: the value as it was read. Returns
 * MS_E_INPUT; MS_E_NOMEM. */
static ms_status fault_value(const ms_space *space, const char *key, size_t index,
                             const char *expected, const ms_node *got, ms_diag *diag) {
    const char *shown = ms_sweep_value_text(got, space->arena);
    const char *text = ms_arena_printf(space->arena, "expected %s, got '%s'", expected,
                                       shown == NULL ? "" : shown);
    return fault_key(space, key, ms_space_item_node(space->key_node, index), text, diag);
}

/* Read one size of an axis of the mesh, a whole number of at least 1. index: of the value in the
 * key's list. At most eight digits are read, so that the number fits in an int. */
static ms_status read_size(const ms_space *space, const char *key, size_t index,
                           const ms_node *node, ms_diag *diag, int *size_out) {
    int end = 0;
    bool is_read = node->type == MS_NODE_SCALAR &&
                   sscanf(node->text, "%8d%n", size_out, &end) == 1 && node->text[end] == '\0' &&
                   *size_out >= 1;
    return is_read ? MS_OK
                   : fault_value(space, key, index, "a size such as 2, or 'all'", node, diag);
}

/* Read the sizes of an axis of the mesh: numbers, each once, or "all" for every divisor of the
 * GPUs. Returns MS_OK; MS_E_INPUT (reported); MS_E_NOMEM (reported). */
static ms_status read_sizes(ms_space *space, const char *key, const ms_node *list, ms_diag *diag,
                            space_sizes *sizes_out) {
    int *items = MS_NEW(space->arena, int, list->count);
    if (items == NULL) {
        return ms_diag_no_memory(diag);
    }
    *sizes_out = (space_sizes){.items = items, .is_given = true};
    size_t index = 0;
    ms_status status = MS_OK;
    for (const ms_node *child = list->first; child != NULL && status == MS_OK;
         child = child->next, index++) {
        int size = 0;
        if (child->type == MS_NODE_SCALAR && strcmp(child->text, "all") == 0) {
            sizes_out->is_any = true;
            continue;
        }
        status = read_size(space, key, index, child, diag, &size);
        for (size_t i = 0; i < sizes_out->count && status == MS_OK; i++) {
            status = items[i] != size ? MS_OK : fault_value(space, key, index, ONCE, child, diag);
        }
        items[sizes_out->count++] = size;
    }
    return status;
}

/* Find the axis of the workload's mesh that has a name of the user's own. It keeps its size in all
 * candidates; without such an axis other_size is 1. */
static void find_own_axis(ms_space *space) {
    const ms_spec_mesh *mesh = &space->base.mesh;
    space->other_size = 1;
    for (int i = 0; i < mesh->axes; i++) {
        if (ms_axis_from_name(mesh->names[i]) == MS_AXIS_OTHER) {
            space->other = mesh->names[i];
            space->other_size = mesh->sizes[i];
        }
    }
}

static const char ORDER[] = "mesh.order";

/* Read the values of mesh.order, each a list of axes from the outermost to the innermost. Axes that
 * a list leaves out are added (ms_space_complete_order). Returns MS_OK; MS_E_INPUT (reported);
 * MS_E_NOMEM (reported). */
static ms_status read_orders(ms_space *space, const ms_node *list, ms_diag *diag) {
    ms_words *orders = MS_NEW(space->arena, ms_words, list->count);
    size_t count = 0;
    for (const ms_node *child = list->first; child != NULL && orders != NULL; child = child->next) {
        const char **names = MS_NEW(space->arena, const char *, child->count + 1);
        ms_words given = {names, 0};
        bool is_list = child->type == MS_NODE_SEQUENCE && names != NULL;
        for (const ms_node *name = is_list ? child->first : NULL; name != NULL; name = name->next) {
            bool is_known = name->type == MS_NODE_SCALAR &&
                            !ms_space_has_word(&given, name->text) &&
                            (ms_axis_from_name(name->text) != MS_AXIS_OTHER ||
                             (space->other != NULL && strcmp(name->text, space->other) == 0));
            if (!is_known) {
                return fault_value(space, ORDER, count, "axes of the mesh, each once", name, diag);
            }
            names[given.count++] = name->text;
        }
        if (!is_list) {
            return fault_value(space, ORDER, count, "an order such as [pp, dp, tp]", child, diag);
        }
        orders[count++] = ms_space_complete_order(space, &given);
    }
    space->orders = orders;
    space->order_count = count;
    return space->arena->has_failed ? ms_diag_no_memory(diag) : MS_OK;
}

/* Whether a fault, "key: ...", is about one of the keys that a value sets. */
static bool is_own_fault(const space_value *value, const char *reason) {
    bool is_own = false;
    for (size_t i = 0; i < value->count; i++) {
        size_t length = strlen(value->settings[i].key);
        is_own = is_own ||
                 (strncmp(reason, value->settings[i].key, length) == 0 && reason[length] == ':');
    }
    return is_own;
}

/* Read the workload with one value to find out whether the value is possible. An unknown key, or a
 * value that the key cannot have, is a fault of the space. A value that only does not go together
 * with other keys is no fault: candidates with it are counted as illegal. index: of the value in
 * the key's list. Returns MS_OK; MS_E_INPUT (reported); MS_E_IO; MS_E_NOMEM (reported). */
static ms_status try_value(const ms_space *space, const space_value *value, size_t index,
                           ms_diag *diag) {
    const char **items = MS_NEW(space->arena, const char *, value->count);
    ms_words settings = {items, value->count};
    for (size_t i = 0; items != NULL && i < value->count; i++) {
        items[i] = ms_point_setting(value->settings[i].key, value->settings[i].value, space->arena);
    }
    if (space->arena->has_failed) {
        return ms_diag_no_memory(diag);
    }
    ms_job_spec spec;
    ms_point_refusal refusal;
    ms_status status = ms_point_try(space->request->job, &settings, space->arena, &spec, &refusal);
    if (status == MS_E_INPUT && (refusal.is_of_key || is_own_fault(value, refusal.reason))) {
        return ms_space_fault(ms_space_item_node(space->key_node, index), "vary", "--vary",
                              refusal.reason, diag);
    }
    return status == MS_E_INPUT || status == MS_E_USAGE ? MS_OK : status;
}

/* Whether a value is equal to one of the values before it. values: [count] the values before. */
static bool is_repeated(const space_value *values, size_t count, const space_value *value) {
    bool is_found = false;
    for (size_t i = 0; i < count && !is_found; i++) {
        is_found = values[i].count == value->count;
        for (size_t s = 0; s < value->count && is_found; s++) {
            is_found = strcmp(values[i].settings[s].key, value->settings[s].key) == 0 &&
                       strcmp(values[i].settings[s].value, value->settings[s].value) == 0;
        }
    }
    return is_found;
}

/* Read a key that is not about the mesh, with its list of values: check that each value occurs once
 * and is possible (try_value), and add the key to the axes of the space. axes: of space_axis.
 * Returns MS_OK; MS_E_INPUT (reported); MS_E_IO as try_value; MS_E_NOMEM (reported). */
static ms_status read_axis(ms_space *space, const char *key, const ms_node *list, ms_diag *diag,
                           ms_vector *axes) {
    space_value *values = MS_NEW(space->arena, space_value, list->count);
    ms_status status = values == NULL ? ms_diag_no_memory(diag) : MS_OK;
    size_t count = 0;
    for (const ms_node *child = list->first; child != NULL && status == MS_OK;
         child = child->next, count++) {
        status = ms_space_read_value(key, child, space->arena, diag, &values[count]);
        status = status == MS_OK && is_repeated(values, count, &values[count])
                     ? fault_value(space, key, count, ONCE, child, diag)
                     : status;
        status = status == MS_OK ? try_value(space, &values[count], count, diag) : status;
    }
    const space_axis axis = {.key = key, .values = values, .count = count};
    if (status == MS_OK && ms_vector_add(axes, &axis, 1) == NULL) {
        status = ms_diag_no_memory(diag);
    }
    return status;
}

/* Read one varied key, as `--vary` gives it ("key=v1,v2"): sizes of an axis of the mesh, orders of
 * the mesh, or any other key. Keys that follow from `--gpus` and `--platform` are refused.
 * space->key_node: where a file gives the key. axes: of space_axis, gets the key if it is not about
 * the mesh. */
static ms_status read_varied(ms_space *space, const char *text, ms_diag *diag, ms_vector *axes) {
    const char *key = NULL;
    ms_node *list = NULL;
    ms_status status = parse_varied(space, text, diag, &key, &list);
    if (status != MS_OK) {
        return status;
    }
    int axis = ms_mesh_key_axis(key);
    bool is_order = strcmp(key, "mesh.order") == 0;
    if (ms_space_is_varied(axes, key) || (axis >= 0 && space->sizes[axis].is_given) ||
        (is_order && space->orders != NULL)) {
        return fault_key(space, key, space->key_node,
                         "this key stands twice; give all its values at once", diag);
    }
    if (axis < 0 && !is_order && strncmp(key, "mesh.", strlen("mesh.")) == 0) {
        return fault_key(space, key, space->key_node,
                         "expected mesh.order, or an axis: tp, cp, ep, pp, dp", diag);
    }
    if (strcmp(key, "platform.nodes") == 0 || strcmp(key, "platform.file") == 0) {
        bool is_nodes = strcmp(key, "platform.nodes") == 0;
        return fault_key(space, key, space->key_node,
                         is_nodes ? "say '--gpus', or 'gpus' in a file, and the mesh follows"
                                  : "say '--platform', or 'platforms' in a file",
                         diag);
    }
    return axis >= 0  ? read_sizes(space, key, list, diag, &space->sizes[axis])
           : is_order ? read_orders(space, list, diag)
                      : read_axis(space, key, list, diag, axes);
}

/* ---- what the user leaves open ---- */

/* Give the axes of the mesh that do not vary the workload's sizes, and the space the workload's
 * order if no order is given. dp stays open: it gets the GPUs that the other axes leave. Returns
 * MS_OK; MS_E_NOMEM (reported). */
static ms_status close_mesh(ms_space *space, ms_diag *diag) {
    ms_spec_mesh mesh = space->base.mesh;
    int *own = MS_NEW(space->arena, int, KNOWN_AXES);
    ms_words *order = MS_NEW(space->arena, ms_words, 1);
    if (own == NULL || order == NULL) {
        return ms_diag_no_memory(diag);
    }
    for (int axis = 0; axis < KNOWN_AXES; axis++) {
        space_sizes *sizes = &space->sizes[axis];
        own[axis] = ms_spec_axis_size(&mesh, ms_known_axis(axis));
        if (!sizes->is_given && axis != KNOWN_DP && sizes->count == 0 && !sizes->is_any) {
            *sizes = (space_sizes){.items = &own[axis], .count = 1};
        }
    }
    if (space->orders == NULL) {
        const ms_words given = {mesh.names, (size_t)mesh.axes};
        *order = ms_space_complete_order(space, &given);
        space->orders = order;
        space->order_count = 1;
    }
    return space->arena->has_failed ? ms_diag_no_memory(diag) : MS_OK;
}

/* Choose how candidates place layers and how finely they are simulated. Layers are partitioned anew
 * where needed, unless a key of the partition varies. Each pass is simulated as one operation
 * (granularity `pass`), which is four to forty times faster than layer by layer, unless
 * `granularity` varies or is set on the command line. A workload that has `pass` already needs no
 * setting. */
static void choose_rest(ms_space *space, const ms_vector *axes) {
    static const char *const PARTITION_KEYS[] = {"schedule.partition", "schedule.stage_layers",
                                                 "schedule.first_stage_layers",
                                                 "schedule.last_stage_layers"};
    const ms_job_request *job = space->request->job;
    space->places_layers = space->base.has_model;
    for (size_t i = 0; i < sizeof PARTITION_KEYS / sizeof PARTITION_KEYS[0]; i++) {
        space->places_layers = space->places_layers && !ms_space_is_varied(axes, PARTITION_KEYS[i]);
    }
    space->is_at_pass_level = !ms_space_is_varied(axes, "granularity") &&
                              space->base.simulation.granularity == MS_GRANULARITY_LAYER;
    for (size_t i = 0; i < job->set_count; i++) {
        bool is_set = strncmp(job->sets[i], "granularity=", strlen("granularity=")) == 0;
        space->is_at_pass_level = space->is_at_pass_level && !is_set;
    }
}

/* Set is_read of an axis (some value needs the workload file to be read again) and is_fit (choices
 * of the workload's framework depend on one of its keys). */
static void classify(const ms_space *space, space_axis *axis) {
    static const char *const FIT[] = {"schedule.kind", "data_parallel.zero",
                                      "tensor_parallel.sequence"};
    for (size_t i = 0; i < axis->count; i++) {
        const space_value *value = &axis->values[i];
        for (size_t s = 0; s < value->count; s++) {
            axis->is_read = axis->is_read || value->settings[s].setter == NULL;
            for (size_t f = 0; f < sizeof FIT / sizeof FIT[0]; f++) {
                axis->is_fit = axis->is_fit || strcmp(value->settings[s].key, FIT[f]) == 0;
            }
        }
    }
    axis->is_fit = axis->is_fit && space->base.framework.name != NULL;
}

/* Give the space its axes, and set the number of candidates (shapes * values of each axis) and of
 * templates (the cases of find_template in candidate.c). Returns MS_OK; MS_E_USAGE (reported) for
 * too many axes, candidates or templates; MS_E_NOMEM (reported). */
static ms_status count_candidates(ms_space *space, const ms_vector *axes, ms_diag *diag) {
    space_axis *copy = MS_NEW(space->arena, space_axis, axes->count);
    if (axes->count > SPACE_AXES_MAX) {
        return ms_diag_usage(diag, "more than %d keys vary", (int)SPACE_AXES_MAX);
    }
    if (axes->failed || (copy == NULL && axes->count > 0)) {
        return ms_diag_no_memory(diag);
    }
    size_t templates =
        space->cluster_count * (space->base.framework.name == NULL ? 1 : FIT_CLASSES);
    space->count = (int64_t)space->shape_count;
    for (size_t i = 0; i < axes->count; i++) {
        copy[i] = MS_AT(axes, space_axis, i);
        classify(space, &copy[i]);
        templates *= copy[i].is_read || copy[i].is_fit ? copy[i].count : 1;
        bool is_too_many =
            space->count > INT64_MAX / (int64_t)copy[i].count || templates > TEMPLATES_MAX;
        if (is_too_many) {
            return ms_diag_usage(diag, "too many candidates: '%s' has %zu values", copy[i].key,
                                 copy[i].count);
        }
        space->count *= (int64_t)copy[i].count;
    }
    space->axes = copy;
    space->axis_count = axes->count;
    space->templates = MS_NEW(space->arena, space_template *, templates);
    return space->templates == NULL ? ms_diag_no_memory(diag) : MS_OK;
}

/* Lay out a space: read all varied keys, reporting the faults of each, then find the clusters, add
 * defaults, make the shapes, and count the candidates. Later steps need earlier ones: default sizes
 * depend on the clusters, shapes on the sizes and the orders. axes: of space_axis, empty. */
static ms_status lay_out(ms_space *space, ms_diag *diag, ms_vector *axes) {
    const ms_space_request *request = space->request;
    ms_status status = MS_OK;
    for (size_t i = 0; i < request->varied.count && status != MS_E_NOMEM; i++) {
        space->key_node = request->nodes == NULL ? NULL : request->nodes[i];
        ms_status one = read_varied(space, request->varied.items[i], diag, axes);
        status = status == MS_OK || one == MS_E_NOMEM ? one : status;
    }
    status = status == MS_OK ? ms_space_make_clusters(space, diag) : status;
    status = status == MS_OK ? ms_space_complete_schedules(space, axes, diag) : status;
    if (status == MS_OK && request->has_defaults) {
        status = ms_space_add_defaults(space, axes, diag);
    }
    status = status == MS_OK ? close_mesh(space, diag) : status;
    status = status == MS_OK ? ms_space_make_shapes(space, diag) : status;
    if (status == MS_OK) {
        choose_rest(space, axes);
        status = count_candidates(space, axes, diag);
    }
    return status;
}

/* A workload with `placement` names GPUs of one platform, so it cannot be combined with other
 * platforms or numbers of GPUs. */
ms_status ms_space_open(const ms_space_request *request, ms_arena *arena, ms_diag *diag,
                        ms_space **space_out) {
    ms_space *space = MS_NEW(arena, ms_space, 1);
    if (space == NULL) {
        return ms_diag_no_memory(diag);
    }
    *space = (ms_space){.request = request, .arena = arena};
    ms_status status = ms_job_spec_read(request->job, arena, diag, &space->base);
    if (status != MS_OK) {
        return status;
    }
    if (space->base.placement.is_given &&
        (request->gpus.count > 0 || request->platforms.count > 0)) {
        return ms_diag_usage(diag,
                             "the workload's 'placement' says which GPUs it takes; take it out, or "
                             "leave '--gpus' and '--platform' out");
    }
    ms_vector axes;
    ms_vector_init(&axes, sizeof(space_axis));
    find_own_axis(space);
    status = lay_out(space, diag, &axes);
    ms_vector_release(&axes);
    *space_out = space;
    return status;
}

int64_t ms_space_count(const ms_space *space) {
    return space->count;
}

const ms_job_spec *ms_space_base(const ms_space *space) {
    return &space->base;
}

const ms_words *ms_space_platforms(const ms_space *space) {
    return &space->request->platforms;
}

const char *ms_space_untried(const ms_space *space) {
    const char *untried = NULL;
    for (size_t i = 0; i < space->axis_count; i++) {
        untried = untried == NULL ? space->axes[i].untried : untried;
    }
    return untried;
}

bool ms_space_varies(const ms_space *space, const char *setting) {
    const ms_vector axes = {.data = space->axes, .count = space->axis_count};
    return ms_space_is_varied(&axes, setting);
}

/* The shape of a candidate: the first digit of its number. */
static const space_shape *shape_of(const ms_space *space, int64_t index) {
    return &space->shapes[index / (space->count / (int64_t)space->shape_count)];
}

size_t ms_space_platform_of(const ms_space *space, int64_t index) {
    return space->clusters[shape_of(space, index)->cluster].platform;
}

bool ms_space_is_reordered(const ms_space *space, int64_t a, int64_t b) {
    const space_shape *left = shape_of(space, a), *right = shape_of(space, b);
    int64_t values = space->count / (int64_t)space->shape_count; /* numbers of each shape */
    return a % values == b % values && left->cluster == right->cluster &&
           memcmp(left->sizes, right->sizes, sizeof left->sizes) == 0;
}

/* Axes of the mesh with one size, and a single order, do not vary and are not listed. */
ms_status ms_space_axes(const ms_space *space, ms_arena *arena, const ms_space_axis_view **axes_out,
                        size_t *count_out) {
    ms_space_axis_view *views =
        MS_NEW(arena, ms_space_axis_view, space->axis_count + KNOWN_AXES + 1);
    size_t count = 0;
    if (views == NULL) {
        return MS_E_NOMEM;
    }
    for (int axis = 0; axis < KNOWN_AXES; axis++) {
        const space_sizes *sizes = &space->sizes[axis];
        if (sizes->is_any || sizes->count > 1) {
            views[count++] =
                (ms_space_axis_view){MS_MESH_KEYS[axis], sizes->is_any ? 0 : sizes->count};
        }
    }
    if (space->order_count > 1) {
        views[count++] = (ms_space_axis_view){"mesh.order", space->order_count};
    }
    for (size_t i = 0; i < space->axis_count; i++) {
        views[count++] = (ms_space_axis_view){space->axes[i].key, space->axes[i].count};
    }
    *axes_out = views;
    *count_out = count;
    return MS_OK;
}
