/* The keys that make a workload run another schedule than its own. */
#include "study/schedule_request.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chunks and slices of sequences that schedules which take any number get where nobody says; keys
 * that are set for a schedule. */
enum { SHARE_DEFAULT = 2, OWN_SETS = 10 };

/* The keys that make the workload run one schedule. */
typedef struct own_sets {
    const char *items[OWN_SETS];
    size_t count;
    bool has_failed;
} own_sets;

typedef struct making {
    const ms_job *base;
    const ms_schedule_spec *sizes;
    ms_arena *arena;
    ms_diag *diag;
    own_sets sets;
    ms_schedule_request *out;
} making;

static ms_status report_no_memory(const making *m) {
    ms_diag_error(m->diag, "out of memory");
    return MS_E_NOMEM;
}

/* ---- sizes ---- */

/* What the user, the workload and the kind make of V, N, K and reordering. */
static ms_schedule_spec sizes_of(const making *m, ms_schedule_kind kind) {
    const ms_schedule_spec *own = &m->base->program.spec;
    const ms_schedule_spec *given = m->sizes;
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

/* K of a file: with K times as many units as the workload has microbatches, they are parts. */
static int file_slices(const making *m, const ms_program *program) {
    int slices = m->sizes->slices > 0 ? m->sizes->slices : m->base->program.spec.slices;
    bool are_parts = program->spec.microbatches == (long)m->base->microbatches * slices;
    return are_parts ? slices : 1;
}

/* A file is read once before any child does: its faults are told in full, and its sizes are known.
 * A child gets its whole path, because in a workload a path starts at that one's folder. */
static ms_status read_file(const making *m, const ms_schedule_choice *choice, int *stages_out,
                           int *slices_out, const char **kind_out) {
    const ms_schedule_spec none = {0};
    char path[PATH_MAX];
    ms_opened_schedule opened;
    ms_status status = ms_schedule_open(choice, &none, m->arena, m->diag, &opened);
    if (status != MS_OK) {
        return status;
    }
    if (realpath(choice->file, path) == NULL) {
        ms_diag_error(m->diag, "cannot find '%s': %s", choice->name, strerror(errno));
        return MS_E_IO;
    }
    const char *kind = ms_arena_printf(m->arena, "csv:%s", path);
    ms_buffer quoted;
    ms_buffer_init(&quoted);
    ms_json_write_string(&quoted,
                         kind == NULL ? "" : kind); /* one YAML string, whatever is in it */
    *kind_out = kind == NULL ? NULL : ms_arena_strdup(m->arena, ms_buffer_text(&quoted));
    bool has_failed = quoted.failed || *kind_out == NULL;
    ms_buffer_release(&quoted);
    *stages_out = opened.program.model_stages;
    *slices_out = file_slices(m, &opened.program);
    return has_failed ? report_no_memory(m) : MS_OK;
}

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

/* ---- keys ---- */

static void add_set(making *m, const char *key, const char *value) {
    const char *set = ms_arena_printf(m->arena, "schedule.%s=%s", key, value);
    m->sets.has_failed = m->sets.has_failed || set == NULL;
    m->sets.items[m->sets.count++] = set;
}

static void add_int_set(making *m, const char *key, int value) {
    char text[16];
    snprintf(text, sizeof text, "%d", value);
    add_set(m, key, text);
}

/* Layers for a number of stages that is not the workload's: as it deals them where that is
 * balanced, or even and stays so; else balanced, and what it gives its own ends says nothing. */
static void add_layers(making *m, int stages) {
    const ms_job *base = m->base;
    if (stages == base->program.model_stages) {
        return;
    }
    add_set(m, "stage_layers", "[]");
    m->out->is_dealt_anew =
        base->has_first_layers || base->has_last_layers ||
        (!base->is_balanced && (!is_even(base) || base->model.layers % stages != 0));
    if (m->out->is_dealt_anew) {
        add_set(m, "deal", "balanced");
    }
    if (base->has_first_layers) {
        add_set(m, "first_stage_layers", "null");
    }
    if (base->has_last_layers) {
        add_set(m, "last_stage_layers", "null");
    }
}

/* Given times are per stage, and say nothing of other stages. */
static ms_status check_costs(const making *m, int stages, int slices) {
    const ms_program *own = &m->base->program;
    if (m->base->has_model || (stages == own->model_stages && slices == own->spec.slices)) {
        return MS_OK;
    }
    m->out->reason = ms_arena_printf(m->arena,
                                     "the workload's 'costs' are those of %d stages and %d part%s "
                                     "of a sequence, it has %d and %d",
                                     own->model_stages, own->spec.slices,
                                     own->spec.slices == 1 ? "" : "s", stages, slices);
    return m->out->reason == NULL ? report_no_memory(m) : MS_OK;
}

/* The keys of a schedule, or the reason why it cannot run. */
static ms_status find_sets(making *m, const ms_schedule_choice *choice) {
    ms_schedule_spec spec = {.slices = 1};
    const char *value = choice->name;
    int stages = 0;
    ms_status status = MS_OK;
    if (choice->file != NULL) {
        status = read_file(m, choice, &stages, &spec.slices, &value);
    } else {
        spec = sizes_of(m, choice->kind);
        stages = spec.pipeline_ranks * spec.chunks;
    }
    if (status == MS_OK) {
        status = check_costs(m, stages, spec.slices);
    }
    add_set(m, "kind", value);
    add_int_set(m, "v", spec.chunks);
    add_int_set(m, "group", spec.group);
    add_int_set(m, "splits", spec.slices);
    add_set(m, "reorder", spec.is_reordered ? "true" : "false");
    if (m->base->has_model && status == MS_OK) {
        add_layers(m, stages);
    }
    return status;
}

/* The user's --set come first. */
static ms_status join_sets(const making *m, const ms_job_request *request) {
    size_t given = request->set_count;
    const char **all = MS_NEW(m->arena, const char *, given + m->sets.count);
    if (all == NULL || m->sets.has_failed) {
        return report_no_memory(m);
    }
    for (size_t i = 0; i < given + m->sets.count; i++) {
        all[i] = i < given ? request->sets[i] : m->sets.items[i - given];
    }
    m->out->job = *request;
    m->out->job.sets = all;
    m->out->job.set_count = given + m->sets.count;
    return MS_OK;
}

ms_status ms_schedule_request_make(const ms_schedule_base *base, const ms_schedule_choice *choice,
                                   const ms_schedule_spec *sizes, ms_arena *arena, ms_diag *diag,
                                   ms_schedule_request *request_out) {
    *request_out = (ms_schedule_request){.reason = NULL};
    making m = {
        .base = base->job, .sizes = sizes, .arena = arena, .diag = diag, .out = request_out};
    ms_status status = find_sets(&m, choice);
    return status == MS_OK ? join_sets(&m, base->request) : status;
}

ms_status ms_schedule_in_workload(const ms_job_request *request, const ms_schedule_choice *choice,
                                  const ms_schedule_spec *sizes, ms_arena *arena, ms_diag *diag,
                                  ms_job *job_out) {
    ms_job base = {0};
    ms_schedule_request own;
    ms_status status = ms_job_load(request, arena, diag, &base);
    if (status == MS_OK) {
        status = ms_schedule_request_make(&(ms_schedule_base){request, &base}, choice, sizes, arena,
                                          diag, &own);
    }
    if (status == MS_OK && own.reason != NULL) {
        ms_diag_error(diag, "%s: %s", choice->name, own.reason);
        status = MS_E_INPUT;
    }
    return status == MS_OK ? ms_job_load(&own.job, arena, diag, job_out) : status;
}
