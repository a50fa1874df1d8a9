/* `import kineto`: the matrix products and attentions of a trace as a table of measured kernels.
 * What else a trace says, the command shows (sim/cli/import_kineto.c). */
#include "meshsim/kineto.h"
#include "study/import/kinds.h"

static ms_status read_kineto(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                             ms_imported *out) {
    ms_kineto_trace trace;
    const ms_kineto_source files = {
        .files = source->files, .file_count = source->file_count, .steps = 1};
    ms_status status = ms_kineto_read(&files, arena, diag, &trace);
    if (status == MS_OK && ms_kineto_measured(&trace, arena, &out->table) != MS_OK) {
        status = ms_diag_no_memory(diag);
    }
    return status == MS_OK ? ms_kineto_check_measured(&trace, &out->table, diag) : status;
}

const ms_import_kind ms_import_kineto = {
    .name = "kineto",
    .product = MS_IMPORT_TABLE,
    .read = read_kineto,
};
