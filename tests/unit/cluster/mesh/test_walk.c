/* Walks over all meshes of a number of ranks, counted by hand. */
#include <criterion/criterion.h>

#include "cluster/mesh/mesh.h"

typedef struct seen {
    int ranks, visits, largest_tp;
} seen;

static ms_status count(void *context, const ms_axis_sizes *sizes) {
    seen *s = context;
    cr_assert_eq(sizes->tp * sizes->pp * sizes->cp * sizes->ep * sizes->dp, s->ranks);
    s->visits++;
    s->largest_tp = sizes->tp > s->largest_tp ? sizes->tp : s->largest_tp;
    return MS_OK;
}

static ms_status stop(void *context, const ms_axis_sizes *sizes) {
    (void)sizes;
    ((seen *)context)->visits++;
    return MS_E_NOMEM;
}

/* 8 = 2^3: three factors of 2 on five axes, C(7, 4) ways. 6 = 2 x 3: the 2 on any of five axes, the
 * 3 on pp or dp; where tp may be 3, the 2 on the four others besides. */
Test(mesh_walk, visits_every_mesh_once) {
    const ms_axis_sizes most = {.tp = 64, .pp = 64, .cp = 64, .ep = 64};
    const struct {
        ms_mesh_walk walk;
        int visits, largest_tp;
    } ROWS[] = {
        {{.ranks = 8, .most = most}, 35, 8},
        {{.ranks = 6, .most = most}, 10, 2},
        {{.ranks = 6, .most = most, .beside = {.tp = 3}}, 14, 3},
        {{.ranks = 8, .most = {.tp = 2, .pp = 1, .cp = 1, .ep = 1}}, 2, 2},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        seen s = {.ranks = ROWS[i].walk.ranks};
        cr_assert_eq(ms_mesh_walk_all(&ROWS[i].walk, count, &s), MS_OK);
        cr_assert_eq(s.visits, ROWS[i].visits, "row %zu: %d visits", i, s.visits);
        cr_assert_eq(s.largest_tp, ROWS[i].largest_tp, "row %zu", i);
    }
}

Test(mesh_walk, a_fault_ends_it) {
    const ms_mesh_walk walk = {.ranks = 8, .most = {.tp = 8, .pp = 8, .cp = 8, .ep = 8}};
    seen s = {.ranks = 8};
    cr_assert_eq(ms_mesh_walk_all(&walk, stop, &s), MS_E_NOMEM);
    cr_assert_eq(s.visits, 1);
}
