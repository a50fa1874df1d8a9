/**
 * @file
 * A file that appears under its name whole or not at all: a temporary name in the same folder, then
 * a rename.
 */
#ifndef MESHSIM_TARGET_H
#define MESHSIM_TARGET_H

#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

enum { MS_TARGET_PATH_MAX = 4096 };

typedef struct ms_target {
    const char *path;                   /**< final name, borrowed */
    char folder[MS_TARGET_PATH_MAX];    /**< where both names stand */
    char temporary[MS_TARGET_PATH_MAX]; /**< .NAME.tmp.PID */
} ms_target;

/** Check that `path` can be written and choose the temporary name; nothing is created. The
 * temporary file is removed by SIGINT and SIGTERM from here on (interrupt.h).  Returns MS_OK;
 * MS_E_IO, reported. */
ms_status ms_target_open(ms_target *target_out, const char *path, ms_diag *diag);

/** Sync the temporary file to disk and rename it.  Returns MS_OK; MS_E_IO (reported, temporary file
 * removed). */
ms_status ms_target_commit(ms_target *target, ms_diag *diag);

/** Remove the temporary file, if there is one. */
void ms_target_abandon(ms_target *target);

/** Report that writing failed, with the cause in words, and abandon.  Returns MS_E_IO. */
ms_status ms_target_fail(ms_target *target, const char *cause, ms_diag *diag);

MS_END_DECLS

#endif
