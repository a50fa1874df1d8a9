/* Steps of a redistribution on a platform: by themselves, and all groups of their axis at once. */
#include <math.h>

#include "collective/reshard_time.h"
#include "platform_fixture.h"

static const char *const NAMES[] = {"dp", "tp"};
static const double SIZE_B = 1 << 20;

static ms_mesh mesh_of(platform_fixture *f, int dp, int tp) {
    ms_mesh mesh;
    const int sizes[] = {dp, tp};
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, sizes, 2, &f->diag), MS_OK);
    return mesh;
}

static ms_reshard_time time_of(platform_fixture *f, const ms_mesh *mesh, ms_coll_kind kind,
                               int axis) {
    const ms_reshard_step step = {.kind = kind, .axis = axis, .size_B = SIZE_B};
    ms_reshard_time time = {.tier = 99};
    cr_assert_eq(ms_reshard_step_time(&f->platform, mesh, &step, &f->diag, &time), MS_OK);
    return time;
}

/* Every GPU has a port of its own: groups do not meet. */
Test(reshard_time, groups_apart_take_the_time_of_one) {
    platform_fixture f;
    fixture_platform(&f, "flat", NULL);
    ms_mesh mesh = mesh_of(&f, 4, 4);
    for (int axis = 0; axis < 2; axis++) {
        ms_reshard_time time = time_of(&f, &mesh, MS_COLL_ALL_GATHER, axis);
        cr_assert_float_eq(time.alone_s, 3 * (1e-6 + SIZE_B / 4 / 25e9), 1e-15);
        cr_assert_float_eq(time.together_s, time.alone_s, 1e-18);
        cr_assert_eq(time.tier, 0);
    }
    fixture_release(&f);
}

/* Nodes of eight GPUs and one NIC: eight groups across two nodes share it, phase by phase. */
Test(reshard_time, groups_share_the_links_they_meet_on) {
    platform_fixture f;
    fixture_platform(&f, "dgx-a100",
                     "{library: none, nodes: 2, node: {nics: 1}, tiers: {rail: {latency: 0 s}}}");
    ms_mesh mesh = mesh_of(&f, 2, 8);
    ms_reshard_time gather = time_of(&f, &mesh, MS_COLL_ALL_GATHER, 0);
    double alone_s = SIZE_B / 2 / (25e9 * 0.92);
    cr_assert_float_eq(gather.alone_s, alone_s, 1e-15);
    cr_assert_float_eq(gather.together_s, 8 * alone_s, 1e-15);
    ms_reshard_time reduce = time_of(&f, &mesh, MS_COLL_ALL_REDUCE, 0);
    cr_assert_float_eq(reduce.together_s, 16 * alone_s, 1e-15);
    ms_reshard_time inside = time_of(&f, &mesh, MS_COLL_ALL_GATHER, 1);
    cr_assert_lt(inside.together_s, gather.together_s, "nvlink is each GPU's own");
    cr_assert_eq(inside.tier, 0);
    cr_assert_eq(gather.tier, 1);
    fixture_release(&f);
}

/* Ranks on other GPUs: a mesh that lies inside nodes takes the time of one that does by itself. */
Test(reshard_time, ranks_follow_their_devices) {
    static const int DEVICES[] = {0, 8, 1, 9, 2, 10, 3, 11};
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", "{library: none, nodes: 2}");
    ms_mesh plain = mesh_of(&f, 2, 4);
    ms_mesh moved = mesh_of(&f, 4, 2);
    cr_assert_eq(ms_mesh_set_devices(&moved, DEVICES, 8, &f.arena, &f.diag), MS_OK);
    ms_reshard_time inside = time_of(&f, &plain, MS_COLL_ALL_TO_ALL, 1);
    ms_reshard_time same = time_of(&f, &moved, MS_COLL_ALL_TO_ALL, 0);
    cr_assert_float_eq(same.alone_s, inside.alone_s, 1e-18);
    cr_assert_eq(time_of(&f, &moved, MS_COLL_ALL_TO_ALL, 1).tier, 1, "across the two nodes");
    fixture_release(&f);
}

Test(reshard_time, what_moves_nothing_takes_no_time) {
    platform_fixture f;
    fixture_platform(&f, "flat", NULL);
    ms_mesh mesh = mesh_of(&f, 2, 2);
    ms_reshard_time time = time_of(&f, &mesh, MS_COLL_NONE, 0);
    cr_assert_float_eq(time.alone_s + time.together_s, 0.0, 0.0);
    cr_assert_eq(time.tier, -1);
    fixture_release(&f);
}

Test(reshard_time, too_many_for_pairs_are_refused) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", "{nodes: 1024, routing: ecmp}");
    ms_mesh mesh = mesh_of(&f, 8192, 1);
    const ms_reshard_step step = {.kind = MS_COLL_ALL_TO_ALL, .axis = 0, .size_B = SIZE_B};
    ms_reshard_time time;
    cr_assert_eq(ms_reshard_step_time(&f.platform, &mesh, &step, &f.diag, &time), MS_E_RANGE);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "8192"), "%s",
                       ms_buffer_text(&f.messages));
    fixture_release(&f);
}
