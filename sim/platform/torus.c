#include "platform/torus.h"

#include <stdlib.h>
#include <string.h>

static int side(const ms_ints *shape, size_t dimension) {
    return dimension < shape->count ? shape->items[dimension] : 1;
}

/* Whether box `a` is nearer to a cube than `b`: smaller longest side, then smaller second one. */
static bool is_rounder(const int *a, const int *b) {
    int sorted[2][MS_TORUS_DIMENSIONS_MAX];
    const int *boxes[2] = {a, b};
    for (int i = 0; i < 2; i++) {
        for (int d = 0; d < MS_TORUS_DIMENSIONS_MAX; d++) {
            int at = d;
            for (; at > 0 && sorted[i][at - 1] < boxes[i][d]; at--) {
                sorted[i][at] = sorted[i][at - 1];
            }
            sorted[i][at] = boxes[i][d];
        }
    }
    return sorted[0][0] < sorted[1][0] ||
           (sorted[0][0] == sorted[1][0] && sorted[0][1] < sorted[1][1]);
}

bool ms_torus_box(const ms_ints *shape, int chips, int *box_out) {
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

int ms_torus_pod(const ms_topology *topology, int chip) {
    return chip / topology->torus.chips;
}

void ms_torus_coordinates(const ms_topology *topology, int chip, int *coordinates_out) {
    int left = chip % topology->torus.chips;
    for (int d = 0; d < MS_TORUS_DIMENSIONS_MAX; d++) {
        coordinates_out[d] = left % topology->torus.shape[d];
        left /= topology->torus.shape[d];
    }
}

int ms_torus_chip(const ms_topology *topology, int pod, const int *coordinates) {
    int chip = pod;
    for (int d = MS_TORUS_DIMENSIONS_MAX - 1; d >= 0; d--) {
        chip = chip * topology->torus.shape[d] + coordinates[d];
    }
    return chip;
}

int ms_torus_neighbour(const ms_topology *topology, int chip, int dimension, int direction) {
    int coordinates[MS_TORUS_DIMENSIONS_MAX] = {0};
    int size = topology->torus.shape[dimension];
    ms_torus_coordinates(topology, chip, coordinates);
    coordinates[dimension] += direction == MS_LINK_UP ? 1 : size - 1;
    coordinates[dimension] %= size;
    return ms_torus_chip(topology, ms_torus_pod(topology, chip), coordinates);
}

/* Hops along a ring of `size`, above 0 where the way up is not longer. */
static int hops(int from, int to, int size) {
    int up = (to - from + size) % size;
    return 2 * up <= size ? up : up - size;
}

int ms_torus_distance(const ms_topology *topology, int from, int to) {
    int a[MS_TORUS_DIMENSIONS_MAX] = {0}, b[MS_TORUS_DIMENSIONS_MAX] = {0};
    int distance = 0;
    ms_torus_coordinates(topology, from, a);
    ms_torus_coordinates(topology, to, b);
    for (int d = 0; d < MS_TORUS_DIMENSIONS_MAX; d++) {
        distance += abs(hops(a[d], b[d], topology->torus.shape[d]));
    }
    return distance;
}

void ms_torus_route(const ms_platform *platform, int from, int to, ms_route *out) {
    const ms_topology *topology = ms_topology_of(platform);
    int a[MS_TORUS_DIMENSIONS_MAX] = {0}, b[MS_TORUS_DIMENSIONS_MAX] = {0};
    int at = from;
    ms_torus_coordinates(topology, from, a);
    ms_torus_coordinates(topology, to, b);
    for (int d = 0; d < topology->torus.dimensions; d++) {
        int left = hops(a[d], b[d], topology->torus.shape[d]);
        int direction = left > 0 ? MS_LINK_UP : MS_LINK_DOWN;
        for (int i = 0; i < abs(left); i++) {
            int pair = at * topology->torus.dimensions + d;
            out->links[out->count++] = ms_topology_link(platform, 0, pair, direction);
            at = ms_torus_neighbour(topology, at, d, direction);
        }
    }
    out->latency_s = out->count * platform->tiers[0].latency_s;
    out->tier = 0;
}
