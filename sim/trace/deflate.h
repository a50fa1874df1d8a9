/* Compression of a chunk of a column, as HDF5's filters shuffle and deflate read it.
 *
 * zlib takes more than half of the time that a trace costs, most of it on bytes that never change:
 * it looks at each of them. This encoder knows what columns look like once their bytes are sorted
 * by significance: planes of one value, planes that repeat, planes of noise. It makes the same kind
 * of stream (RFC 1950 and 1951), which every reader of HDF5 understands, in a third of the time. */
#ifndef MS_TRACE_DEFLATE_H
#define MS_TRACE_DEFLATE_H

#include <stddef.h>
#include <stdint.h>

enum { MS_DEFLATE_SLOTS = 1 << 13 };

/* Where the encoder has seen what; about 40 KB. */
typedef struct ms_deflater {
    uint32_t seen[MS_DEFLATE_SLOTS]; /* place + 1 of the last four bytes of this hash; 0: none */
    uint32_t literal[256];           /* code, and its bits from 24 on */
    uint32_t length[259];            /* the same with the bits that follow it */
} ms_deflater;

void ms_deflater_init(ms_deflater *deflater);

/* Bytes that `size` bytes become at most. */
size_t ms_deflate_max_B(size_t size);

/* The zlib stream of [size] bytes.
 *  out: [ms_deflate_max_B(size)].  Returns the bytes of it that are used.  The same bytes give the
 * same stream.  O(size). */
size_t ms_deflate(ms_deflater *deflater, const uint8_t *bytes, size_t size, uint8_t *out);

/* Sort the bytes of [count] cells of `cell_B` bytes by significance: first the first byte of every
 * cell, then the second, as H5Z_FILTER_SHUFFLE does. */
void ms_shuffle(const void *cells, size_t count, size_t cell_B, uint8_t *out);

#endif
