#include "estimate/memo.h"

#include <string.h>

#include "meshsim/random.h"

void ms_memo_init(ms_memo *memo, size_t key_B) {
    ms_vector_init(&memo->keys, key_B);
    ms_vector_init(&memo->slots, sizeof(int32_t));
}

void ms_memo_release(ms_memo *memo) {
    ms_vector_release(&memo->keys);
    ms_vector_release(&memo->slots);
}

/* One multiplication for every eight bytes: keys are a few hundred bytes, and hashing them would be
 * a tenth of an estimate otherwise. */
static uint64_t hash_of(const unsigned char *key, size_t size) {
    uint64_t hash = size;
    size_t i = 0;
    for (; i + sizeof(uint64_t) <= size; i += sizeof(uint64_t)) {
        uint64_t word = 0;
        memcpy(&word, key + i, sizeof word);
        hash = ((hash << 5 | hash >> 59) ^ word) * 0x9E3779B97F4A7C15U;
    }
    for (; i < size; i++) {
        hash = ((hash << 5 | hash >> 59) ^ key[i]) * 0x9E3779B97F4A7C15U;
    }
    return ms_random_mix(hash);
}

static const unsigned char *key_at(const ms_memo *memo, size_t number) {
    return (const unsigned char *)memo->keys.data + number * memo->keys.item_B;
}

/* The slot that a key has, or would have. */
static int32_t *slot_of(const ms_memo *memo, const void *key) {
    size_t mask = memo->slots.count - 1;
    size_t at = (size_t)hash_of(key, memo->keys.item_B) & mask;
    int32_t *slots = memo->slots.data;
    while (slots[at] > 0 &&
           memcmp(key_at(memo, (size_t)slots[at] - 1), key, memo->keys.item_B) != 0) {
        at = (at + 1) & mask;
    }
    return &slots[at];
}

/* Twice as many slots; all keys anew. */
static ms_status grow(ms_memo *memo) {
    size_t count = memo->slots.count > 0 ? 2 * memo->slots.count : 256;
    ms_vector_release(&memo->slots);
    ms_vector_init(&memo->slots, sizeof(int32_t));
    if (ms_vector_add(&memo->slots, NULL, count) == NULL) {
        return MS_E_NOMEM;
    }
    memset(memo->slots.data, 0, count * sizeof(int32_t));
    for (size_t i = 0; i < memo->keys.count; i++) {
        *slot_of(memo, key_at(memo, i)) = (int32_t)i + 1;
    }
    return MS_OK;
}

ms_status ms_memo_find(ms_memo *memo, const void *key, int *number_out, bool *is_new_out) {
    if (2 * memo->keys.count >= memo->slots.count && grow(memo) != MS_OK) {
        return MS_E_NOMEM;
    }
    int32_t *slot = slot_of(memo, key);
    *is_new_out = *slot == 0;
    if (*is_new_out) {
        if (ms_vector_add(&memo->keys, key, 1) == NULL) {
            return MS_E_NOMEM;
        }
        *slot = (int32_t)memo->keys.count;
    }
    *number_out = *slot - 1;
    return MS_OK;
}
