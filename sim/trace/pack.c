#include "trace/pack.h"

#include <string.h>

#define ZLIB_CONST /* input is read only */
#include <libdeflate.h>
#include <zlib.h>

/* How a plane is looked at before it is compressed: `LOOKS` stretches of it, for words that stood
 * in the same stretch before. In the columns of traces fewer than one word in eight is such a word
 * where the plane is noise, which deflate would halve at best and spends most of its time on, and
 * more than three in ten elsewhere. Between lie low bytes of dates that come again here and there:
 * deflate would make a third of them, in fifteen times the time that writing them takes. */
enum { LOOKS = 2, LOOK_B = 1024, SLOT_BITS = 10, REPEATS_LEAST = 4 };

/* A window below 0: no head and no checksum, which are written here. zlib clears a table of words
 * for each plane; with this much memory it stays in the cache and is as good for planes of 64 KiB.
 */
enum { LEVEL = 1, WINDOW_BITS = -15, MEMORY_LEVEL = 6 };

/* Of what level 1 looks for, only a match that is long enough changes: columns repeat themselves at
 * length, and a match of 258 bytes costs no more than one of 8 (deflateTune, zlib.h). */
enum { GOOD_LENGTH = 4, LAZY_LENGTH = 4, NICE_LENGTH = 258, CHAIN_LENGTH = 4 };

/* What deflateParams and a flush may add to each plane, and head and end to all: less than this. */
enum { PLANE_MORE_B = 80, SUM_B = 4 };

/* Bytes of a stored block: its length has 16 bits. */
enum { STORED_MOST_B = 65535 };

enum { EVEN_B = 512, VALUES = 256, VECTOR_B = 16 };

/* A plane of one value, packed once and copied from then on. */
typedef struct even_plane {
    size_t plane_B; /* that it was packed for; 0: none yet */
    size_t packed_B;
    uint32_t sum;
    uint8_t packed[EVEN_B];
} even_plane;

struct ms_packer {
    z_stream stream;
    even_plane even[VALUES];
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
    return deflateBound(NULL, size) + (size_t)PLANE_MORE_B * MS_PLANES_MAX;
}

/* ---- planes ---- */

/* Words side by side, as many as a vector register of every processor has: of an array of them, or
 * of longer ones, compilers keep copies in memory and wait for these, which takes twice as long as
 * all the rest. */
typedef uint64_t word_vector __attribute__((vector_size(VECTOR_B)));

/* The bits in which words of cells differ from the first cell, or-ed together. */
static uint64_t differences(const uint8_t *cells, size_t size, uint64_t first) {
    word_vector several = {0};
    size_t at = 0;
    for (; at + sizeof several <= size; at += sizeof several) {
        word_vector some;
        memcpy(&some, cells + at, sizeof some);
        several |= some ^ first;
    }
    uint64_t found = several[0] | several[1];
    for (; at + sizeof found <= size; at += sizeof found) {
        uint64_t word;
        memcpy(&word, cells + at, sizeof word);
        found |= word ^ first;
    }
    uint64_t rest = first;
    memcpy(&rest, cells + at, size - at);
    return found | (rest ^ first);
}

/* The bytes at one place of each of [count] cells of a fixed size. */
#define TAKE_PLANE(cell_B)                                                                         \
    for (size_t i = 0; i < count; i++) {                                                           \
        to[i] = from[i * (cell_B)];                                                                \
    }

static void take_plane(const uint8_t *from, size_t count, size_t cell_B, uint8_t *to) {
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
    default:
        TAKE_PLANE(8);
    }
}

void ms_planes_add(ms_planes *planes, const void *cells, size_t count) {
    size_t cell_B = planes->cell_B;
    if (planes->count == 0) {
        memcpy(planes->first, cells, count > 0 ? cell_B : 0);
        memset(planes->varies, 0, sizeof planes->varies);
    }
    uint8_t word[MS_PLANES_MAX]; /* as many first cells as fit */
    for (size_t i = 0; i < sizeof word; i++) {
        word[i] = planes->first[i % cell_B];
    }
    uint64_t first;
    memcpy(&first, word, sizeof first);
    const uint64_t found = differences(cells, count * cell_B, first);
    memcpy(word, &found, sizeof word);
    for (size_t byte = 0; byte < sizeof word; byte++) {
        size_t place = byte % cell_B;
        if (word[byte] != 0 && !planes->varies[place]) {
            planes->varies[place] = true;
            memset(planes->bytes + place * planes->plane_B, planes->first[place], planes->count);
        }
    }
    for (size_t byte = 0; byte < cell_B; byte++) {
        if (planes->varies[byte]) {
            take_plane((const uint8_t *)cells + byte, count, cell_B,
                       planes->bytes + byte * planes->plane_B + planes->count);
        }
    }
    planes->count += count;
}

/* ---- packing ---- */

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

/* A plane as it is (RFC 1951, 3.2.4), up to a whole byte.  Returns the bytes of its blocks. */
static size_t store_plane(const uint8_t *plane, size_t plane_B, uint8_t *out) {
    uint8_t *at = out;
    for (size_t done = 0; done < plane_B;) {
        size_t length = plane_B - done < STORED_MOST_B ? plane_B - done : STORED_MOST_B;
        const uint8_t head[] = {0x00, (uint8_t)length, (uint8_t)(length >> 8), (uint8_t)~length,
                                (uint8_t)(~length >> 8)};
        memcpy(at, head, sizeof head);
        memcpy(at + sizeof head, plane + done, length);
        at += sizeof head + length;
        done += length;
    }
    return (size_t)(at - out);
}

/* The blocks of a plane, up to a whole byte. No match reaches back into the plane before, so that
 * they may stand behind any.  Returns their bytes. */
static size_t pack_plane(z_stream *stream, const uint8_t *plane, size_t plane_B, int strategy,
                         uint8_t *out) {
    if (strategy != Z_RLE && is_noise(plane, plane_B)) {
        return store_plane(plane, plane_B, out);
    }
    size_t room = ms_packed_max_B(plane_B);
    (void)deflateReset(stream); /* these fail only for a stream that we broke ourselves */
    stream->avail_in = 0;
    (void)deflateParams(stream, LEVEL, strategy);
    (void)deflateTune(stream, GOOD_LENGTH, LAZY_LENGTH, NICE_LENGTH, CHAIN_LENGTH);
    stream->next_in = plane;
    stream->avail_in = (unsigned)plane_B;
    stream->next_out = out;
    stream->avail_out = (unsigned)room;
    (void)deflate(stream, Z_SYNC_FLUSH);
    return room - stream->avail_out;
}

/* Checksum before any byte (RFC 1950). */
static const uint32_t NO_SUM = 1;

/* The same of a plane of one value, which most are.  plane: room for it.  *sum_out: its checksum.
 */
static size_t pack_even(ms_packer *packer, uint8_t value, size_t plane_B, uint8_t *plane,
                        uint8_t *out, uint32_t *sum_out) {
    even_plane *even = &packer->even[value];
    if (even->plane_B == plane_B) {
        memcpy(out, even->packed, even->packed_B);
        *sum_out = even->sum;
        return even->packed_B;
    }
    memset(plane, value, plane_B);
    size_t packed_B = pack_plane(&packer->stream, plane, plane_B, Z_RLE, out);
    *sum_out = libdeflate_adler32(NO_SUM, plane, plane_B);
    if (packed_B <= EVEN_B) {
        *even = (even_plane){.plane_B = plane_B, .packed_B = packed_B, .sum = *sum_out};
        memcpy(even->packed, out, packed_B);
    }
    return packed_B;
}

size_t ms_pack(ms_packer *packer, const ms_planes *planes, uint8_t *out) {
    static const uint8_t HEAD[] = {0x78, 0x01}; /* RFC 1950: deflate, a window of 32 KiB, fastest */
    static const uint8_t LAST_BLOCK[] = {0x03, 0x00}; /* RFC 1951: the last one, and empty */
    uint8_t *at = out;
    uint32_t sum = NO_SUM;
    memcpy(at, HEAD, sizeof HEAD);
    at += sizeof HEAD;
    for (size_t i = 0; i < planes->cell_B; i++) {
        uint8_t *plane = planes->bytes + i * planes->plane_B;
        if (planes->varies[i]) {
            at += pack_plane(&packer->stream, plane, planes->plane_B, Z_DEFAULT_STRATEGY, at);
            sum = libdeflate_adler32(sum, plane, planes->plane_B);
        } else {
            uint32_t more = 0;
            at += pack_even(packer, planes->first[i], planes->plane_B, plane, at, &more);
            sum = (uint32_t)adler32_combine(sum, more, (z_off_t)planes->plane_B);
        }
    }
    memcpy(at, LAST_BLOCK, sizeof LAST_BLOCK);
    at += sizeof LAST_BLOCK;
    for (int byte = SUM_B - 1; byte >= 0; byte--) {
        *at++ = (uint8_t)(sum >> (8 * byte));
    }
    return (size_t)(at - out);
}
