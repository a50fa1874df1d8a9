/* What all kinds of imports share: the table of kinds, overrides, the workload that is written. */
#include <string.h>

#include "study/import/kinds.h"

/* In the order of the help page. A row is added together with its file. */
static const ms_import_kind *const KINDS[] = {&ms_import_hf, NULL};

enum { KIND_MAX = sizeof KINDS / sizeof KINDS[0] };

const ms_import_kind *const *ms_import_kinds(void) {
    return KINDS;
}

static ms_status report_kind(const char *name, ms_diag *diag) {
    const char *names[KIND_MAX] = {NULL};
    ms_buffer known;
    ms_buffer_init(&known);
    for (size_t i = 0; KINDS[i] != NULL; i++) {
        names[i] = KINDS[i]->name;
        ms_buffer_printf(&known, "%s%s", i == 0 ? "" : ", ", KINDS[i]->name);
    }
    const char *nearest = ms_nearest_word(name, names, KIND_MAX);
    ms_diag_error(diag, "unknown kind '%s'%s%s%s (known: %s)", name,
                  nearest == NULL ? "" : "; did you mean '", nearest == NULL ? "" : nearest,
                  nearest == NULL ? "" : "'?", ms_buffer_text(&known));
    ms_buffer_release(&known);
    return MS_E_USAGE;
}

static const ms_import_kind *find_kind(const char *name) {
    for (size_t i = 0; KINDS[i] != NULL; i++) {
        if (strcmp(KINDS[i]->name, name) == 0) {
            return KINDS[i];
        }
    }
    return NULL;
}

/* The overrides, and what the model then is. */
static ms_status complete(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                          ms_imported *out) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < source->set_count && status == MS_OK; i++) {
        status = ms_node_set(out->root, source->sets[i], arena, diag);
    }
    const ms_node *model = ms_node_get(out->root, "model");
    if (status == MS_OK && model != NULL) {
        out->has_model = true;
        status = ms_model_read(model, "model", arena, diag, &out->model);
    }
    out->missing_count = ms_job_spec_missing(out->root, out->missing);
    return status;
}

ms_status ms_import_read(const char *kind, const ms_import_source *source, ms_arena *arena,
                         ms_diag *diag, ms_imported *imported_out) {
    const ms_import_kind *found = find_kind(kind);
    ms_imported imported = {.about = ""};
    if (found == NULL) {
        return report_kind(kind, diag);
    }
    ms_status status = found->read(source, arena, diag, &imported);
    status = status == MS_OK ? complete(source, arena, diag, &imported) : status;
    if (status == MS_OK) {
        *imported_out = imported;
    }
    return status;
}

void ms_import_write(const ms_imported *imported, ms_buffer *out) {
    ms_buffer_printf(out, "# Imported by meshsim from %s.\n", imported->about);
    ms_job_spec_write_draft(imported->root, out);
}
