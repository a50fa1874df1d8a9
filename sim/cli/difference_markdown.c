/* A comparison in Markdown, as code hosts show it under a change. */
#include "cli/render.h"
#include "cli/show_difference.h"

static void add_row(const ms_difference *difference, ms_arena *arena, ms_buffer *out) {
    const char *sides[2];
    if (!ms_show_sides(difference, arena, sides)) {
        out->failed = true;
        return;
    }
    ms_buffer_puts(out, difference->has_failed ? "| **" : "| ");
    ms_show_markdown_text(difference->key, out);
    ms_buffer_puts(out, difference->has_failed ? "** | " : " | ");
    ms_show_markdown_text(sides[0], out);
    ms_buffer_puts(out, " | ");
    ms_show_markdown_text(sides[1], out);
    ms_buffer_puts(out, " | ");
    ms_show_relative(difference, out);
    ms_buffer_puts(out, " |\n");
}

static void add_table(const char *title, const ms_differences *differences,
                      const ms_shown_comparison *shown, ms_buffer *out) {
    if (differences->count == 0) {
        return;
    }
    ms_buffer_printf(out, "\n| %s | a | b | change |\n|:---|---:|---:|---:|\n", title);
    for (size_t i = 0; i < differences->count; i++) {
        add_row(&differences->items[i], shown->arena, out);
    }
}

static void add_rules(const ms_compare_rules *rules, ms_buffer *out) {
    ms_buffer guards;
    ms_buffer passes;
    ms_buffer_init(&guards);
    ms_buffer_init(&passes);
    ms_show_guards(rules, &guards, &passes);
    ms_buffer_puts(out, "\nGuarded: ");
    ms_show_markdown_text(ms_buffer_text(&guards), out);
    if (passes.length > 0) {
        ms_buffer_puts(out, "; let pass: ");
        ms_show_markdown_text(ms_buffer_text(&passes), out);
    }
    ms_buffer_puts(out, ".\n");
    out->failed = out->failed || guards.failed || passes.failed;
    ms_buffer_release(&guards);
    ms_buffer_release(&passes);
}

/* A paragraph; nothing where there is nothing to say. */
static void add_note(const ms_compared_trace *trace,
                     void (*say)(const ms_compared_trace *trace, ms_buffer *out), ms_buffer *out) {
    ms_buffer text;
    ms_buffer_init(&text);
    say(trace, &text);
    if (text.length > 0) {
        ms_buffer_puts(out, "\n");
        ms_show_markdown_text(ms_buffer_text(&text), out);
        ms_buffer_puts(out, "\n");
    }
    out->failed = out->failed || text.failed;
    ms_buffer_release(&text);
}

static void add_trace(const ms_compared_trace *trace, const ms_shown_comparison *shown,
                      ms_buffer *out) {
    ms_buffer_puts(out, "\n### ");
    ms_show_markdown_text(trace->name, out);
    ms_buffer_puts(out, "\n\n");
    ms_buffer_puts(out, trace->has_failed ? "**" : "");
    ms_show_verdict(trace, out);
    ms_buffer_puts(out, trace->has_failed ? "**\n" : "\n");
    add_table("default that changed", &trace->defaults, shown, out);
    add_note(trace, ms_show_unknown_defaults, out);
    add_table("input that differs", &trace->inputs, shown, out);
    add_note(trace, ms_show_versions, out);
    add_table("quantity", &trace->differences, shown, out);
}

void ms_show_differences_markdown(const ms_shown_comparison *shown, ms_buffer *out) {
    const ms_trace_comparison *comparison = shown->comparison;
    ms_buffer_printf(out, "## meshsim compare: %s\n\n",
                     !comparison->guarded_ok ? "the guard is broken"
                     : !comparison->is_equal ? "changed within the guard"
                                             : "equal");
    ms_buffer_puts(out, "a: ");
    ms_show_markdown_text(shown->paths[0], out);
    ms_buffer_puts(out, ", b: ");
    ms_show_markdown_text(shown->paths[1], out);
    ms_buffer_puts(out, "\n");
    add_rules(shown->rules, out);
    if (comparison->are_folders) {
        ms_buffer_puts(out, "\n");
        ms_show_count(comparison, out);
        ms_buffer_puts(out, "\n");
    }
    for (size_t i = 0; i < comparison->count; i++) {
        const ms_compared_trace *trace = &comparison->traces[i];
        bool is_worth_it =
            trace->side != MS_COMPARE_BOTH ||
            trace->defaults.count + trace->inputs.count + trace->differences.count > 0;
        if (is_worth_it || !comparison->are_folders) {
            add_trace(trace, shown, out);
        }
    }
}
