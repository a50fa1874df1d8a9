/* Result trees as bytes, from one process to another of the same program: type, key, what it holds,
 * and the children up to an end mark. */
#include <string.h>

#include "base/value.h"

enum { END_MARK = 0x7F, DEPTH_MAX = 64 };

static void put_string(ms_buffer *out, const char *text) {
    ms_buffer_add(out, text, strlen(text) + 1);
}

static void put_byte(ms_buffer *out, int byte) {
    char text = (char)byte;
    ms_buffer_add(out, &text, 1);
}

static bool has_children(ms_value_type type) {
    return type == MS_VALUE_OBJECT || type == MS_VALUE_ARRAY;
}

static void pack(const ms_value *value, bool is_in_object, ms_buffer *out) {
    put_byte(out, (int)value->type);
    if (is_in_object) {
        put_string(out, value->key);
    }
    switch (value->type) {
    case MS_VALUE_BOOL:
        put_byte(out, value->as.boolean ? 1 : 0);
        break;
    case MS_VALUE_INT:
        ms_buffer_add(out, (const char *)&value->as.integer, sizeof value->as.integer);
        break;
    case MS_VALUE_DOUBLE:
        ms_buffer_add(out, (const char *)&value->as.number, sizeof value->as.number);
        break;
    case MS_VALUE_STRING:
        put_string(out, value->as.string);
        break;
    case MS_VALUE_NULL:
    case MS_VALUE_ARRAY:
    case MS_VALUE_OBJECT:
        break;
    }
    for (const ms_value *child = value->first; child != NULL; child = child->next) {
        pack(child, value->type == MS_VALUE_OBJECT, out);
    }
    if (has_children(value->type)) {
        put_byte(out, END_MARK);
    }
}

void ms_value_pack(const ms_value *object, ms_buffer *out) {
    pack(object, false, out);
}

typedef struct unpacker {
    const char *at;
    const char *end;
} unpacker;

static bool take(unpacker *u, void *out, size_t size) {
    if ((size_t)(u->end - u->at) < size) {
        return false;
    }
    memcpy(out, u->at, size);
    u->at += size;
    return true;
}

/* The string up to its NUL; NULL if there is none. */
static const char *take_string(unpacker *u) {
    const char *text = u->at;
    const char *stop = memchr(text, '\0', (size_t)(u->end - u->at));
    if (stop == NULL) {
        return NULL;
    }
    u->at = stop + 1;
    return text;
}

/* A leaf; NULL when the bytes end, or memory does. */
static ms_value *unpack_leaf(unpacker *u, ms_value_type type, ms_value *parent, const char *key) {
    char truth = 0;
    int64_t integer = 0;
    double number = 0;
    const char *text = NULL;
    switch (type) {
    case MS_VALUE_NULL:
        return ms_value_add(parent, key, MS_VALUE_NULL);
    case MS_VALUE_BOOL:
        return take(u, &truth, 1) ? ms_value_add_bool(parent, key, truth != 0) : NULL;
    case MS_VALUE_INT:
        return take(u, &integer, sizeof integer) ? ms_value_add_int(parent, key, integer) : NULL;
    case MS_VALUE_DOUBLE:
        return take(u, &number, sizeof number) ? ms_value_add_double(parent, key, number) : NULL;
    case MS_VALUE_STRING:
        text = take_string(u);
        return text != NULL ? ms_value_add_string(parent, key, text) : NULL;
    default:
        return NULL;
    }
}

/* The children of `parent` up to its end mark. */
static bool unpack_children(unpacker *u, ms_value *parent, int depth) {
    char type = 0;
    while (take(u, &type, 1)) {
        if (type == END_MARK) {
            return true;
        }
        const char *key = NULL;
        if (parent->type == MS_VALUE_OBJECT) {
            key = take_string(u);
            if (key == NULL) {
                return false;
            }
        }
        ms_value *child = NULL;
        if (!has_children((ms_value_type)type)) {
            child = unpack_leaf(u, (ms_value_type)type, parent, key);
        } else if (depth < DEPTH_MAX) {
            child = ms_value_add(parent, key, (ms_value_type)type);
            child = child != NULL && unpack_children(u, child, depth + 1) ? child : NULL;
        }
        if (child == NULL) {
            return false;
        }
    }
    return false;
}

ms_value *ms_value_unpack(const char *bytes, size_t length, ms_arena *arena) {
    unpacker u = {.at = bytes, .end = bytes + length};
    char type = 0;
    if (!take(&u, &type, 1) || type != MS_VALUE_OBJECT) {
        return NULL;
    }
    ms_value *root = ms_value_new_object(arena);
    bool is_whole = root != NULL && unpack_children(&u, root, 1) && u.at == u.end;
    return is_whole ? root : NULL;
}
