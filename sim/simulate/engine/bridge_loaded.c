/* SimGrid's side of the bridge as a module (a shared object) that the program meshsim opens when it
 * needs SimGrid. The module is beside the program in a build, and in the library folder once
 * installed; a program that was copied elsewhere finds the module of its build. The environment
 * variable MESHSIM_MODULES names another folder, which is then the only one that is searched.
 *
 * CMake defines MESHSIM_MODULE (the module's file name), MESHSIM_MODULE_FROM_BIN (the installed
 * library folder, relative to that of the program) and MESHSIM_MODULE_BUILT (the folder of the
 * build). */
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/failure.h"
#include "base/usage.h"
#include "simulate/engine/bridge_table.h"

/* Find the file of the module.  path_out: [size] its path; if it is not found, a message that names
 * the folders that were searched.  Returns whether it was found; true as well for a path from
 * MESHSIM_MODULES that has no file, which dlopen then reports. */
static bool find_module(char *path_out, size_t size) {
    char own[PATH_MAX];
    const char *given = getenv("MESHSIM_MODULES");
    if (given != NULL && *given != '\0') {
        snprintf(path_out, size, "%s/%s", given, MESHSIM_MODULE);
        return true;
    }
    if (!ms_program_folder(own, sizeof own)) {
        snprintf(own, sizeof own, ".");
    }
    const char *const folders[][2] = {
        {own, ""}, {own, "/" MESHSIM_MODULE_FROM_BIN}, {MESHSIM_MODULE_BUILT, ""}};
    enum { FOLDERS = sizeof folders / sizeof folders[0] };
    for (int i = 0; i < FOLDERS; i++) {
        snprintf(path_out, size, "%s%s/%s", folders[i][0], folders[i][1], MESHSIM_MODULE);
        if (ms_file_is_there(path_out)) {
            return true;
        }
    }
    snprintf(path_out, size, "no %s in %s, %s/%s or %s; set MESHSIM_MODULES to its folder",
             MESHSIM_MODULE, own, own, MESHSIM_MODULE_FROM_BIN, MESHSIM_MODULE_BUILT);
    return false;
}

/* If the module is not found, find_module leaves the cause in `path`. A module of another version
 * than the program is refused. */
const ms_bridge_table *ms_bridge_open(char *cause_out, size_t size) {
    char path[4 * PATH_MAX];
    if (!find_module(path, sizeof path)) {
        snprintf(cause_out, size, "%s", path);
        return NULL;
    }
    void *module = dlopen(path, RTLD_LAZY | RTLD_LOCAL); /* never closed */
    const ms_bridge_table *table = module == NULL ? NULL : dlsym(module, "ms_bridge_simgrid");
    if (table == NULL) {
        const char *why = dlerror();
        snprintf(cause_out, size, "%s", why == NULL ? "out of memory" : why);
        return NULL;
    }
    if (table->layout != MS_BRIDGE_LAYOUT) {
        snprintf(cause_out, size, "'%s' is of another version of meshsim", path);
        return NULL;
    }
    return table;
}
