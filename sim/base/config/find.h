/**
 * @file
 * Files that are named by a path or by a bare name, which is looked for in several folders: YAML
 * files, or those of another ending.
 */
#ifndef MESHSIM_FIND_H
#define MESHSIM_FIND_H

#include <stddef.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"

/** Where files named without a path are looked for. */
typedef struct ms_file_search {
    const char *const *folders; /**< NULL at the end; NULL: none */
    const char *subfolder;      /**< of each folder, with its slash at the end, or "" */
    const char *ending;         /**< of the files; NULL: ".yaml" */
} ms_file_search;

/** Folders to look in, each once, whatever paths lead to it.
 *  places: [count] in the order to look in, NULL for one that there is not.  *folders_out: NULL at
 * the end, in `arena`; borrows the paths.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_find_folders(const char *const *places, size_t count, ms_arena *arena,
                          const char *const **folders_out);

/** What a name on the command line stands for wherever it is read: a path, or a file in the current
 * folder, as its whole path; any other name, or one of nothing, as it is.  In `arena`; NULL: no
 * memory. */
const char *ms_find_whole_path(const char *name, ms_arena *arena);

/** Path of a file, in `arena`: a name with '/' as it is, and so one with an ending that is in the
 * current folder; any other as NAME with the search's ending in the first folder that has it.
 * *path_out: NULL when there is none; then *looked_out is "; looked for ..." with the paths tried,
 * "" for a path. Returns MS_OK; MS_E_NOMEM. */
ms_status ms_find_yaml(const char *name, const ms_file_search *search, ms_arena *arena,
                       const char **path_out, const char **looked_out);

/** "; did you mean 'NAME'?" with the nearest name that would have been found, "" if none is near.
 * In `arena` or static.  O(files of the folders). */
const char *ms_find_yaml_hint(const char *name, const ms_file_search *search, ms_arena *arena);

/** All names that would be found, in the order of the alphabet: "a, b, c"; "" without any.  In
 * `arena` or static.  O(files of the folders, squared). */
const char *ms_find_yaml_names(const ms_file_search *search, ms_arena *arena);

#endif
