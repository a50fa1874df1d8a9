/* Checks structs against their field tables: whether members were given, and whether they are in
 * range (ms_config_check, for structs that ms_config_read did not fill). Also compares two trees of
 * nodes. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/config/fields.h"

static bool are_complete(const ms_field *fields, const void *values);

/* Whether a number was given: one below the minimum of its field stands for "not given". Written
 * with ! so that NaN counts as given, and is then found to be out of range. */
static bool is_number_given(const ms_field *field, double number) {
    bool has_minimum = field->minimum != 0 || field->maximum != 0;
    return !has_minimum || !(number < field->minimum);
}

/* Each type has a value that stands for "not given": a number below the field's minimum, a negative
 * index, NULL, or an empty list. A bool has none, and always counts as given. */
bool ms_field_is_given(const ms_field *field, const void *member) {
    switch (field->type) {
    case MS_FIELD_INT:
        return is_number_given(field, *(const int *)member);
    case MS_FIELD_NUMBER:
    case MS_FIELD_QUANTITY:
        return is_number_given(field, *(const double *)member);
    case MS_FIELD_ENUM:
    case MS_FIELD_SWITCH:
        return *(const int *)member >= 0;
    case MS_FIELD_STRING:
        return *(const char *const *)member != NULL;
    case MS_FIELD_NODE:
        return *(const ms_node *const *)member != NULL;
    case MS_FIELD_INTS:
        return ((const ms_ints *)member)->count > 0;
    case MS_FIELD_NUMBERS:
    case MS_FIELD_QUANTITIES:
        return ((const ms_numbers *)member)->count > 0;
    case MS_FIELD_WORDS:
        return ((const ms_words *)member)->count > 0;
    case MS_FIELD_FLAGS:
        return *(const unsigned *)member != 0;
    case MS_FIELD_MAP:
        return are_complete(field->fields, member);
    case MS_FIELD_BOOL: /* every bool is a value */
        break;
    }
    return true;
}

/* The member of a struct that a field describes. */
static const void *member_of(const ms_field *field, const void *values) {
    return (const char *)values + field->offset;
}

/* Whether a struct has all members that its table requires; ms_field_is_given calls this for nested
 * structs. */
static bool are_complete(const ms_field *fields, const void *values) {
    for (const ms_field *field = fields; field->key != NULL; field++) {
        if (field->is_required && !ms_field_is_given(field, member_of(field, values))) {
            return false;
        }
    }
    return true;
}

static bool are_texts_equal(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Compares recursively, child by child, in order. */
bool ms_node_is_equal(const ms_node *a, const ms_node *b) {
    if (a == NULL || b == NULL || a->type != b->type || a->count != b->count ||
        !are_texts_equal(a->text, b->text) || a->is_quoted != b->is_quoted) {
        return a == b;
    }
    const ms_node *other = b->first;
    for (const ms_node *child = a->first; child != NULL; child = child->next) {
        if (!are_texts_equal(child->key, other->key) || !ms_node_is_equal(child, other)) {
            return false;
        }
        other = other->next;
    }
    return true;
}

/* The state of one check. */
typedef struct member_check {
    const ms_node *root;
    ms_diag *diag;
    bool has_fault;
} member_check;

/* Report a fault of a member, at its key in the document where it has one. */
static void report_fault(member_check *check, const ms_path *path, const char *text) {
    char key_path[MS_PATH_MAX];
    ms_path_text(path, key_path);
    ms_config_fault(check->diag, ms_node_at(check->root, key_path, NULL), key_path, "%s", text);
    check->has_fault = true;
}

/* Check that a number is finite and in the range of its field. */
static void check_number(member_check *check, const ms_field *field, const ms_path *path,
                         double number) {
    if (isfinite(number) && ms_field_has_number(field, number)) {
        return;
    }
    char range[160];
    char text[224];
    ms_field_range(field, range, sizeof range);
    snprintf(text, sizeof text, "expected %s, got '%g'", range, number);
    report_fault(check, path, text);
}

/* Check all numbers of a member; members of other types pass. */
static void check_numbers(member_check *check, const ms_field *field, const ms_path *path,
                          const void *member) {
    if (field->type == MS_FIELD_INT) {
        check_number(check, field, path, *(const int *)member);
    } else if (field->type == MS_FIELD_NUMBER || field->type == MS_FIELD_QUANTITY) {
        check_number(check, field, path, *(const double *)member);
    } else if (field->type == MS_FIELD_INTS) {
        const ms_ints *list = member;
        for (size_t i = 0; i < list->count; i++) {
            check_number(check, field, path, list->items[i]);
        }
    } else if (field->type == MS_FIELD_NUMBERS || field->type == MS_FIELD_QUANTITIES) {
        const ms_numbers *list = member;
        for (size_t i = 0; i < list->count; i++) {
            check_number(check, field, path, list->items[i]);
        }
    }
}

/* Check that an enumeration is the index of a word of its field, and that flags are bits of
 * words. */
static void check_words(member_check *check, const ms_field *field, const ms_path *path,
                        const void *member) {
    unsigned count = 0;
    while (field->words != NULL && field->words[count] != NULL) {
        count++;
    }
    if (field->type == MS_FIELD_ENUM && *(const unsigned *)member >= count) {
        report_fault(check, path, "is none of the words that this key takes");
    } else if (field->type == MS_FIELD_FLAGS && *(const unsigned *)member >> count != 0) {
        report_fault(check, path, "has more than the words that this key takes");
    }
}

/* Check all members of a struct, nested structs included.  parent: key path of the struct. */
static void check_members(member_check *check, const ms_field *fields, const void *values,
                          const ms_path *parent) {
    for (const ms_field *field = fields; field->key != NULL; field++) {
        const void *member = member_of(field, values);
        ms_path path = {.parent = parent, .key = field->key};
        if (!ms_field_is_given(field, member)) {
            bool is_needed = field->is_required || field->fallback != NULL;
            /* an empty list of words is a value: it is also what [] gives */
            if (is_needed && field->type != MS_FIELD_WORDS && field->type != MS_FIELD_FLAGS) {
                report_fault(check, &path,
                             "this key is required, and its value says that it is not given");
            }
        } else if (field->type == MS_FIELD_MAP) {
            check_members(check, field->fields, member, &path);
        } else {
            check_numbers(check, field, &path, member);
            check_words(check, field, &path, member);
        }
    }
}

ms_status ms_config_check(const ms_field *fields, const void *values, const char *key_path,
                          const ms_node *root, ms_diag *diag) {
    member_check check = {.root = root, .diag = diag};
    ms_path path = {.key = key_path};
    check_members(&check, fields, values, &path);
    return check.has_fault ? MS_E_INPUT : MS_OK;
}
