/* Arguments of Megatron-LM that are apart already. */
#include <string.h>

#include "study/import/megatron_parts.h"

void ms_megatron_arguments_init(ms_megatron_arguments *arguments) {
    ms_vector_init(&arguments->items, sizeof(ms_megatron_argument));
}

void ms_megatron_arguments_release(ms_megatron_arguments *arguments) {
    ms_vector_release(&arguments->items);
}

/* One reading. */
typedef struct megatron_reading {
    ms_arena *arena;
    ms_diag *diag;
    ms_megatron_arguments *out;
    ms_status status; /* of the first fault */
} megatron_reading;

static void lack_memory(megatron_reading *r) {
    if (r->status != MS_E_NOMEM) {
        r->status = ms_diag_no_memory(r->diag);
    }
}

static void add(megatron_reading *r, const char *name, const char *value, const ms_mark *mark) {
    const ms_megatron_argument argument = {
        .name = name, .value = value, .mark = mark == NULL ? (ms_mark){.file = NULL} : *mark};
    if (name == NULL || value == NULL || ms_vector_add(&r->out->items, &argument, 1) == NULL) {
        lack_memory(r);
    }
}

/* Several values as one text: "[a b]", "['a', 'b']" and "a b" are all "a b". */
static const char *join_values(ms_arena *arena, const char *text) {
    char *joined = MS_NEW(arena, char, strlen(text) + 1);
    size_t length = 0;
    for (const char *at = text; joined != NULL && *at != '\0'; at++) {
        bool is_dropped = strchr("[]'\"", *at) != NULL;
        char letter = *at == ',' || *at == '\t' || *at == '\n' ? ' ' : *at;
        bool is_second = letter == ' ' && (length == 0 || joined[length - 1] == ' ');
        if (!is_dropped && !is_second) {
            joined[length++] = letter;
        }
    }
    if (joined != NULL) {
        length -= length > 0 && joined[length - 1] == ' ';
        joined[length] = '\0';
    }
    return joined;
}

static const char *clean(ms_arena *arena, const ms_megatron_flag *flag, const char *text) {
    return flag->arity == MS_TAKES_MANY ? join_values(arena, text) : text;
}

ms_status ms_megatron_take(const ms_words *words, ms_arena *arena, ms_diag *diag,
                           ms_megatron_arguments *arguments) {
    megatron_reading r = {.arena = arena, .diag = diag, .out = arguments};
    const size_t env = sizeof MS_MEGATRON_ENV - 1;
    for (size_t i = 0; i < words->count && r.status == MS_OK; i++) {
        const char *text = words->items[i];
        bool is_env = strncmp(text, MS_MEGATRON_ENV, env) == 0;
        const char *cut = strchr(is_env ? text + env : text, is_env ? '=' : ' ');
        const char *name = cut == NULL ? text : ms_arena_strndup(arena, text, (size_t)(cut - text));
        ms_megatron_flag flag;
        const char *value = cut == NULL ? "" : cut + 1;
        bool is_many = name != NULL && ms_megatron_find_flag(name, &flag);
        add(&r, name, is_many ? clean(arena, &flag, value) : value, NULL);
    }
    return r.status;
}
