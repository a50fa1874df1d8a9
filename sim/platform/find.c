/* Files named by a path or by a bare name. */
#include <string.h>
#include <unistd.h>

#include "platform/topology.h"

static bool is_path(const char *name) {
    static const char SUFFIX[] = ".yaml";
    size_t length = strlen(name);
    size_t suffix = sizeof SUFFIX - 1;
    return strchr(name, '/') != NULL ||
           (length > suffix && strcmp(name + length - suffix, SUFFIX) == 0);
}

ms_status ms_find_yaml(const char *name, const ms_search *search, ms_arena *arena,
                       const char **path_out, const char **looked_out) {
    const char *found = is_path(name) ? name : NULL;
    const char *looked = "";
    const char *const *folder = search->folders;
    for (; found == NULL && folder != NULL && *folder != NULL; folder++) {
        const char *path = ms_arena_printf(arena, "%s/%s%s.yaml", *folder, search->subfolder, name);
        const char *list =
            ms_arena_printf(arena, "%s%s'%s'", looked, looked[0] == '\0' ? "" : ", ", path);
        if (path == NULL || list == NULL) {
            return MS_E_NOMEM;
        }
        found = access(path, F_OK) == 0 ? path : NULL;
        looked = list;
    }
    *path_out = found;
    *looked_out = looked;
    return MS_OK;
}
