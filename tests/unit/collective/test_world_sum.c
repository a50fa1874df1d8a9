/* All ranks learn the sum of one number: an all-reduce of 4 bytes among them. */
#include "collective/coll_class.h"
#include "plan_fixture.h"
#include "platform_fixture.h"

static ms_mesh mesh_of(platform_fixture *f, int ranks) {
    static const char *const NAMES[] = {"dp"};
    ms_mesh mesh;
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, &ranks, 1, &f->diag), MS_OK);
    return mesh;
}

static ms_world_sum sum_of(platform_fixture *f, const ms_mesh *mesh, ms_coll_algorithm algorithm) {
    ms_coll_choices asked = {.protocol = MS_PROTOCOL_AUTO};
    ms_world_sum sum;
    asked.of[MS_COLL_ALL_REDUCE] = algorithm;
    cr_assert_eq(ms_coll_world_sum(&f->platform, mesh, &asked, &sum), MS_OK);
    return sum;
}

/* The 2,048 ranks of two sites: NCCL's tree crosses the WAN twice on its way up and twice down, at
 * 10.5 ms each, however many levels the tree has; 42.1 ms with what nodes and rails add. */
Test(world_sum, two_sites_pay_four_ways_over_the_wan) {
    platform_fixture f;
    fixture_platform(&f, "two-sites", NULL);
    ms_mesh mesh = mesh_of(&f, 2048);
    cr_assert_float_eq(sum_of(&f, &mesh, MS_ALGORITHM_AUTO).time_s, 42.1e-3, 0.05e-3);
    fixture_release(&f);
}

/* Whatever the ranks and the platform, the time of that all-reduce. */
Test(world_sum, is_an_all_reduce_of_four_bytes) {
    static const struct {
        const char *platform;
        int ranks;
    } ROWS[] = {{"dgx-a100", 2},   {"dgx-a100", 8},     {"dgx-a100", 24}, {"dgx-h100", 256},
                {"two-sites", 64}, {"gb200-nvl72", 72}, {"flat", 100},    {"mi300x", 16},
                {"tpu-v4", 64},    {"h800", 5}};
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        platform_fixture f;
        fixture_platform(&f, ROWS[i].platform, NULL);
        ms_mesh mesh = mesh_of(&f, ROWS[i].ranks);
        int gpus[256];
        for (int rank = 0; rank < ROWS[i].ranks; rank++) {
            gpus[rank] = rank;
        }
        ms_coll_plan plan;
        ms_coll_request request = {
            .kind = MS_COLL_ALL_REDUCE, .gpus = gpus, .members = ROWS[i].ranks, .size_B = 4};
        cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_OK);
        ms_world_sum sum = sum_of(&f, &mesh, MS_ALGORITHM_AUTO);
        cr_assert_eq(sum.time_s, fixture_plan_time_s(&f, &plan), "%s", ROWS[i].platform);
        cr_assert(sum.algorithm == plan.algorithm && sum.protocol == plan.protocol &&
                      sum.tier == plan.tier && sum.size_B == 4 && sum.sent_B == plan.sent_B,
                  "%s", ROWS[i].platform);
        fixture_release(&f);
    }
}

/* A ring of 16 where the job asks for it: 30 steps of 1 us and of a sixteenth of the number at 25
 * GB/s. */
Test(world_sum, takes_the_algorithm_that_the_job_asks_for) {
    platform_fixture f;
    fixture_platform(&f, "flat", NULL);
    ms_mesh mesh = mesh_of(&f, 16);
    ms_world_sum ring = sum_of(&f, &mesh, MS_ALGORITHM_RING);
    cr_assert_float_eq(ring.time_s, 30 * (1e-6 + 4.0 / 16 / 25e9), 1e-15);
    cr_assert_eq(sum_of(&f, &mesh, MS_ALGORITHM_TREE).algorithm, MS_ALGORITHM_TREE);
    fixture_release(&f);
}

/* NVLS inside nodes does not reach all ranks of two of them: the library chooses. */
Test(world_sum, what_does_not_fit_all_ranks_is_chosen) {
    platform_fixture f;
    fixture_platform(&f, "dgx-h100", NULL);
    ms_mesh one = mesh_of(&f, 8), two = mesh_of(&f, 16);
    cr_assert_eq(sum_of(&f, &one, MS_ALGORITHM_NVLS).algorithm, MS_ALGORITHM_NVLS);
    cr_assert_eq(sum_of(&f, &two, MS_ALGORITHM_NVLS).time_s,
                 sum_of(&f, &two, MS_ALGORITHM_AUTO).time_s);
    fixture_release(&f);
}

Test(world_sum, ranks_follow_their_devices) {
    static const int DEVICES[] = {8, 9, 10, 11};
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", NULL);
    ms_mesh mesh = mesh_of(&f, 4);
    ms_world_sum here = sum_of(&f, &mesh, MS_ALGORITHM_AUTO);
    cr_assert_eq(ms_mesh_set_devices(&mesh, DEVICES, 4, &f.arena, &f.diag), MS_OK);
    ms_world_sum there = sum_of(&f, &mesh, MS_ALGORITHM_AUTO);
    cr_assert_float_eq(there.time_s, here.time_s, 1e-18);
    cr_assert_eq(there.tier, 0, "another node, still one");
    fixture_release(&f);
}

Test(world_sum, one_rank_knows_it) {
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", NULL);
    ms_mesh mesh = mesh_of(&f, 1);
    ms_world_sum sum = sum_of(&f, &mesh, MS_ALGORITHM_AUTO);
    cr_assert(sum.time_s == 0 && sum.tier == -1 && sum.sent_B == 0);
    fixture_release(&f);
}
