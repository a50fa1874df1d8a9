/* Compares two result trees (compare.h), the JSON-like results of two runs: walks both trees in
 * parallel and lists what differs. A leaf is a number, a text or a truth value; its key is its
 * dotted path. Rows of lists are matched by their names (compare_rows.c); whether a difference is
 * listed, and whether it fails, is judged by the rules (compare_judge.c). */
#include "search/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/compare_judge.h"
#include "search/compare_rows.h"

/* The state of a comparison, `c` in this file. */
typedef struct comparing {
    const ms_compare_rules *rules;
    ms_arena *arena;
    ms_vector *keys; /* of const char *: keys of all leaves so far */
    ms_vector found; /* of ms_difference */
    size_t compared; /* quantities that the rules look at, equal ones too */
    size_t let_pass; /* of these, quantities that differ within their tolerance */
} comparing;

/* Whether a value is a list or an object. */
static bool is_tree(const ms_value *value) {
    return value != NULL && (value->type == MS_VALUE_OBJECT || value->type == MS_VALUE_ARRAY);
}

/* Add a difference to the result. a, b: NULL where a side has no such value. */
static void add_difference(comparing *c, const char *key, const ms_value *a, const ms_value *b,
                           const ms_compare_verdict *verdict) {
    c->compared += verdict->is_compared;
    c->let_pass += verdict->is_compared && verdict->differs && !verdict->is_listed;
    if (!verdict->is_listed) {
        return;
    }
    const ms_difference difference = {
        key, a, b, ms_compare_relative(a, b), verdict->guard, verdict->has_failed};
    ms_vector_add(&c->found, &difference, 1);
}

/* Compare two leaves of one key, and remember the key. */
static void compare_leaves(comparing *c, const char *key, const ms_value *a, const ms_value *b) {
    ms_compare_verdict verdict = ms_compare_judge(c->rules, key, a, b);
    ms_vector_add(c->keys, &key, 1);
    add_difference(c, key, a, b, &verdict);
}

/* The path of a key below another path. "" where memory runs out, which the arena knows. */
static const char *path_below(comparing *c, const char *above, const char *key) {
    const char *path = ms_arena_printf(c->arena, "%s%s%s", above, above[0] == '\0' ? "" : ".", key);
    return path == NULL ? "" : path;
}

/* The path of a row of a list, "list[row]". "" where memory runs out, which the arena knows. */
static const char *path_of_row(comparing *c, const char *list, const char *row) {
    const char *path = ms_arena_printf(c->arena, "%s[%s]", list, row);
    return path == NULL ? "" : path;
}

/* ---- values on one side only ---- */

/* Judge every leaf of a tree that the other side lacks, and add its key to c->keys. The whole tree
 * becomes one difference with one verdict: it is listed if some leaf is listed, and has failed if
 * some leaf has. Its guard is that of the first leaf that failed, else of the first guarded leaf.
 * verdict: of the leaves so far, updated. */
static void judge_unmatched(comparing *c, const char *key, const ms_value *tree,
                            ms_compare_verdict *verdict) {
    if (!is_tree(tree) || tree->count == 0) {
        ms_compare_verdict one = ms_compare_judge(c->rules, key, tree, NULL);
        ms_vector_add(c->keys, &key, 1);
        verdict->is_compared = verdict->is_compared || one.is_compared;
        verdict->is_listed = verdict->is_listed || one.is_listed;
        if (verdict->guard < 0 || (one.has_failed && !verdict->has_failed)) {
            verdict->guard = one.guard;
        }
        verdict->has_failed = verdict->has_failed || one.has_failed;
        return;
    }
    const ms_value *const lists[2] = {tree, tree};
    ms_rows rows[2] = {{0}, {0}};
    bool is_list = tree->type == MS_VALUE_ARRAY;
    if (is_list && !ms_rows_name(key, lists, c->arena, rows)) {
        return;
    }
    size_t index = 0;
    for (const ms_value *child = tree->first; child != NULL; child = child->next) {
        const char *path =
            is_list ? path_of_row(c, key, rows[0].names[index++]) : path_below(c, key, child->key);
        if (!ms_trace_is_volatile(path)) {
            judge_unmatched(c, path, child, verdict);
        }
    }
}

/* Compare values of which one is missing, or which are of different kinds (such as a list and a
 * number): one difference, however many leaves lie below. */
static void compare_unlike(comparing *c, const char *key, const ms_value *a, const ms_value *b) {
    ms_compare_verdict verdict = {.differs = true, .guard = -1};
    if (a != NULL) {
        judge_unmatched(c, key, a, &verdict);
    }
    if (b != NULL) {
        judge_unmatched(c, key, b, &verdict);
    }
    add_difference(c, key, a, b, &verdict);
}

/* ---- values on both sides ---- */

static void compare_values(comparing *c, const char *key, const ms_value *a, const ms_value *b);

/* Whether all entries of a list are texts. */
static bool has_only_texts(const ms_value *list) {
    for (const ms_value *child = list->first; child != NULL; child = child->next) {
        if (child->type != MS_VALUE_STRING) {
            return false;
        }
    }
    return true;
}

/* A list of texts, such as the order of the axes, as one text. NULL where memory runs out. */
static const ms_value *join_texts(comparing *c, const ms_value *list) {
    ms_buffer text;
    ms_buffer_init(&text);
    for (const ms_value *child = list->first; child != NULL; child = child->next) {
        ms_buffer_printf(&text, "%s%s", child == list->first ? "" : ", ", child->as.string);
    }
    const char *joined = ms_buffer_keep(&text, c->arena);
    return ms_value_add_string(ms_value_new_object(c->arena), "list", joined);
}

/* Compare two lists row by row: rows of one name with each other, then rows on one side only. */
static void compare_rows(comparing *c, const char *key, const ms_value *a, const ms_value *b) {
    const ms_value *const lists[2] = {a, b};
    ms_rows rows[2];
    if (!ms_rows_name(key, lists, c->arena, rows)) {
        return;
    }
    for (size_t i = 0; i < rows[0].count; i++) {
        size_t other = ms_rows_find(&rows[1], rows[0].names[i], i);
        compare_values(c, path_of_row(c, key, rows[0].names[i]), rows[0].items[i],
                       other < rows[1].count ? rows[1].items[other] : NULL);
    }
    for (size_t i = 0; i < rows[1].count; i++) {
        if (ms_rows_find(&rows[0], rows[1].names[i], i) == rows[0].count) {
            compare_values(c, path_of_row(c, key, rows[1].names[i]), NULL, rows[1].items[i]);
        }
    }
}

/* Compare two lists: as one text each if both hold only texts, else by rows. */
static void compare_lists(comparing *c, const char *key, const ms_value *a, const ms_value *b) {
    if (a->count + b->count == 0 || !has_only_texts(a) || !has_only_texts(b)) {
        compare_rows(c, key, a, b);
    } else {
        compare_leaves(c, key, join_texts(c, a), join_texts(c, b));
    }
}

/* Compare two objects key by key. */
static void compare_objects(comparing *c, const char *key, const ms_value *a, const ms_value *b) {
    for (const ms_value *x = a->first; x != NULL; x = x->next) {
        compare_values(c, path_below(c, key, x->key), x, ms_value_get(b, x->key));
    }
    for (const ms_value *y = b->first; y != NULL; y = y->next) {
        if (ms_value_get(a, y->key) == NULL) {
            compare_values(c, path_below(c, key, y->key), NULL, y);
        }
    }
}

/* Compare two values of one key, of any type. a, b: one of them may be NULL. Keys about the program
 * itself are skipped. */
static void compare_values(comparing *c, const char *key, const ms_value *a, const ms_value *b) {
    if (ms_trace_is_volatile(key)) {
        return;
    }
    if (a == NULL || b == NULL || ((is_tree(a) || is_tree(b)) && a->type != b->type)) {
        compare_unlike(c, key, a, b);
    } else if (a->type == MS_VALUE_ARRAY) {
        compare_lists(c, key, a, b);
    } else if (a->type == MS_VALUE_OBJECT) {
        compare_objects(c, key, a, b);
    } else {
        compare_leaves(c, key, a, b);
    }
}

/* ---- order ---- */

/* Class of a difference in the report, lower first: 0 the step time; 1 numbers and truth values; 2
 * values on one side only; 3 texts. */
static int order_class(const ms_difference *difference) {
    const ms_value *a = difference->a;
    const ms_value *b = difference->b;
    if (strcmp(difference->key, "step_time_s") == 0) {
        return 0;
    }
    if (a == NULL || b == NULL) {
        return 2;
    }
    return a->type == MS_VALUE_STRING && b->type == MS_VALUE_STRING ? 3 : 1;
}

/* Order of two differences for qsort: those that break a guard first, then by class, then the
 * largest relative difference first, then by key. */
static int by_weight(const void *left, const void *right) {
    const ms_difference *a = left;
    const ms_difference *b = right;
    int class_order = a->has_failed != b->has_failed ? b->has_failed - a->has_failed
                                                     : order_class(a) - order_class(b);
    double change_a = fabs(a->relative);
    double change_b = fabs(b->relative);
    return class_order != 0      ? class_order
           : change_a > change_b ? -1
           : change_a < change_b ? 1
                                 : strcmp(a->key, b->key);
}

/* Sort the differences, move them from the vector to the result, and count those that failed. The
 * vector is released. Returns MS_OK; MS_E_NOMEM, also if memory ran out during the comparison. */
static ms_status collect_differences(comparing *c, ms_differences *differences_out) {
    ms_differences differences = {
        .count = c->found.count, .compared = c->compared, .let_pass = c->let_pass};
    differences.items = ms_vector_keep(&c->found, c->arena);
    if (c->arena->has_failed || c->keys->failed) {
        return MS_E_NOMEM;
    }
    qsort(differences.items, differences.count, sizeof(ms_difference), by_weight);
    for (size_t i = 0; i < differences.count; i++) {
        differences.failed += differences.items[i].has_failed;
    }
    *differences_out = differences;
    return MS_OK;
}

ms_status ms_compare(const ms_value *a, const ms_value *b, const ms_compare_rules *rules,
                     ms_arena *arena, ms_vector *keys, ms_differences *differences_out) {
    comparing c = {.rules = rules, .arena = arena, .keys = keys};
    ms_vector_init(&c.found, sizeof(ms_difference));
    compare_objects(&c, "", a, b);
    return collect_differences(&c, differences_out);
}
