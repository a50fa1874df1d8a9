/* The page of 80 columns that `meshsim compare` prints. */
#include <math.h>
#include <string.h>

#include "cli/show_difference.h"
#include "cli/show_text.h"

enum {
    KEY_WIDTH = 30,
    VALUE_WIDTH = 16,
    RELATIVE_WIDTH = 12,
    NAME_WIDTH = 34,
    TIME_WIDTH = 13,
    PAGE_COLUMNS = 80
};

/* ---- a difference ---- */

/* Bytes of at most `columns` characters. */
static size_t bytes_of(const char *text, size_t columns) {
    size_t at = 0;
    while (text[at] != '\0' && columns > 0) {
        at++;
        while (((unsigned char)text[at] & 0xC0U) == 0x80U) {
            at++;
        }
        columns--;
    }
    return at;
}

/* A text of any length behind a label, cut where a line ends. */
static void add_long(const char *label, const char *text, ms_buffer *out) {
    static const char INDENT[] = "    ";
    size_t margin = sizeof INDENT - 1 + strlen(label) + 1;
    ms_buffer_printf(out, "%s%s ", INDENT, label);
    for (bool is_first = true; is_first || *text != '\0'; is_first = false) {
        size_t length = bytes_of(text, PAGE_COLUMNS - margin);
        ms_buffer_printf(out, "%*s%.*s\n", is_first ? 0 : (int)margin, "", (int)length, text);
        text += length;
    }
}

static void add_key(const char *key, ms_buffer *out) {
    static const char MARK[] = "...";
    size_t length = strlen(key);
    bool is_long = length > PAGE_COLUMNS;
    ms_buffer_printf(out, "%s%s", is_long ? MARK : "",
                     is_long ? key + length - (PAGE_COLUMNS - (sizeof MARK - 1)) : key);
}

/* One line, or the key on a line of its own, or long texts below it. */
static void add_difference(const ms_difference *difference, ms_arena *arena, ms_buffer *out) {
    const char *sides[2];
    ms_buffer relative;
    ms_buffer_init(&relative);
    ms_show_relative(difference, &relative);
    const char *mark = difference->has_failed ? " !" : "";
    if (relative.failed || !ms_show_sides(difference, arena, sides)) {
        out->failed = true;
    } else if (strlen(sides[0]) > VALUE_WIDTH || strlen(sides[1]) > VALUE_WIDTH) {
        add_key(difference->key, out);
        ms_buffer_printf(out, "%s\n", mark);
        add_long("a", sides[0], out);
        add_long("b", sides[1], out);
    } else {
        bool is_long = strlen(difference->key) > KEY_WIDTH;
        if (is_long) {
            add_key(difference->key, out);
            ms_buffer_puts(out, "\n");
        }
        ms_buffer_printf(out, "%-*s %*s %*s", KEY_WIDTH, is_long ? "" : difference->key,
                         VALUE_WIDTH, sides[0], VALUE_WIDTH, sides[1]);
        if (relative.length > 0 || difference->has_failed) {
            ms_buffer_printf(out, " %*s%s", RELATIVE_WIDTH, ms_buffer_text(&relative), mark);
        }
        ms_buffer_puts(out, "\n");
    }
    ms_buffer_release(&relative);
}

static void add_differences(const char *title, const ms_differences *differences,
                            const ms_shown_comparison *shown, ms_buffer *out) {
    if (differences->count == 0) {
        return;
    }
    ms_buffer_printf(out, "\n%-*s %*s %*s", KEY_WIDTH, title, VALUE_WIDTH, "a", VALUE_WIDTH, "b");
    bool has_relative = false;
    for (size_t i = 0; i < differences->count; i++) {
        has_relative = has_relative || isfinite(differences->items[i].relative);
    }
    if (has_relative) {
        ms_buffer_printf(out, " %*s", RELATIVE_WIDTH, "(b-a)/|a|");
    }
    ms_buffer_puts(out, "\n");
    for (size_t i = 0; i < differences->count; i++) {
        add_difference(&differences->items[i], shown->arena, out);
    }
}

/* ---- traces ---- */

/* A paragraph; nothing where there is nothing to say. */
static void add_note(const ms_compared_trace *trace,
                     void (*say)(const ms_compared_trace *trace, ms_buffer *out), ms_buffer *out) {
    ms_buffer text;
    ms_buffer_init(&text);
    say(trace, &text);
    if (text.length > 0) {
        ms_buffer_puts(out, "\n");
        ms_show_wrapped("", ms_buffer_text(&text), out);
    }
    out->failed = out->failed || text.failed;
    ms_buffer_release(&text);
}

static bool has_rows(const ms_compared_trace *trace) {
    return trace->defaults.count + trace->inputs.count + trace->differences.count > 0;
}

static void add_trace(const ms_compared_trace *trace, const ms_shown_comparison *shown,
                      ms_buffer *out) {
    add_differences("defaults that changed", &trace->defaults, shown, out);
    add_note(trace, ms_show_unknown_defaults, out);
    add_differences("inputs that differ", &trace->inputs, shown, out);
    add_note(trace, ms_show_versions, out);
    add_differences("quantity", &trace->differences, shown, out);
    ms_buffer_puts(out, has_rows(trace) ? "\n" : "");
    ms_show_verdict(trace, out);
    ms_buffer_puts(out, "\n");
}

static void add_time(double time_s, ms_buffer *out) {
    if (isfinite(time_s)) {
        ms_buffer_printf(out, " %*.6g", TIME_WIDTH, time_s);
    } else {
        ms_buffer_printf(out, " %*s", TIME_WIDTH, "-");
    }
}

/* A line of the overview of folders. */
static void add_line(const ms_compared_trace *trace, ms_buffer *out) {
    const double *times = trace->step_time_s;
    if (strlen(trace->name) > NAME_WIDTH) {
        add_key(trace->name, out);
        ms_buffer_puts(out, "\n");
    }
    ms_buffer_printf(out, "%-*s", NAME_WIDTH, strlen(trace->name) > NAME_WIDTH ? "" : trace->name);
    add_time(times[0], out);
    add_time(times[1], out);
    if (trace->side != MS_COMPARE_BOTH) {
        ms_buffer_printf(out, "   only in %s", trace->side == MS_COMPARE_ONLY_A ? "a" : "b");
    } else if (trace->differences.count == 0) {
        ms_buffer_puts(out, "       equal");
    } else {
        ms_buffer_printf(out, " %+9.3g %%", 100.0 * (times[1] - times[0]) / times[0]);
    }
    ms_buffer_puts(out, trace->has_failed ? " !\n" : "\n");
}

static void add_overview(const ms_shown_comparison *shown, ms_buffer *out) {
    const ms_trace_comparison *comparison = shown->comparison;
    ms_buffer_printf(out, "\n%-*s %*s %*s\n", NAME_WIDTH, "trace", TIME_WIDTH, "step a [s]",
                     TIME_WIDTH, "step b [s]");
    for (size_t i = 0; i < comparison->count; i++) {
        add_line(&comparison->traces[i], out);
    }
    for (size_t i = 0; i < comparison->count; i++) {
        const ms_compared_trace *trace = &comparison->traces[i];
        if (trace->side == MS_COMPARE_BOTH && has_rows(trace)) {
            ms_buffer_printf(out, "\n--- %s\n", trace->name);
            add_trace(trace, shown, out);
        }
    }
    ms_buffer_puts(out, "\n");
    ms_show_count(comparison, out);
    ms_buffer_puts(out, "\n");
}

static void add_rules(const ms_compare_rules *rules, ms_buffer *out) {
    ms_buffer guards;
    ms_buffer passes;
    ms_buffer_init(&guards);
    ms_buffer_init(&passes);
    ms_show_guards(rules, &guards, &passes);
    ms_show_wrapped("guarded: ", ms_buffer_text(&guards), out);
    if (passes.length > 0) {
        ms_show_wrapped("let pass: ", ms_buffer_text(&passes), out);
    }
    out->failed = out->failed || guards.failed || passes.failed;
    ms_buffer_release(&guards);
    ms_buffer_release(&passes);
}

void ms_show_differences(const ms_shown_comparison *shown, ms_buffer *out) {
    ms_buffer_printf(out, "a: %s\nb: %s\n", shown->paths[0], shown->paths[1]);
    add_rules(shown->rules, out);
    if (shown->comparison->are_folders) {
        add_overview(shown, out);
    } else {
        add_trace(&shown->comparison->traces[0], shown, out);
    }
}
