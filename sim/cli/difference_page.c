/* The tables of `meshsim compare`, as text or in Markdown. */
#include <math.h>

#include "cli/show_difference.h"
#include "cli/shown_tables.h"

enum { TABLES_PER_TRACE = 6 };

typedef void (*sentence)(const ms_compared_trace *trace, ms_buffer *out);

/* Add what a function says as the only text of a list, which is empty where it says nothing. */
static void add_sentence(const char *key, const ms_compared_trace *trace, sentence say,
                         ms_value *object) {
    ms_buffer text;
    ms_buffer_init(&text);
    say(trace, &text);
    const char *kept = ms_buffer_keep(&text, object->arena);
    ms_value *list = ms_value_add(object, key, MS_VALUE_ARRAY);
    if (kept != NULL && kept[0] != '\0') {
        ms_value_add_string(list, NULL, kept);
    }
}

static void add_rows(const char *key, const ms_differences *differences, ms_value *object) {
    ms_value *list = ms_value_add(object, key, MS_VALUE_ARRAY);
    for (size_t i = 0; i < differences->count && list != NULL; i++) {
        const ms_difference *difference = &differences->items[i];
        const char *sides[2] = {NULL, NULL};
        ms_buffer relative;
        ms_buffer_init(&relative);
        ms_show_sides(difference, object->arena, sides);
        ms_show_relative(difference, &relative);
        const char *change = ms_buffer_keep(&relative, object->arena);
        if (sides[1] == NULL || change == NULL) {
            return;
        }
        ms_value *row = ms_value_add(list, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "key", difference->key);
        ms_value_add_string(row, "a", sides[0]);
        ms_value_add_string(row, "b", sides[1]);
        ms_value_add_string(row, "change", change);
        ms_value_add_string(row, "mark", difference->has_failed ? "!" : "");
    }
}

static void add_trace(const char *key, const ms_compared_trace *trace, ms_value *traces) {
    ms_value *object = ms_value_add(traces, key, MS_VALUE_OBJECT);
    add_sentence("verdict", trace, ms_show_verdict, object);
    add_rows("defaults", &trace->defaults, object);
    add_sentence("unknown", trace, ms_show_unknown_defaults, object);
    add_rows("inputs", &trace->inputs, object);
    add_sentence("versions", trace, ms_show_versions, object);
    add_rows("differences", &trace->differences, object);
}

/* A row of the overview of two folders. */
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
    ms_value_add_string(row, "what", is_equal ? "equal" : SIDES[trace->side]);
    ms_value_add_string(row, "mark", trace->has_failed ? "!" : "");
}

static void add_head(const ms_shown_comparison *shown, ms_value *root) {
    const ms_trace_comparison *comparison = shown->comparison;
    ms_buffer texts[3];
    static const char *const KEYS[] = {"guarded", "let_pass", "count"};
    for (size_t i = 0; i < 3; i++) {
        ms_buffer_init(&texts[i]);
    }
    ms_show_guards(shown->rules, &texts[0], &texts[1]);
    if (comparison->are_folders) {
        ms_show_count(comparison, &texts[2]);
    }
    ms_value_add_string(root, "a", shown->paths[0]);
    ms_value_add_string(root, "b", shown->paths[1]);
    for (size_t i = 0; i < 3; i++) {
        const char *kept = ms_buffer_keep(&texts[i], root->arena);
        if (kept != NULL && kept[0] != '\0') {
            ms_value_add_string(root, KEYS[i], kept);
        }
    }
    ms_value *overview = ms_value_add(root, "overview", MS_VALUE_ARRAY);
    for (size_t i = 0; i < comparison->count && comparison->are_folders; i++) {
        add_overview_row(&comparison->traces[i], overview);
    }
}

/* Whether there is more to say of a trace than its row of the overview does. */
static bool has_details(const ms_compared_trace *trace, bool are_folders) {
    size_t rows = trace->defaults.count + trace->inputs.count + trace->differences.count;
    return !are_folders || (trace->side == MS_COMPARE_BOTH && rows > 0);
}

static ms_status show(const ms_invocation *call, const ms_trace_comparison *comparison,
                      ms_value *root) {
    static const ms_shown_table PARTS[TABLES_PER_TRACE] = {
        {.title = "", .rows = MS_SHOWN_OF_NOTES, .path = "verdict"},
        {.title = "defaults that changed", .path = "defaults", .columns = MS_DIFFERENCE_COLUMNS},
        {.title = "", .rows = MS_SHOWN_OF_NOTES, .path = "unknown"},
        {.title = "inputs that differ", .path = "inputs", .columns = MS_DIFFERENCE_COLUMNS},
        {.title = "", .rows = MS_SHOWN_OF_NOTES, .path = "versions"},
        {.title = "quantities that differ",
         .path = "differences",
         .columns = MS_DIFFERENCE_COLUMNS},
    };
    size_t count = 0;
    ms_value *traces = ms_value_add(root, "traces", MS_VALUE_OBJECT);
    ms_shown_table *tables =
        MS_NEW(call->arena, ms_shown_table, TABLES_PER_TRACE * comparison->count + 3);
    if (tables == NULL || traces == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    tables[count++] = MS_COMPARE_TABLES[0];
    tables[count++] = MS_COMPARE_TABLES[1];
    for (size_t i = 0; i < comparison->count; i++) {
        const ms_compared_trace *trace = &comparison->traces[i];
        const char *key = ms_arena_printf(call->arena, "%zu", i);
        if (key == NULL || !has_details(trace, comparison->are_folders)) {
            continue;
        }
        add_trace(key, trace, traces);
        for (size_t part = 0; part < TABLES_PER_TRACE; part++) {
            tables[count] = PARTS[part];
            tables[count++].path =
                ms_arena_printf(call->arena, "traces/%s/%s", key, PARTS[part].path);
        }
        tables[count - TABLES_PER_TRACE].title = comparison->are_folders ? trace->name : "";
    }
    return ms_cli_show(call,
                       comparison->is_equal     ? "equal"
                       : comparison->guarded_ok ? "changed within the guard"
                                                : "the guard is broken",
                       tables, root);
}

ms_status ms_show_differences(const ms_invocation *call, const ms_shown_comparison *shown) {
    ms_value *root = ms_value_new_object(shown->arena);
    if (root == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    add_head(shown, root);
    return show(call, shown->comparison, root);
}
