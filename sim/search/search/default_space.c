/* The default space: the keys that a search varies unless the user says which, and their values.
 * workloads/search.md says which values, and why. */
#include <string.h>

#include "search/points.h"
#include "search/search/space.h"

/* Tensor parallelism beyond 16 GPUs is rare where layers are not made for it: a rank's products
 * get too narrow. Sequences of fewer tokens per context-parallel rank are not cut. */
enum { TP_MAX = 16, PP_MAX = 128, CP_TOKENS_MIN = 8192, EP_MAX = 1024 };

static const int MICROS[] = {1, 2, 4, 8};
static const int ZEROS[] = {0, 1, 3};
static const int CHUNKS[] = {2, 3, 4, 6, 8};

#define COUNT_OF(list) ((int)(sizeof(list) / sizeof(list)[0]))

/* ---- sizes ---- */

static int own_size(const ms_space *space, int axis) {
    return ms_spec_axis_size(&space->base.mesh, ms_known_axis(axis));
}

/* Whether the default space has a size of an axis. */
static bool is_default(const ms_space *space, int axis, int size) {
    const ms_model *model = &space->base.model;
    bool is_own = own_size(space, axis) == size;
    bool is_power = (size & (size - 1)) == 0;
    switch (axis) {
    case KNOWN_TP:
        for (size_t i = 0; i < space->cluster_count && size <= TP_MAX && !is_own; i++) {
            is_own = space->clusters[i].domain % size == 0;
        }
        return is_own;
    case KNOWN_CP:
        return is_own || (is_power && size <= model->sequence / CP_TOKENS_MIN) || size == 1;
    case KNOWN_EP:
        return is_own || size == 1 ||
               (model->moe.experts > 0 && space->base.experts.ep == 0 && size <= EP_MAX &&
                model->moe.experts % size == 0);
    default:
        return is_own || (size <= model->layers && size <= PP_MAX);
    }
}

static void add_sizes(ms_space *space, int axis) {
    space_sizes *sizes = &space->sizes[axis];
    int largest = own_size(space, axis) > EP_MAX ? own_size(space, axis) : EP_MAX;
    int *items = MS_NEW(space->arena, int, largest);
    for (int size = 1; size <= largest && items != NULL; size++) {
        if (is_default(space, axis, size)) {
            items[sizes->count++] = size;
        }
    }
    sizes->items = items;
}

/* The workload's own order; pipeline stages outermost, whose messages are the smallest
 * (Megatron-LM); replicas outermost, whose collectives come once a step. */
static void add_orders(ms_space *space) {
    enum { ORDERS = 3 };
    const char *other = space->other;
    const char **names =
        MS_NEW(space->arena, const char *, 2 * (KNOWN_AXES + 1) + MS_MESH_AXES_MAX);
    ms_words *orders = MS_NEW(space->arena, ms_words, ORDERS);
    if (names == NULL || orders == NULL) {
        return; /* the arena has failed, which the caller reports */
    }
    static const char *const FRONT[2] = {"pp", "dp"}, *const NEXT[2] = {"dp", "pp"};
    for (int i = 0; i < 2; i++) {
        ms_words given = {names + (size_t)i * (KNOWN_AXES + 1), 0};
        given.items[given.count++] = i == 1 && other != NULL ? other : FRONT[i];
        if (other != NULL) {
            given.items[given.count++] = i == 1 ? FRONT[i] : other;
        }
        given.items[given.count++] = NEXT[i];
        orders[i + 1] = ms_space_complete_order(space, &given);
    }
    ms_words own = {names + 2 * (KNOWN_AXES + 1), (size_t)space->base.mesh.axes};
    memcpy(own.items, space->base.mesh.names, own.count * sizeof *own.items);
    orders[0] = ms_space_complete_order(space, &own);
    space->orders = orders;
    space->order_count = ORDERS;
}

/* ---- keys ---- */

/* An axis of the default space while its values are added. */
typedef struct default_axis {
    ms_space *space;
    space_axis axis;
    space_value *values;
    int capacity;
} default_axis;

/* Begin an axis that varies `key`, without values yet. capacity: most values that will be added.
 * Returns false when memory ran out. */
static bool begin(default_axis *u, ms_space *space, const char *key, int capacity) {
    *u = (default_axis){.space = space,
                        .axis = {.key = key},
                        .values = MS_NEW(space->arena, space_value, capacity),
                        .capacity = capacity};
    u->axis.values = u->values;
    return u->values != NULL;
}

static void add_value(default_axis *u, const space_setting *settings, int count, space_need need) {
    ms_arena *arena = u->space->arena;
    space_setting *copy = MS_NEW(arena, space_setting, count);
    for (int i = 0; i < count && copy != NULL; i++) {
        copy[i] = settings[i];
        copy[i].setter = ms_space_setter(settings[i].key);
    }
    if (copy != NULL && (int)u->axis.count < u->capacity) {
        u->values[u->axis.count++] =
            (space_value){.settings = copy, .count = (size_t)count, .need = need};
    }
}

static void add_int(default_axis *u, int number, space_need need) {
    const space_setting setting = {.key = u->axis.key,
                                   .value = ms_arena_printf(u->space->arena, "%d", number)};
    add_value(u, &setting, 1, need);
}

static bool is_among(const int *list, int count, int number) {
    bool is_there = false;
    for (int i = 0; i < count; i++) {
        is_there = is_there || list[i] == number;
    }
    return is_there;
}

/* The default values of a key that is a whole number, and the workload's own value. */
typedef struct default_numbers {
    const char *key;
    const int *items; /* [count] */
    int count;
    int own;
    space_need need; /* of all but the first */
} default_numbers;

static void add_numbers(ms_space *space, const default_numbers *numbers, ms_vector *axes) {
    default_axis u;
    if (ms_space_is_varied(axes, numbers->key) ||
        !begin(&u, space, numbers->key, numbers->count + 1)) {
        return;
    }
    for (int i = 0; i < numbers->count; i++) {
        add_int(&u, numbers->items[i], i > 0 ? numbers->need : NEEDS_NOTHING);
    }
    if (!is_among(numbers->items, numbers->count, numbers->own)) {
        add_int(&u, numbers->own, numbers->need);
    }
    ms_vector_add(axes, &u.axis, 1);
}

static void add_recomputation(ms_space *space, ms_vector *axes) {
    static const ms_recompute KINDS[] = {MS_RECOMPUTE_NONE, MS_RECOMPUTE_SELECTIVE,
                                         MS_RECOMPUTE_FULL};
    const char *const *words = ms_job_spec_words("recompute");
    default_axis u;
    if (ms_space_is_varied(axes, "recompute") || !begin(&u, space, "recompute", COUNT_OF(KINDS))) {
        return;
    }
    for (int i = 0; i < COUNT_OF(KINDS); i++) {
        const space_setting setting = {.key = u.axis.key, .value = words[KINDS[i]]};
        add_value(&u, &setting, 1, NEEDS_NOTHING);
    }
    ms_vector_add(axes, &u.axis, 1);
}

/* A kind with its virtual stages; a group of microbatches goes with the workload's own kind. */
static void add_schedule(default_axis *u, ms_schedule_kind kind, int chunks) {
    const ms_spec_schedule *own = &u->space->base.schedule;
    const space_setting settings[] = {
        {.key = "schedule.kind", .value = ms_schedule_kind_name(kind)},
        {.key = "schedule.v", .value = ms_arena_printf(u->space->arena, "%d", chunks)},
        {.key = "schedule.group", .value = "0"}};
    int count = own->group != 0 && own->kind != kind ? 3 : 2;
    add_value(u, settings, count, kind == MS_SCHEDULE_1F1B ? NEEDS_NOTHING : NEEDS_PIPELINE);
}

/* One stage per rank, interleaved ones, and the workload's own, in several numbers of virtual
 * stages where it takes any. */
static void add_schedules(ms_space *space, ms_vector *axes) {
    const ms_spec_schedule *own = &space->base.schedule;
    default_axis u;
    if (own->csv != NULL || ms_space_is_varied(axes, "schedule.kind") ||
        ms_space_is_varied(axes, "schedule.v") ||
        !begin(&u, space, "schedule", 2 * COUNT_OF(CHUNKS) + 2)) {
        return;
    }
    bool is_free = ms_schedule_kind_traits(own->kind).chunks == 0;
    add_schedule(&u, MS_SCHEDULE_1F1B, 0);
    for (int i = 0; i < COUNT_OF(CHUNKS); i++) {
        add_schedule(&u, MS_SCHEDULE_INTERLEAVED, CHUNKS[i]);
    }
    bool is_listed = own->kind == MS_SCHEDULE_INTERLEAVED;
    for (int i = 0; i < COUNT_OF(CHUNKS) && is_free && !is_listed; i++) {
        add_schedule(&u, own->kind, CHUNKS[i]);
    }
    bool has_own =
        (is_free && (own->chunks == 0 || is_among(CHUNKS, COUNT_OF(CHUNKS), own->chunks))) ||
        own->kind == MS_SCHEDULE_1F1B;
    if (!has_own) {
        add_schedule(&u, own->kind, own->chunks);
    }
    ms_vector_add(axes, &u.axis, 1);
}

/* ---- virtual stages of the kinds that the user names ---- */

/* The place of a key among a value's settings; its count where the value does not set it. */
static size_t find_setting(const space_value *value, const char *key) {
    size_t at = 0;
    while (at < value->count && strcmp(value->settings[at].key, key) != 0) {
        at++;
    }
    return at;
}

/* The kind that a value sets without schedule.v; MS_SCHEDULE_CUSTOM: none, or a file. */
static ms_schedule_kind kind_of(const space_value *value) {
    size_t at = find_setting(value, "schedule.kind");
    ms_schedule_kind kind = MS_SCHEDULE_CUSTOM;
    bool is_open = at < value->count && find_setting(value, "schedule.v") == value->count;
    return is_open && ms_schedule_kind_from_name(value->settings[at].value, &kind) == MS_OK
               ? kind
               : MS_SCHEDULE_CUSTOM;
}

/* Add a value that also sets schedule.v. */
static void add_with_chunks(default_axis *u, const space_value *value, int chunks,
                            space_need need) {
    space_setting *settings = MS_NEW(u->space->arena, space_setting, value->count + 1);
    if (settings == NULL) {
        return; /* the arena has failed, which the caller reports */
    }
    memcpy(settings, value->settings, value->count * sizeof *settings);
    settings[value->count] =
        (space_setting){.key = "schedule.v",
                        .value = ms_arena_printf(u->space->arena, "%d", chunks),
                        .setter = ms_space_setter("schedule.v")};
    u->values[u->axis.count++] =
        (space_value){.settings = settings, .count = value->count + 1, .need = need};
}

/* Whether a value sets a kind that takes any number of virtual stages, without schedule.v. */
static bool is_open(const space_value *value) {
    ms_schedule_kind kind = kind_of(value);
    return kind != MS_SCHEDULE_CUSTOM && ms_schedule_kind_traits(kind).chunks == 0;
}

/* Add a value of the user once for each usual number of virtual stages of its kind. A kind with a
 * fixed number sets schedule.v back to 0, as the workload may set another number. */
static void add_completed(default_axis *u, const space_value *value) {
    int own = u->space->base.schedule.chunks;
    bool is_free = is_open(value);
    if (kind_of(value) != MS_SCHEDULE_CUSTOM && !is_free) {
        add_with_chunks(u, value, 0, value->need);
    } else if (!is_free) {
        u->values[u->axis.count++] = *value;
    }
    for (int i = 0; i < COUNT_OF(CHUNKS) && is_free; i++) {
        add_with_chunks(u, value, CHUNKS[i], i == 0 ? value->need : NEEDS_PIPELINE);
    }
    if (is_free && own > 1 && !is_among(CHUNKS, COUNT_OF(CHUNKS), own)) {
        add_with_chunks(u, value, own, NEEDS_PIPELINE);
    }
}

/* Whether schedule.v is an axis. */
static bool has_chunk_axis(const ms_vector *axes) {
    bool has_any = false;
    for (size_t i = 0; i < axes->count; i++) {
        has_any = has_any || strcmp(MS_AT(axes, space_axis, i).key, "schedule.v") == 0;
    }
    return has_any;
}

ms_status ms_space_complete_schedules(ms_space *space, ms_vector *axes, ms_diag *diag) {
    for (size_t i = 0; i < axes->count && !has_chunk_axis(axes); i++) {
        space_axis *axis = &MS_AT(axes, space_axis, i);
        bool has_open = false, has_kind = false;
        default_axis u;
        for (size_t v = 0; v < axis->count; v++) {
            has_open = has_open || is_open(&axis->values[v]);
            has_kind = has_kind || kind_of(&axis->values[v]) != MS_SCHEDULE_CUSTOM;
        }
        if (!has_open && !(has_kind && space->base.schedule.chunks > 0)) {
            continue;
        }
        if (!begin(&u, space, axis->key, (int)axis->count * (COUNT_OF(CHUNKS) + 1))) {
            return ms_diag_no_memory(diag);
        }
        for (size_t v = 0; v < axis->count; v++) {
            add_completed(&u, &axis->values[v]);
        }
        if (space->arena->has_failed) {
            return ms_diag_no_memory(diag);
        }
        *axis = u.axis;
    }
    return MS_OK;
}

/* The experts' own mesh, where the workload has one. */
static void add_experts(ms_space *space, ms_vector *axes) {
    const ms_job_spec *base = &space->base;
    default_axis u;
    if (base->experts.ep == 0 || ms_space_is_varied(axes, "expert_mesh.ep") ||
        !begin(&u, space, "expert_mesh.ep", EP_MAX)) {
        return;
    }
    for (int size = 1; size <= EP_MAX; size++) {
        if (base->model.moe.experts % size == 0 || size == base->experts.ep) {
            add_int(&u, size, NEEDS_NOTHING);
        }
    }
    ms_vector_add(axes, &u.axis, 1);
}

static void add_keys(ms_space *space, ms_vector *axes) {
    const ms_job_spec *base = &space->base;
    const default_numbers micros = {
        .key = "batch.micro", .items = MICROS, .count = COUNT_OF(MICROS), .own = base->batch.micro};
    const default_numbers zeros = {.key = "data_parallel.zero",
                                   .items = ZEROS,
                                   .count = COUNT_OF(ZEROS),
                                   .own = base->choices.zero,
                                   .need = NEEDS_REPLICAS};
    add_schedules(space, axes);
    if (base->batch.global > 0 && base->batch.microbatches == 0) {
        add_numbers(space, &micros, axes);
    }
    add_recomputation(space, axes);
    add_numbers(space, &zeros, axes);
    add_experts(space, axes);
}

ms_status ms_space_add_defaults(ms_space *space, ms_vector *axes, ms_diag *diag) {
    if (space->orders == NULL) {
        add_orders(space);
    }
    for (int axis = 0; axis < KNOWN_DP && space->base.has_model; axis++) {
        if (!space->sizes[axis].is_given) {
            add_sizes(space, axis);
        }
    }
    if (space->base.has_model) {
        add_keys(space, axes);
    }
    return space->arena->has_failed || axes->failed ? ms_diag_no_memory(diag) : MS_OK;
}
