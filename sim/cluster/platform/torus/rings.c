/* Rings through a group of chips that lies along whole dimensions of a torus (ms_platform_rings),
 * such that no two rings use the same link.
 *
 * The members' different coordinates along each dimension are numbered as positions 0..n-1. Where
 * they are evenly spaced all round, neighbouring positions (also the last and the first) are
 * equally many hops apart, so the group is a torus of its own. In a torus of m x n, where m is a
 * multiple of n, the sequence (i, (j - i) mod n) for i = 0..m-1 and j = 0..n-1 is a cycle of single
 * steps; the edges that it does not use often are one cycle as well. Three dimensions are treated
 * as two: a cycle through the first two is one dimension of m positions. */
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cluster/platform/torus/torus.h"

/* A group whose members are all combinations of some coordinates per dimension. */
typedef struct torus_box {
    const ms_torus *torus;
    int pod;
    int *coordinates[MS_TORUS_DIMENSIONS_MAX]; /* [counts[d]] different coordinates, ascending */
    int counts[MS_TORUS_DIMENSIONS_MAX];
    int members;
} torus_box;

/* A cycle through all positions 0..count-1 of a torus. */
typedef struct cycle {
    int *order; /* [count] positions in the order of the cycle; NULL: there is no cycle */
    int count;
} cycle;

/* List the different coordinates of the members along a dimension, ascending, in
 * coordinates[dimension] and counts[dimension] of the box.  Returns MS_OK; MS_E_NOMEM. */
static ms_status list_coordinates(const int *gpus, int dimension, ms_arena *arena, torus_box *box) {
    int *all = MS_NEW(arena, int, box->members);
    int coordinates[MS_TORUS_DIMENSIONS_MAX];
    if (all == NULL) {
        return MS_E_NOMEM;
    }
    for (int i = 0; i < box->members; i++) {
        ms_torus_coordinates(box->torus, gpus[i], coordinates);
        all[i] = coordinates[dimension];
    }
    qsort(all, (size_t)box->members, sizeof *all, ms_compare_ints);
    int count = 0;
    for (int i = 0; i < box->members; i++) {
        if (i == 0 || all[i] != all[count - 1]) {
            all[count++] = all[i];
        }
    }
    box->coordinates[dimension] = all;
    box->counts[dimension] = count;
    return MS_OK;
}

/* Whether the coordinates along a dimension are evenly spaced all round it and at least three, as
 * two would have one edge only; or whether there is a single one. */
static bool is_round(const torus_box *box, int dimension) {
    int size = box->torus->shape[dimension];
    int count = box->counts[dimension];
    if (count == 1) {
        return true;
    }
    for (int i = 1; i < count; i++) {
        if ((box->coordinates[dimension][i] - box->coordinates[dimension][i - 1]) * count != size) {
            return false;
        }
    }
    return count >= 3;
}

/* Find whether the group is a box that rings can run round: all members are in one pod, and they
 * are all combinations of their coordinates. Members do not repeat, so it suffices that the counts
 * multiply to their number.  box: pod, coordinates and counts are set here.  Returns MS_OK;
 * MS_E_NOMEM. */
static ms_status find_box(const int *gpus, ms_arena *arena, torus_box *box, bool *is_box_out) {
    int product = 1;
    bool is_box = true;
    box->pod = ms_torus_pod(box->torus, gpus[0]);
    for (int i = 0; i < box->members; i++) {
        is_box = is_box && ms_torus_pod(box->torus, gpus[i]) == box->pod;
    }
    for (int d = 0; d < MS_TORUS_DIMENSIONS_MAX && is_box; d++) {
        ms_status status = list_coordinates(gpus, d, arena, box);
        if (status != MS_OK) {
            return status;
        }
        product *= box->counts[d];
        is_box = is_round(box, d);
    }
    *is_box_out = is_box && product == box->members;
    return MS_OK;
}

/* List the cycle (i, (j - i) mod n) through a torus of m x n, as positions i * n + j; m is a
 * multiple of n, which closes it.  order: [m * n]. */
static void diagonal_cycle(int m, int n, int *order) {
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            order[i * n + j] = i * n + ((j - i) % n + n) % n;
        }
    }
}

/* List the cycle up one row and down the next through a torus of m x n; it closes where m is even,
 * or 1. order: [m * n]. */
static void row_cycle(int m, int n, int *order) {
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            order[i * n + j] = i * n + (i % 2 == 0 ? j : n - 1 - j);
        }
    }
}

/* The position next to a position in a torus of m x n.  way: 0 to 3 for i + 1, i - 1, j + 1, j - 1.
 */
static int neighbour_of(int m, int n, int position, int way) {
    int i = position / n;
    int j = position % n;
    if (way < 2) {
        i = (i + (way == 0 ? 1 : m - 1)) % m;
    } else {
        j = (j + (way == 2 ? 1 : n - 1)) % n;
    }
    return i * n + j;
}

/* List the edges that a cycle does not use, as a second cycle: each position has two such edges,
 * and the walk arrives by one of them and leaves by the other.  out->order: NULL where these edges
 * are several shorter cycles. */
static ms_status complement(int m, int n, const cycle *used, ms_arena *arena, cycle *out) {
    int count = m * n;
    int(*used_neighbours)[2] =
        (int(*)[2])ms_arena_alloc(arena, (size_t)count, sizeof *used_neighbours);
    int *order = MS_NEW(arena, int, count);
    if (used_neighbours == NULL || order == NULL) {
        return MS_E_NOMEM;
    }
    for (int i = 0; i < count; i++) {
        used_neighbours[used->order[i]][0] = used->order[(i + 1) % count];
        used_neighbours[used->order[i]][1] = used->order[(i + count - 1) % count];
    }
    int position = 0;
    int before = -1;
    int visited = 0;
    do {
        int next = -1;
        for (int way = 0; way < 4; way++) {
            int to = neighbour_of(m, n, position, way);
            if (to != used_neighbours[position][0] && to != used_neighbours[position][1] &&
                to != before) {
                next = to;
                break;
            }
        }
        order[visited++] = position;
        before = position;
        position = next;
    } while (position > 0 && visited < count);
    *out = (cycle){.order = position == 0 && visited == count ? order : NULL, .count = count};
    return MS_OK;
}

/* Find up to two cycles without a common edge through a torus of m x n: one or two where m is a
 * multiple of n, one where m is even or a side is 1, else none. out: a cycle that does not exist
 * has order NULL. */
static ms_status cycles_of(int m, int n, ms_arena *arena, cycle out[2]) {
    int *order = MS_NEW(arena, int, m *n);
    if (order == NULL) {
        return MS_E_NOMEM;
    }
    out[0] = (cycle){.order = order, .count = m * n};
    out[1] = (cycle){.count = m * n};
    if (n == 1 || m == 1) {
        row_cycle(1, m * n, order);
    } else if (m % n == 0) {
        diagonal_cycle(m, n, order);
        return complement(m, n, &out[0], arena, &out[1]);
    } else if (m % 2 == 0) {
        row_cycle(m, n, order);
    } else {
        out[0].order = NULL;
    }
    return MS_OK;
}

/* Find the cycles of cycles_of, with rows and columns exchanged where that gives more cycles: where
 * n is a multiple of m, or m is odd and no multiple of n. The positions in `out` are those of m x n
 * in either case. */
static ms_status best_cycles(int m, int n, ms_arena *arena, cycle out[2], bool *is_swapped_out) {
    bool is_swapped = m % n != 0 && (n % m == 0 || m % 2 != 0);
    *is_swapped_out = is_swapped;
    ms_status status = is_swapped ? cycles_of(n, m, arena, out) : cycles_of(m, n, arena, out);
    for (int c = 0; c < 2 && is_swapped && status == MS_OK; c++) {
        for (int i = 0; i < m * n && out[c].order != NULL; i++) {
            int position = out[c].order[i];
            out[c].order[i] = position % m * n + position / m;
        }
    }
    return status;
}

/* Find cycles through the whole box, as positions that count z fastest and x slowest: cycles of the
 * torus whose rows are the cycle through the first two dimensions, and whose columns are the
 * third. */
static ms_status box_cycles(const torus_box *box, ms_arena *arena, cycle out[2]) {
    bool is_swapped;
    cycle plane[2]; /* through the first two dimensions; only plane[0] is used for three */
    int rows = box->counts[0] * box->counts[1];
    int columns = box->counts[2];
    ms_status status = best_cycles(box->counts[0], box->counts[1], arena, plane, &is_swapped);
    if (status != MS_OK || plane[0].order == NULL || columns == 1) {
        out[0] = plane[0];
        out[1] = plane[1];
        return status;
    }
    status = best_cycles(rows, columns, arena, out, &is_swapped);
    for (int c = 0; c < 2 && status == MS_OK; c++) {
        for (int i = 0; i < rows * columns && out[c].order != NULL; i++) {
            int position = out[c].order[i];
            out[c].order[i] = plane[0].order[position / columns] * columns + position % columns;
        }
    }
    return status;
}

/* The GPU at a position of the box. */
static int gpu_at(const torus_box *box, int position) {
    int coordinates[MS_TORUS_DIMENSIONS_MAX];
    for (int d = MS_TORUS_DIMENSIONS_MAX - 1; d >= 0; d--) {
        coordinates[d] = box->coordinates[d][position % box->counts[d]];
        position /= box->counts[d];
    }
    return ms_torus_chip(box->torus, box->pod, coordinates);
}

/* Write the GPUs of the rings: each cycle in both directions, which use different links. */
static ms_status write_orders(const torus_box *box, const cycle *cycles, ms_arena *arena,
                              ms_ring_orders *out) {
    int rings = cycles[0].order == NULL ? 0 : cycles[1].order == NULL ? 2 : 4;
    if (rings == 0) {
        *out = (ms_ring_orders){.rings = 0};
        return MS_OK;
    }
    int *gpus = MS_NEW(arena, int, (size_t)rings *(size_t)box->members);
    if (gpus == NULL) {
        return MS_E_NOMEM;
    }
    for (int ring = 0; ring < rings; ring++) {
        for (int i = 0; i < box->members; i++) {
            int at = ring % 2 == 0 ? i : box->members - 1 - i;
            gpus[ring * box->members + i] = gpu_at(box, cycles[ring / 2].order[at]);
        }
    }
    *out = (ms_ring_orders){.rings = rings, .gpus = gpus};
    return MS_OK;
}

/* Only a group that fills a box of one pod has rings; see find_box and box_cycles. */
ms_status ms_torus_rings(const ms_platform *platform, const int *gpus, int members, ms_arena *arena,
                         ms_ring_orders *orders_out) {
    torus_box box = {.torus = ms_torus_of(platform), .members = members};
    bool is_box = false;
    cycle cycles[2] = {{.order = NULL}, {.order = NULL}};
    ms_status status = find_box(gpus, arena, &box, &is_box);
    if (status == MS_OK && is_box) {
        status = box_cycles(&box, arena, cycles);
    }
    return status == MS_OK ? write_orders(&box, cycles, arena, orders_out) : status;
}
