/**
 * @file
 * Growing storage on the heap: `ms_buffer` for text, `ms_vector` for objects of one size.
 *
 * After the first failure (`failed`) a buffer or vector ignores all later calls, so its user checks
 * `failed` once, at the end.
 */
#ifndef MESHSIM_BUFFER_H
#define MESHSIM_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/** Text under construction; `data` is always NUL-terminated once something was added. A buffer of
 * zeros is empty. */
typedef struct ms_buffer {
    char *data;
    size_t length;
    size_t capacity;
    bool failed; /**< memory ran out; later calls do nothing */
} ms_buffer;

/** Fill a caller's buffer, empty.  No allocation. */
void ms_buffer_init(ms_buffer *buffer);
/** Free the text and leave the buffer empty. */
void ms_buffer_release(ms_buffer *buffer);
/** Append `length` bytes. */
void ms_buffer_add(ms_buffer *buffer, const char *text, size_t length);
/** Append a C string. */
void ms_buffer_puts(ms_buffer *buffer, const char *text);
/** Append as `printf` would. */
void ms_buffer_printf(ms_buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** The text so far, "" when empty; valid until the next call on `buffer`. */
const char *ms_buffer_text(const ms_buffer *buffer);
/** Release the buffer `part`, whose text has been appended to `whole`. If `part` has failed,
 * `whole` fails too. */
void ms_buffer_release_part(ms_buffer *part, ms_buffer *whole);
/** Copy the text to an arena and release the buffer.  Returns the copy; NULL where memory ran out,
 * now or while the buffer was written. The arena's `has_failed` is then set. */
const char *ms_buffer_keep(ms_buffer *buffer, ms_arena *arena);

/** Objects of `item_B` bytes in one block. A vector of zeros but for `item_B` is empty. */
typedef struct ms_vector {
    void *data;
    size_t count;
    size_t capacity;
    size_t item_B;
    bool failed; /**< memory ran out; later calls do nothing */
} ms_vector;

/** Fill a caller's vector, empty, for objects of `item_B` bytes. */
void ms_vector_init(ms_vector *vector, size_t item_B);
/** Free the storage and leave the vector empty. */
void ms_vector_release(ms_vector *vector);
/** Make room for `count` objects in all, where so many are expected. If memory runs out the
 * capacity stays as it is, and the call of ms_vector_add that needs more fails. */
void ms_vector_reserve(ms_vector *vector, size_t count);
/** Append `count` objects copied from `items` (zeroed ones when NULL).
 *  Returns the address of the first, valid until the next call; NULL when memory ran out. */
void *ms_vector_add(ms_vector *vector, const void *items, size_t count);

/** Copy the objects to an arena and release the vector.  Returns the copy; NULL where memory ran
 * out, now or while objects were added. The arena's `has_failed` is then set. */
void *ms_vector_keep(ms_vector *vector, ms_arena *arena);

/** Append one object. It is not initialised where the capacity suffices, and zero where the vector
 * had to grow.
 *  Returns its address, valid until the next call; NULL when memory ran out. */
static inline void *ms_vector_next(ms_vector *vector) {
    if (vector->count < vector->capacity && !vector->failed) {
        return (char *)vector->data + vector->item_B * vector->count++;
    }
    return ms_vector_add(vector, NULL, 1);
}

/** Item `index` of a vector as `type`. */
#define MS_AT(vector, type, index) (((type *)(vector)->data)[index])

#endif
