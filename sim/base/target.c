#include "meshsim/target.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "meshsim/interrupt.h"

static ms_status refuse(ms_diag *diag, const char *path, const char *cause) {
    ms_diag_error(diag, "cannot write '%s': %s", path, cause);
    return MS_E_IO;
}

/* Folder and last name of a path; "." when it has no slash. */
static ms_status split(ms_target *target, const char *path, const char **name_out, ms_diag *diag) {
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    size_t length = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    if (name[0] == '\0') {
        return refuse(diag, path, path[0] == '\0' ? "the name is empty" : "it is a folder");
    }
    int room = (int)sizeof target->folder;
    int used = slash == NULL
                   ? snprintf(target->folder, sizeof target->folder, ".")
                   : snprintf(target->folder, sizeof target->folder, "%.*s", (int)length, path);
    if (used >= room) {
        return refuse(diag, path, strerror(ENAMETOOLONG));
    }
    *name_out = name;
    return MS_OK;
}

static ms_status check_folder(const ms_target *target, ms_diag *diag) {
    struct stat facts;
    char cause[MS_TARGET_PATH_MAX + 64];
    if (stat(target->folder, &facts) != 0) {
        snprintf(cause, sizeof cause, "folder '%s': %s", target->folder, strerror(errno));
        return refuse(diag, target->path, cause);
    }
    if (!S_ISDIR(facts.st_mode)) {
        snprintf(cause, sizeof cause, "'%s' is no folder", target->folder);
        return refuse(diag, target->path, cause);
    }
    if (access(target->folder, W_OK | X_OK) != 0) {
        snprintf(cause, sizeof cause, "folder '%s': %s", target->folder, strerror(errno));
        return refuse(diag, target->path, cause);
    }
    return MS_OK;
}

static ms_status check_place(const ms_target *target, ms_diag *diag) {
    struct stat facts;
    if (stat(target->path, &facts) != 0) {
        return errno == ENOENT ? MS_OK : refuse(diag, target->path, strerror(errno));
    }
    if (S_ISDIR(facts.st_mode)) {
        return refuse(diag, target->path, "it is a folder");
    }
    return S_ISREG(facts.st_mode) ? MS_OK : refuse(diag, target->path, "it is no regular file");
}

ms_status ms_target_open(ms_target *target_out, const char *path, ms_diag *diag) {
    const char *name = NULL;
    target_out->path = path;
    target_out->temporary[0] = '\0';
    ms_status status = split(target_out, path, &name, diag);
    if (status == MS_OK) {
        status = check_folder(target_out, diag);
    }
    if (status == MS_OK) {
        status = check_place(target_out, diag);
    }
    if (status != MS_OK) {
        return status;
    }
    int used = snprintf(target_out->temporary, sizeof target_out->temporary, "%s/.%s.tmp.%ld",
                        target_out->folder, name, (long)getpid());
    if (used >= (int)sizeof target_out->temporary) {
        target_out->temporary[0] = '\0';
        return refuse(diag, path, strerror(ENAMETOOLONG));
    }
    /* left over from a killed process of the same number */
    if (unlink(target_out->temporary) != 0 && errno != ENOENT) {
        return refuse(diag, path, strerror(errno));
    }
    ms_interrupt_guard_file(target_out->temporary);
    return MS_OK;
}

static int sync_path(const char *path, int flags) {
    int file = open(path, flags | O_CLOEXEC);
    if (file < 0) {
        return errno;
    }
    int error = fsync(file) == 0 ? 0 : errno;
    if (close(file) != 0 && error == 0) {
        error = errno;
    }
    return error;
}

ms_status ms_target_commit(ms_target *target, ms_diag *diag) {
    int error = sync_path(target->temporary, O_RDONLY);
    if (error == 0 && rename(target->temporary, target->path) != 0) {
        error = errno;
    }
    if (error != 0) {
        return ms_target_fail(target, strerror(error), diag);
    }
    target->temporary[0] = '\0';
    ms_interrupt_unguard_file();
    /* the file is complete under its name; a folder that cannot be synced (some network file
     * systems) only delays when the name is on disk */
    (void)sync_path(target->folder, O_RDONLY | O_DIRECTORY);
    return MS_OK;
}

void ms_target_abandon(ms_target *target) {
    if (target->temporary[0] != '\0') {
        (void)unlink(target->temporary);
        target->temporary[0] = '\0';
        ms_interrupt_unguard_file();
    }
}

ms_status ms_target_fail(ms_target *target, const char *cause, ms_diag *diag) {
    ms_target_abandon(target);
    return refuse(diag, target->path, cause);
}
