#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meshsim/report.h"

/* Below this (in the unit of the quantity) a number counts as zero once any tolerance is given:
 * shares that are rounding noise on both sides are no regression. */
static const double LEAST_SCALE = 1e-9;

typedef struct comparing {
    const ms_tolerance *tolerances;
    size_t tolerance_count;
    ms_arena *arena;
    ms_vector found; /* ms_difference */
    size_t compared;
    bool failed;
} comparing;

static bool is_number(const ms_value *value) {
    return value->type == MS_VALUE_INT || value->type == MS_VALUE_DOUBLE;
}

static double number_of(const ms_value *value) {
    return value->type == MS_VALUE_INT ? (double)value->as.integer : value->as.number;
}

/* Whether `key` is `prefix` or lies below it. */
static bool is_below(const char *key, const char *prefix) {
    size_t length = strlen(prefix);
    return length == 0 || (strncmp(key, prefix, length) == 0 &&
                           (key[length] == '\0' || key[length] == '.' || key[length] == '['));
}

static double tolerance_of(const comparing *c, const char *key) {
    double relative = 0.0;
    size_t longest = 0;
    for (size_t i = 0; i < c->tolerance_count; i++) {
        const ms_tolerance *tolerance = &c->tolerances[i];
        if (is_below(key, tolerance->key) && strlen(tolerance->key) >= longest) {
            longest = strlen(tolerance->key);
            relative = tolerance->relative;
        }
    }
    return relative;
}

static double change(double a, double b) {
    return a == 0.0 ? INFINITY : (b - a) / fabs(a);
}

static void note(comparing *c, const char *key, const ms_value *a, const ms_value *b) {
    bool has_numbers = a != NULL && b != NULL && is_number(a) && is_number(b);
    const ms_difference difference = {ms_arena_strdup(c->arena, key), a, b,
                                      has_numbers ? change(number_of(a), number_of(b)) : INFINITY};
    if (difference.key == NULL || ms_vector_add(&c->found, &difference, 1) == NULL) {
        c->failed = true;
    }
}

static bool are_equal(const comparing *c, const char *key, const ms_value *a, const ms_value *b) {
    if (is_number(a) && is_number(b)) {
        if (a->type == MS_VALUE_INT && b->type == MS_VALUE_INT && a->as.integer == b->as.integer) {
            return true;
        }
        double x = number_of(a);
        double y = number_of(b);
        double scale = fmax(fmax(fabs(x), fabs(y)), LEAST_SCALE);
        return fabs(x - y) <= tolerance_of(c, key) * scale;
    }
    if (a->type != b->type) {
        return false;
    }
    switch (a->type) {
    case MS_VALUE_STRING:
        return strcmp(a->as.string, b->as.string) == 0;
    case MS_VALUE_BOOL:
        return a->as.boolean == b->as.boolean;
    default:
        return true; /* null */
    }
}

static bool is_tree(const ms_value *value) {
    return value->type == MS_VALUE_OBJECT || value->type == MS_VALUE_ARRAY;
}

static void compare_values(comparing *c, const char *key, const ms_value *a, const ms_value *b);

static char *path_of(comparing *c, const char *above, const ms_value *child, size_t index) {
    char *path = child->key == NULL ? ms_arena_printf(c->arena, "%s[%zu]", above, index)
                                    : ms_arena_printf(c->arena, "%s%s%s", above,
                                                      above[0] == '\0' ? "" : ".", child->key);
    c->failed = c->failed || path == NULL;
    return path;
}

static void compare_arrays(comparing *c, const char *key, const ms_value *a, const ms_value *b) {
    const ms_value *x = a->first;
    const ms_value *y = b->first;
    for (size_t i = 0; (x != NULL || y != NULL) && !c->failed; i++) {
        const char *path = path_of(c, key, x != NULL ? x : y, i);
        if (path != NULL) {
            compare_values(c, path, x, y);
        }
        x = x == NULL ? NULL : x->next;
        y = y == NULL ? NULL : y->next;
    }
}

static void compare_objects(comparing *c, const char *key, const ms_value *a, const ms_value *b) {
    for (const ms_value *x = a->first; x != NULL && !c->failed; x = x->next) {
        const char *path = path_of(c, key, x, 0);
        if (path != NULL) {
            compare_values(c, path, x, ms_value_get(b, x->key));
        }
    }
    for (const ms_value *y = b->first; y != NULL && !c->failed; y = y->next) {
        const char *path = ms_value_get(a, y->key) == NULL ? path_of(c, key, y, 0) : NULL;
        if (path != NULL) {
            compare_values(c, path, NULL, y);
        }
    }
}

/* a, b: one of them may be NULL. */
static void compare_values(comparing *c, const char *key, const ms_value *a, const ms_value *b) {
    if (ms_trace_is_volatile(key)) {
        return;
    }
    if (a == NULL || b == NULL) {
        c->compared++;
        note(c, key, a, b);
    } else if (is_tree(a) && a->type == b->type) {
        if (a->type == MS_VALUE_ARRAY) {
            compare_arrays(c, key, a, b);
        } else {
            compare_objects(c, key, a, b);
        }
    } else {
        c->compared++;
        if (!are_equal(c, key, a, b)) {
            note(c, key, a, b);
        }
    }
}

/* Largest first; among equals as they stand in the tree, which the addresses of equal-sized records
 * in one vector no longer tell, so the key decides. */
static int by_size(const void *left, const void *right) {
    const ms_difference *a = left;
    const ms_difference *b = right;
    double x = fabs(a->relative);
    double y = fabs(b->relative);
    return x > y ? -1 : x < y ? 1 : strcmp(a->key, b->key);
}

ms_status ms_compare(const ms_value *a, const ms_value *b, const ms_tolerance *tolerances,
                     size_t count, ms_arena *arena, ms_comparison *comparison_out) {
    comparing c = {.tolerances = tolerances, .tolerance_count = count, .arena = arena};
    ms_vector_init(&c.found, sizeof(ms_difference));
    compare_objects(&c, "", a, b);
    ms_difference *kept = MS_NEW(arena, ms_difference, c.found.count);
    bool has_memory = kept != NULL && !c.failed && !c.found.failed;
    if (has_memory && c.found.count > 0) {
        qsort(c.found.data, c.found.count, sizeof(ms_difference), by_size);
        memcpy(kept, c.found.data, c.found.count * sizeof(ms_difference));
    }
    if (has_memory) {
        *comparison_out = (ms_comparison){kept, c.found.count, c.compared};
    }
    ms_vector_release(&c.found);
    return has_memory ? MS_OK : MS_E_NOMEM;
}
