/* Pictures to files: SVG as it is; PNG and PDF by rsvg-convert of librsvg, as a program of its own,
 * so that nobody who draws nothing loads cairo, pango and what they need. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/target.h"
#include "trace/report/report.h"

enum { BLOCK_B = 65536, REASON_B = 200, FILES = 3, NOT_STARTED = MS_EXIT_SIGNAL - 1 };

/* ---- another program as a filter ---- */

static bool put(int file, const char *text, size_t length) {
    while (length > 0) {
        ssize_t written = write(file, text, length);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        text += written > 0 ? written : 0;
        length -= written > 0 ? (size_t)written : 0;
    }
    return lseek(file, 0, SEEK_SET) == 0;
}

static bool take(int file, ms_buffer *out) {
    char block[BLOCK_B];
    ssize_t count = lseek(file, 0, SEEK_SET);
    do {
        count = count < 0 ? count : read(file, block, sizeof block);
        ms_buffer_add(out, block, count > 0 ? (size_t)count : 0);
    } while (count > 0);
    return count == 0;
}

/* In the child: the program, which ends when its parent does.  files: its standard streams; < 0:
 * those of this process. */
static void become(const char *const *words, const int *files, pid_t parent) {
    bool is_ready = prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent;
    for (int i = 0; i < FILES; i++) {
        is_ready = is_ready && (files[i] < 0 || dup2(files[i], i) >= 0);
    }
    if (is_ready) {
        execvp(words[0], (char *const *)(uintptr_t)words);
    }
    _exit(NOT_STARTED);
}

static bool wait_for(pid_t pid, int *exit_out) {
    int state = 0;
    pid_t ended;
    do {
        ended = waitpid(pid, &state, 0);
    } while (ended < 0 && errno == EINTR);
    *exit_out = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    return ended >= 0;
}

bool ms_filter_run(const ms_filter *filter, ms_buffer *out, int *exit_out) {
    int files[FILES] = {memfd_create("input", MFD_CLOEXEC), memfd_create("output", MFD_CLOEXEC),
                        filter->said == NULL ? -1 : memfd_create("said", MFD_CLOEXEC)};
    bool is_done = files[0] >= 0 && files[1] >= 0 && (filter->said == NULL || files[2] >= 0) &&
                   put(files[0], filter->text, filter->length);
    pid_t parent = getpid();
    pid_t pid = is_done ? fork() : -1;
    if (pid == 0) {
        become(filter->words, files, parent);
    }
    is_done = pid > 0 && wait_for(pid, exit_out) && take(files[1], out) &&
              (filter->said == NULL || take(files[2], filter->said));
    int error = errno;
    for (int i = 0; i < FILES; i++) {
        if (files[i] >= 0) {
            close(files[i]);
        }
    }
    errno = error;
    return is_done;
}

/* ---- pictures ---- */

bool ms_report_has_ending(const char *path, const char *ending) {
    size_t length = strlen(path), end = strlen(ending);
    return length >= end && strcmp(path + length - end, ending) == 0;
}

static ms_status fail(const char *path, const char *what, ms_diag *diag) {
    ms_diag_error(diag, "cannot draw '%s': %s", path, what);
    return MS_E_IO;
}

/* Convert SVG to the format that the path ends in, with twice as many pixels as the picture has
 * units, for screens of today and for print. */
static ms_status convert(const char *path, ms_filter *filter, ms_buffer *out, ms_diag *diag) {
    const char *kind = ms_report_has_ending(path, ".pdf") ? "--format=pdf" : "--zoom=2";
    const char *const words[] = {"rsvg-convert", "--unlimited", "--background-color=white", kind,
                                 NULL};
    int exit_code = 0;
    filter->words = words;
    if (!ms_filter_run(filter, out, &exit_code)) {
        return fail(path, strerror(errno), diag);
    }
    if (out->failed || filter->said->failed) {
        return ms_diag_no_memory(diag);
    }
    if (exit_code == NOT_STARTED) {
        return fail(path, "there is no program rsvg-convert (Debian's librsvg2-bin)", diag);
    }
    const char *text = ms_buffer_text(filter->said); /* of which the first line is reported */
    int length = (int)strcspn(text, "\n");
    char reason[REASON_B + 32];
    snprintf(reason, sizeof reason, "rsvg-convert failed%s%.*s", length > 0 ? ": " : "",
             length < REASON_B ? length : REASON_B, text);
    return exit_code == 0 ? MS_OK : fail(path, reason, diag);
}

ms_status ms_picture_write(const char *path, const char *svg, size_t length, ms_diag *diag) {
    if (!ms_report_has_ending(path, ".png") && !ms_report_has_ending(path, ".pdf")) {
        return ms_target_write_text(path, svg, length, diag);
    }
    ms_buffer picture = {0}, said = {0};
    ms_filter filter = {.text = svg, .length = length, .said = &said};
    ms_status status = convert(path, &filter, &picture, diag);
    if (status == MS_OK) {
        status = ms_target_write_text(path, ms_buffer_text(&picture), picture.length, diag);
    }
    ms_buffer_release(&picture);
    ms_buffer_release(&said);
    return status;
}
