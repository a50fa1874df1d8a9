/* Makes one mesh from another (mesh.h): reshape, transpose, cut out a sub-mesh, flatten axes, list
 * the devices. Most operations only change sizes and strides. Where no strides can express the
 * result, the new mesh numbers its ranks afresh and has a table with the GPU of each rank. */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "cluster/mesh/mesh.h"

/* Index in the list of the occurrence number `nth` (from 0) of a device, which must exist. */
static int index_of_device(const int *devices, int device, int nth) {
    int index = 0;
    for (; devices[index] != device || nth > 0; index++) {
        nth -= devices[index] == device;
    }
    return index;
}

/* Report a device that is negative, or that the list has twice.  devices: [count] as given, by
 * rank. sorted: [count] the same, ascending. */
static ms_status check_devices(const int *devices, const int *sorted, int count, ms_diag *diag) {
    if (sorted[0] < 0) {
        return ms_diag_error(diag, "device %d is below 0", sorted[0]);
    }
    for (int i = 1; i < count; i++) {
        if (sorted[i] == sorted[i - 1]) {
            return ms_diag_error(diag, "device %d stands twice, for ranks %d and %d", sorted[i],
                                 index_of_device(devices, sorted[i], 0),
                                 index_of_device(devices, sorted[i], 1));
        }
    }
    return MS_OK;
}

/* A sorted copy of the list shows repeats and negative numbers. */
ms_status ms_mesh_set_devices(ms_mesh *mesh, const int *devices, int count, ms_arena *arena,
                              ms_diag *diag) {
    if (count != mesh->ranks) {
        return ms_diag_error(diag, "the mesh has %d ranks, the list has %d devices", mesh->ranks,
                             count);
    }
    int *table = MS_NEW(arena, int, count);
    int *sorted = MS_NEW(arena, int, count);
    if (table == NULL || sorted == NULL) {
        return MS_E_NOMEM;
    }
    memcpy(table, devices, (size_t)count * sizeof *table);
    memcpy(sorted, devices, (size_t)count * sizeof *sorted);
    qsort(sorted, (size_t)count, sizeof *sorted, ms_compare_ints);
    ms_status status = check_devices(table, sorted, count, diag);
    if (status == MS_OK) {
        mesh->devices = table;
    }
    return status;
}

/* Whether counting through the axes order[0..count), the last of them fastest, visits ranks at a
 * constant distance. This is so if each axis has the stride of the next inner one times its size;
 * axes of size 1 do not matter.  *stride_out: the distance; 1 where all sizes are 1. */
static bool has_constant_stride(const ms_mesh *mesh, const int *order, int count, int *stride_out) {
    int required_stride = 0; /* that the next axis outwards must have; 0: there was no axis yet */
    *stride_out = 1;
    for (int i = count - 1; i >= 0; i--) {
        int axis = order[i];
        if (mesh->sizes[axis] == 1) {
            continue;
        }
        if (required_stride == 0) {
            *stride_out = mesh->strides[axis];
        } else if (mesh->strides[axis] != required_stride) {
            return false;
        }
        required_stride = mesh->strides[axis] * mesh->sizes[axis];
    }
    return true;
}

/* The GPUs of a mesh's ranks in the order of counting through its axes.  order: [mesh->axes] axes,
 * outermost first.  Returns [ranks], in `arena`; NULL when memory runs out. */
static const int *list_devices(const ms_mesh *mesh, const int *order, ms_arena *arena) {
    int *table = MS_NEW(arena, int, mesh->ranks);
    for (int i = 0; table != NULL && i < mesh->ranks; i++) {
        int rank = mesh->first;
        int rest = i;
        for (int a = mesh->axes - 1; a >= 0; a--) {
            rank += rest % mesh->sizes[order[a]] * mesh->strides[order[a]];
            rest /= mesh->sizes[order[a]];
        }
        table[i] = ms_mesh_device(mesh, rank);
    }
    return table;
}

/* If counting through the old axes visits ranks at a constant distance, the new axes only need that
 * distance as a factor on their strides. Otherwise the GPUs are listed in that order. */
ms_status ms_mesh_reshape(const ms_mesh *mesh, const ms_mesh_shape *shape, ms_arena *arena,
                          ms_diag *diag, ms_mesh *mesh_out) {
    static const int ORDER[MS_MESH_AXES_MAX] = {0, 1, 2, 3, 4, 5, 6, 7};
    ms_mesh reshaped;
    ms_status status = ms_mesh_init(&reshaped, shape->names, shape->sizes, shape->axes, diag);
    if (status == MS_OK && reshaped.ranks != mesh->ranks) {
        status = ms_diag_error(diag, "a mesh of %d ranks cannot become one of %d", mesh->ranks,
                               reshaped.ranks);
    }
    if (status != MS_OK) {
        return status;
    }
    int stride = 1;
    /* ms_mesh_init has given the new mesh the strides of ranks without gaps */
    if (has_constant_stride(mesh, ORDER, mesh->axes, &stride)) {
        for (int i = 0; i < reshaped.axes; i++) {
            reshaped.strides[i] *= stride;
        }
        reshaped.first = mesh->first;
        reshaped.devices = mesh->devices;
    } else { /* rank i of the new mesh is the i-th rank of the old one */
        reshaped.devices = list_devices(mesh, ORDER, arena);
        if (reshaped.devices == NULL) {
            return MS_E_NOMEM;
        }
    }
    *mesh_out = reshaped;
    return MS_OK;
}

/* Copy name, kind, size and stride of an axis. */
static void copy_axis(const ms_mesh *from, int from_axis, ms_mesh *to, int to_axis) {
    to->names[to_axis] = from->names[from_axis];
    to->kinds[to_axis] = from->kinds[from_axis];
    to->sizes[to_axis] = from->sizes[from_axis];
    to->strides[to_axis] = from->strides[from_axis];
}

/* Find the indices of named axes.  axes_out: [names].  Returns MS_OK; MS_E_INPUT for an unknown or
 * repeated axis (reported). */
static ms_status find_axes(const ms_mesh *mesh, const ms_words *names, ms_diag *diag,
                           int *axes_out) {
    for (size_t i = 0; i < names->count; i++) {
        int axis = 0;
        ms_status status = ms_mesh_find_axis(mesh, names->items[i], diag, &axis);
        if (status != MS_OK) {
            return status;
        }
        if (ms_word_index(names->items[i], names->items, (int)i) >= 0) {
            return ms_diag_error(diag, "axis '%s' stands twice", names->items[i]);
        }
        axes_out[i] = axis;
    }
    return MS_OK;
}

/* Whether a list of axes contains an axis. */
static bool contains(const int *axes, int count, int axis) {
    for (int i = 0; i < count; i++) {
        if (axes[i] == axis) {
            return true;
        }
    }
    return false;
}

/* Names, sizes and strides of the axes are permuted; ranks and GPUs stay. */
ms_status ms_mesh_transpose(const ms_mesh *mesh, const ms_words *order, ms_diag *diag,
                            ms_mesh *mesh_out) {
    int axes[MS_MESH_AXES_MAX];
    if (order->count > (size_t)mesh->axes) {
        return ms_diag_error(diag, "the order names %zu axes, the mesh has %d", order->count,
                             mesh->axes);
    }
    ms_status status = find_axes(mesh, order, diag, axes);
    if (status != MS_OK) {
        return status;
    }
    for (int axis = 0; axis < mesh->axes; axis++) {
        if (!contains(axes, (int)order->count, axis)) {
            return ms_diag_error(diag, "the order leaves out axis '%s'", mesh->names[axis]);
        }
    }
    ms_mesh transposed = *mesh;
    for (int i = 0; i < mesh->axes; i++) {
        copy_axis(mesh, axes[i], &transposed, i);
    }
    *mesh_out = transposed;
    return MS_OK;
}

/* The fixed axis is dropped, and its coordinate moves the first rank. */
ms_status ms_mesh_sub(const ms_mesh *mesh, const char *axis, int coordinate, ms_diag *diag,
                      ms_mesh *mesh_out) {
    int fixed_axis = 0;
    ms_status status = ms_mesh_find_axis(mesh, axis, diag, &fixed_axis);
    if (status != MS_OK) {
        return status;
    }
    if (coordinate < 0 || coordinate >= mesh->sizes[fixed_axis]) {
        return ms_diag_error(diag, "axis '%s' of size %d has no coordinate %d, only 0 to %d", axis,
                             mesh->sizes[fixed_axis], coordinate, mesh->sizes[fixed_axis] - 1);
    }
    if (mesh->axes == 1) {
        return ms_diag_error(diag, "axis '%s' is the only one; a sub-mesh keeps at least one",
                             axis);
    }
    ms_mesh sub = {.ranks = mesh->ranks / mesh->sizes[fixed_axis],
                   .first = mesh->first + coordinate * mesh->strides[fixed_axis],
                   .devices = mesh->devices};
    for (int i = 0; i < mesh->axes; i++) {
        if (i != fixed_axis) {
            copy_axis(mesh, i, &sub, sub.axes++);
        }
    }
    *mesh_out = sub;
    return MS_OK;
}

/* Make the flattened mesh, but for the stride of the merged axis, which is 0 until ms_mesh_flatten
 * sets it. The merged axis takes the position of the outermost of the axes that it replaces.
 * merged: [count] axes, the first varies slowest. */
static ms_status merge_axes(const ms_mesh *mesh, const int *merged, int count, ms_arena *arena,
                            ms_mesh *out) {
    const char *name = mesh->names[merged[0]];
    int size = mesh->sizes[merged[0]];
    for (int i = 1; i < count && name != NULL; i++) {
        name = ms_arena_printf(arena, "%s_%s", name, mesh->names[merged[i]]);
        size *= mesh->sizes[merged[i]];
    }
    if (name == NULL) {
        return MS_E_NOMEM;
    }
    bool is_placed = false;
    *out = (ms_mesh){.ranks = mesh->ranks, .first = mesh->first, .devices = mesh->devices};
    for (int i = 0; i < mesh->axes; i++) {
        if (!contains(merged, count, i)) {
            copy_axis(mesh, i, out, out->axes++);
        } else if (!is_placed) {
            out->names[out->axes] = name;
            out->kinds[out->axes] = ms_axis_from_name(name);
            out->sizes[out->axes] = size;
            out->strides[out->axes++] = 0;
            is_placed = true;
        }
    }
    return MS_OK;
}

/* Give a flattened mesh whose merged axis has no constant stride new ranks, 0 to N-1 in the order
 * of its own axes, and a table of their GPUs.  merged: [count] axes of `mesh`.  flat: by
 * merge_axes; strides, first and devices are set here. */
static ms_status renumber(const ms_mesh *mesh, const int *merged, int count, ms_arena *arena,
                          ms_mesh *flat) {
    int order[MS_MESH_AXES_MAX] = {0}; /* axes of `mesh` in the order of `flat` */
    int placed = 0;
    bool is_placed = false;
    for (int i = 0; i < mesh->axes; i++) {
        if (!contains(merged, count, i)) {
            order[placed++] = i;
        } else if (!is_placed) {
            memcpy(order + placed, merged, (size_t)count * sizeof *order);
            placed += count;
            is_placed = true;
        }
    }
    int stride = 1;
    for (int i = flat->axes - 1; i >= 0; i--) {
        flat->strides[i] = stride;
        stride *= flat->sizes[i];
    }
    flat->first = 0;
    flat->devices = list_devices(mesh, order, arena);
    return flat->devices == NULL ? MS_E_NOMEM : MS_OK;
}

/* The merged axis has a constant stride if its axes follow each other without gaps; otherwise the
 * ranks are numbered afresh, with a table of GPUs. */
ms_status ms_mesh_flatten(const ms_mesh *mesh, const ms_words *axes, ms_arena *arena, ms_diag *diag,
                          ms_mesh *mesh_out) {
    int merged[MS_MESH_AXES_MAX] = {0};
    int count = (int)axes->count;
    if (axes->count < 2 || axes->count > (size_t)mesh->axes) {
        return ms_diag_error(diag, "flattening takes 2 to %d axes of this mesh, got %zu",
                             mesh->axes, axes->count);
    }
    ms_mesh flat;
    ms_status status = find_axes(mesh, axes, diag, merged);
    status = status == MS_OK ? merge_axes(mesh, merged, count, arena, &flat) : status;
    if (status != MS_OK) {
        return status;
    }
    int merged_axis = 0;
    int stride = 1;
    while (flat.strides[merged_axis] != 0) { /* merge_axes marks the merged axis by stride 0 */
        merged_axis++;
    }
    if (has_constant_stride(mesh, merged, count, &stride)) {
        flat.strides[merged_axis] = stride;
    } else {
        status = renumber(mesh, merged, count, arena, &flat);
    }
    if (status == MS_OK && ms_mesh_axis(&flat, flat.names[merged_axis]) != merged_axis) {
        status = ms_diag_error(diag, "the mesh has an axis '%s' already", flat.names[merged_axis]);
    }
    if (status == MS_OK) {
        *mesh_out = flat;
    }
    return status;
}
