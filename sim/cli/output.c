#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

typedef struct content {
    const char *data;
    size_t length;
} content;

static ms_status report_io(const ms_invocation *call, const char *what, const char *path) {
    ms_diag_error(call->diag, "%s '%s': %s", what, path, strerror(errno));
    return MS_E_IO;
}

ms_status ms_cli_finish_stdout(const ms_invocation *call) {
    bool had_failed = ferror(stdout) != 0;
    if (fflush(stdout) != 0 || had_failed) {
        ms_diag_error(call->diag, "cannot write to the standard output: %s",
                      errno != 0 ? strerror(errno) : "an earlier write failed");
        return MS_E_IO;
    }
    return MS_OK;
}

static ms_status write_stdout(const ms_invocation *call, const char *text, size_t length) {
    errno = 0;
    fwrite(text, 1, length, stdout);
    return ms_cli_finish_stdout(call);
}

ms_status ms_cli_print_json(const ms_invocation *call, const ms_value *root) {
    if (root == NULL) {
        ms_diag_error(call->diag, "out of memory");
        return MS_E_NOMEM;
    }
    ms_buffer text;
    ms_buffer_init(&text);
    ms_value_write_json(root, 2, &text);
    ms_buffer_puts(&text, "\n");
    ms_status status = MS_E_NOMEM;
    if (text.failed) {
        ms_diag_error(call->diag, "out of memory");
    } else {
        status = write_stdout(call, ms_buffer_text(&text), text.length);
    }
    ms_buffer_release(&text);
    return status;
}

static bool write_all(int file, const char *text, size_t length) {
    while (length > 0) {
        ssize_t written = write(file, text, length);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written < 0) {
            return false;
        }
        text += written;
        length -= (size_t)written;
    }
    return true;
}

/* A device or a pipe is written in place: a rename would put a plain file over it. */
static ms_status write_in_place(const ms_invocation *call, const char *path, const content *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) {
        return report_io(call, "cannot open", path);
    }
    bool is_written = write_all(file, text->data, text->length);
    int fault = errno;
    if (close(file) != 0 && is_written) {
        is_written = false;
        fault = errno;
    }
    errno = fault;
    return is_written ? MS_OK : report_io(call, "cannot write", path);
}

/* Mode of a new file: what open(2) would have given it. */
static mode_t default_mode(void) {
    mode_t mask = umask(0);
    umask(mask);
    return 0666 & ~mask;
}

/* Fill the temporary file and put it in place of `path`; errno says what failed. */
static bool fill_and_rename(int file, const char *temporary, const char *path, const content *text,
                            mode_t mode) {
    bool is_written =
        fchmod(file, mode) == 0 && write_all(file, text->data, text->length) && fsync(file) == 0;
    int fault = errno;
    if (close(file) != 0 && is_written) {
        is_written = false;
        fault = errno;
    }
    errno = fault;
    return is_written && rename(temporary, path) == 0;
}

/* `path` is the final place, links resolved. Signals wait: nobody may stop us between creation and
 * unlink. */
static ms_status write_through_temporary(const ms_invocation *call, const char *path,
                                         const content *text, mode_t mode) {
    char *temporary = ms_arena_printf(call->arena, "%s.XXXXXX", path);
    if (temporary == NULL) {
        ms_diag_error(call->diag, "out of memory");
        return MS_E_NOMEM;
    }
    sigset_t blocked;
    sigset_t before;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGHUP);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    ms_status status = MS_OK;
    int file = mkostemp(temporary, O_CLOEXEC);
    if (file < 0) {
        status = report_io(call, "cannot create a file beside", path);
    } else if (!fill_and_rename(file, temporary, path, text, mode)) {
        status = report_io(call, "cannot write", path);
        unlink(temporary);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return status;
}

static ms_status replace_existing(const ms_invocation *call, const char *path, const content *text,
                                  mode_t mode) {
    char target[PATH_MAX];
    if (realpath(path, target) == NULL || access(target, W_OK) != 0) {
        return report_io(call, "cannot write", path);
    }
    return write_through_temporary(call, target, text, mode & 07777);
}

ms_status ms_cli_write_file(const ms_invocation *call, const char *path, const char *text,
                            size_t length) {
    if (strcmp(path, "-") == 0) {
        return write_stdout(call, text, length);
    }
    struct stat found;
    content whole = {.data = text, .length = length};
    if (stat(path, &found) != 0) {
        return errno == ENOENT ? write_through_temporary(call, path, &whole, default_mode())
                               : report_io(call, "cannot write", path);
    }
    if (S_ISDIR(found.st_mode)) {
        errno = EISDIR;
        return report_io(call, "cannot write", path);
    }
    return S_ISREG(found.st_mode) ? replace_existing(call, path, &whole, found.st_mode)
                                  : write_in_place(call, path, &whole);
}
