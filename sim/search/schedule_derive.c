/* Puts another schedule in the place of a workload's own (schedule_derive.h): a derived spec with
 * the schedule's sizes, and layers partitioned and given costs spread over its stages. P is the
 * number of pipeline ranks, M of microbatches, V of virtual stages per rank, K of slices of a
 * sequence. */
#include "search/schedule_derive.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Virtual stages per rank, and slices of a sequence, of a kind that takes any number of them, where
 * neither the user nor the workload gives a number. */
enum { SHARE_DEFAULT = 2 };

/* The parameters of ms_schedule_derive, `d` in this file. */
typedef struct derivation {
    const ms_job *base;
    const ms_schedule_spec *sizes;
    ms_arena *arena;
    ms_diag *diag;
    ms_schedule_derived *out;
} derivation;

/* ---- sizes ---- */

/* V and K of the workload are used if its own schedule is of this kind, or if they are above 1. V =
 * 1 or K = 1 of another kind is no choice of the user's: that kind divides no stages or
 * sequences. */
ms_schedule_spec ms_schedule_sizes(ms_schedule_kind kind, const ms_schedule_spec *given,
                                   const ms_schedule_spec *own) {
    ms_schedule_traits traits = ms_schedule_kind_traits(kind);
    ms_schedule_spec spec = {.kind = kind,
                             .pipeline_ranks = own->pipeline_ranks,
                             .microbatches = own->microbatches,
                             .chunks = traits.chunks,
                             .slices = 1};
    bool is_own = own->kind == kind;
    if (traits.chunks == 0) {
        bool has_own = is_own || own->chunks > 1;
        spec.chunks = given->chunks > 0 ? given->chunks : has_own ? own->chunks : SHARE_DEFAULT;
    }
    if (traits.takes_group) {
        spec.group = given->group > 0 ? given->group : own->group;
    }
    if (traits.takes_slices) {
        bool has_own = is_own || own->slices > 1;
        spec.slices = given->slices > 0 ? given->slices : has_own ? own->slices : SHARE_DEFAULT;
    }
    spec.is_reordered = traits.takes_reorder && (given->is_reordered || own->is_reordered);
    return spec;
}

/* K of a schedule from a file. A file numbers only units of work: if it has K times as many units
 * as the workload has microbatches, the units are slices, else they are microbatches and K is 1. K
 * itself is given, or is the workload's. */
static int file_slices(const derivation *d, const ms_program *program) {
    int slices = d->sizes->slices > 0 ? d->sizes->slices : d->base->program.spec.slices;
    bool are_slices = program->spec.microbatches == (long)d->base->microbatches * slices;
    return are_slices ? slices : 1;
}

/* Set the kind, V, group, K and reordering of a spec's schedule. */
static void set_sizes(const ms_schedule_spec *sizes, ms_spec_schedule *schedule) {
    schedule->kind = sizes->kind;
    schedule->chunks = sizes->chunks;
    schedule->group = sizes->group;
    schedule->slices = sizes->slices;
    schedule->is_reordered = sizes->is_reordered;
}

/* Set a schedule from a file. The file is read here, before any worker reads it, so that its faults
 * are reported in full and its number of stages is known. The spec gets the file's whole path,
 * because a path in a workload starts at the workload's folder. *stages_out: model stages (P * V).
 * Returns MS_OK; as ms_schedule_open; MS_E_IO; MS_E_NOMEM (all reported). */
static ms_status set_file(const derivation *d, const ms_schedule_choice *choice, int *stages_out) {
    const ms_schedule_spec none = {0};
    ms_spec_schedule *schedule = &d->out->spec.schedule;
    char path[PATH_MAX];
    ms_opened_schedule opened;
    ms_status status = ms_schedule_open(choice, &none, d->arena, d->diag, &opened);
    if (status != MS_OK) {
        return status;
    }
    if (realpath(choice->file, path) == NULL) {
        ms_diag_error(d->diag, "cannot find '%s': %s", choice->name, strerror(errno));
        return MS_E_IO;
    }
    const ms_schedule_spec sizes = {.kind = MS_SCHEDULE_CUSTOM,
                                    .slices = file_slices(d, &opened.program)};
    set_sizes(&sizes, schedule);
    schedule->csv = ms_arena_strdup(d->arena, path);
    *stages_out = opened.program.model_stages;
    return schedule->csv == NULL ? ms_diag_no_memory(d->diag) : MS_OK;
}

/* Set a schedule that its kind builds, with the workload's P and M. *stages_out: model stages (P *
 * V). */
static void set_kind(const derivation *d, const ms_schedule_choice *choice, int *stages_out) {
    ms_schedule_spec sizes = ms_schedule_sizes(choice->kind, d->sizes, &d->base->program.spec);
    sizes.is_reordered = sizes.is_reordered || choice->is_reordered;
    set_sizes(&sizes, &d->out->spec.schedule);
    d->out->spec.schedule.csv = NULL;
    *stages_out = sizes.pipeline_ranks * sizes.chunks;
}

/* ---- layers and costs of other stages ---- */

/* Whether all stages of the workload have equally many layers. */
static bool is_even(const ms_job *job) {
    const int *layers = job->layout.stage_layers;
    for (int stage = 1; stage < job->program.model_stages; stage++) {
        if (layers[stage] != layers[0]) {
            return false;
        }
    }
    return true;
}

/* Choose a partition for another number of stages than the workload's. A balanced partition stays
 * balanced, and an even one stays even if the layers divide by the new number of stages. Any other
 * partition, and one with given layers of the first or last stage, says nothing of other stages: it
 * becomes balanced, and is_repartitioned is set. */
static void place_layers(const derivation *d, int stages) {
    const ms_job *base = d->base;
    ms_spec_partition *partition = &d->out->spec.schedule.partition;
    if (stages == base->program.model_stages) {
        return;
    }
    bool is_balanced = partition->kind == MS_PARTITION_BALANCED;
    d->out->is_repartitioned =
        partition->first_stage_layers > 0 || partition->last_stage_layers > 0 ||
        (!is_balanced && (!is_even(base) || base->spec.model.layers % stages != 0));
    *partition = (ms_spec_partition){.kind = d->out->is_repartitioned ? MS_PARTITION_BALANCED
                                                                      : partition->kind};
}

double ms_schedule_spread(const double *parts, int count, int stages, int stage) {
    /* in units of 1 / (count * stages) of the model */
    int64_t from = (int64_t)stage * count, to = from + count;
    double sum = 0;
    for (int64_t part = from / stages; part * stages < to; part++) {
        int64_t start = part * stages, end = start + stages;
        sum += parts[part] * (double)((end < to ? end : to) - (start > from ? start : from));
    }
    return sum / stages;
}

/* Spread a list of given costs over another number of stages, or slices of a sequence. One value
 * for all stages stays one.  is_sum: costs of a stage are those of its parts, else those of the
 * part that it begins with. scale: slices of the workload over those of the schedule. Returns false
 * if memory runs out. */
static bool spread_list(const derivation *d, int stages, bool is_sum, double scale,
                        ms_numbers *values) {
    int own = d->base->program.model_stages;
    size_t count = values->count == 1 ? 1 : (size_t)stages;
    double *items = MS_NEW(d->arena, double, count);
    for (int i = 0; items != NULL && i < (int)count; i++) {
        double begun = values->items[values->count == 1 ? 0 : (int64_t)i * own / stages];
        double sum = values->count == 1 ? begun * own / stages
                                        : ms_schedule_spread(values->items, own, stages, i);
        items[i] = (is_sum ? sum : begun) * scale;
    }
    *values = (ms_numbers){items, count};
    return items != NULL;
}

/* Spread the given costs of a workload over the stages and slices of the schedule, as if the
 * workload's stages were equal parts of the model. Returns MS_OK; MS_E_NOMEM (reported). */
static ms_status spread_costs(const derivation *d, int stages) {
    ms_given_costs *costs = &d->out->spec.costs;
    int slices = d->out->spec.schedule.slices;
    const ms_program *own = &d->base->program;
    const struct {
        ms_numbers *values;
        bool is_sum, is_of_slice;
    } LISTS[] = {{&costs->forward, true, true},         {&costs->input_gradient, true, true},
                 {&costs->weight_gradient, true, true}, {&costs->p2p, false, true},
                 {&costs->states, true, false},         {&costs->activations, true, true}};
    bool is_spread = true;
    for (size_t i = 0; i < sizeof LISTS / sizeof LISTS[0]; i++) {
        double scale = LISTS[i].is_of_slice ? (double)own->spec.slices / slices : 1;
        is_spread = is_spread && spread_list(d, stages, LISTS[i].is_sum, scale, LISTS[i].values);
    }
    return is_spread ? MS_OK : ms_diag_no_memory(d->diag);
}

/* A workload with a model gets a partition of its layers, one with given costs has them spread. */
ms_status ms_schedule_derive(const ms_job *base, const ms_schedule_choice *choice,
                             const ms_schedule_spec *sizes, ms_arena *arena, ms_diag *diag,
                             ms_schedule_derived *derived_out) {
    *derived_out = (ms_schedule_derived){.spec = ms_job_spec_derive(&base->spec)};
    const derivation d = {base, sizes, arena, diag, derived_out};
    int stages = 0;
    ms_status status = MS_OK;
    if (choice->file != NULL) {
        status = set_file(&d, choice, &stages);
    } else {
        set_kind(&d, choice, &stages);
    }
    if (status != MS_OK || !base->spec.has_model) {
        return status == MS_OK ? spread_costs(&d, stages) : status;
    }
    place_layers(&d, stages);
    return MS_OK;
}

ms_status ms_schedule_in_workload(const ms_job *base, const ms_schedule_choice *choice,
                                  const ms_schedule_spec *sizes, ms_arena *arena, ms_diag *diag,
                                  ms_job *job_out) {
    ms_schedule_derived derived;
    ms_status status = ms_schedule_derive(base, choice, sizes, arena, diag, &derived);
    return status == MS_OK ? ms_job_build(&derived.spec, arena, diag, job_out) : status;
}
