#include "trace/deflate.h"

#include <string.h>

/* Of RFC 1951: lengths and distances of matches, the fixed code; of RFC 1950: the checksum. */
enum {
    LENGTH_MIN = 3,
    LENGTH_MAX = 258,
    DISTANCE_MAX = 32768,
    STORED_MAX = 65535,
    END_OF_BLOCK_BITS = 7, /* the code of it is 0 */
    ADLER = 65521
};

enum {
    MATCH_LEAST = 8,    /* bytes that are hashed; shorter matches save next to nothing */
    RUN_LEAST = 256,    /* equal bytes that are worth a checksum in closed form */
    STORED_LEAST = 128, /* literals in a row that are worth a block of their own */
    SKIP_BITS = 2,      /* after 32 vain looks every second byte is looked at, and so on: noise */
    CODE_BITS = 24,     /* in the tables: code below, its number of bits above */
    LANES = 16,
    LANE_GROUPS = 4096 /* 255 * groups^2 / 2 stays below 2^32 */
};

typedef struct bit_writer {
    uint8_t *at;
    uint64_t bits; /* not written yet, the first lowest */
    unsigned count;
} bit_writer;

typedef struct checksum {
    uint64_t a, b;
} checksum;

typedef struct encoder {
    const ms_deflater *tables;
    bit_writer to;
    checksum sum;
    const uint8_t *summed; /* the checksum is of the bytes before */
} encoder;

/* ---- bits ---- */

static inline void put_word(uint8_t *at, uint32_t word) {
    for (int i = 0; i < 4; i++) {
        at[i] = (uint8_t)(word >> (8 * i));
    }
}

/* count: at most 32. */
static inline void put(bit_writer *to, uint32_t value, unsigned count) {
    to->bits |= (uint64_t)value << to->count;
    to->count += count;
    if (to->count >= 32) {
        put_word(to->at, (uint32_t)to->bits);
        to->at += 4;
        to->bits >>= 32;
        to->count -= 32;
    }
}

/* Up to the next whole byte. */
static void put_rest(bit_writer *to) {
    for (; to->count > 0; to->count -= to->count < 8 ? to->count : 8) {
        *to->at++ = (uint8_t)to->bits;
        to->bits >>= 8;
    }
    to->bits = 0;
}

static inline void put_coded(bit_writer *to, uint32_t entry) {
    put(to, entry & ((1U << CODE_BITS) - 1U), entry >> CODE_BITS);
}

/* Huffman codes stand with their first bit first, everything else with its lowest. */
static uint32_t reversed(uint32_t code, unsigned bits) {
    uint32_t result = 0;
    for (unsigned i = 0; i < bits; i++) {
        result |= (code >> i & 1U) << (bits - 1U - i);
    }
    return result;
}

static unsigned log2_of(uint32_t number) {
    return 31U - (unsigned)__builtin_clz(number);
}

/* The fixed code of a symbol of the first alphabet. Source: RFC 1951, 3.2.6. */
static uint32_t fixed_code(unsigned symbol) {
    unsigned bits = symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8;
    unsigned code = symbol < 144   ? 0x30 + symbol
                    : symbol < 256 ? 0x190 + (symbol - 144)
                    : symbol < 280 ? symbol - 256
                                   : 0xC0 + (symbol - 280);
    return reversed(code, bits) | (uint32_t)bits << CODE_BITS;
}

/* Code and extra bits of a length. Source: RFC 1951, 3.2.5. */
static uint32_t length_code(unsigned length) {
    unsigned above = length - LENGTH_MIN;
    if (length == LENGTH_MAX) {
        return fixed_code(285);
    }
    if (above < 8) {
        return fixed_code(257 + above);
    }
    unsigned extra = log2_of(above) - 2;
    uint32_t code = fixed_code(257 + 4 * extra + 4 + (above >> extra & 3U));
    unsigned bits = code >> CODE_BITS;
    uint32_t value = (code & ((1U << CODE_BITS) - 1U)) | (above & ((1U << extra) - 1U)) << bits;
    return value | (uint32_t)(bits + extra) << CODE_BITS;
}

static uint32_t distance_code(uint32_t distance) {
    uint32_t above = distance - 1;
    unsigned extra = above < 4 ? 0 : log2_of(above) - 1;
    unsigned symbol = above < 4 ? above : 2 * extra + 2 + (above >> extra & 1U);
    return reversed(symbol, 5) | (above & ((1U << extra) - 1U)) << 5 |
           (uint32_t)(5 + extra) << CODE_BITS;
}

void ms_deflater_init(ms_deflater *deflater) {
    for (unsigned i = 0; i < 256; i++) {
        deflater->literal[i] = fixed_code(i);
    }
    for (unsigned i = 0; i < LENGTH_MIN; i++) {
        deflater->length[i] = 0;
    }
    for (unsigned i = LENGTH_MIN; i <= LENGTH_MAX; i++) {
        deflater->length[i] = length_code(i);
    }
}

/* ---- the checksum ---- */

/* Of at most LANES * LANE_GROUPS bytes, a whole number of lanes: sums that a compiler makes vector
 * instructions of. */
static void sum_lanes(checksum *sum, const uint8_t *bytes, size_t size) {
    uint32_t a[LANES] = {0};
    uint32_t b[LANES] = {0};
    for (size_t i = 0; i < size; i += LANES) {
        for (size_t lane = 0; lane < LANES; lane++) {
            b[lane] += a[lane];
            a[lane] += bytes[i + lane];
        }
    }
    sum->b += sum->a * size;
    for (size_t lane = 0; lane < LANES; lane++) {
        sum->a += a[lane];
        sum->b += (uint64_t)LANES * b[lane] + (LANES - lane) * (uint64_t)a[lane];
    }
    sum->a %= ADLER;
    sum->b %= ADLER;
}

static void sum_bytes(checksum *sum, const uint8_t *bytes, size_t size) {
    while (size >= LANES) {
        size_t most = (size_t)LANES * LANE_GROUPS;
        size_t part = (size < most ? size : most) / LANES * LANES;
        sum_lanes(sum, bytes, part);
        bytes += part;
        size -= part;
    }
    for (size_t i = 0; i < size; i++) {
        sum->a += bytes[i];
        sum->b += sum->a;
    }
    sum->a %= ADLER;
    sum->b %= ADLER;
}

/* The same of `size` times one value. */
static void sum_run(checksum *sum, uint8_t value, size_t size) {
    uint64_t n = size % (2 * (uint64_t)ADLER); /* the terms below repeat with this period */
    sum->b = (sum->b + n * sum->a + (n * (n + 1) / 2) % ADLER * value) % ADLER;
    sum->a = (sum->a + n * value) % ADLER;
}

/* ---- blocks ---- */

/* Of the block that is open, and of the next, whose codes are fixed. */
static void open_fixed(bit_writer *to, unsigned is_last) {
    put(to, is_last | 1U << 1, 3);
}

static void put_stored(bit_writer *to, const uint8_t *bytes, size_t size) {
    put(to, 0, END_OF_BLOCK_BITS);
    while (size > 0) {
        size_t part = size < STORED_MAX ? size : STORED_MAX;
        put(to, 0, 3);
        put_rest(to);
        put_word(to->at, (uint32_t)part | ~(uint32_t)part << 16);
        memcpy(to->at + 4, bytes, part);
        to->at += 4 + part;
        bytes += part;
        size -= part;
    }
    open_fixed(to, 0);
}

static void put_literals(encoder *e, const uint8_t *bytes, size_t size) {
    if (size >= STORED_LEAST) {
        put_stored(&e->to, bytes, size);
        return;
    }
    for (size_t i = 0; i < size; i++) {
        put_coded(&e->to, e->tables->literal[bytes[i]]);
    }
}

/* `size` bytes from `at` on that are those `distance` before them; at least MATCH_LEAST. */
static void put_match(encoder *e, const uint8_t *at, uint32_t distance, size_t size) {
    uint32_t code = distance_code(distance);
    if (distance == 1 && size >= RUN_LEAST) {
        sum_bytes(&e->sum, e->summed, (size_t)(at - e->summed));
        sum_run(&e->sum, *at, size);
        e->summed = at + size;
    }
    while (size > 0) {
        /* what is left after the longest match must be none or a match, too */
        size_t part = size <= LENGTH_MAX                ? size
                      : size >= LENGTH_MAX + LENGTH_MIN ? LENGTH_MAX
                                                        : LENGTH_MAX - LENGTH_MIN;
        put_coded(&e->to, e->tables->length[part]);
        put_coded(&e->to, code);
        size -= part;
    }
}

/* ---- matches ---- */

/* The first MATCH_LEAST bytes from `at` on. */
static inline uint64_t load_word(const uint8_t *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return word << (8 * (8 - MATCH_LEAST));
}

static inline uint32_t slot_of(uint64_t word) {
    return (uint32_t)(word * 0x9E3779B97F4A7C15U >> 51); /* Knuth's multiplicative hash, 13 bits */
}

/* Bytes from `at` on that are those from `before` on. */
static size_t length_of_match(const uint8_t *before, const uint8_t *at, const uint8_t *end) {
    const uint8_t *start = at;
    while (end - at >= 8) {
        uint64_t a;
        uint64_t b;
        memcpy(&a, before, sizeof a);
        memcpy(&b, at, sizeof b);
        if (a != b) {
            break;
        }
        before += 8;
        at += 8;
    }
    while (at < end && *before == *at) {
        before++;
        at++;
    }
    return (size_t)(at - start);
}

/* How far back the MATCH_LEAST bytes at `at` stood before; 0: not known. */
static inline uint32_t find_distance(ms_deflater *deflater, const uint8_t *bytes, uint32_t at) {
    uint64_t word = load_word(bytes + at);
    uint32_t *slot = &deflater->seen[slot_of(word)];
    uint32_t before = *slot;
    *slot = at + 1;
    if (at > 0 && load_word(bytes + at - 1) == word) {
        return 1;
    }
    uint32_t distance = at + 1 - before;
    return before > 0 && distance <= DISTANCE_MAX && load_word(bytes + before - 1) == word
               ? distance
               : 0;
}

static void encode(encoder *e, ms_deflater *deflater, const uint8_t *bytes, size_t size) {
    size_t done = 0; /* bytes that are written */
    size_t at = 0;
    uint32_t vain = 0;
    while (at + 8 <= size) {
        uint32_t distance = find_distance(deflater, bytes, (uint32_t)at);
        if (distance == 0) {
            at += 1 + (vain++ >> SKIP_BITS);
            continue;
        }
        while (at > done && at > distance && bytes[at - 1] == bytes[at - 1 - distance]) {
            at--; /* of what was skipped */
        }
        size_t length = length_of_match(bytes + at - distance, bytes + at, bytes + size);
        put_literals(e, bytes + done, at - done);
        put_match(e, bytes + at, distance, length);
        at += length;
        done = at;
        vain = 0;
    }
    put_literals(e, bytes + done, size - done);
    sum_bytes(&e->sum, e->summed, (size_t)(bytes + size - e->summed));
}

size_t ms_deflate_max_B(size_t size) {
    return size + size / 8 + 64; /* nine bits a literal, and what stands around it */
}

size_t ms_deflate(ms_deflater *deflater, const uint8_t *bytes, size_t size, uint8_t *out) {
    encoder e = {.tables = deflater, .to = {.at = out + 2}, .sum = {.a = 1}, .summed = bytes};
    out[0] = 0x78; /* deflate, a window of 32 KiB */
    out[1] = 0x01; /* the fastest level; makes both a multiple of 31 */
    memset(deflater->seen, 0, sizeof deflater->seen);
    open_fixed(&e.to, 0);
    encode(&e, deflater, bytes, size);
    put(&e.to, 0, END_OF_BLOCK_BITS);
    open_fixed(&e.to, 1);
    put(&e.to, 0, END_OF_BLOCK_BITS);
    put_rest(&e.to);
    uint32_t sum = (uint32_t)(e.sum.b << 16 | e.sum.a);
    put_word(e.to.at, __builtin_bswap32(sum));
    return (size_t)(e.to.at + 4 - out);
}

/* ---- shuffling ---- */

/* The bytes at one place of each of [count] cells of a fixed size. */
#define TAKE_PLANE(cell_B)                                                                         \
    for (size_t i = 0; i < count; i++) {                                                           \
        to[i] = from[i * (cell_B)];                                                                \
    }

void ms_shuffle(const void *cells, size_t count, size_t cell_B, uint8_t *out) {
    for (size_t byte = 0; byte < cell_B; byte++) {
        const uint8_t *from = (const uint8_t *)cells + byte;
        uint8_t *to = out + byte * count;
        switch (cell_B) { /* sizes that the compiler knows become vector instructions */
        case 1:
            memcpy(to, from, count);
            break;
        case 2:
            TAKE_PLANE(2);
            break;
        case 4:
            TAKE_PLANE(4);
            break;
        case 8:
            TAKE_PLANE(8);
            break;
        default:
            TAKE_PLANE(cell_B);
        }
    }
}
