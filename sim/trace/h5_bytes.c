/* The bytes of the file: what has its place, and the heap. */
#include "trace/h5.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "cells go to the file as they are");

enum { HEAP_B = 1 << 14, HEAP_HEAD_B = 16, HEAP_OBJECT_B = 16 };

void ms_h5_fail(ms_h5 *h5, const char *cause) {
    if (!h5->failed) {
        h5->failed = true;
        snprintf(h5->cause, sizeof h5->cause, "%s", cause);
    }
}

/* ---- places ---- */

void ms_h5_put_at(ms_h5 *h5, uint64_t at, const void *bytes, size_t size) {
    const char *from = bytes;
    while (size > 0 && !h5->failed) {
        ssize_t written = pwrite(h5->file, from, size, (off_t)at);
        if (written >= 0) {
            from += written;
            at += (uint64_t)written;
            size -= (size_t)written;
        } else if (errno != EINTR) {
            ms_h5_fail(h5, strerror(errno));
        }
    }
}

static void write_tail(ms_h5 *h5) {
    ms_h5_put_at(h5, h5->tail_at, h5->tail, h5->tail_B);
    h5->tail_at = h5->end;
    h5->tail_B = 0;
}

uint64_t ms_h5_put(ms_h5 *h5, const void *bytes, size_t size) {
    uint64_t at = h5->end;
    if (h5->failed) {
        return at;
    }
    if (size > MS_H5_TAIL_B - h5->tail_B) {
        write_tail(h5);
    }
    h5->end += size;
    if (size > MS_H5_TAIL_B) {
        ms_h5_put_at(h5, at, bytes, size);
        h5->tail_at = h5->end;
    } else {
        memcpy(h5->tail + h5->tail_B, bytes, size);
        h5->tail_B += size;
    }
    return at;
}

uint64_t ms_h5_reserve(ms_h5 *h5, size_t size) {
    uint64_t at = h5->end;
    if (!h5->failed) {
        write_tail(h5);
        h5->end += size;
        h5->tail_at = h5->end;
    }
    return at;
}

/* ---- numbers ---- */

void ms_h5_number(ms_buffer *bytes, uint64_t number, size_t size) {
    ms_buffer_add(bytes, (const char *)&number, size);
}

static uint32_t turned(uint32_t word, int bits) {
    return word << bits | word >> (32 - bits);
}

uint32_t ms_h5_checksum(const void *bytes, size_t size) {
    const char *at = bytes;
    uint32_t word[3], a, b, c;
    a = b = c = UINT32_C(0xdeadbeef) + (uint32_t)size;
    for (; size > sizeof word; at += sizeof word, size -= sizeof word) {
        memcpy(word, at, sizeof word);
        a += word[0], b += word[1], c += word[2];
        a = (a - c) ^ turned(c, 4), c += b;
        b = (b - a) ^ turned(a, 6), a += c;
        c = (c - b) ^ turned(b, 8), b += a;
        a = (a - c) ^ turned(c, 16), c += b;
        b = (b - a) ^ turned(a, 19), a += c;
        c = (c - b) ^ turned(b, 4), b += a;
    }
    if (size == 0) {
        return c;
    }
    memset(word, 0, sizeof word);
    memcpy(word, at, size);
    a += word[0], b += word[1], c += word[2];
    c = (c ^ b) - turned(b, 14);
    a = (a ^ c) - turned(c, 11);
    b = (b ^ a) - turned(a, 25);
    c = (c ^ b) - turned(b, 16);
    a = (a ^ c) - turned(c, 4);
    b = (b ^ a) - turned(a, 14);
    return (c ^ b) - turned(b, 24);
}

/* ---- the heap (III.E of the specification) ---- */

/* Write the newest collection, its free room as object 0. */
static void write_heap(ms_h5 *h5) {
    ms_h5_heap *heap = &h5->heap;
    ms_buffer *bytes = &heap->bytes;
    size_t free_B = heap->size - bytes->length;
    if (heap->size == 0) {
        return;
    }
    if (free_B >= HEAP_OBJECT_B) {
        ms_h5_number(bytes, 0, sizeof(uint64_t));
        ms_h5_number(bytes, free_B, sizeof(uint64_t));
    }
    while (!bytes->failed && bytes->length < heap->size) {
        ms_h5_number(bytes, 0, sizeof(uint64_t)); /* all there are whole words */
    }
    if (bytes->failed) {
        ms_h5_fail(h5, "out of memory");
    } else {
        ms_h5_put_at(h5, heap->at, bytes->data, heap->size);
    }
    heap->size = 0;
}

static void start_heap(ms_h5 *h5, size_t object_B) {
    ms_h5_heap *heap = &h5->heap;
    write_heap(h5);
    heap->size = HEAP_HEAD_B + object_B > HEAP_B ? HEAP_HEAD_B + object_B : HEAP_B;
    heap->at = ms_h5_reserve(h5, heap->size);
    heap->objects = 0;
    heap->bytes.length = 0;
    ms_buffer_add(&heap->bytes, "GCOL\1\0\0", sizeof(uint64_t));
    ms_h5_number(&heap->bytes, heap->size, sizeof(uint64_t));
}

void ms_h5_keep(ms_h5 *h5, const void *bytes, size_t size, uint32_t count,
                uint8_t reference_out[MS_H5_REFERENCE_B]) {
    static const char NOTHING[sizeof(uint64_t)] = {0};
    ms_h5_heap *heap = &h5->heap;
    memset(reference_out, 0, MS_H5_REFERENCE_B);
    if (size == 0 || h5->failed) {
        return;
    }
    size_t rest_B = -size % sizeof(uint64_t), object_B = HEAP_OBJECT_B + size + rest_B;
    if (object_B > heap->size - (heap->size == 0 ? 0 : heap->bytes.length)) {
        start_heap(h5, object_B);
    }
    heap->objects++;
    ms_h5_number(&heap->bytes, heap->objects, sizeof(uint64_t));
    ms_h5_number(&heap->bytes, size, sizeof(uint64_t));
    ms_buffer_add(&heap->bytes, bytes, size);
    ms_buffer_add(&heap->bytes, NOTHING, rest_B);
    memcpy(reference_out, &count, sizeof count);
    memcpy(reference_out + sizeof count, &heap->at, sizeof heap->at);
    memcpy(reference_out + sizeof count + sizeof heap->at, &heap->objects, sizeof heap->objects);
}

void ms_h5_flush(ms_h5 *h5) {
    if (!h5->failed) {
        write_heap(h5);
        write_tail(h5);
    }
}
