/* Names of the files that a search could have meant, and of all that it could find. */
#include <dirent.h>
#include <string.h>

#include "base/config/find.h"
#include "base/diag.h"

/* "NAME.yaml" without its ending, in `arena`; NULL for any other file. */
static const char *stem_of(ms_arena *arena, const char *file) {
    size_t length = ms_file_stem_B(file);
    return length > 0 ? ms_arena_strndup(arena, file, length) : NULL;
}

/* The better of `best` and the names of one folder. A folder's order is the file system's, so equal
 * distances go to the name that comes first in the alphabet. */
static const char *look_in(const char *folder, const char *name, ms_arena *arena,
                           const char *best) {
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        return best;
    }
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        const char *stem = stem_of(arena, entry->d_name);
        if (stem == NULL) {
            continue;
        }
        bool is_before = best == NULL || strcmp(stem, best) < 0;
        const char *pair[2] = {is_before ? stem : best, is_before ? best : stem};
        best = ms_nearest_word(name, pair, 2);
    }
    closedir(entries);
    return best;
}

/* The nearest file in the folder of a path, as a path; NULL if none is near. */
static const char *look_beside(const char *path, ms_arena *arena) {
    const char *base = strrchr(path, '/') + 1;
    const char *folder = ms_arena_strndup(arena, path, (size_t)(base - path));
    const char *stem = stem_of(arena, base);
    const char *best =
        folder == NULL ? NULL : look_in(folder, stem == NULL ? base : stem, arena, NULL);
    return best == NULL ? NULL : ms_arena_printf(arena, "%s%s.yaml", folder, best);
}

/* The nearest name in all folders; NULL if none is near. */
static const char *look_through(const char *name, const ms_file_search *search, ms_arena *arena) {
    const char *stem = stem_of(arena, name);
    const char *best = NULL;
    for (size_t i = 0; search->folders != NULL && search->folders[i] != NULL; i++) {
        const char *folder = ms_arena_printf(arena, "%s/%s", search->folders[i], search->subfolder);
        best = folder == NULL ? best : look_in(folder, stem == NULL ? name : stem, arena, best);
    }
    return best;
}

const char *ms_find_yaml_hint(const char *name, const ms_file_search *search, ms_arena *arena) {
    const char *best =
        strchr(name, '/') != NULL ? look_beside(name, arena) : look_through(name, search, arena);
    const char *hint = best == NULL ? "" : ms_arena_printf(arena, "; did you mean '%s'?", best);
    return hint == NULL ? "" : hint;
}

/* The name in a folder that comes next in the alphabet after `last`, if before `next`. */
static const char *next_in(const char *folder, const char *last, const char *next,
                           ms_arena *arena) {
    DIR *entries = opendir(folder);
    if (entries == NULL) {
        return next;
    }
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        const char *stem = stem_of(arena, entry->d_name);
        bool is_after = stem != NULL && (last == NULL || strcmp(stem, last) > 0);
        next = is_after && (next == NULL || strcmp(stem, next) < 0) ? stem : next;
    }
    closedir(entries);
    return next;
}

const char *ms_find_yaml_names(const ms_file_search *search, ms_arena *arena) {
    const char *names = "";
    const char *last = NULL;
    for (;;) {
        const char *next = NULL;
        for (size_t i = 0; search->folders != NULL && search->folders[i] != NULL; i++) {
            const char *folder =
                ms_arena_printf(arena, "%s/%s", search->folders[i], search->subfolder);
            next = folder == NULL ? next : next_in(folder, last, next, arena);
        }
        const char *longer =
            next == NULL ? NULL
                         : ms_arena_printf(arena, "%s%s%s", names, last == NULL ? "" : ", ", next);
        if (longer == NULL) {
            return names;
        }
        names = longer;
        last = next;
    }
}
