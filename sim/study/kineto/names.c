/* A table with open addressing. */
#include "study/kineto/names.h"

#include <string.h>

#include "meshsim/checksum.h"

enum { SLOTS_FIRST = 1024 };

void ms_names_init(ms_names *names, ms_arena *arena) {
    *names = (ms_names){.arena = arena};
    ms_vector_init(&names->texts, sizeof(const char *));
    ms_vector_init(&names->slots, sizeof(int32_t));
}

void ms_names_release(ms_names *names) {
    ms_vector_release(&names->texts);
    ms_vector_release(&names->slots);
}

/* The slot that has the text, or in which it belongs. */
static int32_t *find_slot(const ms_names *names, const char *text) {
    size_t at = ms_crc32_add(0, text, strlen(text));
    for (;; at++) {
        int32_t *slot = &MS_AT(&names->slots, int32_t, at & (names->slots.count - 1));
        if (*slot == 0 || strcmp(MS_AT(&names->texts, const char *, *slot - 1), text) == 0) {
            return slot;
        }
    }
}

/* Twice the slots, a power of two. */
static bool grow(ms_names *names) {
    size_t count = names->slots.count == 0 ? SLOTS_FIRST : 2 * names->slots.count;
    ms_vector_release(&names->slots);
    ms_vector_init(&names->slots, sizeof(int32_t));
    if (ms_vector_add(&names->slots, NULL, count) == NULL) {
        return false;
    }
    for (size_t i = 0; i < names->texts.count; i++) {
        *find_slot(names, MS_AT(&names->texts, const char *, i)) = (int32_t)i + 1;
    }
    return true;
}

int32_t ms_names_add(ms_names *names, const char *text, bool *is_new_out) {
    *is_new_out = false;
    if (2 * (names->texts.count + 1) > names->slots.count && !grow(names)) {
        return -1;
    }
    int32_t *slot = find_slot(names, text);
    if (*slot == 0) {
        const char *copy = ms_arena_strdup(names->arena, text);
        if (copy == NULL || ms_vector_add(&names->texts, &copy, 1) == NULL) {
            return -1;
        }
        *slot = (int32_t)names->texts.count;
        *is_new_out = true;
    }
    return *slot - 1;
}
