/* Lists of operations that an operation has to wait for (waits.h, waits.md). The entries of all
 * lists are in one pool and are numbered from 1, so that zeroed memory is an empty list. */
#include "simulate/lower/waits.h"

void ms_wait_pool_init(ms_wait_pool *pool) {
    *pool = (ms_wait_pool){.free = 0};
    ms_vector_init(&pool->waits, sizeof(ms_wait));
}

void ms_wait_pool_release(ms_wait_pool *pool) {
    ms_vector_release(&pool->waits);
    pool->free = 0;
}

/* The entry with a number, from 1 on. */
static ms_wait *wait_at(const ms_wait_pool *pool, int32_t index) {
    return &MS_AT(&pool->waits, ms_wait, index - 1);
}

/* The number of an entry that is in no list: a freed one, or a new one; 0 when memory runs out. */
static int32_t new_wait(ms_wait_pool *pool) {
    int32_t index = pool->free;
    if (index != 0) {
        pool->free = wait_at(pool, index)->next;
        return index;
    }
    return ms_vector_add(&pool->waits, NULL, 1) == NULL ? 0 : (int32_t)pool->waits.count;
}

/* The list has one entry for each stream, the latest operation: operations of a stream run in
 * order. Index 0 is no entry. */
void ms_waits_add(ms_wait_pool *pool, ms_waits *waits, int32_t op, int32_t stream) {
    int32_t last = 0;
    for (int32_t i = waits->first; i != 0; i = wait_at(pool, i)->next) {
        ms_wait *wait = wait_at(pool, i);
        if (wait->stream == stream) {
            wait->op = op > wait->op ? op : wait->op; /* the later one ends later */
            return;
        }
        last = i;
    }
    int32_t index = op < 0 ? 0 : new_wait(pool);
    if (index == 0) {
        return;
    }
    *wait_at(pool, index) = (ms_wait){.op = op, .stream = stream};
    if (last == 0) {
        waits->first = index;
    } else {
        wait_at(pool, last)->next = index;
    }
}

void ms_waits_merge(ms_wait_pool *pool, ms_waits *waits, const ms_waits *other) {
    for (int32_t i = other->first; i != 0; i = wait_at(pool, i)->next) {
        ms_wait wait = *wait_at(pool, i); /* a copy: adding may move the pool */
        ms_waits_add(pool, waits, wait.op, wait.stream);
    }
}

void ms_waits_take(ms_wait_pool *pool, ms_waits *waits, ms_waits *other) {
    if (ms_waits_are_empty(waits)) {
        *waits = *other;
        *other = (ms_waits){0};
        return;
    }
    ms_waits_merge(pool, waits, other);
    ms_waits_clear(pool, other);
}

void ms_waits_clear(ms_wait_pool *pool, ms_waits *waits) {
    int32_t next = 0;
    for (int32_t i = waits->first; i != 0; i = next) {
        next = wait_at(pool, i)->next;
        wait_at(pool, i)->next = pool->free;
        pool->free = i;
    }
    waits->first = 0;
}

void ms_waits_depend(const ms_wait_pool *pool, const ms_waits *waits, ms_dag *dag, int32_t own) {
    for (int32_t i = waits->first; i != 0; i = wait_at(pool, i)->next) {
        if (wait_at(pool, i)->stream != own) {
            ms_dag_add_dep(dag, wait_at(pool, i)->op);
        }
    }
}

bool ms_waits_has_other(const ms_wait_pool *pool, const ms_waits *waits, int32_t stream) {
    for (int32_t i = waits->first; i != 0; i = wait_at(pool, i)->next) {
        if (wait_at(pool, i)->stream != stream) {
            return true;
        }
    }
    return false;
}

ms_status ms_waiting_init(ms_waiting *waiting, const ms_ranks *ranks, const ms_program *program,
                          int longest_pass, ms_arena *arena) {
    size_t all = (size_t)ranks->simulated, each = (size_t)ranks->simulated_per_pp;
    size_t stages = (size_t)program->stages, mbs = (size_t)program->mb_count;
    *waiting = (ms_waiting){.count = ranks->simulated_per_pp,
                            .before = MS_NEW(arena, ms_waits, each),
                            .next = MS_NEW(arena, ms_waits, all),
                            .update = MS_NEW(arena, ms_waits, all),
                            .unsharded = MS_NEW(arena, ms_waits, stages * each)};
    ms_wait_pool_init(&waiting->pool);
    for (int i = 0; i < 2; i++) {
        waiting->arrived[i] = MS_NEW(arena, ms_waits, stages * mbs * each);
        waiting->pair[i] = MS_NEW(arena, ms_waits, each);
        waiting->ended[i] = MS_NEW(arena, ms_waits, (size_t)longest_pass * each);
        waiting->is_awaited[i] = MS_NEW(arena, bool, longest_pass);
    }
    return arena->has_failed ? MS_E_NOMEM : MS_OK;
}

void ms_waiting_release(ms_waiting *waiting) {
    ms_wait_pool_release(&waiting->pool);
}

void ms_before_merge(ms_waiting *waiting, const ms_waits *lists) {
    for (int k = 0; k < waiting->count; k++) {
        ms_waits_merge(&waiting->pool, &waiting->before[k], &lists[k]);
    }
}

void ms_before_take(ms_waiting *waiting, ms_waits *lists) {
    for (int k = 0; k < waiting->count; k++) {
        ms_waits_take(&waiting->pool, &waiting->before[k], &lists[k]);
    }
}

void ms_before_depend(ms_waiting *waiting, int k, ms_dag *dag, int32_t own) {
    ms_waits_depend(&waiting->pool, &waiting->before[k], dag, own);
    ms_waits_clear(&waiting->pool, &waiting->before[k]);
}

void ms_lists_clear(ms_waiting *waiting, ms_waits *lists, size_t count) {
    for (size_t i = 0; i < count; i++) {
        ms_waits_clear(&waiting->pool, &lists[i]);
    }
}
