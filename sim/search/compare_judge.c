/* Judges the two values of one key by the rules of a comparison (compare.h): how far they differ,
 * which tolerance and which guard hold for the key, and whether the difference is listed or
 * fails. */
#include "search/compare_judge.h"

#include <math.h>
#include <string.h>

#include "search/compare_keys.h"

static bool is_number(const ms_value *value) {
    return value != NULL && (value->type == MS_VALUE_INT || value->type == MS_VALUE_DOUBLE);
}

static double number_of(const ms_value *value) {
    return value->type == MS_VALUE_INT ? (double)value->as.integer : value->as.number;
}

/* Whether a value is a text, or missing. */
static bool is_text(const ms_value *value) {
    return value == NULL || value->type == MS_VALUE_STRING;
}

double ms_compare_relative(const ms_value *a, const ms_value *b) {
    if (!is_number(a) || !is_number(b) || number_of(a) == 0.0) {
        return INFINITY;
    }
    return (number_of(b) - number_of(a)) / fabs(number_of(a));
}

/* Difference of two numbers as a share of the larger one, at most 1. 0 for a difference that
 * rounding explains (MS_COMPARE_NOISE); counts are exact. */
static double number_distance(const ms_value *a, const ms_value *b) {
    if (a->type == MS_VALUE_INT && b->type == MS_VALUE_INT && a->as.integer == b->as.integer) {
        return 0.0;
    }
    double x = number_of(a);
    double y = number_of(b);
    double scale = fmax(fabs(x), fabs(y));
    bool are_counts = a->type == MS_VALUE_INT && b->type == MS_VALUE_INT;
    if (!are_counts && fabs(x - y) <= MS_COMPARE_NOISE * fmax(scale, 1.0)) {
        return 0.0;
    }
    return fmin(1.0, fabs(x - y) / scale);
}

/* Difference of two leaves: of numbers their distance as a share, of any other values 0 if they are
 * equal, else 1. */
static double distance(const ms_value *a, const ms_value *b) {
    if (is_number(a) && is_number(b)) {
        return number_distance(a, b);
    }
    if (a == NULL || b == NULL || a->type != b->type) {
        return 1.0;
    }
    switch (a->type) {
    case MS_VALUE_STRING:
        return strcmp(a->as.string, b->as.string) == 0 ? 0.0 : 1.0;
    case MS_VALUE_BOOL:
        return a->as.boolean == b->as.boolean ? 0.0 : 1.0;
    default:
        return 0.0; /* null, and empty lists or objects */
    }
}

/* The tolerance of a key: of the matching rules, the share of the one with the longest key; of
 * equally long keys the last. 0 without a matching rule. */
static double find_tolerance(const ms_compare_rules *rules, const char *key) {
    double share = 0.0;
    size_t longest = 0;
    for (size_t i = 0; i < rules->tolerance_count; i++) {
        const ms_tolerance *tolerance = &rules->tolerances[i];
        size_t length = strlen(tolerance->key);
        if (length >= longest && ms_key_matches(tolerance->key, key) != MS_KEY_NONE) {
            longest = length;
            share = tolerance->share;
        }
    }
    return share;
}

/* Whether a guard whose key matches holds for a quantity. A guard of exactly this key always does.
 * A guard of a key above it does not for texts, and a guard with a direction only for numbers. */
static bool guard_holds(const ms_guard *guard, ms_key_match match, bool has_number, bool has_text) {
    if (match == MS_KEY_ITSELF) {
        return true;
    }
    return match == MS_KEY_ANCESTOR && !has_text && (has_number || guard->direction == 0);
}

/* Find the guard of a quantity: of the guards that hold, the one with the longest key; of equally
 * long keys the last. If the rules have no guards at all, every quantity but texts has an implied
 * guard with index 0. Returns the index; -1: no guard. *is_named_out: whether the key of some guard
 * matches. */
static int find_guard(const ms_compare_rules *rules, const char *key, const ms_value *a,
                      const ms_value *b, bool *is_named_out) {
    bool has_text = is_text(a) && is_text(b);
    bool has_number = is_number(a) || is_number(b);
    size_t longest = 0;
    int best = -1;
    *is_named_out = false;
    for (size_t i = 0; i < rules->guard_count; i++) {
        const ms_guard *guard = &rules->guards[i];
        ms_key_match match = ms_key_matches(guard->key, key);
        size_t length = strlen(guard->key);
        *is_named_out = *is_named_out || match != MS_KEY_NONE;
        if (length >= longest && guard_holds(guard, match, has_number, has_text)) {
            longest = length;
            best = (int)i;
        }
    }
    return rules->guard_count == 0 && !has_text ? 0 : best;
}

/* Whether the report leaves out what no guard names: some guard is against any change (--only). */
static bool hides_unnamed(const ms_compare_rules *rules) {
    for (size_t i = 0; i < rules->guard_count; i++) {
        if (rules->guards[i].direction == 0) {
            return true;
        }
    }
    return false;
}

/* Whether a difference is above a share by more than rounding. */
static bool exceeds(double found, double share) {
    return found > share * (1.0 + MS_COMPARE_NOISE);
}

/* Whether a value has moved in the direction of a guard by more than the guard allows; a value that
 * is no number on both sides counts as moved. */
static bool has_moved(const ms_guard *guard, const ms_value *a, const ms_value *b) {
    if (!is_number(a) || !is_number(b)) {
        return true;
    }
    double more = guard->direction * (number_of(b) - number_of(a));
    return more > 0.0 && exceeds(more, guard->share * fabs(number_of(a)));
}

/* A guard with a direction has its own share and ignores the tolerance; any other guard is broken
 * by a difference beyond the tolerance. Without guards in the rules, find_guard returns 0 for the
 * implied guard, which is none of rules->guards. */
ms_compare_verdict ms_compare_judge(const ms_compare_rules *rules, const char *key,
                                    const ms_value *a, const ms_value *b) {
    bool is_named = false;
    ms_compare_verdict verdict = {.guard = find_guard(rules, key, a, b, &is_named)};
    double found = distance(a, b);
    bool is_beyond = exceeds(found, find_tolerance(rules, key));
    bool has_direction =
        verdict.guard >= 0 && rules->guard_count > 0 && rules->guards[verdict.guard].direction != 0;
    verdict.is_compared = is_named || !hides_unnamed(rules);
    verdict.differs = found > 0.0;
    verdict.has_failed = has_direction
                             ? verdict.differs && has_moved(&rules->guards[verdict.guard], a, b)
                             : verdict.guard >= 0 && is_beyond;
    verdict.is_listed = verdict.is_compared && (is_beyond || verdict.has_failed);
    return verdict;
}
