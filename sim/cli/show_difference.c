/* Texts that all forms of a comparison of two traces share: page, Markdown, JSON and JUnit's XML
 * (show_difference.h). */
#include "cli/show_difference.h"

#include <math.h>
#include <string.h>

/* Digits with which two numbers are printed: as few as show that they differ. The longest number
 * with 9 digits is -1.23456789e-100, 16 columns. */
enum { LEAST_DIGITS = 6, MOST_DIGITS = 9 };

void ms_show_value(const ms_value *value, int digits, ms_buffer *out) {
    if (value == NULL) {
        ms_buffer_puts(out, "-");
    } else if (value->type == MS_VALUE_DOUBLE) {
        ms_buffer_printf(out, "%.*g", digits, value->as.number);
    } else if (value->type == MS_VALUE_INT) {
        ms_buffer_printf(out, "%lld", (long long)value->as.integer);
    } else if (value->type == MS_VALUE_BOOL) {
        ms_buffer_puts(out, value->as.boolean ? "true" : "false");
    } else if (value->type == MS_VALUE_STRING) {
        ms_buffer_puts(out, value->as.string);
    } else if (value->type == MS_VALUE_NULL) {
        ms_buffer_puts(out, "null");
    } else {
        ms_buffer_printf(out, "(%s of %zu)", value->type == MS_VALUE_ARRAY ? "list" : "table",
                         value->count);
    }
}

/* A value as a text in `arena`; NULL when memory runs out.  digits: of numbers. */
static const char *text_of(const ms_value *value, int digits, ms_arena *arena) {
    ms_buffer text = {0};
    ms_show_value(value, digits, &text);
    return ms_buffer_keep(&text, arena);
}

bool ms_show_sides(const ms_difference *difference, ms_arena *arena, const char *texts_out[2]) {
    for (int digits = LEAST_DIGITS; digits <= MOST_DIGITS; digits++) {
        texts_out[0] = text_of(difference->a, digits, arena);
        texts_out[1] = text_of(difference->b, digits, arena);
        if (texts_out[0] == NULL || texts_out[1] == NULL) {
            return false;
        }
        if (strcmp(texts_out[0], texts_out[1]) != 0) {
            break;
        }
    }
    return true;
}

void ms_show_relative(const ms_difference *difference, ms_buffer *out) {
    if (isfinite(difference->relative)) {
        ms_buffer_printf(out, "%+.3g %%", 100.0 * difference->relative);
    }
}

void ms_show_guard(const ms_compare_rules *rules, size_t guard, ms_buffer *out) {
    if (rules->guard_count == 0) {
        ms_buffer_puts(out, "all but texts");
        return;
    }
    const ms_guard *named = &rules->guards[guard];
    ms_buffer_puts(out, named->key);
    if (named->direction != 0) {
        ms_buffer_printf(out, " by at most %s%.6g %%", named->direction > 0 ? "+" : "-",
                         100.0 * named->share);
    }
}

void ms_show_guards(const ms_compare_rules *rules, ms_buffer *guards_out, ms_buffer *passes_out) {
    size_t count = rules->guard_count == 0 ? 1 : rules->guard_count;
    for (size_t i = 0; i < count; i++) {
        ms_buffer_puts(guards_out, i == 0 ? "" : ", ");
        ms_show_guard(rules, i, guards_out);
    }
    for (size_t i = 0; i < rules->tolerance_count; i++) {
        const ms_tolerance *tolerance = &rules->tolerances[i];
        ms_buffer_printf(passes_out, "%s%.6g %%%s%s", i == 0 ? "" : ", ", 100.0 * tolerance->share,
                         tolerance->key[0] == '\0' ? "" : " of ", tolerance->key);
    }
}

bool ms_show_has_versions(const ms_compared_trace *trace) {
    return trace->differences.count > 0 && strcmp(trace->versions[0], trace->versions[1]) != 0;
}

void ms_show_versions(const ms_compared_trace *trace, ms_buffer *out) {
    if (ms_show_has_versions(trace)) {
        ms_buffer_printf(out, "a by meshsim %s, b by meshsim %s", trace->versions[0],
                         trace->versions[1]);
    }
}

void ms_show_unknown_defaults(const ms_compared_trace *trace, ms_buffer *out) {
    const bool *lacks = trace->lacks_defaults;
    if (lacks[0] || lacks[1]) {
        ms_buffer_printf(out, "changed defaults are unknown: %s holds no resolved inputs",
                         !lacks[1]   ? "a"
                         : !lacks[0] ? "b"
                                     : "neither trace");
    }
}

/* Append how many quantities or traces break the guard. */
static void add_broken(size_t count, ms_buffer *out) {
    if (count == 0) {
        ms_buffer_puts(out, "none breaks the guard");
    } else {
        ms_buffer_printf(out, "%zu %s the guard", count, count == 1 ? "breaks" : "break");
    }
}

void ms_show_verdict(const ms_compared_trace *trace, ms_buffer *out) {
    const ms_differences *differences = &trace->differences;
    if (trace->side != MS_COMPARE_BOTH) {
        ms_buffer_printf(out, "only in %s", trace->side == MS_COMPARE_ONLY_A ? "a" : "b");
    } else if (differences->count == 0) {
        ms_buffer_printf(out, "%s: %zu quantities compared",
                         differences->let_pass > 0 ? "within the tolerance" : "equal",
                         differences->compared);
    } else {
        ms_buffer_printf(out, "%zu of %zu quantities differ%s", differences->count,
                         differences->compared, trace->are_offers ? " between two offers" : ", ");
        for (size_t i = 0; i < 2 && trace->are_offers; i++) {
            ms_buffer_puts(out, i == 0 ? ": " : ", ");
            ms_show_value(ms_value_get(trace->summary[i], "platform"), LEAST_DIGITS, out);
            ms_buffer_printf(out, " with %.0f GPUs",
                             ms_value_number(trace->summary[i], "gpus", 0.0));
        }
        if (!trace->are_offers) {
            add_broken(differences->failed, out);
        }
    }
}

void ms_show_count(const ms_trace_comparison *comparison, ms_buffer *out) {
    size_t equal = 0, differing = 0, alone = 0, failed = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        const ms_compared_trace *trace = &comparison->traces[i];
        bool is_alone = trace->side != MS_COMPARE_BOTH;
        alone += is_alone;
        equal += !is_alone && trace->differences.count == 0;
        differing += !is_alone && trace->differences.count > 0;
        failed += trace->has_failed;
    }
    ms_buffer_printf(out, "traces: %zu equal%s, %zu differ, %zu on one side only; ", equal,
                     comparison->let_pass > 0 ? " or within the tolerance" : "", differing, alone);
    add_broken(failed, out);
}
