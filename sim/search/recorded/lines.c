/* Reads lines of plain and compressed files (lines.h). zlib's gzgets hands out both. */
#include "search/recorded/lines.h"

#include <errno.h>
#include <string.h>
#include <zlib.h>

/* The longest line, and zlib's buffer [B]. */
enum { LINE_MAX_B = 1 << 16, BUFFER_B = 1 << 18 };

struct ms_lines {
    gzFile file;
    const char *path;
    ms_diag *diag;
    char *line;       /* [LINE_MAX_B] */
    ms_status status; /* the first fault, reported */
};

ms_status ms_lines_open(const char *path, ms_arena *arena, ms_diag *diag, ms_lines **lines_out) {
    ms_lines *lines = MS_NEW(arena, ms_lines, 1);
    char *line = MS_NEW(arena, char, LINE_MAX_B);
    if (lines == NULL || line == NULL) {
        return ms_diag_no_memory(diag);
    }
    errno = 0;
    *lines = (ms_lines){.file = gzopen(path, "rb"), .path = path, .diag = diag, .line = line};
    if (lines->file == NULL || gzbuffer(lines->file, BUFFER_B) != 0) {
        ms_diag_error(diag, "cannot read '%s': %s", path, strerror(errno == 0 ? ENOMEM : errno));
        return MS_E_IO;
    }
    *lines_out = lines;
    return MS_OK;
}

bool ms_lines_next(ms_lines *lines, ms_span *line_out) {
    const ms_mark mark = {.file = lines->path};
    if (gzgets(lines->file, lines->line, LINE_MAX_B) == NULL) {
        int code = Z_OK;
        const char *why = gzerror(lines->file, &code);
        if (code == Z_ERRNO) {
            ms_diag_error(lines->diag, "cannot read '%s': %s", lines->path, strerror(errno));
            lines->status = MS_E_IO;
        } else if (code != Z_OK && code != Z_STREAM_END) {
            why = code == Z_BUF_ERROR ? "the compressed text ends early" : why;
            lines->status = ms_diag_at(lines->diag, &mark, NULL, "is damaged: %s", why);
        }
        return false;
    }
    size_t length = strlen(lines->line);
    if (length + 1 == LINE_MAX_B && lines->line[length - 1] != '\n') {
        lines->status = ms_diag_at(lines->diag, &mark, NULL, "has a line of 64 KiB and more");
        return false;
    }
    *line_out = (ms_span){lines->line, lines->line + length};
    return true;
}

ms_status ms_lines_close(ms_lines *lines) {
    (void)gzclose(lines->file);
    return lines->status;
}
