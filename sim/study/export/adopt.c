/* What other software makes of a file: the choices of its profile, with what the file says on top.
 */
#include "study/export/kinds.h"

/* A model that is code of the user's own has his sizes, and the software's kernels. */
static void take_model(const ms_job_spec *mine, ms_job_spec *theirs) {
    const ms_model brought = theirs->model;
    ms_model *model = &theirs->model;
    *model = mine->model;
    model->attention = brought.attention;
    model->has_fused_accumulation = brought.has_fused_accumulation;
    model->loss = brought.loss;
    model->loss_metrics = brought.loss_metrics;
    model->kernels = brought.kernels;
    model->projections = brought.projections;
    model->repeats_key_values = brought.repeats_key_values;
    model->kernel_traits = brought.kernel_traits;
}

ms_status ms_export_adopt(const ms_export_software *software, ms_arena *arena, ms_diag *diag,
                          ms_export_pair *pair) {
    const ms_job_spec *mine = &pair->mine;
    ms_job_spec base;
    ms_status status =
        ms_job_spec_of_framework(software->framework, software->data_folder, arena, diag, &base);
    if (status != MS_OK) {
        return status;
    }
    base.platform = mine->platform;
    base.folder = mine->folder;
    status = ms_job_spec_override(&base, software->sets, arena, diag, &pair->theirs);
    if (status != MS_OK) {
        return status;
    }
    if (!software->has_model) {
        take_model(mine, &pair->theirs);
    }
    int chunks = pair->theirs.schedule.chunks; /* of the file, which fitting takes for a choice */
    ms_job_spec_fit_framework(&pair->theirs);
    pair->theirs.schedule.chunks = chunks;
    return ms_export_settle_spec(&pair->theirs, arena, diag);
}
