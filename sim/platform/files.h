/* Files that are named by a path or by a bare name, and the GPU types among them. */
#ifndef MS_PLATFORM_FILES_H
#define MS_PLATFORM_FILES_H

#include "meshsim/platform.h"

/* Where files named without a path are looked for. */
typedef struct ms_file_search {
    const char *const *folders; /* NULL at the end; NULL: none */
    const char *subfolder;      /* of each folder, with its slash at the end, or "" */
} ms_file_search;

/* Path of a YAML file, in `arena`: a name with '/' as it is, and so one with an ending that is in
 * the current folder; any other as NAME.yaml in the first folder that has it. *path_out: NULL when
 * there is none; then *looked_out is "; looked for ..." with the paths tried, "" for a path.
 * Returns MS_OK; MS_E_NOMEM. */
ms_status ms_find_yaml(const char *name, const ms_file_search *search, ms_arena *arena,
                       const char **path_out, const char **looked_out);

/* "; did you mean 'NAME'?" with the nearest name that would have been found, "" if none is near.
 * In `arena` or static.  O(files of the folders). */
const char *ms_find_yaml_hint(const char *name, const ms_file_search *search, ms_arena *arena);

/* Read a GPU type into *gpu_out.
 * mapping: the platform's `gpu:` mapping (type and overrides). places: folders to look in, NULL at
 * the end. *effective_out: the file's keys with the overrides laid over, in `arena`.
 * Returns MS_OK; MS_E_INPUT (reported); MS_E_IO; MS_E_NOMEM. */
ms_status ms_gpu_read(const ms_node *mapping, const char *const *places, ms_arena *arena,
                      ms_diag *diag, ms_gpu_type *gpu_out, ms_node **effective_out);

/* Read a communication library; NULL for "none".  name: the platform's `library` key.  places: as
 * for ms_gpu_read.  Returns as ms_gpu_read. */
ms_status ms_library_read(const ms_node *name, const char *const *places, ms_arena *arena,
                          ms_diag *diag, const ms_library **library_out);

#endif
