/* Finds the file of a workload that is given by the name of one of those installed with meshsim. */
#include <string.h>

#include "base/config/find.h"
#include "base/failure.h"
#include "job/internal.h"

/* Report a workload's path that is not there, with the file beside it that was probably meant.
 * Returns MS_OK where there is none: opening the path reports it. */
static ms_status report_near_path(const char *name, const ms_file_search *search, ms_arena *arena,
                                  ms_diag *diag) {
    const char *path = strchr(name, '/') != NULL ? name : ms_arena_printf(arena, "./%s", name);
    const char *hint = path == NULL ? "" : ms_find_yaml_hint(path, search, arena);
    hint = hint[0] == '\0' && path != name ? ms_find_yaml_hint(name, search, arena) : hint;
    const ms_mark mark = {.file = name};
    return hint[0] == '\0' ? MS_OK : ms_diag_at(diag, &mark, NULL, "no such file%s", hint);
}

/* Set *found_out to the request with the path of its workload's file, which may be installed data.
 * A path, and a name of which a file is in the current folder, stay as they are. */
ms_status ms_spec_find_workload(const ms_job_request *request, ms_arena *arena, ms_diag *diag,
                                ms_job_request *found_out) {
    const char *name = request->workload;
    *found_out = *request;
    if (request->text != NULL || ms_file_is_there(name)) {
        return MS_OK;
    }
    const char *folders[] = {request->data_folder, NULL};
    const ms_file_search search = {.folders = folders, .subfolder = "workloads/"};
    if (request->data_folder == NULL || strchr(name, '/') != NULL) {
        return report_near_path(name, &search, arena, diag);
    }
    const char *path = NULL;
    const char *looked = NULL;
    if (ms_find_yaml(name, &search, arena, &path, &looked) != MS_OK) {
        return ms_diag_no_memory(diag);
    }
    if (path == NULL && strchr(name, '.') == NULL) { /* with a dot it is a missing file's name */
        return ms_diag_error(diag, "no workload '%s'%s%s", name, looked,
                             ms_find_yaml_hint(name, &search, arena));
    }
    found_out->workload = path == NULL ? name : path;
    return path == NULL ? report_near_path(name, &search, arena, diag) : MS_OK;
}
