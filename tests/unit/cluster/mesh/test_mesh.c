/* Axes, coordinates, groups. */
#include "mesh_check.h"
#include "mesh_fixture.h"

static ms_diag silent_diag(ms_buffer *messages) {
    ms_diag diag;
    ms_buffer_init(messages);
    ms_diag_init(&diag, fixture_keep, messages);
    return diag;
}

/* "{0, 4}{1, 5}" of an axis. */
static void groups_text(const ms_mesh *mesh, const char *axis_name, ms_buffer *out) {
    int axis = ms_mesh_axis(mesh, axis_name);
    cr_assert_geq(axis, 0);
    for (int i = 0; i < ms_mesh_group_count(mesh, axis); i++) {
        ms_group group = ms_mesh_group_at(mesh, axis, i);
        for (int m = 0; m < group.size; m++) {
            ms_buffer_printf(out, "%s%d", m == 0 ? "{" : ",", group.first + m * group.stride);
        }
        ms_buffer_puts(out, "}");
    }
}

typedef struct group_case {
    const char *names[3];
    int sizes[3];
    const char *axis;
    const char *groups;
} group_case;

/* Source: the groups of PyTorch's DeviceMesh (dp, pp, tp) and of Megatron-LM (pp, dp, tp) for 8
 * ranks. */
static const group_case GROUPS[] = {
    {{"dp", "pp", "tp"}, {2, 2, 2}, "tp", "{0,1}{2,3}{4,5}{6,7}"},
    {{"dp", "pp", "tp"}, {2, 2, 2}, "pp", "{0,2}{1,3}{4,6}{5,7}"},
    {{"dp", "pp", "tp"}, {2, 2, 2}, "dp", "{0,4}{1,5}{2,6}{3,7}"},
    {{"pp", "dp", "tp"}, {2, 2, 2}, "tp", "{0,1}{2,3}{4,5}{6,7}"},
    {{"pp", "dp", "tp"}, {2, 2, 2}, "dp", "{0,2}{1,3}{4,6}{5,7}"},
    {{"pp", "dp", "tp"}, {2, 2, 2}, "pp", "{0,4}{1,5}{2,6}{3,7}"},
    {{"dp", "pp", "tp"}, {2, 1, 4}, "pp", "{0}{1}{2}{3}{4}{5}{6}{7}"},
    {{"dp", "pp", "tp"}, {1, 1, 8}, "tp", "{0,1,2,3,4,5,6,7}"},
};

Test(mesh, groups_by_order) {
    for (size_t i = 0; i < sizeof GROUPS / sizeof GROUPS[0]; i++) {
        ms_buffer messages, text;
        ms_diag diag = silent_diag(&messages);
        ms_mesh mesh;
        cr_assert_eq(ms_mesh_init(&mesh, GROUPS[i].names, GROUPS[i].sizes, 3, &diag), MS_OK);
        ms_buffer_init(&text);
        groups_text(&mesh, GROUPS[i].axis, &text);
        cr_assert_str_eq(ms_buffer_text(&text), GROUPS[i].groups, "case %zu", i);
        ms_buffer_release(&text);
        ms_buffer_release(&messages);
    }
}

Test(mesh, counts_of_8x4x8) {
    static const char *const NAMES[] = {"dp", "pp", "tp"};
    static const int SIZES[] = {8, 4, 8};
    static const int COUNTS[] = {32, 64, 32};
    ms_buffer messages;
    ms_diag diag = silent_diag(&messages);
    ms_mesh mesh;
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, SIZES, 3, &diag), MS_OK);
    int all = 0;
    for (int axis = 0; axis < 3; axis++) {
        cr_assert_eq(ms_mesh_group_count(&mesh, axis), COUNTS[axis]);
        all += ms_mesh_group_count(&mesh, axis);
    }
    cr_assert_eq(all, 128);
    ms_group dp = mesh_group(&mesh, 0, 0);
    cr_assert(dp.first == 0 && dp.stride == 32 && dp.size == 8);
    ms_group pp = mesh_group(&mesh, 1, 0);
    cr_assert(pp.first == 0 && pp.stride == 8 && pp.size == 4);
    ms_buffer_release(&messages);
}

Test(mesh, axes_by_kind) {
    static const char *const NAMES[] = {"pp", "replica", "tp"};
    static const int SIZES[] = {3, 5, 4};
    ms_buffer messages;
    ms_diag diag = silent_diag(&messages);
    ms_mesh mesh;
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, SIZES, 3, &diag), MS_OK);
    cr_assert_eq(ms_mesh_size(&mesh, MS_AXIS_PP), 3);
    cr_assert_eq(ms_mesh_size(&mesh, MS_AXIS_OTHER), 5);
    cr_assert_eq(ms_mesh_size(&mesh, MS_AXIS_DP), 1);
    cr_assert_eq(ms_mesh_axis(&mesh, "dp"), -1);
    int rank = 2 * 20 + 3 * 4 + 1;
    cr_assert_eq(ms_mesh_coordinate(&mesh, rank, MS_AXIS_PP), 2);
    cr_assert_eq(ms_mesh_coordinate(&mesh, rank, MS_AXIS_OTHER), 3);
    cr_assert_eq(ms_mesh_coordinate(&mesh, rank, MS_AXIS_TP), 1);
    cr_assert_eq(ms_mesh_coordinate(&mesh, rank, MS_AXIS_DP), 0);
    cr_assert_eq(ms_mesh_neighbour(&mesh, rank, MS_AXIS_PP, 0), 3 * 4 + 1);
    cr_assert_eq(ms_mesh_neighbour(&mesh, rank, MS_AXIS_DP, 0), rank);
    ms_buffer_release(&messages);
}

typedef struct fault_case {
    const char *names[MS_MESH_AXES_MAX + 1];
    int sizes[MS_MESH_AXES_MAX + 1];
    int axes;
    const char *words[3]; /* all must stand in the message */
} fault_case;

static const fault_case FAULTS[] = {
    {{"dp", "dp"}, {2, 3}, 2, {"'dp' stands twice", "2", "3"}},
    {{"dp", ""}, {2, 3}, 2, {"axis 2 of 2", "no name"}},
    {{"dp", "tp"}, {2, 0}, 2, {"'tp'", "size 0", "at least 1"}},
    {{"dp", "tp"}, {2, -4}, 2, {"'tp'", "size -4"}},
    {{"dp", "tp"}, {4097, 4096}, 2, {"16777216", "4097", "4096"}},
    {{"dp", "tp"}, {2147483647, 2147483647}, 2, {"16777216", "2147483647"}},
    {{"a"}, {1}, 0, {"1 to 8", "got 0"}},
    {{"a", "b", "c", "d", "e", "f", "g", "h", "i"},
     {1, 1, 1, 1, 1, 1, 1, 1, 1},
     9,
     {"1 to 8", "got 9"}},
};

Test(mesh, faults_name_the_numbers) {
    for (size_t i = 0; i < sizeof FAULTS / sizeof FAULTS[0]; i++) {
        const fault_case *c = &FAULTS[i];
        ms_buffer messages;
        ms_diag diag = silent_diag(&messages);
        ms_mesh mesh = {.ranks = -7};
        cr_assert_eq(ms_mesh_init(&mesh, c->names, c->sizes, c->axes, &diag), MS_E_INPUT);
        cr_assert_eq(mesh.ranks, -7, "written in spite of a fault");
        cr_assert_eq(diag.errors, 1);
        for (size_t w = 0; w < 3 && c->words[w] != NULL; w++) {
            cr_assert_not_null(strstr(ms_buffer_text(&messages), c->words[w]), "case %zu: %s", i,
                               ms_buffer_text(&messages));
        }
        ms_buffer_release(&messages);
    }
}

Test(mesh, invariants_hold_on_random_meshes) {
    uint64_t seed = mesh_seed();
    ms_random random = {.state = seed};
    for (int i = 0; i < 300; i++) {
        ms_buffer messages;
        ms_diag diag = silent_diag(&messages);
        ms_mesh mesh;
        random_mesh(&random, 5000, &diag, &mesh);
        cr_assert_eq(mesh_check(&mesh, &diag), MS_OK, "seed %llu: %s", (unsigned long long)seed,
                     ms_buffer_text(&messages));
        ms_buffer_release(&messages);
    }
}

/* Independent of the check: mark members group by group; every rank is marked once per axis. */
Test(mesh, groups_partition_the_ranks) {
    uint64_t seed = mesh_seed();
    ms_random random = {.state = seed ^ 1};
    for (int i = 0; i < 100; i++) {
        ms_buffer messages;
        ms_diag diag = silent_diag(&messages);
        ms_mesh mesh;
        ms_arena arena;
        ms_arena_init(&arena);
        random_mesh(&random, 2000, &diag, &mesh);
        for (int axis = 0; axis < mesh.axes; axis++) {
            int *marks = MS_NEW(&arena, int, mesh.ranks);
            for (int g = 0; g < ms_mesh_group_count(&mesh, axis); g++) {
                ms_group group = ms_mesh_group_at(&mesh, axis, g);
                for (int m = 0; m < group.size; m++) {
                    marks[group.first + m * group.stride]++;
                }
            }
            for (int rank = 0; rank < mesh.ranks; rank++) {
                cr_assert_eq(marks[rank], 1, "seed %llu, rank %d", (unsigned long long)seed, rank);
                ms_group own = mesh_group(&mesh, axis, rank);
                int c[MS_MESH_AXES_MAX];
                ms_mesh_coordinates(&mesh, rank, c);
                cr_assert_eq(own.first + c[axis] * own.stride, rank);
            }
        }
        ms_arena_release(&arena);
        ms_buffer_release(&messages);
    }
}

Test(mesh, a_million_ranks) {
    static const char *const NAMES[] = {"pp", "dp", "cp", "tp"};
    static const int SIZES[] = {64, 256, 8, 8};
    ms_buffer messages;
    ms_diag diag = silent_diag(&messages);
    ms_mesh mesh;
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, SIZES, 4, &diag), MS_OK);
    cr_assert_eq(mesh.ranks, 1048576);
    cr_assert_eq(mesh_check(&mesh, &diag), MS_OK);
    ms_buffer_release(&messages);
}

Test(mesh, check_finds_what_is_broken) {
    static const char *const NAMES[] = {"dp", "pp", "tp"};
    static const int SIZES[] = {2, 3, 4};
    for (int fault = 0; fault < 3; fault++) {
        ms_buffer messages;
        ms_diag diag = silent_diag(&messages);
        ms_mesh mesh;
        cr_assert_eq(ms_mesh_init(&mesh, NAMES, SIZES, 3, &diag), MS_OK);
        if (fault == 0) {
            mesh.strides[1] = 3;
        } else if (fault == 1) {
            mesh.sizes[2] = 3;
        } else {
            mesh.ranks = 25;
        }
        cr_assert_eq(mesh_check(&mesh, &diag), MS_E_BUG, "fault %d", fault);
        cr_assert_eq(diag.errors, 1);
        ms_buffer_release(&messages);
    }
}

typedef struct tier_case {
    int sizes[3]; /* pp, dp, tp */
    const char *tiers[3];
} tier_case;

/* DGX A100 nodes of 8, units of 20: 8 GPUs share NVLink, 160 share leaf switches. */
static const tier_case TIERS[] = {
    {{2, 2, 2}, {"nvlink", "nvlink", "nvlink"}}, {{1, 1, 8}, {NULL, NULL, "nvlink"}},
    {{1, 1, 16}, {NULL, NULL, "rail"}},          {{4, 4, 8}, {"rail", "rail", "nvlink"}},
    {{2, 20, 8}, {"spine", "rail", "nvlink"}},   {{40, 1, 8}, {"spine", NULL, "nvlink"}},
};

Test(mesh, tiers_of_groups) {
    static const char *const NAMES[] = {"pp", "dp", "tp"};
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(&fixture, "dgx-a100", "{nodes: 40}");
    for (size_t i = 0; i < sizeof TIERS / sizeof TIERS[0]; i++) {
        ms_mesh mesh;
        cr_assert_eq(ms_mesh_init(&mesh, NAMES, TIERS[i].sizes, 3, &fixture.diag), MS_OK);
        for (int axis = 0; axis < 3; axis++) {
            ms_group group = mesh_group(&mesh, axis, 0);
            int tier = ms_mesh_group_tier(&mesh, &group, platform);
            if (TIERS[i].tiers[axis] == NULL) {
                cr_assert_eq(tier, -1);
            } else {
                cr_assert_str_eq(platform->tiers[tier].name, TIERS[i].tiers[axis], "case %zu %d", i,
                                 axis);
            }
        }
    }
    fixture_release(&fixture);
}

/* A table of devices stands between ranks and GPUs: members, groups and tiers follow it. */
Test(mesh, devices_of_ranks) {
    static const char *const NAMES[] = {"dp", "tp"};
    static const int SIZES[] = {2, 2};
    static const int DEVICES[] = {0, 8, 1, 9};
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(&fixture, "dgx-a100", "{nodes: 2}");
    ms_mesh mesh;
    int members[4];
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, SIZES, 2, &fixture.diag), MS_OK);
    int count =
        ms_mesh_members(&mesh, MS_AXIS_BIT(MS_AXIS_DP) | MS_AXIS_BIT(MS_AXIS_TP), 0, members);
    cr_assert_eq(count, 4);
    ms_mesh_to_devices(&mesh, members, count);
    for (int rank = 0; rank < 4; rank++) {
        cr_assert_eq(members[rank], rank, "without a table");
    }
    cr_assert_eq(ms_mesh_set_devices(&mesh, DEVICES, 4, &fixture.arena, &fixture.diag), MS_OK);
    ms_mesh_to_devices(&mesh, members, count);
    for (int rank = 0; rank < 4; rank++) {
        cr_assert_eq(members[rank], DEVICES[rank]);
    }
    ms_group pair = mesh_group(&mesh, ms_mesh_axis(&mesh, "tp"), 0);
    ms_group across = mesh_group(&mesh, ms_mesh_axis(&mesh, "dp"), 0);
    cr_assert_eq(ms_mesh_group_tier(&mesh, &pair, platform), 1, "ranks 0 and 1 on two nodes");
    cr_assert_eq(ms_mesh_group_tier(&mesh, &across, platform), 0, "ranks 0 and 2 on one");
    fixture_release(&fixture);
}

/* Each group has one lead, whichever axes it spans and however its axes are strided: the lowest of
 * the members that ms_mesh_members lists. */
Test(mesh, leads_of_groups) {
    static const char *const NAMES[] = {"dp", "pp", "tp"};
    static const int SIZES[] = {3, 2, 4};
    const char *order[] = {"tp", "dp", "pp"};
    ms_buffer messages;
    ms_diag diag = silent_diag(&messages);
    ms_mesh mesh;
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, SIZES, 3, &diag), MS_OK);
    for (int turned = 0; turned < 2; turned++) {
        for (unsigned axes = 0; axes < MS_AXIS_BIT(MS_AXIS_COUNT); axes++) {
            int members[24];
            int leads = 0;
            for (int rank = 0; rank < mesh.ranks; rank++) {
                ms_mesh_members(&mesh, axes, rank, members);
                bool is_lead = ms_mesh_is_lead(&mesh, axes, rank);
                cr_assert_eq(is_lead, members[0] == rank, "rank %d, axes %u", rank, axes);
                leads += is_lead;
            }
            cr_assert_eq(leads, mesh.ranks / ms_mesh_members(&mesh, axes, 0, NULL));
        }
        ms_words words = {.items = order, .count = 3};
        cr_assert_eq(ms_mesh_transpose(&mesh, &words, &diag, &mesh), MS_OK);
    }
    ms_buffer_release(&messages);
}

/* By number of ranks where rank r is GPU r, else by the GPUs themselves: also of a part of a mesh.
 */
Test(mesh, ranks_need_their_gpus) {
    static const char *const NAMES[] = {"dp", "tp"};
    static const int SIZES[] = {2, 8};
    platform_fixture fixture;
    const ms_platform *platform = fixture_platform(&fixture, "dgx-a100", "{nodes: 2}");
    ms_mesh mesh, part;
    int devices[16];
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, SIZES, 2, &fixture.diag), MS_OK);
    cr_assert_eq(ms_mesh_check_devices(&mesh, platform, &fixture.diag), MS_OK);
    for (int rank = 0; rank < 16; rank++) {
        devices[rank] = 16 - rank;
    }
    cr_assert_eq(ms_mesh_set_devices(&mesh, devices, 16, &fixture.arena, &fixture.diag), MS_OK);
    cr_assert_eq(ms_mesh_check_devices(&mesh, platform, &fixture.diag), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&fixture.messages), "the mesh uses GPU 16, platform"));
    cr_assert_eq(ms_mesh_sub(&mesh, "dp", 1, &fixture.diag, &part), MS_OK);
    cr_assert_eq(ms_mesh_check_devices(&part, platform, &fixture.diag), MS_OK, "GPUs 8 to 1");
    fixture_release(&fixture);
    const ms_platform *small = fixture_platform(&fixture, "dgx-a100", "{nodes: 1}");
    cr_assert_eq(ms_mesh_init(&mesh, NAMES, SIZES, 2, &fixture.diag), MS_OK);
    cr_assert_eq(ms_mesh_check_devices(&mesh, small, &fixture.diag), MS_E_INPUT);
    cr_assert_not_null(
        strstr(ms_buffer_text(&fixture.messages), "the mesh has 16 ranks, platform"));
    fixture_release(&fixture);
}
