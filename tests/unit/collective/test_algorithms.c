/* The table of algorithms: what it holds, the choice among its rows, a row added by a program. */
#include <string.h>

#include "plan_fixture.h"

static const int GPUS[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

static ms_coll_request reduce_of(ms_coll_algorithm algorithm, int members) {
    return (ms_coll_request){.kind = MS_COLL_ALL_REDUCE,
                             .algorithm = algorithm,
                             .gpus = GPUS,
                             .members = members,
                             .size_B = 8e6};
}

Test(coll_algorithms, words_of_a_kind) {
    char text[128];
    cr_assert_str_eq(ms_coll_algorithm_words(MS_COLL_ALL_REDUCE, text, sizeof text),
                     "auto, ring, tree, nvls, nvls_tree, collnet_direct or "
                     "collnet_chain");
    cr_assert_str_eq(ms_coll_algorithm_words(MS_COLL_ALL_TO_ALL, text, sizeof text),
                     "auto or direct");
    cr_assert_str_eq(ms_coll_algorithm_words(MS_COLL_BROADCAST, text, sizeof text), "auto");
    cr_assert_str_eq(ms_coll_algorithm_words(MS_COLL_ALL_REDUCE, text, 9), "auto, ri");
    ms_coll_algorithm algorithm = MS_ALGORITHM_MAX;
    cr_assert_eq(ms_coll_algorithm_read(MS_COLL_ALL_GATHER, "tree", &algorithm), MS_E_RANGE);
    cr_assert_eq(algorithm, MS_ALGORITHM_MAX, "untouched");
    cr_assert_eq(ms_coll_algorithm_read(MS_COLL_ALL_REDUCE, "tree", &algorithm), MS_OK);
    cr_assert_eq(algorithm, MS_ALGORITHM_TREE);
    cr_assert_eq(ms_coll_algorithm_read(MS_COLL_ALL_GATHER, "auto", &algorithm), MS_OK);
    cr_assert_eq(algorithm, MS_ALGORITHM_AUTO);
}

/* Without a library a ring or direct messages unless something else is asked for, whatever the
 * size.
 */
Test(coll_algorithms, default_choice) {
    platform_fixture f;
    ms_protocol protocol;
    const ms_platform *platform = fixture_platform(&f, "dgx-a100", "{library: none}");
    for (ms_coll_kind kind = MS_COLL_NONE; kind < MS_COLL_COUNT; kind++) {
        for (double size_B = 1.0; size_B < 1e10; size_B *= 1000) {
            ms_coll_request request = reduce_of(MS_ALGORITHM_AUTO, 2);
            request.kind = kind;
            request.size_B = size_B;
            const ms_coll_algorithm_row *row = ms_coll_choose(platform, &request, &protocol);
            bool is_built = kind != MS_COLL_NONE && kind != MS_COLL_BROADCAST;
            cr_assert_eq(row != NULL, is_built, "%s", ms_coll_kind_name(kind));
            if (is_built) {
                bool is_direct = kind == MS_COLL_P2P || kind == MS_COLL_ALL_TO_ALL;
                cr_assert_str_eq(row->name, is_direct ? "direct" : "ring");
            }
        }
    }
    ms_coll_request request = reduce_of(MS_ALGORITHM_DIRECT, 4);
    cr_assert_null(ms_coll_choose(platform, &request, &protocol), "no row of the kind");
    fixture_release(&f);
}

Test(coll_algorithms, refusals_say_what_is_missing) {
    platform_fixture f;
    fixture_platform(&f, "flat", NULL);
    ms_coll_request request = reduce_of(MS_ALGORITHM_TREE, 4);
    request.kind = MS_COLL_ALL_GATHER;
    ms_coll_report_refusal(&request, &f.diag);
    request.kind = MS_COLL_ALL_TO_ALL;
    request.algorithm = MS_ALGORITHM_AUTO;
    request.members = 5000;
    ms_coll_report_refusal(&request, &f.diag);
    const char *text = ms_buffer_text(&f.messages);
    cr_assert_not_null(strstr(text, "algorithm 'tree' is not built for all_gather"), "%s", text);
    cr_assert_not_null(strstr(text, "all_to_all among 5000 ranks is not laid out; algorithm "
                                    "'direct' needs at most 4096 ranks"),
                       "%s", text);
    fixture_release(&f);
}

/* A toy: on one node the first member collects everything and sends it back, a phase each way. */
static bool is_one_node(const ms_platform *platform, const ms_coll_request *request) {
    int last = request->gpus[request->members - 1];
    return ms_platform_node(platform, request->gpus[0]) == ms_platform_node(platform, last);
}

static ms_status plan_toy(const ms_platform *platform, const ms_coll_request *request,
                          ms_arena *arena, ms_coll_plan *plan) {
    (void)platform;
    plan->sent_B = request->size_B;
    plan->phases = MS_NEW(arena, ms_phase, 2);
    plan->phase_count = plan->phases == NULL ? 0 : 2;
    for (int p = 0; p < plan->phase_count; p++) {
        plan->phases[p].latency_s = 1e-3 * (p + 1);
    }
    return plan->phases == NULL ? MS_E_NOMEM : MS_OK;
}

static const ms_coll_algorithm_row TOY = {.kind = MS_COLL_ALL_REDUCE,
                                          .algorithm = MS_ALGORITHM_OWN,
                                          .name = "toy",
                                          .applies = is_one_node,
                                          .needs = "one node",
                                          .plan = plan_toy};

Test(coll_algorithms, a_row_is_all_that_an_algorithm_takes) {
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", NULL);
    cr_assert_eq(ms_coll_algorithm_add(&TOY), MS_OK);
    char text[128];
    cr_assert_str_eq(ms_coll_algorithm_words(MS_COLL_ALL_REDUCE, text, sizeof text),
                     "auto, toy, ring, tree, nvls, nvls_tree, collnet_direct or "
                     "collnet_chain");
    cr_assert_str_eq(ms_coll_algorithm_name(MS_ALGORITHM_OWN), "toy");
    /* it stands first and is taken where it applies: that depends on where the group is */
    ms_coll_plan plan;
    ms_coll_request request = reduce_of(MS_ALGORITHM_AUTO, 8);
    cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_OK);
    cr_assert_eq(plan.algorithm, MS_ALGORITHM_OWN);
    cr_assert_eq(plan.phase_count, 2);
    cr_assert_float_eq(fixture_plan_time_s(&f, &plan), 3e-3, 1e-15);
    request.members = 9;
    cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_OK);
    /* nccl_cases.py: 8 + 1 GPUs have one NIC, a tree with LL128 takes 543 us, a ring with it 722 */
    cr_assert_eq(plan.algorithm, MS_ALGORITHM_TREE, "two nodes");
    request.algorithm = MS_ALGORITHM_OWN;
    cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_E_RANGE);
    ms_coll_report_refusal(&request, &f.diag);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "'toy' needs one node"));
    fixture_release(&f);
}

Test(coll_algorithms, rows_that_contradict_the_table_are_refused) {
    ms_coll_algorithm_row row = TOY;
    cr_assert_eq(ms_coll_algorithm_add(&row), MS_OK);
    cr_assert_eq(ms_coll_algorithm_add(&row), MS_E_RANGE, "it is there");
    row.kind = MS_COLL_ALL_GATHER;
    row.name = "ring";
    cr_assert_eq(ms_coll_algorithm_add(&row), MS_E_RANGE, "a name with two numbers");
    row.name = "toi";
    cr_assert_eq(ms_coll_algorithm_add(&row), MS_E_RANGE, "a number with two names");
    row.name = "auto";
    row.algorithm = MS_ALGORITHM_OWN + 1;
    cr_assert_eq(ms_coll_algorithm_add(&row), MS_E_RANGE, "a word that is taken");
    row.name = "toi";
    row.plan = NULL;
    cr_assert_eq(ms_coll_algorithm_add(&row), MS_E_RANGE, "no plan");
    row.plan = plan_toy;
    row.kind = MS_COLL_COUNT;
    cr_assert_eq(ms_coll_algorithm_add(&row), MS_E_RANGE, "no such kind");
    row.kind = MS_COLL_ALL_GATHER;
    int added = 1;
    while (ms_coll_algorithm_add(&row) == MS_OK && added < 1000) {
        static char names[1000][16];
        snprintf(names[added], sizeof names[added], "toy%d", added);
        row.name = names[added++];
        row.algorithm++;
    }
    cr_assert_eq(added, 16, "the table is full");
}
