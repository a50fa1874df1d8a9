#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "meshsim/target.h"

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

/* Write all of a text and close the file; errno says what failed. */
static bool write_and_close(int file, const content *text) {
    bool is_written = write_all(file, text->data, text->length);
    int fault = errno;
    if (close(file) != 0 && is_written) {
        is_written = false;
        fault = errno;
    }
    errno = fault;
    return is_written;
}

/* A device or a pipe is written in place: a rename would put a plain file over it. */
static ms_status write_in_place(const ms_invocation *call, const char *path, const content *text) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) {
        return report_io(call, "cannot open", path);
    }
    return write_and_close(file, text) ? MS_OK : report_io(call, "cannot write", path);
}

static ms_status write_whole(const ms_invocation *call, const char *path, const content *text,
                             mode_t mode) {
    ms_target target;
    ms_status status = ms_target_open(&target, path, call->diag);
    if (status != MS_OK) {
        return status;
    }
    int file = open(target.temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) {
        return ms_target_fail(&target, strerror(errno), call->diag);
    }
    if (mode != 0 && fchmod(file, mode) != 0) {
        ms_diag_warning(call->diag, "cannot keep the mode of '%s': %s", path, strerror(errno));
    }
    if (!write_and_close(file, text)) {
        return ms_target_fail(&target, strerror(errno), call->diag);
    }
    return ms_target_commit(&target, call->diag);
}

/* Behind links, and with the mode it has. */
static ms_status replace_existing(const ms_invocation *call, const char *path, const content *text,
                                  mode_t mode) {
    char place[PATH_MAX];
    if (realpath(path, place) == NULL || access(place, W_OK) != 0) {
        return report_io(call, "cannot write", path);
    }
    return write_whole(call, place, text, mode & 07777);
}

ms_status ms_cli_write_file(const ms_invocation *call, const char *path, const char *text,
                            size_t length) {
    if (strcmp(path, "-") == 0) {
        return write_stdout(call, text, length);
    }
    struct stat found;
    content whole = {.data = text, .length = length};
    if (stat(path, &found) != 0) {
        return errno == ENOENT ? write_whole(call, path, &whole, 0)
                               : report_io(call, "cannot write", path);
    }
    if (S_ISDIR(found.st_mode)) {
        errno = EISDIR;
        return report_io(call, "cannot write", path);
    }
    return S_ISREG(found.st_mode) ? replace_existing(call, path, &whole, found.st_mode)
                                  : write_in_place(call, path, &whole);
}
