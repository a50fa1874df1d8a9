/* Writes pictures to files (ms_picture_write): SVG as it is; PNG and PDF by the program
 * rsvg-convert of librsvg, so that meshsim itself does not load cairo, pango and their libraries.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/target.h"
#include "trace/report/report.h"

enum { BLOCK_B = 65536, REASON_B = 200, FILES = 3, NOT_STARTED = MS_EXIT_SIGNAL - 1 };

/* ---- another program as a filter ---- */

/* Write a text to the program, which reads it whole before it writes anything. If the program has
 * ended already, its exit code is the reason, so that a failure here is not reported. */
static void write_all(int file, const char *text, size_t length) {
    for (size_t done = 0; done < length;) {
        ssize_t written = write(file, text + done, length - done);
        if (written < 0 && errno != EINTR) {
            return;
        }
        done += written > 0 ? (size_t)written : 0;
    }
}

/* Append all that can be read from a file. */
static void read_all(int file, ms_buffer *out) {
    char block[BLOCK_B];
    ssize_t count = 0;
    do {
        count = read(file, block, sizeof block);
        ms_buffer_add(out, block, count > 0 ? (size_t)count : 0);
    } while (count > 0 || (count < 0 && errno == EINTR));
}

/* In the child process: replace it by the program, which gets a SIGTERM when the parent ends.
 * files: [FILES] that become its standard input, output and error; < 0: the stream of this
 * process is kept.  parent: the id of the parent, to notice that the parent has ended before
 * prctl. */
static void exec_program(const char *const *words, const int *files, pid_t parent) {
    bool is_ready = prctl(PR_SET_PDEATHSIG, SIGTERM) == 0 && getppid() == parent;
    for (int i = 0; i < FILES; i++) {
        is_ready = is_ready && (files[i] < 0 || dup2(files[i], i) >= 0);
    }
    if (is_ready) {
        execvp(words[0], (char *const *)(uintptr_t)words);
    }
    _exit(NOT_STARTED);
}

/* Wait until a child has ended.  *exit_out: its exit code; -1: a signal ended it.  Returns false
 * where the system fails. */
static bool wait_for(pid_t pid, int *exit_out) {
    int state = 0;
    pid_t ended;
    do {
        ended = waitpid(pid, &state, 0);
    } while (ended < 0 && errno == EINTR);
    *exit_out = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
    return ended >= 0;
}

/* Close a file if it is open, and mark it as closed (-1). */
static void close_end(int *file) {
    if (*file >= 0) {
        close(*file);
        *file = -1;
    }
}

/* The program is a child with pipes as standard input and output, and, if its messages are wanted,
 * a file in memory as standard error. The whole input is written before the output is read. */
bool ms_filter_run(const ms_filter *filter, ms_buffer *out, int *exit_out) {
    /* pipe for the input: read end, write end; pipe for the output: likewise; file for errors */
    int ends[5] = {-1, -1, -1, -1, -1};
    pid_t parent = getpid(), pid = -1;
    bool is_ready = pipe2(ends, O_CLOEXEC) == 0 && pipe2(ends + 2, O_CLOEXEC) == 0;
    if (is_ready && filter->said != NULL) {
        ends[4] = memfd_create("said", MFD_CLOEXEC);
        is_ready = ends[4] >= 0;
    }
    pid = is_ready ? fork() : -1;
    if (pid == 0) {
        exec_program(filter->words, (const int[FILES]){ends[0], ends[3], ends[4]}, parent);
    }
    int error = errno;
    close_end(&ends[0]);
    close_end(&ends[3]);
    if (pid > 0) {
        write_all(ends[1], filter->text, filter->length);
        close_end(&ends[1]);
        read_all(ends[2], out);
        is_ready = wait_for(pid, exit_out);
        error = errno;
        if (filter->said != NULL && lseek(ends[4], 0, SEEK_SET) == 0) {
            read_all(ends[4], filter->said);
        }
    }
    for (int i = 0; i < 5; i++) {
        close_end(&ends[i]);
    }
    errno = error;
    return pid > 0 && is_ready;
}

/* ---- pictures ---- */

bool ms_report_has_ending(const char *path, const char *ending) {
    size_t length = strlen(path), end = strlen(ending);
    return length >= end && strcasecmp(path + length - end, ending) == 0;
}

/* Report that a picture cannot be written. */
static ms_status fail(const char *path, const char *what, ms_diag *diag) {
    ms_diag_error(diag, "cannot draw '%s': %s", path, what);
    return MS_E_IO;
}

/* Convert SVG to the format of the path's ending, PNG with two pixels per unit of the picture, for
 * today's screens and for print.  filter: with the SVG as text. */
static ms_status convert(const char *path, ms_filter *filter, ms_buffer *out, ms_diag *diag) {
    const char *kind = ms_report_has_ending(path, ".pdf") ? "--format=pdf" : "--zoom=2";
    const char *const words[] = {"rsvg-convert", "--unlimited", "--background-color=white", kind,
                                 NULL};
    int exit_code = 0;
    filter->words = words;
    bool is_run = ms_filter_run(filter, out, &exit_code);
    filter->words = NULL; /* `words` ends with this function */
    if (!is_run) {
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
