/* Reads the `fabric` keys of a torus, checks them together with the rest of the platform file, and
 * sets the sizes of the torus (ms_torus_read). A platform with fewer chips than a pod is a box
 * inside a pod. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "cluster/platform/torus/torus.h"

/* The values of the keys. */
typedef struct torus_keys {
    ms_ints shape; /* chips of a whole pod */
} torus_keys;

const ms_field MS_TORUS_FIELDS[] = {
    MS_KEY("shape", "chips of a torus' pod by dimension, the first one fastest [count]", INTS,
           offsetof(torus_keys, shape), MS_RANGE(1, MS_PLATFORM_GPUS_MAX)),
    {.key = NULL},
};

/* Size of a pod along a dimension; 1 for a dimension that it lacks. */
static int side(const ms_ints *shape, size_t dimension) {
    return dimension < shape->count ? shape->items[dimension] : 1;
}

/* Whether box `a` is nearer to a cube than box `b`: its longest side is shorter, or equal and its
 * second longest shorter. */
static bool is_rounder(const int *a, const int *b) {
    int sorted[2][MS_TORUS_DIMENSIONS_MAX];
    const int *boxes[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        for (int d = 0; d < MS_TORUS_DIMENSIONS_MAX; d++) {
            int at = d; /* insert the side, longest first */
            for (; at > 0 && sorted[i][at - 1] < boxes[i][d]; at--) {
                sorted[i][at] = sorted[i][at - 1];
            }
            sorted[i][at] = boxes[i][d];
        }
    }
    return sorted[0][0] < sorted[1][0] ||
           (sorted[0][0] == sorted[1][0] && sorted[0][1] < sorted[1][1]);
}

/* Find the box of `chips` chips that fits in a pod and is nearest to a cube (is_rounder); of
 * equally near boxes the one with the smallest first side, then second side.  shape: sides of the
 * pod.  box_out: [shape->count] sides of the box.  Returns false if no box fits. */
static bool find_box(const ms_ints *shape, int chips, int *box_out) {
    int best[MS_TORUS_DIMENSIONS_MAX] = {0};
    for (int a = 1; a <= side(shape, 0) && a <= chips; a++) {
        for (int b = 1; chips % a == 0 && b <= side(shape, 1) && b <= chips / a; b++) {
            const int box[MS_TORUS_DIMENSIONS_MAX] = {a, b, chips / a / b};
            bool fits = chips / a % b == 0 && box[2] <= side(shape, 2);
            if (fits && (best[0] == 0 || is_rounder(box, best))) {
                memcpy(best, box, sizeof best);
            }
        }
    }
    for (size_t d = 0; d < shape->count && best[0] != 0; d++) {
        box_out[d] = best[d];
    }
    return best[0] != 0;
}

/* Number of chips of a whole pod, as a double, which cannot overflow. */
static double pod_chips(const ms_ints *shape) {
    double chips = 1;
    for (size_t d = 0; d < shape->count; d++) {
        chips *= shape->items[d];
    }
    return chips;
}

/* Check that the shape is given, has one to three sizes, and that no route inside a pod has too
 * many hops: half of each size at most. */
static void check_shape(ms_fabric_file *file, const ms_ints *shape) {
    int hops = 0;
    bool is_right = shape->count >= 1 && shape->count <= MS_TORUS_DIMENSIONS_MAX;
    for (size_t d = 0; d < shape->count && is_right; d++) {
        is_right = shape->items[d] >= 1 && shape->items[d] <= MS_PLATFORM_GPUS_MAX;
        hops += is_right ? shape->items[d] / 2 : 0;
    }
    if (ms_node_get(file->keys, "shape") == NULL) {
        ms_fabric_fault(file, "fabric.shape",
                        "required key is missing: chips of a pod by dimension, such as [16, 16, "
                        "16]");
    } else if (!is_right) {
        ms_fabric_fault(file, "fabric.shape",
                        "expected 1 to %d sizes of at least 1, such as [16, 16, 16]",
                        (int)MS_TORUS_DIMENSIONS_MAX);
    } else if (hops > MS_ROUTE_LINKS_MAX) {
        ms_fabric_fault(file, "fabric.shape", "routes of up to %d hops; at most %d are supported",
                        hops, (int)MS_ROUTE_LINKS_MAX);
    }
}

/* Check that the file has the tiers of a torus, NICs exactly where there is a second tier, and no
 * wiring of nodes. */
static void check_tiers(ms_fabric_file *file, const ms_platform *platform) {
    int tiers = platform->tier_count;
    ms_fabric_refuse_key(file, "node.wiring",
                         "a torus also joins the chips of a node, leave wiring out");
    if (tiers < 1 || tiers > 2) {
        ms_fabric_fault(file, "tiers",
                        "a torus has 1 or 2 tiers (between chips, and from a node to the network "
                        "between pods), got %d",
                        tiers);
    } else if (tiers == 2) {
        ms_fabric_check_nics(file, platform);
    } else if (platform->nics_per_node != 0) {
        ms_fabric_refuse_key(file, "node.nics", "needs a second tier, the network between pods");
    }
}

/* Check that the platform's chips are whole pods, or a box inside one, and that several pods have a
 * tier that connects them. */
static void check_pods(ms_fabric_file *file, const ms_ints *shape, const ms_platform *platform) {
    int per_node = platform->gpus_per_node;
    double chips = (double)platform->nodes * per_node;
    double pod = pod_chips(shape);
    int box[MS_TORUS_DIMENSIONS_MAX];
    bool is_whole = fmod(chips, pod) == 0;
    bool is_part = chips < pod && find_box(shape, (int)chips, box);
    if (!is_whole && !is_part) {
        ms_fabric_fault(file, "nodes",
                        "%d nodes of %d chips are neither whole pods of %.0f chips (%g nodes) nor "
                        "a box inside one",
                        platform->nodes, per_node, pod, pod / per_node);
    } else if (chips > pod && platform->tier_count < 2) {
        ms_fabric_fault(file, "nodes",
                        "%.0f pods, but no second tier joins them; a pod of %.0f chips has %g "
                        "nodes",
                        chips / pod, pod, pod / per_node);
    }
}

/* Set the sizes of a torus whose keys passed the checks. A platform with fewer chips than a pod is
 * one box within a pod (find_box). shape: sides of a whole pod. */
static void size_torus(const ms_ints *shape, const ms_platform *platform, ms_torus *out) {
    int chips = ms_platform_gpus(platform);
    int pod = (int)fmin(pod_chips(shape), MS_PLATFORM_GPUS_MAX);
    out->dimensions = (int)shape->count;
    for (int d = 0; d < MS_TORUS_DIMENSIONS_MAX; d++) {
        out->shape[d] = d < out->dimensions ? shape->items[d] : 1;
    }
    if (chips < pod) {
        find_box(shape, chips, out->shape);
    }
    out->chips = chips < pod ? chips : pod;
    out->pods = chips / out->chips;
    out->port_tier = platform->tier_count > 1 ? 1 : -1;
}

/* The fabric in words, such as "2 pods, each a torus of 16 x 16 x 16"; NULL when memory runs
 * out. */
static const char *describe(const ms_torus *torus, ms_arena *arena) {
    const char *text = torus->head.kind->name;
    for (int d = 0; d < torus->dimensions && text != NULL; d++) {
        text = ms_arena_printf(arena, "%s %s %d", text, d == 0 ? "of" : "x", torus->shape[d]);
    }
    return text == NULL || torus->pods == 1
               ? text
               : ms_arena_printf(arena, "%d pods, each a %s", torus->pods, text);
}

/* The checks report their faults through the file, so that one call reports all of them. */
ms_status ms_torus_read(ms_fabric_file *file, ms_arena *arena, ms_platform *platform) {
    torus_keys keys = {.shape = {.count = 0}};
    ms_status status = ms_fabric_read_keys(file, MS_TORUS_FIELDS, &keys, arena);
    if (status != MS_OK) {
        return status;
    }
    check_tiers(file, platform);
    check_shape(file, &keys.shape);
    if (file->status == MS_OK) { /* check_pods needs a valid shape */
        check_pods(file, &keys.shape, platform);
    }
    if (file->status != MS_OK) {
        return file->status;
    }
    ms_torus *torus = MS_NEW(arena, ms_torus, 1);
    if (torus == NULL) {
        return MS_E_NOMEM;
    }
    torus->head.kind = file->kind;
    size_torus(&keys.shape, platform, torus);
    platform->topology = &torus->head;
    platform->fabric = describe(torus, arena);
    return platform->fabric == NULL ? MS_E_NOMEM : MS_OK;
}
