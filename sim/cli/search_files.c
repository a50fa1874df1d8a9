#include "cli/search_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/failure.h"

/* A file that stands in a folder by its whole path; any other name as it is. */
static const char *make_absolute(const char *folder, const char *name, ms_arena *arena) {
    static const char *const ENDINGS[] = {"", ".yaml"};
    for (size_t i = 0; name != NULL && name[0] != '/' && i < 2; i++) {
        const char *path = ms_arena_printf(arena, "%s/%s%s", folder, name, ENDINGS[i]);
        char *real = path == NULL ? NULL : realpath(path, NULL);
        if (real != NULL) {
            const char *copy = ms_arena_strdup(arena, real);
            (free)(real); /* realpath's own */
            return copy;
        }
        if (path != NULL) {
            ms_failure_note_file(path, errno);
        }
    }
    return name;
}

void ms_show_search_workload(const ms_search_row *row, ms_arena *arena, ms_buffer *out) {
    ms_job_spec spec = row->spec;
    const char *folder = spec.folder == NULL ? "." : spec.folder;
    spec.platform.file = make_absolute(folder, spec.platform.file, arena);
    spec.schedule.csv = make_absolute(folder, spec.schedule.csv, arena);
    spec.placement.file = make_absolute(folder, spec.placement.file, arena);
    out->failed = out->failed || ms_job_spec_write(&spec, out) != MS_OK || arena->has_failed;
}
