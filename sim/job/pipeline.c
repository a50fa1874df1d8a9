#include "job/pipeline.h"

#include <string.h>

#include "job/relay.h"
#include "meshsim/schedule_csv.h"

/* A pass of a model is four operations or more, and 4e7 operations are the most that is simulated.
 */
enum { PASSES_MAX = 10000000 };

static const char FILE_PREFIX[] = "csv:";

/* What faults of the schedule as a whole point at. */
static const ms_node *place_of(const ms_workload *w) {
    const ms_node *node = ms_node_get(w->root, "schedule");
    return node == NULL ? w->root : node;
}

static ms_status fault_kind(const ms_workload *w, ms_diag *diag) {
    const char *const *names = ms_schedule_kind_names();
    const char *nearest = ms_nearest_word(w->schedule.kind, names, MS_SCHEDULE_KIND_COUNT);
    ms_buffer known;
    ms_buffer_init(&known);
    for (size_t i = 0; names[i] != NULL; i++) {
        ms_buffer_printf(&known, "%s, ", names[i]);
    }
    ms_status status =
        ms_config_fault(diag, ms_node_get(place_of(w), "kind"), "schedule.kind",
                        "unknown schedule '%s'%s%s%s (known: %sand csv:FILE)", w->schedule.kind,
                        nearest == NULL ? "" : "; did you mean '", nearest == NULL ? "" : nearest,
                        nearest == NULL ? "" : "'?", ms_buffer_text(&known));
    ms_buffer_release(&known);
    return status;
}

/* Refuse, before memory is asked for it, what is too large to be simulated. */
static ms_status check_passes(const ms_workload *w, const ms_schedule_spec *spec, ms_diag *diag) {
    int own = ms_schedule_kind_traits(spec->kind).chunks;
    int chunks = spec->chunks > 0 ? spec->chunks : own > 0 ? own : 1;
    double stages = (double)spec->pipeline_ranks * chunks;
    double passes = 2.0 * stages * spec->microbatches * spec->slices;
    if (passes <= PASSES_MAX) {
        return MS_OK;
    }
    return ms_config_fault(diag, ms_node_get(w->root, "batch"), "batch",
                           "%d microbatches on %.0f virtual stages are %.3g passes, more than the "
                           "limit of %.3g",
                           spec->microbatches, stages, passes, (double)PASSES_MAX);
}

static ms_status build_by_kind(const ms_workload *w, ms_arena *arena, ms_diag *diag, ms_job *job) {
    const ms_workload_schedule *schedule = &w->schedule;
    ms_schedule_spec spec = {.pipeline_ranks = job->layout.pp,
                             .chunks = schedule->chunks,
                             .microbatches = job->microbatches,
                             .group = schedule->group,
                             .slices = schedule->splits,
                             .is_reordered = schedule->is_reordered};
    if (ms_schedule_kind_from_name(schedule->kind, &spec.kind) != MS_OK) {
        return fault_kind(w, diag);
    }
    ms_status status = check_passes(w, &spec, diag);
    if (status == MS_OK) {
        ms_relay relay = {.diag = diag, .node = place_of(w), .path = "schedule"};
        ms_diag placed;
        ms_relay_init(&placed, &relay);
        status = ms_schedule_build(&spec, arena, &placed, &job->program);
    }
    return status;
}

/* The sizes of a file are those of the mesh and the batch. */
static ms_status check_sizes(const ms_workload *w, const ms_program *program, ms_diag *diag,
                             const ms_job *job) {
    const ms_node *kind = ms_node_get(place_of(w), "kind");
    const ms_schedule_spec *found = &program->spec;
    const struct {
        const char *what, *key;
        int found, wanted;
    } SIZES[] = {{"pipeline ranks", "mesh.pp", found->pipeline_ranks, job->layout.pp},
                 {"stages per rank", "schedule.v", found->chunks, w->schedule.chunks},
                 {"microbatches", "batch", found->microbatches, job->microbatches}};
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        if (SIZES[i].wanted != 0 && SIZES[i].found != SIZES[i].wanted) {
            bool may_be_parts =
                i == 2 && found->slices == 1 && SIZES[i].found % SIZES[i].wanted == 0;
            return ms_config_fault(diag, kind, "schedule.kind",
                                   "'%s' has %d %s, and '%s' gives %d%s", w->schedule.kind,
                                   SIZES[i].found, SIZES[i].what, SIZES[i].key, SIZES[i].wanted,
                                   may_be_parts ? "; if they are parts of sequences, "
                                                  "'schedule.splits' says how many make one"
                                                : "");
        }
    }
    if (program->model_stages != found->pipeline_ranks * found->chunks) {
        return ms_config_fault(diag, kind, "schedule.kind",
                               "'%s' has %d stages on %d ranks; on a platform every rank has "
                               "equally many",
                               w->schedule.kind, program->model_stages, found->pipeline_ranks);
    }
    return MS_OK;
}

/* Keys that make an order have nothing to say beside a file. */
static ms_status check_keys(const ms_workload *w, ms_diag *diag) {
    const struct {
        const char *key, *path;
        bool is_set;
    } OF_KINDS[] = {{"group", "schedule.group", w->schedule.group != 0},
                    {"reorder", "schedule.reorder", w->schedule.is_reordered}};
    for (size_t i = 0; i < sizeof OF_KINDS / sizeof OF_KINDS[0]; i++) {
        if (OF_KINDS[i].is_set) {
            return ms_config_fault(
                diag, ms_node_get(place_of(w), OF_KINDS[i].key), OF_KINDS[i].path,
                "makes an order, and '%s' has its own; leave it out", w->schedule.kind);
        }
    }
    return MS_OK;
}

static ms_status read_file(const ms_workload *w, const char *home, ms_arena *arena, ms_diag *diag,
                           ms_job *job) {
    const char *path = w->schedule.kind + sizeof FILE_PREFIX - 1;
    if (path[0] == '\0') {
        return ms_config_fault(diag, ms_node_get(place_of(w), "kind"), "schedule.kind",
                               "'csv:' names no file; expected csv:FILE");
    }
    path = path[0] == '/' ? path : ms_arena_printf(arena, "%s/%s", home, path);
    if (path == NULL) {
        return MS_E_NOMEM;
    }
    ms_csv_table table;
    ms_program program;
    int splits = w->schedule.splits < 1 ? 1 : w->schedule.splits; /* less was reported */
    ms_status status = ms_csv_load(path, arena, diag, &table);
    if (status == MS_OK) {
        status = ms_csv_program(&table, w->schedule.kind, splits, arena, diag, &program);
    }
    if (status == MS_OK) {
        status = check_sizes(w, &program, diag, job);
    }
    if (status == MS_OK) {
        status = check_keys(w, diag);
    }
    if (status == MS_OK) {
        job->program = program;
        job->schedule_text = table.text;
    }
    return status;
}

/* When sharded parameters are gathered, where whole stages are: as the workload's keys say, else as
 * the file does. */
static ms_status place_gathers(const ms_workload *w, ms_arena *arena, ms_diag *diag, ms_job *job) {
    bool has_key = ms_config_has(ms_node_get(w->root, "data_parallel"), "gather_stages");
    ms_program *program = &job->program;
    if (has_key || job->layout.keeps_parameters || job->layout.has_gather_overlap) {
        program->shard_moves = NULL;
    }
    ms_status status = MS_OK;
    if (w->gather_stages > 0) {
        status = ms_program_place_unshards(program, w->gather_stages, arena, diag);
    }
    job->layout.has_placed_gathers =
        w->gather_stages > 0 || (job->layout.zero >= 3 && program->shard_moves != NULL);
    return status;
}

/* What is reduced once a round needs a schedule that has rounds. */
static ms_status check_rounds(const ms_workload *w, const ms_job *job, ms_diag *diag) {
    if (job->layout.reduce != MS_REDUCE_ROUND || job->program.round > 0) {
        return MS_OK;
    }
    return ms_config_fault(diag, ms_node_get(ms_node_get(w->root, "data_parallel"), "reduce"),
                           "data_parallel.reduce",
                           "'round' needs a schedule that takes microbatches in groups "
                           "(interleaved, interleaved_torch, interleaved_flexible, zb1p), and '%s' "
                           "does not; expected 'last' or 'every'",
                           w->schedule.kind);
}

ms_status ms_pipeline_build(const ms_workload *w, const char *home, ms_arena *arena, ms_diag *diag,
                            ms_job *job) {
    bool is_file = strncmp(w->schedule.kind, FILE_PREFIX, sizeof FILE_PREFIX - 1) == 0;
    ms_status status =
        is_file ? read_file(w, home, arena, diag, job) : build_by_kind(w, arena, diag, job);
    if (status != MS_OK) {
        return status;
    }
    ms_relay relay = {.diag = diag, .node = place_of(w), .path = "schedule"};
    ms_diag placed;
    ms_relay_init(&placed, &relay);
    job->has_pairs = ms_program_has_pairs(&job->program);
    if (w->schedule.overlap == MS_OVERLAP_SERIAL) {
        ms_program_part_pairs(&job->program);
    }
    status = place_gathers(w, arena, &placed, job);
    status = status == MS_OK ? ms_program_check(&job->program, &placed) : status;
    status = status == MS_OK ? check_rounds(w, job, diag) : status;
    job->is_blocking = w->schedule.sends == MS_SENDS_BLOCKING;
    job->layout.chunks = job->program.spec.chunks;
    job->layout.copies = job->program.parameter_replicas;
    job->layout.parts = job->program.spec.slices;
    job->layout.stage_rank = job->program.stage_rank;
    return status;
}
