/* Times of single kernels and collectives, each alone on an idle platform, by the cost model
 * (times.h): reads the file that lists the points (a kernel or a collective with its sizes) and the
 * variants (overrides of the platform), and times every point on every variant. */
#include "search/times.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collective/collective.h"
#include "model/kernel_times.h"

/* Maximum numbers of GPUs and of kinds, longest path of a point's key, bytes of an element of a
 * GEMM. */
enum { GPUS_MAX = 1 << 24, KINDS_MAX = 16, KEY_MAX = 40, BYTES_OF_BF16 = 2 };

/* Maximum number of times (points * variants) of a file. A fit of 20 keys to 10,000 points needs
 * 210,000: the platform as it is and one variant per key. */
enum { TIMES_MAX = 2000000 };

static const char *const TIMINGS[] = {[MS_TIMING_QUEUED] = "queued",
                                      [MS_TIMING_ONE_THREAD] = "one_thread",
                                      [MS_TIMING_LONE_CALL] = "lone_call",
                                      NULL};

/* ---- keys ---- */

#define AT(member) offsetof(ms_timed_point, member)
#define KIND       MS_KEY("kind", "what is timed", NODE, AT(node), .is_required = true)
#define SIZE(key_, at_, help_)                                                                     \
    MS_KEY(key_, help_, NUMBER, AT(sizes[at_]), .is_required = true, .minimum = 1, .maximum = 1e15)
#define BYTES(member_, minimum_, help_)                                                            \
    MS_KEY("bytes", help_, QUANTITY, AT(member_), .dimension = MS_DIM_BYTES, .is_required = true,  \
           .minimum = (minimum_), .maximum = 1e15)

static const ms_field GEMM_FIELDS[] = {
    KIND,
    SIZE("m", 0, "rows of the result"),
    SIZE("n", 1, "columns of the result"),
    SIZE("k", 2, "inner dimension"),
    MS_KEY("count", "independent products in one kernel", NUMBER, AT(sizes[3]), .fallback = "1",
           .minimum = 1, .maximum = 1e15),
    {0},
};
static const ms_field ATTENTION_FIELDS[] = {
    KIND,
    SIZE("batch", 0, "sequences"),
    SIZE("sequence", 1, "tokens of a sequence"),
    SIZE("heads", 2, "heads of queries"),
    SIZE("kv_heads", 3, "heads of keys and values"),
    SIZE("query", 4, "size of a query"),
    SIZE("value", 5, "size of a value"),
    {0},
};
static const ms_field MEMORY_FIELDS[] = {KIND, BYTES(sizes[0], 1, "read and written"), {0}};
static const ms_field COLLECTIVE_FIELDS[] = {
    KIND,
    MS_KEY("gpus", "that take part, the platform's first ones", INT, AT(collective.ranks),
           .is_required = true, .minimum = 2, .maximum = GPUS_MAX),
    MS_KEY("nodes", "that the benchmark ran on; not given: those of the GPUs", INT,
           AT(collective.nodes), .minimum = 1, .maximum = GPUS_MAX),
    BYTES(collective.size_B, 0, "size as nccl-tests counts it"),
    MS_KEY("timing", "how the benchmark timed it", ENUM, AT(collective.timing), .words = TIMINGS,
           .fallback = "queued"),
    {0},
};

const ms_timed_kind MS_TIMED_KINDS[] = {
    {"gemm", GEMM_FIELDS, 4, MS_MEASURED_GEMM, MS_COLL_NONE},
    {"memory", MEMORY_FIELDS, 1, MS_MEASURED_MEMORY, MS_COLL_NONE},
    {"attention", ATTENTION_FIELDS, 6, MS_MEASURED_ATTENTION, MS_COLL_NONE},
    {"attention_backward", ATTENTION_FIELDS, 6, MS_MEASURED_ATTENTION_BACKWARD, MS_COLL_NONE},
    {"p2p", COLLECTIVE_FIELDS, 0, MS_MEASURED_COUNT, MS_COLL_P2P},
    {"all_reduce", COLLECTIVE_FIELDS, 0, MS_MEASURED_COUNT, MS_COLL_ALL_REDUCE},
    {"reduce_scatter", COLLECTIVE_FIELDS, 0, MS_MEASURED_COUNT, MS_COLL_REDUCE_SCATTER},
    {"all_gather", COLLECTIVE_FIELDS, 0, MS_MEASURED_COUNT, MS_COLL_ALL_GATHER},
    {"all_to_all", COLLECTIVE_FIELDS, 0, MS_MEASURED_COUNT, MS_COLL_ALL_TO_ALL},
    {"ring_shift", COLLECTIVE_FIELDS, 0, MS_MEASURED_COUNT, MS_COLL_RING_SHIFT},
    {0},
};

/* Keys of the file, as ms_config_read fills them in. */
typedef struct times_text {
    const ms_node *platform, *points, *variants;
    ms_words sets;
} times_text;

#define IN_FILE(member) offsetof(times_text, member)

static const ms_field FILE_FIELDS[] = {
    MS_KEY("platform", "name or path of a platform, or a mapping of 'file' and keys to change",
           NODE, IN_FILE(platform)),
    MS_KEY("set", "overrides of it, 'key.path=value'", WORDS, IN_FILE(sets)),
    MS_KEY("points", "list of what is timed", NODE, IN_FILE(points), .is_required = true),
    MS_KEY("variants", "lists of overrides, each of which is timed", NODE, IN_FILE(variants)),
    {0},
};

/* ---- reading ---- */

/* The state of reading a file, `r` in this file. */
typedef struct times_reader {
    ms_arena *arena;
    ms_diag *diag;
    ms_times *out;
} times_reader;

/* Add an override of the platform to a tree of changes. assignment: "key.path=value", with
 * "platform." in front or without. Returns as ms_node_set, but MS_E_INPUT for a fault. */
static ms_status apply_override(ms_node *changes, const char *assignment, ms_arena *arena,
                                ms_diag *diag) {
    static const char PREFIX[] = "platform.";
    size_t length = strncmp(assignment, PREFIX, sizeof PREFIX - 1) == 0 ? sizeof PREFIX - 1 : 0;
    ms_status status = ms_node_set(changes, assignment + length, arena, diag);
    return status == MS_E_USAGE ? MS_E_INPUT : status;
}

/* Report an unknown kind of points, with the nearest name. Returns MS_E_INPUT. */
static ms_status refuse_kind(const times_reader *r, const ms_node *node, const char *key_path) {
    const char *names[KINDS_MAX];
    size_t count = 0;
    for (; MS_TIMED_KINDS[count].name != NULL; count++) {
        names[count] = MS_TIMED_KINDS[count].name;
    }
    return ms_config_fault(r->diag, node, key_path, "unknown kind '%s'%s", node->text,
                           ms_nearest_hint(node->text, names, count).text);
}

/* Read a point: its kind, then the keys of that kind. index: of the point in the file. Returns
 * MS_OK; MS_E_INPUT with every fault reported; MS_E_NOMEM. */
static ms_status read_point(const times_reader *r, const ms_node *node, size_t index,
                            ms_timed_point *point) {
    char key_path[KEY_MAX];
    snprintf(key_path, sizeof key_path, "points[%zu]", index);
    const ms_node *word = ms_node_get(node, "kind");
    if (word == NULL || word->type != MS_NODE_SCALAR) {
        return ms_config_fault(r->diag, word == NULL ? node : word, key_path,
                               "expected a mapping with a 'kind'");
    }
    const ms_timed_kind *kind = MS_TIMED_KINDS;
    for (; kind->name != NULL && strcmp(kind->name, word->text) != 0; kind++) {
    }
    if (kind->name == NULL) {
        return refuse_kind(r, word, key_path);
    }
    ms_status status = ms_config_read(node, kind->fields, key_path, point, r->arena, r->diag);
    point->kind = (int)(kind - MS_TIMED_KINDS);
    point->node = node;
    return status == MS_OK && kind->coll == MS_COLL_P2P && point->collective.ranks != 2
               ? ms_config_fault(r->diag, ms_node_get(node, "gpus"), key_path, "p2p takes 2 GPUs")
               : status;
}

/* Read all points. Returns MS_OK; MS_E_INPUT with the faults of every point reported;
 * MS_E_NOMEM. */
static ms_status read_points(const times_reader *r, const ms_node *list) {
    ms_timed_point *points = MS_NEW(r->arena, ms_timed_point, list->count);
    ms_status status = points == NULL ? MS_E_NOMEM : MS_OK;
    if (list->type != MS_NODE_SEQUENCE) {
        return ms_config_fault(r->diag, list, "points", "expected a list of points");
    }
    for (const ms_node *node = list->first; node != NULL && status != MS_E_NOMEM;
         node = node->next) {
        size_t index = r->out->point_count++;
        ms_status one = read_point(r, node, index, &points[index]);
        status = one == MS_OK ? status : one;
    }
    r->out->points = points;
    return status;
}

/* Read which platform is used. node: its name or path, or a mapping with the key `file`; turned
 * into the mapping of overrides (without `file`), which r->out->changes then is. home: folder of
 * the file, where a relative path with a '/' starts; NULL: none. Returns MS_OK; MS_E_INPUT
 * (reported); MS_E_NOMEM. */
static ms_status read_platform(const times_reader *r, ms_node *node, const char *home) {
    bool is_mapping = node->type == MS_NODE_MAPPING;
    const ms_node *file = is_mapping ? ms_node_get(node, "file") : node;
    if (file == NULL || file->type != MS_NODE_SCALAR || file->text[0] == '\0') {
        return ms_config_fault(r->diag, file == NULL ? node : file, "platform",
                               "expected the name or path of a platform file");
    }
    bool is_beside = home != NULL && strchr(file->text, '/') != NULL && file->text[0] != '/';
    r->out->name = is_beside ? ms_arena_printf(r->arena, "%s/%s", home, file->text) : file->text;
    r->out->changes = node;
    if (is_mapping) {
        ms_node_remove(node, file);
    }
    node->type = MS_NODE_MAPPING;
    node->text = NULL;
    return r->out->name == NULL ? MS_E_NOMEM : MS_OK;
}

/* Read a variant, a list of overrides. Returns MS_OK; MS_E_INPUT (reported); MS_E_NOMEM. */
static ms_status read_variant(const times_reader *r, const ms_node *node, ms_words *variant) {
    *variant = (ms_words){.items = MS_NEW(r->arena, const char *, node->count)};
    bool is_list = node->type == MS_NODE_SEQUENCE;
    for (const ms_node *set = node->first; is_list && set != NULL; set = set->next) {
        is_list = set->type == MS_NODE_SCALAR;
        if (variant->items != NULL) {
            variant->items[variant->count++] = set->text;
        }
    }
    return !is_list ? ms_config_fault(r->diag, node, "variants", "expected a list of overrides")
           : variant->items == NULL ? MS_E_NOMEM
                                    : MS_OK;
}

/* Read the variants. list: NULL: there is one variant, without overrides. Returns as
 * read_variant. */
static ms_status read_variants(const times_reader *r, const ms_node *list) {
    size_t count = list == NULL ? 1 : list->count;
    ms_words *variants = MS_NEW(r->arena, ms_words, count);
    ms_status status = variants == NULL ? MS_E_NOMEM : MS_OK;
    if (list != NULL && (list->type != MS_NODE_SEQUENCE || count == 0)) {
        return ms_config_fault(r->diag, list, "variants", "expected a list of lists of overrides");
    }
    if (count > TIMES_MAX / (r->out->point_count + 1)) {
        return ms_config_fault(r->diag, list, "variants", "more than %d times", (int)TIMES_MAX);
    }
    const ms_node *node = list == NULL ? NULL : list->first;
    for (size_t i = 0; node != NULL && status == MS_OK; node = node->next) {
        status = read_variant(r, node, &variants[i++]);
    }
    r->out->variants = variants;
    r->out->variant_count = count;
    return status;
}

/* Read the file: platform, overrides, points, variants, and where platforms are looked for.
 * data_folder: as in ms_platform_folders. Returns as ms_times_read, but MS_E_NOMEM not reported. */
static ms_status read_file(const times_reader *r, const char *path, const char *data_folder) {
    const char *slash = strrchr(path, '/'), *home = NULL; /* of /dev/stdin: none */
    times_text text = {.points = NULL};
    ms_node *root = NULL;
    if (slash != NULL && slash != path && strncmp(path, "/dev/", 5) != 0) {
        home = ms_arena_strndup(r->arena, path, (size_t)(slash - path));
    }
    ms_status status = ms_yaml_load(path, r->arena, r->diag, &root);
    status =
        status == MS_OK ? ms_config_read(root, FILE_FIELDS, "", &text, r->arena, r->diag) : status;
    bool has_platform = status == MS_OK && text.platform != NULL;
    status = has_platform ? read_platform(r, ms_node_get(root, "platform"), home) : status;
    for (size_t i = 0; has_platform && i < text.sets.count && status == MS_OK; i++) {
        status = apply_override(r->out->changes, text.sets.items[i], r->arena, r->diag);
    }
    status = status == MS_OK ? read_points(r, text.points) : status;
    status = status == MS_OK ? read_variants(r, text.variants) : status;
    return status == MS_OK ? ms_platform_folders(home, data_folder, r->arena, &r->out->folders)
                           : status;
}

ms_status ms_times_read(const char *path, const char *data_folder, ms_arena *arena, ms_diag *diag,
                        ms_times *times_out) {
    *times_out = (ms_times){.point_count = 0};
    const times_reader r = {arena, diag, times_out};
    ms_status status = read_file(&r, path, data_folder);
    return status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
}

/* ---- times ---- */

/* Time of a kernel [s] by the curves of the GPU type. sizes: as MS_TIMED_KINDS gives the kernel's
 * keys; of a GEMM m, n, k and the number of products, whose elements are bf16. */
static double kernel_s(const ms_gpu_type *gpu, ms_measured_kernel kernel, const double *sizes) {
    switch (kernel) {
    case MS_MEASURED_MEMORY:
        return ms_memory_time_s(gpu, sizes[0]);
    case MS_MEASURED_ATTENTION:
    case MS_MEASURED_ATTENTION_BACKWARD:
        return ms_attention_time_s(gpu, sizes, kernel == MS_MEASURED_ATTENTION_BACKWARD);
    default:
        return ms_gemm_time_s(gpu, (ms_gemm_shape){sizes[0], sizes[1], sizes[2], sizes[3]},
                              BYTES_OF_BF16);
    }
}

/* Time of a collective on the first GPUs of a platform as the point's benchmark measures it. gpus:
 * the numbers 0, 1, 2, ..., at least as many as the point has. *time_s_out: [s]. Returns MS_OK;
 * MS_E_RANGE for a collective that the platform cannot do, such as one with more GPUs than it has;
 * MS_E_NOMEM. */
static ms_status time_collective(const ms_platform *platform, const ms_timed_point *point,
                                 const int *gpus, double *time_s_out) {
    ms_timed_collective timed = point->collective;
    const ms_coll_request request = {.kind = MS_TIMED_KINDS[point->kind].coll,
                                     .gpus = gpus,
                                     .members = timed.ranks,
                                     .size_B = timed.size_B};
    ms_arena scratch;
    ms_coll_plan plan;
    double time_s = 0;
    if (timed.ranks > ms_platform_gpus(platform)) {
        return MS_E_RANGE;
    }
    ms_arena_init(&scratch);
    ms_status status = ms_coll_plan_build(platform, &request, &scratch, &plan);
    status = status == MS_OK ? ms_coll_plan_time(platform, &plan, &time_s) : status;
    ms_arena_release(&scratch);
    /* without `nodes` GPUs fill one node after the other */
    timed.nodes = timed.nodes == 0 ? 1 + ms_platform_node(platform, timed.ranks - 1) : timed.nodes;
    *time_s_out = ms_timed_s(&timed, platform, time_s);
    return status;
}

/* Time all points on one variant of the platform. gpus: as for time_collective. times_s_out:
 * [point_count] [s]. Returns MS_OK; MS_E_INPUT (reported) for a collective that the platform cannot
 * do; MS_E_NOMEM. */
static ms_status time_points(const ms_times *times, const ms_platform *platform, const int *gpus,
                             ms_diag *diag, double *times_s_out) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < times->point_count && status == MS_OK; i++) {
        const ms_timed_point *point = &times->points[i];
        const ms_timed_kind *kind = &MS_TIMED_KINDS[point->kind];
        if (kind->coll == MS_COLL_NONE) {
            times_s_out[i] = kernel_s(&platform->gpu, kind->kernel, point->sizes);
        } else {
            status = time_collective(platform, point, gpus, &times_s_out[i]);
        }
        if (status == MS_E_RANGE) {
            status = ms_config_fault(diag, ms_node_get(point->node, "gpus"), "gpus",
                                     "%s among %d GPUs is none on '%s', which has %d", kind->name,
                                     point->collective.ranks, platform->name,
                                     ms_platform_gpus(platform));
        }
    }
    return status;
}

/* Load the platform with the overrides of the file and of a variant. sets: overrides of the
 * variant. *document_out: as in ms_platform_load; NULL: not wanted. Returns as ms_platform_load. */
static ms_status load_variant(const ms_times *times, const ms_words *sets, ms_arena *arena,
                              ms_diag *diag, ms_platform *platform_out,
                              const ms_node **document_out) {
    ms_node *changes = ms_node_copy(times->changes, arena);
    ms_status status = changes == NULL ? MS_E_NOMEM : MS_OK;
    for (size_t i = 0; i < sets->count && status == MS_OK; i++) {
        status = apply_override(changes, sets->items[i], arena, diag);
    }
    return status == MS_OK ? ms_platform_load(times->name, times->folders, changes, arena, diag,
                                              platform_out, document_out)
                           : status;
}

/* Time all points on all variants, one platform in memory at a time. times->times_s: set,
 * [variant_count][point_count]. Returns MS_OK; MS_E_NOMEM (not reported); as load_variant and
 * time_points. */
static ms_status time_variants(ms_times *times, ms_arena *arena, ms_diag *diag) {
    ms_status status = MS_OK;
    int most = 0;
    for (size_t i = 0; i < times->point_count; i++) {
        int ranks = times->points[i].collective.ranks;
        most = ranks > most ? ranks : most;
    }
    int *gpus = MS_NEW(arena, int, most);
    times->times_s = MS_NEW(arena, double, times->variant_count * times->point_count);
    if (gpus == NULL || times->times_s == NULL) {
        return MS_E_NOMEM;
    }
    for (int i = 0; i < most; i++) {
        gpus[i] = i;
    }
    for (size_t v = 0; v < times->variant_count && status == MS_OK; v++) {
        double *row = &times->times_s[v * times->point_count];
        ms_platform platform;
        ms_arena own;
        ms_arena_init(&own);
        status = load_variant(times, &times->variants[v], &own, diag, &platform, NULL);
        status = status == MS_OK ? time_points(times, &platform, gpus, diag, row) : status;
        ms_arena_release(&own);
    }
    return status;
}

/* The platform without a variant is loaded for the result; each variant is loaded again, for its
 * times alone. */
ms_status ms_times_run(ms_times *times, ms_arena *arena, ms_diag *diag) {
    static const ms_words NONE = {.count = 0};
    const ms_node *document = NULL;
    ms_node *keys = NULL;
    ms_status status = load_variant(times, &NONE, arena, diag, &times->platform, &document);
    status =
        status == MS_OK ? ms_platform_list(&times->platform, document, arena, diag, &keys) : status;
    times->keys = keys;
    status = status == MS_OK ? time_variants(times, arena, diag) : status;
    return status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
}

/* The text of a quantity has a unit, but its dimension is not known here, so the units of all
 * dimensions are tried. */
double ms_key_number(const ms_node *node) {
    double value = NAN;
    const char *why = NULL;
    bool is_read = node->type != MS_NODE_SCALAR || ms_number_parse(node->text, &value) == MS_OK;
    for (int d = MS_DIM_NONE + 1; !is_read && d < MS_DIM_COUNT; d++) {
        is_read = ms_unit_parse(node->text, (ms_dimension)d, &value, &why) == MS_OK;
    }
    return value;
}
