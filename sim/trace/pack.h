/* Compression of a chunk of a column, as HDF5's filters shuffle and deflate read it.
 *
 * Once the bytes of a chunk are sorted by significance, most planes are one value, or repeat
 * themselves; the low bytes of times are noise, on which HDF5's own filter spends half of its time.
 * So each plane is deflated in the way that suits it, all of them in one stream. */
#ifndef MS_TRACE_PACK_H
#define MS_TRACE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meshsim/arena.h"
#include "meshsim/status.h"

enum { MS_PLANES_MAX = 8 };

/* The bytes of a chunk's cells by significance: first the first byte of every cell, then the
 * second, as H5Z_FILTER_SHUFFLE sorts them. */
typedef struct ms_planes {
    uint8_t *bytes;               /* [cell_B][plane_B]; of a plane that does not vary nothing */
    size_t cell_B;                /* 1, 2, 4 or 8 */
    size_t plane_B;               /* cells of the chunk, > 0 */
    size_t count;                 /* cells so far */
    uint8_t first[MS_PLANES_MAX]; /* bytes of the first cell */
    bool varies[MS_PLANES_MAX];   /* whether another cell has another byte there */
} ms_planes;

/* Add [count] cells; all of a chunk have to be added before it is packed.  O(count). */
void ms_planes_add(ms_planes *planes, const void *cells, size_t count);

/* A compressor, used again and again. */
typedef struct ms_packer ms_packer;

/* Make one, with all it needs, in `arena`.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_packer_make(ms_arena *arena, ms_packer **packer_out);

/* Bytes that a chunk of `size` bytes becomes at most. */
size_t ms_packed_max_B(size_t size);

/* The zlib stream (RFC 1950) of a chunk, one plane after the other.
 *  out: [ms_packed_max_B(cell_B * plane_B)].  Returns the bytes of it that are used.  The same
 * bytes give the same stream.  O(cell_B * plane_B). */
size_t ms_pack(ms_packer *packer, const ms_planes *planes, uint8_t *out);

#endif
