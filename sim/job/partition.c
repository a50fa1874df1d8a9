/* Checks and sets which virtual stage has which layers (schedule.partition): numbers that the spec
 * gives for the first and the last stage, or for all stages, and even shares for the open stages
 * between. A balanced partition needs times, and is made in layer_partition.h; here only its
 * possibility is checked. */
#include "job/internal.h"

/* Check a list of all stages' layers: its length, and that no other key of the partition is given.
 * ms_layout_check checks the list's sum. */
static ms_status check_given(const ms_job_spec *spec, int stages, ms_diag *diag) {
    const ms_spec_partition *given = &spec->schedule.partition;
    if (given->first_stage_layers > 0 || given->last_stage_layers > 0 ||
        given->kind != MS_PARTITION_EVEN) {
        return ms_spec_fault(spec, diag, "schedule.stage_layers",
                             "gives every stage its layers; leave 'schedule.first_stage_layers', "
                             "'schedule.last_stage_layers' and 'schedule.partition' out");
    }
    if (given->stage_layers.count != (size_t)stages) {
        return ms_spec_fault(spec, diag, "schedule.stage_layers",
                             "expected %d entries (pp x v), got %zu", stages,
                             given->stage_layers.count);
    }
    return MS_OK;
}

/* Report that the layers do not divide among the open stages, with the nearest number of layers
 * that would. */
static ms_status fault_shares(const ms_job_spec *spec, const ms_open_stages *open, int stages,
                              ms_diag *diag) {
    int layers = spec->model.layers;
    int given = layers - open->layers;
    /* the multiple of the open stages at or below the open layers, and at least one layer each */
    int nearest = open->count <= 0
                      ? 0
                      : (open->layers / open->count + (open->layers < open->count)) * open->count;
    return ms_spec_fault(spec, diag, "schedule",
                         "%d layer%s do not divide among %d virtual stages%s; nearest "
                         "number of layers: %d; or give 'schedule.partition: balanced', "
                         "'schedule.stage_layers', 'schedule.first_stage_layers' and "
                         "'schedule.last_stage_layers'",
                         layers, ms_plural(layers), stages,
                         given > 0 ? " beside the given ends" : "", given + nearest);
}

/* Report that there are more virtual stages than layers. */
static ms_status fault_stages(const ms_job_spec *spec, int stages, ms_diag *diag) {
    int layers = spec->model.layers;
    return ms_spec_fault(spec, diag, "schedule",
                         "%d layer%s for %d virtual stages: more stages than layers", layers,
                         ms_plural(layers), stages);
}

/* Check that the open stages can have the layers that the given ends leave. Each open stage needs a
 * layer. Only in a balanced partition may the first and the last stage go without (`empty`), where
 * embedding or head take long enough. In an even one the open stages must get equal shares. No
 * layers may be left over where no stage is open. */
static ms_status check_shares(const ms_job_spec *spec, const ms_open_stages *open, int stages,
                              ms_diag *diag) {
    const ms_spec_partition *given = &spec->schedule.partition;
    bool is_balanced = given->kind == MS_PARTITION_BALANCED;
    int empty = is_balanced ? (given->first_stage_layers == 0) +
                                  (given->last_stage_layers == 0 && stages > 1)
                            : 0;
    if (open->count >= 0 && open->layers < open->count - empty) {
        return open->layers < 0 ? fault_shares(spec, open, stages, diag)
                                : fault_stages(spec, stages, diag);
    }
    bool is_filled = open->count < 0 || (open->count == 0 && open->layers > 0);
    bool is_uneven = !is_balanced && open->count > 0 && open->layers % open->count != 0;
    return is_filled || is_uneven ? fault_shares(spec, open, stages, diag) : MS_OK;
}

/* Check that the layers can be shared among so many virtual stages. */
static ms_status check_layers(const ms_job_spec *spec, int stages, ms_diag *diag) {
    const ms_open_stages open = ms_spec_open_stages(spec, stages);
    return spec->schedule.partition.stage_layers.count > 0
               ? check_given(spec, stages, diag)
               : check_shares(spec, &open, stages, diag);
}

/* Check the partition, and set the layers of every virtual stage (layout.stage_layers) unless it is
 * balanced. A list of the spec is borrowed; given ends keep their numbers, and open stages share
 * the rest evenly. */
ms_status ms_spec_partition_layers(ms_job *job, ms_arena *arena, ms_diag *diag) {
    const ms_job_spec *spec = &job->spec;
    const ms_spec_partition *given = &spec->schedule.partition;
    int stages = job->program.model_stages;
    const ms_open_stages open = ms_spec_open_stages(spec, stages);
    bool is_listed = given->stage_layers.count > 0;
    ms_status status = check_layers(spec, stages, diag);
    if (status != MS_OK || is_listed || given->kind == MS_PARTITION_BALANCED) {
        job->layout.stage_layers =
            status == MS_OK && is_listed ? given->stage_layers.items : job->layout.stage_layers;
        return status;
    }
    int *shares = MS_NEW(arena, int, stages);
    if (shares == NULL) {
        return MS_E_NOMEM;
    }
    for (int s = 0; s < stages; s++) {
        bool is_open = s >= open.first && s < open.first + open.count;
        shares[s] = is_open          ? open.layers / open.count
                    : s < open.first ? given->first_stage_layers
                                     : given->last_stage_layers;
    }
    job->layout.stage_layers = shares;
    return MS_OK;
}

/* Check early whether the model has layers for all virtual stages, without an order of passes. The
 * number of stages follows from pp and `schedule.v`, or the number that the schedule's kind
 * needs. */
ms_status ms_job_check_layers(const ms_job *job, ms_diag *diag) {
    const ms_job_spec *spec = &job->spec;
    const ms_spec_schedule *schedule = &spec->schedule;
    if (!spec->has_model || schedule->csv != NULL || schedule->kind == MS_SCHEDULE_CUSTOM) {
        return MS_OK;
    }
    ms_status status = ms_spec_check_chunks(spec, job->layout.pp, diag);
    if (status != MS_OK) {
        return status;
    }
    const int many = 1 << 24; /* more than any model has layers */
    int own = ms_schedule_kind_traits(schedule->kind).chunks;
    int chunks = schedule->chunks > 0 ? schedule->chunks : own > 0 ? own : 1;
    double stages = (double)job->layout.pp * chunks;
    return check_layers(spec, stages < many ? (int)stages : many, diag);
}
