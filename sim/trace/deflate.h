/* Deflate (RFC 1951) for bytes that repeat at a few distances, as the planes of a trace's columns
 * do.
 *
 * The operations of a microbatch come back with the next one, so most of a plane stands in it some
 * hundred rows earlier, and the rows after it do, too: what was found at a distance is looked for
 * there first. With the format's fixed codes, which need no count of symbols, that takes a tenth of
 * the time of zlib's fastest level on such planes. */
#ifndef MS_TRACE_DEFLATE_H
#define MS_TRACE_DEFLATE_H

#include <stddef.h>
#include <stdint.h>

enum { MS_DEFLATE_HASH_BITS = 12, MS_DEFLATE_MATCH_MAX_B = 258 };

/* Some bits of a stream, the first one lowest. */
typedef struct ms_deflate_code {
    uint16_t bits;
    uint16_t count;
} ms_deflate_code;

/* The codes, and what was seen where. */
typedef struct ms_deflate {
    ms_deflate_code literal[256];
    ms_deflate_code length[MS_DEFLATE_MATCH_MAX_B + 1]; /* with its extra bits; from 3 on */
    uint8_t distance[32];                               /* 5 bits each */
    uint16_t seen[1 << MS_DEFLATE_HASH_BITS];           /* last place of a hash, modulo 65,536 */
} ms_deflate;

/* Make the codes; needs no release. */
void ms_deflate_init(ms_deflate *deflate);

/* Bytes that `size` bytes become at most in either way below. */
size_t ms_deflate_most_B(size_t size);

/* Blocks with what repeats in `bytes` left out; they refer to nothing before them, end at a whole
 * byte, and are none of them the stream's last.
 *  bytes: [size].  out: [ms_deflate_most_B(size)].  Returns the bytes of it that are used; 0:
 * stored they would take less.  O(size). */
size_t ms_deflate_repeats(ms_deflate *deflate, const uint8_t *bytes, size_t size, uint8_t *out);

/* Blocks with the bytes as they are.  Parameters and result as above, but never 0.  O(size). */
size_t ms_deflate_stored(const uint8_t *bytes, size_t size, uint8_t *out);

/* Adler-32 (RFC 1950) of `size` bytes behind those whose sum is `sum`; of none it is 1.  O(size).
 */
uint32_t ms_adler32(uint32_t sum, const uint8_t *bytes, size_t size);

/* The same of `size` bytes that are all `value`.  O(1). */
uint32_t ms_adler32_even(uint32_t sum, uint8_t value, size_t size);

#endif
