#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"

enum { ALIGNMENT = 16, BLOCK_B = 64 * 1024 };

struct ms_arena_block {
    struct ms_arena_block *next;
    size_t size;
    size_t used;
    size_t pad; /* keeps the data behind the header aligned to 16 */
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

/* Put one block in the place of several, with room for what they held together. */
static void join_blocks(ms_arena *arena) {
    size_t size = 0;
    for (struct ms_arena_block *block = arena->head; block != NULL; block = block->next) {
        size += block->size;
    }
    struct ms_arena_block *joined = calloc(1, sizeof *joined + size);
    if (joined != NULL) { /* else the blocks stay, and serve one after the other */
        joined->size = size;
        ms_arena_release(arena);
        arena->head = joined;
    }
}

void ms_arena_clear(ms_arena *arena) {
    long fail_after = arena->fail_after;
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

static struct ms_arena_block *add_block(ms_arena *arena, size_t need) {
    size_t size = need > BLOCK_B ? need : BLOCK_B;
    /* calloc: large blocks come as fresh zero pages, so they cost nothing until touched */
    struct ms_arena_block *block = calloc(1, sizeof *block + size);
    if (block == NULL) {
        ms_failure_note_memory();
        return NULL;
    }
    block->size = size;
    if (need > BLOCK_B && arena->head != NULL) {
        /* a large object gets a block of its own behind the head, whose free tail stays in use */
        block->next = arena->head->next;
        arena->head->next = block;
    } else {
        block->next = arena->head;
        arena->head = block;
    }
    return block;
}

static void *fail(ms_arena *arena) {
    arena->has_failed = true;
    return NULL;
}

void *ms_arena_alloc(ms_arena *arena, size_t count, size_t size) {
    if ((size != 0 && count > (SIZE_MAX / 2) / size) || arena->fail_after == 0) {
        return fail(arena);
    }
    if (arena->fail_after > 0) {
        arena->fail_after--;
    }
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
