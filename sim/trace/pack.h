/* Compression of a chunk of a column, as HDF5's filters shuffle and deflate read it.
 *
 * Once the bytes of a chunk are sorted by significance, most planes are one value, or repeat
 * themselves; the low bytes of times are noise, on which HDF5's own filter spends half of its time.
 * So each plane is deflated in the way that suits it, all of them in one stream. */
#ifndef MS_TRACE_PACK_H
#define MS_TRACE_PACK_H

#include <stddef.h>
#include <stdint.h>

#include "meshsim/arena.h"
#include "meshsim/status.h"

/* A compressor, used again and again. */
typedef struct ms_packer ms_packer;

/* Make one, with all it needs, in `arena`.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_packer_make(ms_arena *arena, ms_packer **packer_out);

/* Bytes that `size` bytes become at most. */
size_t ms_packed_max_B(size_t size);

/* Sort the bytes of [count] cells of `cell_B` bytes by significance: first the first byte of every
 * cell, then the second, as H5Z_FILTER_SHUFFLE does. */
void ms_shuffle(const void *cells, size_t count, size_t cell_B, uint8_t *planes_out);

/* The zlib stream of `plane_count` planes of `plane_B` > 0 bytes each, one after the other.
 *  out: [ms_packed_max_B(plane_count * plane_B)].  Returns the bytes of it that are used.  The same
 * bytes give the same stream.  O(plane_count * plane_B). */
size_t ms_pack(ms_packer *packer, const uint8_t *planes, size_t plane_count, size_t plane_B,
               uint8_t *out);

#endif
