/* Makes the result tree of `meshsim mesh`, and prints it (show_mesh.h). A group of an axis is a set
 * of ranks that differ in their coordinate on that axis only. */
#include "cli/show_mesh.h"

#include "cli/shown_tables.h"
#include "trace/summary.h"

/* On pages for people: most groups that are listed of an axis; most GPUs that are listed of a
 * group, and how many of a larger one at the end; bytes of a text. */
enum { GROUPS_SHOWN = 8, RANKS_SHOWN = 8, RANKS_AT_END = 2, TEXT_SIZE = 64 };

/* Whether the groups of an axis are shown: of all axes, or of that of --groups. */
static bool is_shown(const ms_mesh_view *view, int axis) {
    return view->only < 0 || view->only == axis;
}

/* Whether the ranks of a mesh are 0..N-1 in the order of its axes, each on the GPU of its
 * number. */
static bool is_plain(const ms_mesh *mesh) {
    int stride = 1;
    for (int axis = mesh->axes - 1; axis >= 0; axis--) {
        if (mesh->sizes[axis] > 1 && mesh->strides[axis] != stride) {
            return false;
        }
        stride *= mesh->sizes[axis];
    }
    return mesh->first == 0 && mesh->devices == NULL;
}

/* Add for each axis the list of its groups, each as the GPUs of its ranks. */
static void add_groups(const ms_mesh_view *view, ms_value *root) {
    ms_value *groups = ms_value_add(root, "groups", MS_VALUE_OBJECT);
    for (int axis = 0; axis < view->mesh.axes; axis++) {
        if (!is_shown(view, axis)) {
            continue;
        }
        ms_value *list = ms_value_add(groups, view->mesh.names[axis], MS_VALUE_ARRAY);
        for (int i = 0; i < ms_mesh_group_count(&view->mesh, axis); i++) {
            ms_group group = ms_mesh_group_at(&view->mesh, axis, i);
            ms_value *ranks = ms_value_add(list, NULL, MS_VALUE_ARRAY);
            for (int member = 0; member < group.size; member++) {
                int rank = group.first + member * group.stride;
                ms_value_add_int(ranks, NULL, ms_mesh_device(&view->mesh, rank));
            }
        }
    }
}

/* Nodes of the innermost domain that holds several nodes, but not all of the platform; 0: there is
 * no such domain. A domain is the GPUs that a tier of links and the tiers inside it join. */
static int nodes_of_unit(const ms_platform *platform) {
    for (int tier = 0; tier < platform->tier_count; tier++) {
        int gpus = ms_platform_domain(platform, tier);
        if (gpus > platform->gpus_per_node && gpus < ms_platform_gpus(platform)) {
            return gpus / platform->gpus_per_node;
        }
    }
    return 0;
}

/* A plain mesh has rank i on GPU i, so its lists are null. */
void ms_show_mesh_devices(const ms_mesh *mesh, const ms_platform *platform, ms_value *root) {
    static const char *const LISTS[] = {"devices", "rank_numbers"};
    for (int i = 0; i < 2; i++) {
        ms_value *list =
            ms_value_add(root, LISTS[i], is_plain(mesh) ? MS_VALUE_NULL : MS_VALUE_ARRAY);
        for (int index = 0; index < mesh->ranks && !is_plain(mesh); index++) {
            int rank = ms_mesh_rank_at(mesh, index);
            ms_value_add_int(list, NULL, i == 0 ? ms_mesh_device(mesh, rank) : rank);
        }
    }
    if (platform != NULL) {
        int unit = nodes_of_unit(platform);
        ms_value_add_int(root, "nodes", platform->nodes);
        ms_value_add_int(root, "gpus_per_node", platform->gpus_per_node);
        if (unit > 0) {
            ms_value_add_int(root, "unit_nodes", unit);
        } else {
            ms_value_add(root, "unit_nodes", MS_VALUE_NULL);
        }
    }
}

/* Add for each axis the outermost tier that its groups cross; null without a platform. */
static void add_tiers(const ms_mesh_view *view, ms_value *root) {
    ms_value *tiers = ms_value_add(root, "tiers", MS_VALUE_OBJECT);
    for (int axis = 0; axis < view->mesh.axes; axis++) {
        int tier =
            view->platform == NULL ? -1 : ms_mesh_axis_tier(&view->mesh, axis, view->platform);
        ms_summary_add_tier(view->platform, tier, view->mesh.names[axis], tiers);
    }
}

/* Add the placement of a tensor on each axis, and the shape and bytes of the part that every rank
 * holds.  local: [dimensions] elements. */
static void add_spec(const ms_mesh_view *view, const ms_spec *spec, const int64_t *local,
                     ms_value *object) {
    const ms_tensor *tensor = &view->tensor.tensor;
    char text[TEXT_SIZE];
    ms_value *placements = ms_value_add(object, "spec", MS_VALUE_OBJECT);
    for (int axis = 0; axis < view->mesh.axes; axis++) {
        ms_value_add_string(placements, view->mesh.names[axis],
                            ms_tensor_placement_text(spec->on[axis], text, sizeof text));
    }
    ms_value *shape = ms_value_add(object, "local_shape", MS_VALUE_ARRAY);
    for (int dimension = 0; dimension < tensor->dimensions; dimension++) {
        ms_value_add_int(shape, NULL, local[dimension]);
    }
    ms_value_add_double(object, "local_B", ms_tensor_bytes(tensor, local));
}

/* Add a row for a step of the redistribution: its collective, placements, bytes, and with a
 * platform its time, alone and beside all groups of its axis. */
static void add_step(const ms_mesh_view *view, int index, ms_value *list) {
    const ms_reshard_step *step = &view->tensor.plan.steps[index];
    const ms_reshard_time *time = &view->times[index];
    char text[TEXT_SIZE];
    ms_value *row = ms_value_add(list, NULL, MS_VALUE_OBJECT);
    ms_value_add_string(row, "kind",
                        step->kind == MS_COLL_NONE ? "local" : ms_coll_kind_name(step->kind));
    ms_value_add_string(row, "axis", view->mesh.names[step->axis]);
    ms_value_add_string(row, "from", ms_tensor_placement_text(step->from, text, sizeof text));
    ms_value_add_string(row, "to", ms_tensor_placement_text(step->to, text, sizeof text));
    ms_value_add_double(row, "size_B", step->size_B);
    ms_value_add_double(row, "bytes_per_rank", step->sent_B);
    if (view->platform == NULL) {
        return;
    }
    ms_summary_add_tier(view->platform, time->tier, "tier", row);
    ms_value_add_double(row, "time_s", time->together_s);
    ms_value_add_double(row, "time_alone_s", time->alone_s);
}

/* Add the tensor and its spec, and with --redistribute the steps to the target spec. */
static void add_tensor(const ms_mesh_view *view, ms_value *root) {
    const ms_tensor_study *study = &view->tensor;
    if (!study->is_given) {
        return;
    }
    ms_value *object = ms_value_add(root, "tensor", MS_VALUE_OBJECT);
    ms_value *shape = ms_value_add(object, "shape", MS_VALUE_ARRAY);
    for (int dimension = 0; dimension < study->tensor.dimensions; dimension++) {
        ms_value_add_int(shape, NULL, study->tensor.shape[dimension]);
    }
    ms_value_add_double(object, "element_B", study->tensor.element_B);
    add_spec(view, &study->spec, study->local, object);
    if (!study->is_moved) {
        return;
    }
    ms_value *move = ms_value_add(root, "redistribute", MS_VALUE_OBJECT);
    add_spec(view, &study->target, study->target_local, move);
    ms_value *steps = ms_value_add(move, "steps", MS_VALUE_ARRAY);
    double total_s = 0; /* of all steps, with all groups of an axis at once */
    for (int i = 0; i < study->plan.count; i++) {
        add_step(view, i, steps);
        total_s += view->times[i].together_s;
    }
    ms_value_add_double(move, "bytes_per_rank", study->plan.sent_B);
    if (view->platform != NULL) {
        ms_value_add_double(move, "time_s", total_s);
    }
}

ms_value *ms_show_mesh_tree(const ms_invocation *call, const ms_mesh_view *view, bool has_groups) {
    ms_value *root = ms_value_new_object(call->arena);
    /* Both keys have the same list, the names of the axes, outermost first. An axis that --flatten
     * made of several axes is one axis here. */
    static const char *const LISTS[] = {"axes", "order"};
    for (size_t i = 0; i < 2; i++) {
        ms_value *list = ms_value_add(root, LISTS[i], MS_VALUE_ARRAY);
        for (int axis = 0; axis < view->mesh.axes; axis++) {
            ms_value_add_string(list, NULL, view->mesh.names[axis]);
        }
    }
    ms_value *sizes = ms_value_add(root, "sizes", MS_VALUE_OBJECT);
    for (int axis = 0; axis < view->mesh.axes; axis++) {
        ms_value_add_int(sizes, view->mesh.names[axis], view->mesh.sizes[axis]);
    }
    ms_value_add_int(root, "ranks", view->mesh.ranks);
    ms_show_mesh_devices(&view->mesh, view->platform, root);
    ms_summary_add_placement(&view->placement, root);
    if (has_groups) {
        add_groups(view, root);
    }
    if (view->platform != NULL) {
        ms_value_add_string(root, "platform", view->platform->name);
    }
    add_tiers(view, root);
    add_tensor(view, root);
    return root;
}

/* ---- values that text and Markdown show and --json does not print ---- */

/* List the GPUs of the ranks of a group: "0, 1, 2"; of many ranks the first and the last.  group:
 * stride 0: all ranks of the mesh. */
static const char *list_gpus(const ms_mesh *mesh, const ms_group *group, ms_arena *arena) {
    ms_buffer text = {0};
    for (int i = 0; i < group->size; i++) {
        if (group->size > RANKS_SHOWN && i == RANKS_SHOWN - RANKS_AT_END) {
            ms_buffer_puts(&text, ", ..");
            i = group->size - RANKS_AT_END;
        }
        int rank = group->stride > 0 ? group->first + i * group->stride : ms_mesh_rank_at(mesh, i);
        ms_buffer_printf(&text, "%s%d", i == 0 ? "" : ", ", ms_mesh_device(mesh, rank));
    }
    const char *kept = ms_buffer_keep(&text, arena);
    return kept == NULL ? "" : kept;
}

/* Add a row for an axis: size, stride of its ranks, number of groups, and the tier that they
 * cross. */
static void add_axis_row(const ms_mesh_view *view, int axis, ms_value *list) {
    ms_value *row = ms_value_add(list, NULL, MS_VALUE_OBJECT);
    ms_value_add_string(row, "axis", view->mesh.names[axis]);
    ms_value_add_int(row, "size", view->mesh.sizes[axis]);
    ms_value_add_int(row, "stride", view->mesh.strides[axis]);
    ms_value_add_int(row, "groups", ms_mesh_group_count(&view->mesh, axis));
    if (view->platform != NULL) {
        int tier = ms_mesh_axis_tier(&view->mesh, axis, view->platform);
        ms_summary_add_tier(view->platform, tier, "tier", row);
    }
}

/* Add rows for the first groups of an axis, and one that says how many more there are. */
static void add_group_rows(const ms_mesh_view *view, int axis, ms_value *list) {
    int count = ms_mesh_group_count(&view->mesh, axis);
    int shown = count < GROUPS_SHOWN ? count : GROUPS_SHOWN;
    for (int i = 0; i < shown + (count > shown); i++) {
        ms_value *row = ms_value_add(list, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "axis", view->mesh.names[axis]);
        if (i < shown) {
            ms_group group = ms_mesh_group_at(&view->mesh, axis, i);
            ms_value_add_int(row, "group", i);
            ms_value_add_string(row, "gpus", list_gpus(&view->mesh, &group, list->arena));
        } else {
            const char *more = ms_arena_printf(list->arena, "and %d more", count - shown);
            ms_value_add_string(row, "gpus", more);
        }
    }
}

/* Add the object `page`: values that text and Markdown show and --json does not print. They are the
 * GPUs of a mesh that is not plain, the axes as rows, and the first groups of each axis. */
static void add_page(const ms_mesh_view *view, ms_value *root) {
    ms_value *page = ms_value_add(root, "page", MS_VALUE_OBJECT);
    const ms_group all = {.size = view->mesh.ranks};
    if (!is_plain(&view->mesh)) {
        ms_value_add_string(page, "gpus", list_gpus(&view->mesh, &all, root->arena));
    }
    ms_value *axes = ms_value_add(page, "axes", MS_VALUE_ARRAY);
    ms_value *groups = ms_value_add(page, "groups", MS_VALUE_ARRAY);
    for (int axis = 0; axis < view->mesh.axes; axis++) {
        add_axis_row(view, axis, axes);
        if (is_shown(view, axis)) {
            add_group_rows(view, axis, groups);
        }
    }
}

ms_status ms_cli_show_mesh(const ms_invocation *call, const ms_mesh_view *view) {
    bool is_json = ms_cli_has(call, "json");
    ms_value *root = ms_show_mesh_tree(call, view, is_json); /* only --json lists every group */
    if (!is_json) {
        add_page(view, root);
    }
    return ms_cli_show(call, NULL, MS_MESH_TABLES, root);
}
