/* The experts' own mesh over a job's ranks: groups as Megatron Core makes them. */
#include <criterion/criterion.h>
#include <string.h>

#include "cluster/mesh/mesh.h"

static void keep(void *context, const char *text) {
    strncat(context, text, 1000);
}

typedef struct fixture {
    ms_diag diag;
    char said[4096];
    ms_mesh mesh, experts;
} fixture;

/* pp 4 x dp x tp 2, pp outermost. */
static void start(fixture *f, int dp) {
    static const char *const NAMES[] = {"pp", "dp", "tp"};
    const int sizes[] = {4, dp, 2};
    memset(f, 0, sizeof *f);
    ms_diag_init(&f->diag, keep, f->said);
    cr_assert_eq(ms_mesh_init(&f->mesh, NAMES, sizes, 3, &f->diag), MS_OK);
}

static void check_group(const fixture *f, ms_axis axis, int rank, ms_group group) {
    int members[128];
    int count = ms_mesh_members(&f->experts, MS_AXIS_BIT(axis), rank, members);
    cr_assert_eq(count, group.size, "axis %s of rank %d", ms_axis_name(axis), rank);
    for (int i = 0; i < count; i++) {
        cr_assert_eq(members[i], group.first + i * group.stride,
                     "axis %s of rank %d, member %d: %d", ms_axis_name(axis), rank, i, members[i]);
    }
}

/* Megatron Core, world 64, tp 2, pp 4, ep 16, etp 1, order tp-cp-ep-dp-pp: of the experts' groups
 * ep is 0-15, 16-31, ..., dp (edp) each rank alone, pp 0, 16, 32, 48 and so on. */
Test(expert_axes, ep_16_on_64_ranks) {
    fixture f;
    start(&f, 8);
    const ms_expert_axes axes = {.ep = 16, .tp = 1};
    cr_assert_eq(ms_mesh_of_experts(&f.mesh, &axes, &f.diag, &f.experts), MS_OK, "%s", f.said);
    for (int rank = 0; rank < 64; rank++) {
        check_group(&f, MS_AXIS_EP, rank, (ms_group){rank / 16 * 16, 1, 16});
        check_group(&f, MS_AXIS_DP, rank, (ms_group){rank, 1, 1});
        check_group(&f, MS_AXIS_TP, rank, (ms_group){rank, 1, 1});
        check_group(&f, MS_AXIS_PP, rank, (ms_group){rank % 16, 16, 4});
    }
}

/* World 128: the same with edp 2: ep 0-15, 16-31; edp 0 and 16, 1 and 17, ..., 32 and 48. */
Test(expert_axes, ep_16_on_128_ranks) {
    fixture f;
    start(&f, 16);
    const ms_expert_axes axes = {.ep = 16, .tp = 1};
    cr_assert_eq(ms_mesh_of_experts(&f.mesh, &axes, &f.diag, &f.experts), MS_OK, "%s", f.said);
    for (int rank = 0; rank < 128; rank++) {
        check_group(&f, MS_AXIS_EP, rank, (ms_group){rank / 16 * 16, 1, 16});
        check_group(&f, MS_AXIS_DP, rank, (ms_group){rank / 32 * 32 + rank % 16, 16, 2});
        check_group(&f, MS_AXIS_PP, rank, (ms_group){rank % 32, 32, 4});
    }
}

/* etp 2, ep 4 on 64 ranks: etp 0-1, ep 0, 2, 4, 6, edp 0 and 8; another order puts ep outside edp.
 */
Test(expert_axes, shared_experts_and_another_order) {
    fixture f;
    start(&f, 8);
    ms_expert_axes axes = {.ep = 4, .tp = 2};
    cr_assert_eq(ms_mesh_of_experts(&f.mesh, &axes, &f.diag, &f.experts), MS_OK, "%s", f.said);
    check_group(&f, MS_AXIS_TP, 19, (ms_group){18, 1, 2});
    check_group(&f, MS_AXIS_EP, 19, (ms_group){17, 2, 4});
    check_group(&f, MS_AXIS_DP, 19, (ms_group){19, 8, 2});
    const char *order[] = {"pp", "ep", "dp", "tp"};
    axes.order = (ms_words){.items = order, .count = 4};
    cr_assert_eq(ms_mesh_of_experts(&f.mesh, &axes, &f.diag, &f.experts), MS_OK, "%s", f.said);
    check_group(&f, MS_AXIS_EP, 19, (ms_group){19, 4, 4});
    check_group(&f, MS_AXIS_DP, 19, (ms_group){17, 2, 2});
}

Test(expert_axes, what_parts_a_stage_or_does_not_divide_is_refused) {
    static const char *SPLIT[] = {"dp", "pp", "ep", "tp"}, *TWICE[] = {"pp", "dp", "ep", "ep"},
                      *SHORT[] = {"pp", "ep", "tp"}, *OTHER[] = {"pp", "cp", "ep", "tp"};
    const struct {
        int ep, tp;
        const char **order;
        size_t count;
        const char *fault;
    } CASES[] = {{3, 1, NULL, 0, "ep 3 x tp 1 do not divide the 16 ranks of a pipeline rank"},
                 {16, 2, NULL, 0, "do not divide the 16 ranks"},
                 {4, 1, SPLIT, 4, "rank 4 is on pipeline rank 0 in 'mesh' and on 1 here"},
                 {4, 1, TWICE, 4, "expected pp, dp, ep and tp"},
                 {4, 1, SHORT, 3, "expected pp, dp, ep and tp"},
                 {4, 1, OTHER, 4, "expected pp, dp, ep and tp"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        fixture f;
        start(&f, 8);
        const ms_expert_axes axes = {.ep = CASES[i].ep,
                                     .tp = CASES[i].tp,
                                     .order = {.items = CASES[i].order, .count = CASES[i].count}};
        cr_assert_eq(ms_mesh_of_experts(&f.mesh, &axes, &f.diag, &f.experts), MS_E_INPUT, "%zu", i);
        cr_assert(strstr(f.said, CASES[i].fault) != NULL, "%s", f.said);
    }
}

Test(expert_axes, a_mesh_with_ep_of_its_own_is_refused) {
    static const char *const NAMES[] = {"dp", "ep"};
    static const int SIZES[] = {4, 2};
    const ms_expert_axes axes = {.ep = 4, .tp = 1};
    fixture f;
    start(&f, 8);
    cr_assert_eq(ms_mesh_init(&f.mesh, NAMES, SIZES, 2, &f.diag), MS_OK);
    cr_assert_eq(ms_mesh_of_experts(&f.mesh, &axes, &f.diag, &f.experts), MS_E_INPUT);
    cr_assert(strstr(f.said, "'mesh' has an axis ep as well") != NULL, "%s", f.said);
}
