/* Rings through groups that lie along whole dimensions of a torus.
 *
 * The members' places along each dimension are numbered 0..n-1; where they stand evenly all round,
 * neighbours (the last and the first as well) are the same hops apart, and the group is a torus of
 * its own. In a torus of m x n, m a multiple of n, (i, (j - i) mod n) for i = 0..m-1 and j = 0..n-1
 * visits all by single steps; what it leaves of the edges is often one cycle as well. Three
 * dimensions are taken as two, the cycle through the first two being one of m places. */
#include <stdlib.h>
#include <string.h>

#include "cluster/platform/torus/torus.h"

/* A group as a box of places. */
typedef struct torus_box {
    const ms_torus *torus;
    int pod;
    int *places[MS_TORUS_DIMENSIONS_MAX]; /* [counts[d]] coordinates, ascending */
    int counts[MS_TORUS_DIMENSIONS_MAX];
    int members;
} torus_box;

/* A closed way through places 0..count-1. */
typedef struct cycle {
    int *order; /* [count]; NULL: there is none */
    int count;
} cycle;

static int compare_ints(const void *a, const void *b) {
    int left = *(const int *)a;
    int right = *(const int *)b;
    return (left > right) - (left < right);
}

/* Different coordinates of the members along a dimension. */
static ms_status gather(const int *gpus, int dimension, ms_arena *arena, torus_box *b) {
    int *all = MS_NEW(arena, int, b->members);
    int coordinates[MS_TORUS_DIMENSIONS_MAX];
    if (all == NULL) {
        return MS_E_NOMEM;
    }
    for (int i = 0; i < b->members; i++) {
        ms_torus_coordinates(b->torus, gpus[i], coordinates);
        all[i] = coordinates[dimension];
    }
    qsort(all, (size_t)b->members, sizeof *all, compare_ints);
    int count = 0;
    for (int i = 0; i < b->members; i++) {
        if (i == 0 || all[i] != all[count - 1]) {
            all[count++] = all[i];
        }
    }
    b->places[dimension] = all;
    b->counts[dimension] = count;
    return MS_OK;
}

/* Evenly apart all round the dimension, at least three of them (two have but one edge). */
static bool is_round(const torus_box *b, int dimension) {
    int size = b->torus->shape[dimension];
    int count = b->counts[dimension];
    if (count == 1) {
        return true;
    }
    for (int i = 1; i < count; i++) {
        if ((b->places[dimension][i] - b->places[dimension][i - 1]) * count != size) {
            return false;
        }
    }
    return count >= 3;
}

/* All members in one pod, each combination of their coordinates there: the counts multiply to the
 * members, who do not repeat. */
static ms_status find_box(const int *gpus, ms_arena *arena, torus_box *b, bool *is_box_out) {
    int product = 1;
    bool is_box = true;
    b->pod = ms_torus_pod(b->torus, gpus[0]);
    for (int i = 0; i < b->members; i++) {
        is_box = is_box && ms_torus_pod(b->torus, gpus[i]) == b->pod;
    }
    for (int d = 0; d < MS_TORUS_DIMENSIONS_MAX && is_box; d++) {
        ms_status status = gather(gpus, d, arena, b);
        if (status != MS_OK) {
            return status;
        }
        product *= b->counts[d];
        is_box = is_round(b, d);
    }
    *is_box_out = is_box && product == b->members;
    return MS_OK;
}

/* (i, (j - i) mod n), as i * n + that; m a multiple of n. */
static void wind(int m, int n, int *order) {
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            order[i * n + j] = i * n + ((j - i) % n + n) % n;
        }
    }
}

/* Up one row and down the next: a cycle where the rows are even in number. */
static void snake(int m, int n, int *order) {
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            order[i * n + j] = i * n + (i % 2 == 0 ? j : n - 1 - j);
        }
    }
}

/* Place next to one in a torus of m x n, by way 0..3: +i, -i, +j, -j. */
static int step(int m, int n, int place, int way) {
    int i = place / n;
    int j = place % n;
    if (way < 2) {
        i = (i + (way == 0 ? 1 : m - 1)) % m;
    } else {
        j = (j + (way == 2 ? 1 : n - 1)) % n;
    }
    return i * n + j;
}

/* The edges that a cycle leaves, as a cycle: from each place the way not used and not come by. */
static ms_status complement(int m, int n, const cycle *used, ms_arena *arena, cycle *out) {
    int count = m * n;
    int(*ends)[2] = (int(*)[2])ms_arena_alloc(arena, (size_t)count, sizeof *ends);
    int *order = MS_NEW(arena, int, count);
    if (ends == NULL || order == NULL) {
        return MS_E_NOMEM;
    }
    for (int i = 0; i < count; i++) {
        ends[used->order[i]][0] = used->order[(i + 1) % count];
        ends[used->order[i]][1] = used->order[(i + count - 1) % count];
    }
    int at = 0;
    int before = -1;
    int visited = 0;
    do {
        int next = -1;
        for (int way = 0; way < 4; way++) {
            int to = step(m, n, at, way);
            if (to != ends[at][0] && to != ends[at][1] && to != before) {
                next = to;
                break;
            }
        }
        order[visited++] = at;
        before = at;
        at = next;
    } while (at > 0 && visited < count);
    *out = (cycle){.order = at == 0 && visited == count ? order : NULL, .count = count};
    return MS_OK;
}

/* Up to two cycles without a common edge through a torus of m x n. */
static ms_status cycles_of(int m, int n, ms_arena *arena, cycle out[2]) {
    int *order = MS_NEW(arena, int, m *n);
    if (order == NULL) {
        return MS_E_NOMEM;
    }
    out[0] = (cycle){.order = order, .count = m * n};
    out[1] = (cycle){.count = m * n};
    if (n == 1 || m == 1) {
        snake(1, m * n, order);
    } else if (m % n == 0) {
        wind(m, n, order);
        return complement(m, n, &out[0], arena, &out[1]);
    } else if (m % 2 == 0) {
        snake(m, n, order);
    } else {
        out[0].order = NULL;
    }
    return MS_OK;
}

/* Find the cycles as above, with rows and columns exchanged where that gives more cycles. */
static ms_status best_cycles(int m, int n, ms_arena *arena, cycle out[2], bool *is_swapped_out) {
    bool is_swapped = m % n != 0 && (n % m == 0 || m % 2 != 0);
    *is_swapped_out = is_swapped;
    ms_status status = is_swapped ? cycles_of(n, m, arena, out) : cycles_of(m, n, arena, out);
    for (int c = 0; c < 2 && is_swapped && status == MS_OK; c++) {
        for (int i = 0; i < m * n && out[c].order != NULL; i++) {
            int place = out[c].order[i];
            out[c].order[i] = place % m * n + place / m;
        }
    }
    return status;
}

/* Cycles through the whole box, as numbers that count z fastest and x slowest. The last dimension
 * is set against the cycle through the first two. */
static ms_status box_cycles(const torus_box *b, ms_arena *arena, cycle out[2]) {
    bool is_swapped;
    cycle plane[2];
    int rows = b->counts[0] * b->counts[1];
    int columns = b->counts[2];
    ms_status status = best_cycles(b->counts[0], b->counts[1], arena, plane, &is_swapped);
    if (status != MS_OK || plane[0].order == NULL || columns == 1) {
        out[0] = plane[0];
        out[1] = plane[1];
        return status;
    }
    status = best_cycles(rows, columns, arena, out, &is_swapped);
    for (int c = 0; c < 2 && status == MS_OK; c++) {
        for (int i = 0; i < rows * columns && out[c].order != NULL; i++) {
            int place = out[c].order[i];
            out[c].order[i] = plane[0].order[place / columns] * columns + place % columns;
        }
    }
    return status;
}

/* GPU at a place of the box. */
static int gpu_at(const torus_box *b, int place) {
    int coordinates[MS_TORUS_DIMENSIONS_MAX];
    for (int d = MS_TORUS_DIMENSIONS_MAX - 1; d >= 0; d--) {
        coordinates[d] = b->places[d][place % b->counts[d]];
        place /= b->counts[d];
    }
    return ms_torus_chip(b->torus, b->pod, coordinates);
}

/* Each cycle both ways: a link has one direction. */
static ms_status write_orders(const torus_box *b, const cycle *cycles, ms_arena *arena,
                              ms_ring_orders *out) {
    int rings = cycles[0].order == NULL ? 0 : cycles[1].order == NULL ? 2 : 4;
    if (rings == 0) {
        *out = (ms_ring_orders){.rings = 0};
        return MS_OK;
    }
    int *gpus = MS_NEW(arena, int, (size_t)rings *(size_t)b->members);
    if (gpus == NULL) {
        return MS_E_NOMEM;
    }
    for (int ring = 0; ring < rings; ring++) {
        for (int i = 0; i < b->members; i++) {
            int at = ring % 2 == 0 ? i : b->members - 1 - i;
            gpus[ring * b->members + i] = gpu_at(b, cycles[ring / 2].order[at]);
        }
    }
    *out = (ms_ring_orders){.rings = rings, .gpus = gpus};
    return MS_OK;
}

ms_status ms_torus_rings(const ms_platform *platform, const int *gpus, int members, ms_arena *arena,
                         ms_ring_orders *orders_out) {
    torus_box b = {.torus = ms_torus_of(platform), .members = members};
    bool is_box = false;
    cycle cycles[2] = {{.order = NULL}, {.order = NULL}};
    ms_status status = find_box(gpus, arena, &b, &is_box);
    if (status == MS_OK && is_box) {
        status = box_cycles(&b, arena, cycles);
    }
    return status == MS_OK ? write_orders(&b, cycles, arena, orders_out) : status;
}
