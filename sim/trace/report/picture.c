/* Pictures to files: SVG as it is; PNG and PDF by rsvg-convert of librsvg, as a program of its own,
 * so that nobody who draws nothing loads cairo, pango and what they need. */
#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/target.h"
#include "trace/report/report.h"

enum { BLOCK_B = 65536, REASON_B = 200, FILES = 3 };

/* What the program reads, writes and says, in memory: STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO.
 */
typedef struct conversion {
    int files[FILES];
    const char *path; /* of the picture */
    ms_diag *diag;
} conversion;

bool ms_report_has_ending(const char *path, const char *ending) {
    size_t length = strlen(path), end = strlen(ending);
    return length >= end && strcmp(path + length - end, ending) == 0;
}

static bool is_converted(const char *path) {
    return ms_report_has_ending(path, ".png") || ms_report_has_ending(path, ".pdf");
}

static ms_status fail(const conversion *c, const char *what) {
    ms_diag_error(c->diag, "cannot draw '%s': %s", c->path, what);
    return MS_E_IO;
}

static ms_status put(const conversion *c, const char *text, size_t length) {
    int file = c->files[STDIN_FILENO];
    while (length > 0) {
        ssize_t written = write(file, text, length);
        if (written < 0 && errno != EINTR) {
            return fail(c, strerror(errno));
        }
        text += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return lseek(file, 0, SEEK_SET) == 0 ? MS_OK : fail(c, strerror(errno));
}

static ms_status take(const conversion *c, int file, ms_buffer *out) {
    char block[BLOCK_B];
    ssize_t count = lseek(c->files[file], 0, SEEK_SET);
    do {
        count = count < 0 ? count : read(c->files[file], block, sizeof block);
        ms_buffer_add(out, block, count > 0 ? (size_t)count : 0);
    } while (count > 0);
    if (out->failed) {
        return ms_diag_no_memory(c->diag);
    }
    return count < 0 ? fail(c, strerror(errno)) : MS_OK;
}

/* The first line of what the program said. */
static ms_status fail_as_said(const conversion *c) {
    ms_buffer said = {0};
    ms_status status = take(c, STDERR_FILENO, &said);
    if (status == MS_OK) {
        const char *text = ms_buffer_text(&said);
        int length = (int)strcspn(text, "\n");
        char reason[REASON_B + 32];
        snprintf(reason, sizeof reason, "rsvg-convert failed%s%.*s", length > 0 ? ": " : "",
                 length < REASON_B ? length : REASON_B, text);
        status = fail(c, reason);
    }
    ms_buffer_release(&said);
    return status;
}

static ms_status wait_for(const conversion *c, pid_t pid) {
    int state = 0;
    pid_t ended;
    do {
        ended = waitpid(pid, &state, 0);
    } while (ended < 0 && errno == EINTR);
    if (ended < 0) {
        return fail(c, strerror(errno));
    }
    return WIFEXITED(state) && WEXITSTATUS(state) == 0 ? MS_OK : fail_as_said(c);
}

/* Twice as many pixels as the picture has units, for screens of today and for print. */
static ms_status run(const conversion *c) {
    char name[] = "rsvg-convert", pdf[] = "--format=pdf", unlimited[] = "--unlimited",
         zoom[] = "--zoom=2", white[] = "--background-color=white";
    bool is_pdf = ms_report_has_ending(c->path, ".pdf");
    char *words[] = {name, unlimited, white, is_pdf ? pdf : zoom, NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return ms_diag_no_memory(c->diag);
    }
    int error = 0;
    for (int i = 0; i < FILES && error == 0; i++) {
        error = posix_spawn_file_actions_adddup2(&actions, c->files[i], i);
    }
    pid_t pid = -1;
    error = error == 0 ? posix_spawnp(&pid, name, &actions, NULL, words, environ) : error;
    posix_spawn_file_actions_destroy(&actions);
    if (error == ENOENT) {
        return fail(c, "there is no program rsvg-convert (Debian's librsvg2-bin)");
    }
    return error != 0 ? fail(c, strerror(error)) : wait_for(c, pid);
}

static ms_status convert(conversion *c, const char *svg, size_t length, ms_buffer *out) {
    bool has_files = true;
    for (int i = 0; i < FILES; i++) {
        c->files[i] = memfd_create("picture", MFD_CLOEXEC);
        has_files = has_files && c->files[i] >= 0;
    }
    ms_status status = has_files ? put(c, svg, length) : fail(c, strerror(errno));
    status = status == MS_OK ? run(c) : status;
    status = status == MS_OK ? take(c, STDOUT_FILENO, out) : status;
    for (int i = 0; i < FILES; i++) {
        if (c->files[i] >= 0) {
            close(c->files[i]);
        }
    }
    return status;
}

ms_status ms_picture_write(const char *path, const char *svg, size_t length, ms_diag *diag) {
    if (!is_converted(path)) {
        return ms_target_write_text(path, svg, length, diag);
    }
    conversion c = {.path = path, .diag = diag};
    ms_buffer picture = {0};
    ms_status status = convert(&c, svg, length, &picture);
    if (status == MS_OK) {
        status = ms_target_write_text(path, ms_buffer_text(&picture), picture.length, diag);
    }
    ms_buffer_release(&picture);
    return status;
}
