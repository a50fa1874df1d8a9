/* Reads communication libraries from platforms/libraries/NAME.yaml (ms_library_read): field tables
 * for latencies, limits per generation of GPUs and corrections, whose lists are checked and copied
 * into ms_library. */
#include "cluster/platform/library.h"

#include <stddef.h>
#include <string.h>

#include "base/config/config.h"
#include "cluster/platform/files.h"

/* A table of latencies as the file has it: by algorithm a list with a number for each protocol. */
typedef struct latency_file {
    ms_numbers rows[MS_LIBRARY_ALGORITHMS];
} latency_file;

/* The keys of one generation of GPUs; the lists are limits for one node, two nodes, more. */
typedef struct generation_file {
    ms_library_generation generation;
    ms_numbers ll, ring_ll128, tree_ll128, tree, nvls_tree;
} generation_file;

/* The keys of a library. */
typedef struct library_file {
    const char *name;
    ms_library_formulas formulas;
    latency_file base, node, net;
    ms_numbers net_overhead, link_steps;
    int net_channels, nvls_min_gpus;
    ms_numbers correction[MS_LIBRARY_PROTOCOLS];
    const ms_node *generations;
    const char *file; /* in a platform: name of the library whose keys are changed */
} library_file;

#define LATENCY(name, row)                                                                         \
    MS_KEY((name), "latency with LL, LL128 and Simple", QUANTITIES,                                \
           offsetof(latency_file, rows[row]), .dimension = MS_DIM_TIME, .is_required = true,       \
           .maximum = 1)

static const ms_field LATENCY_FIELDS[] = {
    LATENCY("tree", MS_LIBRARY_TREE),
    LATENCY("ring", MS_LIBRARY_RING),
    LATENCY("collnet_direct", MS_LIBRARY_COLLNET_DIRECT),
    LATENCY("collnet_chain", MS_LIBRARY_COLLNET_CHAIN),
    LATENCY("nvls", MS_LIBRARY_NVLS),
    LATENCY("nvls_tree", MS_LIBRARY_NVLS_TREE),
    LATENCY("pat", MS_LIBRARY_PAT),
    {.key = NULL},
};

#define LIMIT(name, member)                                                                        \
    MS_KEY((name), "most bandwidth on one node, two, more", QUANTITIES,                            \
           offsetof(generation_file, member), .dimension = MS_DIM_BANDWIDTH, .is_required = true,  \
           .maximum = 1e18)

#define SHARE(name, member, most, text)                                                            \
    MS_KEY((name), (text), NUMBER, offsetof(generation_file, generation.member),                   \
           .fallback = (most), MS_RANGE(0, 1))

static const ms_field GENERATION_FIELDS[] = {
    LIMIT("ll_bandwidth", ll),
    LIMIT("ring_ll128_bandwidth", ring_ll128),
    LIMIT("tree_ll128_bandwidth", tree_ll128),
    LIMIT("tree_bandwidth", tree),
    LIMIT("nvls_tree_bandwidth", nvls_tree),
    MS_KEY("channels", "channels of a communicator [count]", INT,
           offsetof(generation_file, generation.channels), .is_required = true, MS_RANGE(1, 64)),
    SHARE("nvls_efficiency", nvls_efficiency, "0", "share of NVLink that NVLS is chosen by"),
    SHARE("nvls_share", nvls_share, "1", "share of NVLink that NVLS reaches"),
    SHARE("ring_turn", ring_turn, "0", "steps that a ring loses between a chunk and the next"),
    MS_KEY("overhead", "of a collective before its first step", QUANTITY,
           offsetof(generation_file, generation.overhead_s), .dimension = MS_DIM_TIME,
           .fallback = "0 s", .maximum = 1),
    MS_KEY("ramp_time", "what a very large collective takes longer than its bytes", QUANTITY,
           offsetof(generation_file, generation.ramp.time_s), .dimension = MS_DIM_TIME,
           .fallback = "0 s", .maximum = 1),
    MS_KEY("ramp_size", "size at which it is half of that", QUANTITY,
           offsetof(generation_file, generation.ramp.half_B), .dimension = MS_DIM_BYTES,
           .fallback = "1 MiB", MS_RANGE(1, 1e15)),
    {.key = NULL},
};

#define LATENCIES(name, member, text)                                                              \
    MS_KEY((name), (text), MAP, offsetof(library_file, member), .fields = LATENCY_FIELDS,          \
           .is_required = true)

#define CORRECTION(name, row)                                                                      \
    MS_KEY((name), "at 64 B, 128 B, ... 256 MiB", NUMBERS,                                         \
           offsetof(library_file, correction[row]), .is_required = true, MS_RANGE(1e-6, 1))

static const ms_field CORRECTION_FIELDS[] = {
    CORRECTION("ll", MS_LIBRARY_LL),
    CORRECTION("ll128", MS_LIBRARY_LL128),
    CORRECTION("simple", MS_LIBRARY_SIMPLE),
    {.key = NULL},
};

#define GENERATION(name)                                                                           \
    MS_KEY((name), NULL, MAP, 0, .fields = GENERATION_FIELDS, .is_required = true)

/* In the order of ms_gpu_generation, without MS_GENERATION_NONE. */
static const ms_field GENERATIONS[] = {
    GENERATION("volta"),     GENERATION("ampere"), GENERATION("hopper"),
    GENERATION("blackwell"), {.key = NULL},
};
_Static_assert(sizeof GENERATIONS / sizeof GENERATIONS[0] == MS_GENERATIONS, "a row for each");

const ms_field MS_LIBRARY_FIELDS[] = {
    MS_KEY("file", "in a platform: the library whose keys stand beside it", STRING,
           offsetof(library_file, file)),
    MS_KEY("name", "name shown in results", STRING, offsetof(library_file, name),
           .is_required = true),
    MS_KEY("formulas", "version of the library whose formulas these are figures for", ENUM,
           offsetof(library_file, formulas), .fallback = "v2.28",
           .words = MS_WORDS("v2.28", "v2.10", "v2.7")), /* as ms_library_formulas */
    LATENCIES("base_latency", base, "of a collective, by algorithm"),
    LATENCIES("node_latency", node, "of a step over NVLink"),
    LATENCIES("net_latency", net, "of a step between nodes"),
    MS_KEY("link_steps",
           "what platforms' links take of a step over NVLink and between nodes; a ring's with "
           "Simple where not given",
           QUANTITIES, offsetof(library_file, link_steps), .dimension = MS_DIM_TIME, .maximum = 1),
    MS_KEY("net_overhead", "of posting a message, with Intel's and with AMD's CPUs", QUANTITIES,
           offsetof(library_file, net_overhead), .dimension = MS_DIM_TIME, .is_required = true,
           .maximum = 1),
    MS_KEY("net_channels",
           "channels for messages to a peer across the network, and to any other peer of its "
           "communicator [count]",
           INT, offsetof(library_file, net_channels), .fallback = "2", MS_RANGE(1, 64)),
    MS_KEY("nvls_min_gpus", "fewest GPUs of a communicator on each node for NVLS [count]", INT,
           offsetof(library_file, nvls_min_gpus), .fallback = "3", MS_RANGE(2, 1024)),
    MS_KEY("tree_correction", "factor on a tree's bandwidth by protocol and size", MAP, 0,
           .fields = CORRECTION_FIELDS, .is_required = true),
    MS_KEY("generations", "by generation of GPUs: volta, ampere, hopper, blackwell", NODE,
           offsetof(library_file, generations), .fields = GENERATIONS, .is_required = true),
    {.key = NULL},
};

/* The state of reading a library. */
typedef struct library_reading {
    const ms_node *root;
    ms_arena *arena;
    ms_diag *diag;
    ms_status status;
} library_reading;

/* Copy a list that must have `count` items; a list of another length is reported. Does nothing
 * after a fault. */
static void copy_list(library_reading *reading, const ms_numbers *from, size_t count,
                      const char *key_path, double *to) {
    if (reading->status == MS_OK && from->count != count) {
        reading->status =
            ms_config_fault(reading->diag, ms_node_at(reading->root, key_path, NULL), key_path,
                            "expected %zu values, got %zu", count, from->count);
    }
    if (reading->status == MS_OK) {
        memcpy(to, from->items, count * sizeof *to);
    }
}

/* Copy a table of latencies.  table: its key. */
static void copy_latencies(library_reading *reading, const latency_file *from, const char *table,
                           double to[MS_LIBRARY_ALGORITHMS][MS_LIBRARY_PROTOCOLS]) {
    for (int row = 0; row < MS_LIBRARY_ALGORITHMS && reading->status == MS_OK; row++) {
        const char *path = ms_arena_printf(reading->arena, "%s.%s", table, LATENCY_FIELDS[row].key);
        reading->status = path == NULL ? MS_E_NOMEM : MS_OK;
        copy_list(reading, &from->rows[row], MS_LIBRARY_PROTOCOLS, path, to[row]);
    }
}

/* Read the keys of one generation, which the file must have.  name: of the generation. */
static void read_generation(library_reading *reading, const ms_node *generations, const char *name,
                            ms_library_generation *out) {
    const char *path = ms_arena_printf(reading->arena, "generations.%s", name);
    const ms_node *mapping = ms_node_get(generations, name);
    if (path == NULL || mapping == NULL) {
        reading->status = path == NULL ? MS_E_NOMEM
                                       : ms_config_fault(reading->diag, generations, "generations",
                                                         "required key is missing: '%s'", name);
        return;
    }
    generation_file file = {.ll = {0}};
    reading->status =
        ms_config_read(mapping, GENERATION_FIELDS, path, &file, reading->arena, reading->diag);
    *out = file.generation;
    copy_list(reading, &file.ll, MS_LIBRARY_SCALES, path, out->ll_Bps);
    copy_list(reading, &file.ring_ll128, MS_LIBRARY_SCALES, path, out->ring_ll128_Bps);
    copy_list(reading, &file.tree_ll128, MS_LIBRARY_SCALES, path, out->tree_ll128_Bps);
    copy_list(reading, &file.tree, MS_LIBRARY_SCALES, path, out->tree_Bps);
    copy_list(reading, &file.nvls_tree, MS_LIBRARY_SCALES, path, out->nvls_tree_Bps);
}

/* Read all keys of a library from its document. Without the key link_steps, the links of platforms
 * are taken to have the latency of a ring's step with Simple. */
static ms_status read_keys(const ms_node *root, ms_arena *arena, ms_diag *diag, ms_library *out) {
    library_file file = {.name = NULL};
    library_reading reading = {.root = root, .arena = arena, .diag = diag};
    reading.status = ms_config_read(root, MS_LIBRARY_FIELDS, "", &file, arena, diag);
    out->name = file.name;
    out->formulas = file.formulas;
    copy_latencies(&reading, &file.base, "base_latency", out->base_s);
    copy_latencies(&reading, &file.node, "node_latency", out->node_s);
    copy_latencies(&reading, &file.net, "net_latency", out->net_s);
    out->link_step_s[0] = out->node_s[MS_LIBRARY_RING][MS_LIBRARY_SIMPLE];
    out->link_step_s[1] = out->net_s[MS_LIBRARY_RING][MS_LIBRARY_SIMPLE];
    if (file.link_steps.count > 0) {
        copy_list(&reading, &file.link_steps, 2, "link_steps", out->link_step_s);
    }
    copy_list(&reading, &file.net_overhead, 2, "net_overhead", out->net_overhead_s);
    out->net_channels = file.net_channels;
    out->nvls_min_gpus = file.nvls_min_gpus;
    for (int p = 0; p < MS_LIBRARY_PROTOCOLS; p++) {
        copy_list(&reading, &file.correction[p], MS_LIBRARY_SIZES, "tree_correction",
                  out->tree_correction[p]);
    }
    for (int g = MS_GENERATION_VOLTA; g < MS_GENERATIONS && reading.status == MS_OK; g++) {
        read_generation(&reading, file.generations, GENERATIONS[g - MS_GENERATION_VOLTA].key,
                        &out->generations[g]);
    }
    return reading.status;
}

/* Load the file of a library, and lay the keys over it that the platform changes.  library: the
 * platform's value, a name or a mapping with `file`.  *root_out: NULL for "none".  Returns MS_OK;
 * MS_E_INPUT (reported); MS_E_IO; MS_E_NOMEM. */
static ms_status load_file(const ms_node *library, const char *const *paths, ms_arena *arena,
                           ms_diag *diag, ms_node **root_out) {
    const ms_file_search search = {.folders = paths, .subfolder = "libraries/"};
    const ms_node *name = library->type == MS_NODE_MAPPING ? ms_node_get(library, "file") : library;
    const char *path = NULL, *looked = NULL;
    *root_out = NULL;
    if (name == NULL || name->type != MS_NODE_SCALAR || ms_node_is_removal(name)) {
        return ms_config_fault(diag, name == NULL ? library : name, "library",
                               "expected the name of a file in libraries/");
    }
    if (strcmp(name->text, "none") == 0) {
        return MS_OK;
    }
    ms_status status = ms_find_yaml(name->text, &search, arena, &path, &looked);
    if (status == MS_OK && path == NULL) {
        return ms_config_fault(diag, name, "library", "no library '%s'%s%s", name->text, looked,
                               ms_find_yaml_hint(name->text, &search, arena));
    }
    status = status == MS_OK ? ms_yaml_load(path, arena, diag, root_out) : status;
    status =
        status == MS_OK && name != library ? ms_node_overlay(*root_out, library, arena) : status;
    if (status == MS_OK) {
        ms_config_remove_nulls(*root_out, MS_LIBRARY_FIELDS);
    }
    return status;
}

ms_status ms_library_read(const ms_node *node, const char *const *paths, ms_arena *arena,
                          ms_diag *diag, const ms_library **library_out) {
    ms_node *root = NULL;
    ms_status status = load_file(node, paths, arena, diag, &root);
    if (status != MS_OK || root == NULL) {
        *library_out = NULL;
        return status;
    }
    ms_library *library = MS_NEW(arena, ms_library, 1);
    status = library == NULL ? MS_E_NOMEM : read_keys(root, arena, diag, library);
    if (status == MS_OK) {
        library->keys = root;
        *library_out = library;
    }
    return status;
}

/* Remove the keys of all other generations from a copy of the library's document. */
ms_status ms_library_list(const ms_library *library, ms_gpu_generation used, ms_arena *arena,
                          ms_node **keys_out) {
    ms_node *keys = ms_node_copy(library->keys, arena);
    if (keys == NULL) {
        return MS_E_NOMEM;
    }
    ms_node_drop(keys, "file");
    ms_node *generations = ms_node_get(keys, "generations");
    for (int g = MS_GENERATION_VOLTA; g < MS_GENERATIONS && generations != NULL; g++) {
        if (g != (int)used) {
            ms_node_drop(generations, GENERATIONS[g - MS_GENERATION_VOLTA].key);
        }
    }
    *keys_out = keys;
    return MS_OK;
}

double ms_library_ramp_s(const ms_library_ramp *ramp, double size_B) {
    return ramp->time_s > 0.0 && size_B > 0.0 ? ramp->time_s * size_B / (size_B + ramp->half_B)
                                              : 0.0;
}
