/* One mesh from another: reshape, transpose, sub-mesh, flatten, explicit devices. */
#include <stdlib.h>
#include <string.h>

#include "cluster/mesh/mesh.h"

static int compare_ints(const void *a, const void *b) {
    int left = *(const int *)a;
    int right = *(const int *)b;
    return (left > right) - (left < right);
}

/* Index in the list of the `nth` occurrence (from 0) of a device. */
static int place_of(const int *devices, int device, int nth) {
    int index = 0;
    for (; devices[index] != device || nth > 0; index++) {
        nth -= devices[index] == device;
    }
    return index;
}

static ms_status check_devices(const int *devices, const int *sorted, int count, ms_diag *diag) {
    if (sorted[0] < 0) {
        return ms_diag_error(diag, "device %d is below 0", sorted[0]);
    }
    for (int i = 1; i < count; i++) {
        if (sorted[i] == sorted[i - 1]) {
            return ms_diag_error(diag, "device %d stands twice, for ranks %d and %d", sorted[i],
                                 place_of(devices, sorted[i], 0), place_of(devices, sorted[i], 1));
        }
    }
    return MS_OK;
}

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
    qsort(sorted, (size_t)count, sizeof *sorted, compare_ints);
    ms_status status = check_devices(table, sorted, count, diag);
    if (status == MS_OK) {
        mesh->devices = table;
    }
    return status;
}

/* Whether counting through axes [from, to) in their order visits ranks one constant distance apart.
 * *stride_out: that distance. Axes of size 1 do not count. */
static bool is_even(const ms_mesh *mesh, const int *order, int axes, int *stride_out) {
    int stride = 0; /* of the axis last met, times its size: what the next one's must be */
    *stride_out = 1;
    for (int i = axes - 1; i >= 0; i--) {
        int axis = order[i];
        if (mesh->sizes[axis] == 1) {
            continue;
        }
        if (stride == 0) {
            *stride_out = mesh->strides[axis];
        } else if (mesh->strides[axis] != stride) {
            return false;
        }
        stride = mesh->strides[axis] * mesh->sizes[axis];
    }
    return true;
}

/* Devices in the order in which the axes, outermost first, count through a mesh. */
static const int *tabulate(const ms_mesh *mesh, const int *order, ms_arena *arena) {
    int *table = MS_NEW(arena, int, mesh->ranks);
    for (int i = 0; table != NULL && i < mesh->ranks; i++) {
        int rank = mesh->first;
        int left = i;
        for (int a = mesh->axes - 1; a >= 0; a--) {
            rank += left % mesh->sizes[order[a]] * mesh->strides[order[a]];
            left /= mesh->sizes[order[a]];
        }
        table[i] = ms_mesh_device(mesh, rank);
    }
    return table;
}

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
    if (is_even(mesh, ORDER, mesh->axes, &stride)) {
        for (int i = 0; i < reshaped.axes; i++) {
            reshaped.strides[i] *= stride;
        }
        reshaped.first = mesh->first;
        reshaped.devices = mesh->devices;
    } else {
        reshaped.devices = tabulate(mesh, ORDER, arena);
        if (reshaped.devices == NULL) {
            return MS_E_NOMEM;
        }
    }
    *mesh_out = reshaped;
    return MS_OK;
}

static void copy_axis(const ms_mesh *from, int from_axis, ms_mesh *to, int to_axis) {
    to->names[to_axis] = from->names[from_axis];
    to->kinds[to_axis] = from->kinds[from_axis];
    to->sizes[to_axis] = from->sizes[from_axis];
    to->strides[to_axis] = from->strides[from_axis];
}

/* Indices of named axes, each once. */
static ms_status find_axes(const ms_mesh *mesh, const ms_words *names, ms_diag *diag,
                           int *axes_out) {
    for (size_t i = 0; i < names->count; i++) {
        int axis = 0;
        ms_status status = ms_mesh_find_axis(mesh, names->items[i], diag, &axis);
        if (status != MS_OK) {
            return status;
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(names->items[j], names->items[i]) == 0) {
                return ms_diag_error(diag, "axis '%s' stands twice", names->items[i]);
            }
        }
        axes_out[i] = axis;
    }
    return MS_OK;
}

static bool holds(const int *axes, int count, int axis) {
    for (int i = 0; i < count; i++) {
        if (axes[i] == axis) {
            return true;
        }
    }
    return false;
}

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
        if (!holds(axes, (int)order->count, axis)) {
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

ms_status ms_mesh_sub(const ms_mesh *mesh, const char *axis, int coordinate, ms_diag *diag,
                      ms_mesh *mesh_out) {
    int gone = 0;
    ms_status status = ms_mesh_find_axis(mesh, axis, diag, &gone);
    if (status != MS_OK) {
        return status;
    }
    if (coordinate < 0 || coordinate >= mesh->sizes[gone]) {
        return ms_diag_error(diag, "axis '%s' of size %d has no coordinate %d, only 0 to %d", axis,
                             mesh->sizes[gone], coordinate, mesh->sizes[gone] - 1);
    }
    if (mesh->axes == 1) {
        return ms_diag_error(diag, "axis '%s' is the only one; a sub-mesh keeps at least one",
                             axis);
    }
    ms_mesh sub = {.ranks = mesh->ranks / mesh->sizes[gone],
                   .first = mesh->first + coordinate * mesh->strides[gone],
                   .devices = mesh->devices};
    for (int i = 0; i < mesh->axes; i++) {
        if (i != gone) {
            copy_axis(mesh, i, &sub, sub.axes++);
        }
    }
    *mesh_out = sub;
    return MS_OK;
}

/* The axes to flatten become one, where the outermost of them stood; strides are set later. */
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
        if (!holds(merged, count, i)) {
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

/* The flattened axis has no constant stride: number the ranks afresh in the order of the flattened
 * mesh, with a table of devices. */
static ms_status renumber(const ms_mesh *mesh, const int *merged, int count, ms_arena *arena,
                          ms_mesh *flat) {
    int order[MS_MESH_AXES_MAX] = {0};
    int placed = 0;
    bool is_placed = false;
    for (int i = 0; i < mesh->axes; i++) {
        if (!holds(merged, count, i)) {
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
    flat->devices = tabulate(mesh, order, arena);
    return flat->devices == NULL ? MS_E_NOMEM : MS_OK;
}

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
    int at = 0;
    int stride = 1;
    while (flat.strides[at] != 0) {
        at++;
    }
    if (is_even(mesh, merged, count, &stride)) {
        flat.strides[at] = stride;
    } else {
        status = renumber(mesh, merged, count, arena, &flat);
    }
    if (status == MS_OK && ms_mesh_axis(&flat, flat.names[at]) != at) {
        status = ms_diag_error(diag, "the mesh has an axis '%s' already", flat.names[at]);
    }
    if (status == MS_OK) {
        *mesh_out = flat;
    }
    return status;
}
