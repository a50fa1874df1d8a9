/**
 * @file
 * Arenas: allocators whose objects live equally long and are freed together.
 *
 * An arena has one of three lifetimes: input (the whole run), plan (one simulated iteration) or
 * scratch (one call). Objects are never freed one by one; releasing the arena frees them all.
 * Memory is zeroed and aligned to 16 bytes. `malloc` appears in `sim/base/` only.
 */
#ifndef MESHSIM_ARENA_H
#define MESHSIM_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/** Memory of one lifetime: everything in it is freed at once. */
typedef struct ms_arena {
    struct ms_arena_block *head; /**< list of blocks; new objects come from the first one */
    size_t used_B;               /**< bytes handed out [B] */
    bool has_failed;             /**< an allocation failed since the last init, release or clear */
    long fail_after;             /**< test hook: allocations that still succeed; < 0: no limit */
} ms_arena;

/** Fill a caller's arena, empty.  No allocation. */
void ms_arena_init(ms_arena *arena);

/** Free all that came from `arena` and leave it empty and usable again.  O(blocks). */
void ms_arena_release(ms_arena *arena);

/** Empty the arena but keep its memory: the next objects are placed in it, and are zero again. From
 * the second round on, objects of the same sizes need no memory from the system.  O(bytes used). */
void ms_arena_clear(ms_arena *arena);

/** Allocate zeroed storage for `count` objects of `size` bytes, aligned to 16 bytes. A product of 0
 * still gives a unique pointer.
 *  Returns NULL when memory runs out, when count * size exceeds half of SIZE_MAX, or when the test
 * hook says so; `has_failed` is then set. */
void *ms_arena_alloc(ms_arena *arena, size_t count, size_t size);

/** Test hook: the next `allocations` calls of ms_arena_alloc succeed, all later ones return NULL. A
 * number below 0 removes the limit. */
void ms_arena_fail_after(ms_arena *arena, long allocations);

/** Copy of the first `length` bytes of `text`, NUL-terminated, in `arena`; NULL when memory runs
 * out. */
char *ms_arena_strndup(ms_arena *arena, const char *text, size_t length);

/** Copy of a C string in `arena`; NULL when memory runs out. */
char *ms_arena_strdup(ms_arena *arena, const char *text);

/** `printf` into `arena`; NULL when memory runs out. */
char *ms_arena_printf(ms_arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Typed allocation: `count` zeroed objects of `type`, NULL when memory runs out. */
#define MS_NEW(arena, type, count) ((type *)ms_arena_alloc((arena), (size_t)(count), sizeof(type)))

#endif
