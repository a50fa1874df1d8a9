/* Names of the files that ms_find_yaml could find: the nearest to a name that was not found, and
 * the list of all (find.h). Files are compared by their names without ".yaml". */
#include <stdlib.h>
#include <string.h>

#include "base/config/find.h"
#include "base/diag.h"
#include "base/folder.h"

/* The ending of the files of a search. */
static const char *ending_of(const ms_file_search *search) {
    return search->ending == NULL ? ".yaml" : search->ending;
}

/* A file's name without its ending, if that is `ending` or ".yml". */
static const char *stem_of(ms_arena *arena, const char *file, const char *ending) {
    const char *dot = strrchr(file, '.');
    bool has_ending = dot != NULL && (strcmp(dot, ending) == 0 || strcmp(dot, ".yml") == 0);
    return has_ending ? ms_arena_strndup(arena, file, (size_t)(dot - file)) : file;
}

/* Add the names of a folder's files of an ending, without it; none of a folder that cannot be
 * read. */
static void add_stems(const char *folder, const char *ending, ms_arena *arena, ms_vector *stems) {
    ms_vector names;
    ms_vector_init(&names, sizeof(const char *));
    bool is_read = folder != NULL && ms_folder_list(folder, ending, arena, &names) == 0;
    for (size_t i = 0; is_read && i < names.count; i++) {
        const char *stem = stem_of(arena, MS_AT(&names, const char *, i), ending);
        if (stem != NULL) {
            ms_vector_add(stems, &stem, 1);
        }
    }
    ms_vector_release(&names);
}

/* Add the names of all folders of a search, in alphabetical order. */
static void add_all_stems(const ms_file_search *search, ms_arena *arena, ms_vector *stems) {
    for (size_t i = 0; search->folders != NULL && search->folders[i] != NULL; i++) {
        add_stems(ms_arena_printf(arena, "%s/%s", search->folders[i], search->subfolder),
                  ending_of(search), arena, stems);
    }
    if (stems->count > 0) {
        qsort(stems->data, stems->count, sizeof(const char *), ms_compare_names);
    }
}

/* The name is compared without its folder and its ending: with the files of its own folder if it is
 * a path, else with the files of all folders of the search. */
const char *ms_find_yaml_hint(const char *name, const ms_file_search *search, ms_arena *arena) {
    const char *slash = strrchr(name, '/'), *base = slash == NULL ? name : slash + 1;
    const char *folder = ms_arena_strndup(arena, name, (size_t)(base - name));
    const char *stem = stem_of(arena, base, ending_of(search));
    ms_vector stems;
    ms_vector_init(&stems, sizeof(const char *));
    if (slash != NULL) { /* a path: a misspelt name is in the same folder */
        add_stems(folder, ending_of(search), arena, &stems);
    } else {
        add_all_stems(search, arena, &stems);
    }
    const char *best =
        ms_nearest_word(stem == NULL ? base : stem, stems.data, stems.failed ? 0 : stems.count);
    const char *hint = best == NULL ? ""
                                    : ms_arena_printf(arena, "; did you mean '%s%s%s'?",
                                                      folder == NULL ? "" : folder, best,
                                                      slash == NULL ? "" : ending_of(search));
    ms_vector_release(&stems);
    return hint == NULL ? "" : hint;
}

/* A name that several folders have is listed once; the names are sorted, so equal ones are
 * neighbours. */
const char *ms_find_yaml_names(const ms_file_search *search, ms_arena *arena) {
    ms_vector stems;
    ms_buffer names;
    ms_vector_init(&stems, sizeof(const char *));
    ms_buffer_init(&names);
    add_all_stems(search, arena, &stems);
    for (size_t i = 0; i < stems.count; i++) {
        const char *stem = MS_AT(&stems, const char *, i);
        if (i == 0 || strcmp(stem, MS_AT(&stems, const char *, i - 1)) != 0) {
            ms_buffer_printf(&names, "%s%s", i == 0 ? "" : ", ", stem);
        }
    }
    ms_vector_release(&stems);
    const char *text = ms_buffer_keep(&names, arena);
    return text == NULL ? "" : text;
}
