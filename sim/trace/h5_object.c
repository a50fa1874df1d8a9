/* Headers of objects and the messages that they consist of (chapter IV of the specification). */
#include <string.h>

#include "meshsim/checksum.h"
#include "meshsim/event.h"
#include "trace/h5.h"

/* Bytes of a header before its messages, and its flags: four bytes hold its length, attributes are
 * in order, and this order is known. */
enum { HEAD_B = 10, SUM_B = 4, LENGTH_OF_4 = 0x02, ORDERED = 0x0c };

/* Most bytes that an attribute's cells may have in a header, whose messages have 64 KiB; and most
 * attributes, which are numbered by 16 bits. */
enum { CELLS_MOST_B = 64000, MESSAGE_MOST_B = 65535, ATTRIBUTES_MOST = 65535, NAME_MOST_B = 255 };

enum { TYPE_MOST_B = 40 }; /* of a list of numbers */

/* How a cell says how it is to be read. */
enum { FIXED = 0x10, FLOATING = 0x11, TEXT = 0x13, ENUM = 0x38, VARIABLE = 0x19 };

size_t ms_h5_cell_B(ms_h5_cell cell) {
    static const size_t SIZES[] = {[MS_H5_KIND] = 1,
                                   [MS_H5_AXIS] = 1,
                                   [MS_H5_I16] = 2,
                                   [MS_H5_I32] = 4,
                                   [MS_H5_I64] = 8,
                                   [MS_H5_F64] = 8,
                                   [MS_H5_TEXT] = MS_H5_TEXT_B,
                                   [MS_H5_I8] = 1,
                                   [MS_H5_BOOL] = 1,
                                   [MS_H5_WORDS] = sizeof(const char *)};
    return SIZES[cell];
}

/* ---- headers ---- */

void ms_h5_begin(ms_h5_object *object, bool is_group) {
    *object = (ms_h5_object){.is_group = is_group};
    ms_buffer_init(&object->bytes);
    ms_buffer_add(&object->bytes, "OHDR\2\0\0\0\0", HEAD_B);
}

size_t ms_h5_open_message(ms_h5_object *object, ms_h5_message message) {
    size_t at = object->bytes.length;
    bool is_attribute = message == MS_H5_ATTRIBUTE;
    bool stays = message == MS_H5_TYPE || message == MS_H5_FILL || message == MS_H5_FILTERS;
    ms_h5_number(&object->bytes, message, 1);
    ms_h5_number(&object->bytes, 0, sizeof(uint16_t)); /* its length, later */
    ms_h5_number(&object->bytes, stays, 1);
    if (object->is_group) {
        ms_h5_number(&object->bytes, is_attribute ? object->attributes : 0, sizeof(uint16_t));
    }
    object->attributes += is_attribute;
    return at;
}

void ms_h5_shut_message(ms_h5 *h5, ms_h5_object *object, size_t at) {
    size_t head_B = object->is_group ? 6 : 4, length = object->bytes.length - at - head_B;
    const uint16_t stored = (uint16_t)length;
    if (object->bytes.failed) {
        ms_h5_fail(h5, "out of memory");
    } else if (length > MESSAGE_MOST_B || object->attributes > ATTRIBUTES_MOST) {
        ms_h5_fail(h5, "there is more in an object than HDF5 has room for");
    } else {
        memcpy(object->bytes.data + at + 1, &stored, sizeof stored);
    }
}

static void put_nowhere(ms_buffer *bytes, int addresses) {
    for (int i = 0; i < addresses; i++) {
        ms_h5_number(bytes, UINT64_MAX, sizeof(uint64_t));
    }
}

/* What a group says of its links and attributes: all are in its header, in their order. */
static void describe_group(ms_h5 *h5, ms_h5_object *object) {
    enum { IN_ORDER = 0x0300 };
    size_t links = ms_h5_open_message(object, MS_H5_LINKS);
    ms_h5_number(&object->bytes, IN_ORDER, sizeof(uint16_t));
    ms_h5_number(&object->bytes, object->links, sizeof(uint64_t));
    put_nowhere(&object->bytes, 3);
    ms_h5_shut_message(h5, object, links);
    size_t group = ms_h5_open_message(object, MS_H5_GROUP);
    ms_h5_number(&object->bytes, 0, sizeof(uint16_t));
    ms_h5_shut_message(h5, object, group);
    size_t attributes = ms_h5_open_message(object, MS_H5_ATTRIBUTES);
    ms_h5_number(&object->bytes, IN_ORDER, sizeof(uint16_t));
    ms_h5_number(&object->bytes, object->attributes, sizeof(uint16_t));
    put_nowhere(&object->bytes, 3);
    ms_h5_shut_message(h5, object, attributes);
}

/* Length and checksum of a header, which has all its messages. */
static void seal(ms_h5_object *object) {
    char *bytes = object->bytes.data;
    uint32_t length = (uint32_t)(object->bytes.length - HEAD_B - SUM_B);
    bytes[5] = (char)(LENGTH_OF_4 | (object->is_group ? ORDERED : 0));
    memcpy(bytes + HEAD_B - sizeof length, &length, sizeof length);
    uint32_t sum = ms_h5_checksum(bytes, object->bytes.length - SUM_B);
    memcpy(bytes + object->bytes.length - SUM_B, &sum, sizeof sum);
}

static void finish(ms_h5 *h5, ms_h5_object *object) {
    if (object->is_group) {
        describe_group(h5, object);
    }
    ms_h5_number(&object->bytes, 0, SUM_B);
    if (object->bytes.failed) {
        ms_h5_fail(h5, "out of memory");
    }
}

void ms_h5_place(ms_h5 *h5, ms_h5_object *object) {
    finish(h5, object);
    object->at = ms_h5_reserve(h5, object->bytes.length);
}

uint64_t ms_h5_end(ms_h5 *h5, ms_h5_object *object) {
    uint64_t at = object->at;
    if (at == 0) {
        finish(h5, object);
    }
    if (!h5->failed) {
        seal(object);
        if (at == 0) {
            at = ms_h5_put(h5, object->bytes.data, object->bytes.length);
        } else {
            ms_h5_put_at(h5, at, object->bytes.data, object->bytes.length);
        }
    }
    ms_buffer_release(&object->bytes);
    return at;
}

void ms_h5_link(ms_h5 *h5, ms_h5_object *group, const char *name, uint64_t address) {
    enum { HAS_ORDER = 0x0401 };
    size_t length = strnlen(name, NAME_MOST_B);
    size_t link = ms_h5_open_message(group, MS_H5_LINK);
    ms_h5_number(&group->bytes, HAS_ORDER, sizeof(uint16_t));
    ms_h5_number(&group->bytes, group->links, sizeof(uint64_t));
    ms_h5_number(&group->bytes, length, 1);
    ms_buffer_add(&group->bytes, name, length);
    ms_h5_number(&group->bytes, address, sizeof address);
    ms_h5_shut_message(h5, group, link);
    group->links++;
}

/* ---- spaces and types ---- */

static void put_space(ms_buffer *bytes, int64_t count) {
    if (count < 0) {
        ms_buffer_add(bytes, count == MS_H5_SCALAR ? "\2\0\0\0" : "\2\0\0\2", 4);
        return;
    }
    ms_buffer_add(bytes, "\2\1\1\1", 4);
    ms_h5_number(bytes, (uint64_t)count, sizeof count);
    ms_h5_number(bytes, (uint64_t)count, sizeof count); /* it never becomes longer */
}

/* A signed number of [size] bytes. */
static void put_fixed(ms_buffer *bytes, size_t size) {
    const uint8_t head[] = {FIXED, 0x08, 0, 0};
    ms_buffer_add(bytes, (const char *)head, sizeof head);
    ms_h5_number(bytes, size, sizeof(uint32_t));
    ms_h5_number(bytes, size * 8 << 16, sizeof(uint32_t)); /* of its bits the first, and how many */
}

static void put_enum(ms_buffer *bytes, int count, const char *(*word)(int)) {
    const uint8_t head[] = {ENUM, (uint8_t)count, 0, 0, 1, 0, 0, 0};
    ms_buffer_add(bytes, (const char *)head, sizeof head);
    put_fixed(bytes, 1);
    for (int i = 0; i < count; i++) {
        ms_buffer_add(bytes, word(i), strlen(word(i)) + 1);
    }
    for (int i = 0; i < count; i++) {
        ms_h5_number(bytes, (uint64_t)i, 1);
    }
}

static const char *kind_word(int kind) {
    return ms_op_kind_name((ms_op_kind)kind);
}

static const char *axis_word(int axis) {
    return ms_axis_name((ms_axis)axis);
}

static const char *bool_word(int is_true) {
    return is_true ? "TRUE" : "FALSE";
}

static void put_type(ms_buffer *bytes, ms_h5_cell cell) {
    /* IEEE 754 of 64 bits; sign, exponent and fraction with their places */
    static const uint8_t F64[] = {FLOATING, 0x20, 0x3f, 0,    8, 0,  0,    0,    0, 0,
                                  0x40,     0,    0x34, 0x0b, 0, 52, 0xff, 0x03, 0, 0};
    /* padded with NULs, UTF-8 */
    static const uint8_t NAMES[] = {TEXT, 0x11, 0, 0, MS_H5_TEXT_B, 0, 0, 0};
    /* of variable length, UTF-8, of bytes */
    static const uint8_t WORDS[] = {
        VARIABLE, 0x01, 0x01, 0, MS_H5_REFERENCE_B, 0, 0, 0, FIXED, 0, 0, 0, 1, 0, 0, 0,
        0,        0,    8,    0};
    switch (cell) {
    case MS_H5_KIND:
        put_enum(bytes, MS_OP_KIND_COUNT, kind_word);
        break;
    case MS_H5_AXIS:
        put_enum(bytes, MS_AXIS_COUNT, axis_word);
        break;
    case MS_H5_BOOL:
        put_enum(bytes, 2, bool_word);
        break;
    case MS_H5_F64:
        ms_buffer_add(bytes, (const char *)F64, sizeof F64);
        break;
    case MS_H5_TEXT:
        ms_buffer_add(bytes, (const char *)NAMES, sizeof NAMES);
        break;
    case MS_H5_WORDS:
        ms_buffer_add(bytes, (const char *)WORDS, sizeof WORDS);
        break;
    default:
        put_fixed(bytes, ms_h5_cell_B(cell));
    }
}

void ms_h5_make_types(ms_h5 *h5) {
    ms_buffer_init(&h5->types);
    for (int cell = 0; cell < MS_H5_CELLS; cell++) {
        h5->type_at[cell] = h5->types.length;
        put_type(&h5->types, (ms_h5_cell)cell);
    }
    h5->type_at[MS_H5_CELLS] = h5->types.length;
    if (h5->types.failed) {
        ms_h5_fail(h5, "out of memory");
    }
}

/* A type as the file has it. */
static ms_h5_bytes type_of(const ms_h5 *h5, ms_h5_cell cell) {
    return (ms_h5_bytes){ms_buffer_text(&h5->types) + h5->type_at[cell],
                         h5->type_at[cell + 1] - h5->type_at[cell]};
}

static void put_bytes(ms_h5_object *object, ms_h5_bytes bytes) {
    ms_buffer_add(&object->bytes, bytes.bytes, bytes.size);
}

void ms_h5_add_space(ms_h5 *h5, ms_h5_object *object, int64_t count) {
    size_t space = ms_h5_open_message(object, MS_H5_SPACE);
    put_space(&object->bytes, count);
    ms_h5_shut_message(h5, object, space);
}

void ms_h5_add_type(ms_h5 *h5, ms_h5_object *object, ms_h5_cell cell) {
    size_t type = ms_h5_open_message(object, MS_H5_TYPE);
    put_bytes(object, type_of(h5, cell));
    ms_h5_shut_message(h5, object, type);
}

/* ---- attributes ---- */

static size_t space_B(int64_t count) {
    return count < 0 ? 4 : 4 + 2 * sizeof count;
}

void ms_h5_store(ms_h5 *h5, ms_h5_object *object, const char *name, ms_h5_stored attribute) {
    if (h5->failed) {
        return;
    }
    size_t name_B = strlen(name) + 1;
    size_t at = ms_h5_open_message(object, MS_H5_ATTRIBUTE);
    ms_h5_number(&object->bytes, 3, sizeof(uint16_t)); /* the version */
    ms_h5_number(&object->bytes, name_B, sizeof(uint16_t));
    ms_h5_number(&object->bytes, attribute.type.size, sizeof(uint16_t));
    ms_h5_number(&object->bytes, space_B(attribute.count), sizeof(uint16_t));
    ms_h5_number(&object->bytes, 0, 1); /* the name is ASCII */
    ms_buffer_add(&object->bytes, name, name_B);
    put_bytes(object, attribute.type);
    put_space(&object->bytes, attribute.count);
    put_bytes(object, attribute.data);
    ms_h5_shut_message(h5, object, at);
}

/* Texts stand in the heap, and in the header where. */
static void add_words(ms_h5 *h5, ms_h5_object *object, const char *name, ms_h5_cells cells) {
    const char *const *words = cells.data;
    int64_t count = cells.count < 0 ? 1 : cells.count;
    ms_vector places;
    ms_vector_init(&places, MS_H5_REFERENCE_B);
    for (int64_t i = 0; i < count && !h5->failed; i++) {
        uint8_t *place = ms_vector_next(&places);
        size_t length = strlen(words[i]);
        if (place == NULL) {
            ms_h5_fail(h5, "out of memory");
        } else {
            ms_h5_keep(h5, words[i], length, (uint32_t)length, place);
        }
    }
    ms_h5_store(h5, object, name,
                (ms_h5_stored){type_of(h5, MS_H5_WORDS), cells.count,
                               (ms_h5_bytes){places.data, places.count * MS_H5_REFERENCE_B}});
    ms_vector_release(&places);
}

/* More numbers than a header takes: in the heap, as one cell of variable length. */
static void add_long(ms_h5 *h5, ms_h5_object *object, const char *name, ms_h5_cells cells) {
    ms_h5_bytes of = type_of(h5, cells.cell);
    uint8_t type[TYPE_MOST_B] = {VARIABLE, 0, 0, 0, MS_H5_REFERENCE_B, 0, 0, 0};
    uint8_t place[MS_H5_REFERENCE_B];
    ms_h5_keep(h5, cells.data, (size_t)cells.count * ms_h5_cell_B(cells.cell),
               (uint32_t)cells.count, place);
    memcpy(type + 8, of.bytes, of.size);
    ms_h5_store(h5, object, name,
                (ms_h5_stored){(ms_h5_bytes){type, 8 + of.size}, MS_H5_SCALAR,
                               (ms_h5_bytes){place, sizeof place}});
}

void ms_h5_attribute(ms_h5 *h5, ms_h5_object *object, const char *name, ms_h5_cells cells) {
    size_t size =
        (size_t)(cells.count == MS_H5_SCALAR ? 1 : cells.count) * ms_h5_cell_B(cells.cell);
    if (h5->failed) {
        return;
    }
    if (cells.count == MS_H5_NOTHING) {
        size = 0;
    }
    if (cells.cell == MS_H5_WORDS) {
        add_words(h5, object, name, cells);
    } else if (size > CELLS_MOST_B) {
        add_long(h5, object, name, cells);
    } else {
        ms_h5_store(
            h5, object, name,
            (ms_h5_stored){type_of(h5, cells.cell), cells.count, (ms_h5_bytes){cells.data, size}});
    }
}

void ms_h5_text(ms_h5 *h5, ms_h5_object *object, const char *name, const char *text) {
    ms_h5_attribute(h5, object, name, (ms_h5_cells){MS_H5_WORDS, MS_H5_SCALAR, &text});
}

void ms_h5_integer(ms_h5 *h5, ms_h5_object *object, const char *name, int64_t integer) {
    ms_h5_attribute(h5, object, name, (ms_h5_cells){MS_H5_I64, MS_H5_SCALAR, &integer});
}

/* ---- datasets and types with a name ---- */

void ms_h5_add_compact(ms_h5 *h5, ms_h5_object *object, ms_h5_bytes data) {
    static const uint8_t FILL[] = {3, 0x09}; /* there from the start */
    size_t fill = ms_h5_open_message(object, MS_H5_FILL);
    put_bytes(object, (ms_h5_bytes){FILL, sizeof FILL});
    ms_h5_shut_message(h5, object, fill);
    size_t layout = ms_h5_open_message(object, MS_H5_LAYOUT);
    ms_h5_number(&object->bytes, 4, sizeof(uint16_t)); /* the version; in the header */
    ms_h5_number(&object->bytes, data.size, sizeof(uint16_t));
    put_bytes(object, data);
    ms_h5_shut_message(h5, object, layout);
}

void ms_h5_document(ms_h5 *h5, ms_h5_object *group, const char *name, const char *text) {
    char hash[MS_SHA256_HEX];
    uint8_t place[MS_H5_REFERENCE_B];
    size_t length = strlen(text);
    ms_h5_object data;
    ms_h5_begin(&data, false);
    ms_h5_add_space(h5, &data, MS_H5_SCALAR);
    ms_h5_add_type(h5, &data, MS_H5_WORDS);
    ms_h5_keep(h5, text, length, (uint32_t)length, place);
    ms_h5_add_compact(h5, &data, (ms_h5_bytes){place, sizeof place});
    ms_sha256_hex(text, length, hash);
    ms_h5_text(h5, &data, "sha256", hash);
    ms_h5_link(h5, group, name, ms_h5_end(h5, &data));
}

void ms_h5_name_type(ms_h5 *h5, ms_h5_object *group, const char *name, ms_h5_cell cell) {
    ms_h5_object type;
    ms_h5_begin(&type, false);
    ms_h5_add_type(h5, &type, cell);
    ms_h5_link(h5, group, name, ms_h5_end(h5, &type));
}
