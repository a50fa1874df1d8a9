/* Reads a sweep's file: a workload, axes (keys with several values each, which are crossed),
 * settings of all points, and the picture of the results. Faults of a key or of one value are found
 * here, before anything is simulated. */
#include <string.h>

#include "base/config/input.h"
#include "base/folder.h"
#include "search/sweep.h"
#include "search/sweep/values.h"

/* Maximum number of columns of the results. */
enum { COLUMNS_MAX = 256 };

/* Keys of the file, as ms_config_read fills them in. */
typedef struct sweep_text {
    const char *name, *description, *workload, *platform;
    const ms_node *set, *axes, *picture;
} sweep_text;

/* Keys of `picture`. kind: an index into DRAWINGS. */
typedef struct picture_text {
    int kind;
    const char *title, *quantity, *x;
} picture_text;

/* The state of reading one sweep's file, `r` in this file. */
typedef struct sweep_reading {
    const char *path; /* of the file */
    ms_arena *arena;
    ms_diag *diag;
    ms_node *root;
    sweep_text text;
    const ms_node *key_nodes[MS_SWEEP_KEYS_MAX]; /* [out->key_count] node of each key's values */
    ms_sweep *out;
} sweep_reading;

#define AT(member) offsetof(sweep_text, member)

/* Kinds of pictures, in the order of ms_sweep_drawing. */
static const char *const DRAWINGS[] = {"lines", "heat", NULL};

static const ms_field PICTURE_FIELDS[] = {
    MS_KEY("kind",
           "a line for each combination of the other axes, or a table of colours over two axes",
           ENUM, offsetof(picture_text, kind), .words = DRAWINGS, .fallback = "lines"),
    MS_KEY("title", "what stands above it; the sweep's name where it is not given", STRING,
           offsetof(picture_text, title)),
    MS_KEY("quantity", "what is drawn: a column of the results, such as tokens_per_s or peak_B",
           STRING, offsetof(picture_text, quantity), .fallback = "step_time_s"),
    MS_KEY("x", "key whose axis runs to the right; of the first axis where it is not given", STRING,
           offsetof(picture_text, x)),
    {.key = NULL},
};

static const ms_field VALUE_ROW = MS_KEY("value", NULL, NODE, 0);
static const ms_field_shape AXIS = {.each = &MS_SWEEP_VALUES_ROW};
static const ms_field AXIS_ROW = MS_KEY("axis", NULL, NODE, 0, .shape = &AXIS);
static const ms_field_shape SETTINGS = {.each = &VALUE_ROW};
static const ms_field_shape AXES = {.item = &AXIS_ROW};

const ms_field MS_SWEEP_FIELDS[] = {
    MS_KEY("name", "name of the sweep", STRING, AT(name)),
    MS_KEY("description", "what it asks", STRING, AT(description)),
    MS_KEY("workload", "path of the workload file, from the folder of this one", STRING,
           AT(workload), .is_required = true),
    MS_KEY("platform", "platform file, or the name of one, instead of the workload's", STRING,
           AT(platform)),
    MS_KEY(
        "set",
        "keys of the workload, or of its platform as platform.KEY, and their values in all points",
        NODE, AT(set), .shape = &SETTINGS),
    MS_KEY("axes",
           "list of axes, which are crossed: of each a key and its values, or several keys that go "
           "together",
           NODE, AT(axes), .shape = &AXES, .is_required = true),
    MS_KEY("picture", "what --plot draws", NODE, AT(picture), .fields = PICTURE_FIELDS),
    {.key = NULL},
};

/* ---- axes ---- */

/* Whether an axis of the sweep has a key. */
static bool is_varied(const ms_sweep *sweep, const char *path) {
    bool is_found = false;
    for (size_t i = 0; i < sweep->key_count; i++) {
        is_found = is_found || strcmp(sweep->keys[i].path, path) == 0;
    }
    return is_found;
}

/* Add a key with its values to an axis. Keys of one axis go together, so they must have equally
 * many values. node: the values. key_path: path of the axis, for messages. Returns MS_OK;
 * MS_E_INPUT (reported); MS_E_NOMEM (reported). */
static ms_status add_key(sweep_reading *r, const ms_node *node, size_t axis, const char *key_path) {
    ms_sweep *out = r->out;
    ms_words values = {NULL, 0};
    if (is_varied(out, node->key)) {
        return ms_config_fault(r->diag, node, key_path, "this key has an axis already");
    }
    if (r->text.set != NULL && ms_node_get(r->text.set, node->key) != NULL) {
        return ms_config_fault(r->diag, node, key_path, "this key has a value in 'set' already");
    }
    if (out->key_count == MS_SWEEP_KEYS_MAX) {
        return ms_config_fault(r->diag, node, key_path, "expected at most %d keys in all axes",
                               MS_SWEEP_KEYS_MAX);
    }
    ms_status status = ms_sweep_list_values(node, key_path, r->arena, r->diag, &values);
    if (status != MS_OK) {
        return status;
    }
    if (out->counts[axis] != 0 && out->counts[axis] != values.count) {
        return ms_config_fault(r->diag, node, key_path,
                               "expected %zu values, as the keys beside it have, got %zu",
                               out->counts[axis], values.count);
    }
    out->counts[axis] = values.count;
    r->key_nodes[out->key_count] = node;
    out->keys[out->key_count++] =
        (ms_sweep_key){.path = node->key, .values = values.items, .axis = axis};
    return MS_OK;
}

/* Add an axis: a mapping of one key to its values, or of several keys that go together. Returns
 * MS_OK; MS_E_INPUT with every fault reported; MS_E_NOMEM (reported). */
static ms_status add_axis(sweep_reading *r, const ms_node *node) {
    ms_sweep *out = r->out;
    size_t axis = out->axis_count;
    const char *key_path = ms_arena_printf(r->arena, "axes[%zu]", axis);
    if (key_path == NULL) {
        return ms_diag_no_memory(r->diag);
    }
    if (node->type != MS_NODE_MAPPING || node->count == 0) {
        return ms_config_fault(r->diag, node, key_path,
                               "expected a key and its values, such as 'mesh.tp: [1, 2, 4]'");
    }
    if (axis == MS_SWEEP_AXES_MAX) {
        return ms_config_fault(r->diag, node, key_path, "expected at most %d axes",
                               MS_SWEEP_AXES_MAX);
    }
    ms_status status = MS_OK;
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        ms_status one = add_key(r, child, axis, key_path);
        status = status == MS_OK ? one : status;
    }
    out->axis_count++;
    return status;
}

/* Read all axes, and count the points of the sweep: the product of the numbers of values. */
static ms_status read_axes(sweep_reading *r) {
    const ms_node *axes = r->text.axes;
    ms_sweep *out = r->out;
    if (axes->type != MS_NODE_SEQUENCE || axes->count == 0) {
        return ms_config_fault(r->diag, axes, "axes",
                               "expected a list of axes, such as '- mesh.tp: [1, 2, 4]'");
    }
    ms_status status = MS_OK;
    for (const ms_node *axis = axes->first; axis != NULL; axis = axis->next) {
        ms_status one = add_axis(r, axis);
        status = status == MS_OK ? one : status;
    }
    out->count = 1;
    for (size_t i = 0; i < out->axis_count && status == MS_OK; i++) {
        out->count *= out->counts[i];
        if (out->count > MS_SWEEP_POINTS_MAX) {
            return ms_config_fault(r->diag, axes, "axes", "more than %d points",
                                   MS_SWEEP_POINTS_MAX);
        }
    }
    return status;
}

/* ---- settings of all points ---- */

/* Read `set`, the settings that all points have. Returns MS_OK; MS_E_INPUT (reported); MS_E_NOMEM
 * (reported). */
static ms_status read_fixed(sweep_reading *r) {
    const ms_node *set = r->text.set;
    ms_words *fixed = &r->out->fixed;
    if (set != NULL && set->type != MS_NODE_MAPPING) {
        return ms_config_fault(r->diag, set, "set",
                               "expected keys and values, such as 'mesh.tp: 4'");
    }
    size_t count = set == NULL ? 0 : set->count;
    fixed->items = MS_NEW(r->arena, const char *, count + 1); /* + 1: choose_granularity */
    for (const ms_node *child = set == NULL ? NULL : set->first;
         child != NULL && fixed->items != NULL; child = child->next) {
        const char *value = ms_sweep_value_text(child, r->arena);
        fixed->items[fixed->count++] =
            ms_point_setting(child->key, value == NULL ? "" : value, r->arena);
    }
    return r->arena->has_failed ? ms_diag_no_memory(r->diag) : MS_OK;
}

/* Set the workload's path: a relative path starts at the folder of the sweep's file. */
static ms_status find_workload(sweep_reading *r) {
    const char *file = r->text.workload;
    const char *slash = strrchr(r->path, '/');
    if (file[0] != '/' && slash != NULL) {
        file = ms_arena_printf(r->arena, "%.*s/%s", (int)(slash - r->path), r->path, file);
    }
    r->out->request.workload = file;
    return file == NULL ? ms_diag_no_memory(r->diag) : MS_OK;
}

/* Unless the workload or the sweep sets the granularity, add the setting that simulates each pass
 * as one operation, which is four to forty times faster. The choice is a setting of every point, so
 * that `run` with the settings of a point gives the same result. Returns as ms_yaml_load. */
static ms_status choose_granularity(sweep_reading *r) {
    static const char KEY[] = "granularity";
    ms_node *root = NULL;
    ms_status status = ms_yaml_load(r->out->request.workload, r->arena, r->diag, &root);
    bool is_set = status != MS_OK || ms_node_get(root, KEY) != NULL || is_varied(r->out, KEY) ||
                  (r->text.set != NULL && ms_node_get(r->text.set, KEY) != NULL);
    if (!is_set) {
        r->out->fixed.items[r->out->fixed.count++] = "granularity=pass";
    }
    return status;
}

/* ---- whether keys take their values ---- */

/* Read the workload with some settings, to find faults of the sweep's file. A fault of one key
 * alone, such as an unknown key, is reported at `node`. Keys that do not go together are no fault
 * of the file: they make points that are refused. key_path: path of `node`, for messages. Returns
 * MS_OK; MS_E_INPUT (reported); MS_E_IO; MS_E_NOMEM. */
static ms_status try_settings(sweep_reading *r, const ms_words *settings, const ms_node *node,
                              const char *key_path) {
    ms_arena scratch;
    ms_job_spec spec;
    ms_point_refusal refusal;
    ms_arena_init(&scratch);
    ms_status status = ms_point_try(&r->out->request, settings, &scratch, &spec, &refusal);
    if (status == MS_E_INPUT && refusal.is_of_key) {
        status = ms_config_fault(r->diag, node, key_path, "%s", refusal.reason);
    } else {
        status = status == MS_E_INPUT || status == MS_E_USAGE ? MS_OK : status;
    }
    ms_arena_release(&scratch);
    return status;
}

/* Try one value of an axis: the settings of all keys of the axis at that value. value: index of the
 * value. */
static ms_status try_value(sweep_reading *r, size_t axis, size_t value) {
    const ms_sweep *out = r->out;
    const char *items[MS_SWEEP_KEYS_MAX];
    ms_words settings = {items, 0};
    const ms_node *node = NULL;
    for (size_t i = 0; i < out->key_count; i++) {
        if (out->keys[i].axis == axis) {
            items[settings.count++] =
                ms_point_setting(out->keys[i].path, out->keys[i].values[value], r->arena);
            node = node == NULL ? r->key_nodes[i] : node;
        }
    }
    const char *key_path = ms_arena_printf(r->arena, "axes[%zu]", axis);
    return r->arena->has_failed ? ms_diag_no_memory(r->diag)
                                : try_settings(r, &settings, node, key_path);
}

/* Try the fixed settings, and each axis value by value, up to the first fault of each axis. Returns
 * MS_OK; the status of the first fault, all faults reported. */
static ms_status try_values(sweep_reading *r) {
    const ms_sweep *out = r->out;
    ms_status status =
        out->fixed.count == 0 ? MS_OK : try_settings(r, &out->fixed, r->text.set, "set");
    for (size_t axis = 0; axis < out->axis_count; axis++) {
        ms_status one = MS_OK;
        for (size_t value = 0; value < out->counts[axis] && one == MS_OK; value++) {
            one = try_value(r, axis, value);
        }
        status = status == MS_OK ? one : status;
    }
    return status;
}

/* ---- the picture ---- */

/* Check that a column of the results has a name and holds numbers. Returns MS_OK; MS_E_INPUT
 * (reported). */
static ms_status check_quantity(const sweep_reading *r, const char *name) {
    const char *names[COLUMNS_MAX];
    size_t count = 0;
    for (const ms_table_column *c = MS_STORE_COLUMNS; c->name != NULL && count < COLUMNS_MAX; c++) {
        names[count++] = c->type == MS_COLUMN_NUMBER ? c->name : NULL;
        if (names[count - 1] != NULL && strcmp(c->name, name) == 0) {
            return MS_OK;
        }
    }
    return ms_config_fault(r->diag, ms_node_get(r->text.picture, "quantity"), "picture.quantity",
                           "no column of the results is called '%s'%s", name,
                           ms_nearest_hint(name, names, count).text);
}

/* Set the axis that the picture is drawn along to the axis of a key; the first axis without a key
 * (NULL). Returns MS_OK; MS_E_INPUT (reported) if no axis has the key. */
static ms_status find_x(sweep_reading *r, const char *key) {
    const char *paths[MS_SWEEP_KEYS_MAX];
    for (size_t i = 0; i < r->out->key_count; i++) {
        paths[i] = r->out->keys[i].path;
        if (key != NULL && strcmp(paths[i], key) == 0) {
            r->out->picture.x = r->out->keys[i].axis;
            return MS_OK;
        }
    }
    return key == NULL ? MS_OK
                       : ms_config_fault(r->diag, ms_node_get(r->text.picture, "x"), "picture.x",
                                         "no axis has the key '%s'%s", key,
                                         ms_nearest_hint(key, paths, r->out->key_count).text);
}

/* Read `picture`, and check its quantity, its axis, and that a table of colours has two axes. */
static ms_status read_picture(sweep_reading *r) {
    picture_text text = {0};
    ms_status status =
        ms_config_read(r->text.picture, PICTURE_FIELDS, "picture", &text, r->arena, r->diag);
    if (status != MS_OK) {
        return status;
    }
    r->out->picture = (ms_sweep_picture){
        .kind = (ms_sweep_drawing)text.kind, .title = text.title, .quantity = text.quantity};
    status = check_quantity(r, text.quantity);
    ms_status x_status = find_x(r, text.x);
    status = status == MS_OK ? x_status : status;
    if (status == MS_OK && text.kind == MS_DRAW_HEAT && r->out->axis_count != 2) {
        return ms_config_fault(r->diag, ms_node_get(r->text.picture, "kind"), "picture.kind",
                               "a table of colours is drawn over two axes, and there are %zu",
                               r->out->axis_count);
    }
    return status;
}

/* ---- the whole file ---- */

/* Load the file, check that it is a sweep's, and read its keys into r->text. */
static ms_status read_root(sweep_reading *r) {
    ms_status status = ms_yaml_load(r->path, r->arena, r->diag, &r->root);
    status = status == MS_OK ? ms_input_expect(r->root, MS_INPUT_SWEEP, r->path, r->diag) : status;
    return status == MS_OK
               ? ms_config_read(r->root, MS_SWEEP_FIELDS, "", &r->text, r->arena, r->diag)
               : status;
}

/* Read all parts, so that the faults of each are reported; values are tried only if no part has a
 * fault. */
ms_status ms_sweep_read(const char *path, const char *data_folder, ms_arena *arena, ms_diag *diag,
                        ms_sweep *sweep_out) {
    sweep_reading r = {.path = path, .arena = arena, .diag = diag, .out = sweep_out};
    *sweep_out = (ms_sweep){.request = {.data_folder = data_folder}};
    ms_status status = read_root(&r);
    if (r.text.workload == NULL || r.text.axes == NULL) { /* a required key is missing: reported */
        return status;
    }
    sweep_out->name = r.text.name != NULL ? r.text.name : ms_path_stem(path, arena);
    sweep_out->description = r.text.description;
    sweep_out->request.platform = r.text.platform;
    ms_status (*const PARTS[])(sweep_reading *) = {find_workload, read_fixed, read_axes,
                                                   read_picture};
    for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++) {
        ms_status one = PARTS[i](&r);
        status = status == MS_OK ? one : status;
    }
    status = status == MS_OK ? choose_granularity(&r) : status;
    status = status == MS_OK ? try_values(&r) : status;
    return status == MS_OK && sweep_out->name == NULL ? ms_diag_no_memory(diag) : status;
}
