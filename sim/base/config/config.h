/**
 * @file
 * Configuration files. A YAML or JSON document is read as a tree of nodes, each of which keeps its
 * place in the file; then field tables read the tree into structs.
 *
 * A field table has one row (ms_field) for each key of a YAML mapping, and is declared beside the
 * struct that it fills. Unknown keys, repeated keys, missing required keys, wrong types, units and
 * ranges are all found and reported here, with file:line:column, key path, expected and actual
 * value, the nearest key, and a caret. Reading goes on after a fault, so that one run reports all
 * faults; the status at the end is MS_E_INPUT if there was any.
 */
#ifndef MESHSIM_CONFIG_H
#define MESHSIM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/diag.h"
#include "base/status.h"
#include "base/units.h"

/** The format of a file: its name in messages, and its maximum size. */
typedef enum ms_file_type {
    MS_FILE_YAML, /**< at most 16 MiB */
    MS_FILE_CSV,  /**< at most 256 MiB */
    MS_FILE_JSON, /**< at most 16 MiB */
    MS_FILE_TEXT, /**< a script or a log, at most 256 MiB */
    MS_FILE_HDF5, /**< a trace that is copied, at most 1 GiB */
} ms_file_type;

/** The kind of a node: one value, a list, or keys with values. */
typedef enum ms_node_type { MS_NODE_SCALAR, MS_NODE_SEQUENCE, MS_NODE_MAPPING } ms_node_type;

/** One YAML value. Aliases are expanded (bounded in depth and number), merge keys (`<<`) are
 * refused. */
typedef struct ms_node {
    ms_node_type type;
    const char *text;   /**< text of a scalar; NULL in other nodes */
    bool is_quoted;     /**< scalar: in quotes, a block or several lines, so it is a string */
    bool has_fault;     /**< the parser reported a fault in the node or below it */
    const char *key;    /**< key of a child of a mapping; NULL in other nodes */
    ms_mark key_mark;   /**< place of the key */
    ms_mark mark;       /**< place of the value */
    const char *origin; /**< who gave the value: "file", "default", "--set", or the source that was
                           laid below the file, such as "framework megatron" */
    struct ms_node *first; /**< children of a sequence or mapping */
    struct ms_node *last;  /**< newest child */
    struct ms_node *next;  /**< next sibling */
    size_t count;          /**< number of children */
} ms_node;

/** Read and parse a file of at most 16 MiB.
 *  path: as the user gave it; also the name in diagnostics.  *root_out: mapping, in `arena`.
 *  Returns MS_OK; MS_E_INPUT (syntax, bad UTF-8, empty, not a mapping, too large, a directory, not
 * found, several documents, cyclic or too many aliases, more than 64 levels), reported; MS_E_IO
 * when reading fails; MS_E_INTERRUPTED when a signal ends the wait for a pipe; MS_E_NOMEM. Repeated
 * keys, merge keys, keys that are no scalars, tags and NUL characters do not end the parsing: they
 * are reported and marked with `has_fault` up to the root, and ms_config_read then returns
 * MS_E_INPUT. So the user sees them together with the faults that ms_config_read finds. */
ms_status ms_yaml_load(const char *path, ms_arena *arena, ms_diag *diag, ms_node **root_out);

/** Maximum size of a file of a type [B]. */
size_t ms_file_limit_B(ms_file_type type);

/** Read a whole file within the size limit of its type.
 *  out: the text is appended.  Returns as ms_yaml_load, except for faults of the contents. */
ms_status ms_file_read(const char *path, ms_file_type type, ms_buffer *out, ms_diag *diag);

/** Parse a text already in memory.
 *  text: [length_B] bytes, copied into `arena`; may hold any bytes.  name: in place of a file's
 * name in diagnostics.  *root_out: mapping, in `arena`.  Returns as ms_yaml_load, but never
 * MS_E_IO. */
ms_status ms_yaml_parse(const char *text, size_t length_B, const char *name, ms_arena *arena,
                        ms_diag *diag, ms_node **root_out);

/** The whole text of a file, borrowed. */
typedef struct ms_text {
    const char *name; /**< in place of a file's name in diagnostics */
    const char *data; /**< [length_B] may hold any bytes */
    size_t length_B;
} ms_text;

/** Parse a text whose root may be a list as well as a mapping.  *root_out: in `arena`.  Returns as
 * ms_yaml_parse. */
ms_status ms_yaml_parse_list(const ms_text *text, ms_arena *arena, ms_diag *diag,
                             ms_node **root_out);

/** Read and parse a file of JSON as the same kind of tree: texts are quoted scalars, numbers and
 * `true`, `false`, `null` plain ones as the file has them.
 *  path: as for ms_yaml_load.  *root_out: mapping, in `arena`.  Returns as ms_yaml_load; MS_E_INPUT
 * for what is no JSON too (NaN, a comma too many, a number that is out of range, a repeated key,
 * more than 64 levels), reported with its place. */
ms_status ms_config_load_json(const char *path, ms_arena *arena, ms_diag *diag, ms_node **root_out);

/** Parse a text of JSON already in memory.  Returns as ms_config_load_json, without MS_E_IO. */
ms_status ms_config_parse_json(const ms_text *text, ms_arena *arena, ms_diag *diag,
                               ms_node **root_out);

/** Child of a mapping, NULL if there is none (or `mapping` is NULL or no mapping). */
ms_node *ms_node_get(const ms_node *mapping, const char *key);

/** The node at a dotted path below `root`. Where the path does not exist, the last node on the way
 * that does.
 *  key_path: such as "mesh.tp"; "" is the root.  is_found_out (may be NULL): whether the path
 * exists in full.  Returns NULL if `root` is NULL. */
const ms_node *ms_node_at(const ms_node *root, const char *key_path, bool *is_found_out);

/** Put `child` at the end of a mapping's or sequence's children.  child: of no other parent; for a
 * mapping, its `key` is set and the mapping has no such key. */
void ms_node_append(ms_node *parent, ms_node *child);

/** Copy a tree, without the siblings of `node`.  The copy is in `arena` and shares the texts.
 *  Returns NULL when memory runs out.  O(nodes). */
ms_node *ms_node_copy(const ms_node *node, ms_arena *arena);

/** Remove a child from its mapping or sequence.  child: one of parent's.  O(children). */
void ms_node_remove(ms_node *parent, const ms_node *child);

/** Remove a key from a mapping if the mapping has the key. */
void ms_node_drop(ms_node *mapping, const char *key);

/** Whether a value is the word null (or ~, not in quotes). Such a value removes its key, see
 * ms_config_remove_nulls; an empty value does not, and is a fault of its key.  node: may be NULL.
 */
bool ms_node_is_removal(const ms_node *node);

/** Apply one override `key.path=value`. The value is parsed as YAML flow text and replaces or adds
 * the key; null stays in the tree, until ms_config_remove_nulls removes such keys. Missing mappings
 * on the path are made; `name[2]` or `name.2` addresses an entry of a sequence. The new nodes are
 * marked in the text of the override, with the file name "--set".  Returns MS_OK; MS_E_USAGE if
 * there is no '=' or no key; MS_E_INPUT if the path leads through a scalar or the value is no
 * YAML; MS_E_NOMEM. */
ms_status ms_node_set(ms_node *root, const char *assignment, ms_arena *arena, ms_diag *diag);

/** Lay `over` onto `base`: mappings are merged key by key, and any other value of `over` replaces
 * that of `base`. Nodes are copied into `arena`, their texts are shared.  Returns MS_OK;
 * MS_E_NOMEM, `base` may then be merged in part.  O(nodes of over, times keys of base). */
ms_status ms_node_overlay(ms_node *base, const ms_node *over, ms_arena *arena);

/** Lay `under` below `base`: keys that `base` lacks, or has with an empty value, are added with
 * their place and origin. Keys that are null in `base` stay null. Mappings that both have are
 * merged key by key, and all other values of `base` stay.  Returns as ms_node_overlay. */
ms_status ms_node_underlay(ms_node *base, const ms_node *under, ms_arena *arena);

/** Append the tree as YAML text that parses back to the same tree (marks and origins aside).
 *  node: a tree as the parser makes it; a plain scalar made by hand is quoted where it must be. */
void ms_node_write(const ms_node *node, ms_buffer *out);

/** Append `text` as a YAML scalar in double quotes, which reads back as the same text: quotes,
 * backslashes and invisible characters (base/text.h) are escaped; a byte that is not UTF-8
 * becomes U+FFFD.  O(length).  Source: YAML 1.1, section 5.7 (escape sequences). */
void ms_yaml_write_quoted(const char *text, ms_buffer *out);

/** The text of a change of keys, for ms_node_set: `head`, then `text` as a YAML scalar in double
 * quotes, then `rest`. Example: "model={hf: ", a path, "}".  text: NULL gives NULL.
 *  Returns the text, in the arena; NULL: memory ran out. */
const char *ms_yaml_quoted_set(const char *head, const char *text, const char *rest,
                               ms_arena *arena);

/** Type of a field. The comment names the C type of the member at `offset`. */
typedef enum ms_field_type {
    MS_FIELD_INT,        /**< int */
    MS_FIELD_NUMBER,     /**< double, pure number; "5 %" is 0.05 */
    MS_FIELD_QUANTITY,   /**< double, in SI; unit compulsory, of `dimension` */
    MS_FIELD_BOOL,       /**< bool: true or false */
    MS_FIELD_STRING,     /**< const char *, in the arena */
    MS_FIELD_ENUM,       /**< int: index into `words` */
    MS_FIELD_NODE,       /**< const ms_node *: the node itself, for code that reads it further */
    MS_FIELD_MAP,        /**< a nested struct at `offset`, read with `fields`; where the mapping is
                            absent the struct gets its defaults, and no key of it is required */
    MS_FIELD_INTS,       /**< ms_ints: a sequence of integers */
    MS_FIELD_NUMBERS,    /**< ms_numbers: a number, or a sequence of numbers */
    MS_FIELD_QUANTITIES, /**< ms_numbers: a quantity, or a sequence of quantities */
    MS_FIELD_WORDS,      /**< ms_words: a sequence of strings */
    MS_FIELD_FLAGS,      /**< unsigned: a sequence of some of `words`; bit i is words[i] */
    MS_FIELD_SWITCH,     /**< int: false is 0, true is 1; a caller may preset -1 for "not given" */
} ms_field_type;

/** A list of integers. */
typedef struct ms_ints {
    int *items; /**< [count], in the arena */
    size_t count;
} ms_ints;

/** A list of numbers. */
typedef struct ms_numbers {
    double *items; /**< [count], in the arena */
    size_t count;
} ms_numbers;

/** A list of texts. */
typedef struct ms_words {
    const char **items; /**< [count], in the arena */
    size_t count;
} ms_words;

struct ms_field;

/** One of several tables for a mapping; the value of the mapping's key `kind` chooses the table. */
typedef struct ms_field_variant {
    const char *kind;
    const struct ms_field *fields;
} ms_field_variant;

/** The forms in which a key's value may be written, where the type of its row does not say all.
 * Code of its own reads such values; schemas for editors, completion and listings are made from
 * this. */
typedef struct ms_field_shape {
    const struct ms_field *also; /**< a second form of the value, as a row; NULL: none */
    const struct ms_field *each; /**< mapping with keys that users name, such as tiers: the row of
                                    every key that the table lacks; NULL: there are none */
    const struct ms_field *item; /**< list: the row of every entry */
    const struct ms_field *changes; /**< mapping: a table of further keys that the mapping may have,
                                       none of them required */
    const char *file_key; /**< mapping: its key that names a file and is required; that file gives
                             the keys that are left out */
    const char *(*name)(int index); /**< STRING: the allowed words by index; NULL behind the last */
    const char *prefix;             /**< STRING: how a text that is none of the words begins */
    /** mapping: the table of each kind, by index.  Returns false behind the last kind. */
    bool (*variant)(int index, ms_field_variant *variant_out);
} ms_field_shape;

/** One key of a mapping. Tables end with a row whose `key` is NULL. If that row has a `former`, it
 * names a key that was removed, which is refused with `help` as the reason. */
typedef struct ms_field {
    const char *key;
    const char *former; /**< earlier name of the key, refused with the new one; NULL: none */
    ms_field_type type;
    size_t offset;          /**< offsetof the member in the struct */
    ms_dimension dimension; /**< QUANTITY, QUANTITIES: what is measured */
    bool is_required;       /**< absent is a fault; otherwise `fallback` applies */
    const char *fallback; /**< default as the user would type it; NULL: member is left as the caller
                             set it */
    /** INT(S), NUMBER(S), QUANTITY(-IES): allowed range; both 0: not limited; maximum < minimum: no
     * upper limit */
    double minimum, maximum;
    const char *const *words; /**< ENUM, FLAGS: accepted words, NULL-terminated */
    const struct ms_field
        *fields; /**< MAP: the table of the mapping; NODE: the table of the code that reads the node
                    later, so that listings know its keys; NULL: none */
    const char *help;            /**< one line, lower case, with meaning (and unit) */
    const ms_field_shape *shape; /**< NULL: the type says how the value is written */
    bool gives_rest; /**< the value names a file, which gives the required keys beside this key */
    bool is_choice;  /**< required, but another file, such as a framework's profile, may give it */
    bool is_of_job;  /**< only a workload may have the key, a framework's profile must not */
    bool is_of_family; /**< describes how models of a type are built: a profile's value applies to
                          models of the profile's own type only */
    bool needs_model;  /**< the key has no meaning in a workload with `costs` in place of a model */
} ms_field;

/** A row of a table: key, help (NULL: none), type without its prefix, offset in the struct, and the
 * other members of ms_field as designated initialisers. */
#define MS_KEY(key_, help_, type_, offset_, ...)                                                   \
    { .key = (key_), .help = (help_), .type = MS_FIELD_##type_, .offset = (offset_), __VA_ARGS__ }
/** The smallest and the largest number that a row allows. */
#define MS_RANGE(minimum_, maximum_) .minimum = (minimum_), .maximum = (maximum_)

/** Words of a row, NULL behind the last. */
#define MS_WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/** The row of a key by its dotted path ("schedule.kind"), through mappings whose rows have tables;
 * NULL: there is none. */
const ms_field *ms_config_row(const ms_field *fields, const char *key_path);

/** Read `mapping` into the struct at `out` by a table.
 *  mapping: a mapping node; NULL gives all defaults, and required keys are then faults without a
 * place.  key_path: dotted path of the mapping for messages, "" at the root.  out: the caller's
 * struct; members whose key is absent and has no fallback stay as they are. Strings and lists are
 * in `arena`.  Returns MS_OK; MS_E_INPUT after reporting every fault in it; MS_E_BUG if a fallback
 * does not fit its own field; MS_E_NOMEM. */
ms_status ms_config_read(const ms_node *mapping, const ms_field *fields, const char *key_path,
                         void *out, ms_arena *arena, ms_diag *diag);

/** Write the members of a struct as a mapping that ms_config_read reads back to the same values:
 * keys in the order of the table, without those that hold their default or count as not given, and
 * without mappings that lack a required key.  values: a struct as ms_config_read fills it.
 * *mapping_out: in `arena`; NODE members are copied (their texts shared).  Returns MS_OK;
 * MS_E_NOMEM. */
ms_status ms_config_write(const ms_field *fields, const void *values, ms_arena *arena,
                          ms_node **mapping_out);

/** Check the values of a struct that ms_config_read did not fill against a table: required values
 * are given, numbers are in range, words and flags are among the table's.
 *  key_path: of the mapping, "" at the root.  root: the document that the values came from, for the
 * places of its keys; may be NULL.  Returns MS_OK; MS_E_INPUT, every fault reported. */
ms_status ms_config_check(const ms_field *fields, const void *values, const char *key_path,
                          const ms_node *root, ms_diag *diag);

/** Append a mapping as YAML that people will edit: each key that a table knows is preceded by a
 * comment with its meaning, its choices or range, and its default.
 *  mapping: a mapping node.  O(nodes). */
void ms_config_write_commented(const ms_node *mapping, const ms_field *fields, ms_buffer *out);

/** Whether two trees hold the same keys and texts in the same order. Places in files do not count.
 * Either tree may be NULL. */
bool ms_node_is_equal(const ms_node *a, const ms_node *b);

/** Remove the keys of a mapping whose value is null, also in the mappings inside it. Keys that the
 * table does not know stay. So do the keys of a mapping that names a file (a row with `file_key`):
 * the reader of that file lays them over the file's keys first, and removes the null ones then.
 *  fields: table of the mapping's keys; NULL: any key is known.  O(nodes * rows). */
void ms_config_remove_nulls(ms_node *mapping, const ms_field *fields);

/** Sort the keys of a mapping, and of the mappings in it that have tables, into the order of the
 * table; keys that the table does not know come last.  O(keys * rows). */
void ms_config_arrange(ms_node *mapping, const ms_field *fields);

/** Report a fault at a node's value, or at its key where the value is a mapping or list that begins
 * on a later line.  node: NULL: report without a place.  Returns MS_E_INPUT. */
ms_status ms_config_fault(ms_diag *diag, const ms_node *node, const char *key_path,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));

/** Parse the default of a row.  field: a row with a fallback.  *node_out: in `arena`.  Returns
 * MS_OK; MS_E_INPUT if it is no YAML (reported); MS_E_NOMEM. */
ms_status ms_field_parse_fallback(const ms_field *field, ms_arena *arena, ms_diag *diag,
                                  ms_node **node_out);

/** The allowed range of a row's numbers in words, such as "1 to 8" or "more than 0", with units for
 * quantities.  field: with a range.  out: [size], 160 hold every range. */
void ms_field_range(const ms_field *field, char *out, size_t size);

/** Append every key of a table with its value and the value's origin, one key per line: "mesh.tp =
 * 8  # w.yaml:12", "...  # --set", "...  # default", and "...  # ORIGIN, p.yaml:3" for values that
 * were laid below the file. "key =  # not given" is written for an absent key without a default,
 * and for an absent mapping that has required keys. */
void ms_config_write_effective(const ms_node *mapping, const ms_field *fields, const char *key_path,
                               ms_buffer *out);

/** Append the same lines as ms_config_write_effective, but with origins that name no line or
 * folder: "mesh.tp = 8  # typed" for values of `user_file` or of --set, "...  #
 * h100-sxm5-80gb.yaml" for another file, by its name without folder, "...  # default", "...  #
 * ORIGIN", "key =  # not given", "key =  # typed" for null.  The key of a line ends at its first "
 * =", the origin begins behind its last "  # ".  user_file: its name as in the marks of the nodes;
 * NULL: none. */
void ms_config_write_resolved(const ms_node *mapping, const ms_field *fields, const char *user_file,
                              ms_buffer *out);

/** Add the keys that a mapping lacks and that have a default, with their default and the origin
 * "default". The mappings below are filled as well where a table is known: that of the row, that
 * of entries with a name of the user's (`each`), or that of the mapping's kind (`variant`). Absent
 * mappings that have required keys are not made.
 *  mapping: nodes are added to it, in `arena`.  Returns MS_OK; MS_E_INPUT (reported) if a default
 * is no YAML; MS_E_NOMEM.  O(rows * keys). */
ms_status ms_config_fill(ms_node *mapping, const ms_field *fields, ms_arena *arena, ms_diag *diag);

/** Append for every key below a mapping the comment behind the key in its file, one key per line:
 * "platform.gpu.peak: dense tensor peak. Source: data sheet". Lines below the key that are only an
 * indented comment continue the key's comment. A value that no file gives has its origin in
 * brackets instead; a key without a comment has no line.
 *  key_path: of the mapping.  out: appended to; check `failed`.  O(keys * bytes of a file). */
void ms_config_write_sources(const ms_node *mapping, const char *key_path, ms_buffer *out);

/** Append every key of a table, one per line, with its default, allowed values and help:
 * "batch.micro = 1  # count, 1 to 1000000: sequences per microbatch and replica". The default is
 * left empty for a key without one. The line of a mapping precedes those of its keys. */
void ms_config_write_keys(const ms_field *fields, const char *key_path, ms_buffer *out);

#endif
