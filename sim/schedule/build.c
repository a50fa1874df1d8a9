/* Builds the program of a schedule kind (ms_schedule_build): checks the sizes P, V, M, N and K
 * against the row that the kind has in the registration table (kinds/table.c), assigns virtual
 * stages to pipeline ranks, and has the row's generator write the list of passes of every rank. */
#include "schedule/internal.h"

/* Check that a size is at least 1. what: the name of the size in the message. */
static ms_status check_positive(const char *what, int value, ms_diag *diag) {
    return value >= 1 ? MS_OK : ms_diag_error(diag, "%s must be at least 1, got '%d'", what, value);
}

/* Check V, the group size N, the slices K and the request to reorder against what the row of the
 * kind allows. spec: with V and K resolved. Returns MS_E_INPUT, reported, for an option that the
 * kind does not take. */
static ms_status check_options(const ms_schedule_spec *spec, const ms_schedule_type *type,
                               ms_diag *diag) {
    if (type->chunks != 0 && spec->chunks != type->chunks) {
        return ms_diag_error(diag,
                             "%s has %s per pipeline rank, got V = '%d'; nearest legal V: %d "
                             "(interleaved takes more)",
                             type->name, type->chunks == 1 ? "one stage" : "two stages",
                             spec->chunks, type->chunks);
    }
    if (spec->group != 0 && (type->options & MS_TAKES_GROUP) == 0) {
        return ms_diag_error(diag,
                             "%s has no groups of microbatches, got N = '%d'; only interleaved and "
                             "interleaved_flexible have",
                             type->name, spec->group);
    }
    if (spec->slices != 1 && (type->options & MS_TAKES_SLICES) == 0) {
        return ms_diag_error(diag, "%s does not slice sequences, got K = '%d'; only seq1f1b does",
                             type->name, spec->slices);
    }
    if (spec->is_reordered && (type->options & MS_TAKES_REORDER) == 0) {
        return ms_diag_error(diag, "%s cannot be reordered; only vhalf and vmin can", type->name);
    }
    return MS_OK;
}

/* Check the sizes that every schedule needs, and then the options of the kind. The products of
 * sizes are formed in 64 bits; after this check, the numbers of stages and of actions fit in an
 * int. */
static ms_status check_sizes(const ms_schedule_spec *spec, const ms_schedule_type *type,
                             ms_diag *diag) {
    if (spec->chunks == 0) {
        return ms_diag_error(diag, "%s needs the number of stages per rank V; expected 2 or more",
                             type->name);
    }
    if (check_positive("the number of pipeline ranks P", spec->pipeline_ranks, diag) != MS_OK ||
        check_positive("the number of stages per rank V", spec->chunks, diag) != MS_OK ||
        check_positive("the number of microbatches M", spec->microbatches, diag) != MS_OK ||
        check_positive("the number of slices of a sequence K", spec->slices, diag) != MS_OK) {
        return MS_E_INPUT;
    }
    if (spec->group < 0) {
        return ms_diag_error(diag, "the group size N must be at least P, got '%d'", spec->group);
    }
    int64_t stages = (int64_t)spec->pipeline_ranks * spec->chunks;
    if (stages * type->directions > MS_STAGES_MAX) {
        return ms_diag_error(diag, "P x V = %lld virtual stages are too many, the limit is %d",
                             (long long)stages, MS_STAGES_MAX / type->directions);
    }
    int64_t mb_count = (int64_t)spec->microbatches * spec->slices;
    int64_t per_mb = stages * type->passes; /* actions of one microbatch or slice, at most */
    if (mb_count > MS_ACTIONS_MAX / per_mb) {
        return ms_diag_error(
            diag,
            "the schedule has %.0f actions, the limit is %d; take fewer microbatches "
            "than M = '%d'",
            (double)mb_count * (double)per_mb, MS_ACTIONS_MAX, spec->microbatches);
    }
    return check_options(spec, type, diag);
}

/* Fill in the pipeline rank of every stage, by the placement of the kind, and the stage's chunk:
 * its number among the stages of that rank, from 0 in ascending order of stages. */
static ms_status place_stages(const ms_schedule_type *type, ms_arena *arena, ms_diag *diag,
                              ms_program *program) {
    int *chunks_of = MS_NEW(arena, int, program->spec.pipeline_ranks);
    program->stage_rank = MS_NEW(arena, int, program->stages);
    program->stage_chunk = MS_NEW(arena, int, program->stages);
    if (chunks_of == NULL || program->stage_rank == NULL || program->stage_chunk == NULL) {
        return ms_diag_no_memory(diag);
    }
    for (int stage = 0; stage < program->stages; stage++) {
        int rank = type->rank_of_stage(&program->spec, stage);
        program->stage_rank[stage] = rank;
        program->stage_chunk[stage] = chunks_of[rank]++;
    }
    return MS_OK;
}

/* Generate the list of actions of every rank, one rank after the other in one array. The array is
 * sized for the most actions that the kind may write; a generator that writes more is a bug
 * (MS_E_BUG, reported). */
static ms_status fill_lists(const ms_schedule_type *type, ms_arena *arena, ms_diag *diag,
                            ms_program *program) {
    int ranks = program->spec.pipeline_ranks;
    ms_action_list list = {.capacity = (size_t)program->stages * (size_t)program->mb_count *
                                       (size_t)type->passes};
    list.actions = MS_NEW(arena, ms_action, list.capacity);
    program->first = MS_NEW(arena, size_t, ranks + 1);
    if (list.actions == NULL || program->first == NULL) {
        return ms_diag_no_memory(diag);
    }
    for (int rank = 0; rank < ranks; rank++) {
        type->generate(&program->spec, rank, &list);
        program->first[rank + 1] = list.count;
    }
    if (list.has_overflowed) {
        ms_diag_error(diag, "bug: schedule '%s' writes more actions than it may", type->name);
        return MS_E_BUG;
    }
    program->actions = list.actions;
    return MS_OK;
}

/* Run the last step of the kind on the complete lists, if the kind has one: to change or to check
 * them. */
static ms_status finish_lists(const ms_schedule_type *type, ms_diag *diag, ms_program *program) {
    if (type->finish == NULL) {
        return MS_OK;
    }
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_status status = type->finish(program, &scratch, diag);
    ms_arena_release(&scratch);
    return status;
}

/* Replace the sizes that were left at 0 by their defaults: V by the V that the kind needs, K by 1.
 * V stays 0 for kinds that take any V; check_sizes refuses that. */
static ms_schedule_spec resolve(const ms_schedule_spec *spec, const ms_schedule_type *type) {
    ms_schedule_spec resolved = *spec;
    resolved.chunks = spec->chunks == 0 ? type->chunks : spec->chunks;
    resolved.slices = spec->slices == 0 ? 1 : spec->slices;
    return resolved;
}

/* Build the program of a kind. Defaults and checks first, then sizes, placement, lists, and the
 * kind's last step. */
ms_status ms_schedule_build(const ms_schedule_spec *spec, ms_arena *arena, ms_diag *diag,
                            ms_program *program_out) {
    const ms_schedule_type *type = ms_schedule_type_of(spec->kind);
    if (type == NULL) {
        return ms_diag_error(diag, "unknown schedule kind '%d'", (int)spec->kind);
    }
    ms_program program = {.spec = resolve(spec, type), .type = type, .name = type->name};
    ms_status status = check_sizes(&program.spec, type, diag);
    if (status == MS_OK && type->check != NULL) {
        status = type->check(type, &program.spec, diag);
    }
    if (status != MS_OK) {
        return status;
    }
    program.model_stages = program.spec.pipeline_ranks * program.spec.chunks;
    program.stages = program.model_stages * type->directions;
    /* with two directions, each takes half of the microbatches */
    program.mb_count = program.spec.microbatches / type->directions * program.spec.slices;
    program.parameter_replicas = type->directions;
    program.round = type->round == NULL ? 0 : type->round(&program.spec);
    status = place_stages(type, arena, diag, &program);
    status = status == MS_OK ? fill_lists(type, arena, diag, &program) : status;
    status = status == MS_OK ? finish_lists(type, diag, &program) : status;
    if (status == MS_OK) {
        *program_out = program;
    }
    return status;
}
