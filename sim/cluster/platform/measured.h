/* Reads the CSV file with measured times of kernels that a GPU type's key `measured` names. */
#ifndef MESHSIM_PLATFORM_MEASURED_H
#define MESHSIM_PLATFORM_MEASURED_H

#include "base/config/config.h"
#include "cluster/platform/platform.h"

/** Read the text of a table, with a line "kernel,shape,time" for each measurement.
 *  text: [length_B].  name: for diagnostics.  *table_out: in `arena`.  Returns MS_OK; MS_E_INPUT
 * (reported, with every faulty line); MS_E_NOMEM. */
ms_status ms_measured_read(const char *text, size_t length_B, const char *name, ms_arena *arena,
                           ms_diag *diag, const ms_kernel_table **table_out);

/** Read the table's file.
 *  node: the value of the key, a path relative to the folder of the file that has the key.
 * *table_out: in `arena`.  Returns as ms_file_read and ms_measured_read. */
ms_status ms_measured_load(const ms_node *node, ms_arena *arena, ms_diag *diag,
                           const ms_kernel_table **table_out);

#endif
