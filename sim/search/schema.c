/* Makes JSON Schemas from the tables that files are read by (ms_field), so that editors can check a
 * file while it is typed. A row of a table is one key; its type and, where the type is not enough,
 * its shape (ms_field_shape) say how the value is written. In this file `out` is the schema object
 * that is filled in, `path` the dotted path of its key, and a "way" one of several forms of a value
 * ("anyOf"). Words: JSON Schema, draft 2020-12. Decisions: schema.md. */
#include "search/schema.h"

#include <math.h>
#include <string.h>

#include "cluster/platform/platform.h"
#include "job/spec.h"
#include "search/space.h"
#include "search/sweep.h"

/* A number as ms_number_parse and ms_unit_parse take it, without its sign. */
#define DIGITS "([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?"

/* The state of making one schema, `s` in this file. */
typedef struct schema {
    ms_arena *arena;
    ms_diag *diag;
    ms_status status; /* first failure of a table's default */
    bool is_profile; /* of a framework's profile: keys that only a workload may have are left out */
} schema;

/* Whether the required keys of a mapping are required by the schema. */
typedef enum asks {
    ASKS_ALL,     /* they are */
    ASKS_NOTHING, /* they are not, because another file may give them */
} asks;

static void add_row(schema *s, ms_value *out, const ms_field *field, const char *path, asks what);
static void add_needs(ms_value *out, const ms_field *fields, const ms_field_shape *shape);

/* The shape of a row that has none. */
static const ms_field_shape PLAIN = {.also = NULL};

/* The shape of a row; an empty one where the row's type says all. */
static const ms_field_shape *shape_of(const ms_field *field) {
    return field->shape == NULL ? &PLAIN : field->shape;
}

/* The dotted path of a key; "" where memory ran out. */
static const char *path_below(schema *s, const char *path, const char *key) {
    const char *below = ms_arena_printf(s->arena, "%s%s%s", path, path[0] == '\0' ? "" : ".", key);
    return below == NULL ? "" : below;
}

/* Add a text that was made in the arena. made: NULL if memory ran out, which the arena knows:
 * nothing is added. */
static void add_made(ms_value *out, const char *key, const char *made) {
    if (made != NULL) {
        ms_value_add_string(out, key, made);
    }
}

/* ---- single values ---- */

/* Add a number, such as a limit or a default, written as a whole number (1, not 1.0) where it is
 * one that a double holds exactly. */
static void add_bound(ms_value *out, const char *key, double bound) {
    if (bound == floor(bound) && fabs(bound) < 1e15) {
        ms_value_add_int(out, key, (int64_t)bound);
    } else {
        ms_value_add_double(out, key, bound);
    }
}

/* Add the range that a row allows (ms_field: both limits 0: any number; maximum below minimum: no
 * upper limit). A maximum from 1e100 on means no limit, too. */
static void add_range(ms_value *out, const ms_field *field) {
    bool is_limited = field->minimum != 0 || field->maximum != 0;
    if (is_limited) {
        add_bound(out, "minimum", field->minimum);
    }
    if (is_limited && field->maximum >= field->minimum && field->maximum < 1e100) {
        add_bound(out, "maximum", field->maximum);
    }
}

/* Add the schema of a number without a unit: as such, or as a text with a percent sign ("5 %"). */
static void add_number(ms_value *out, const ms_field *field) {
    ms_value *ways = ms_value_add(out, "anyOf", MS_VALUE_ARRAY);
    ms_value *number = ms_value_add(ways, NULL, MS_VALUE_OBJECT);
    ms_value_add_string(number, "type", "number");
    add_range(number, field);
    ms_value *share = ms_value_add(ways, NULL, MS_VALUE_OBJECT);
    ms_value_add_string(share, "type", "string");
    ms_value_add_string(share, "pattern", "^[-+]?" DIGITS "[ \\t]*%$");
}

/* Add the schema of a number with its unit, as a text. A schema cannot express the range of such a
 * text, so the description has it. */
static void add_quantity(schema *s, ms_value *out, const ms_field *field) {
    char units[256];
    ms_unit_names(field->dimension, "|", units, sizeof units);
    ms_value_add_string(out, "type", "string");
    add_made(out, "pattern",
             ms_arena_printf(s->arena, "^[ \\t]*[-+]?" DIGITS "[ \\t]*(%s)[ \\t]*$", units));
    ms_value *examples = ms_value_add(out, "examples", MS_VALUE_ARRAY);
    ms_value_add_string(examples, NULL, ms_unit_example(field->dimension));
}

/* Add the schema of a text that is one of some words. words: ends with NULL. */
static void add_words(ms_value *out, const char *const *words) {
    ms_value *list = ms_value_add(out, "enum", MS_VALUE_ARRAY);
    for (; *words != NULL; words++) {
        ms_value_add_string(list, NULL, *words);
    }
}

/* Add the schema of any scalar: to YAML a text may look like a number or a truth value, such as a
 * name `405`. */
static void add_any_scalar(ms_value *out) {
    ms_value *types = ms_value_add(out, "type", MS_VALUE_ARRAY);
    ms_value_add_string(types, NULL, "string");
    ms_value_add_string(types, NULL, "number");
    ms_value_add_string(types, NULL, "boolean");
}

/* Add the schema of a text: any text or, if the shape has a list of names, one of the names or a
 * text with the shape's prefix. */
static void add_text(schema *s, ms_value *out, const ms_field *field) {
    const ms_field_shape *shape = shape_of(field);
    if (shape->name == NULL) {
        add_any_scalar(out);
        return;
    }
    ms_value *ways = ms_value_add(out, "anyOf", MS_VALUE_ARRAY);
    ms_value *list =
        ms_value_add(ms_value_add(ways, NULL, MS_VALUE_OBJECT), "enum", MS_VALUE_ARRAY);
    for (int i = 0; shape->name(i) != NULL; i++) {
        ms_value_add_string(list, NULL, shape->name(i));
    }
    if (shape->prefix != NULL) {
        ms_value *other = ms_value_add(ways, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(other, "type", "string");
        add_made(other, "pattern", ms_arena_printf(s->arena, "^%s.", shape->prefix));
    }
}

/* ---- mappings ---- */

/* Add a property for each row of a table. Rows of keys that are there already, and in a profile
 * keys that only a workload may have, are left out. fields: NULL: none. */
static void add_properties(schema *s, ms_value *properties, const ms_field *fields,
                           const char *path, asks what) {
    for (const ms_field *field = fields; field != NULL && field->key != NULL; field++) {
        const char *below = path_below(s, path, field->key);
        if (ms_value_get(properties, field->key) == NULL && !(s->is_profile && field->is_of_job)) {
            add_row(s, ms_value_add(properties, field->key, MS_VALUE_OBJECT), field, below, what);
        }
    }
}

/* The row of a key whose file may give all other keys of the table (such as `base`); NULL: there is
 * none. */
static const ms_field *find_rest(const ms_field *fields) {
    for (const ms_field *field = fields; field != NULL && field->key != NULL; field++) {
        if (field->gives_rest) {
            return field;
        }
    }
    return NULL;
}

/* Add the list of required keys of a table, if it has any: keys that no framework may give. */
static void add_required(ms_value *out, const ms_field *fields) {
    ms_value *list = NULL;
    for (const ms_field *field = fields; field != NULL && field->key != NULL; field++) {
        if (field->is_required && !field->is_choice) {
            list = list == NULL ? ms_value_add(out, "required", MS_VALUE_ARRAY) : list;
            ms_value_add_string(list, NULL, field->key);
        }
    }
}

/* Require one key. */
static void add_required_key(ms_value *out, const char *key) {
    ms_value_add_string(ms_value_add(out, "required", MS_VALUE_ARRAY), NULL, key);
}

/* Add the required keys of the mappings inside a mapping, at any depth, without saying again how
 * values are written. */
static void add_needs_below(ms_value *out, const ms_field *fields, const ms_field_shape *shape) {
    ms_value *properties = ms_value_add(out, "properties", MS_VALUE_OBJECT);
    for (const ms_field *field = fields; field != NULL && field->key != NULL; field++) {
        const ms_field_shape *below = shape_of(field);
        if (field->fields != NULL || below->each != NULL || below->variant != NULL) {
            add_needs(ms_value_add(properties, field->key, MS_VALUE_OBJECT), field->fields, below);
        }
    }
    if (shape->each != NULL) {
        add_needs(ms_value_add(out, "additionalProperties", MS_VALUE_OBJECT), shape->each->fields,
                  shape_of(shape->each));
    }
}

/* Add the required keys of a mapping and of the mappings inside it. Where a file may give the rest
 * of the keys, either the key that names the file is required, or all others are. */
static void add_needs(ms_value *out, const ms_field *fields, const ms_field_shape *shape) {
    const ms_field *rest = find_rest(fields);
    if (shape->file_key != NULL || shape->variant != NULL) {
        add_required_key(out, shape->variant != NULL ? "kind" : shape->file_key);
        return;
    }
    ms_value *all = out;
    if (rest != NULL) {
        ms_value *ways = ms_value_add(out, "anyOf", MS_VALUE_ARRAY);
        add_required_key(ms_value_add(ways, NULL, MS_VALUE_OBJECT), rest->key);
        all = ms_value_add(ways, NULL, MS_VALUE_OBJECT);
    }
    add_required(all, fields);
    add_needs_below(all, fields, shape);
}

/* Add the schema of a mapping whose table depends on its key `kind`: one way for each kind. */
static void add_variants(schema *s, ms_value *out, const ms_field_shape *shape, const char *path,
                         asks what) {
    ms_value *ways = ms_value_add(out, "anyOf", MS_VALUE_ARRAY);
    ms_field_variant variant = {NULL, NULL};
    for (int i = 0; shape->variant(i, &variant); i++) {
        ms_value *way = ms_value_add(ways, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(way, "type", "object");
        ms_value *properties = ms_value_add(way, "properties", MS_VALUE_OBJECT);
        ms_value_add_string(ms_value_add(properties, "kind", MS_VALUE_OBJECT), "const",
                            variant.kind);
        add_properties(s, properties, variant.fields, path, what);
        ms_value_add_bool(way, "additionalProperties", false);
        if (what == ASKS_ALL) {
            add_required_key(way, "kind");
        }
    }
}

/* Add the schema of a mapping: its rows as properties, keys of the user's own where the shape
 * allows any (`each`), and its required keys. Where a file may give some keys, the properties below
 * require nothing, and add_needs adds a condition with both cases. */
static void add_mapping(schema *s, ms_value *out, const ms_field *field, const char *path,
                        asks what) {
    const ms_field *fields = field->fields;
    const ms_field_shape *shape = shape_of(field);
    if (shape->variant != NULL) {
        add_variants(s, out, shape, path, what);
        return;
    }
    bool is_open = find_rest(fields) != NULL || shape->file_key != NULL;
    asks below = is_open ? ASKS_NOTHING : what;
    ms_value_add_string(out, "type", "object");
    ms_value *properties = ms_value_add(out, "properties", MS_VALUE_OBJECT);
    add_properties(s, properties, fields, path, below);
    add_properties(s, properties, shape->changes, path, ASKS_NOTHING);
    if (shape->each == NULL) {
        ms_value_add_bool(out, "additionalProperties", false);
    } else {
        add_row(s, ms_value_add(out, "additionalProperties", MS_VALUE_OBJECT), shape->each,
                path_below(s, path, "*"), below);
    }
    if (what == ASKS_ALL && is_open) {
        add_needs(out, fields, shape);
    } else if (what == ASKS_ALL) {
        add_required(out, fields);
    }
}

/* ---- rows ---- */

static void add_entry(schema *s, ms_value *out, const ms_field *field);

/* Add the schema of a list, each of whose entries is one value of the row's type. */
static void add_list(schema *s, ms_value *out, const ms_field *field) {
    ms_value_add_string(out, "type", "array");
    add_entry(s, ms_value_add(out, "items", MS_VALUE_OBJECT), field);
}

/* Add the schema of one value of a row's type; for a list's type, that of one entry of the list. */
static void add_entry(schema *s, ms_value *out, const ms_field *field) {
    switch (field->type) {
    case MS_FIELD_INT:
    case MS_FIELD_INTS:
        ms_value_add_string(out, "type", "integer");
        add_range(out, field);
        break;
    case MS_FIELD_NUMBER:
    case MS_FIELD_NUMBERS:
        add_number(out, field);
        break;
    case MS_FIELD_QUANTITY:
    case MS_FIELD_QUANTITIES:
        add_quantity(s, out, field);
        break;
    case MS_FIELD_BOOL:
    case MS_FIELD_SWITCH:
        ms_value_add_string(out, "type", "boolean");
        break;
    case MS_FIELD_ENUM:
    case MS_FIELD_FLAGS:
        add_words(out, field->words);
        break;
    case MS_FIELD_STRING:
    case MS_FIELD_WORDS:
        add_text(s, out, field);
        break;
    case MS_FIELD_NODE:
    case MS_FIELD_MAP:
        break; /* handled by add_node */
    }
}

/* Add the schema of a value that code of its own reads: a mapping, a list of the shape's items, a
 * scalar where the row is another way to write a value, or anything but null. */
static void add_node(schema *s, ms_value *out, const ms_field *field, const char *path, asks what) {
    const ms_field_shape *shape = shape_of(field);
    if (field->fields != NULL || shape->each != NULL || shape->variant != NULL) {
        add_mapping(s, out, field, path, what);
    } else if (shape->item != NULL) {
        ms_value_add_string(out, "type", "array");
        add_row(s, ms_value_add(out, "items", MS_VALUE_OBJECT), shape->item, path, what);
    } else if (shape->also != NULL) {
        add_any_scalar(out);
    } else {
        ms_value_add(ms_value_add(out, "not", MS_VALUE_OBJECT), "const", MS_VALUE_NULL);
    }
}

/* Add the schema of one way to write a row's value. A list of numbers or quantities may also be a
 * single value. */
static void add_way(schema *s, ms_value *out, const ms_field *field, const char *path, asks what) {
    bool takes_single = field->type == MS_FIELD_NUMBERS || field->type == MS_FIELD_QUANTITIES;
    if (field->type == MS_FIELD_NODE || field->type == MS_FIELD_MAP) {
        add_node(s, out, field, path, what);
    } else if (takes_single) {
        ms_value *ways = ms_value_add(out, "anyOf", MS_VALUE_ARRAY);
        add_entry(s, ms_value_add(ways, NULL, MS_VALUE_OBJECT), field);
        add_list(s, ms_value_add(ways, NULL, MS_VALUE_OBJECT), field);
    } else if (field->type == MS_FIELD_INTS || field->type == MS_FIELD_WORDS ||
               field->type == MS_FIELD_FLAGS) {
        add_list(s, out, field);
    } else {
        add_entry(s, out, field);
    }
}

/* Add a default to `out` as JSON: numbers for keys of numbers, truth values for switches, texts for
 * all else. key: name of the new member, such as "default"; NULL if `out` is a list. type: of the
 * row. */
static void add_leaf(ms_value *out, const char *key, ms_field_type type, const ms_node *node) {
    double number = 0;
    bool is_number = type == MS_FIELD_INT || type == MS_FIELD_INTS || type == MS_FIELD_NUMBER ||
                     type == MS_FIELD_NUMBERS;
    if (is_number && ms_number_parse(node->text, &number) == MS_OK) {
        add_bound(out, key, number);
    } else if (type == MS_FIELD_BOOL || type == MS_FIELD_SWITCH) {
        ms_value_add_bool(out, key, strcmp(node->text, "true") == 0);
    } else {
        ms_value_add_string(out, key, node->text);
    }
}

/* Add a row's default, if it has one that is no mapping. s->status: whether the default's text
 * could be parsed. */
static void add_default(schema *s, ms_value *out, const ms_field *field) {
    ms_node *node = NULL;
    if (field->fallback == NULL || s->status != MS_OK) {
        return;
    }
    s->status = ms_field_parse_fallback(field, s->arena, s->diag, &node);
    if (s->status != MS_OK || node->type == MS_NODE_MAPPING) {
        return;
    }
    if (node->type == MS_NODE_SCALAR) {
        add_leaf(out, "default", field->type, node);
        return;
    }
    ms_value *list = ms_value_add(out, "default", MS_VALUE_ARRAY);
    for (const ms_node *child = node->first; child != NULL; child = child->next) {
        add_leaf(list, NULL, field->type, child);
    }
}

/* Add a row's help text, for a quantity also its range and its unit. */
static void add_description(schema *s, ms_value *out, const ms_field *field) {
    char range[160];
    bool is_quantity = field->type == MS_FIELD_QUANTITY || field->type == MS_FIELD_QUANTITIES;
    bool has_range = is_quantity && (field->minimum != 0 || field->maximum != 0);
    if (has_range) {
        ms_field_range(field, range, sizeof range);
    }
    if (field->help != NULL || has_range) {
        add_made(out, "description",
                 ms_arena_printf(s->arena, "%s%s%s", field->help == NULL ? "" : field->help,
                                 field->help != NULL && has_range ? "; " : "",
                                 has_range ? range : ""));
    }
    if (is_quantity) {
        ms_value_add_string(out, "unit", ms_unit_si(field->dimension));
    }
}

/* Add all that a schema says of a key: title, description, default, and how its value is written,
 * in several ways where the row's shape has others (`also`). */
static void add_row(schema *s, ms_value *out, const ms_field *field, const char *path, asks what) {
    const ms_field *also = shape_of(field)->also;
    ms_value_add_string(out, "title", path);
    add_description(s, out, field);
    add_default(s, out, field);
    if (also == NULL) {
        add_way(s, out, field, path, what);
        return;
    }
    ms_value *ways = ms_value_add(out, "anyOf", MS_VALUE_ARRAY);
    add_way(s, ms_value_add(ways, NULL, MS_VALUE_OBJECT), field, path, what);
    for (; also != NULL; also = shape_of(also)->also) {
        add_way(s, ms_value_add(ways, NULL, MS_VALUE_OBJECT), also, path, what);
    }
}

/* ---- kinds of files ---- */

/* A kind of files, and its keys. */
typedef struct file_kind {
    const char *name;
    const ms_field *fields;
    bool is_profile; /* a framework's: no key is required */
} file_kind;

static const file_kind FILES[] = {
    {.name = "workload", .fields = MS_WORKLOAD_FIELDS},
    {.name = "platform", .fields = MS_PLATFORM_FIELDS},
    {.name = "gpu", .fields = MS_GPU_FIELDS},
    {.name = "library", .fields = MS_LIBRARY_FIELDS},
    {.name = "framework", .fields = MS_WORKLOAD_FIELDS, .is_profile = true},
    {.name = "space", .fields = MS_SPACE_FIELDS},
    {.name = "sweep", .fields = MS_SWEEP_FIELDS},
};

enum { FILE_KINDS = sizeof FILES / sizeof FILES[0] };

/* Make the schema of a kind of files. *schema_out: in `arena`. Returns MS_OK; MS_E_BUG if a default
 * in a table is wrong; MS_E_NOMEM. */
static ms_status build(const file_kind *kind, ms_arena *arena, ms_value **schema_out) {
    ms_diag mute;
    ms_diag_init_mute(&mute);
    const ms_field root = {.fields = kind->fields};
    schema s = {.arena = arena, .diag = &mute, .status = MS_OK, .is_profile = kind->is_profile};
    ms_value *out = ms_value_new_object(arena);
    ms_value_add_string(out, "$schema", "https://json-schema.org/draft/2020-12/schema");
    add_made(out, "title", ms_arena_printf(arena, "meshsim %s", kind->name));
    add_mapping(&s, out, &root, "", kind->is_profile ? ASKS_NOTHING : ASKS_ALL);
    if (arena->has_failed) {
        return MS_E_NOMEM;
    }
    if (s.status == MS_OK) {
        *schema_out = out;
    }
    return s.status == MS_E_INPUT ? MS_E_BUG : s.status;
}

const char *const *ms_schema_kinds(void) {
    static const char *names[FILE_KINDS + 1];
    for (size_t i = 0; i < FILE_KINDS; i++) {
        names[i] = FILES[i].name;
    }
    return names;
}

ms_status ms_schema_build(const char *kind, ms_arena *arena, ms_value **schema_out) {
    for (size_t i = 0; i < FILE_KINDS; i++) {
        if (strcmp(FILES[i].name, kind) == 0) {
            return build(&FILES[i], arena, schema_out);
        }
    }
    return MS_E_RANGE;
}
