/**
 * @file
 * The entries of a folder, and the names of files in paths.
 */
#ifndef MESHSIM_FOLDER_H
#define MESHSIM_FOLDER_H

#include "base/arena.h"
#include "base/buffer.h"

/** List the entries of a folder whose names end in `ending` and are longer, in the order of the
 * alphabet.
 *  names: of const char *, an empty vector; gets the names, in `arena`.  Returns 0; the errno of a
 * folder that cannot be read; ENOMEM.  O(entries * log entries). */
int ms_folder_list(const char *path, const char *ending, ms_arena *arena, ms_vector *names);

/** Order of two names in the alphabet, for qsort of an array of const char *. */
int ms_compare_names(const void *left, const void *right);

/** Whether a name ends in `ending` and is longer. */
bool ms_name_ends_in(const char *name, const char *ending);

/** The name of a file without its folder and its ending.  The text is in `arena`; NULL when memory
 * runs out. */
const char *ms_path_stem(const char *path, ms_arena *arena);

#endif
