/* All ranks learn one number: a tree of the longest ways. */
#include "meshsim/coll_class.h"
#include "platform_fixture.h"

static ms_mesh mesh_of(platform_fixture *f, int ranks) {
    static const char *const NAMES[] = {"dp"};
    ms_mesh mesh;
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, &ranks, 1, &f->diag), MS_OK);
    return mesh;
}

/* Half the ranks of a node, all of it, two nodes: the levels of the tree, each as long as the
 * longest way between any two of them. */
Test(world_sum, levels_as_long_as_the_longest_way) {
    static const struct {
        int ranks, levels, tier;
    } CASES[] = {{1, 0, -1}, {2, 1, 0}, {4, 2, 0}, {5, 3, 0}, {8, 3, 0}, {9, 4, 1}, {16, 4, 1}};
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", NULL);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_mesh mesh = mesh_of(&f, CASES[i].ranks);
        double longest_s = 0.0;
        for (int a = 0; a < mesh.ranks; a++) {
            for (int b = 0; b < mesh.ranks; b++) {
                ms_route route;
                ms_platform_route(&f.platform, a, b, &route);
                longest_s = route.latency_s > longest_s ? route.latency_s : longest_s;
            }
        }
        int tier = 99;
        double time_s = ms_coll_world_sum_s(&f.platform, &mesh, &tier);
        cr_assert_float_eq(time_s, 2 * CASES[i].levels * longest_s, 1e-15, "%d", CASES[i].ranks);
        cr_assert_eq(tier, CASES[i].tier, "%d ranks: tier %d", CASES[i].ranks, tier);
    }
    fixture_release(&f);
}

/* A torus has its longest way between chips that are far from rank 0, and from each other. */
Test(world_sum, longest_way_through_a_torus) {
    platform_fixture f;
    const ms_platform *platform = fixture_platform(&f, "tpu-v4", NULL);
    ms_mesh mesh = mesh_of(&f, 64);
    double longest_s = 0.0;
    for (int a = 0; a < 64; a++) {
        for (int b = 0; b < 64; b++) {
            ms_route route;
            ms_platform_route(platform, a, b, &route);
            longest_s = route.latency_s > longest_s ? route.latency_s : longest_s;
        }
    }
    int tier = 99;
    cr_assert_float_eq(ms_coll_world_sum_s(platform, &mesh, &tier), 12 * longest_s, 1e-15);
    fixture_release(&f);
}

Test(world_sum, ranks_follow_their_devices) {
    static const int DEVICES[] = {8, 9, 10, 11};
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", NULL);
    ms_mesh mesh = mesh_of(&f, 4);
    int tier = 99;
    double near_s = ms_coll_world_sum_s(&f.platform, &mesh, &tier);
    cr_assert_eq(ms_mesh_set_devices(&mesh, DEVICES, 4, &f.arena, &f.diag), MS_OK);
    cr_assert_float_eq(ms_coll_world_sum_s(&f.platform, &mesh, &tier), near_s, 1e-18);
    cr_assert_eq(tier, 0, "another node, still one");
    fixture_release(&f);
}
