/**
 * @file
 * Arenas: one per lifetime (input: the whole run; plan: one simulated iteration; scratch: one
 * call).
 *
 * Objects are never freed one by one; releasing the arena frees them all. Memory is zeroed and
 * aligned to 16 bytes. `malloc` appears in `sim/base/` only.
 */
#ifndef MESHSIM_ARENA_H
#define MESHSIM_ARENA_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/** Memory of one lifetime: everything in it is freed at once. */
typedef struct ms_arena {
    struct ms_arena_block *head; /**< newest block */
    size_t used_B;               /**< bytes handed out [B] */
    bool has_failed;             /**< something asked for was not given, since init or release */
    long fail_after;             /**< allocations until the test hook fails them; < 0: never */
} ms_arena;

/** Fill a caller's arena, empty.  No allocation. */
void ms_arena_init(ms_arena *arena);

/** Free all that came from `arena` and leave it empty and usable again.  O(blocks). */
void ms_arena_release(ms_arena *arena);

/** Forget all objects and keep their memory for the next ones: after the first clear the same
 * objects need no memory from the system any more. The next objects are zero again.  O(bytes used).
 */
void ms_arena_clear(ms_arena *arena);

/** Zeroed storage for `count` objects of `size` bytes, aligned to 16.
 *  count, size: >= 0 [count], [B]; a product of 0 still gives a unique pointer.
 *  Returns NULL when memory runs out, the product overflows or the test hook says so. */
void *ms_arena_alloc(ms_arena *arena, size_t count, size_t size);

/** Test hook: the first `allocations` further calls succeed, all later ones return NULL; < 0 ends
 * it. */
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
