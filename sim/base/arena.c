/* Arenas (arena.h): a list of blocks from the system, each of which serves many objects one behind
 * the other. Small objects come from the first block of the list; an object larger than BLOCK_B has
 * a block of its own. */
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"

enum { ALIGNMENT = 16, BLOCK_B = 64 * 1024 };

/* Header of a block; the memory for objects follows it. */
struct ms_arena_block {
    struct ms_arena_block *next;
    size_t size; /* bytes behind the header [B] */
    size_t used; /* of these, bytes handed out, from the front [B] */
    size_t pad;  /* makes the header a multiple of 16 bytes, so that objects are aligned */
};

void ms_arena_init(ms_arena *arena) {
    *arena = (ms_arena){.fail_after = -1};
}

void ms_arena_release(ms_arena *arena) {
    struct ms_arena_block *block = arena->head;
    while (block != NULL) {
        struct ms_arena_block *next = block->next;
        free(block);
        block = next;
    }
    ms_arena_init(arena);
}

/* Replace the blocks of an arena by one block as large as all of them together, so that after a
 * clear as many objects as before fit in it without memory from the system. The contents are lost.
 */
static void join_blocks(ms_arena *arena) {
    size_t size = 0;
    for (struct ms_arena_block *block = arena->head; block != NULL; block = block->next) {
        size += block->size;
    }
    struct ms_arena_block *joined = calloc(1, sizeof *joined + size);
    if (joined != NULL) { /* else the blocks stay, of which only the first is used again */
        joined->size = size;
        ms_arena_release(arena);
        arena->head = joined;
    }
}

/* Several blocks are joined into one first (join_blocks). The used part of each block is then
 * zeroed, so that new objects are zero again. */
void ms_arena_clear(ms_arena *arena) {
    long fail_after = arena->fail_after; /* join_blocks resets it */
    if (arena->head != NULL && arena->head->next != NULL) {
        join_blocks(arena);
    }
    for (struct ms_arena_block *block = arena->head; block != NULL; block = block->next) {
        memset(block + 1, 0, block->used);
        block->used = 0;
    }
    arena->fail_after = fail_after;
    arena->has_failed = false;
    arena->used_B = 0;
}

void ms_arena_fail_after(ms_arena *arena, long allocations) {
    arena->fail_after = allocations;
}

/* Add a block with room for at least `need` bytes to an arena. Returns the block; NULL when memory
 * runs out, which is recorded (failure.h). */
static struct ms_arena_block *add_block(ms_arena *arena, size_t need) {
    size_t size = need > BLOCK_B ? need : BLOCK_B;
    /* calloc takes large blocks as zero pages from the system, which cost nothing until touched */
    struct ms_arena_block *block = calloc(1, sizeof *block + size);
    if (block == NULL) {
        ms_failure_note_memory();
        return NULL;
    }
    block->size = size;
    if (need > BLOCK_B && arena->head != NULL) {
        /* behind the first block, whose free rest goes on serving small objects */
        block->next = arena->head->next;
        arena->head->next = block;
    } else {
        block->next = arena->head;
        arena->head = block;
    }
    return block;
}

/* Record in the arena that an allocation failed. Returns NULL, for ms_arena_alloc to return. */
static void *fail(ms_arena *arena) {
    arena->has_failed = true;
    return NULL;
}

/* Objects are placed one behind the other in the first block of the list; if they do not fit, a
 * block is added. */
void *ms_arena_alloc(ms_arena *arena, size_t count, size_t size) {
    /* half of SIZE_MAX leaves room for the rounding below */
    if ((size != 0 && count > (SIZE_MAX / 2) / size) || arena->fail_after == 0) {
        return fail(arena);
    }
    if (arena->fail_after > 0) {
        arena->fail_after--;
    }
    /* + ALIGNMENT, not ALIGNMENT - 1: 0 bytes take room too, so that their address is unique */
    size_t need = (count * size + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    struct ms_arena_block *block = arena->head;
    if (block == NULL || block->size - block->used < need) {
        block = add_block(arena, need);
        if (block == NULL) {
            return fail(arena);
        }
    }
    char *memory = (char *)(block + 1) + block->used;
    block->used += need;
    arena->used_B += need;
    return memory;
}

char *ms_arena_strndup(ms_arena *arena, const char *text, size_t length) {
    char *copy = ms_arena_alloc(arena, length + 1, 1);
    if (copy != NULL) {
        memcpy(copy, text, length);
    }
    return copy;
}

char *ms_arena_strdup(ms_arena *arena, const char *text) {
    return ms_arena_strndup(arena, text, strlen(text));
}

char *ms_arena_printf(ms_arena *arena, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0) {
        return NULL;
    }
    char *text = ms_arena_alloc(arena, (size_t)length + 1, 1);
    if (text != NULL) {
        va_start(args, format);
        vsnprintf(text, (size_t)length + 1, format, args);
        va_end(args);
    }
    return text;
}
