/* The whole file: its buffers, and its first block. */
#include "trace/h5.h"

#include <string.h>

enum { FIRST_B = 48 };

static bool make_buffers(ms_h5 *h5, ms_arena *scratch) {
    size_t most_B = MS_H5_CHUNK_CELLS * sizeof(double);
    h5->tail = ms_arena_alloc(scratch, MS_H5_TAIL_B, 1);
    h5->cells = ms_arena_alloc(scratch, MS_H5_CHUNK_CELLS, sizeof(double));
    h5->planes = ms_arena_alloc(scratch, most_B, 1);
    h5->packed = ms_arena_alloc(scratch, ms_packed_max_B(most_B), 1);
    return h5->tail != NULL && h5->cells != NULL && h5->planes != NULL && h5->packed != NULL &&
           ms_packer_make(scratch, &h5->packer) == MS_OK;
}

void ms_h5_create(ms_h5 *h5, int file, ms_arena *scratch) {
    *h5 = (ms_h5){.file = file};
    ms_buffer_init(&h5->heap.bytes);
    ms_h5_begin(&h5->root, true);
    ms_h5_make_types(h5);
    if (!make_buffers(h5, scratch)) {
        ms_h5_fail(h5, "out of memory");
    }
    (void)ms_h5_reserve(h5, FIRST_B);
}

/* The superblock (II.C): where the root group is, and how long the file. */
static void write_first(ms_h5 *h5, uint64_t root) {
    static const char HEAD[] = "\211HDF\r\n\032\n\3\10\10"; /* version 3, addresses of 8 bytes */
    const uint64_t places[] = {0, UINT64_MAX, h5->end, root};
    uint8_t first[FIRST_B];
    memcpy(first, HEAD, sizeof HEAD);
    memcpy(first + sizeof HEAD, places, sizeof places);
    uint32_t sum = ms_h5_checksum(first, FIRST_B - sizeof sum);
    memcpy(first + FIRST_B - sizeof sum, &sum, sizeof sum);
    ms_h5_put_at(h5, 0, first, sizeof first);
}

bool ms_h5_close(ms_h5 *h5) {
    uint64_t root = ms_h5_end(h5, &h5->root);
    if (!h5->failed) {
        ms_h5_flush(h5);
        write_first(h5, root);
    }
    ms_buffer_release(&h5->heap.bytes);
    ms_buffer_release(&h5->types);
    return !h5->failed;
}
