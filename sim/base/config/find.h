/**
 * @file
 * Finds YAML files that are named by a path, or by a bare name that is looked for in several
 * folders: platforms, GPU types, libraries, workloads.
 */
#ifndef MESHSIM_FIND_H
#define MESHSIM_FIND_H

#include <stddef.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/status.h"

/** The folders in which files that are named without a path are looked for. */
typedef struct ms_file_search {
    const char *const *folders; /**< NULL at the end; NULL: none */
    const char *subfolder;      /**< appended to each folder: "NAME/", or "" */
} ms_file_search;

/** List the folders to look in, each once, even if several paths lead to it.
 *  candidates: [count] paths in the order of the search; NULL entries are skipped.  *folders_out:
 * the paths, borrowed, in `arena`, NULL at the end.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_find_folders(const char *const *candidates, size_t count, ms_arena *arena,
                          const char *const **folders_out);

/** Make a name from the command line independent of the current folder: a path, or a file in the
 * current folder, becomes its absolute path. Any other name, or a path to no file, stays.  In
 * `arena`; NULL when memory runs out. */
const char *ms_find_whole_path(const char *name, ms_arena *arena);

/** Find a YAML file. A name with '/' is taken as a path, and so is a name with a dot if the current
 * folder has the file. Any other name is looked for as NAME.yaml in the folders of the search, and
 * the first that has it is taken.
 *  *path_out: in `arena`; NULL when there is no such file.  *looked_out: the paths that were tried,
 * as "; looked for ..."; "" for a path.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_find_yaml(const char *name, const ms_file_search *search, ms_arena *arena,
                       const char **path_out, const char **looked_out);

/** A hint for a name that was not found: "; did you mean 'NAME'?" with the nearest name of the
 * folders, "" if none is near.  In `arena` or static.  O(files of the folders). */
const char *ms_find_yaml_hint(const char *name, const ms_file_search *search, ms_arena *arena);

/** All names that ms_find_yaml would find, in alphabetical order: "a, b, c"; "" without any.  In
 * `arena` or static.  O(files of the folders, squared). */
const char *ms_find_yaml_names(const ms_file_search *search, ms_arena *arena);

#endif
