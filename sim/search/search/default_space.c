/* The default space: the keys that a search varies unless the user says which, and their values.
 * workloads/search.md lists them with the reasons. Every key gets its usual values and the
 * workload's own value. An axis here is a varied key with its values. */
#include <string.h>

#include "search/points.h"
#include "search/search/space.h"

/* Largest sizes of axes of the mesh. Tensor parallelism beyond 16 GPUs is rare where layers are not
 * made for it: the matrix products of a rank get too narrow. CP_TOKENS_MIN: a sequence is not cut
 * into parts of fewer tokens per context-parallel rank. */
enum { TP_MAX = 16, PP_MAX = 128, CP_TOKENS_MIN = 8192, EP_MAX = 1024 };

/* Usual values of batch.micro, data_parallel.zero, and schedule.v (virtual stages per rank). */
static const int MICROS[] = {1, 2, 4, 8};
static const int ZEROS[] = {0, 1, 3};
static const int CHUNKS[] = {2, 3, 4, 6, 8};

#define COUNT_OF(list) ((int)(sizeof(list) / sizeof(list)[0]))

/* ---- sizes ---- */

/* Size of an axis in the workload's own mesh. */
static int own_size(const ms_space *space, int axis) {
    return ms_spec_axis_size(&space->base.mesh, ms_known_axis(axis));
}

/* Whether the default space has a size of an axis of the mesh: the workload's own size, and of tp
 * the divisors of a scale-up domain, of cp powers of two that leave enough tokens per rank, of ep
 * divisors of the experts, of pp all up to the number of layers; none above the maximum of its
 * axis. axis: below KNOWN_DP. */
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

/* Set the sizes of an axis of the mesh to those of the default space; a lack of memory shows in the
 * arena. */
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

/* Set the orders of the mesh: the workload's own; pipeline stages outermost, whose messages are the
 * smallest (as Megatron-LM does); replicas outermost, whose collectives run once a step. An axis
 * with a name of the user's own (`other`) counts among the replicas. The inner axes are completed
 * by ms_space_complete_order. */
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
    space_axis axis;     /* its `count` is the number of values so far */
    space_value *values; /* [capacity] those of `axis`, to be filled */
    int capacity;
} default_axis;

/* Begin an axis that varies `key`, without values yet. capacity: most values that will be added.
 * Returns false when memory ran out. */
static bool begin_axis(default_axis *draft, ms_space *space, const char *key, int capacity) {
    *draft = (default_axis){.space = space,
                            .axis = {.key = key},
                            .values = MS_NEW(space->arena, space_value, capacity),
                            .capacity = capacity};
    draft->axis.values = draft->values;
    return draft->values != NULL;
}

/* Add a value to an axis. settings: [count] keys that the value sets together; copied, with their
 * setters. need: what a job must have for the value to make a difference. A value beyond the axis'
 * capacity is dropped. A lack of memory shows in the arena. */
static void add_value(default_axis *draft, const space_setting *settings, int count,
                      space_need need) {
    ms_arena *arena = draft->space->arena;
    space_setting *copy = MS_NEW(arena, space_setting, count);
    for (int i = 0; i < count && copy != NULL; i++) {
        copy[i] = settings[i];
        copy[i].setter = ms_space_setter(settings[i].key);
    }
    if (copy != NULL && (int)draft->axis.count < draft->capacity) {
        draft->values[draft->axis.count++] =
            (space_value){.settings = copy, .count = (size_t)count, .need = need};
    }
}

/* Add a value that sets the axis' key to a whole number. */
static void add_int(default_axis *draft, int number, space_need need) {
    const space_setting setting = {.key = draft->axis.key,
                                   .value = ms_arena_printf(draft->space->arena, "%d", number)};
    add_value(draft, &setting, 1, need);
}

/* The default values of a key that is a whole number, and the workload's own value. */
typedef struct default_numbers {
    const char *key;
    const int *items; /* [count] */
    int count;
    int own;
    space_need need; /* of all values but the first, which every job has */
} default_numbers;

/* Add an axis with the default values of a key and the workload's own value, unless the user varies
 * the key. */
static void add_numbers(ms_space *space, const default_numbers *numbers, ms_vector *axes) {
    default_axis draft;
    if (ms_space_is_varied(axes, numbers->key) ||
        !begin_axis(&draft, space, numbers->key, numbers->count + 1)) {
        return;
    }
    for (int i = 0; i < numbers->count; i++) {
        add_int(&draft, numbers->items[i], i > 0 ? numbers->need : NEEDS_NOTHING);
    }
    if (!ms_space_has_number(numbers->items, numbers->count, numbers->own)) {
        add_int(&draft, numbers->own, numbers->need);
    }
    ms_vector_add(axes, &draft.axis, 1);
}

/* Add the axis of `recompute` with all its kinds, unless the user varies the key. */
static void add_recomputation(ms_space *space, ms_vector *axes) {
    static const ms_recompute KINDS[] = {MS_RECOMPUTE_NONE, MS_RECOMPUTE_SELECTIVE,
                                         MS_RECOMPUTE_FULL};
    const char *const *words = ms_job_spec_words("recompute");
    default_axis draft;
    if (ms_space_is_varied(axes, "recompute") ||
        !begin_axis(&draft, space, "recompute", COUNT_OF(KINDS))) {
        return;
    }
    for (int i = 0; i < COUNT_OF(KINDS); i++) {
        const space_setting setting = {.key = draft.axis.key, .value = words[KINDS[i]]};
        add_value(&draft, &setting, 1, NEEDS_NOTHING);
    }
    ms_vector_add(axes, &draft.axis, 1);
}

/* Add a value that sets a kind of schedule and its virtual stages per rank (0: the kind's own
 * number). The workload's schedule.group, the microbatches that an interleaved schedule handles
 * together, belongs to its own kind, so another kind sets the group to 0. */
static void add_schedule(default_axis *draft, ms_schedule_kind kind, int chunks) {
    const ms_spec_schedule *own = &draft->space->base.schedule;
    const space_setting settings[] = {
        {.key = "schedule.kind", .value = ms_schedule_kind_name(kind)},
        {.key = "schedule.v", .value = ms_arena_printf(draft->space->arena, "%d", chunks)},
        {.key = "schedule.group", .value = "0"}};
    int count = own->group != 0 && own->kind != kind ? 3 : 2;
    add_value(draft, settings, count, kind == MS_SCHEDULE_1F1B ? NEEDS_NOTHING : NEEDS_PIPELINE);
}

/* The kinds of schedules that software offers beside 1F1B, as bits. A row is for the frameworks
 * among its names, and for workloads without a framework whose own kind is there. All others,
 * Megatron Core among them, have `interleaved`: Megatron's groups of microbatches
 * (interleaved_flexible) make the same order unless schedule.group says otherwise. Sources:
 * Megatron-LM core 0.15, megatron.core.pipeline_parallel.schedules; PyTorch 2.10,
 * get_schedule_class of torch.distributed.pipelining.schedules; README of the zero-bubble fork;
 * DeepSeek's library DualPipe; DeepSpeed 0.16, TrainSchedule of deepspeed.runtime.pipe.schedule,
 * which is 1F1B. Composer and T5X have no pipelines. */
#define KIND(kind) (1U << MS_SCHEDULE_##kind)
#define TORCH      (KIND(GPIPE) | KIND(INTERLEAVED_TORCH) | KIND(LOOPED_BFS) | KIND(ZB1P) | KIND(ZBV))
static const struct {
    const char *const *names; /* NULL behind the last */
    unsigned kinds;
} OFFERS[] = {
    {MS_WORDS("torchtitan"), TORCH},
    {MS_WORDS("torchtitan-2025"), TORCH | KIND(DUALPIPEV)},
    {MS_WORDS("zero-bubble", "zbh1", "zbh2", "zbv", "vhalf", "vmin"),
     KIND(INTERLEAVED) | KIND(ZBH1) | KIND(ZBH2) | KIND(ZBV) | KIND(VHALF) | KIND(VMIN)},
    {MS_WORDS("deepseek-v3", "dualpipe", "dualpipev"), KIND(DUALPIPE) | KIND(DUALPIPEV)},
    {MS_WORDS("deepspeed", "megatron-deepspeed", "megatron-deepspeed-fp16", "bloom", "bloom-fp16",
              "composer", "t5x"),
     0},
};

/* Whether a row is for software, or for a workload's own kind, of that name. */
static bool is_row_of(const char *const *names, const char *name) {
    while (*names != NULL && strcmp(*names, name) != 0) {
        names++;
    }
    return *names != NULL;
}

/* The kinds of the default space, as bits: 1F1B, the workload's own, and those of its software. */
static unsigned offered_kinds(const ms_space *space) {
    ms_schedule_kind own = space->base.schedule.kind;
    const char *framework = space->base.framework.name;
    const char *name = framework != NULL ? framework : ms_schedule_kind_name(own);
    unsigned kinds = KIND(INTERLEAVED);
    for (size_t row = 0; row < (size_t)COUNT_OF(OFFERS); row++) {
        kinds = is_row_of(OFFERS[row].names, name) ? OFFERS[row].kinds : kinds;
    }
    return kinds | KIND(1F1B) | 1U << own;
}

/* Add the axis of schedules, unless the user varies their kind or virtual stages: 1F1B, which comes
 * first, and the other kinds of the default space. A kind that takes any number of virtual stages
 * is added with each of CHUNKS, and with the workload's own number. Kinds that are left out are
 * listed in `untried` of the axis. */
static void add_schedules(ms_space *space, ms_vector *axes) {
    const ms_spec_schedule *own = &space->base.schedule;
    enum { VALUES_MAX = MS_SCHEDULE_KIND_COUNT * (COUNT_OF(CHUNKS) + 1) };
    ms_buffer untried = {0};
    default_axis draft;
    if (own->csv != NULL || ms_space_is_varied(axes, "schedule.kind") ||
        ms_space_is_varied(axes, "schedule.v") ||
        !begin_axis(&draft, space, "schedule", VALUES_MAX)) {
        return;
    }
    unsigned offered = offered_kinds(space);
    add_schedule(&draft, MS_SCHEDULE_1F1B, 0);
    for (int kind = 0; kind < MS_SCHEDULE_KIND_COUNT; kind++) {
        bool is_free = ms_schedule_kind_traits(kind).chunks == 0; /* takes any number of stages */
        if ((offered >> kind & 1) == 0) {
            ms_buffer_printf(&untried, "%s%s", untried.length == 0 ? "" : ", ",
                             ms_schedule_kind_name(kind));
            continue;
        }
        for (int i = 0; i < (is_free ? COUNT_OF(CHUNKS) : 1) && kind != MS_SCHEDULE_1F1B; i++) {
            add_schedule(&draft, kind, is_free ? CHUNKS[i] : 0);
        }
        if (is_free && kind == (int)own->kind && own->chunks > 0 &&
            !ms_space_has_number(CHUNKS, COUNT_OF(CHUNKS), own->chunks)) {
            add_schedule(&draft, kind, own->chunks);
        }
    }
    ms_buffer_puts(&untried, space->base.framework.name == NULL
                                 ? "; no framework is named that has them"
                                 : "; the framework has no further order of passes");
    draft.axis.untried = ms_buffer_keep(&untried, space->arena);
    ms_vector_add(axes, &draft.axis, 1);
}

/* ---- virtual stages of the kinds that the user names ---- */

/* Index of a key among the settings of a value; value->count if the value does not set it. */
static size_t find_setting(const space_value *value, const char *key) {
    size_t at = 0;
    while (at < value->count && strcmp(value->settings[at].key, key) != 0) {
        at++;
    }
    return at;
}

/* The kind of schedule that a value sets without setting schedule.v. MS_SCHEDULE_CUSTOM: the value
 * sets no kind, or a schedule from a file, or sets schedule.v too. */
static ms_schedule_kind kind_without_chunks(const space_value *value) {
    size_t at = find_setting(value, "schedule.kind");
    ms_schedule_kind kind = MS_SCHEDULE_CUSTOM;
    bool is_open = at < value->count && find_setting(value, "schedule.v") == value->count;
    return is_open && ms_schedule_kind_from_name(value->settings[at].value, &kind) == MS_OK
               ? kind
               : MS_SCHEDULE_CUSTOM;
}

/* Add a copy of a value that also sets schedule.v. chunks: virtual stages per rank; 0: the kind's
 * own number. */
static void add_with_chunks(default_axis *draft, const space_value *value, int chunks,
                            space_need need) {
    ms_arena *arena = draft->space->arena;
    space_setting *settings = MS_NEW(arena, space_setting, value->count + 1);
    if (settings != NULL) { /* else the arena has failed, which the caller reports */
        memcpy(settings, value->settings, value->count * sizeof *settings);
        settings[value->count] =
            (space_setting){.key = "schedule.v", .value = ms_arena_printf(arena, "%d", chunks)};
        add_value(draft, settings, (int)value->count + 1, need);
    }
}

/* Whether a value sets a kind that takes any number of virtual stages, without setting
 * schedule.v. */
static bool lacks_chunks(const space_value *value) {
    ms_schedule_kind kind = kind_without_chunks(value);
    return kind != MS_SCHEDULE_CUSTOM && ms_schedule_kind_traits(kind).chunks == 0;
}

/* Add a value of the user once for each usual number of virtual stages, if it sets a kind that
 * takes any number and does not set schedule.v. A kind with a fixed number sets schedule.v to 0,
 * because the workload may set another number. Any other value is added as it is. */
static void add_completed(default_axis *draft, const space_value *value) {
    int own = draft->space->base.schedule.chunks;
    bool is_free = lacks_chunks(value);
    if (kind_without_chunks(value) != MS_SCHEDULE_CUSTOM && !is_free) {
        add_with_chunks(draft, value, 0, value->need);
    } else if (!is_free) {
        draft->values[draft->axis.count++] = *value;
    }
    for (int i = 0; i < COUNT_OF(CHUNKS) && is_free; i++) {
        add_with_chunks(draft, value, CHUNKS[i], i == 0 ? value->need : NEEDS_PIPELINE);
    }
    if (is_free && own > 1 && !ms_space_has_number(CHUNKS, COUNT_OF(CHUNKS), own)) {
        add_with_chunks(draft, value, own, NEEDS_PIPELINE);
    }
}

/* Whether schedule.v is an axis of its own. */
static bool has_chunk_axis(const ms_vector *axes) {
    bool has_any = false;
    for (size_t i = 0; i < axes->count; i++) {
        has_any = has_any || strcmp(MS_AT(axes, space_axis, i).key, "schedule.v") == 0;
    }
    return has_any;
}

/* An axis is replaced if one of its values sets a kind that takes any number of virtual stages, or
 * a kind with a fixed number while the workload sets another number, which must be undone. */
ms_status ms_space_complete_schedules(ms_space *space, ms_vector *axes, ms_diag *diag) {
    for (size_t i = 0; i < axes->count && !has_chunk_axis(axes); i++) {
        space_axis *axis = &MS_AT(axes, space_axis, i);
        bool has_open = false, has_kind = false;
        default_axis draft;
        for (size_t v = 0; v < axis->count; v++) {
            has_open = has_open || lacks_chunks(&axis->values[v]);
            has_kind = has_kind || kind_without_chunks(&axis->values[v]) != MS_SCHEDULE_CUSTOM;
        }
        if (!has_open && !(has_kind && space->base.schedule.chunks > 0)) {
            continue;
        }
        if (!begin_axis(&draft, space, axis->key, (int)axis->count * (COUNT_OF(CHUNKS) + 1))) {
            return ms_diag_no_memory(diag);
        }
        for (size_t v = 0; v < axis->count; v++) {
            add_completed(&draft, &axis->values[v]);
        }
        if (space->arena->has_failed) {
            return ms_diag_no_memory(diag);
        }
        *axis = draft.axis;
    }
    return MS_OK;
}

/* Add the axis of expert_mesh.ep, the expert parallelism of the experts' own mesh, where the
 * workload has such a mesh: the divisors of the number of experts, and the workload's own size. */
static void add_experts(ms_space *space, ms_vector *axes) {
    const ms_job_spec *base = &space->base;
    default_axis draft;
    if (base->experts.ep == 0 || ms_space_is_varied(axes, "expert_mesh.ep") ||
        !begin_axis(&draft, space, "expert_mesh.ep", EP_MAX)) {
        return;
    }
    for (int size = 1; size <= EP_MAX; size++) {
        if (base->model.moe.experts % size == 0 || size == base->experts.ep) {
            add_int(&draft, size, NEEDS_NOTHING);
        }
    }
    ms_vector_add(axes, &draft.axis, 1);
}

/* Add the axes of all default keys besides the sizes and the order of the mesh. batch.micro varies
 * only where the global batch is given and the number of microbatches follows from it, so that all
 * candidates train on the same tokens per step. */
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

/* Without a model, where the workload gives times of passes instead, only the order of the mesh
 * varies. */
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
