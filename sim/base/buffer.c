/* Growing text (ms_buffer) and growing arrays of objects (ms_vector) on the heap (buffer.h). Both
 * grow by a factor, so that appending n items costs O(n) in all. */
#include "base/buffer.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"

void ms_buffer_init(ms_buffer *buffer) {
    *buffer = (ms_buffer){0};
}

void ms_buffer_release(ms_buffer *buffer) {
    free(buffer->data);
    ms_buffer_init(buffer);
}

/* Make room for `extra` more bytes and a NUL. Returns false, and marks the buffer as failed, when
 * memory runs out or the buffer had failed before. */
static bool reserve(ms_buffer *buffer, size_t extra) {
    /* a quarter of SIZE_MAX each: doubling the capacity cannot overflow */
    if (buffer->failed || extra > SIZE_MAX / 4 || buffer->length > SIZE_MAX / 4) {
        buffer->failed = true;
        return false;
    }
    size_t need = buffer->length + extra + 1;
    if (need <= buffer->capacity) {
        return true;
    }
    size_t capacity = buffer->capacity < 64 ? 64 : buffer->capacity;
    while (capacity < need) {
        capacity *= 2;
    }
    char *data = realloc(buffer->data, capacity);
    if (data == NULL) {
        ms_failure_note_memory();
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

void ms_buffer_add(ms_buffer *buffer, const char *text, size_t length) {
    if (!reserve(buffer, length)) {
        return;
    }
    if (length > 0) {
        memcpy(buffer->data + buffer->length, text, length);
    }
    buffer->length += length;
    buffer->data[buffer->length] = '\0';
}

void ms_buffer_puts(ms_buffer *buffer, const char *text) {
    ms_buffer_add(buffer, text, strlen(text));
}

/* vsnprintf runs twice: for the length, then into the buffer. */
void ms_buffer_printf(ms_buffer *buffer, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 || !reserve(buffer, (size_t)length)) {
        buffer->failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf(buffer->data + buffer->length, (size_t)length + 1, format, args);
    va_end(args);
    buffer->length += (size_t)length;
}

const char *ms_buffer_text(const ms_buffer *buffer) {
    return buffer->data == NULL ? "" : buffer->data;
}

void ms_buffer_release_part(ms_buffer *part, ms_buffer *whole) {
    whole->failed = whole->failed || part->failed;
    ms_buffer_release(part);
}

const char *ms_buffer_keep(ms_buffer *buffer, ms_arena *arena) {
    arena->has_failed = arena->has_failed || buffer->failed;
    const char *copy = buffer->failed ? NULL : ms_arena_strdup(arena, ms_buffer_text(buffer));
    ms_buffer_release(buffer);
    return copy;
}

void ms_vector_init(ms_vector *vector, size_t item_B) {
    *vector = (ms_vector){.item_B = item_B};
}

void ms_vector_release(ms_vector *vector) {
    free(vector->data);
    ms_vector_init(vector, vector->item_B);
}

/* Move the objects to storage for `capacity` objects. Returns false, and leaves the vector as it
 * is, where there is not so much memory. */
static bool set_capacity(ms_vector *vector, size_t capacity) {
    if (capacity > SIZE_MAX / 4 / vector->item_B) {
        return false;
    }
    void *data = realloc(vector->data, capacity * vector->item_B);
    if (data == NULL) {
        return false;
    }
    vector->data = data;
    vector->capacity = capacity;
    return true;
}

/* Grow the capacity by steps of one half until `need` objects fit. Returns false when memory runs
 * out. */
static bool grow(ms_vector *vector, size_t need) {
    size_t capacity = vector->capacity < 16 ? 16 : vector->capacity;
    while (capacity < need) {
        capacity += capacity / 2;
    }
    return set_capacity(vector, capacity);
}

void ms_vector_reserve(ms_vector *vector, size_t count) {
    if (count > vector->capacity) {
        set_capacity(vector, count);
    }
}

void *ms_vector_add(ms_vector *vector, const void *items, size_t count) {
    if (vector->failed || count > SIZE_MAX / 8) {
        vector->failed = true;
        return NULL;
    }
    /* also for 0 objects there is storage afterwards: NULL is returned for a failure only */
    bool has_room = vector->data != NULL && vector->count + count <= vector->capacity;
    if (!has_room && !grow(vector, vector->count + count)) {
        ms_failure_note_memory();
        vector->failed = true;
        return NULL;
    }
    char *added = (char *)vector->data + vector->count * vector->item_B;
    if (items != NULL) {
        memcpy(added, items, count * vector->item_B);
    } else {
        memset(added, 0, count * vector->item_B);
    }
    vector->count += count;
    return added;
}

void *ms_vector_keep(ms_vector *vector, ms_arena *arena) {
    void *copy = vector->failed ? NULL : ms_arena_alloc(arena, vector->count, vector->item_B);
    arena->has_failed = arena->has_failed || copy == NULL;
    if (copy != NULL && vector->count > 0) {
        memcpy(copy, vector->data, vector->count * vector->item_B);
    }
    ms_vector_release(vector);
    return copy;
}
