/* Lists of what comes before an operation. */
#include <criterion/criterion.h>
#include <string.h>

#include "simulate/lower/waits.h"

/* Operations of a list, in order, in a graph whose newest member is on stream `own`. */
static int32_t list(const ms_wait_pool *pool, const ms_waits *waits, int32_t own, int32_t *ops) {
    ms_dag dag;
    ms_diag diag;
    ms_diag_init(&diag, NULL, NULL);
    ms_dag_init(&dag);
    ms_dag_add_rank(&dag, 0, 1, 0);
    ms_dag_add_stream(&dag, 0, -1, MS_AXIS_NONE);
    ms_dag_add_work(&dag, &(ms_dag_work){.stands_for = 1});
    for (int i = 0; i < 20; i++) {
        ms_dag_add_op(&dag, &(ms_dag_op){.work = 0});
        ms_dag_add_member(&dag, 0);
    }
    ms_waits_depend(pool, waits, &dag, own);
    cr_assert_eq(ms_dag_finish(&dag, &diag), MS_OK);
    int32_t count = dag.dep_count;
    memcpy(ops, dag.deps, (size_t)count * sizeof *ops);
    ms_dag_release(&dag);
    return count;
}

Test(waits, a_list_holds_the_last_operation_of_each_stream) {
    ms_wait_pool pool;
    ms_waits waits = {0};
    int32_t ops[20];
    ms_wait_pool_init(&pool);
    ms_waits_add(&pool, &waits, 3, 7);
    ms_waits_add(&pool, &waits, 5, 8);
    ms_waits_add(&pool, &waits, 9, 7); /* in the place of 3 */
    ms_waits_add(&pool, &waits, 4, 8); /* 5 comes after it */
    ms_waits_add(&pool, &waits, -1, 9);
    cr_assert_eq(list(&pool, &waits, -1, ops), 2);
    cr_assert(ops[0] == 9 && ops[1] == 5);
    cr_assert_eq(list(&pool, &waits, 7, ops), 1, "the stream's own order says it");
    cr_assert_eq(ops[0], 5);
    cr_assert(ms_waits_has_other(&pool, &waits, 7));
    ms_wait_pool_release(&pool);
}

Test(waits, merging_keeps_and_taking_empties) {
    ms_wait_pool pool;
    ms_waits a = {0}, b = {0}, c = {0};
    int32_t ops[20];
    ms_wait_pool_init(&pool);
    ms_waits_add(&pool, &a, 1, 1);
    ms_waits_add(&pool, &b, 2, 2);
    ms_waits_merge(&pool, &a, &b);
    cr_assert_eq(list(&pool, &a, -1, ops), 2);
    cr_assert_eq(list(&pool, &b, -1, ops), 1);
    ms_waits_take(&pool, &c, &a);
    cr_assert(ms_waits_are_empty(&a));
    ms_waits_add(&pool, &a, 4, 3);
    ms_waits_take(&pool, &c, &a);
    cr_assert(ms_waits_are_empty(&a));
    cr_assert_eq(list(&pool, &c, -1, ops), 3);
    cr_assert(ops[0] == 1 && ops[1] == 2 && ops[2] == 4);
    cr_assert_not(ms_waits_has_other(&pool, &b, 2));
    ms_wait_pool_release(&pool);
}

Test(waits, cleared_storage_is_used_again) {
    ms_wait_pool pool;
    ms_waits waits = {0};
    ms_wait_pool_init(&pool);
    for (int round = 0; round < 100; round++) {
        for (int stream = 0; stream < 5; stream++) {
            ms_waits_add(&pool, &waits, round, stream);
        }
        ms_waits_clear(&pool, &waits);
        cr_assert(ms_waits_are_empty(&waits));
    }
    cr_assert_eq(pool.waits.count, 5);
    ms_wait_pool_release(&pool);
}
