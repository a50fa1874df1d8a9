/* Variables of shell scripts: what they are, and how they come to be. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "study/shell/parts.h"

/* ---- looking up ---- */

bool ms_shell_read_number(const char *text, long long *value_out) {
    char *end = NULL;
    text += strspn(text, MS_SHELL_BLANKS "\n");
    size_t sign = *text == '-' || *text == '+';
    if (text[sign] < '0' || text[sign] > '9') {
        return false;
    }
    errno = 0;
    *value_out = strtoll(text, &end, 0);
    return errno == 0 && end[strspn(end, MS_SHELL_BLANKS "\n")] == '\0';
}

bool ms_shell_is_number(const char *name, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (name[i] < '0' || name[i] > '9') {
            return false;
        }
    }
    return length > 0;
}

/* A positional parameter; behind the last one that is given there is an empty one. */
static const ms_shell_variable *find_given(ms_shell_reader *r, const char *name, size_t length) {
    ms_shell_state *state = &r->state;
    size_t index = 0;
    for (size_t i = 0; i < length && index < MS_SHELL_WORDS_MAX; i++) {
        index = index * 10 + (size_t)(name[i] - '0');
    }
    if (state->given == NULL || index == 0) {
        return NULL;
    }
    index += state->shifted - 1;
    const ms_shell_word *words = state->given->data;
    bool is_there = index < state->given->count;
    state->looked_up = (ms_shell_variable){
        .name = "", .words = is_there ? words + index : NULL, .count = is_there};
    return &state->looked_up;
}

const ms_shell_variable *ms_shell_find_all_given(ms_shell_reader *r) {
    ms_shell_state *state = &r->state;
    if (state->given == NULL) {
        return NULL;
    }
    size_t shifted = state->shifted < state->given->count ? state->shifted : state->given->count;
    state->looked_up = (ms_shell_variable){
        .name = "",
        .words = state->given->count == 0 ? NULL : (ms_shell_word *)state->given->data + shifted,
        .count = state->given->count - shifted,
        .is_array = true};
    return &state->looked_up;
}

static bool is_called(const char *name, size_t length, const char *other) {
    return strlen(other) == length && strncmp(other, name, length) == 0;
}

const ms_shell_variable *ms_shell_find(ms_shell_reader *r, const char *name, size_t length) {
    if (ms_shell_is_number(name, length)) {
        return find_given(r, name, length);
    }
    for (size_t i = r->out->variables.count; i-- > 0;) {
        const ms_shell_variable *variable = &MS_AT(&r->out->variables, ms_shell_variable, i);
        if (is_called(name, length, variable->name)) {
            return variable;
        }
    }
    for (size_t i = 0; i < r->state.passed_over.count; i++) {
        if (is_called(name, length, MS_AT(&r->state.passed_over, const char *, i))) {
            r->state.looked_up = (ms_shell_variable){.name = ""}; /* the script would set it */
            return &r->state.looked_up;
        }
    }
    return NULL;
}

void ms_shell_keep_doubt(ms_shell_reader *r, const char *name, size_t length) {
    if (r->state.doubt.reason == NULL) {
        r->state.doubt.reason =
            length == 0 ? "only running the script would tell"
                        : ms_arena_printf(r->arena, "%.*s is not set here (--define %.*s=VALUE)",
                                          (int)length, name, (int)length, name);
    }
}

/* ---- setting ---- */

static bool is_defined(const ms_shell_reader *r, const char *name) {
    for (size_t i = 0; i < r->defined; i++) {
        if (strcmp(MS_AT(&r->out->variables, ms_shell_variable, i).name, name) == 0) {
            return true;
        }
    }
    return false;
}

void ms_shell_assign(ms_shell_reader *r, const char *name, ms_vector *words, bool is_array,
                     const ms_shell_variable *before) {
    size_t count = words->count + (before == NULL ? 0 : before->count);
    bool is_text =
        before != NULL && !before->is_array && !is_array && before->count == 1 && words->count == 1;
    if (is_text) {
        ms_shell_word *word = &MS_AT(words, ms_shell_word, 0);
        r->total_B += strlen(before->words[0].text);
        if (r->total_B > MS_SHELL_TOTAL_MAX_B) {
            ms_shell_fail(r, "expected less than 4 MiB of words");
            return;
        }
        word->text = ms_arena_printf(r->arena, "%s%s", before->words[0].text, word->text);
        word->is_open = word->is_open || before->words[0].is_open;
        before = NULL;
        count = 1;
    }
    ms_shell_word *kept = MS_NEW(r->arena, ms_shell_word, count + 1);
    if (count > MS_SHELL_WORDS_MAX || r->out->variables.count >= MS_SHELL_WORDS_MAX) {
        ms_shell_fail(r, "expected a script of at most 20000 variables and words");
        return;
    }
    if (kept == NULL || name == NULL) {
        ms_shell_lack_memory(r);
        return;
    }
    size_t old = before == NULL ? 0 : before->count;
    if (old > 0) {
        memcpy(kept, before->words, old * sizeof *kept);
    }
    if (words->count > 0) {
        memcpy(kept + old, words->data, words->count * sizeof *kept);
    }
    if (is_defined(r, name) && count > 0 && kept[count - 1].is_open) {
        return; /* what is said from outside is better than what nobody knows */
    }
    const ms_shell_variable variable = {.name = name,
                                        .words = kept,
                                        .count = count,
                                        .is_array =
                                            is_array || (before != NULL && before->is_array)};
    if (ms_vector_add(&r->out->variables, &variable, 1) == NULL) {
        ms_shell_lack_memory(r);
    }
}

/* "NAME[key]". */
static const char *element_name(ms_shell_reader *r, const char *name, const char *key) {
    const char *own = ms_arena_printf(r->arena, "%s[%s]", name, key);
    if (own == NULL) {
        ms_shell_lack_memory(r);
    }
    return own;
}

/* The index of a key that is a number, from the end where it is negative; `count` where it is none
 * of the words. */
static size_t index_of(const char *key, size_t count) {
    long long index = 0;
    bool is_number = ms_shell_read_number(key, &index);
    index += is_number && index < 0 ? (long long)count : 0;
    return is_number && index >= 0 && index < (long long)count ? (size_t)index : count;
}

bool ms_shell_find_element(ms_shell_reader *r, const char *name, const char *key,
                           ms_shell_word *word_out) {
    const char *own = element_name(r, name, key);
    const ms_shell_variable *found = own == NULL ? NULL : ms_shell_find(r, own, strlen(own));
    if (found != NULL && found->count == 1) {
        *word_out = found->words[0];
        return true;
    }
    found = ms_shell_find(r, name, strlen(name));
    size_t length = strlen(key);
    for (size_t i = 0; found != NULL && i < found->count; i++) {
        const char *text = found->words[i].text;
        if (text[0] == '[' && strncmp(text + 1, key, length) == 0 &&
            strncmp(text + 1 + length, "]=", 2) == 0) {
            *word_out = found->words[i];
            word_out->text = text + 1 + length + 2;
            return true;
        }
    }
    size_t index = found == NULL ? 0 : index_of(key, found->count);
    bool is_there = found != NULL && index < found->count;
    if (is_there) {
        *word_out = found->words[index];
    }
    return is_there;
}

void ms_shell_set_element(ms_shell_reader *r, const char *name, const char *key,
                          const ms_shell_word *word) {
    const ms_shell_variable *found = ms_shell_find(r, name, strlen(name));
    size_t count = found == NULL || !found->is_array ? 0 : found->count;
    size_t index = index_of(key, count + 1);
    if (index > count) { /* a key of its own, or one far behind the last */
        const char *own = element_name(r, name, key);
        if (own != NULL) {
            ms_shell_set(r, own, word);
        }
        return;
    }
    ms_vector words;
    ms_vector_init(&words, sizeof *word);
    bool is_kept = count == 0 || ms_vector_add(&words, found->words, count) != NULL;
    is_kept = is_kept && (index < count || ms_vector_add(&words, word, 1) != NULL);
    if (is_kept) {
        MS_AT(&words, ms_shell_word, index) = *word;
        ms_shell_assign(r, name, &words, true, NULL);
    } else {
        ms_shell_lack_memory(r);
    }
    ms_vector_release(&words);
}

void ms_shell_set(ms_shell_reader *r, const char *name, const ms_shell_word *word) {
    ms_vector words;
    ms_vector_init(&words, sizeof(ms_shell_word));
    if (ms_vector_add(&words, word, 1) == NULL || word->text == NULL) {
        ms_shell_lack_memory(r);
    } else {
        ms_shell_assign(r, name, &words, false, NULL);
    }
    ms_vector_release(&words);
}
