#include <string.h>

#include "schedule/internal.h"

/* By ms_schedule_kind. */
static const ms_schedule_type *const TYPES[MS_SCHEDULE_KIND_COUNT] = {
    [MS_SCHEDULE_GPIPE] = &ms_schedule_gpipe,
    [MS_SCHEDULE_1F1B] = &ms_schedule_1f1b,
    [MS_SCHEDULE_INTERLEAVED] = &ms_schedule_interleaved,
    [MS_SCHEDULE_INTERLEAVED_TORCH] = &ms_schedule_interleaved_torch,
    [MS_SCHEDULE_INTERLEAVED_FLEXIBLE] = &ms_schedule_interleaved_flexible,
    [MS_SCHEDULE_LOOPED_BFS] = &ms_schedule_looped_bfs,
    [MS_SCHEDULE_ZBH1] = &ms_schedule_zbh1,
    [MS_SCHEDULE_ZBH2] = &ms_schedule_zbh2,
    [MS_SCHEDULE_ZB1P] = &ms_schedule_zb1p,
    [MS_SCHEDULE_ZBV] = &ms_schedule_zbv,
    [MS_SCHEDULE_VHALF] = &ms_schedule_vhalf,
    [MS_SCHEDULE_VMIN] = &ms_schedule_vmin,
    [MS_SCHEDULE_DUALPIPE] = &ms_schedule_dualpipe,
    [MS_SCHEDULE_DUALPIPEV] = &ms_schedule_dualpipev,
    [MS_SCHEDULE_CHIMERA] = &ms_schedule_chimera,
    [MS_SCHEDULE_SEQ1F1B] = &ms_schedule_seq1f1b,
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

const char *ms_schedule_kind_summary(ms_schedule_kind kind) {
    const ms_schedule_type *type = ms_schedule_type_of(kind);
    return type == NULL ? "an order of its own" : type->summary;
}

ms_schedule_traits ms_schedule_kind_traits(ms_schedule_kind kind) {
    const ms_schedule_type *type = TYPES[kind];
    return (ms_schedule_traits){.chunks = type->chunks,
                                .takes_group = (type->options & MS_TAKES_GROUP) != 0,
                                .takes_slices = (type->options & MS_TAKES_SLICES) != 0,
                                .takes_reorder = (type->options & MS_TAKES_REORDER) != 0};
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

void ms_action_list_add_pair(ms_action_list *list, const ms_action *forward,
                             const ms_action *backward) {
    ms_action_list_add(list, (ms_pass)forward->pass, forward->stage, forward->mb);
    ms_action_list_add(list, (ms_pass)backward->pass, backward->stage, backward->mb);
    if (!list->has_overflowed) {
        list->actions[list->count - 2].is_overlapped = 1;
    }
}

int ms_place_loop(const ms_schedule_spec *spec, int stage) {
    return stage % spec->pipeline_ranks;
}

int ms_place_v(const ms_schedule_spec *spec, int stage) {
    int place = stage % spec->pipeline_ranks;
    return stage / spec->pipeline_ranks % 2 == 0 ? place : spec->pipeline_ranks - 1 - place;
}

int ms_place_two_ways(const ms_schedule_spec *spec, int stage) {
    return ms_place_v(spec, stage);
}

ms_status ms_schedule_check_filled(const ms_schedule_spec *spec, ms_diag *diag) {
    if (spec->microbatches >= spec->pipeline_ranks) {
        return MS_OK;
    }
    ms_diag_error(diag,
                  "%s needs at least as many microbatches as pipeline ranks, got M = '%d' "
                  "for P = %d; nearest legal M: %d",
                  ms_schedule_kind_name(spec->kind), spec->microbatches, spec->pipeline_ranks,
                  spec->pipeline_ranks);
    return MS_E_INPUT;
}

void ms_generate_1f1b(const ms_1f1b_order *order, ms_action_list *list) {
    for (int64_t k = 0; k < order->warmup; k++) {
        order->add(order, MS_PASS_F, k, list);
    }
    int64_t steady = order->total - order->warmup;
    for (int64_t k = 0; k < steady; k++) {
        order->add(order, MS_PASS_F, order->warmup + k, list);
        order->add(order, MS_PASS_B, k, list);
    }
    for (int64_t k = steady; k < order->total; k++) {
        order->add(order, MS_PASS_B, k, list);
    }
}

void ms_generate_split(const ms_1f1b_order *order, int lag, ms_action_list *list) {
    for (int64_t k = 0; k < order->warmup; k++) {
        order->add(order, MS_PASS_F, k, list);
    }
    for (int64_t k = 0; k < order->total; k++) {
        if (order->warmup + k < order->total) {
            order->add(order, MS_PASS_F, order->warmup + k, list);
        }
        order->add(order, MS_PASS_I, k, list);
        if (k >= lag) {
            order->add(order, MS_PASS_W, k - lag, list);
        }
    }
    for (int64_t k = order->total > lag ? order->total - lag : 0; k < order->total; k++) {
        order->add(order, MS_PASS_W, k, list);
    }
}

static bool check_positive(const char *what, int value, ms_diag *diag) {
    if (value >= 1) {
        return true;
    }
    ms_diag_error(diag, "%s must be at least 1, got '%d'", what, value);
    return false;
}

/* What the row of the kind says about V, N, K and reordering. */
static ms_status check_options(const ms_schedule_spec *spec, const ms_schedule_type *type,
                               ms_diag *diag) {
    if (type->chunks != 0 && spec->chunks != type->chunks) {
        ms_diag_error(diag,
                      "%s has %s per pipeline rank, got V = '%d'; nearest legal V: %d "
                      "(interleaved takes more)",
                      type->name, type->chunks == 1 ? "one stage" : "two stages", spec->chunks,
                      type->chunks);
        return MS_E_INPUT;
    }
    if (spec->group != 0 && (type->options & MS_TAKES_GROUP) == 0) {
        ms_diag_error(diag,
                      "%s has no groups of microbatches, got N = '%d'; only interleaved and "
                      "interleaved_flexible have",
                      type->name, spec->group);
        return MS_E_INPUT;
    }
    if (spec->slices != 1 && (type->options & MS_TAKES_SLICES) == 0) {
        ms_diag_error(diag, "%s does not slice sequences, got K = '%d'; only seq1f1b does",
                      type->name, spec->slices);
        return MS_E_INPUT;
    }
    if (spec->is_reordered && (type->options & MS_TAKES_REORDER) == 0) {
        ms_diag_error(diag, "%s cannot be reordered; only vhalf and vmin can", type->name);
        return MS_E_INPUT;
    }
    return MS_OK;
}

/* Sizes every schedule needs; the products are formed in 64 bits and are safe as int afterwards. */
static ms_status check_sizes(const ms_schedule_spec *spec, const ms_schedule_type *type,
                             ms_diag *diag) {
    if (!check_positive("the number of pipeline ranks P", spec->pipeline_ranks, diag) ||
        !check_positive("the number of stages per rank V", spec->chunks, diag) ||
        !check_positive("the number of microbatches M", spec->microbatches, diag) ||
        !check_positive("the number of slices of a sequence K", spec->slices, diag)) {
        return MS_E_INPUT;
    }
    if (spec->group < 0) {
        ms_diag_error(diag, "the group size N must be at least P, got '%d'", spec->group);
        return MS_E_INPUT;
    }
    int64_t stages = (int64_t)spec->pipeline_ranks * spec->chunks;
    if (stages * type->directions > MS_STAGES_MAX) {
        ms_diag_error(diag, "P x V = %lld virtual stages are too many, the limit is %d",
                      (long long)stages, MS_STAGES_MAX / type->directions);
        return MS_E_INPUT;
    }
    int64_t mb_count = (int64_t)spec->microbatches * spec->slices;
    int64_t per_mb = stages * type->passes;
    if (mb_count > MS_ACTIONS_MAX / per_mb) {
        ms_diag_error(diag,
                      "the schedule has %.0f actions, the limit is %d; take fewer microbatches "
                      "than M = '%d'",
                      (double)mb_count * (double)per_mb, MS_ACTIONS_MAX, spec->microbatches);
        return MS_E_INPUT;
    }
    return check_options(spec, type, diag);
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
    ms_action_list list = {.capacity = (size_t)program->stages * (size_t)program->mb_count *
                                       (size_t)type->passes};
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

/* The spec with the kind's own V and K = 1 in the place of 0. */
static ms_schedule_spec resolve(const ms_schedule_spec *spec, const ms_schedule_type *type) {
    ms_schedule_spec resolved = *spec;
    if (spec->chunks == 0) {
        resolved.chunks = type->chunks == 0 ? 1 : type->chunks;
    }
    resolved.slices = spec->slices == 0 ? 1 : spec->slices;
    return resolved;
}

ms_status ms_schedule_build(const ms_schedule_spec *spec, ms_arena *arena, ms_diag *diag,
                            ms_program *program_out) {
    const ms_schedule_type *type = ms_schedule_type_of(spec->kind);
    if (type == NULL) {
        ms_diag_error(diag, "unknown schedule kind '%d'", (int)spec->kind);
        return MS_E_INPUT;
    }
    ms_program program = {.spec = resolve(spec, type), .name = type->name};
    ms_status status = check_sizes(&program.spec, type, diag);
    if (status == MS_OK && type->check != NULL) {
        status = type->check(&program.spec, diag);
    }
    if (status != MS_OK) {
        return status;
    }
    program.model_stages = program.spec.pipeline_ranks * program.spec.chunks;
    program.stages = program.model_stages * type->directions;
    program.mb_count = program.spec.microbatches / type->directions * program.spec.slices;
    program.parameter_replicas = type->directions;
    program.round = type->round == NULL ? 0 : type->round(&program.spec);
    status = place_stages(type, arena, diag, &program);
    if (status == MS_OK) {
        status = fill_lists(type, arena, diag, &program);
    }
    if (status == MS_OK) {
        status = finish_lists(type, diag, &program);
    }
    if (status == MS_OK) {
        *program_out = program;
    }
    return status;
}

bool ms_program_has_pairs(const ms_program *program) {
    size_t count = program->first[program->spec.pipeline_ranks];
    for (size_t i = 0; i < count; i++) {
        if (program->actions[i].is_overlapped != 0) {
            return true;
        }
    }
    return false;
}

void ms_program_part_pairs(ms_program *program) {
    size_t count = program->first[program->spec.pipeline_ranks];
    for (size_t i = 0; i < count; i++) {
        program->actions[i].is_overlapped = 0;
    }
}

bool ms_program_has_next(const ms_program *program, int stage) {
    return stage + 1 != program->model_stages && stage + 1 != program->stages;
}

bool ms_program_has_previous(const ms_program *program, int stage) {
    return stage != 0 && stage != program->model_stages;
}

int ms_action_producers(const ms_program *program, const ms_action *action,
                        ms_producer producers_out[2]) {
    int count = 0;
    if (action->pass == MS_PASS_F) {
        if (ms_program_has_previous(program, action->stage)) {
            producers_out[count++] = (ms_producer){action->stage - 1, action->mb, true};
        }
    } else if (action->pass == MS_PASS_W) {
        producers_out[count++] = (ms_producer){action->stage, action->mb, false};
    } else {
        producers_out[count++] = (ms_producer){action->stage, action->mb, true};
        if (ms_program_has_next(program, action->stage)) {
            producers_out[count++] = (ms_producer){action->stage + 1, action->mb, false};
        }
    }
    return count;
}

int ms_action_consumer(const ms_program *program, const ms_action *action) {
    if (action->pass == MS_PASS_F) {
        return ms_program_has_next(program, action->stage) ? action->stage + 1 : -1;
    }
    bool passes_on = action->pass != MS_PASS_W && ms_program_has_previous(program, action->stage);
    return passes_on ? action->stage - 1 : -1;
}

int ms_action_receiver(const ms_program *program, const ms_action *action) {
    int consumer = ms_action_consumer(program, action);
    bool is_remote =
        consumer >= 0 && program->stage_rank[consumer] != program->stage_rank[action->stage];
    return is_remote ? consumer : -1;
}
