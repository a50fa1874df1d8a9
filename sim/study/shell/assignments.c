/* Assignments of shell scripts. */
#include <string.h>

#include "study/shell/parts.h"

/* Variables that libraries read, and with them a job's kernels. */
static bool is_librarys(const char *name) {
    static const char *const PREFIXES[] = {"NCCL_",  "NVTE_",  "CUDA_",         "PYTORCH_",
                                           "TORCH_", "CUBLAS", "TORCHINDUCTOR_"};
    for (size_t i = 0; i < sizeof PREFIXES / sizeof PREFIXES[0]; i++) {
        if (strncmp(name, PREFIXES[i], strlen(PREFIXES[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void keep_environment(ms_shell_reader *r, const char *name, const ms_vector *words,
                             const ms_mark *mark) {
    if (!is_librarys(name) || words->count == 0) {
        return;
    }
    const ms_shell_word word = {
        .text = ms_arena_printf(r->arena, "%s %s", name, MS_AT(words, ms_shell_word, 0).text),
        .mark = *mark};
    if (word.text == NULL || ms_vector_add(&r->out->environment, &word, 1) == NULL) {
        ms_shell_lack_memory(r);
    }
}

/* The words between the brackets of an array. */
static void read_array(ms_shell_reader *r) {
    ms_mark opening = ms_shell_mark_here(r);
    ms_shell_cursor *c = &r->cursor;
    for (c->at++; c->at < c->end && *c->at != ')' && r->status == MS_OK;) {
        if (*c->at == '#' && !r->draft.has_word) {
            ms_shell_skip_comment(r);
        } else if (!ms_shell_read_piece(r)) {
            ms_shell_end_word(r);
            ms_shell_skip_to(r, c->at + 1);
        }
    }
    ms_shell_end_word(r);
    if (c->at >= c->end) {
        ms_shell_fail_open(r, &opening, ')');
    }
    c->at += c->at < c->end;
}

/* What stands behind '=': one word, also where it is empty; blanks of variables do not cut it. */
static bool read_assigned(ms_shell_reader *r) {
    bool is_array = r->cursor.at < r->cursor.end && *r->cursor.at == '(';
    if (is_array) {
        read_array(r);
        return true;
    }
    bool is_whole = r->is_whole;
    r->is_whole = true;
    ms_shell_begin_word(r);
    while (r->cursor.at < r->cursor.end && r->status == MS_OK && ms_shell_read_piece(r)) {
    }
    ms_shell_begin_word(r); /* an empty list ends none */
    ms_shell_end_word(r);
    r->is_whole = is_whole;
    return false;
}

/* A variable that is set where nothing is run is empty unless something else sets it. */
static void pass_over(ms_shell_reader *r, const char *name) {
    for (size_t i = 0; i < r->state.passed_over.count; i++) {
        if (strcmp(MS_AT(&r->state.passed_over, const char *, i), name) == 0) {
            return; /* a loop comes here again and again */
        }
    }
    bool is_full = r->state.passed_over.count >= MS_SHELL_WORDS_MAX / 10;
    if (!is_full && ms_vector_add(&r->state.passed_over, &name, 1) == NULL) {
        ms_shell_lack_memory(r);
    }
}

/* "NAME[key]=value". */
static void set_element(ms_shell_reader *r, const char *from, size_t length,
                        const ms_vector *words) {
    size_t own = (size_t)((const char *)memchr(from, '[', length) - from);
    const ms_shell_cursor here = r->cursor;
    const char *name = ms_arena_strndup(r->arena, from, own);
    ms_shell_word key;
    r->cursor.at = from + own + 1;
    ms_shell_read_part(r, r->cursor.at, from + length - 1, &key);
    r->cursor = here;
    if (name == NULL) {
        ms_shell_lack_memory(r);
    } else if (r->status == MS_OK && !key.is_open && words->count == 1) {
        ms_shell_set_element(r, name, key.text, &MS_AT(words, ms_shell_word, 0));
    }
}

void ms_shell_read_assignment(ms_shell_reader *r, size_t length, bool adds) {
    const char *from = r->cursor.at;
    bool is_element = length > 0 && from[length - 1] == ']';
    ms_mark mark = ms_shell_mark_here(r);
    ms_vector words;
    ms_vector *into = r->into;
    const char *name = ms_arena_strndup(r->arena, r->cursor.at, length);
    const ms_shell_variable *found = adds && name != NULL ? ms_shell_find(r, name, length) : NULL;
    const ms_shell_variable before = found == NULL ? (ms_shell_variable){.name = NULL} : *found;
    ms_vector_init(&words, sizeof(ms_shell_word));
    r->into = &words;
    r->cursor.at += length + (adds ? 2 : 1);
    bool is_array = read_assigned(r);
    r->into = into;
    r->state.changes++;
    if (name == NULL) {
        ms_shell_lack_memory(r);
    } else if (r->status == MS_OK && ms_shell_is_live(r)) {
        keep_environment(r, name, &words, &mark);
        if (is_element) {
            set_element(r, from, length, &words);
            ms_vector_release(&words);
            return;
        }
        ms_shell_assign(r, name, &words, is_array, found == NULL ? NULL : &before);
    } else if (r->status == MS_OK) {
        pass_over(r, name);
    }
    ms_vector_release(&words);
}
