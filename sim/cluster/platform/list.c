/* Lists all keys of a platform with the values in use (ms_platform_list), for records of a run. */

#include "base/config/config.h"
#include "cluster/platform/files.h"

/* Replace the name of the library by the constants of the library.  root: document of the
 * platform. */
static ms_status list_library(const ms_platform *platform, ms_node *root, ms_arena *arena) {
    ms_node *keys = NULL;
    const ms_node *name = ms_node_get(root, "library");
    if (platform->library == NULL || platform->library->keys == NULL || name == NULL) {
        return MS_OK;
    }
    ms_status status = ms_library_list(platform->library, platform->gpu.generation, arena, &keys);
    if (status == MS_OK) {
        ms_node_remove(root, name);
        keys->key = "library";
        ms_node_append(root, keys);
    }
    return status;
}

ms_status ms_platform_list(const ms_platform *platform, const ms_node *document, ms_arena *arena,
                           ms_diag *diag, ms_node **keys_out) {
    ms_node *root = ms_node_copy(document, arena);
    ms_status status = root == NULL ? MS_E_NOMEM : list_library(platform, root, arena);
    status = status == MS_OK ? ms_config_fill(root, MS_PLATFORM_FIELDS, arena, diag) : status;
    if (status == MS_OK) {
        ms_config_arrange(root, MS_PLATFORM_FIELDS);
        *keys_out = root;
    }
    return status;
}
