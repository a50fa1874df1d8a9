/* Writes a struct back as a mapping, by the field table that reads it (ms_config_write): the
 * reverse of fields.c and values.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config/fields.h"

/* Room for a member of any type but MAP and NODE: the default of a field is read into it. */
typedef union any_member {
    int integer;
    double number;
    bool boolean;
    const char *text;
    unsigned flags;
    ms_ints ints;
    ms_numbers numbers;
    ms_words words;
} any_member;

/* A node as if it came from a file; NULL when memory runs out, also where `text` is NULL for a
 * scalar for that reason. */
static ms_node *new_node(ms_arena *arena, ms_node_type type, const char *text) {
    ms_node *node = MS_NEW(arena, ms_node, 1);
    if (node == NULL || (type == MS_NODE_SCALAR && text == NULL)) {
        return NULL;
    }
    *node = (ms_node){.type = type, .text = text, .origin = "file"};
    return node;
}

/* Whether a text is read back as the same string without quotes: a letter, then letters, digits and
 * characters of names. */
static bool is_name(const char *text) {
    static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static const char ALLOWED[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
    return text[0] != '\0' && strchr(LETTERS, text[0]) != NULL &&
           text[strspn(text, ALLOWED)] == '\0';
}

/* Make a scalar of a string, in quotes where it would else be read as another type. */
static ms_node *string_node(ms_arena *arena, const char *text) {
    ms_node *node = new_node(arena, MS_NODE_SCALAR, text);
    if (node != NULL) {
        node->is_quoted = !is_name(text) || ms_node_is_null(node);
    }
    return node;
}

/* Make a scalar of a number: the shortest decimal text, of 6 to 17 digits, that strtod reads back
 * as exactly this number. */
static ms_node *number_node(ms_arena *arena, const ms_field *field, double number) {
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        if (strtod(text, NULL) == number) {
            break;
        }
    }
    const char *unit = ms_unit_si(field->dimension);
    return new_node(arena, MS_NODE_SCALAR,
                    ms_arena_printf(arena, "%s%s%s", text, unit[0] == '\0' ? "" : " ", unit));
}

static ms_node *int_node(ms_arena *arena, int number) {
    return new_node(arena, MS_NODE_SCALAR, ms_arena_printf(arena, "%d", number));
}

/* Append an entry to a list under construction. A failed allocation of either makes *list NULL,
 * which it stays. */
static void add_entry(ms_node **list, ms_node *entry) {
    if (*list != NULL && entry != NULL) {
        ms_node_append(*list, entry);
    } else {
        *list = NULL;
    }
}

/* Make a sequence of integers. */
static ms_node *ints_node(ms_arena *arena, const ms_ints *values) {
    ms_node *list = new_node(arena, MS_NODE_SEQUENCE, NULL);
    for (size_t i = 0; i < values->count; i++) {
        add_entry(&list, int_node(arena, values->items[i]));
    }
    return list;
}

/* Make a sequence of numbers or quantities; a single one is written without brackets. */
static ms_node *numbers_node(ms_arena *arena, const ms_field *field, const ms_numbers *values) {
    if (values->count == 1) {
        return number_node(arena, field, values->items[0]);
    }
    ms_node *list = new_node(arena, MS_NODE_SEQUENCE, NULL);
    for (size_t i = 0; i < values->count; i++) {
        add_entry(&list, number_node(arena, field, values->items[i]));
    }
    return list;
}

/* Make a sequence of strings. */
static ms_node *words_node(ms_arena *arena, const ms_words *values) {
    ms_node *list = new_node(arena, MS_NODE_SEQUENCE, NULL);
    for (size_t i = 0; i < values->count; i++) {
        add_entry(&list, string_node(arena, values->items[i]));
    }
    return list;
}

/* Make a sequence of the words whose bits are set. */
static ms_node *flags_node(ms_arena *arena, const ms_field *field, unsigned flags) {
    ms_node *list = new_node(arena, MS_NODE_SEQUENCE, NULL);
    for (unsigned i = 0; field->words[i] != NULL; i++) {
        if ((flags >> i & 1U) != 0) {
            add_entry(&list, string_node(arena, field->words[i]));
        }
    }
    return list;
}

static ms_node *switch_node(ms_arena *arena, bool is_on) {
    return new_node(arena, MS_NODE_SCALAR, is_on ? "true" : "false");
}

/* Make a node of a member of any type but MAP; NULL when memory runs out. */
static ms_node *member_node(const ms_field *field, const void *member, ms_arena *arena) {
    switch (field->type) {
    case MS_FIELD_INT:
        return int_node(arena, *(const int *)member);
    case MS_FIELD_NUMBER:
    case MS_FIELD_QUANTITY:
        return number_node(arena, field, *(const double *)member);
    case MS_FIELD_BOOL:
        return switch_node(arena, *(const bool *)member);
    case MS_FIELD_SWITCH:
        return switch_node(arena, *(const int *)member == 1);
    case MS_FIELD_STRING:
        return string_node(arena, *(const char *const *)member);
    case MS_FIELD_ENUM:
        return string_node(arena, field->words[*(const int *)member]);
    case MS_FIELD_NODE:
        return ms_node_copy(*(const ms_node *const *)member, arena);
    case MS_FIELD_INTS:
        return ints_node(arena, member);
    case MS_FIELD_NUMBERS:
    case MS_FIELD_QUANTITIES:
        return numbers_node(arena, field, member);
    case MS_FIELD_WORDS:
        return words_node(arena, member);
    case MS_FIELD_FLAGS:
        return flags_node(arena, field, *(const unsigned *)member);
    case MS_FIELD_MAP:
        break;
    }
    return NULL;
}

/* Whether a member holds its field's default, which is the case if both are written alike.  node:
 * of the member, by member_node. */
static bool is_default(const ms_field *field, const ms_node *node, ms_arena *arena) {
    ms_diag silent;
    if (field->fallback == NULL) {
        return false;
    }
    any_member fallback;
    memset(&fallback, 0, sizeof fallback);
    ms_diag_init_stderr(&silent); /* prints nothing: ms_config_read has read the default before */
    ms_reading reading = {.arena = arena, .diag = &silent};
    const ms_path path = {.key = field->key};
    ms_field_read_fallback(&reading, field, &path, &fallback);
    return !reading.has_no_memory && ms_node_is_equal(node, member_node(field, &fallback, arena));
}

/* A key is left out where its member counts as not given, equals the default, or is a nested struct
 * without any key to write. */
ms_status ms_config_write(const ms_field *fields, const void *values, ms_arena *arena,
                          ms_node **mapping_out) {
    ms_node *mapping = new_node(arena, MS_NODE_MAPPING, NULL);
    for (const ms_field *field = fields; field->key != NULL && mapping != NULL; field++) {
        const void *member = (const char *)values + field->offset;
        if (!ms_field_is_given(field, member)) {
            continue;
        }
        ms_node *node = NULL;
        if (field->type == MS_FIELD_MAP) {
            if (ms_config_write(field->fields, member, arena, &node) != MS_OK) {
                return MS_E_NOMEM;
            }
            if (node->count == 0) { /* all its keys hold their defaults */
                continue;
            }
        } else {
            node = member_node(field, member, arena);
            if (is_default(field, node, arena)) {
                continue;
            }
        }
        if (node != NULL) {
            node->key = field->key;
        }
        add_entry(&mapping, node);
    }
    *mapping_out = mapping;
    return mapping == NULL ? MS_E_NOMEM : MS_OK;
}
