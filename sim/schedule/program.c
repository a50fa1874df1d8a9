#include <string.h>

#include "schedule/internal.h"

/* By ms_schedule_kind. */
static const ms_schedule_type *const TYPES[MS_SCHEDULE_KIND_COUNT] = {
    [MS_SCHEDULE_GPIPE] = &ms_schedule_gpipe,
    [MS_SCHEDULE_1F1B] = &ms_schedule_1f1b,
    [MS_SCHEDULE_INTERLEAVED] = &ms_schedule_interleaved,
};

const ms_schedule_type *ms_schedule_type_of(ms_schedule_kind kind) {
    return (unsigned)kind < MS_SCHEDULE_KIND_COUNT ? TYPES[kind] : NULL;
}

ms_status ms_schedule_kind_from_name(const char *name, ms_schedule_kind *kind_out) {
    for (int kind = 0; kind < MS_SCHEDULE_KIND_COUNT; kind++) {
        if (strcmp(TYPES[kind]->name, name) == 0) {
            *kind_out = (ms_schedule_kind)kind;
            return MS_OK;
        }
    }
    return MS_E_RANGE;
}

const char *ms_schedule_kind_name(ms_schedule_kind kind) {
    const ms_schedule_type *type = ms_schedule_type_of(kind);
    return type == NULL ? "unknown" : type->name;
}

const char *const *ms_schedule_kind_names(void) {
    static const char *names[MS_SCHEDULE_KIND_COUNT + 1];
    for (int kind = 0; kind < MS_SCHEDULE_KIND_COUNT; kind++) {
        names[kind] = TYPES[kind]->name;
    }
    return names;
}

void ms_action_list_add(ms_action_list *list, ms_pass pass, int stage, int mb) {
    if (list->count == list->capacity) {
        list->has_overflowed = true;
        return;
    }
    list->actions[list->count++] =
        (ms_action){.pass = (uint8_t)pass, .stage = (int16_t)stage, .mb = mb};
}

int ms_place_loop(const ms_schedule_spec *spec, int stage) {
    return stage % spec->pipeline_ranks;
}

ms_status ms_schedule_check_single(const ms_schedule_spec *spec, ms_diag *diag) {
    const char *name = ms_schedule_kind_name(spec->kind);
    if (spec->chunks != 1) {
        ms_diag_error(diag,
                      "%s has one stage per pipeline rank, got V = '%d'; nearest legal V: 1 "
                      "(interleaved takes more)",
                      name, spec->chunks);
        return MS_E_INPUT;
    }
    if (spec->group != 0) {
        ms_diag_error(diag, "%s has no groups of microbatches, got N = '%d'; only interleaved has",
                      name, spec->group);
        return MS_E_INPUT;
    }
    return MS_OK;
}

void ms_generate_pairs(const ms_pairs *pairs, ms_action_list *list) {
    for (int64_t k = 0; k < pairs->warmup; k++) {
        pairs->unit(pairs, MS_PASS_F, k, list);
    }
    int64_t steady = pairs->total - pairs->warmup;
    for (int64_t k = 0; k < steady; k++) {
        pairs->unit(pairs, MS_PASS_F, pairs->warmup + k, list);
        pairs->unit(pairs, MS_PASS_B, k, list);
    }
    for (int64_t k = steady; k < pairs->total; k++) {
        pairs->unit(pairs, MS_PASS_B, k, list);
    }
}

static bool check_positive(const char *what, int value, ms_diag *diag) {
    if (value >= 1) {
        return true;
    }
    ms_diag_error(diag, "%s must be at least 1, got '%d'", what, value);
    return false;
}

/* Sizes every schedule needs; the products are formed in 64 bits and are safe as int afterwards. */
static ms_status check_sizes(const ms_schedule_spec *spec, const ms_schedule_type *type,
                             ms_diag *diag) {
    if (!check_positive("the number of pipeline ranks P", spec->pipeline_ranks, diag) ||
        !check_positive("the number of stages per rank V", spec->chunks, diag) ||
        !check_positive("the number of microbatches M", spec->microbatches, diag)) {
        return MS_E_INPUT;
    }
    if (spec->group < 0) {
        ms_diag_error(diag, "the group size N must be at least P, got '%d'", spec->group);
        return MS_E_INPUT;
    }
    int64_t stages = (int64_t)spec->pipeline_ranks * spec->chunks;
    if (stages > MS_STAGES_MAX) {
        ms_diag_error(diag, "P x V = %lld virtual stages are too many, the limit is %d",
                      (long long)stages, MS_STAGES_MAX);
        return MS_E_INPUT;
    }
    int64_t actions = stages * spec->microbatches * type->passes;
    if (actions > MS_ACTIONS_MAX) {
        ms_diag_error(diag,
                      "the schedule has %lld actions, the limit is %d; take fewer microbatches "
                      "than M = '%d'",
                      (long long)actions, MS_ACTIONS_MAX, spec->microbatches);
        return MS_E_INPUT;
    }
    return MS_OK;
}

static ms_status report_no_memory(ms_diag *diag) {
    ms_diag_error(diag, "out of memory");
    return MS_E_NOMEM;
}

/* Stages to ranks; a rank's chunks are numbered as its stages come. */
static ms_status place_stages(const ms_schedule_type *type, ms_arena *arena, ms_diag *diag,
                              ms_program *program) {
    int *chunks_of = MS_NEW(arena, int, program->spec.pipeline_ranks);
    program->stage_rank = MS_NEW(arena, int, program->stages);
    program->stage_chunk = MS_NEW(arena, int, program->stages);
    if (chunks_of == NULL || program->stage_rank == NULL || program->stage_chunk == NULL) {
        return report_no_memory(diag);
    }
    for (int stage = 0; stage < program->stages; stage++) {
        int rank = type->place(&program->spec, stage);
        program->stage_rank[stage] = rank;
        program->stage_chunk[stage] = chunks_of[rank]++;
    }
    return MS_OK;
}

static ms_status fill_lists(const ms_schedule_type *type, ms_arena *arena, ms_diag *diag,
                            ms_program *program) {
    int ranks = program->spec.pipeline_ranks;
    ms_action_list list = {.capacity = (size_t)program->stages *
                                       (size_t)program->spec.microbatches * (size_t)type->passes};
    list.actions = MS_NEW(arena, ms_action, list.capacity);
    program->first = MS_NEW(arena, size_t, ranks + 1);
    if (list.actions == NULL || program->first == NULL) {
        return report_no_memory(diag);
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

ms_status ms_schedule_build(const ms_schedule_spec *spec, ms_arena *arena, ms_diag *diag,
                            ms_program *program_out) {
    const ms_schedule_type *type = ms_schedule_type_of(spec->kind);
    if (type == NULL) {
        ms_diag_error(diag, "unknown schedule kind '%d'", (int)spec->kind);
        return MS_E_INPUT;
    }
    ms_status status = check_sizes(spec, type, diag);
    if (status == MS_OK) {
        status = type->check(spec, diag);
    }
    if (status != MS_OK) {
        return status;
    }
    ms_program program = {
        .spec = *spec,
        .name = type->name,
        .stages = spec->pipeline_ranks * spec->chunks,
        .parameter_replicas = type->parameter_replicas,
    };
    status = place_stages(type, arena, diag, &program);
    if (status == MS_OK) {
        status = fill_lists(type, arena, diag, &program);
    }
    if (status == MS_OK) {
        *program_out = program;
    }
    return status;
}
