/* Makes the tree that `meshsim compare --json` prints: the traces, and their changed defaults,
 * inputs, versions and results, each as a list of rows. */
#include "cli/show_difference.h"

/* Add a copy of a value under a new key: a leaf as it is, a list or object as a text with its size,
 * a missing value (NULL) as null. */
static void add_value(ms_value *parent, const char *key, const ms_value *value) {
    if (value == NULL || (value->type != MS_VALUE_ARRAY && value->type != MS_VALUE_OBJECT)) {
        ms_value_add_leaf(parent, key, value);
        return;
    }
    if (parent == NULL) {
        return;
    }
    ms_buffer text = {0};
    ms_show_value(value, 0, &text);
    ms_value_add_string(parent, key, ms_buffer_keep(&text, parent->arena));
}

/* Add a row for a difference.  trace: its name; NULL where two files are compared, and rows name no
 * trace.  Returns the row. */
static ms_value *add_row(ms_value *rows, const char *trace, const ms_difference *difference) {
    ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
    ms_value_add_string(row, "trace", trace); /* NULL adds nothing */
    ms_value_add_string(row, "key", difference->key);
    add_value(row, "a", difference->a);
    add_value(row, "b", difference->b);
    return row;
}

/* Add a copy of the numbers in an object of a trace's summary, under the same key. */
static void add_numbers(const ms_value *summary, const char *key, ms_value *parent) {
    const ms_value *object = ms_value_get(summary, key);
    ms_value *copy = ms_value_add(parent, key, MS_VALUE_OBJECT);
    for (const ms_value *child = object == NULL ? NULL : object->first; child != NULL;
         child = child->next) {
        if (child->type == MS_VALUE_DOUBLE || child->type == MS_VALUE_INT) {
            ms_value_add_leaf(copy, child->key, child);
        }
    }
}

/* Add the figures of one side of a trace that a picture of both shows.  side: "a" or "b".  summary:
 * NULL: the side has no such trace, which gives null. */
static void add_side(const char *side, const ms_value *summary, ms_value *row) {
    if (summary == NULL) {
        ms_value_add(row, side, MS_VALUE_NULL);
        return;
    }
    ms_value *object = ms_value_add(row, side, MS_VALUE_OBJECT);
    ms_value_add_leaf(object, "workload", ms_value_get(summary, "workload"));
    ms_value_add_leaf(object, "step_time_s", ms_value_get(summary, "step_time_s"));
    add_numbers(summary, "time_share", object);
    add_numbers(summary, "memory", object);
}

/* Add a row for a pair of traces: where they are, whether they are equal, and the figures of
 * both. */
static void add_trace(ms_value *traces, const ms_compared_trace *trace) {
    static const char *const SIDES[] = {
        [MS_COMPARE_BOTH] = "both", [MS_COMPARE_ONLY_A] = "a", [MS_COMPARE_ONLY_B] = "b"};
    ms_value *row = ms_value_add(traces, NULL, MS_VALUE_OBJECT);
    ms_value_add_string(row, "trace", trace->name);
    ms_value_add_string(row, "in", SIDES[trace->side]);
    ms_value_add_bool(row, "equal",
                      trace->side == MS_COMPARE_BOTH && trace->differences.count == 0);
    ms_value_add_bool(row, "guarded_ok", !trace->has_failed);
    ms_value_add_bool(row, "offers", trace->are_offers);
    ms_value_add_bool(row, "defaults_known",
                      !trace->lacks_defaults[0] && !trace->lacks_defaults[1]);
    ms_value_add_double(row, "step_time_a_s", trace->step_time_s[0]);
    ms_value_add_double(row, "step_time_b_s", trace->step_time_s[1]);
    add_side("a", trace->summary[0], row);
    add_side("b", trace->summary[1], row);
}

/* Add a row with the versions that wrote two traces, if the versions and the figures differ. */
static void add_versions(ms_value *rows, const char *name, const ms_compared_trace *trace) {
    if (!ms_show_has_versions(trace)) {
        return;
    }
    ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
    ms_value_add_string(row, "trace", name);
    ms_value_add_string(row, "a", trace->versions[0]);
    ms_value_add_string(row, "b", trace->versions[1]);
}

/* Add a row for each difference.  name: of the trace, or NULL as in add_row. */
static void add_rows(ms_value *rows, const char *name, const ms_differences *differences) {
    for (size_t i = 0; i < differences->count; i++) {
        add_row(rows, name, &differences->items[i]);
    }
}

/* In a comparison of folders every row has the name of its trace; else there is one trace, and rows
 * have no name. */
const ms_value *ms_show_differences_tree(const ms_shown_comparison *shown) {
    const ms_trace_comparison *comparison = shown->comparison;
    ms_value *root = ms_value_new_object(shown->arena);
    int64_t compared = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        compared += (int64_t)comparison->traces[i].differences.compared;
    }
    ms_value_add_bool(root, "equal", comparison->is_equal);
    ms_value_add_bool(root, "guarded_ok", comparison->guarded_ok);
    ms_value_add_int(root, "compared", compared);
    ms_value_add_bool(root, "are_folders", comparison->are_folders);
    ms_value *traces = ms_value_add(root, "traces", MS_VALUE_ARRAY);
    ms_value *defaults = ms_value_add(root, "defaults", MS_VALUE_ARRAY);
    ms_value *inputs = ms_value_add(root, "inputs", MS_VALUE_ARRAY);
    ms_value *versions = ms_value_add(root, "versions", MS_VALUE_ARRAY);
    ms_value *differences = ms_value_add(root, "differences", MS_VALUE_ARRAY);
    for (size_t i = 0; i < comparison->count; i++) {
        const ms_compared_trace *trace = &comparison->traces[i];
        const char *name = comparison->are_folders ? trace->name : NULL;
        add_trace(traces, trace);
        add_rows(defaults, name, &trace->defaults);
        add_rows(inputs, name, &trace->inputs);
        add_versions(versions, name, trace);
        for (size_t j = 0; j < trace->differences.count; j++) {
            const ms_difference *difference = &trace->differences.items[j];
            ms_value *row = add_row(differences, name, difference);
            ms_value_add_double(row, "relative", difference->relative);
            ms_value_add_bool(row, "guarded", difference->guard >= 0);
            ms_value_add_bool(row, "failed", difference->has_failed);
        }
    }
    return differences == NULL ? NULL : root;
}
