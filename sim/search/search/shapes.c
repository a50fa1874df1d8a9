/* Finds the clusters of a space (a platform with a number of GPUs) and its shapes: all meshes that
 * fill a cluster. A shape is a cluster, the sizes of the mesh's axes, whose product is the number
 * of GPUs, and the order of the axes. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/config/find.h"
#include "search/points.h"
#include "search/search/space.h"

/* Maximum number of shapes; a space with more is refused. */
enum { SHAPES_MAX = 10000000 };

/* ---- clusters ---- */

/* Report why a platform cannot be read. A name that finds no file is reported at the place where
 * the user gave the name; for any other reason the workload is read again with its diagnostics on,
 * which report the faults of the file. index: of the platform in the request. Returns the status of
 * the fault. */
static ms_status fault_platform(const ms_space *space, size_t index, const ms_words *settings,
                                const char *reason, ms_diag *diag) {
    static const char NO_FILE[] = "platform: no platform ";
    static const size_t KEY_LENGTH = sizeof "platform: " - 1;
    ms_job_spec spec;
    return strncmp(reason, NO_FILE, sizeof NO_FILE - 1) == 0
               ? ms_space_fault(ms_space_item_node(space->request->platforms_node, index),
                                "platforms", "--platform", reason + KEY_LENGTH, diag)
               : ms_point_read(space->request->job, settings, space->arena, diag, &spec);
}

/* Load a platform by reading the workload with it. index: of the platform in the request. file: its
 * name or path. *cluster_out: the platform, in the space's arena. Returns MS_OK; as fault_platform;
 * MS_E_NOMEM (reported). */
static ms_status load_platform(const ms_space *space, size_t index, const char *file, ms_diag *diag,
                               const ms_platform **cluster_out) {
    ms_job_spec spec;
    ms_point_refusal refusal;
    size_t own = space->request->own_sets.count;
    const char **items = MS_NEW(space->arena, const char *, own + 1);
    ms_words settings = {items, 1};
    if (items == NULL ||
        (items[0] = ms_point_setting("platform.file", file, space->arena)) == NULL) {
        return ms_diag_no_memory(diag);
    }
    for (size_t i = 0; i < own; i++) {
        items[settings.count] = ms_space_own_setting(space, i, index);
        settings.count += items[settings.count] != NULL;
    }
    ms_status status = ms_point_try(space->request->job, &settings, space->arena, &spec, &refusal);
    if (status != MS_OK) {
        return fault_platform(space, index, &settings, refusal.reason == NULL ? "" : refusal.reason,
                              diag);
    }
    *cluster_out = spec.platform.cluster;
    return MS_OK;
}

/* Report that a number of GPUs is not a multiple of a platform's node, with the nearest numbers
 * that are. Returns MS_E_INPUT for a number from a file, MS_E_USAGE for one from the command line;
 * MS_E_NOMEM (reported). */
static ms_status fault_gpus(const ms_space *space, const ms_platform *cluster, int gpus,
                            ms_diag *diag) {
    int per_node = cluster->gpus_per_node, below = gpus / per_node * per_node;
    char other[32] = "";
    if (below > 0) {
        snprintf(other, sizeof other, "%d or ", below);
    }
    const char *text = ms_arena_printf(
        space->arena, "'%s' has nodes of %d GPUs, and %d is no multiple of them; nearest: %s%d",
        cluster->name, per_node, gpus, other, below + per_node);
    if (space->arena->has_failed) {
        return ms_diag_no_memory(diag);
    }
    const ms_node *node = space->request->gpus_node;
    ms_status status = ms_space_fault(node, "gpus", "--gpus", text, diag);
    return node == NULL ? MS_E_USAGE : status;
}

/* Add a cluster of a platform for each requested number of GPUs that fills whole nodes; it is a
 * fault if there is none. Without requested numbers the platform gets as many GPUs as the workload
 * has. index: of the platform in the request. file: its name or path; NULL: the workload's own
 * platform. clusters: of space_cluster. */
static ms_status add_clusters(const ms_space *space, size_t index, const char *file, ms_diag *diag,
                              ms_vector *clusters) {
    const ms_platform *cluster = space->base.platform.cluster;
    const ms_ints *asked = &space->request->gpus;
    int own = space->base.placement.is_given ? (int)ms_spec_ranks(&space->base)
                                             : ms_platform_gpus(cluster);
    ms_status status = file == NULL ? MS_OK : load_platform(space, index, file, diag, &cluster);
    if (status != MS_OK) {
        return status;
    }
    if (file == NULL && asked->count == 0) {
        const space_cluster as_it_is = {.gpus = own,
                                        .domain = ms_platform_scale_up_domain(cluster)};
        ms_vector_add(clusters, &as_it_is, 1);
        return MS_OK;
    }
    const int *limits = space->request->limits;
    int most = limits == NULL ? 0 : limits[index] / cluster->gpus_per_node * cluster->gpus_per_node;
    const ms_ints same = {limits == NULL ? &own : &most, 1};
    const ms_ints *wanted = asked->count == 0 || limits != NULL ? &same : asked;
    size_t before = clusters->count;
    for (size_t i = 0; i < wanted->count; i++) {
        const space_cluster one = {file, wanted->items[i] / cluster->gpus_per_node,
                                   wanted->items[i], ms_platform_scale_up_domain(cluster), index};
        if (one.nodes > 0 && wanted->items[i] % cluster->gpus_per_node == 0) {
            ms_vector_add(clusters, &one, 1);
        }
    }
    return clusters->count > before
               ? MS_OK
               : fault_gpus(space, cluster, asked->count == 0 ? own : asked->items[0], diag);
}

/* A cluster is made for each platform and each number of GPUs that the platform can have. */
ms_status ms_space_make_clusters(ms_space *space, ms_diag *diag) {
    const ms_space_request *request = space->request;
    ms_vector clusters;
    ms_vector_init(&clusters, sizeof(space_cluster));
    ms_status status = MS_OK;
    if (request->platforms.count == 0) {
        status = add_clusters(space, 0, NULL, diag, &clusters);
    }
    for (size_t i = 0; i < request->platforms.count && status == MS_OK; i++) {
        const char *file = ms_find_whole_path(request->platforms.items[i], space->arena);
        status =
            file == NULL ? ms_diag_no_memory(diag) : add_clusters(space, i, file, diag, &clusters);
    }
    space->cluster_count = clusters.count;
    space->clusters = ms_vector_keep(&clusters, space->arena);
    return status == MS_OK && space->clusters == NULL ? ms_diag_no_memory(diag) : status;
}

/* ---- shapes ---- */

/* Index of an axis of the mesh by its name, KNOWN_TP and so on; -1 for an axis with a name of the
 * user's own. */
static int axis_of(const char *name) {
    for (int axis = 0; axis < KNOWN_AXES; axis++) {
        if (strcmp(ms_known_axis(axis), name) == 0) {
            return axis;
        }
    }
    return -1;
}

/* A mesh has at least one axis, so that of a single GPU has dp with size 1. */
void ms_space_mesh_of(const ms_space *space, const space_shape *shape, ms_spec_mesh *mesh_out) {
    const ms_words *order = &space->orders[shape->order];
    mesh_out->axes = 0;
    for (size_t i = 0; i < order->count; i++) {
        int axis = axis_of(order->items[i]);
        int size = axis < 0 ? space->other_size : shape->sizes[axis];
        if (axis < 0 || size > 1) {
            mesh_out->names[mesh_out->axes] = order->items[i];
            mesh_out->sizes[mesh_out->axes++] = size;
        }
    }
    if (mesh_out->axes == 0) {
        mesh_out->names[0] = ms_known_axis(KNOWN_DP);
        mesh_out->sizes[0] = 1;
        mesh_out->axes = 1;
    }
}

/* Whether two meshes have the same axes of the same sizes in the same order. */
static bool is_same_mesh(const ms_spec_mesh *a, const ms_spec_mesh *b) {
    bool is_same = a->axes == b->axes;
    for (int i = 0; i < a->axes && is_same; i++) {
        is_same = a->sizes[i] == b->sizes[i] && strcmp(a->names[i], b->names[i]) == 0;
    }
    return is_same;
}

/* Add the sizes of a shape once for each order of the space, without orders that differ only in the
 * position of axes of size 1 and so make the same mesh. shapes: of space_shape. */
static void add_orders(const ms_space *space, space_shape shape, ms_vector *shapes) {
    size_t first = shapes->count;
    for (size_t order = 0; order < space->order_count; order++) {
        ms_spec_mesh mesh, other;
        shape.order = (short)order;
        ms_space_mesh_of(space, &shape, &mesh);
        bool is_known = false;
        for (size_t i = first; i < shapes->count && !is_known; i++) {
            ms_space_mesh_of(space, &MS_AT(shapes, space_shape, i), &other);
            is_known = is_same_mesh(&mesh, &other);
        }
        if (!is_known) {
            ms_vector_add(shapes, &shape, 1);
        }
    }
}

/* The factorization of a cluster's GPUs into sizes of axes, `f` in this file. */
typedef struct factorizing {
    const ms_space *space;
    const int *divisors; /* [divisor_count] of the GPUs, rising; sizes of axes that may have any */
    size_t divisor_count;
    ms_vector *shapes;
} factorizing;

/* Try all sizes of an axis and, by recursion, of the axes after it; dp comes last and gets the GPUs
 * that remain. axis: from KNOWN_TP to KNOWN_DP. left: GPUs divided by the sizes of the axes before.
 * shape: sizes so far. */
static void factorize(const factorizing *f, int axis, int left, space_shape *shape) {
    const space_sizes *sizes = &f->space->sizes[axis];
    if (axis == KNOWN_DP) {
        bool follows = !sizes->is_given || sizes->is_any ||
                       ms_space_has_number(sizes->items, (int)sizes->count, left);
        shape->sizes[axis] = left;
        if (follows && f->shapes->count < SHAPES_MAX) {
            add_orders(f->space, *shape, f->shapes);
        }
        return;
    }
    const int *items = sizes->is_any ? f->divisors : sizes->items;
    size_t count = sizes->is_any ? f->divisor_count : sizes->count;
    for (size_t i = 0; i < count; i++) {
        shape->sizes[axis] = items[i];
        if (left % items[i] == 0) {
            factorize(f, axis + 1, left / items[i], shape);
        }
    }
}

/* Add all shapes of a cluster. An axis with a name of the user's own has a fixed size, so the other
 * axes factorize the GPUs divided by that size; if it does not divide them, the cluster has no
 * shapes. shapes: of space_shape; if memory runs out for them, shapes->failed is set. Returns
 * MS_OK; MS_E_NOMEM (not reported) if it runs out for the divisors. */
static ms_status factorize_cluster(const ms_space *space, size_t cluster, ms_vector *shapes) {
    int gpus = space->clusters[cluster].gpus / space->other_size;
    ms_vector divisors;
    ms_vector_init(&divisors, sizeof(int));
    for (int size = 1; size <= gpus; size++) {
        if (gpus % size == 0) {
            ms_vector_add(&divisors, &size, 1);
        }
    }
    const factorizing f = {space, divisors.data, divisors.count, shapes};
    space_shape shape = {.cluster = (short)cluster};
    if (!divisors.failed && space->clusters[cluster].gpus % space->other_size == 0) {
        factorize(&f, 0, gpus, &shape);
    }
    bool has_failed = divisors.failed;
    ms_vector_release(&divisors);
    return has_failed ? MS_E_NOMEM : MS_OK;
}

/* The factorization stops adding shapes at SHAPES_MAX, which is then a fault of the space. */
ms_status ms_space_make_shapes(ms_space *space, ms_diag *diag) {
    ms_vector shapes;
    ms_vector_init(&shapes, sizeof(space_shape));
    ms_status status = MS_OK;
    for (size_t i = 0; i < space->cluster_count && status == MS_OK; i++) {
        status = factorize_cluster(space, i, &shapes);
    }
    if (status != MS_OK) {
        ms_diag_error(diag, "out of memory");
    } else if (shapes.count >= SHAPES_MAX) {
        status = ms_diag_usage(diag, "more than %d meshes in the space; give its axes fewer sizes",
                               (int)SHAPES_MAX);
    }
    space->shape_count = shapes.count;
    space->shapes = ms_vector_keep(&shapes, space->arena);
    return status == MS_OK && space->shapes == NULL ? ms_diag_no_memory(diag) : status;
}

/* ---- spaces without a mesh ---- */

/* Whether the sizes of an axis and of the axes after it can divide GPUs up. axis: from KNOWN_TP to
 * KNOWN_AXES. left: GPUs divided by the sizes of the axes before. is_open: one of these axes takes
 * any size, and so what is left. */
static bool fills(const ms_space *space, int axis, int left, bool is_open) {
    const space_sizes *sizes = &space->sizes[axis];
    if (axis == KNOWN_AXES) {
        return is_open || left == 1;
    }
    bool is_any = sizes->is_any || (axis == KNOWN_DP && !sizes->is_given);
    bool is_filled = is_any && fills(space, axis + 1, left, true);
    for (size_t i = 0; i < sizes->count && !is_filled; i++) {
        is_filled =
            left % sizes->items[i] == 0 && fills(space, axis + 1, left / sizes->items[i], is_open);
    }
    return is_filled;
}

/* Append the sizes of the axes that cannot have size 1, such as " mesh.tp 3 or 6, mesh.pp 2". */
static void list_sizes(const ms_space *space, ms_buffer *out) {
    const char *before = " ";
    for (int axis = 0; axis < KNOWN_AXES; axis++) {
        const space_sizes *sizes = &space->sizes[axis];
        bool is_free = sizes->is_any || ms_space_has_number(sizes->items, (int)sizes->count, 1);
        for (size_t i = 0; i < sizes->count && !is_free; i++) {
            ms_buffer_printf(out, "%s%s %d", i > 0 ? " or" : before,
                             i > 0 ? "" : MS_MESH_KEYS[axis], sizes->items[i]);
            before = ", ";
        }
    }
    if (space->other_size > 1) {
        ms_buffer_printf(out, "%smesh.%s %d", before, space->other, space->other_size);
    }
}

void ms_space_add_no_mesh(const ms_space *space, ms_value *root) {
    enum { GPUS_MAX = 1 << 24 };
    ms_value *list = space->shape_count == 0 ? ms_value_add(root, "no_mesh", MS_VALUE_ARRAY) : NULL;
    for (size_t i = 0; i < space->cluster_count && list != NULL; i++) {
        const space_cluster *at = &space->clusters[i];
        int node =
            at->nodes > 0 ? at->gpus / at->nodes : space->base.platform.cluster->gpus_per_node;
        ms_buffer text = {0};
        ms_buffer_printf(&text, "%d GPUs are not divided by", at->gpus);
        list_sizes(space, &text);
        const char *before = "; nearest that are: ";
        for (int step = -node; step <= node; step += 2 * node) {
            int gpus = at->gpus + step;
            while (gpus > 0 && gpus < GPUS_MAX &&
                   (gpus % space->other_size != 0 ||
                    !fills(space, KNOWN_TP, gpus / space->other_size, false))) {
                gpus += step;
            }
            if (gpus > 0 && gpus < GPUS_MAX) {
                ms_buffer_printf(&text, "%s%d", before, gpus);
                before = " or ";
            }
        }
        ms_value_add_string(list, NULL, ms_buffer_keep(&text, root->arena));
    }
}
