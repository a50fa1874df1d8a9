#include "trace/pack.h"

#include <string.h>

#define ZLIB_CONST /* input is read only */
#include <zlib.h>

/* How a plane is looked at before it is compressed: `LOOKS` stretches of it, for words that stood
 * in the same stretch before. In the columns of traces fewer than one word in eight is such a word
 * where the plane is noise, which deflate would halve at best and spends most of its time on, and
 * more than three in ten elsewhere. */
enum { LOOKS = 4, LOOK_B = 1024, SLOT_BITS = 10, REPEATS_LEAST = 8 };

enum { LEVEL = 1, WINDOW_BITS = 15, MEMORY_LEVEL = 9 };

/* What deflateParams and the end of a stream may add to each plane: less than this. */
enum { PLANE_MORE_B = 64, PLANES_MAX = 8 };

struct ms_packer {
    z_stream stream;
};

static void *take(void *arena, unsigned count, unsigned size) {
    return ms_arena_alloc(arena, count, size);
}

static void leave(void *arena, void *block) {
    (void)arena; /* which frees all at once */
    (void)block;
}

ms_status ms_packer_make(ms_arena *arena, ms_packer **packer_out) {
    ms_packer *packer = MS_NEW(arena, ms_packer, 1);
    if (packer == NULL) {
        return MS_E_NOMEM;
    }
    packer->stream = (z_stream){.zalloc = take, .zfree = leave, .opaque = arena};
    if (deflateInit2(&packer->stream, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        return MS_E_NOMEM;
    }
    *packer_out = packer;
    return MS_OK;
}

size_t ms_packed_max_B(size_t size) {
    return deflateBound(NULL, size) + (size_t)PLANE_MORE_B * PLANES_MAX;
}

/* The bytes at one place of each of [count] cells of a fixed size. */
#define TAKE_PLANE(cell_B)                                                                         \
    for (size_t i = 0; i < count; i++) {                                                           \
        to[i] = from[i * (cell_B)];                                                                \
    }

void ms_shuffle(const void *cells, size_t count, size_t cell_B, uint8_t *planes_out) {
    for (size_t byte = 0; byte < cell_B; byte++) {
        const uint8_t *from = (const uint8_t *)cells + byte;
        uint8_t *to = planes_out + byte * count;
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

static uint64_t word_at(const uint8_t *at) {
    uint64_t word = 0;
    memcpy(&word, at, sizeof word);
    return word;
}

/* Words of a stretch that stood in it before. */
static size_t count_repeats(const uint8_t *stretch, size_t words) {
    uint16_t seen[1 << SLOT_BITS] = {0}; /* place + 1 of the last word of this hash */
    size_t repeats = 0;
    for (size_t i = 0; i < words; i++) {
        uint64_t word = word_at(stretch + i);
        uint16_t *slot = &seen[word * UINT64_C(0x9E3779B97F4A7C15) >> (64 - SLOT_BITS)];
        repeats += *slot > 0 && word_at(stretch + *slot - 1) == word;
        *slot = (uint16_t)(i + 1);
    }
    return repeats;
}

/* Whether there is next to nothing to be found in a plane. */
static bool is_noise(const uint8_t *plane, size_t size) {
    size_t part = size / LOOKS;
    size_t look_B = part < LOOK_B ? part : LOOK_B;
    if (look_B <= sizeof(uint64_t)) {
        return false; /* too little to tell, and to cost anything */
    }
    size_t words = look_B - sizeof(uint64_t) + 1;
    size_t repeats = 0;
    for (size_t look = 0; look < LOOKS; look++) {
        repeats += count_repeats(plane + look * part, words);
    }
    return repeats * REPEATS_LEAST < words * LOOKS;
}

static bool is_one_value(const uint8_t *plane, size_t size) {
    return memcmp(plane, plane + 1, size - 1) == 0;
}

size_t ms_pack(ms_packer *packer, const uint8_t *planes, size_t plane_count, size_t plane_B,
               uint8_t *out) {
    z_stream *stream = &packer->stream;
    size_t room = ms_packed_max_B(plane_count * plane_B);
    (void)deflateReset(stream); /* these fail only for a stream that we broke ourselves */
    stream->next_out = out;
    stream->avail_out = (unsigned)room;
    for (size_t i = 0; i < plane_count; i++) {
        const uint8_t *plane = planes + i * plane_B;
        bool is_even = is_one_value(plane, plane_B);
        stream->avail_in = 0;
        (void)deflateParams(stream, !is_even && is_noise(plane, plane_B) ? 0 : LEVEL,
                            is_even ? Z_RLE : Z_DEFAULT_STRATEGY);
        stream->next_in = plane;
        stream->avail_in = (unsigned)plane_B;
        (void)deflate(stream, i + 1 == plane_count ? Z_FINISH : Z_NO_FLUSH);
    }
    return room - stream->avail_out;
}
