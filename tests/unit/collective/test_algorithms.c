/* The table of algorithms: what it holds, and the choice among its rows. */
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
    ms_coll_algorithm algorithm = MS_ALGORITHM_PAT;
    cr_assert_eq(ms_coll_algorithm_read(MS_COLL_ALL_GATHER, "tree", &algorithm), MS_E_RANGE);
    cr_assert_eq(algorithm, MS_ALGORITHM_PAT, "untouched");
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

/* What the library takes depends on where the group is: a ring among the GPUs of a node, a tree
 * between two nodes. nccl_cases.py: 8 + 1 GPUs have one NIC, a tree with LL128 takes 543 us, a ring
 * with it 722. */
Test(coll_algorithms, library_chooses_by_place) {
    platform_fixture f;
    fixture_platform(&f, "dgx-a100", NULL);
    ms_coll_plan plan;
    ms_coll_request request = reduce_of(MS_ALGORITHM_AUTO, 8);
    cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_OK);
    cr_assert_eq(plan.algorithm, MS_ALGORITHM_RING, "one node");
    request.members = 9;
    cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_OK);
    cr_assert_eq(plan.algorithm, MS_ALGORITHM_TREE, "two nodes");
    request.algorithm = MS_ALGORITHM_PAT;
    cr_assert_eq(ms_coll_plan_build(&f.platform, &request, &f.arena, &plan), MS_E_RANGE);
    fixture_release(&f);
}
