/* Lists the values of a key, from a list or a range {from, to, step or factor}, and writes each as
 * `--set` takes it (values.h). Sweeps and spaces use it. */
#include "search/sweep/values.h"

#include <stdlib.h>
#include <string.h>

/* Share of a range's end by which a value may be above the end: repeated steps are rounded, and the
 * last value must not be lost. */
static const double ROUNDING = 1e-9;

/* ---- texts ---- */

/* Write a value in one line of YAML (flow style). Keys are always quoted. A text is quoted where
 * the user quoted it and, inside a list or a mapping, where it has a comma or a bracket, at which
 * YAML would end it. An empty text without quotes is null. is_inner: the value is inside a list or
 * a mapping. */
static void write_flow(const ms_node *node, bool is_inner, ms_buffer *out) {
    const char *ends = node->type == MS_NODE_SEQUENCE ? "[]" : "{}";
    if (node->type == MS_NODE_SCALAR) {
        if (node->is_quoted || (is_inner && strpbrk(node->text, ",[]{}") != NULL)) {
            ms_yaml_write_quoted(node->text, out);
        } else {
            ms_buffer_puts(out, node->text[0] == '\0' ? "null" : node->text);
        }
        return;
    }
    ms_buffer_add(out, &ends[0], 1);
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        ms_buffer_puts(out, child == node->first ? "" : ", ");
        if (child->key != NULL) {
            ms_yaml_write_quoted(child->key, out);
            ms_buffer_puts(out, ": ");
        }
        write_flow(child, true, out);
    }
    ms_buffer_add(out, &ends[1], 1);
}

const char *ms_sweep_value_text(const ms_node *value, ms_arena *arena) {
    ms_buffer text;
    ms_buffer_init(&text);
    write_flow(value, false, &text);
    return ms_buffer_keep(&text, arena);
}

/* ---- ranges ---- */

/* Keys of a range as texts, each a number and perhaps a unit; NULL: not given. */
typedef struct range_text {
    const char *from, *to, *step, *factor;
} range_text;

static const ms_field RANGE_FIELDS[] = {
    MS_KEY("from", "first value, with its unit where the key has one", STRING,
           offsetof(range_text, from), .is_required = true),
    MS_KEY("to", "the last value is not above it; in the unit of the first", STRING,
           offsetof(range_text, to), .is_required = true),
    MS_KEY("step", "each value is so much above the one before; in the unit of the first", STRING,
           offsetof(range_text, step)),
    MS_KEY("factor", "each value is so many times the one before", STRING,
           offsetof(range_text, factor)),
    {.key = NULL},
};

static const ms_field VALUE_ROW = MS_KEY("value", NULL, NODE, 0);
static const ms_field_shape LIST = {.item = &VALUE_ROW};
static const ms_field LIST_ROW = MS_KEY("values", NULL, NODE, 0, .shape = &LIST);
static const ms_field_shape VALUES = {.also = &LIST_ROW};

const ms_field MS_SWEEP_VALUES_ROW =
    MS_KEY("values", "a list of values, or a range {from, to, step or factor}", NODE, 0,
           .fields = RANGE_FIELDS, .shape = &VALUES);

/* A number with its unit. */
typedef struct range_end {
    double number;
    const char *unit;
} range_end;

/* Split a number with a unit, such as "25 GB/s". Returns false for a text that does not begin with
 * a number, and for NULL. *out: borrows the unit from the text; "" without one. */
static bool split_unit(const char *text, ms_arena *arena, range_end *out) {
    *out = (range_end){0, ""};
    if (text == NULL) {
        return false;
    }
    size_t length = strspn(text, "+-0123456789.");
    bool has_exponent = (text[length] == 'e' || text[length] == 'E') &&
                        strspn(text + length + 1, "+-0123456789") > 0;
    length += has_exponent ? 1 + strspn(text + length + 1, "+-0123456789") : 0;
    const char *digits = ms_arena_strndup(arena, text, length);
    out->unit = text + length + strspn(text + length, " ");
    return digits != NULL && ms_number_parse(digits, &out->number) == MS_OK;
}

/* A range as numbers, `r` in this file. */
typedef struct range {
    range_end from, to;
    double by;      /* factor or step from one value to the next, the step in the unit of `from` */
    bool is_factor; /* `by` is a factor */
} range;

/* Whether the values of a range grow and its end is not below its start, so that the list of values
 * is finite. */
static bool is_rising(const range *r) {
    bool grows = r->is_factor ? r->by > 1 && r->from.number > 0 : r->by > 0;
    return grows && r->to.number >= r->from.number;
}

/* Read a range and check it: either a step or a factor, one unit, rising values. path: of the key,
 * for messages. Returns MS_OK; MS_E_INPUT (reported); MS_E_NOMEM (reported). */
static ms_status read_range(const ms_node *node, const char *path, ms_arena *arena, ms_diag *diag,
                            range *out) {
    range_text text = {NULL, NULL, NULL, NULL};
    ms_status status = ms_config_read(node, RANGE_FIELDS, path, &text, arena, diag);
    if (status != MS_OK) {
        return status;
    }
    if ((text.step == NULL) == (text.factor == NULL)) {
        return ms_config_fault(diag, node, path, "expected either 'step' or 'factor', got %s",
                               text.step == NULL ? "neither" : "both");
    }
    range_end by = {0, ""};
    out->is_factor = text.factor != NULL;
    bool is_read = split_unit(text.from, arena, &out->from) &&
                   split_unit(text.to, arena, &out->to) &&
                   split_unit(out->is_factor ? text.factor : text.step, arena, &by);
    if (!is_read) {
        return ms_config_fault(diag, node, path, "expected numbers such as 2 or '25 GB/s'");
    }
    const char *unit = out->is_factor ? "" : out->from.unit;
    if (strcmp(out->from.unit, out->to.unit) != 0 || strcmp(by.unit, unit) != 0) {
        return ms_config_fault(diag, node, path, "expected one unit, got '%s', '%s' and '%s'",
                               out->from.unit, out->to.unit, by.unit);
    }
    out->by = by.number;
    if (!is_rising(out)) {
        return ms_config_fault(diag, node, path,
                               "expected values that grow from '%s' to '%s', by %s", text.from,
                               text.to, out->is_factor ? "a factor above 1" : "a step above 0");
    }
    return MS_OK;
}

/* List the values of a range as texts with their unit. *values_out: in `arena`. Returns as
 * read_range; MS_E_INPUT (reported) for more than MS_SWEEP_VALUES_MAX values. */
static ms_status list_range(const ms_node *node, const char *path, ms_arena *arena, ms_diag *diag,
                            ms_words *values_out) {
    range r = {.from = {0, ""}, .to = {0, ""}};
    ms_status status = read_range(node, path, arena, diag, &r);
    const char **items = MS_NEW(arena, const char *, MS_SWEEP_VALUES_MAX);
    if (status != MS_OK || items == NULL) {
        return status != MS_OK ? status : ms_diag_no_memory(diag);
    }
    size_t count = 0;
    double value = r.from.number;
    for (; value <= r.to.number * (1 + ROUNDING) && count < MS_SWEEP_VALUES_MAX; count++) {
        items[count] = ms_arena_printf(arena, "%.12g%s%s", value, r.from.unit[0] == '\0' ? "" : " ",
                                       r.from.unit);
        if (items[count] == NULL) {
            return ms_diag_no_memory(diag);
        }
        /* steps are multiplied, not added up, so that their rounding does not grow */
        value = r.is_factor ? value * r.by : r.from.number + r.by * (double)(count + 1);
    }
    if (value <= r.to.number * (1 + ROUNDING)) {
        return ms_config_fault(diag, node, path, "expected at most %d values, got a range of more",
                               MS_SWEEP_VALUES_MAX);
    }
    *values_out = (ms_words){.items = items, .count = count};
    return MS_OK;
}

/* Report a node that is neither a list of values nor a range. */
static ms_status fault_list(const ms_node *node, const char *path, ms_diag *diag) {
#define EXPECTED "expected a list of 1 to %d values, or a range {from: 1, to: 8, factor: 2}, got "
    if (node->type == MS_NODE_SEQUENCE) {
        return ms_config_fault(diag, node, path, EXPECTED "%zu", MS_SWEEP_VALUES_MAX, node->count);
    }
    if (node->text[0] == '\0') {
        return ms_config_fault(diag, node, path, EXPECTED "nothing", MS_SWEEP_VALUES_MAX);
    }
    return ms_config_fault(diag, node, path, EXPECTED "'%s'", MS_SWEEP_VALUES_MAX, node->text);
#undef EXPECTED
}

/* A mapping is a range, a sequence a list of values; any other node is a fault. */
ms_status ms_sweep_list_values(const ms_node *node, const char *path, ms_arena *arena,
                               ms_diag *diag, ms_words *values_out) {
    if (node->type == MS_NODE_MAPPING) {
        return list_range(node, path, arena, diag, values_out);
    }
    if (node->type != MS_NODE_SEQUENCE || node->count == 0 || node->count > MS_SWEEP_VALUES_MAX) {
        return fault_list(node, path, diag);
    }
    const char **items = MS_NEW(arena, const char *, node->count);
    size_t count = 0;
    for (const ms_node *child = node->first; child != NULL && items != NULL; child = child->next) {
        items[count++] = ms_sweep_value_text(child, arena);
    }
    if (arena->has_failed) {
        return ms_diag_no_memory(diag);
    }
    *values_out = (ms_words){.items = items, .count = count};
    return MS_OK;
}
