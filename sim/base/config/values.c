/* Reads single values and lists: converts the node of a key to the C type of the key's field and
 * checks its range (fields.h). fields.c, which walks through mappings, calls ms_field_read for each
 * key. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config/fields.h"

/* A node to be read: the row that it is read by, and its key path for messages. */
typedef struct value {
    ms_reading *reading;
    const ms_field *field;
    const ms_node *node;
    const ms_path *path;
} value;

/* Report "expected WHAT, got '...'" at a value. Returns false, for the reader to return. */
static bool refuse(const value *v, const char *expected) {
    char shown[MS_SHOWN_MAX + 8];
    bool is_text = v->node->type == MS_NODE_SCALAR && v->node->is_quoted;
    ms_reading_fault(v->reading, ms_node_fault_mark(v->node), v->path, "expected %s, got %s%s",
                     expected, ms_node_shown(v->node, shown), is_text ? " in quotes" : "");
    return false;
}

/* Write a bound of a field's range for a message: a quantity with its unit, a whole number without
 * exponent. */
static void show_bound(const ms_field *field, double bound, char *out, size_t size) {
    if (field->type == MS_FIELD_QUANTITY || field->type == MS_FIELD_QUANTITIES) {
        ms_unit_format(bound, field->dimension, out, size);
    } else if (fabs(bound) < 1e15 && bound == floor(bound)) {
        snprintf(out, size, "%.0f", bound);
    } else {
        snprintf(out, size, "%g", bound);
    }
}

/* The bounds as in ms_field: both 0 means no range, maximum < minimum no upper limit. */
bool ms_field_has_number(const ms_field *field, double number) {
    bool has_minimum = field->minimum != 0 || field->maximum != 0;
    bool has_maximum = has_minimum && field->maximum >= field->minimum;
    return !(has_minimum && number < field->minimum) && !(has_maximum && number > field->maximum);
}

void ms_field_range(const ms_field *field, char *out, size_t size) {
    char low[64];
    char high[64];
    show_bound(field, field->minimum, low, sizeof low);
    show_bound(field, field->maximum, high, sizeof high);
    /* a maximum that only guards against overflow is not worth showing */
    bool is_open = field->maximum < field->minimum || field->maximum >= 1e100 ||
                   (field->maximum == INT_MAX && field->type == MS_FIELD_INT);
    if (is_open && field->minimum > 0 && field->minimum < 1e-15) { /* stands for "positive" */
        snprintf(out, size, "more than 0");
    } else if (is_open) {
        snprintf(out, size, "at least %s", low);
    } else {
        snprintf(out, size, "%s to %s", low, high);
    }
}

/* Report a number outside the range of its field. Returns whether it is inside. */
static bool check_range(const value *v, double number) {
    if (ms_field_has_number(v->field, number)) {
        return true;
    }
    char range[160];
    ms_field_range(v->field, range, sizeof range);
    return refuse(v, range);
}

/* Whether a value is a scalar without quotes that is not null: only such a value can be a number,
 * true or false. */
static bool is_plain_scalar(const value *v) {
    return v->node->type == MS_NODE_SCALAR && !v->node->is_quoted && !ms_node_is_null(v->node);
}

/* ---- one value: each read_TYPE stores a value at `out`, whose C type ms_field_type names, and
 * returns false after reporting a fault ---- */

/* Read a whole number. It is not read as octal, so zeros in front are refused. */
static bool read_int(const value *v, void *out) {
    if (!is_plain_scalar(v)) {
        return refuse(v, "a whole number");
    }
    const char *text = v->node->text;
    const char *digits = text + (*text == '-' || *text == '+' ? 1 : 0);
    size_t length = strlen(digits);
    if (length == 0 || strspn(digits, "0123456789") != length) {
        return refuse(v, "a whole number");
    }
    if (length > 1 && digits[0] == '0') {
        return refuse(v, "a whole number without zeros in front");
    }
    errno = 0;
    long number = strtol(text, NULL, 10);
    if (errno != 0 || number > INT_MAX || number < INT_MIN) {
        return refuse(v, "a whole number of at most 2147483647");
    }
    if (!check_range(v, (double)number)) {
        return false;
    }
    *(int *)out = (int)number;
    return true;
}

/* Read a number without a unit, such as 0.5 or "5 %". */
static bool read_number(const value *v, void *out) {
    double number = 0;
    if (!is_plain_scalar(v) || ms_number_parse(v->node->text, &number) != MS_OK) {
        return refuse(v, "a number such as 0.5 or '5 %'");
    }
    if (!check_range(v, number)) {
        return false;
    }
    *(double *)out = number;
    return true;
}

/* Read a number with a unit. A list, mapping or empty value is reported with the reason that
 * ms_unit_parse has for an empty text, of which refuse() writes the word "expected" itself. */
static bool read_quantity(const value *v, void *out) {
    const char *reason = "";
    double number = 0;
    if (v->node->type != MS_NODE_SCALAR || ms_node_is_null(v->node)) {
        ms_unit_parse("", v->field->dimension, &number, &reason);
        return refuse(v, reason + strlen("expected "));
    }
    if (ms_unit_parse(v->node->text, v->field->dimension, &number, &reason) != MS_OK) {
        char shown[MS_SHOWN_MAX + 4];
        char text[512];
        ms_unit_explain(ms_shown(v->node->text, shown), v->field->dimension, text, sizeof text);
        ms_reading_fault(v->reading, &v->node->mark, v->path, "%s", text);
        return false;
    }
    if (!check_range(v, number)) {
        return false;
    }
    *(double *)out = number;
    return true;
}

/* Read the word true or false, which must not be in quotes. */
static bool read_bool(const value *v, void *out) {
    bool is_true = v->node->type == MS_NODE_SCALAR && strcmp(v->node->text, "true") == 0;
    bool is_false = v->node->type == MS_NODE_SCALAR && strcmp(v->node->text, "false") == 0;
    if (!is_plain_scalar(v) || (!is_true && !is_false)) {
        return refuse(v, "true or false");
    }
    *(bool *)out = is_true;
    return true;
}

/* Read a bool into an int, whose default can also mean "not given". */
static bool read_switch(const value *v, void *out) {
    bool is_on = false;
    if (!read_bool(v, &is_on)) {
        return false;
    }
    *(int *)out = is_on ? 1 : 0;
    return true;
}

/* Read a string: any scalar but null, in quotes or not. */
static bool read_string(const value *v, void *out) {
    if (v->node->type != MS_NODE_SCALAR || ms_node_is_null(v->node)) {
        return refuse(v, "a text");
    }
    *(const char **)out = v->node->text;
    return true;
}

void ms_field_words(const ms_field *field, char *out, size_t size) {
    size_t length = 0;
    out[0] = '\0';
    for (size_t i = 0; field->words[i] != NULL && length < size; i++) {
        const char *joint = i == 0 ? "" : field->words[i + 1] == NULL ? " or " : ", ";
        length += (size_t)snprintf(out + length, size - length, "%s%s", joint, field->words[i]);
    }
}

/* Report a value that is none of a field's words, with the nearest word.  count: words of the
 * field. Returns false. */
static bool refuse_word(const value *v, size_t count) {
    char list[MS_WORD_LIST_MAX];
    char shown[MS_SHOWN_MAX + 8];
    ms_field_words(v->field, list, sizeof list);
    bool has_word = v->node->type == MS_NODE_SCALAR && *v->node->text != '\0';
    ms_reading_fault(v->reading, ms_node_fault_mark(v->node), v->path, "expected %s%s, got %s%s",
                     count > 1 ? "one of " : "", list, ms_node_shown(v->node, shown),
                     ms_nearest_hint(has_word ? v->node->text : NULL, v->field->words, count).text);
    return false;
}

/* Index of the word of the field that a scalar equals; SIZE_MAX: none.  *count_out: number of words
 * of the field. */
static size_t find_word(const value *v, size_t *count_out) {
    size_t found = SIZE_MAX;
    *count_out = 0;
    for (; v->field->words[*count_out] != NULL; (*count_out)++) {
        const char *word = v->field->words[*count_out];
        if (v->node->type == MS_NODE_SCALAR && strcmp(word, v->node->text) == 0) {
            found = *count_out;
        }
    }
    return found;
}

/* Read one of the field's words, and store its index. */
static bool read_enum(const value *v, void *out) {
    size_t count = 0;
    size_t found = find_word(v, &count);
    if (found == SIZE_MAX) {
        return refuse_word(v, count);
    }
    *(int *)out = (int)found;
    return true;
}

/* A type of list: how one entry is read, and how messages describe the list. */
typedef struct list_kind {
    size_t item_B;
    bool (*read_item)(const value *v, void *item);
    bool takes_single; /* a lone value stands for a list of one */
    const char *expected;
} list_kind;

/* Read an entry of a list of flags, and store the bit of its word. */
static bool read_flag_item(const value *v, void *item) {
    int index = 0;
    if (!read_enum(v, &index)) {
        return false;
    }
    *(unsigned *)item = 1U << (unsigned)index;
    return true;
}

static const list_kind INTS = {sizeof(int), read_int, false,
                               "a list of whole numbers such as [1, 2]"};
static const list_kind NUMBERS = {sizeof(double), read_number, true,
                                  "a number or a list of numbers"};
static const list_kind QUANTITIES = {sizeof(double), read_quantity, true,
                                     "a value with a unit or a list of them"};
static const list_kind WORDS = {sizeof(const char *), read_string, false,
                                "a list of words such as [a, b]"};
static const list_kind FLAGS = {sizeof(unsigned), read_flag_item, false,
                                "a list of words such as [a, b]"};

/* Read the entries of a list into the arena. All entries are read, so that each fault is reported.
 * *count_out: number of entries.  Returns the entries; NULL after a fault or without memory. */
static void *read_list(const value *v, const list_kind *kind, size_t *count_out) {
    bool is_single = kind->takes_single && v->node->type == MS_NODE_SCALAR;
    if (v->node->type != MS_NODE_SEQUENCE && !is_single) {
        refuse(v, kind->expected);
        return NULL;
    }
    size_t count = is_single ? 1 : v->node->count;
    char *items = ms_arena_alloc(v->reading->arena, count, kind->item_B);
    if (items == NULL) {
        v->reading->has_no_memory = true;
        return NULL;
    }
    bool is_good = true;
    if (is_single) {
        is_good = kind->read_item(v, items);
    }
    const ms_node *child = v->node->first;
    for (size_t i = 0; child != NULL; i++, child = child->next) {
        ms_path path = {.parent = v->path, .index = i};
        value entry = {v->reading, v->field, child, &path};
        is_good = kind->read_item(&entry, items + i * kind->item_B) && is_good;
    }
    *count_out = count;
    return is_good ? items : NULL;
}

/* The members that ms_ints, ms_numbers and ms_words have in common. */
typedef struct any_list {
    void *items;
    size_t count;
} any_list;

_Static_assert(sizeof(any_list) == sizeof(ms_ints) && sizeof(any_list) == sizeof(ms_numbers) &&
                   sizeof(any_list) == sizeof(ms_words),
               "every list is a pointer to its entries and their count");

/* Read a list into a member of type ms_ints, ms_numbers or ms_words. */
static void read_entries(const value *v, const list_kind *kind, void *member) {
    any_list list = {.count = 0};
    list.items = read_list(v, kind, &list.count);
    if (list.items != NULL) {
        memcpy(member, &list, sizeof list);
    }
}

/* Read a list of the field's words, and store the union of their bits. */
static bool read_flags(const value *v, void *out) {
    size_t count = 0;
    const unsigned *items = read_list(v, &FLAGS, &count);
    if (items == NULL) {
        return false;
    }
    unsigned flags = 0;
    for (size_t i = 0; i < count; i++) {
        flags |= items[i];
    }
    *(unsigned *)out = flags;
    return true;
}

/* Store the node itself, for code that reads it later. */
static bool read_node(const value *v, void *out) {
    if (ms_node_is_null(v->node)) {
        return refuse(v, "a value");
    }
    *(const ms_node **)out = v->node;
    return true;
}

/* The reader is chosen by the type of the field: one for lists, one for single values. */
void ms_field_read(ms_reading *reading, const ms_field *field, const ms_node *node,
                   const ms_path *path, void *member) {
    static bool (*const READ_ONE[])(const value *v, void *out) = {
        [MS_FIELD_INT] = read_int,           [MS_FIELD_NUMBER] = read_number,
        [MS_FIELD_QUANTITY] = read_quantity, [MS_FIELD_BOOL] = read_bool,
        [MS_FIELD_STRING] = read_string,     [MS_FIELD_ENUM] = read_enum,
        [MS_FIELD_NODE] = read_node,         [MS_FIELD_FLAGS] = read_flags,
        [MS_FIELD_SWITCH] = read_switch,
    };
    static const list_kind *const LISTS[] = {
        [MS_FIELD_INTS] = &INTS,
        [MS_FIELD_NUMBERS] = &NUMBERS,
        [MS_FIELD_QUANTITIES] = &QUANTITIES,
        [MS_FIELD_WORDS] = &WORDS,
        [MS_FIELD_SWITCH] = NULL, /* the last type: the array has an element for every type */
    };
    const value v = {reading, field, node, path};
    if (LISTS[field->type] != NULL) {
        read_entries(&v, LISTS[field->type], member);
    } else if (field->type != MS_FIELD_MAP) { /* a mapping is read by its own table */
        READ_ONE[field->type](&v, member);
    }
}
