/* The table of kinds of exports. */
#include <string.h>

#include "study/export/kinds.h"

/* In the order of the help page. A row is added together with its file. */
static const ms_export_kind *const KINDS[] = {&ms_export_megatron, &ms_export_torchtitan,
                                              &ms_export_deepspeed, NULL};

enum { KIND_MAX = sizeof KINDS / sizeof KINDS[0] };

const ms_export_kind *const *ms_export_kinds(void) {
    return KINDS;
}

const ms_export_kind *ms_export_find(const char *name, ms_diag *diag) {
    const char *names[KIND_MAX];
    size_t count = 0;
    for (size_t i = 0; KINDS[i] != NULL; i++) {
        if (strcmp(KINDS[i]->name, name) == 0) {
            return KINDS[i];
        }
        names[count++] = KINDS[i]->name;
    }
    ms_diag_unknown(diag, "kind", name, names, count);
    return NULL;
}

ms_status ms_export_write(const ms_export_kind *kind, const ms_export_source *source,
                          ms_arena *arena, ms_diag *diag, ms_exported *exported_out) {
    ms_exported exported = {.text = NULL};
    if (!source->job->spec.has_model) {
        return ms_spec_fault(&source->job->spec, diag, "costs",
                             "given times have no model that %s could train", kind->software);
    }
    ms_status status = kind->write(source, arena, diag, &exported);
    if (status == MS_OK) {
        *exported_out = exported;
    }
    return status;
}
