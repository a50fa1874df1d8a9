/* Which works and streams the lowering has made already, by what identifies them. */
#include <string.h>

#include "lower/works.h"

ms_status ms_works_init(ms_works *works, const ms_platform *platform, ms_arena *arena,
                        ms_diag *diag, ms_dag *dag) {
    size_t links = (size_t)platform->link_count;
    *works = (ms_works){.platform = platform,
                        .arena = arena,
                        .diag = diag,
                        .dag = dag,
                        .dag_link = MS_NEW(arena, int32_t, links),
                        .link_load = MS_NEW(arena, ms_link_load, links)};
    ms_vector_init(&works->keys, sizeof(ms_work_key));
    ms_vector_init(&works->key_made, sizeof(int32_t));
    if (works->dag_link == NULL || works->link_load == NULL) {
        return MS_E_NOMEM;
    }
    memset(works->dag_link, 0xFF, links * sizeof *works->dag_link);
    return MS_OK;
}

void ms_works_release(ms_works *works) {
    ms_vector_release(&works->keys);
    ms_vector_release(&works->key_made);
}

bool ms_works_failed(const ms_works *works) {
    return works->keys.failed || works->key_made.failed;
}

static uint64_t hash_key(const ms_work_key *key) {
    uint64_t bits = 0;
    memcpy(&bits, &key->size_B, sizeof bits);
    uint64_t h = bits * 0x9E3779B97F4A7C15U;
    h ^= ((uint64_t)(uint32_t)key->kind << 40) ^ ((uint64_t)(uint32_t)key->domain << 32);
    h ^= (uint64_t)(uint32_t)key->first * 0xC2B2AE3D27D4EB4FU;
    h ^= (uint64_t)(uint32_t)key->second * 0x165667B19E3779F9U;
    return h ^ (h >> 29);
}

static bool same_key(const ms_work_key *a, const ms_work_key *b) {
    return a->size_B == b->size_B && a->intra_node_B == b->intra_node_B &&
           a->load_imbalance == b->load_imbalance && a->kind == b->kind && a->domain == b->domain &&
           a->first == b->first && a->second == b->second;
}

static size_t find_slot(const ms_works *w, const ms_work_key *key) {
    size_t last = w->key_slots - 1; /* the number of slots is a power of two */
    size_t slot = (size_t)hash_key(key) & last;
    while (w->key_table[slot] >= 0 &&
           !same_key(&MS_AT(&w->keys, ms_work_key, w->key_table[slot]), key)) {
        slot = (slot + 1) & last;
    }
    return slot;
}

int32_t ms_works_find(const ms_works *w, const ms_work_key *key) {
    if (w->key_slots == 0) {
        return -1;
    }
    int32_t index = w->key_table[find_slot(w, key)];
    return index < 0 ? -1 : MS_AT(&w->key_made, int32_t, index);
}

/* Double the table and enter every key again. */
static bool grow_table(ms_works *w) {
    size_t slots = w->key_slots == 0 ? 256 : w->key_slots * 2;
    int32_t *table = MS_NEW(w->arena, int32_t, slots);
    if (table == NULL) {
        return false;
    }
    memset(table, 0xFF, slots * sizeof *table);
    w->key_table = table;
    w->key_slots = slots;
    for (size_t i = 0; i < w->keys.count; i++) {
        table[find_slot(w, &MS_AT(&w->keys, ms_work_key, i))] = (int32_t)i;
    }
    return true;
}

void ms_works_remember(ms_works *w, const ms_work_key *key, int32_t made) {
    if (w->keys.count * 2 >= w->key_slots && !grow_table(w)) {
        w->keys.failed = true;
        return;
    }
    size_t slot = find_slot(w, key);
    if (ms_vector_add(&w->keys, key, 1) == NULL || ms_vector_add(&w->key_made, &made, 1) == NULL) {
        w->keys.failed = true;
        return;
    }
    w->key_table[slot] = (int32_t)(w->keys.count - 1);
}
