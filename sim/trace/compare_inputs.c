/* Compares the inputs of two traces (compare_inputs.h): workload and platform become lists of keys
 * with texts; of orders and placements from files the first differing line counts. */
#include <math.h>
#include <string.h>

#include "base/config/config.h"
#include "base/units.h"
#include "trace/compare_inputs.h"

/* The inputs of one trace. */
typedef struct inputs {
    ms_arena *arena;
    ms_value *texts; /* object with a text for each key, such as "mesh.dp" */
    bool failed;     /* memory ran out */
} inputs;

/* Set the text of a key, which may have one already. */
static void put(inputs *to, const char *key, const char *text) {
    for (ms_value *at = to->texts->first; at != NULL; at = at->next) {
        if (strcmp(at->key, key) == 0) {
            at->as.string = ms_arena_strdup(to->arena, text);
            to->failed = to->failed || at->as.string == NULL;
            return;
        }
    }
    to->failed = to->failed || ms_value_add_string(to->texts, key, text) == NULL;
}

/* Whether all items of a sequence are scalars. */
static bool has_only_scalars(const ms_node *sequence) {
    for (const ms_node *item = sequence->first; item != NULL; item = item->next) {
        if (item->type != MS_NODE_SCALAR) {
            return false;
        }
    }
    return true;
}

/* Set the text of a key to a list of scalars, such as "[pp, dp, tp]". */
static void put_list(inputs *to, const char *key, const ms_node *sequence) {
    ms_buffer text = {0};
    for (const ms_node *item = sequence->first; item != NULL; item = item->next) {
        ms_buffer_printf(&text, "%s%s", item == sequence->first ? "[" : ", ", item->text);
    }
    ms_buffer_puts(&text, sequence->first == NULL ? "[]" : "]");
    to->failed = to->failed || text.failed;
    put(to, key, ms_buffer_text(&text));
    ms_buffer_release(&text);
}

/* Set the texts of a YAML node and of all nodes below it.  key: path of the node. A list of scalars
 * is one text; items of other lists have keys such as "a[0]". */
static void put_node(inputs *to, const char *key, const ms_node *node) {
    if (node->type == MS_NODE_SCALAR) {
        put(to, key, node->text);
        return;
    }
    if (node->type == MS_NODE_SEQUENCE && has_only_scalars(node)) {
        put_list(to, key, node);
        return;
    }
    size_t index = 0;
    for (const ms_node *child = node->first; child != NULL && !to->failed; child = child->next) {
        const char *path =
            node->type == MS_NODE_SEQUENCE
                ? ms_arena_printf(to->arena, "%s[%zu]", key, index++)
                : ms_arena_printf(to->arena, "%s%s%s", key, key[0] == '\0' ? "" : ".", child->key);
        if (path == NULL) {
            to->failed = true;
        } else {
            put_node(to, path, child);
        }
    }
}

/* Set the texts of a YAML document.  text: NULL: nothing is set.  key: put in front of its keys. */
static ms_status put_yaml(inputs *to, const char *text, const char *key, const ms_trace *trace,
                          ms_diag *diag) {
    ms_node *root = NULL;
    ms_diag silent;
    ms_diag_init_mute(&silent);
    if (text == NULL) {
        return MS_OK;
    }
    ms_status status = ms_yaml_parse(text, strlen(text), trace->path, to->arena, &silent, &root);
    if (status == MS_OK) {
        put_node(to, key, root);
    } else if (status == MS_E_INPUT) {
        ms_diag_error(diag, "cannot read '%s': the trace is damaged at /input", trace->path);
    }
    return status;
}

/* Collect the keys of a trace's inputs. Keys of the effective platform replace those with which the
 * workload changes the platform, as it comes later. */
static ms_status collect(const ms_trace *trace, ms_arena *arena, ms_diag *diag, inputs *out) {
    *out = (inputs){.arena = arena, .texts = ms_value_new_object(arena)};
    if (out->texts == NULL) {
        return MS_E_NOMEM;
    }
    ms_status status = put_yaml(out, trace->inputs.workload, "", trace, diag);
    if (status == MS_OK) {
        status = put_yaml(out, trace->inputs.platform, "platform", trace, diag);
    }
    return status == MS_OK && out->failed ? MS_E_NOMEM : status;
}

/* ---- orders and placements from files ---- */

/* The first line of a text that differs from another text, with its number; "(none)" for no text
 * (NULL).  Returns NULL when memory runs out. */
static const char *differing_line(const char *text, const char *other, ms_arena *arena) {
    int line = 1;
    if (text == NULL) {
        return "(none)";
    }
    while (other != NULL && *text != '\0') {
        size_t length = strcspn(text, "\n");
        if (strncmp(text, other, length) != 0 || strcspn(other, "\n") != length) {
            break;
        }
        text += length + (text[length] == '\n');
        other += length + (other[length] == '\n');
        line++;
    }
    return ms_arena_printf(arena, "line %d: %.*s", line, (int)strcspn(text, "\n"), text);
}

/* Set the first differing lines of a file that each side may have, on both sides, if they differ.
 * text_a, text_b: NULL: the side has none. */
static void put_file(const char *key, const char *text_a, const char *text_b, inputs sides[2]) {
    if (text_a == text_b || (text_a != NULL && text_b != NULL && strcmp(text_a, text_b) == 0)) {
        return;
    }
    const char *line_a = differing_line(text_a, text_b, sides[0].arena);
    const char *line_b = differing_line(text_b, text_a, sides[1].arena);
    if (line_a == NULL || line_b == NULL) {
        sides[0].failed = true;
        return;
    }
    put(&sides[0], key, line_a);
    put(&sides[1], key, line_b);
}

/* ---- both sides ---- */

bool ms_compare_texts_are_equal(const char *a, const char *b) {
    for (int dimension = 0; dimension < MS_DIM_COUNT; dimension++) {
        const char *reason = NULL;
        double x = 0.0;
        double y = 0.0;
        if (ms_unit_parse(a, (ms_dimension)dimension, &x, &reason) == MS_OK &&
            ms_unit_parse(b, (ms_dimension)dimension, &y, &reason) == MS_OK) {
            return fabs(x - y) <= MS_COMPARE_NOISE * fabs(x);
        }
    }
    return strcmp(a, b) == 0;
}

/* Compare the texts of one key, and append the key to `differences` if they differ. Texts have no
 * relative difference, and inputs are not guarded.  a, b: NULL where a side lacks the key.
 * differences->items: with room for the keys of both sides. */
static void compare_key(ms_differences *differences, const char *key, const ms_value *a,
                        const ms_value *b) {
    differences->compared++;
    if (a == NULL || b == NULL || !ms_compare_texts_are_equal(a->as.string, b->as.string)) {
        differences->items[differences->count++] =
            (ms_difference){.key = key, .a = a, .b = b, .relative = INFINITY, .guard = -1};
    }
}

/* Compare the keys of both sides, those of the first side first. */
static ms_status compare_sides(const inputs sides[2], ms_arena *arena,
                               ms_differences *differences_out) {
    const ms_value *a = sides[0].texts;
    const ms_value *b = sides[1].texts;
    ms_differences differences = {.items = MS_NEW(arena, ms_difference, a->count + b->count)};
    if (differences.items == NULL) {
        return MS_E_NOMEM;
    }
    for (const ms_value *x = a->first; x != NULL; x = x->next) {
        compare_key(&differences, x->key, x, ms_value_get(b, x->key));
    }
    for (const ms_value *y = b->first; y != NULL; y = y->next) {
        if (ms_value_get(a, y->key) == NULL) {
            compare_key(&differences, y->key, NULL, y);
        }
    }
    *differences_out = differences;
    return MS_OK;
}

ms_status ms_compare_inputs(const ms_trace *a, const ms_trace *b, ms_arena *arena, ms_diag *diag,
                            ms_differences *differences_out) {
    inputs sides[2];
    ms_status status = collect(a, arena, diag, &sides[0]);
    if (status == MS_OK) {
        status = collect(b, arena, diag, &sides[1]);
    }
    if (status == MS_OK) {
        put_file("schedule.csv", a->inputs.schedule, b->inputs.schedule, sides);
        put_file("placement.csv", a->inputs.placement, b->inputs.placement, sides);
        status = sides[0].failed || sides[1].failed ? MS_E_NOMEM
                                                    : compare_sides(sides, arena, differences_out);
    }
    return status;
}
