/* Input texts: reads a file within its size limit, checks that it is UTF-8 without control
 * characters, and finds where its lines start. The parsers of YAML and JSON then mark places by the
 * number of a character, which ms_source_mark turns into line and column. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/config/input.h"
#include "base/config/internal.h"
#include "base/failure.h"
#include "base/text.h"

enum { READ_B = 64 * 1024, MIB = 1024 * 1024 };

/* Name and size limit by ms_file_type. A workload has some KiB. 256 MiB hold a schedule of 2.7e7
 * passes, which takes 10 s and 2.2 GB to read and to run with `meshsim schedule`. */
static const struct {
    const char *name;
    size_t limit_MiB;
} TYPES[] = {
    [MS_FILE_YAML] = {"YAML", 16},  [MS_FILE_CSV] = {"CSV", 256},    [MS_FILE_JSON] = {"JSON", 16},
    [MS_FILE_TEXT] = {"text", 256}, [MS_FILE_HDF5] = {"HDF5", 1024},
};

/* Whether a YAML text may hold a character. Three line ends that YAML allows are excluded, because
 * no editor shows them as such (NEL, LS, PS). Source: YAML 1.1, section 5.1 and 5.4. */
static bool is_allowed(uint32_t code) {
    if (code < 0xA0) {
        return code == '\t' || code == '\n' || code == '\r' || (code >= 0x20 && code < 0x7F);
    }
    return code != 0x2028 && code != 0x2029 && code != 0xFEFF && code != 0xFFFE && code != 0xFFFF;
}

/* The first bad place of a text, or its end, with the characters and lines before that place. */
typedef struct scan {
    size_t at_B, characters, line_count;
    uint32_t code; /* code point of the bad character, where is_utf8 */
    bool is_utf8;  /* false: the bytes at the bad place are no UTF-8 */
} scan;

/* Find the first byte that is no UTF-8 or the first character that is not allowed; at_B is length_B
 * if there is none. */
static void scan_text(const char *text, size_t length_B, scan *out) {
    *out = (scan){.line_count = 1, .is_utf8 = true};
    while (out->at_B < length_B) {
        size_t length = ms_text_decode(text + out->at_B, length_B - out->at_B, &out->code);
        if (length == 0 || !is_allowed(out->code)) {
            out->is_utf8 = length != 0;
            return;
        }
        out->line_count += out->code == '\n' ? 1 : 0;
        out->at_B += length;
        out->characters++;
    }
}

/* List the first character of each line of a source.  line_count: lines to list; fewer than the
 * text has are enough for a message about one of them.  Returns false when memory runs out. */
static bool find_lines(ms_source *source, size_t line_count, ms_arena *arena) {
    source->lines = MS_NEW(arena, size_t, line_count + 1);
    if (source->lines == NULL) {
        return false;
    }
    source->line_count = 1;
    size_t characters = 0;
    for (size_t i = 0; i < source->length_B && source->line_count < line_count; i++) {
        characters += ms_text_is_continuation(source->text[i]) ? 0 : 1;
        if (source->text[i] == '\n') {
            source->lines[source->line_count++] = characters;
        }
    }
    return true;
}

/* Replace everything that must not be sent to a terminal by '?', so that a message can show the
 * line. */
static void blank_bad_bytes(char *text, size_t length_B) {
    size_t at = 0;
    while (at < length_B) {
        uint32_t code = 0;
        size_t length = ms_text_decode(text + at, length_B - at, &code);
        if (length == 0 || !is_allowed(code)) {
            size_t count = length == 0 ? 1 : length;
            memset(text + at, '?', count);
            length = count;
        }
        at += length;
    }
}

/* Report the bad place that scan_text found. blank_bad_bytes changes `text`. */
static ms_status report_bad_text(ms_source *source, char *text, const scan *bad, ms_arena *arena,
                                 ms_diag *diag) {
    unsigned char byte = (unsigned char)text[bad->at_B];
    blank_bad_bytes(text, source->length_B);
    if (!find_lines(source, bad->line_count, arena)) {
        return MS_E_NOMEM;
    }
    ms_mark mark = ms_source_mark(source, bad->characters, bad->characters + 1);
    if (!bad->is_utf8) {
        return ms_diag_at(diag, &mark, NULL, "expected UTF-8 text, got the byte 0x%02x", byte);
    }
    if (bad->code == 0) {
        return ms_diag_at(diag, &mark, NULL, "expected text, got a NUL byte");
    }
    return ms_diag_at(diag, &mark, NULL, "expected text, got the control character U+%04X",
                      (unsigned)bad->code);
}

/* A byte order mark of UTF-8 is skipped; one of UTF-16 has a message of its own, as its text would
 * only be reported as bytes that are no UTF-8. */
ms_status ms_source_init(ms_source *source, const char *name, const char *text, size_t length_B,
                         ms_arena *arena, ms_diag *diag) {
    *source = (ms_source){.file = ms_arena_strdup(arena, name)};
    if (source->file == NULL) {
        return MS_E_NOMEM;
    }
    if (length_B >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0)) {
        ms_mark mark = {.file = source->file, .line = 1, .column = 1, .width = 1};
        return ms_diag_at(diag, &mark, NULL, "expected UTF-8 text, got UTF-16");
    }
    if (length_B >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        text += 3;
        length_B -= 3;
    }
    char *copy = ms_arena_strndup(arena, text, length_B);
    if (copy == NULL) {
        return MS_E_NOMEM;
    }
    source->text = copy;
    source->length_B = length_B;
    scan end;
    scan_text(copy, length_B, &end);
    if (end.at_B < length_B) {
        return report_bad_text(source, copy, &end, arena, diag);
    }
    return find_lines(source, end.line_count, arena) ? MS_OK : MS_E_NOMEM;
}

/* A binary search finds the last line that begins at or before `from`. The mark ends before the
 * line feed. */
ms_mark ms_source_mark(const ms_source *source, size_t from, size_t to) {
    size_t low = 0;
    size_t high = source->line_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (source->lines[middle] <= from) {
            low = middle;
        } else {
            high = middle;
        }
    }
    if (low + 1 < source->line_count && to >= source->lines[low + 1]) {
        to = source->lines[low + 1] - 1;
    }
    size_t width = to > from ? to - from : 1;
    return (ms_mark){.file = source->file,
                     .source = source->text,
                     .source_B = source->length_B,
                     .line = (int)low + 1,
                     .column = (int)(from - source->lines[low]) + 1,
                     .width = (int)width};
}

/* Report by errno why a file could not be opened. A name that leads to no file is MS_E_INPUT; other
 * errors are MS_E_IO, and those of the system itself are recorded (failure.h). */
static ms_status report_open(const char *path, ms_diag *diag) {
    int error = errno;
    ms_mark mark = {.file = path};
    if (path[0] == '\0') {
        return ms_diag_at(diag, NULL, NULL, "expected a file's name, got ''");
    }
    if (error == ENOENT || error == ENOTDIR) {
        return ms_diag_at(diag, &mark, NULL, "no such file");
    }
    ms_diag_at(diag, &mark, NULL, "cannot open: %s", strerror(error));
    if (error == EINTR) { /* a signal while a pipe waits for its writer */
        return MS_E_INTERRUPTED;
    }
    if (error == ENAMETOOLONG || error == ELOOP) {
        return MS_E_INPUT;
    }
    ms_failure_note_file(path, error);
    return MS_E_IO;
}

size_t ms_file_limit_B(ms_file_type type) {
    return TYPES[type].limit_MiB * MIB;
}

/* Refuse an HDF5 file, such as a trace, where a text is expected; otherwise the message would only
 * be that its bytes are no UTF-8. pread does not move the position of the descriptor. */
static ms_status refuse_hdf5(int descriptor, const char *path, ms_file_type type, ms_diag *diag) {
    char start[16];
    ssize_t length = pread(descriptor, start, sizeof start, 0);
    if (length <= 0 || !ms_input_is_hdf5(start, (size_t)length)) {
        return MS_OK;
    }
    char text[512];
    ms_mark mark = {.file = path};
    return ms_diag_at(diag, &mark, NULL, "expected a %s file, got %s", TYPES[type].name,
                      ms_input_explain(MS_INPUT_TRACE, MS_INPUT_UNKNOWN, path, text, sizeof text));
}

/* Refuse a directory, an HDF5 file, and a regular file that is larger than the limit of its type,
 * before the text is read.  Returns MS_OK; MS_E_IO, MS_E_INPUT (reported). */
static ms_status check_kind(int descriptor, const char *path, ms_file_type type, ms_diag *diag) {
    ms_mark mark = {.file = path};
    struct stat info;
    if (fstat(descriptor, &info) != 0) {
        ms_failure_note_file(path, errno);
        ms_diag_at(diag, &mark, NULL, "cannot read: %s", strerror(errno));
        return MS_E_IO;
    }
    if (S_ISDIR(info.st_mode)) {
        return ms_diag_at(diag, &mark, NULL, "expected a %s file, got a directory",
                          TYPES[type].name);
    }
    bool may_be_refused = S_ISREG(info.st_mode) && type != MS_FILE_HDF5;
    if (may_be_refused && refuse_hdf5(descriptor, path, type, diag) != MS_OK) {
        return MS_E_INPUT;
    }
    if (S_ISREG(info.st_mode) && info.st_size > (off_t)ms_file_limit_B(type)) {
        return ms_diag_at(diag, &mark, NULL, "expected a %s file of at most %zu MiB, got %.1f MiB",
                          TYPES[type].name, TYPES[type].limit_MiB, (double)info.st_size / MIB);
    }
    return MS_OK;
}

/* Append the whole file to `out`.  Returns MS_OK; MS_E_INPUT where it exceeds the limit of its
 * type, MS_E_IO, MS_E_INTERRUPTED (all reported); MS_E_NOMEM. */
static ms_status read_all(int descriptor, const char *path, ms_file_type type, ms_buffer *out,
                          ms_diag *diag) {
    ms_mark mark = {.file = path};
    char chunk[READ_B];
    for (;;) {
        ssize_t count = read(descriptor, chunk, sizeof chunk);
        if (count < 0) {
            int error = errno;
            ms_diag_at(diag, &mark, NULL, "cannot read: %s", strerror(error));
            if (error == EINTR) {
                return MS_E_INTERRUPTED;
            }
            ms_failure_note_file(path, error);
            return MS_E_IO;
        }
        if (count == 0) {
            return out->failed ? MS_E_NOMEM : MS_OK;
        }
        ms_buffer_add(out, chunk, (size_t)count);
        /* check_kind cannot know the size of a pipe or device */
        if (out->length > ms_file_limit_B(type)) {
            return ms_diag_at(diag, &mark, NULL, "expected a %s file of at most %zu MiB, got more",
                              TYPES[type].name, TYPES[type].limit_MiB);
        }
    }
}

ms_status ms_file_read(const char *path, ms_file_type type, ms_buffer *out, ms_diag *diag) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (descriptor < 0) {
        return report_open(path, diag);
    }
    ms_status status = check_kind(descriptor, path, type, diag);
    status = status == MS_OK ? read_all(descriptor, path, type, out, diag) : status;
    close(descriptor);
    return status;
}
