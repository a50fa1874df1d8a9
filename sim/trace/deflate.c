#include "trace/deflate.h"

#include <stdbool.h>
#include <string.h>

/* Of RFC 1951: the shortest and the farthest that a match may be; symbols of lengths begin after
 * the end of a block; the head of a block with fixed codes that is not the last one. */
enum { MATCH_MIN_B = 3, WINDOW_B = 32768, END_OF_BLOCK = 256, FIXED_BLOCK = 2, HEAD_BITS = 3 };

enum { STORED_MAX_B = 65535, STORED_HEAD_B = 5 };

enum { WORD_B = sizeof(uint64_t), WORD_BITS = 64 };

/* Four bytes that stood before are worth a match; one of 16 at the distance of the last match is
 * taken without looking for a longer one elsewhere. */
enum { FIND_MIN_B = 4, GOOD_B = 16, HASHED_BYTES = 5 };

/* ---- codes ---- */

static uint16_t reversed(unsigned bits, unsigned count) {
    unsigned out = 0;
    for (unsigned i = 0; i < count; i++) {
        out |= (bits >> i & 1) << (count - 1 - i);
    }
    return (uint16_t)out;
}

/* The fixed code of a symbol (RFC 1951, 3.2.6), which is sent from its highest bit on. */
static ms_deflate_code fixed_code(unsigned symbol) {
    if (symbol < 144) {
        return (ms_deflate_code){reversed(0x30 + symbol, 8), 8};
    }
    if (symbol < 256) {
        return (ms_deflate_code){reversed(0x190 + symbol - 144, 9), 9};
    }
    if (symbol < 280) {
        return (ms_deflate_code){reversed(symbol - 256, 7), 7};
    }
    return (ms_deflate_code){reversed(0xC0 + symbol - 280, 8), 8};
}

/* Lengths share symbols, eight of one length each, then four for each further extra bit; the
 * longest has one of its own (RFC 1951, 3.2.5). */
static ms_deflate_code length_code(unsigned length) {
    unsigned beyond = length - MATCH_MIN_B;
    if (length == MS_DEFLATE_MATCH_MAX_B) {
        return fixed_code(END_OF_BLOCK + 29);
    }
    unsigned extra = 0;
    while (beyond >> extra >= 8) {
        extra++;
    }
    unsigned symbol = END_OF_BLOCK + 1 + 4 * extra + (beyond >> extra);
    ms_deflate_code code = fixed_code(symbol);
    code.bits = (uint16_t)(code.bits | (beyond & ((1U << extra) - 1)) << code.count);
    code.count = (uint16_t)(code.count + extra);
    return code;
}

void ms_deflate_init(ms_deflate *deflate) {
    for (unsigned i = 0; i < 256; i++) {
        deflate->literal[i] = fixed_code(i);
    }
    for (unsigned i = MATCH_MIN_B; i <= MS_DEFLATE_MATCH_MAX_B; i++) {
        deflate->length[i] = length_code(i);
    }
    for (unsigned i = 0; i < 32; i++) {
        deflate->distance[i] = (uint8_t)reversed(i, 5);
    }
}

size_t ms_deflate_most_B(size_t size) {
    return size + size / 64 + 8 * WORD_B;
}

/* ---- bits ---- */

/* Where the stream is written: whole bytes before `at`, fewer than eight bits behind. */
typedef struct bit_writer {
    uint8_t *at;
    uint64_t bits;
    unsigned count;
} bit_writer;

/* At most 48 bits may be put between two calls of write_bytes. */
static inline void put(bit_writer *to, uint64_t bits, unsigned count) {
    to->bits |= bits << to->count;
    to->count += count;
}

static inline void write_bytes(bit_writer *to) {
    for (unsigned i = 0; i < WORD_B; i++) { /* one store where bytes are ordered so */
        to->at[i] = (uint8_t)(to->bits >> (8 * i));
    }
    to->at += to->count / 8;
    to->bits >>= to->count / 8 * 8;
    to->count %= 8;
}

static inline void put_literal(bit_writer *to, const ms_deflate *deflate, uint8_t byte) {
    put(to, deflate->literal[byte].bits, deflate->literal[byte].count);
    write_bytes(to);
}

/* Distances share symbols: four of one distance each, then two for each further extra bit. */
static inline ms_deflate_code distance_code(const ms_deflate *deflate, uint32_t distance,
                                            uint32_t *extra_out) {
    uint32_t beyond = distance - 1;
    unsigned extra = beyond < 4 ? 0 : 30 - (unsigned)__builtin_clz(beyond);
    *extra_out = beyond & ((1U << extra) - 1);
    return (ms_deflate_code){deflate->distance[2 * extra + (beyond >> extra)], (uint16_t)extra};
}

static inline void put_match(bit_writer *to, const ms_deflate *deflate, size_t length,
                             uint32_t distance) {
    uint32_t extra = 0;
    const ms_deflate_code code = distance_code(deflate, distance, &extra);
    while (length > 0) {
        size_t part = length < MS_DEFLATE_MATCH_MAX_B ? length : MS_DEFLATE_MATCH_MAX_B;
        if (length > part && length < part + MATCH_MIN_B) {
            part =
                length - MATCH_MIN_B; /* so that what is left is no shorter than a match may be */
        }
        put(to, deflate->length[part].bits, deflate->length[part].count);
        put(to, code.bits, 5);
        put(to, extra, code.count);
        write_bytes(to);
        length -= part;
    }
}

/* ---- matches ---- */

static inline uint64_t word_at(const uint8_t *at) {
    uint64_t word = 0;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Bytes in which two words agree before they first differ; they do differ. */
static inline size_t agreeing(uint64_t a, uint64_t b) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return (size_t)__builtin_ctzll(a ^ b) / 8;
#else
    return (size_t)__builtin_clzll(a ^ b) / 8;
#endif
}

/* Bytes from `at` on, up to `end`, that stand `distance` before, too. */
static inline size_t match_length(const uint8_t *at, const uint8_t *end, uint32_t distance) {
    const uint8_t *here = at;
    while (end - here >= WORD_B) {
        uint64_t now = word_at(here), before = word_at(here - distance);
        if (now != before) {
            return (size_t)(here - at) + agreeing(now, before);
        }
        here += WORD_B;
    }
    while (here < end && *here == *(here - distance)) {
        here++;
    }
    return (size_t)(here - at);
}

static inline uint32_t hash_of(uint64_t word) {
    return (uint32_t)((word << (WORD_BITS - 8 * HASHED_BYTES)) * UINT64_C(0x9E3779B97F4A7C15) >>
                      (WORD_BITS - MS_DEFLATE_HASH_BITS));
}

/* The match at `place`, eight bytes or more before the end: at the distance of the last one, or
 * where the next bytes were seen last.  distance_inout: unchanged without a match.  Returns its
 * length, 0 for none. */
static inline size_t find_match(ms_deflate *deflate, const uint8_t *bytes, size_t place,
                                size_t size, uint32_t *distance_inout) {
    const uint8_t *at = bytes + place;
    uint32_t last = *distance_inout;
    uint16_t *seen = &deflate->seen[hash_of(word_at(at))];
    uint32_t distance = (uint16_t)(place - *seen);
    *seen = (uint16_t)place;
    size_t length = last <= place ? match_length(at, bytes + size, last) : 0;
    if (length < GOOD_B && distance > 0 && distance <= WINDOW_B && distance <= place &&
        distance != last) {
        size_t other = match_length(at, bytes + size, distance);
        if (other > length && other >= FIND_MIN_B) {
            *distance_inout = distance;
            return other;
        }
    }
    return length >= FIND_MIN_B ? length : 0;
}

/* ---- blocks ---- */

size_t ms_deflate_repeats(ms_deflate *deflate, const uint8_t *bytes, size_t size, uint8_t *out) {
    bit_writer to = {.bits = 0};
    to.at = out;
    uint32_t distance = 1;
    size_t place = 0;
    memset(deflate->seen, 0, sizeof deflate->seen);
    put(&to, FIXED_BLOCK, HEAD_BITS);
    while (place < size) {
        size_t length =
            size - place < WORD_B ? 0 : find_match(deflate, bytes, place, size, &distance);
        if (length > 0) {
            put_match(&to, deflate, length, distance);
            place += length;
        } else {
            put_literal(&to, deflate, bytes[place]);
            place++;
        }
        if ((size_t)(to.at - out) >= size) {
            return 0;
        }
    }
    put(&to, fixed_code(END_OF_BLOCK).bits, fixed_code(END_OF_BLOCK).count);
    put(&to, 0, HEAD_BITS); /* an empty stored block, which ends at a whole byte */
    to.count = (to.count + 7) / 8 * 8;
    write_bytes(&to);
    put(&to, 0xFFFF0000, 32);
    write_bytes(&to);
    size_t used = (size_t)(to.at - out);
    return used < size ? used : 0;
}

size_t ms_deflate_stored(const uint8_t *bytes, size_t size, uint8_t *out) {
    uint8_t *at = out;
    for (size_t first = 0; first < size; first += STORED_MAX_B) {
        size_t count = size - first < STORED_MAX_B ? size - first : STORED_MAX_B;
        const uint8_t head[STORED_HEAD_B] = {0, (uint8_t)count, (uint8_t)(count >> 8),
                                             (uint8_t)~count, (uint8_t)(~count >> 8)};
        memcpy(at, head, sizeof head);
        memcpy(at + sizeof head, bytes + first, count);
        at += sizeof head + count;
    }
    return (size_t)(at - out);
}

/* ---- checksum ---- */

/* The sums are taken in lanes, which become vector instructions: lane i has every LANES-th byte. A
 * lane of 16 bits holds the sum of sums of ROUNDS bytes. */
enum { LANES = 32, ROUNDS = 22, ADLER_PRIME = 65521 };

/* The two sums of ROUNDS * LANES bytes behind those of `low` and `high`. */
static void add_lanes(const uint8_t *bytes, uint32_t *low, uint32_t *high) {
    uint16_t sum[LANES] = {0}, sum_of_sums[LANES] = {0};
    for (int round = 0; round < ROUNDS; round++, bytes += LANES) {
        for (int i = 0; i < LANES; i++) {
            sum[i] = (uint16_t)(sum[i] + bytes[i]);
            sum_of_sums[i] = (uint16_t)(sum_of_sums[i] + sum[i]);
        }
    }
    uint32_t all = 0, weighted = 0;
    for (int i = 0; i < LANES; i++) {
        all += sum[i];
        weighted += LANES * (uint32_t)sum_of_sums[i] - (uint32_t)i * sum[i];
    }
    *high = (*high + ROUNDS * LANES * *low + weighted) % ADLER_PRIME;
    *low = (*low + all) % ADLER_PRIME;
}

uint32_t ms_adler32(uint32_t sum, const uint8_t *bytes, size_t size) {
    uint32_t low = sum & 0xFFFF, high = sum >> 16;
    for (; size >= ROUNDS * LANES; size -= ROUNDS * LANES, bytes += ROUNDS * LANES) {
        add_lanes(bytes, &low, &high);
    }
    for (size_t i = 0; i < size; i++) {
        low += bytes[i];
        high += low;
    }
    return high % ADLER_PRIME << 16 | low % ADLER_PRIME;
}

uint32_t ms_adler32_even(uint32_t sum, uint8_t value, size_t size) {
    uint64_t low = sum & 0xFFFF, high = sum >> 16, count = size % ADLER_PRIME;
    /* of size * (size + 1) / 2 the factor that is even is halved */
    uint64_t half = (size % 2 == 0 ? size / 2 : size) % ADLER_PRIME;
    uint64_t other = (size % 2 == 0 ? size + 1 : (size + 1) / 2) % ADLER_PRIME;
    high += count * low + half * other % ADLER_PRIME * value;
    low += count * value;
    return (uint32_t)(high % ADLER_PRIME << 16 | low % ADLER_PRIME);
}
