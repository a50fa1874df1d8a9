/* Finds defaults that changed between two traces (compare.h): keys whose values differ though the
 * user typed neither.
 *
 * The resolved inputs of a trace are lines "KEY = VALUE  # ORIGIN": every key of the job with the
 * place that its value came from (typed, default, derived from other keys, a file). Where the user
 * typed the same on both sides, every difference is a changed default. Where the typed keys differ,
 * other values may follow from them. Then only keys count whose values both sides took from the
 * same place, such as a default of the program or a constant of a library's file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "search/compare.h"
#include "trace/compare_inputs.h"

/* Two origins of a value: the user typed it; it was derived from other keys. */
static const char TYPED[] = "typed";
static const char DERIVED[] = "derived";

/* One key of one side. */
typedef struct resolved_key {
    const char *key;
    const char *value; /* NULL: not given */
    const char *origin;
} resolved_key;

/* The keys of a side, sorted. */
typedef struct resolved_keys {
    resolved_key *items; /* [count] */
    size_t count;
} resolved_keys;

/* ---- reading ---- */

/* Report a damaged line of a trace's resolved inputs. line: from 1. Returns MS_E_INPUT. */
static ms_status report_line(const ms_trace *trace, size_t line, const char *fault, ms_diag *diag) {
    return ms_diag_error(diag,
                         "cannot read '%s': the trace is damaged at /input/resolved, line %zu: %s",
                         trace->path, line, fault);
}

/* Whether a text is valid UTF-8. */
static bool is_utf8(const char *text) {
    uint32_t code = 0;
    size_t left = strlen(text);
    while (left > 0) {
        size_t size = ms_text_decode(text, left, &code);
        if (size == 0) {
            return false;
        }
        text += size;
        left -= size;
    }
    return true;
}

/* The last place of `part` in `text`; NULL: there is none. */
static char *find_last(char *text, const char *part) {
    char *found = NULL;
    for (char *at = strstr(text, part); at != NULL; at = strstr(at + 1, part)) {
        found = at;
    }
    return found;
}

/* Parse a line "KEY = VALUE # ORIGIN". line: changed; *out borrows from it. A missing value is
 * NULL. Returns the fault of the line; NULL: it has none. */
static const char *parse_line(char *line, resolved_key *out) {
    static const char EQUALS[] = " =";
    static const char COMMENT[] = "  # ";
    char *equals = strstr(line, EQUALS);
    char *comment = equals == NULL ? NULL : find_last(equals, COMMENT);
    if (!is_utf8(line)) {
        return "it is no UTF-8";
    }
    if (equals == NULL || equals == line || comment == NULL) {
        return "expected 'KEY = VALUE  # ORIGIN'";
    }
    char *value = equals + sizeof EQUALS - 1;
    *equals = '\0';
    *comment = '\0';
    out->key = line;
    out->origin = comment + sizeof COMMENT - 1;
    out->value = value + (*value == ' ' ? 1 : 0);
    out->value = *out->value == '\0' ? NULL : out->value;
    return NULL;
}

/* Order of two lines for qsort: by key, then by address, which is the order of the text. Two lines
 * may have the same key, if a long path was cut at its end. */
static int by_key(const void *left, const void *right) {
    const resolved_key *a = left;
    const resolved_key *b = right;
    int order = strcmp(a->key, b->key);
    return order != 0 ? order : a->key < b->key ? -1 : a->key > b->key;
}

/* Read the resolved inputs of a trace, sorted by key. *out: in `arena`. Returns MS_OK; MS_E_INPUT
 * (reported); MS_E_NOMEM. */
static ms_status read_keys(const ms_trace *trace, ms_arena *arena, ms_diag *diag,
                           resolved_keys *out) {
    char *line = ms_arena_strdup(arena, trace->inputs.resolved);
    ms_vector keys;
    ms_vector_init(&keys, sizeof(resolved_key));
    for (size_t number = 1; line != NULL && *line != '\0'; number++) {
        size_t length = strcspn(line, "\n");
        char *next = line + length + (line[length] == '\n');
        line[length] = '\0';
        resolved_key key;
        const char *fault = parse_line(line, &key);
        if (fault != NULL) {
            ms_vector_release(&keys);
            return report_line(trace, number, fault, diag);
        }
        ms_vector_add(&keys, &key, 1);
        line = next;
    }
    out->count = keys.count;
    out->items = ms_vector_keep(&keys, arena);
    if (arena->has_failed) {
        return MS_E_NOMEM;
    }
    qsort(out->items, out->count, sizeof out->items[0], by_key);
    return MS_OK;
}

/* ---- comparing ---- */

/* A key of either side; NULL: that side lacks it. */
typedef struct key_pair {
    const resolved_key *a, *b;
} key_pair;

/* Find the next key of two sorted lists, with its line on each side that has the key. at: [2] index
 * of the next line of each side, moved on. Returns false at the end of both. */
static bool next_pair(const resolved_keys sides[2], size_t at[2], key_pair *out) {
    bool has_a = at[0] < sides[0].count;
    bool has_b = at[1] < sides[1].count;
    if (!has_a && !has_b) {
        return false;
    }
    const resolved_key *a = has_a ? &sides[0].items[at[0]] : NULL;
    const resolved_key *b = has_b ? &sides[1].items[at[1]] : NULL;
    int order = !has_a ? 1 : !has_b ? -1 : strcmp(a->key, b->key);
    *out = (key_pair){order <= 0 ? a : NULL, order >= 0 ? b : NULL};
    at[0] += order <= 0;
    at[1] += order >= 0;
    return true;
}

/* The value of a key; NULL where the side lacks the key or the key has no value. */
static const char *value_of(const resolved_key *key) {
    return key == NULL ? NULL : key->value;
}

/* Whether a key's values differ; the same quantity in other units does not. */
static bool differs(const key_pair *pair) {
    const char *a = value_of(pair->a);
    const char *b = value_of(pair->b);
    return a == NULL || b == NULL ? a != b : !ms_compare_texts_are_equal(a, b);
}

/* Whether the user typed the key on either side. */
static bool is_typed(const key_pair *pair) {
    return (pair->a != NULL && strcmp(pair->a->origin, TYPED) == 0) ||
           (pair->b != NULL && strcmp(pair->b->origin, TYPED) == 0);
}

/* Whether both sides took their value from the same place, which is not "derived from other
 * keys". */
static bool has_one_origin(const key_pair *pair) {
    return value_of(pair->a) != NULL && value_of(pair->b) != NULL &&
           strcmp(pair->a->origin, pair->b->origin) == 0 && strcmp(pair->a->origin, DERIVED) != 0;
}

static bool is_same_text(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* Whether a key is only for people who read the file: no other value follows from it. */
static bool is_for_readers(const char *key) {
    static const char *const KEYS[] = {"name", "description", "model.name"};
    return ms_word_index(key, KEYS, sizeof KEYS / sizeof KEYS[0]) >= 0;
}

/* The name of a pair's key. */
static const char *name_of(const key_pair *pair) {
    return pair->a != NULL ? pair->a->key : pair->b->key;
}

/* Whether the user typed the same inputs on both sides, files of schedules and placements
 * included. */
static bool is_typed_alike(const ms_trace *a, const ms_trace *b, const resolved_keys sides[2]) {
    size_t at[2] = {0, 0};
    key_pair pair;
    bool is_alike = is_same_text(a->inputs.schedule, b->inputs.schedule) &&
                    is_same_text(a->inputs.placement, b->inputs.placement);
    while (is_alike && next_pair(sides, at, &pair)) {
        is_alike = !differs(&pair) || !is_typed(&pair) || is_for_readers(name_of(&pair));
    }
    return is_alike;
}

/* A text as a value; NULL stays NULL. values: a list that keeps it. */
static const ms_value *keep_text(ms_value *values, const char *text) {
    return text == NULL ? NULL : ms_value_add_string(values, NULL, text);
}

/* The difference of a key; it has no guard, since defaults and inputs are never guarded. values: a
 * list that keeps its texts. */
static ms_difference make_difference(const key_pair *pair, ms_value *values) {
    return (ms_difference){.key = name_of(pair),
                           .a = keep_text(values, value_of(pair->a)),
                           .b = keep_text(values, value_of(pair->b)),
                           .relative = INFINITY,
                           .guard = -1};
}

/* ---- differences of the inputs ---- */

/* Remove the changed defaults from the list of inputs that differ. */
static void remove_defaults(const ms_differences *defaults, ms_differences *inputs) {
    size_t kept = 0;
    for (size_t i = 0; i < inputs->count; i++) {
        bool is_default = false;
        for (size_t d = 0; d < defaults->count; d++) {
            is_default = is_default || strcmp(defaults->items[d].key, inputs->items[i].key) == 0;
        }
        if (!is_default) {
            inputs->items[kept++] = inputs->items[i];
        }
    }
    inputs->count = kept;
}

/* Whether the first `count` inputs include a key, or a key below it ("platform.gpu" below
 * "platform"). */
static bool is_listed(const ms_differences *inputs, size_t count, const char *key) {
    size_t length = strlen(key);
    bool is_found = false;
    for (size_t i = 0; i < count; i++) {
        const char *other = inputs->items[i].key;
        is_found = is_found || (strncmp(other, key, length) == 0 &&
                                (other[length] == '\0' || strchr(".[", other[length]) != NULL));
    }
    return is_found;
}

/* Add keys that differ to a list: changed defaults by key; or keys that the user gave by an option,
 * such as --platform and --fidelity, and that the files of the workload and the platform, of which
 * the inputs are compared first, do not have. are_options: the latter. is_alike: the user typed the
 * same inputs on both sides; else only defaults of one origin count. Returns MS_OK; MS_E_NOMEM. */
static ms_status add_pairs(const resolved_keys sides[2], bool are_options, bool is_alike,
                           ms_arena *arena, ms_differences *list) {
    const size_t count = list->count;
    ms_difference *all = MS_NEW(arena, ms_difference, count + sides[0].count + sides[1].count + 1);
    ms_value *values = ms_value_add(ms_value_new_object(arena), "values", MS_VALUE_ARRAY);
    size_t at[2] = {0, 0};
    key_pair pair;
    if (all == NULL || values == NULL) {
        return MS_E_NOMEM;
    }
    if (count > 0) {
        memcpy(all, list->items, count * sizeof *all);
    }
    list->items = all;
    while (next_pair(sides, at, &pair)) {
        bool counts = are_options ? !is_listed(list, count, name_of(&pair))
                                  : is_alike || has_one_origin(&pair);
        list->compared += !are_options;
        if (counts && differs(&pair) && is_typed(&pair) == are_options) {
            all[list->count++] = make_difference(&pair, values);
        }
    }
    return arena->has_failed ? MS_E_NOMEM : MS_OK;
}

/* The lists of inputs and of defaults have no key in common afterwards. */
ms_status ms_compare_defaults(const ms_trace *a, const ms_trace *b, ms_arena *arena, ms_diag *diag,
                              ms_differences *inputs, ms_differences *defaults_out) {
    resolved_keys sides[2];
    *defaults_out = (ms_differences){.count = 0};
    ms_status status = a->inputs.resolved == NULL ? MS_OK : read_keys(a, arena, diag, &sides[0]);
    bool reads_b = status == MS_OK && b->inputs.resolved != NULL;
    status = reads_b ? read_keys(b, arena, diag, &sides[1]) : status;
    if (status != MS_OK || a->inputs.resolved == NULL || b->inputs.resolved == NULL) {
        return status;
    }
    status = add_pairs(sides, false, is_typed_alike(a, b, sides), arena, defaults_out);
    if (status == MS_OK) {
        remove_defaults(defaults_out, inputs);
        status = add_pairs(sides, true, false, arena, inputs);
    }
    return status;
}
