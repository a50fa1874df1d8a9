/* Reads the files that a platform names: its GPU type and its communication library. */
#ifndef MS_PLATFORM_FILES_H
#define MS_PLATFORM_FILES_H

#include "base/config/find.h"
#include "cluster/platform/platform.h"

/* Read a GPU type.
 *  mapping: the platform's `gpu:` mapping, with the type and keys that replace those of the type's
 * file.  paths: folders to look in, NULL at the end.  *effective_out: the file's keys with the
 * replaced ones, in `arena`.  Returns MS_OK; MS_E_INPUT (reported); MS_E_IO; MS_E_NOMEM. */
ms_status ms_gpu_read(const ms_node *mapping, const char *const *paths, ms_arena *arena,
                      ms_diag *diag, ms_gpu_type *gpu_out, ms_node **effective_out);

/* Read a communication library.  node: value of the platform's key `library`: a name, or a mapping
 * with a `file` and keys that replace those of the file.  paths: as for ms_gpu_read.  *library_out:
 * in `arena`; NULL for the name "none".  Returns as ms_gpu_read. */
ms_status ms_library_read(const ms_node *node, const char *const *paths, ms_arena *arena,
                          ms_diag *diag, const ms_library **library_out);

/* The keys of a library that apply to a platform's GPUs: without those of other generations, and
 * without the name of its file.  library: with `keys`.  used: generation of the GPUs.  *keys_out: a
 * copy in `arena`.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_library_list(const ms_library *library, ms_gpu_generation used, ms_arena *arena,
                          ms_node **keys_out);

#endif
