/* Makes the mesh of a platform from the degrees that are given (ms_mesh_automatic): dp is the
 * number of GPUs divided by the product of the other degrees. A degree is the size of an axis. */
#include <string.h>

#include "base/text.h"
#include "cluster/mesh/mesh.h"

/* A list of axes and their sizes, outermost first. */
typedef struct degree_list {
    const char *names[MS_MESH_AXES_MAX];
    int sizes[MS_MESH_AXES_MAX];
    int count;
} degree_list;

/* The size of an axis by name; 0: the shape lacks the axis. */
static int size_of(const ms_mesh_shape *shape, const char *name) {
    int axis = ms_word_index(name, shape->names, shape->axes);
    return axis < 0 ? 0 : shape->sizes[axis];
}

/* The largest divisor of `number` that is not above `limit`.  limit: >= 1. */
static int divisor_below(int number, int64_t limit) {
    int divisor = limit < number ? (int)limit : number;
    while (number % divisor != 0) {
        divisor--;
    }
    return divisor;
}

/* Find the size of dp, by which the degrees multiply to the number of GPUs.  Returns MS_OK;
 * MS_E_INPUT (reported) where they do not divide that number, or where dp is given and differs. */
static ms_status size_dp(const ms_mesh_wish *wish, ms_diag *diag, int *dp_out) {
    int gpus = ms_platform_gpus(wish->platform);
    int64_t product = 1;
    for (int i = 0; i < wish->given.axes; i++) {
        if (strcmp(wish->given.names[i], "dp") != 0) {
            product *= wish->given.sizes[i];
        }
        if (product > gpus) {
            return ms_diag_error(diag,
                                 "the degrees given multiply to more than the %d GPUs of '%s'",
                                 gpus, wish->platform->name);
        }
    }
    int dp = size_of(&wish->given, "dp");
    if (gpus % product != 0) {
        return ms_diag_error(
            diag,
            "the degrees given multiply to %d, which does not divide the %d GPUs of "
            "'%s'; the nearest product below that does is %d",
            (int)product, gpus, wish->platform->name, divisor_below(gpus, product));
    }
    if (dp != 0 && dp != gpus / product) {
        return ms_diag_error(
            diag, "dp=%d and the other degrees multiply to %lld, '%s' has %d GPUs; dp=%d", dp,
            (long long)dp * (long long)product, wish->platform->name, gpus, (int)(gpus / product));
    }
    *dp_out = (int)(gpus / product);
    return MS_OK;
}

/* Append an axis to a list, as the innermost one. */
static void append_axis(degree_list *list, const char *name, int size) {
    list->names[list->count] = name;
    list->sizes[list->count++] = size;
}

/* Put the axes into their default order. dp is outermost, because it communicates least often; then
 * pp, cp and further axes; tp is innermost, because it communicates in every layer. */
static void arrange_by_default(const ms_mesh_wish *wish, int dp, degree_list *out) {
    static const char *const FRONT[] = {"dp", "pp", "cp"};
    const ms_mesh_shape *given = &wish->given;
    int tp = size_of(given, "tp");
    for (size_t i = 0; i < sizeof FRONT / sizeof FRONT[0]; i++) {
        int size = i == 0 ? dp : size_of(given, FRONT[i]);
        if (size > 0) {
            append_axis(out, FRONT[i], size);
        }
    }
    for (int i = 0; i < given->axes; i++) {
        bool is_placed = ms_word_index(given->names[i], out->names, out->count) >= 0;
        if (!is_placed && strcmp(given->names[i], "tp") != 0) {
            append_axis(out, given->names[i], given->sizes[i]);
        }
    }
    if (tp > 0) {
        append_axis(out, "tp", tp);
    }
}

/* Put the axes of a list into the order that the user asks for, which has to name each axis
 * once. */
static ms_status reorder(const ms_mesh_wish *wish, ms_diag *diag, degree_list *list) {
    degree_list ordered = {.count = 0};
    const ms_mesh_shape shape = {.names = list->names, .sizes = list->sizes, .axes = list->count};
    for (size_t i = 0; i < wish->order->count; i++) {
        const char *name = wish->order->items[i];
        int size = size_of(&shape, name);
        if (size == 0) {
            return ms_diag_error(diag, "the order names axis '%s', which has no degree", name);
        }
        if (ms_word_index(name, ordered.names, ordered.count) >= 0) {
            return ms_diag_error(diag, "axis '%s' stands twice in the order", name);
        }
        append_axis(&ordered, name, size);
    }
    for (int i = 0; i < list->count; i++) {
        if (ms_word_index(list->names[i], ordered.names, ordered.count) < 0) {
            return ms_diag_error(diag, "the order leaves out axis '%s'", list->names[i]);
        }
    }
    *list = ordered;
    return MS_OK;
}

/* Refuse tp groups whose GPUs do not all share the innermost tier (the scale-up domain, such as an
 * NVLink switch), unless the user allows them. */
static ms_status check_scale_up_domain(const ms_mesh_wish *wish, const ms_mesh *mesh,
                                       ms_diag *diag) {
    int axis = ms_mesh_axis(mesh, "tp");
    if (axis < 0 || wish->may_leave_scale_up_domain ||
        ms_mesh_axis_tier(mesh, axis, wish->platform) <= 0) {
        return MS_OK;
    }
    int domain = ms_platform_scale_up_domain(wish->platform);
    int tp = mesh->sizes[axis];
    const char *tier = wish->platform->tiers[0].name;
    if (tp > domain) {
        return ms_diag_error(
            diag,
            "tp=%d is more than the %d GPUs that share tier '%s'; the nearest legal is "
            "tp=%d, or --allow-slow-tp",
            tp, domain, tier, domain);
    }
    return ms_diag_error(diag,
                         "groups of tp=%d leave the %d GPUs that share tier '%s'; put tp innermost "
                         "with a size that divides %d, such as tp=%d, or --allow-slow-tp",
                         tp, domain, tier, domain, divisor_below(domain, tp));
}

/* Check the given degrees, find dp, order the axes, make the mesh and check its tp groups. */
ms_status ms_mesh_automatic(const ms_mesh_wish *wish, ms_diag *diag, ms_mesh *mesh_out) {
    int dp = 0;
    int extra = size_of(&wish->given, "dp") == 0;
    if (wish->given.axes + extra > MS_MESH_AXES_MAX) {
        return ms_diag_error(diag, "%d degrees are given; at most %d beside dp are supported",
                             wish->given.axes, (int)MS_MESH_AXES_MAX - 1);
    }
    ms_mesh mesh;
    ms_mesh check; /* only made so that faults of the given names and sizes are reported */
    ms_status status = MS_OK;
    if (wish->given.axes > 0) {
        status = ms_mesh_init(&check, wish->given.names, wish->given.sizes, wish->given.axes, diag);
    }
    status = status == MS_OK ? size_dp(wish, diag, &dp) : status;
    degree_list list = {.count = 0};
    if (status == MS_OK) {
        arrange_by_default(wish, dp, &list);
        status = wish->order == NULL ? MS_OK : reorder(wish, diag, &list);
    }
    status =
        status == MS_OK ? ms_mesh_init(&mesh, list.names, list.sizes, list.count, diag) : status;
    status = status == MS_OK ? check_scale_up_domain(wish, &mesh, diag) : status;
    if (status == MS_OK) {
        *mesh_out = mesh;
    }
    return status;
}
