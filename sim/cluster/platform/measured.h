/*
 * `measured:` of a GPU type: a CSV of kernels' times.
 */
#ifndef MESHSIM_PLATFORM_MEASURED_H
#define MESHSIM_PLATFORM_MEASURED_H

#include "base/config/config.h"
#include "cluster/platform/platform.h"

/** Read a table's text.
 *  text: [length_B].  name: for diagnostics.  *table_out: in `arena`.  Returns MS_OK; MS_E_INPUT
 * (reported, with every faulty line); MS_E_NOMEM. */
ms_status ms_measured_read(const char *text, size_t length_B, const char *name, ms_arena *arena,
                           ms_diag *diag, const ms_kernel_table **table_out);

/** Read its file.
 * node: the file's name, as its key stands; looked for beside the file that has the key.
 *  *table_out: in `arena`.  Returns as ms_file_read and ms_measured_read. */
ms_status ms_measured_load(const ms_node *node, ms_arena *arena, ms_diag *diag,
                           const ms_kernel_table **table_out);

#endif
