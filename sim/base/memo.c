/* Memos (memo.h): keys are kept in an array in the order of their numbers, and a hash table with
 * open addressing and linear probing finds the number of a key. At most half of the table's slots
 * are in use. */
#include "base/memo.h"

#include <string.h>

#include "base/random.h"

/* A slot of the hash table. It has a part of the key's hash, which is compared before the key: the
 * keys are stored elsewhere, and reading one is likely a cache miss. */
typedef struct memo_slot {
    int32_t number; /* number of the key + 1; 0: the slot is free */
    uint32_t hash;  /* upper 32 bits of the key's hash */
} memo_slot;

void ms_memo_init(ms_memo *memo, size_t key_B, size_t value_B) {
    ms_vector_init(&memo->values, value_B);
    ms_vector_init(&memo->keys, key_B);
    ms_vector_init(&memo->slots, sizeof(memo_slot));
}

void ms_memo_release(ms_memo *memo) {
    ms_vector_release(&memo->values);
    ms_vector_release(&memo->keys);
    ms_vector_release(&memo->slots);
}

/* A hash of `size` bytes: one multiplication for every eight bytes or the rest of the bytes. */
static uint64_t hash_of(const void *bytes, size_t size) {
    const unsigned char *key = bytes;
    uint64_t hash = size;
    for (size_t i = 0; i < size; i += sizeof hash) {
        uint64_t word = 0;
        memcpy(&word, key + i, size - i < sizeof word ? size - i : sizeof word);
        hash = ((hash << 5 | hash >> 59) ^ word) * 0x9E3779B97F4A7C15U;
    }
    return ms_random_mix(hash);
}

/* The key of a number. */
static const unsigned char *key_at(const ms_memo *memo, size_t number) {
    return (const unsigned char *)memo->keys.data + number * memo->keys.item_B;
}

/* The slot of a key; the free slot where it would be put if the memo does not have it. The key's
 * hash is set in the slot either way, so that a caller that puts the key there needs to set the
 * number only. The memo must have slots, of which one at least is free. */
static memo_slot *slot_of(const ms_memo *memo, const void *key) {
    size_t mask = memo->slots.count - 1;
    uint64_t hash = hash_of(key, memo->keys.item_B);
    uint32_t upper_bits = (uint32_t)(hash >> 32);
    size_t at = (size_t)hash & mask;
    memo_slot *slots = memo->slots.data;
    while (slots[at].number > 0 &&
           (slots[at].hash != upper_bits ||
            memcmp(key_at(memo, (size_t)slots[at].number - 1), key, memo->keys.item_B) != 0)) {
        at = (at + 1) & mask;
    }
    slots[at].hash = upper_bits;
    return &slots[at];
}

/* Double the number of slots, 256 at first, and enter all keys again. The number is a power of two,
 * because slot_of masks the hash. Returns MS_OK; MS_E_NOMEM. */
static ms_status grow(ms_memo *memo) {
    size_t count = memo->slots.count > 0 ? 2 * memo->slots.count : 256;
    ms_vector_release(&memo->slots);
    ms_vector_init(&memo->slots, sizeof(memo_slot));
    if (ms_vector_add(&memo->slots, NULL, count) == NULL) {
        return MS_E_NOMEM;
    }
    memset(memo->slots.data, 0, count * sizeof(memo_slot));
    for (size_t i = 0; i < memo->keys.count; i++) {
        slot_of(memo, key_at(memo, i))->number = (int32_t)i + 1;
    }
    return MS_OK;
}

/* The table is enlarged first if it is half full, so that the slot that is found stays valid. */
ms_status ms_memo_find_or_add(ms_memo *memo, const void *key, int *number_out, bool *is_new_out) {
    /* at most half of the slots are used, which keeps probing short */
    if (2 * memo->keys.count >= memo->slots.count && grow(memo) != MS_OK) {
        return MS_E_NOMEM;
    }
    memo_slot *slot = slot_of(memo, key);
    *is_new_out = slot->number == 0;
    if (*is_new_out) {
        bool has_value = memo->values.item_B == 0 || ms_vector_add(&memo->values, NULL, 1) != NULL;
        if (!has_value || ms_vector_add(&memo->keys, key, 1) == NULL) {
            return MS_E_NOMEM;
        }
        slot->number = (int32_t)memo->keys.count;
    }
    *number_out = slot->number - 1;
    return MS_OK;
}

int ms_memo_find(const ms_memo *memo, const void *key) {
    return memo->slots.count == 0 ? -1 : slot_of(memo, key)->number - 1;
}
