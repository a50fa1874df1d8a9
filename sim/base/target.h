/**
 * @file
 * Files that appear under their name whole or not at all: a temporary file in the same folder, then
 * a rename. Everything the program writes goes this way.
 *
 * An older file of the name is replaced as an editor does it: symbolic links to it stay, and so do
 * its mode and, where the system lets us, its owner. What is no regular file (a device, a pipe) or
 * is this process's own standard output takes the bytes as they come.
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
    MS_TARGET_TEXT = 0, /**< front to back, so that devices and pipes do as well */
    MS_TARGET_FILE = 1, /**< by a library that goes back and forth: a regular file only */
} ms_target_use;

/** A file that is being written under another name. */
typedef struct ms_target {
    const char *path; /**< as the user gave it, borrowed */
    int file;         /**< descriptor to write to; < 0: closed */
    int error;        /**< errno of the first write that failed; 0: none */
    bool is_in_place; /**< a device, a pipe or the standard output; there is no temporary file */
    bool is_older;    /**< a file of that name is replaced; the next three are its */
    mode_t mode;
    uid_t owner;
    gid_t group;
    char place[MS_TARGET_PATH_MAX];     /**< final name, behind symbolic links */
    char folder[MS_TARGET_PATH_MAX];    /**< where it stands, and the temporary file too */
    char temporary[MS_TARGET_PATH_MAX]; /**< `folder`/.meshsim.BOOT.XXXXXX; "" when there is none */
} ms_target;

/** Whether `path` could be written now; nothing is created.  To be asked before what takes long.
 *  Returns MS_OK; MS_E_IO, reported with the path and the cause. */
ms_status ms_target_check(const char *path, ms_target_use use, ms_diag *diag);

/** Create the temporary file, and remove those that dead processes left in its folder. Signals that
 * end the program remove it from here on (interrupt.h).  target_out: to be given to
 * ms_target_commit, ms_target_abandon or ms_target_fail, which close it.  Returns MS_OK; MS_E_IO
 * (reported).  O(files in the folder). */
ms_status ms_target_open(ms_target *target_out, const char *path, ms_target_use use, ms_diag *diag);

/** Write the next `length` bytes; does nothing after a failure.  Returns MS_OK; MS_E_IO, not
 * reported: ms_target_commit does. */
ms_status ms_target_write(ms_target *target, const char *bytes, size_t length);

/** Sync the temporary file to disk and rename it.  Returns MS_OK; MS_E_IO (reported, also for an
 * earlier ms_target_write; the temporary file is removed and an older one is as it was). */
ms_status ms_target_commit(ms_target *target, ms_diag *diag);

/** Remove the temporary file, if there is one. */
void ms_target_abandon(ms_target *target);

/** Report that writing failed, with the cause in words, and abandon.  Returns MS_E_IO. */
ms_status ms_target_fail(ms_target *target, const char *cause, ms_diag *diag);

/** All of a text to a file: open, write, commit.  Returns MS_OK; MS_E_IO (reported). */
ms_status ms_target_write_text(const char *path, const char *text, size_t length, ms_diag *diag);

#endif
