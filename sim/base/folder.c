/* Lists the entries of a folder, and extracts the names of files from paths (folder.h). */
#include "base/folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Whether a name ends in `ending` and is longer. */
static bool ends_in(const char *name, const char *ending) {
    size_t length = strlen(name), end = strlen(ending);
    return length > end && strcmp(name + length - end, ending) == 0;
}

/* The order in which readdir returns entries is arbitrary, so the names are sorted. */
int ms_folder_list(const char *path, const char *ending, ms_arena *arena, ms_vector *names) {
    DIR *folder = opendir(path);
    if (folder == NULL) {
        return errno;
    }
    errno = 0;
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (ends_in(entry->d_name, ending)) {
            const char *name = ms_arena_strdup(arena, entry->d_name);
            ms_vector_add(names, &name, 1);
        }
        errno = 0; /* readdir reports an error by errno alone, at the end of the loop */
    }
    int error = arena->has_failed || names->failed ? ENOMEM : errno;
    (void)closedir(folder);
    if (error == 0 && names->count > 0) {
        qsort(names->data, names->count, sizeof(const char *), by_name);
    }
    return error;
}

const char *ms_path_stem(const char *path, ms_arena *arena) {
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    const char *dot = strrchr(name, '.');
    bool has_ending = dot != NULL && dot != name; /* a dot in front hides a file */
    return ms_arena_strndup(arena, name, has_ending ? (size_t)(dot - name) : strlen(name));
}
