/* Finds files by a path or by a bare name in a list of folders (find.h). */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/config/find.h"
#include "base/failure.h"

/* Length of a file's name without ".yaml" [B]; 0: the name has another ending, or nothing else. */
static size_t stem_B(const char *name) {
    static const char SUFFIX[] = ".yaml";
    size_t length = strlen(name), suffix = sizeof SUFFIX - 1;
    return length > suffix && strcmp(name + length - suffix, SUFFIX) == 0 ? length - suffix : 0;
}

/* Whether two names lead to the same folder. A folder that does not exist equals only its own name.
 */
static bool is_same_folder(const char *a, const char *b) {
    struct stat facts_a;
    struct stat facts_b;
    if (stat(a, &facts_a) != 0 || stat(b, &facts_b) != 0) {
        return strcmp(a, b) == 0;
    }
    return facts_a.st_dev == facts_b.st_dev && facts_a.st_ino == facts_b.st_ino;
}

ms_status ms_find_folders(const char *const *candidates, size_t count, ms_arena *arena,
                          const char *const **folders_out) {
    const char **folders = MS_NEW(arena, const char *, count + 1);
    if (folders == NULL) {
        return MS_E_NOMEM;
    }
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_new = candidates[i] != NULL;
        for (size_t f = 0; f < found && is_new; f++) {
            is_new = !is_same_folder(candidates[i], folders[f]);
        }
        if (is_new) {
            folders[found++] = candidates[i];
        }
    }
    *folders_out = folders;
    return MS_OK;
}

/* Find the file in the first folder that has it.  *looked_out: extended by each path that was
 * tried. */
static ms_status look_through(const char *name, const ms_file_search *search, ms_arena *arena,
                              const char **path_out, const char **looked_out) {
    const char *const *folder = search->folders;
    const char *ending = stem_B(name) > 0 ? "" : ".yaml";
    for (; folder != NULL && *folder != NULL; folder++) {
        const char *path =
            ms_arena_printf(arena, "%s/%s%s%s", *folder, search->subfolder, name, ending);
        const char *looked =
            ms_arena_printf(arena, "%s%s'%s'", *looked_out,
                            (*looked_out)[0] == '\0' ? "; looked for " : ", ", path);
        if (path == NULL || looked == NULL) {
            return MS_E_NOMEM;
        }
        *looked_out = looked;
        if (ms_file_is_there(path)) {
            *path_out = path;
            break;
        }
    }
    return MS_OK;
}

const char *ms_find_whole_path(const char *name, ms_arena *arena) {
    bool is_path = strchr(name, '/') != NULL || ms_file_is_there(name);
    char *path = is_path ? realpath(name, NULL) : NULL;
    if (is_path && path == NULL) {
        ms_failure_note_file(name, errno);
    }
    const char *copy = ms_arena_strdup(arena, path == NULL ? name : path);
    (free)(path); /* allocated by realpath */
    return copy;
}

ms_status ms_find_yaml(const char *name, const ms_file_search *search, ms_arena *arena,
                       const char **path_out, const char **looked_out) {
    bool is_path = strchr(name, '/') != NULL;
    bool is_here = (is_path || strchr(name, '.') != NULL) && ms_file_is_there(name);
    *path_out = is_here ? name : NULL;
    *looked_out = "";
    return is_path || is_here ? MS_OK : look_through(name, search, arena, path_out, looked_out);
}
