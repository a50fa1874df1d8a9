/* Which works and streams the lowering has made already, by what identifies them. */
#include <string.h>

#include "lower/lowering.h"

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

static size_t find_slot(const ms_lowering *l, const ms_work_key *key) {
    size_t slot = (size_t)(hash_key(key) % l->key_slots);
    while (l->key_table[slot] >= 0 &&
           !same_key(&MS_AT(&l->keys, ms_work_key, l->key_table[slot]), key)) {
        slot = (slot + 1) % l->key_slots;
    }
    return slot;
}

int32_t ms_lowering_find(const ms_lowering *l, const ms_work_key *key) {
    if (l->key_slots == 0) {
        return -1;
    }
    int32_t index = l->key_table[find_slot(l, key)];
    return index < 0 ? -1 : MS_AT(&l->key_works, int32_t, index);
}

/* Double the table and enter every key again. */
static bool grow_table(ms_lowering *l) {
    size_t slots = l->key_slots == 0 ? 256 : l->key_slots * 2;
    int32_t *table = MS_NEW(l->arena, int32_t, slots);
    if (table == NULL) {
        return false;
    }
    memset(table, 0xFF, slots * sizeof *table);
    l->key_table = table;
    l->key_slots = slots;
    for (size_t i = 0; i < l->keys.count; i++) {
        table[find_slot(l, &MS_AT(&l->keys, ms_work_key, i))] = (int32_t)i;
    }
    return true;
}

void ms_lowering_remember(ms_lowering *l, const ms_work_key *key, int32_t work) {
    if (l->keys.count * 2 >= l->key_slots && !grow_table(l)) {
        l->keys.failed = true;
        return;
    }
    size_t slot = find_slot(l, key);
    if (ms_vector_add(&l->keys, key, 1) == NULL || ms_vector_add(&l->key_works, &work, 1) == NULL) {
        l->keys.failed = true;
        return;
    }
    l->key_table[slot] = (int32_t)(l->keys.count - 1);
}
