/* Lists all keys of field tables with their defaults and allowed values, for `check --keys`
 * (ms_config_write_keys). */

#include "base/config/fields.h"

/* Append the word for a type of number, and its range if it has one. */
static void add_numbers(const ms_field *field, const char *kind, ms_buffer *out) {
    char range[160];
    ms_field_range(field, range, sizeof range);
    bool is_limited = field->minimum != 0 || field->maximum != 0;
    ms_buffer_printf(out, "%s%s%s", kind, is_limited ? ", " : "", is_limited ? range : "");
}

/* Append the allowed words of a field. */
static void add_words(const ms_field *field, const char *before, ms_buffer *out) {
    char words[MS_WORD_LIST_MAX];
    ms_field_words(field, words, sizeof words);
    ms_buffer_printf(out, "%s%s", before, words);
}

/* Append the kind of values that a key allows, such as "count, 1 to 64". */
static void add_kind(const ms_field *field, ms_buffer *out) {
    static const char *const KINDS[] = {
        [MS_FIELD_INT] = "count",
        [MS_FIELD_INTS] = "list of counts",
        [MS_FIELD_NUMBER] = "number",
        [MS_FIELD_NUMBERS] = "number or list",
        [MS_FIELD_QUANTITY] = "with unit",
        [MS_FIELD_QUANTITIES] = "with unit, or list",
        [MS_FIELD_BOOL] = "true or false",
        [MS_FIELD_SWITCH] = "true or false",
        [MS_FIELD_STRING] = "text",
        [MS_FIELD_WORDS] = "list of words",
        [MS_FIELD_ENUM] = "",
        [MS_FIELD_FLAGS] = "list of ",
        [MS_FIELD_NODE] = "text or list",
        [MS_FIELD_MAP] = "mapping",
    };
    if (field->fields != NULL) {
        ms_buffer_puts(out, KINDS[MS_FIELD_MAP]);
    } else if (field->words != NULL) {
        add_words(field, KINDS[field->type], out);
    } else {
        add_numbers(field, KINDS[field->type], out);
    }
}

/* Append a line for each key of a table, and after that of a mapping the lines of its keys. */
static void add_keys(const ms_field *fields, const ms_path *path, ms_buffer *out) {
    for (const ms_field *field = fields; field->key != NULL; field++) {
        ms_path below = {.parent = path, .key = field->key};
        char text[MS_PATH_MAX];
        const char *shown_default = field->fallback == NULL      ? ""
                                    : field->fallback[0] == '\0' ? "\"\""
                                                                 : field->fallback;
        ms_buffer_printf(out, "%s =%s%s  # %s", ms_path_text(&below, text),
                         shown_default[0] == '\0' ? "" : " ", shown_default,
                         field->is_required ? "required, " : "");
        add_kind(field, out);
        ms_buffer_printf(out, "%s%s\n", field->help == NULL ? "" : ": ",
                         field->help == NULL ? "" : field->help);
        if (field->fields != NULL) {
            add_keys(field->fields, &below, out);
        }
    }
}

void ms_config_write_keys(const ms_field *fields, const char *key_path, ms_buffer *out) {
    ms_path path = {.key = key_path};
    add_keys(fields, &path, out);
}
