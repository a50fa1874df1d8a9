/* Files that a platform names: its GPU type and its library. */
#ifndef MS_PLATFORM_FILES_H
#define MS_PLATFORM_FILES_H

#include "base/config/find.h"
#include "cluster/platform/platform.h"

/* Read a GPU type into *gpu_out.
 * mapping: the platform's `gpu:` mapping (type and overrides). paths: folders to look in, NULL at
 * the end. *effective_out: the file's keys with the overrides laid over, in `arena`.
 * Returns MS_OK; MS_E_INPUT (reported); MS_E_IO; MS_E_NOMEM. */
ms_status ms_gpu_read(const ms_node *mapping, const char *const *paths, ms_arena *arena,
                      ms_diag *diag, ms_gpu_type *gpu_out, ms_node **effective_out);

/* Read a communication library; NULL for "none".  node: the platform's `library` key, a name or a
 * mapping of a `file` and keys to change in it.  paths: as for ms_gpu_read.  Returns as
 * ms_gpu_read.
 */
ms_status ms_library_read(const ms_node *node, const char *const *paths, ms_arena *arena,
                          ms_diag *diag, const ms_library **library_out);

/* The keys of a library that a platform's GPUs are timed by: without those of other generations,
 * and without the name of its file.  library: with `keys`.  *keys_out: a copy in `arena`.  Returns
 * MS_OK; MS_E_NOMEM. */
ms_status ms_library_list(const ms_library *library, ms_gpu_generation used, ms_arena *arena,
                          ms_node **keys_out);

#endif
