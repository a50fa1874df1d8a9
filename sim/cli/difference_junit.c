/* Writes a comparison of traces as JUnit's XML, which continuous integration shows as tests: a
 * suite for each trace, a test case for each guard, which fails if a quantity breaks the guard. */
#include "cli/show_difference.h"

/* Append a difference as a line: "step_time_s: 0.1 -> 0.2 (+100 %)". */
static void add_line(const ms_difference *difference, ms_arena *arena, ms_buffer *out) {
    const char *sides[2];
    if (!ms_show_sides(difference, arena, sides)) {
        out->failed = true;
        return;
    }
    ms_xml_write_text(out, difference->key);
    ms_buffer_puts(out, ": ");
    ms_xml_write_text(out, sides[0]);
    ms_buffer_puts(out, " -&gt; ");
    ms_xml_write_text(out, sides[1]);
    ms_buffer relative = {0};
    ms_show_relative(difference, &relative);
    if (relative.length > 0) {
        ms_buffer_printf(out, " (%s)", ms_buffer_text(&relative));
    }
    ms_buffer_release_part(&relative, out);
}

/* Number of test cases of a trace: one for each guard, or one where no guard was named and
 * everything but texts is guarded. */
static size_t guard_count(const ms_compare_rules *rules) {
    return rules->guard_count == 0 ? 1 : rules->guard_count;
}

/* Whether a difference broke the guard of an index. */
static bool breaks(const ms_difference *difference, size_t guard) {
    return difference->has_failed && difference->guard == (int)guard;
}

/* The first difference that broke a guard; NULL: none did. */
static const ms_difference *first_failure(const ms_compared_trace *trace, size_t guard) {
    for (size_t i = 0; i < trace->differences.count; i++) {
        if (breaks(&trace->differences.items[i], guard)) {
            return &trace->differences.items[i];
        }
    }
    return NULL;
}

/* Whether the test case of a guard has failed. A trace that is missing on one side fails all its
 * test cases or none. */
static bool has_failed(const ms_compared_trace *trace, size_t guard) {
    return trace->side == MS_COMPARE_BOTH ? first_failure(trace, guard) != NULL : trace->has_failed;
}

/* Append why a test case has failed or was skipped: the trace is on one side only, or the
 * differences that broke the guard. */
static void add_reason(const ms_compared_trace *trace, size_t guard, ms_arena *arena,
                       ms_buffer *out) {
    if (trace->side != MS_COMPARE_BOTH) {
        ms_buffer_printf(out, "      <%s message=\"",
                         trace->has_failed ? "failure type=\"missing\"" : "skipped");
        ms_show_verdict(trace, out);
        ms_buffer_puts(out, "\"/>\n");
        return;
    }
    ms_buffer_puts(out, "      <failure type=\"change\" message=\"");
    add_line(first_failure(trace, guard), arena, out);
    ms_buffer_puts(out, "\">");
    for (size_t i = 0; i < trace->differences.count; i++) {
        if (breaks(&trace->differences.items[i], guard)) {
            add_line(&trace->differences.items[i], arena, out);
            ms_buffer_puts(out, "\n");
        }
    }
    ms_buffer_puts(out, "</failure>\n");
}

/* Append the test case of one guard for one trace. */
static void add_case(const ms_compared_trace *trace, size_t guard, const ms_shown_comparison *shown,
                     ms_buffer *out) {
    ms_buffer name = {0};
    ms_show_guard(shown->rules, guard, &name);
    ms_buffer_puts(out, "    <testcase classname=\"");
    ms_xml_write_text(out, trace->name);
    ms_buffer_puts(out, "\" name=\"");
    ms_xml_write_text(out, ms_buffer_text(&name));
    ms_buffer_release_part(&name, out);
    if (trace->side == MS_COMPARE_BOTH && !has_failed(trace, guard)) {
        ms_buffer_puts(out, "\"/>\n");
        return;
    }
    ms_buffer_puts(out, "\">\n");
    add_reason(trace, guard, shown->arena, out);
    ms_buffer_puts(out, "    </testcase>\n");
}

/* Number of failed test cases of a trace. */
static size_t failures_of(const ms_compared_trace *trace, const ms_compare_rules *rules) {
    size_t count = 0;
    for (size_t guard = 0; guard < guard_count(rules); guard++) {
        count += has_failed(trace, guard);
    }
    return count;
}

/* Append a title and a line for each difference, if there is any difference. */
static void add_list(const char *title, const ms_differences *differences, ms_arena *arena,
                     ms_buffer *out) {
    for (size_t i = 0; i < differences->count; i++) {
        ms_buffer_printf(out, "%s%s", i == 0 ? title : "", i == 0 ? "\n" : "");
        add_line(&differences->items[i], arena, out);
        ms_buffer_puts(out, "\n");
    }
}

/* Append a sentence about a trace and a line feed, unless the sentence is empty.  say: writes the
 * sentence. */
static void add_note(const ms_compared_trace *trace,
                     void (*say)(const ms_compared_trace *trace, ms_buffer *out), ms_buffer *out) {
    ms_buffer text = {0};
    say(trace, &text);
    ms_xml_write_text(out, ms_buffer_text(&text));
    ms_buffer_puts(out, text.length > 0 ? "\n" : "");
    ms_buffer_release_part(&text, out);
}

/* Append the suite of one trace: its test cases, and as output its changed defaults and inputs,
 * which are not guarded. */
static void add_suite(const ms_compared_trace *trace, const ms_shown_comparison *shown,
                      ms_buffer *out) {
    ms_buffer_puts(out, "  <testsuite name=\"");
    ms_xml_write_text(out, trace->name);
    bool is_skipped = trace->side != MS_COMPARE_BOTH && !trace->has_failed;
    ms_buffer_printf(out, "\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" skipped=\"%zu\">\n",
                     guard_count(shown->rules), failures_of(trace, shown->rules),
                     is_skipped ? guard_count(shown->rules) : 0);
    for (size_t guard = 0; guard < guard_count(shown->rules); guard++) {
        add_case(trace, guard, shown, out);
    }
    ms_buffer_puts(out, "    <system-out>");
    add_list("defaults that changed", &trace->defaults, shown->arena, out);
    add_note(trace, ms_show_unknown_defaults, out);
    add_list("inputs that differ", &trace->inputs, shown->arena, out);
    add_note(trace, ms_show_versions, out);
    add_note(trace, ms_show_verdict, out);
    ms_buffer_puts(out, "</system-out>\n  </testsuite>\n");
}

void ms_show_differences_junit(const ms_shown_comparison *shown, ms_buffer *out) {
    const ms_trace_comparison *comparison = shown->comparison;
    size_t failures = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        failures += failures_of(&comparison->traces[i], shown->rules);
    }
    ms_buffer_printf(
        out,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        "<testsuites name=\"meshsim compare\" tests=\"%zu\" failures=\"%zu\" errors=\"0\">\n",
        comparison->count * guard_count(shown->rules), failures);
    for (size_t i = 0; i < comparison->count; i++) {
        add_suite(&comparison->traces[i], shown, out);
    }
    ms_buffer_puts(out, "</testsuites>\n");
}
