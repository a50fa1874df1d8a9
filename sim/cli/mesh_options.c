/* Reads the options of `meshsim mesh` that give the mesh, and those that change it
 * (mesh_options.h). A mesh lays named axes over ranks; the innermost axis is the fastest
 * varying. */
#include "cli/mesh_options.h"

#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/config/ranges.h"
#include "base/text.h"
#include "cli/job_options.h"

/* Most GPUs that --devices may list, as many as a mesh may have ranks. */
enum { DEVICES_MAX = 1 << 24 };

/* Axes with their sizes, in the order of an option. */
typedef struct axis_sizes {
    const char *names[MS_MESH_AXES_MAX]; /* [count] */
    int sizes[MS_MESH_AXES_MAX];         /* [count] */
    int count;
} axis_sizes;

ms_status ms_cli_split_axes(const ms_invocation *call, const char *option, const char *text,
                            ms_words *words_out) {
    char *rest = ms_arena_strdup(call->arena, text);
    ms_words words = {.items = MS_NEW(call->arena, const char *, MS_MESH_AXES_MAX)};
    if (rest == NULL || words.items == NULL) {
        return MS_E_NOMEM;
    }
    while (rest != NULL) {
        if (words.count == MS_MESH_AXES_MAX) {
            return ms_diag_usage(call->diag, "--%s: more than %d axes", option,
                                 (int)MS_MESH_AXES_MAX);
        }
        words.items[words.count++] = strsep(&rest, ",");
    }
    *words_out = words;
    return MS_OK;
}

char *ms_cli_cut_pair(const ms_invocation *call, const char *option, char *item,
                      const char *expected) {
    char *equals = strchr(item, '=');
    if (equals == NULL || equals == item) {
        ms_diag_error(call->diag, "--%s: expected %s, got '%s'", option, expected, item);
        return NULL;
    }
    *equals = '\0';
    return equals + 1;
}

/* Read "AXIS=SIZE", and append the axis to a list.  item: is cut in place; the list borrows it.
 * Returns MS_OK; MS_E_USAGE (reported), also for an axis that is in the list already. */
static ms_status read_axis(const ms_invocation *call, const char *option, char *item,
                           axis_sizes *list) {
    const char *value = ms_cli_cut_pair(call, option, item, "AXIS=SIZE");
    if (value == NULL) {
        return MS_E_USAGE;
    }
    char *end = NULL;
    long size = strtol(value, &end, 10);
    if (value[0] == '\0' || *end != '\0' || size < 1 || size > INT_MAX) {
        return ms_diag_usage(call->diag, "--%s: axis '%s' needs a size of at least 1, got '%s'",
                             option, item, value);
    }
    if (ms_word_index(item, list->names, list->count) >= 0) {
        return ms_diag_usage(call->diag, "--%s: axis '%s' stands twice", option, item);
    }
    list->names[list->count] = item;
    list->sizes[list->count++] = (int)size;
    return MS_OK;
}

/* Read an option "AXIS=SIZE,...", such as --shape.  list: empty before the call. */
static ms_status read_shape(const ms_invocation *call, const char *option, axis_sizes *list) {
    ms_words words = {.count = 0};
    ms_status status = ms_cli_split_axes(call, option, ms_cli_value(call, option, ""), &words);
    for (size_t i = 0; i < words.count && status == MS_OK; i++) {
        /* The words are in a copy of the option, which may be written to. */
        status = read_axis(call, option, (char *)(uintptr_t)words.items[i], list);
    }
    return status;
}

/* Read --order: names of axes, the outermost (slowest varying rank) first, each once. The default
 * is the order of Megatron-LM without experts; an axis `ep` has to be named in --order. */
static ms_status read_order(const ms_invocation *call, ms_words *order) {
    ms_status status =
        ms_cli_split_axes(call, "order", ms_cli_value(call, "order", "pp,dp,cp,tp"), order);
    for (size_t i = 0; i < order->count && status == MS_OK; i++) {
        if (order->items[i][0] == '\0') {
            status =
                ms_diag_usage(call->diag, "--order: expected the name of an axis, got '%s'", "");
        } else if (ms_word_index(order->items[i], order->items, (int)i) >= 0) {
            status = ms_diag_usage(call->diag, "--order: axis '%s' stands twice", order->items[i]);
        }
    }
    return status;
}

/* Sort the axes of --shape as --order lists them, the outermost first. An axis that only one of the
 * two options names is refused; axes of the default order that --shape lacks are left out.  *out:
 * empty before the call.  Returns MS_OK; MS_E_USAGE (reported). */
static ms_status arrange(const ms_invocation *call, const axis_sizes *shape, const ms_words *order,
                         axis_sizes *out) {
    bool is_default = !ms_cli_has(call, "order");
    for (size_t i = 0; i < order->count; i++) {
        int at = ms_word_index(order->items[i], shape->names, shape->count);
        if (at < 0 && is_default) {
            continue;
        }
        if (at < 0) {
            return ms_diag_usage(call->diag, "--order: axis '%s' has no size in --shape",
                                 order->items[i]);
        }
        out->names[out->count] = shape->names[at];
        out->sizes[out->count++] = shape->sizes[at];
    }
    for (int i = 0; i < shape->count; i++) {
        if (ms_word_index(shape->names[i], out->names, out->count) < 0) {
            return ms_diag_usage(
                call->diag, "--shape: axis '%s' does not stand in the order; name it in --order",
                shape->names[i]);
        }
    }
    return MS_OK;
}

/* Read the mesh from --shape and --order.  Returns MS_OK; MS_E_USAGE (reported), as every fault is
 * one of these options. */
static ms_status read_given(const ms_invocation *call, ms_mesh *mesh_out) {
    if (!ms_cli_has(call, "shape")) {
        return ms_diag_usage(call->diag, "--shape is required, such as --shape dp=2,pp=2,tp=2");
    }
    axis_sizes shape = {.count = 0}, axes = {.count = 0};
    ms_words order = {.count = 0};
    ms_status status = read_shape(call, "shape", &shape);
    status = status == MS_OK ? read_order(call, &order) : status;
    status = status == MS_OK ? arrange(call, &shape, &order, &axes) : status;
    status = status == MS_OK
                 ? ms_mesh_init(mesh_out, axes.names, axes.sizes, axes.count, call->diag)
                 : status;
    return status == MS_E_INPUT ? MS_E_USAGE : status;
}

/* Make the mesh of --auto, which fills all GPUs of the platform: dp is what the axes of --shape
 * leave.  platform: NULL is refused. */
static ms_status read_automatic(const ms_invocation *call, const ms_platform *platform,
                                ms_mesh *mesh_out) {
    axis_sizes given = {.count = 0};
    ms_words order = {.count = 0};
    if (platform == NULL) {
        return ms_diag_usage(call->diag,
                             "--auto takes all GPUs of a platform; name it with --platform");
    }
    ms_status status = ms_cli_has(call, "shape") ? read_shape(call, "shape", &given) : MS_OK;
    if (status == MS_OK && ms_cli_has(call, "order")) {
        status = read_order(call, &order);
    }
    const ms_mesh_wish wish = {
        .given = {.names = given.names, .sizes = given.sizes, .axes = given.count},
        .order = ms_cli_has(call, "order") ? &order : NULL,
        .platform = platform,
        .may_leave_scale_up_domain = ms_cli_has(call, "allow-slow-tp")};
    return status == MS_OK ? ms_mesh_automatic(&wish, call->diag, mesh_out) : status;
}

/* Step: put the ranks on the GPUs that --devices lists, in its order. */
static ms_status set_devices(const ms_invocation *call, ms_mesh *mesh) {
    const char *text = ms_cli_value(call, "devices", "");
    int count = ms_ranges_read(text, DEVICES_MAX, NULL);
    if (count < 0) {
        return ms_diag_usage(
            call->diag, "--devices: expected GPU numbers and ranges such as 0,2,8-15, got '%s'",
            text);
    }
    int *devices = MS_NEW(call->arena, int, count);
    if (devices == NULL) {
        return MS_E_NOMEM;
    }
    ms_ranges_read(text, DEVICES_MAX, devices);
    return ms_mesh_set_devices(mesh, devices, count, call->arena, call->diag);
}

/* Step: lay the axes of --reshape over the same ranks. */
static ms_status reshape(const ms_invocation *call, ms_mesh *mesh) {
    axis_sizes list = {.count = 0};
    ms_status status = read_shape(call, "reshape", &list);
    if (status != MS_OK) {
        return status;
    }
    const ms_mesh_shape shape = {.names = list.names, .sizes = list.sizes, .axes = list.count};
    return ms_mesh_reshape(mesh, &shape, call->arena, call->diag, mesh);
}

/* Step: put the axes into the order of --transpose. */
static ms_status transpose(const ms_invocation *call, ms_mesh *mesh) {
    ms_words order = {.count = 0};
    ms_status status =
        ms_cli_split_axes(call, "transpose", ms_cli_value(call, "transpose", ""), &order);
    return status == MS_OK ? ms_mesh_transpose(mesh, &order, call->diag, mesh) : status;
}

/* Step (STEPS): keep only the ranks at the coordinates that --sub gives, "AXIS=COORDINATE,...". The
 * mesh loses the named axes. */
static ms_status select_part(const ms_invocation *call, ms_mesh *mesh) {
    ms_words items = {.count = 0};
    ms_status status = ms_cli_split_axes(call, "sub", ms_cli_value(call, "sub", ""), &items);
    for (size_t i = 0; i < items.count && status == MS_OK; i++) {
        char *item = (char *)(uintptr_t)items.items[i]; /* a copy, which may be written to */
        char *value = ms_cli_cut_pair(call, "sub", item, "AXIS=COORDINATE");
        int coordinate = 0;
        if (value == NULL) {
            return MS_E_USAGE;
        }
        /* ms_ranges_read alone would accept a list or a range. */
        bool is_number = value[strspn(value, "0123456789")] == '\0';
        if (!is_number || ms_ranges_read(value, DEVICES_MAX, &coordinate) != 1) {
            return ms_diag_usage(call->diag, "--sub: axis '%s' needs a coordinate of at least 0",
                                 item);
        }
        status = ms_mesh_sub(mesh, item, coordinate, call->diag, mesh);
    }
    return status;
}

/* Step: join the axes of each --flatten into one axis. */
static ms_status flatten(const ms_invocation *call, ms_mesh *mesh) {
    ms_given given = ms_cli_all(call, "flatten");
    ms_status status = MS_OK;
    for (size_t i = 0; i < given.count && status == MS_OK; i++) {
        ms_words axes = {.count = 0};
        status = ms_cli_split_axes(call, "flatten", given.values[i], &axes);
        status =
            status == MS_OK ? ms_mesh_flatten(mesh, &axes, call->arena, call->diag, mesh) : status;
    }
    return status;
}

/* Changes of the mesh by option, which are applied in this order. */
static const struct {
    const char *option;
    ms_status (*apply)(const ms_invocation *call, ms_mesh *mesh);
} STEPS[] = {
    {"devices", set_devices}, {"reshape", reshape}, {"transpose", transpose},
    {"sub", select_part},     {"flatten", flatten},
};

/* Put each rank on the GPU that --placement gives it.  Returns MS_OK; MS_E_USAGE (reported) without
 * a platform, or beside --devices. */
static ms_status place(const ms_invocation *call, const ms_platform *platform, ms_mesh *mesh,
                       ms_rank_placement *placement_out) {
    if (platform == NULL || ms_cli_has(call, "devices")) {
        return ms_diag_usage(call->diag, "--placement %s",
                             platform == NULL ? "needs a --platform"
                                              : "and --devices exclude each other");
    }
    ms_status status = ms_cli_read_placement(call, platform, mesh->ranks, placement_out);
    if (status == MS_OK) {
        mesh->devices = placement_out->gpus;
    }
    return status;
}

/* The mesh is made of --auto or --shape. A placement and the options in STEPS then change it, in
 * the order of the table. */
ms_status ms_cli_read_mesh(const ms_invocation *call, const ms_platform *platform,
                           ms_mesh *mesh_out, ms_rank_placement *placement_out) {
    *mesh_out = (ms_mesh){.ranks = 0};
    *placement_out = (ms_rank_placement){.ranks = 0};
    ms_status status = ms_cli_has(call, "auto") ? read_automatic(call, platform, mesh_out)
                                                : read_given(call, mesh_out);
    if (status == MS_OK && ms_cli_has(call, "allow-slow-tp") && !ms_cli_has(call, "auto")) {
        return ms_diag_usage(call->diag, "--allow-slow-tp goes with --auto only");
    }
    if (status == MS_OK && ms_cli_has(call, "placement")) {
        status = place(call, platform, mesh_out, placement_out);
    }
    /* A placement replaces --devices, the first step, and so comes before the others. */
    for (size_t i = 0; i < sizeof STEPS / sizeof STEPS[0] && status == MS_OK; i++) {
        if (ms_cli_has(call, STEPS[i].option)) {
            status = STEPS[i].apply(call, mesh_out);
        }
    }
    return status;
}
