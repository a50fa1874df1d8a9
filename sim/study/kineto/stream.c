/* Tokens of JSON by yajl, which needs the text only piece by piece; pieces of a file by zlib, which
 * decompresses those of a file in gzip's format and hands on all others. The only file that
 * includes their headers here. */
#include "study/kineto/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <yajl/yajl_parse.h>
#include <zlib.h>

enum {
    PIECE_B = 64 * 1024,       /* of the text that yajl gets at once */
    STRING_MAX_B = 256 * 1024, /* longest token that may run over several pieces */
    POOL_B = 3 << 20,          /* see take() */
    MESSAGE_B = 512,
};

struct ms_stream {
    const char *name;
    const ms_stream_sink *sink;
    ms_diag *diag;
    yajl_handle parser;
    ms_mender mender;
    const unsigned char *piece; /* under way */
    bool has_text;              /* something but blanks came */
    int lines;                  /* ends of lines before it */
    int depth;
    bool has_fault; /* somebody reported one */
    char *pool;
    size_t pool_used_B, last_B; /* `last_B`: where its newest object begins */
    size_t largest_B;           /* object that yajl has asked for */
    char buffer[PIECE_B + 1];   /* what was held of the last piece, and a piece */
};

/* ---- memory of yajl ----
 * yajl does not look whether it was given memory. It keeps three buffers, which grow by doubling: a
 * token that runs over pieces, the same without escapes, and a byte for each level. So it gets
 * places in a pool that is there from the start, and reading ends when a buffer has outgrown
 * STRING_MAX_B, which one piece cannot make it do twice: the two large ones take 512 KiB each,
 * and their halves, quarters and so on before as much again. */

static void *take(void *context, size_t size_B) {
    ms_stream *s = context;
    size_t rounded_B = (size_B + 15) / 16 * 16;
    s->largest_B = size_B > s->largest_B ? size_B : s->largest_B;
    if (rounded_B > POOL_B - s->pool_used_B) {
        return NULL; /* cannot be, as shown above */
    }
    s->last_B = s->pool_used_B;
    s->pool_used_B += rounded_B;
    return s->pool + s->last_B;
}

static void give_back(void *context, void *object) {
    ms_stream *s = context;
    if (object == s->pool + s->last_B) {
        s->pool_used_B = s->last_B;
    }
}

/* The newest object grows in its place; of any other the contents move, whose size nobody knows: no
 * more than what lies behind it. */
static void *grow(void *context, void *object, size_t size_B) {
    ms_stream *s = context;
    if (object == NULL) {
        return take(s, size_B);
    }
    size_t from_B = (size_t)((char *)object - s->pool);
    if (from_B == s->last_B) {
        s->pool_used_B = from_B;
        return take(s, size_B);
    }
    size_t behind_B = s->pool_used_B - from_B;
    void *copy = take(s, size_B);
    if (copy != NULL) {
        memcpy(copy, object, size_B < behind_B ? size_B : behind_B);
    }
    return copy;
}

/* ---- tokens ---- */

static ms_span span_of(const void *text, size_t length) {
    const char *from = text;
    return (ms_span){from, from + length};
}

static int on_begin(ms_stream *s, bool is_object) {
    if (++s->depth > MS_STREAM_DEPTH) {
        return ms_stream_fault(s, "expected at most %d levels of objects and lists, got more",
                               MS_STREAM_DEPTH);
    }
    return s->sink->begin(s->sink->context, is_object);
}

static int on_end(ms_stream *s) {
    s->depth--;
    return s->sink->end(s->sink->context);
}

static int on_value(ms_stream *s, ms_token token, const void *text, size_t length) {
    return s->sink->value(s->sink->context, token, span_of(text, length));
}

static int on_null(void *context) {
    return on_value(context, MS_TOKEN_NULL, "null", 4);
}
static int on_boolean(void *context, int value) {
    return on_value(context, MS_TOKEN_BOOL, value ? "true" : "false", value ? 4 : 5);
}
static int on_number(void *context, const char *text, size_t length) {
    return on_value(context, MS_TOKEN_NUMBER, text, length);
}
static int on_string(void *context, const unsigned char *text, size_t length) {
    return on_value(context, MS_TOKEN_STRING, text, length);
}
static int on_key(void *context, const unsigned char *text, size_t length) {
    ms_stream *s = context;
    return s->sink->key(s->sink->context, span_of(text, length));
}
static int on_begin_object(void *context) {
    return on_begin(context, true);
}
static int on_begin_list(void *context) {
    return on_begin(context, false);
}
static int on_end_either(void *context) {
    return on_end(context);
}

static const yajl_callbacks CALLBACKS = {
    .yajl_null = on_null,
    .yajl_boolean = on_boolean,
    .yajl_number = on_number,
    .yajl_string = on_string,
    .yajl_start_map = on_begin_object,
    .yajl_map_key = on_key,
    .yajl_end_map = on_end_either,
    .yajl_start_array = on_begin_list,
    .yajl_end_array = on_end_either,
};

/* ---- faults ---- */

int ms_stream_line(const ms_stream *stream) {
    int line = stream->lines + 1;
    size_t at = stream->piece == NULL ? 0 : yajl_get_bytes_consumed(stream->parser);
    for (size_t i = 0; i < at; i++) {
        line += stream->piece[i] == '\n' ? 1 : 0;
    }
    return line;
}

bool ms_stream_fault(ms_stream *stream, const char *format, ...) {
    char text[MESSAGE_B];
    ms_mark mark = {.file = stream->name, .line = ms_stream_line(stream)};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    ms_diag_at(stream->diag, &mark, NULL, "%s", text);
    stream->has_fault = true;
    return false;
}

/* yajl's own complaint, without its line's end. */
static ms_status report_syntax(ms_stream *s) {
    if (!s->has_text) {
        ms_stream_fault(s, "expected JSON, an object with traceEvents, got an empty file");
        return MS_E_INPUT;
    }
    unsigned char *text = yajl_get_error(s->parser, 0, NULL, 0);
    int length = (int)strcspn((const char *)text, "\n");
    ms_stream_fault(s, "not valid JSON: %.*s", length, (const char *)text);
    yajl_free_error(s->parser, text);
    return MS_E_INPUT;
}

/* Why it does not go on: a fault that was reported, no memory for the sink, or no JSON. */
static ms_status refuse(ms_stream *s, yajl_status result) {
    if (s->has_fault) {
        return MS_E_INPUT;
    }
    return result == yajl_status_client_canceled ? MS_E_NOMEM : report_syntax(s);
}

/* ---- reading ---- */

ms_status ms_stream_new(const char *name, const ms_stream_sink *sink, ms_arena *arena,
                        ms_diag *diag, ms_stream **stream_out) {
    ms_stream *s = MS_NEW(arena, ms_stream, 1);
    char *pool = MS_NEW(arena, char, POOL_B);
    if (s == NULL || pool == NULL) {
        return MS_E_NOMEM;
    }
    *s = (ms_stream){.name = name, .sink = sink, .diag = diag, .pool = pool};
    yajl_alloc_funcs memory = {.malloc = take, .realloc = grow, .free = give_back, .ctx = s};
    s->parser = yajl_alloc(&CALLBACKS, &memory, s);
    if (s->parser == NULL) {
        return MS_E_NOMEM;
    }
    /* names of kernels come from elsewhere, and are shown with care */
    yajl_config(s->parser, yajl_dont_validate_strings, 1);
    *stream_out = s;
    return MS_OK;
}

static bool is_blank(const unsigned char *piece, size_t length_B) {
    size_t at = 0;
    while (at < length_B && strchr(" \t\r\n", piece[at]) != NULL && piece[at] != '\0') {
        at++;
    }
    return at == length_B;
}

static ms_status take_mended(ms_stream *s, const unsigned char *piece, size_t length_B) {
    s->piece = piece;
    s->has_text = s->has_text || !is_blank(piece, length_B);
    yajl_status result = yajl_parse(s->parser, piece, length_B);
    if (result != yajl_status_ok) {
        return refuse(s, result);
    }
    for (size_t i = 0; i < length_B; i++) {
        s->lines += piece[i] == '\n' && s->lines < INT_MAX - 1 ? 1 : 0;
    }
    s->piece = NULL;
    if (s->largest_B > STRING_MAX_B) {
        ms_stream_fault(s, "expected strings of at most 256 KiB, got a longer one");
        return MS_E_INPUT;
    }
    return MS_OK;
}

/* A piece that stands in the buffer behind its first byte, which has what was held. */
static ms_status take_piece(ms_stream *s, size_t length_B, bool is_last) {
    bool is_held = s->mender.held != '\0';
    s->buffer[0] = s->mender.held;
    char *text = s->buffer + (is_held ? 0 : 1);
    size_t mended_B = ms_mend(&s->mender, text, length_B + (is_held ? 1 : 0), is_last);
    return mended_B == 0 ? MS_OK : take_mended(s, (const unsigned char *)text, mended_B);
}

static ms_status finish(ms_stream *s) {
    ms_status status = take_piece(s, 0, true);
    if (status != MS_OK) {
        return status;
    }
    yajl_status result = yajl_complete_parse(s->parser);
    return result == yajl_status_ok ? MS_OK : refuse(s, result);
}

ms_status ms_stream_read_text(ms_stream *stream, const char *text, size_t length_B) {
    ms_status status = MS_OK;
    for (size_t at = 0; at < length_B && status == MS_OK; at += PIECE_B) {
        size_t now = length_B - at < PIECE_B ? length_B - at : PIECE_B;
        memcpy(stream->buffer + 1, text + at, now);
        status = take_piece(stream, now, false);
    }
    return status == MS_OK ? finish(stream) : status;
}

/* zlib's own complaint, or the system's. */
static ms_status report_zlib(ms_stream *s, gzFile file) {
    int code = Z_OK, error = errno;
    ms_mark mark = {.file = s->name};
    const char *text = gzerror(file, &code);
    if (code == Z_MEM_ERROR) {
        return MS_E_NOMEM;
    }
    if (code == Z_ERRNO) {
        ms_diag_at(s->diag, &mark, NULL, "cannot read: %s", strerror(error));
        return error == EINTR ? MS_E_INTERRUPTED : MS_E_IO;
    }
    const char *words = strstr(text, ": "); /* behind zlib's own name of the file */
    ms_diag_at(s->diag, &mark, NULL, "damaged compression: %s", words == NULL ? text : words + 2);
    return MS_E_INPUT;
}

static ms_status read_pieces(ms_stream *s, gzFile file) {
    for (;;) {
        int count = gzread(file, s->buffer + 1, PIECE_B);
        int code = Z_OK;
        if (count > 0) {
            ms_status status = take_piece(s, (size_t)count, false);
            if (status != MS_OK) {
                return status;
            }
        } else if (count < 0 || (gzerror(file, &code), code != Z_OK)) {
            return report_zlib(s, file); /* a file that ends early has code Z_BUF_ERROR */
        } else {
            return finish(s);
        }
    }
}

/* Returns its descriptor; < 0: reported, with what there is to return. */
static int open_file(ms_stream *s, const char *path, ms_status *status_out) {
    ms_mark mark = {.file = s->name};
    struct stat info;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) {
        bool is_missing = errno == ENOENT || errno == ENOTDIR;
        *status_out = is_missing ? MS_E_INPUT : errno == EINTR ? MS_E_INTERRUPTED : MS_E_IO;
        ms_diag_at(s->diag, &mark, NULL, "%s%s", is_missing ? "no such file" : "cannot open: ",
                   is_missing ? "" : strerror(errno));
    } else if (fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode)) {
        *status_out = MS_E_INPUT;
        ms_diag_at(s->diag, &mark, NULL, "expected a JSON file, got a directory");
        close(descriptor);
        descriptor = -1;
    }
    return descriptor;
}

ms_status ms_stream_read_file(ms_stream *stream, const char *path) {
    ms_status status = MS_OK;
    int descriptor = open_file(stream, path, &status);
    if (descriptor < 0) {
        return status;
    }
    gzFile file = gzdopen(descriptor, "rb");
    if (file == NULL) {
        close(descriptor);
        return MS_E_NOMEM;
    }
    status = read_pieces(stream, file);
    gzclose_r(file);
    return status;
}
