/* Works that the lowering has made already are found again, and want of memory is told. */
#include "platform_fixture.h"
#include "simulate/lower/works.h"

static ms_work_key key_of(int i) {
    return (ms_work_key){.size_B = 100.0 * (i / 8), .first = i % 8, .second = -1 - i % 8};
}

/* Hundreds of keys, which the table holds as it grows; none but those that were entered. */
Test(lower_works, are_found_by_their_keys) {
    enum { KEYS = 1000 };
    platform_fixture f;
    ms_works works;
    ms_dag dag;
    fixture_platform(&f, "flat", "{nodes: 4}");
    ms_dag_init(&dag);
    cr_assert_eq(ms_works_init(&works, &f.platform, &f.arena, &f.diag, &dag), MS_OK);
    for (int i = 0; i < KEYS; i++) {
        ms_work_key key = key_of(i);
        cr_assert_eq(ms_works_find(&works, &key), -1, "%d", i);
        ms_works_remember(&works, &key, 7 * i);
    }
    for (int i = 0; i < KEYS; i++) {
        ms_work_key key = key_of(i);
        cr_assert_eq(ms_works_find(&works, &key), 7 * i, "%d", i);
        key.intra_node_B = 1.0;
        cr_assert_eq(ms_works_find(&works, &key), -1, "%d", i);
        key = key_of(i);
        key.load_imbalance = 1.5;
        cr_assert_eq(ms_works_find(&works, &key), -1, "%d", i);
        key = key_of(i);
        key.kind = MS_COLL_ALL_GATHER;
        cr_assert_eq(ms_works_find(&works, &key), -1, "%d", i);
        key = key_of(i);
        key.domain = MS_DOMAIN_FUSED_PASSES;
        cr_assert_eq(ms_works_find(&works, &key), -1, "%d", i);
    }
    cr_assert_not(ms_works_failed(&works));
    ms_works_release(&works);
    ms_dag_release(&dag);
    fixture_release(&f);
}

/* A work that could not be entered, be it the key or what was made for it. */
Test(lower_works, want_of_memory_is_told) {
    platform_fixture f;
    ms_works works;
    ms_dag dag;
    fixture_platform(&f, "flat", "{nodes: 4}");
    ms_dag_init(&dag);
    cr_assert_eq(ms_works_init(&works, &f.platform, &f.arena, &f.diag, &dag), MS_OK);
    cr_assert_not(ms_works_failed(&works));
    works.key_made.failed = true;
    cr_assert(ms_works_failed(&works));
    ms_works_release(&works);
    ms_dag_release(&dag);
    fixture_release(&f);
}
