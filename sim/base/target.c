/* Writes a file under a temporary name and renames it when it is complete (target.h): finds the
 * final name behind symbolic links, checks that it can be written, and creates, syncs and renames
 * the temporary file (temporary.h). */
#include "base/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/temporary.h"

/* LINKS_MAX: symbolic links that are followed, as many as Linux follows. ANYONE: mode of a new file
 * before the umask. MODE_BITS: the bits of a mode that are kept. */
enum { LINKS_MAX = 40, ANYONE = 0666, MODE_BITS = 0777 };

/* Report that a path cannot be written. Returns MS_E_IO. */
static ms_status report_refusal(ms_diag *diag, const char *path, const char *cause) {
    ms_diag_error(diag, "cannot write '%s': %s", path, cause);
    return MS_E_IO;
}

/* ---- finding the final name ---- */

/* Split a path into its folder, "." where the path has no slash, and its last name, which may be
 * empty.  name_out: points into `path`.  Returns false where the folder is too long. */
static bool split(const char *path, char folder_out[MS_TARGET_PATH_MAX], const char **name_out) {
    const char *slash = strrchr(path, '/');
    size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    *name_out = slash == NULL ? path : slash + 1;
    int used = slash == NULL ? snprintf(folder_out, MS_TARGET_PATH_MAX, ".")
                             : snprintf(folder_out, MS_TARGET_PATH_MAX, "%.*s", (int)length, path);
    return used < MS_TARGET_PATH_MAX;
}

/* Find the file that a path leads to through symbolic links; the file itself need not exist.
 * resolved_out: its path.  Returns 0, or an errno: ELOOP after LINKS_MAX links, ENAMETOOLONG, EIO.
 */
static int follow_links(const char *path, char resolved_out[MS_TARGET_PATH_MAX]) {
    if (snprintf(resolved_out, MS_TARGET_PATH_MAX, "%s", path) >= MS_TARGET_PATH_MAX) {
        return ENAMETOOLONG;
    }
    for (int i = 0; i < LINKS_MAX; i++) {
        char link[MS_TARGET_PATH_MAX];
        char folder[MS_TARGET_PATH_MAX];
        const char *name = NULL;
        ssize_t length = readlink(resolved_out, link, sizeof link - 1);
        if (length < 0) {
            /* no link (EINVAL), or no file (ENOENT); check_folder finds other faults of the path */
            return errno == EIO ? EIO : 0;
        }
        link[length] = '\0';
        if (!split(resolved_out, folder, &name)) {
            return ENAMETOOLONG;
        }
        int used = link[0] == '/'
                       ? snprintf(resolved_out, MS_TARGET_PATH_MAX, "%s", link)
                       : snprintf(resolved_out, MS_TARGET_PATH_MAX, "%s/%s", folder, link);
        if (used >= MS_TARGET_PATH_MAX) {
            return ENAMETOOLONG;
        }
    }
    return ELOOP;
}

/* Check that the folder of a target exists and that files can be created in it. */
static ms_status check_folder(const ms_target *target, ms_diag *diag) {
    struct stat facts;
    char cause[MS_TARGET_PATH_MAX + 64];
    if (stat(target->folder, &facts) != 0) {
        snprintf(cause, sizeof cause, "folder '%s': %s", target->folder, strerror(errno));
        return report_refusal(diag, target->path, cause);
    }
    if (!S_ISDIR(facts.st_mode)) {
        snprintf(cause, sizeof cause, "'%s' is no folder", target->folder);
        return report_refusal(diag, target->path, cause);
    }
    if (access(target->folder, W_OK | X_OK) != 0) {
        snprintf(cause, sizeof cause, "folder '%s': %s", target->folder, strerror(errno));
        return report_refusal(diag, target->path, cause);
    }
    return MS_OK;
}

/* The descriptor of this process, stdout or stderr, that is open on a file: on /dev/stdout, or on a
 * file to which the shell has redirected it; -1: neither is. Such a file must not be replaced, as
 * the new file would lack the rest of what the program prints.  facts: of the file. */
static int standard_stream(const struct stat *facts) {
    for (int file = STDOUT_FILENO; file <= STDERR_FILENO; file++) {
        struct stat own;
        if (fstat(file, &own) == 0 && own.st_dev == facts->st_dev && own.st_ino == facts->st_ino) {
            return file;
        }
    }
    return -1;
}

/* Check that the existing file of a target's path can be replaced or, if it is no regular file, be
 * written in place. Stores which of these, and the file's rights, in the target.  facts: of the
 * file. */
static ms_status check_existing(ms_target *target, const struct stat *facts, ms_target_use use,
                                ms_diag *diag) {
    if (S_ISDIR(facts->st_mode)) {
        return report_refusal(diag, target->path, "it is a folder");
    }
    if (access(target->path, W_OK) != 0) {
        return report_refusal(diag, target->path, strerror(errno));
    }
    bool is_regular = S_ISREG(facts->st_mode);
    target->is_in_place = !is_regular || standard_stream(facts) >= 0;
    if (target->is_in_place && use == MS_TARGET_FILE) {
        return report_refusal(diag, target->path,
                              is_regular ? "it is the standard output" : "it is no regular file");
    }
    target->is_older = true;
    target->mode = facts->st_mode & MODE_BITS;
    target->owner = facts->st_uid;
    target->group = facts->st_gid;
    return MS_OK;
}

/* Fill a target from its path, all but the temporary file, and check that it can be written.
 * Returns MS_OK; MS_E_IO (reported). */
static ms_status find_target(ms_target *target, const char *path, ms_target_use use,
                             ms_diag *diag) {
    struct stat facts;
    const char *name = NULL;
    *target = (ms_target){.path = path, .file = -1};
    if (path[0] == '\0') {
        return report_refusal(diag, path, "the name is empty");
    }
    if (stat(path, &facts) == 0) {
        ms_status status = check_existing(target, &facts, use, diag);
        if (status != MS_OK || target->is_in_place) {
            return status;
        }
    } else if (errno != ENOENT && errno != ENOTDIR) {
        return report_refusal(diag, path, strerror(errno));
    }
    int error = follow_links(path, target->resolved_path);
    if (error != 0 || !split(target->resolved_path, target->folder, &name)) {
        return report_refusal(diag, path, strerror(error != 0 ? error : ENAMETOOLONG));
    }
    return name[0] == '\0' ? report_refusal(diag, path, "it is a folder")
                           : check_folder(target, diag);
}

ms_status ms_target_check(const char *path, ms_target_use use, ms_diag *diag) {
    ms_target target;
    return find_target(&target, path, use, diag);
}

/* ---- opening and writing ---- */

/* Open a device or pipe, or duplicate the descriptor if the path is this process's stdout or
 * stderr. Returns a descriptor; < 0: errno says why. */
static int open_in_place(const char *path) {
    struct stat facts;
    int stream = stat(path, &facts) == 0 ? standard_stream(&facts) : -1;
    if (stream < 0) {
        return open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
    }
    (void)fflush(stdout); /* text that was printed before must precede the file's */
    return fcntl(stream, F_DUPFD_CLOEXEC, 0);
}

/* A file that is written in place needs no temporary file. */
ms_status ms_target_open(ms_target *target_out, const char *path, ms_target_use use,
                         ms_diag *diag) {
    ms_status status = find_target(target_out, path, use, diag);
    if (status != MS_OK) {
        return status;
    }
    if (target_out->is_in_place) {
        target_out->file = open_in_place(path);
    } else {
        ms_temporary_sweep(target_out->folder);
        target_out->file = ms_temporary_create(target_out->folder, target_out->temporary,
                                               sizeof target_out->temporary);
    }
    if (target_out->file < 0) {
        target_out->temporary[0] = '\0';
        return report_refusal(diag, path, strerror(errno));
    }
    return MS_OK;
}

ms_status ms_target_write(ms_target *target, const char *bytes, size_t length) {
    while (length > 0 && target->error == 0) {
        ssize_t written = write(target->file, bytes, length);
        if (written >= 0) {
            bytes += written;
            length -= (size_t)written;
        } else if (errno != EINTR) {
            target->error = errno;
        }
    }
    return target->error == 0 ? MS_OK : MS_E_IO;
}

/* ---- the end ---- */

/* Close the file, and record an error of closing a file that is written in place: it is not synced,
 * so the failure of a write may show only here. */
static void close_file(ms_target *target) {
    bool is_closed = target->file < 0 || close(target->file) == 0;
    if (!is_closed && target->is_in_place && target->error == 0) {
        target->error = errno;
    }
    target->file = -1;
}

/* Give the new file the owner and mode of the file that it replaces, or the mode of any new file.
 * Failures are ignored: some file systems have no owners or modes. */
static void set_rights(const ms_target *target) {
    if (!target->is_older) {
        mode_t mask = umask(0); /* the mask can only be read by setting it */
        (void)umask(mask);
        (void)fchmod(target->file, ANYONE & ~mask);
        return;
    }
    /* only root may change the owner; a group of which the user is a member may still be kept */
    if (fchown(target->file, target->owner, target->group) != 0) {
        int kept = fchown(target->file, (uid_t)-1, target->group);
        (void)kept; /* the compiler warns of an unused result */
    }
    (void)fchmod(target->file, target->mode);
}

/* The order matters: the file must be on disk before it gets its name, or a power failure could
 * leave an empty file under the name. */
ms_status ms_target_commit(ms_target *target, ms_diag *diag) {
    if (target->error == 0 && !target->is_in_place) {
        set_rights(target);
        bool is_kept =
            fsync(target->file) == 0 && rename(target->temporary, target->resolved_path) == 0;
        target->error = is_kept ? 0 : errno;
        if (is_kept) {
            target->temporary[0] = '\0';
            ms_interrupt_unguard_file();
        }
    }
    close_file(target);
    if (target->error != 0) {
        return ms_target_fail(target, strerror(target->error), diag);
    }
    /* The file is complete and has its name. Syncing the folder makes the name last through a power
     * failure; where the system cannot sync folders (some network file systems) the name reaches
     * the disk later. */
    int folder =
        target->is_in_place ? -1 : open(target->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        (void)fsync(folder);
        close(folder);
    }
    return MS_OK;
}

void ms_target_abandon(ms_target *target) {
    if (target->temporary[0] != '\0') {
        (void)unlink(target->temporary);
        target->temporary[0] = '\0';
        ms_interrupt_unguard_file();
    }
    close_file(target);
}

ms_status ms_target_fail(ms_target *target, const char *cause, ms_diag *diag) {
    ms_target_abandon(target);
    return report_refusal(diag, target->path, cause);
}

ms_status ms_target_write_text(const char *path, const char *text, size_t length, ms_diag *diag) {
    ms_target target;
    ms_status status = ms_target_open(&target, path, MS_TARGET_TEXT, diag);
    if (status != MS_OK) {
        return status;
    }
    (void)ms_target_write(&target, text, length);
    return ms_target_commit(&target, diag);
}
