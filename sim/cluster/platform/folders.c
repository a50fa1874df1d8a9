/* The folders in which platforms are found by name (ms_platform_folders). */
#include <string.h>

#include "cluster/platform/files.h"

ms_status ms_platform_folders(const char *home, const char *data_folder, ms_arena *arena,
                              const char *const **folders_out) {
    const char *beside = home == NULL ? "." : home;
    const char *near = strcmp(beside, ".") == 0 ? "../platforms"
                                                : ms_arena_printf(arena, "%s/../platforms", beside);
    const char *installed =
        data_folder == NULL ? NULL : ms_arena_printf(arena, "%s/platforms", data_folder);
    const char *paths[] = {beside, near, ".", "platforms", installed};
    if (near == NULL || (installed == NULL && data_folder != NULL)) {
        return MS_E_NOMEM;
    }
    return ms_find_folders(paths, sizeof paths / sizeof paths[0], arena, folders_out);
}
