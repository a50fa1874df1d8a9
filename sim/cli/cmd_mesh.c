/* meshsim mesh: which ranks form the groups of each axis, and which tier they meet on. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/job_options.h"
#include "meshsim/buffer.h"
#include "meshsim/mesh.h"

/* What is printed of a long list for people: groups of an axis, ranks of a group at either end. */
enum { GROUPS_SHOWN = 8, RANKS_SHOWN = 8, RANKS_AT_END = 2 };

static const ms_option OPTIONS[] = {
    {.name = "shape",
     .argument = "AXIS=SIZE,...",
     .arguments = 1,
     .help = "axes and their sizes, such as dp=2,pp=2,tp=2"},
    {.name = "order",
     .argument = "AXIS,...",
     .arguments = 1,
     .fallback = "pp,dp,cp,tp",
     .help = "axes from outermost to innermost (slowest to fastest varying rank)"},
    {.name = "groups", .argument = "AXIS", .arguments = 1, .help = "only the groups of this axis"},
    {.name = "platform",
     .argument = "PLATFORM.yaml",
     .arguments = 1,
     .help = "lay rank r on GPU r and name the tier each axis crosses"},
    {.name = "set",
     .argument = "KEY=VALUE",
     .arguments = 1,
     .is_repeatable = true,
     .help = "override a key of the platform, such as platform.nodes=128"},
    MS_OPTION_JSON,
    {.name = NULL},
};

/* Axes as the user named them. */
typedef struct axis_list {
    const char *names[MS_MESH_AXES_MAX];
    int sizes[MS_MESH_AXES_MAX];
    int count;
} axis_list;

static ms_status usage(const ms_invocation *call, const char *format, const char *text) {
    ms_diag_error(call->diag, format, text);
    return MS_E_USAGE;
}

static int index_of(const axis_list *list, const char *name) {
    for (int i = 0; i < list->count; i++) {
        if (strcmp(list->names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

/* "dp=2" into name and size. */
static ms_status read_axis(const ms_invocation *call, char *item, axis_list *list) {
    char *equals = strchr(item, '=');
    if (equals == NULL || equals == item) {
        return usage(call, "--shape: expected AXIS=SIZE, got '%s'", item);
    }
    *equals = '\0';
    char *end = NULL;
    long size = strtol(equals + 1, &end, 10);
    bool is_number = equals[1] != '\0' && *end == '\0';
    if (!is_number || size < 1 || size > INT_MAX) {
        ms_diag_error(call->diag, "--shape: axis '%s' needs a size of at least 1, got '%s'", item,
                      equals + 1);
        return MS_E_USAGE;
    }
    if (index_of(list, item) >= 0) {
        return usage(call, "--shape: axis '%s' stands twice", item);
    }
    list->names[list->count] = item;
    list->sizes[list->count++] = (int)size;
    return MS_OK;
}

/* Cut a comma list into items and hand each to `read`. */
static ms_status read_list(const ms_invocation *call, const char *option, const char *text,
                           ms_status (*read)(const ms_invocation *, char *, axis_list *),
                           axis_list *list) {
    char *rest = ms_arena_strdup(call->arena, text);
    if (rest == NULL) {
        return MS_E_NOMEM;
    }
    while (rest != NULL) {
        char *item = strsep(&rest, ",");
        if (list->count == MS_MESH_AXES_MAX) {
            ms_diag_error(call->diag, "--%s: more than %d axes", option, (int)MS_MESH_AXES_MAX);
            return MS_E_USAGE;
        }
        ms_status status = read(call, item, list);
        if (status != MS_OK) {
            return status;
        }
    }
    return MS_OK;
}

static ms_status read_name(const ms_invocation *call, char *item, axis_list *list) {
    if (item[0] == '\0') {
        return usage(call, "--order: expected the name of an axis, got '%s'", item);
    }
    if (index_of(list, item) >= 0) {
        return usage(call, "--order: axis '%s' stands twice", item);
    }
    list->names[list->count++] = item;
    return MS_OK;
}

/* Sizes in the order asked for. The default order leaves out axes that --shape does not name. */
static ms_status arrange(const ms_invocation *call, const axis_list *shape, const axis_list *order,
                         axis_list *out) {
    bool is_default = !ms_cli_has(call, "order");
    for (int i = 0; i < order->count; i++) {
        int at = index_of(shape, order->names[i]);
        if (at < 0 && is_default) {
            continue;
        }
        if (at < 0) {
            return usage(call, "--order: axis '%s' has no size in --shape", order->names[i]);
        }
        out->names[out->count] = shape->names[at];
        out->sizes[out->count++] = shape->sizes[at];
    }
    for (int i = 0; i < shape->count; i++) {
        if (index_of(out, shape->names[i]) < 0) {
            return usage(call, "--shape: axis '%s' does not stand in the order; name it in --order",
                         shape->names[i]);
        }
    }
    return MS_OK;
}

static ms_status read_mesh(const ms_invocation *call, ms_mesh *mesh_out) {
    const char *shape_text = ms_cli_value(call, "shape", NULL);
    if (shape_text == NULL) {
        return usage(call, "%s", "--shape is required, such as --shape dp=2,pp=2,tp=2");
    }
    axis_list shape = {.count = 0}, order = {.count = 0}, axes = {.count = 0};
    ms_status status = read_list(call, "shape", shape_text, read_axis, &shape);
    if (status == MS_OK) {
        status =
            read_list(call, "order", ms_cli_value(call, "order", "pp,dp,cp,tp"), read_name, &order);
    }
    if (status == MS_OK) {
        status = arrange(call, &shape, &order, &axes);
    }
    if (status == MS_OK) {
        status = ms_mesh_init(mesh_out, axes.names, axes.sizes, axes.count, call->diag);
    }
    return status == MS_E_INPUT ? MS_E_USAGE : status;
}

/* Outermost tier that any group of an axis crosses, -1 for an axis of size 1. */
static int axis_tier(const ms_mesh *mesh, int axis, const ms_platform *platform) {
    int tier = -1;
    for (int i = 0; i < ms_mesh_group_count(mesh, axis); i++) {
        ms_group group = ms_mesh_group_at(mesh, axis, i);
        int crossed = ms_mesh_group_tier(&group, platform);
        tier = crossed > tier ? crossed : tier;
    }
    return tier;
}

/* What is asked about a mesh. */
typedef struct view {
    ms_mesh mesh;
    int only;                    /* axis whose groups are shown, -1: all */
    const ms_platform *platform; /* NULL: none given */
} view;

static bool is_shown(const view *v, int axis) {
    return v->only < 0 || v->only == axis;
}

static void add_groups(const view *v, ms_value *root) {
    ms_value *groups = ms_value_add(root, "groups", MS_VALUE_OBJECT);
    for (int axis = 0; axis < v->mesh.axes; axis++) {
        if (!is_shown(v, axis)) {
            continue;
        }
        ms_value *list = ms_value_add(groups, v->mesh.names[axis], MS_VALUE_ARRAY);
        for (int i = 0; i < ms_mesh_group_count(&v->mesh, axis); i++) {
            ms_group group = ms_mesh_group_at(&v->mesh, axis, i);
            ms_value *ranks = ms_value_add(list, NULL, MS_VALUE_ARRAY);
            for (int m = 0; m < group.size; m++) {
                ms_value_add_int(ranks, NULL, group.first + m * group.stride);
            }
        }
    }
}

static void add_tiers(const view *v, ms_value *root) {
    ms_value *tiers = ms_value_add(root, "tiers", MS_VALUE_OBJECT);
    for (int axis = 0; axis < v->mesh.axes; axis++) {
        int tier = v->platform == NULL ? -1 : axis_tier(&v->mesh, axis, v->platform);
        if (tier < 0) {
            ms_value_add(tiers, v->mesh.names[axis], MS_VALUE_NULL);
        } else {
            ms_value_add_string(tiers, v->mesh.names[axis], v->platform->tiers[tier].name);
        }
    }
}

static ms_status print_json(const ms_invocation *call, const view *v) {
    ms_value *root = ms_value_new_object(call->arena);
    /* axes and order differ once axes can be flattened; both are outermost first */
    static const char *const LISTS[] = {"axes", "order"};
    for (size_t i = 0; i < 2; i++) {
        ms_value *list = ms_value_add(root, LISTS[i], MS_VALUE_ARRAY);
        for (int axis = 0; axis < v->mesh.axes; axis++) {
            ms_value_add_string(list, NULL, v->mesh.names[axis]);
        }
    }
    ms_value *sizes = ms_value_add(root, "sizes", MS_VALUE_OBJECT);
    for (int axis = 0; axis < v->mesh.axes; axis++) {
        ms_value_add_int(sizes, v->mesh.names[axis], v->mesh.sizes[axis]);
    }
    ms_value_add_int(root, "ranks", v->mesh.ranks);
    add_groups(v, root);
    if (v->platform != NULL) {
        ms_value_add_string(root, "platform", v->platform->name);
    }
    add_tiers(v, root);
    return ms_cli_print_json(call, root);
}

static void print_group(const ms_group *group) {
    printf("    {");
    for (int i = 0; i < group->size; i++) {
        if (group->size > RANKS_SHOWN && i == RANKS_SHOWN - RANKS_AT_END) {
            printf(", ..");
            i = group->size - RANKS_AT_END;
        }
        printf("%s%d", i == 0 ? "" : ", ", group->first + i * group->stride);
    }
    printf("}\n");
}

static void print_axis(const view *v, int axis) {
    int count = ms_mesh_group_count(&v->mesh, axis);
    int shown = count < GROUPS_SHOWN ? count : GROUPS_SHOWN;
    printf("\n%s: %d group%s of %d\n", v->mesh.names[axis], count, count == 1 ? "" : "s",
           v->mesh.sizes[axis]);
    for (int i = 0; i < shown; i++) {
        ms_group group = ms_mesh_group_at(&v->mesh, axis, i);
        print_group(&group);
    }
    if (count > shown) {
        printf("    and %d more\n", count - shown);
    }
}

static ms_status print_text(const ms_invocation *call, const view *v) {
    printf("%d ranks\n\n%-8s %8s %8s", v->mesh.ranks, "axis", "size", "stride");
    printf("%s\n", v->platform == NULL ? "" : "  tier");
    for (int axis = 0; axis < v->mesh.axes; axis++) {
        printf("%-8s %8d %8d", v->mesh.names[axis], v->mesh.sizes[axis], v->mesh.strides[axis]);
        if (v->platform != NULL) {
            int tier = axis_tier(&v->mesh, axis, v->platform);
            printf("  %s", tier < 0 ? "none" : v->platform->tiers[tier].name);
        }
        printf("\n");
    }
    printf("axes from outermost to innermost; stride is the distance of neighbours in ranks\n");
    for (int axis = 0; axis < v->mesh.axes; axis++) {
        if (is_shown(v, axis)) {
            print_axis(v, axis);
        }
    }
    return ms_cli_finish_stdout(call);
}

static ms_status find_axis(const ms_invocation *call, const ms_mesh *mesh, int *axis_out) {
    const char *name = ms_cli_value(call, "groups", NULL);
    *axis_out = name == NULL ? -1 : ms_mesh_axis(mesh, name);
    if (name == NULL || *axis_out >= 0) {
        return MS_OK;
    }
    const char *nearest = ms_nearest_word(name, mesh->names, (size_t)mesh->axes);
    ms_diag_error(call->diag, "--groups: the mesh has no axis '%s'%s%s%s", name,
                  nearest == NULL ? "" : "; did you mean '", nearest == NULL ? "" : nearest,
                  nearest == NULL ? "" : "'?");
    return MS_E_USAGE;
}

/* The platform asked for, big enough for the mesh. */
static ms_status load_platform(const ms_invocation *call, const ms_mesh *mesh,
                               ms_platform *platform_out) {
    ms_status status =
        ms_cli_load_platform(call, ms_cli_value(call, "platform", NULL), platform_out);
    if (status == MS_OK && ms_platform_gpus(platform_out) < mesh->ranks) {
        ms_diag_error(call->diag, "the mesh has %d ranks, platform '%s' has %d GPUs", mesh->ranks,
                      platform_out->name, ms_platform_gpus(platform_out));
        return MS_E_INPUT;
    }
    return status;
}

static ms_status run(const ms_invocation *call) {
    view v = {.only = -1};
    ms_platform platform;
    if (ms_cli_has(call, "set") && !ms_cli_has(call, "platform")) {
        return usage(call, "%s", "--set changes a platform, but there is no --platform");
    }
    ms_status status = read_mesh(call, &v.mesh);
    if (status == MS_OK) {
        status = find_axis(call, &v.mesh, &v.only);
    }
    if (status == MS_OK && ms_cli_has(call, "platform")) {
        v.platform = &platform;
        status = load_platform(call, &v.mesh, &platform);
    }
    if (status != MS_OK) {
        return status;
    }
    return ms_cli_has(call, "json") ? print_json(call, &v) : print_text(call, &v);
}

const ms_command ms_cmd_mesh = {
    .name = "mesh",
    .summary = "lay named axes over ranks and list their groups",
    .positional_help = NULL,
    .positionals_min = 0,
    .positionals_max = 0,
    .options = OPTIONS,
    .description =
        "Numbers the ranks over named axes and lists, for each axis, the groups of ranks that "
        "differ in that axis only. The innermost axis of the order varies fastest, so its groups "
        "are neighbouring ranks.\n"
        "\n"
        "With --platform, rank r runs on GPU r, and the outermost tier of links that the groups of "
        "an axis cross is shown.",
    .example = "meshsim mesh --shape dp=2,pp=2,tp=2 --order pp,dp,tp --platform "
               "platforms/dgx-a100.yaml",
    .run = run,
};
