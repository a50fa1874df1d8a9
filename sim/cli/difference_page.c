/* Prints the tables of `meshsim compare`, as text or in Markdown: a head with both sides and the
 * guards, for folders an overview of the traces, and for each trace tables with a row for each
 * difference. */
#include <math.h>

#include "cli/show_difference.h"
#include "cli/shown_tables.h"

/* Most quantities that the overview names for a trace; further ones are counted. */
enum { NAMED_MAX = 3 };

/* Append a sentence about a trace, or nothing. */
typedef void (*sentence)(const ms_compared_trace *trace, ms_buffer *out);

/* Add the sentence about a trace to a list, unless the sentence is empty.  name: of the trace with
 * a colon, put before the sentence; "" where two files are compared. */
static void add_sentence(const char *name, const ms_compared_trace *trace, sentence say,
                         ms_value *list) {
    ms_buffer text = {0};
    ms_buffer_puts(&text, name);
    size_t head_B = text.length;
    say(trace, &text);
    bool is_said = text.length > head_B;
    const char *kept = ms_buffer_keep(&text, list->arena);
    if (is_said) {
        ms_value_add_string(list, NULL, kept);
    }
}

/* Add a list with a row for each difference: key, both sides, relative change, and "!" if it breaks
 * a guard.  name: of the list.  most: rows at most, the first ones. */
static void add_rows(const char *name, const ms_differences *differences, size_t most,
                     ms_value *object) {
    ms_value *list = ms_value_add(object, name, MS_VALUE_ARRAY);
    for (size_t i = 0; i < differences->count && i < most && list != NULL; i++) {
        const ms_difference *difference = &differences->items[i];
        const char *sides[2] = {NULL, NULL};
        ms_buffer relative = {0};
        ms_show_sides(difference, list->arena, sides);
        ms_show_relative(difference, &relative);
        ms_value *row = ms_value_add(list, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "key", difference->key);
        ms_value_add_string(row, "a", sides[0]);
        ms_value_add_string(row, "b", sides[1]);
        ms_value_add_string(row, "change", ms_buffer_keep(&relative, list->arena));
        ms_value_add_string(row, "mark", difference->has_failed ? "!" : "");
    }
}

/* Make the text that names what breaks the guards, such as "memory.peak_B +55 %, 2 more"; NULL when
 * memory runs out. */
static const char *name_broken(const ms_differences *differences, ms_arena *arena) {
    ms_buffer text = {0};
    for (size_t i = 0; i < differences->failed && i < NAMED_MAX; i++) {
        const ms_difference *broken = &differences->items[i]; /* these are the first items */
        ms_buffer_printf(&text, "%s%s", i == 0 ? "" : ", ", broken->key);
        ms_buffer_puts(&text, isfinite(broken->relative) ? " " : "");
        ms_show_relative(broken, &text);
    }
    if (differences->failed > NAMED_MAX) {
        ms_buffer_printf(&text, ", %zu more", differences->failed - NAMED_MAX);
    }
    return ms_buffer_keep(&text, arena);
}

/* Add a row for a trace to the overview of two folders. */
static void add_overview_row(const ms_compared_trace *trace, ms_value *list) {
    static const char *const SIDES[] = {[MS_COMPARE_BOTH] = "",
                                        [MS_COMPARE_ONLY_A] = "only in a",
                                        [MS_COMPARE_ONLY_B] = "only in b"};
    const double *times = trace->step_time_s;
    bool is_equal = trace->side == MS_COMPARE_BOTH && trace->differences.count == 0;
    ms_value *row = ms_value_add(list, NULL, MS_VALUE_OBJECT);
    ms_value_add_string(row, "trace", trace->name);
    ms_value_add_double(row, "step_a_s", times[0]);
    ms_value_add_double(row, "step_b_s", times[1]);
    ms_value_add_double(row, "change", (times[1] - times[0]) / times[0]);
    const char *equal = trace->differences.let_pass > 0 ? "within the tolerance" : "equal";
    ms_value_add_string(row, "what", is_equal ? equal : SIDES[trace->side]);
    ms_value_add_string(row, "mark", trace->has_failed ? "!" : "");
    ms_value_add_string(row, "broken", name_broken(&trace->differences, list->arena));
}

/* Add both paths, the guards, the tolerances, and for folders the count of traces and their
 * overview. */
static void add_head(const ms_shown_comparison *shown, ms_value *root) {
    const ms_trace_comparison *comparison = shown->comparison;
    ms_buffer texts[3] = {{0}};
    static const char *const KEYS[] = {"guarded", "let_pass", "count"};
    ms_show_guards(shown->rules, &texts[0], &texts[1]);
    if (comparison->are_folders) {
        ms_show_count(comparison, &texts[2]);
    }
    ms_value_add_string(root, "a", shown->paths[0]);
    ms_value_add_string(root, "b", shown->paths[1]);
    for (size_t i = 0; i < 3; i++) {
        const char *kept = ms_buffer_keep(&texts[i], root->arena);
        bool is_of_offers = !comparison->are_folders && comparison->traces[0].are_offers;
        if (kept != NULL && kept[0] != '\0' && (i > 0 || !is_of_offers)) { /* i 0: the guards */
            ms_value_add_string(root, KEYS[i], kept);
        }
    }
    ms_value *overview = ms_value_add(root, "overview", MS_VALUE_ARRAY);
    for (size_t i = 0; i < comparison->count && comparison->are_folders; i++) {
        add_overview_row(&comparison->traces[i], overview);
    }
}

/* Add the sentences and differences of each trace. Of two folders, traces without any difference
 * and those on one side only are in the overview alone. --top limits the differences that break no
 * guard that was named. */
static void add_traces(const ms_shown_comparison *shown, ms_value *root) {
    const ms_trace_comparison *comparison = shown->comparison;
    ms_value *traces = ms_value_add(root, "traces", MS_VALUE_ARRAY);
    for (size_t i = 0; i < comparison->count && traces != NULL; i++) {
        const ms_compared_trace *trace = &comparison->traces[i];
        const char *name =
            comparison->are_folders ? ms_arena_printf(shown->arena, "%s: ", trace->name) : "";
        size_t rows = trace->defaults.count + trace->inputs.count + trace->differences.count;
        /* Without a named guard every difference would be one that breaks it. */
        size_t broken = shown->rules->guard_count == 0 ? 0 : trace->differences.failed;
        size_t most = shown->top == 0 ? SIZE_MAX : broken + (size_t)shown->top;
        bool is_told = !comparison->are_folders || (trace->side == MS_COMPARE_BOTH && rows > 0);
        if (is_told && name != NULL) {
            ms_value *object = ms_value_add(traces, NULL, MS_VALUE_OBJECT);
            ms_value_add_string(object, "group_title", name);
            ms_value *notes = ms_value_add(object, "notes", MS_VALUE_ARRAY);
            ms_value *versions = ms_value_add(object, "versions", MS_VALUE_ARRAY);
            add_sentence(name, trace, ms_show_verdict, notes);
            add_sentence(name, trace, ms_show_unknown_defaults, notes);
            add_sentence(name, trace, ms_show_versions, versions);
            add_rows("defaults", &trace->defaults, SIZE_MAX, object);
            add_rows("inputs", &trace->inputs, SIZE_MAX, object);
            add_rows("differences", &trace->differences, most, object);
        }
    }
}

ms_status ms_show_differences(const ms_invocation *call, const ms_shown_comparison *shown) {
    const ms_trace_comparison *comparison = shown->comparison;
    ms_value *root = ms_value_new_object(shown->arena);
    if (root == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    add_head(shown, root);
    add_traces(shown, root);
    return ms_cli_show(call,
                       comparison->is_equal && comparison->let_pass > 0 ? "within the tolerance"
                       : comparison->is_equal                           ? "equal"
                       : !comparison->are_folders && comparison->traces[0].are_offers ? "two offers"
                       : comparison->guarded_ok ? "changed within the guard"
                                                : "the guard is broken",
                       MS_COMPARE_TABLES, root);
}
