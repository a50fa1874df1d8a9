/**
 * @file
 * Files that are written whole or not at all: the program writes a temporary file in the same
 * folder and renames it at the end. All files that the program writes are written in this way.
 *
 * Where a file of that name exists, the new one replaces it as an editor would: symbolic links to
 * the file stay, and so do its mode and, where the system permits, its owner. A device, a pipe or
 * the process's own standard output is no regular file that could be replaced, and is written
 * directly.
 */
#ifndef MESHSIM_TARGET_H
#define MESHSIM_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/diag.h"
#include "base/status.h"

enum { MS_TARGET_PATH_MAX = 4096 };

/** How a file is written. */
typedef enum ms_target_use {
    MS_TARGET_TEXT = 0, /**< front to back: devices and pipes are allowed */
    MS_TARGET_FILE = 1, /**< by a library that seeks: only a regular file is allowed */
} ms_target_use;

/** A file that is being written under another name. */
typedef struct ms_target {
    const char *path; /**< as the user gave it, borrowed */
    int file;         /**< descriptor to write to; < 0: closed */
    int error;        /**< errno of the first write that failed; 0: none */
    bool is_in_place; /**< a device, a pipe or the standard output; there is no temporary file */
    bool is_older; /**< a file of that name exists; mode, owner and group are those of the file */
    mode_t mode;
    uid_t owner;
    gid_t group;
    char resolved_path[MS_TARGET_PATH_MAX]; /**< final name, behind symbolic links */
    char folder[MS_TARGET_PATH_MAX];        /**< folder of `place` and of the temporary file */
    char temporary[MS_TARGET_PATH_MAX]; /**< `folder`/.meshsim.BOOT.XXXXXX; "" when there is none */
} ms_target;

/** Whether `path` could be written now; nothing is created. A long computation calls this first.
 *  Returns MS_OK; MS_E_IO, reported with the path and the cause. */
ms_status ms_target_check(const char *path, ms_target_use use, ms_diag *diag);

/** Create the temporary file, and remove temporary files in its folder whose processes have died.
 * From here on, signals that end the program remove the temporary file (interrupt.h).  target_out:
 * the caller passes it to ms_target_commit, ms_target_abandon or ms_target_fail, which close it.
 * Returns MS_OK; MS_E_IO (reported).  O(files in the folder). */
ms_status ms_target_open(ms_target *target_out, const char *path, ms_target_use use, ms_diag *diag);

/** Write the next `length` bytes; does nothing after a failure.  Returns MS_OK; MS_E_IO, which is
 * not reported here but by ms_target_commit. */
ms_status ms_target_write(ms_target *target, const char *bytes, size_t length);

/** Sync the temporary file to disk and give it its final name.  Returns MS_OK; MS_E_IO (reported),
 * also where an earlier ms_target_write failed: the temporary file is then removed, and an
 * existing file of the name is unchanged. */
ms_status ms_target_commit(ms_target *target, ms_diag *diag);

/** Remove the temporary file, if there is one. */
void ms_target_abandon(ms_target *target);

/** Report that writing failed, with the cause in words, and abandon.  Returns MS_E_IO. */
ms_status ms_target_fail(ms_target *target, const char *cause, ms_diag *diag);

/** All of a text to a file: open, write, commit.  Returns MS_OK; MS_E_IO (reported). */
ms_status ms_target_write_text(const char *path, const char *text, size_t length, ms_diag *diag);

#endif
