/* Loads platform files (ms_platform_load): finds the file of a name, lays it over the platform on
 * which it builds and overrides over both, and reads the resulting document with its GPU type,
 * tiers, fabric and library. */
#include <stddef.h>
#include <string.h>

#include "base/config/config.h"
#include "base/config/input.h"
#include "cluster/platform/fabric.h"
#include "cluster/platform/files.h"
#include "cluster/platform/tiers.h"

/* Folders in which GPU types are looked up, at most. */
enum { PATHS_MAX = 16 };

/* Longest chain of platforms that build on each other. */
enum { DEPTH_MAX = 4 };

/* The values of the keys below `node`. */
typedef struct node_file {
    int gpus, nics;
    int wiring;
    int cpu;
    double nic_latency_s;
    bool is_in_order;
    double power_W;
} node_file;

static const char *const WIRINGS[] = {"switch", "pairs", NULL};
static const char *const CPUS[] = {"intel", "amd", NULL};

/* The values of a platform's keys. gpu, tiers, fabric and library are read by code of their own. */
typedef struct platform_file {
    const char *name;
    const char *base; /* name of the platform on which this one builds; removed once loaded */
    int nodes;
    node_file node;
    ms_slow_nodes slow_nodes;
    ms_upkeep upkeep;
    const ms_node *gpu, *tiers, *fabric;
    int routing;
    int seed;
    bool has_pxn;
    bool has_nvls;
    bool has_sharp;
    const ms_node *library;
} platform_file;

static const char *const ROUTINGS[] = {"spread", "ecmp", NULL};

static const ms_field NODE_FIELDS[] = {
    MS_KEY("gpus", "GPUs of a node [count]", INT, offsetof(node_file, gpus), .is_required = true,
           MS_RANGE(1, 4096)),
    MS_KEY("nics", "NICs of a node, GPU i uses NIC i mod nics; 0 in flat fabrics [count]", INT,
           offsetof(node_file, nics), .fallback = "0", MS_RANGE(0, 4096)),
    MS_KEY("wiring",
           "what joins GPUs inside a node: a switch, to which each has a link, or pairs, a link "
           "between every two of them",
           ENUM, offsetof(node_file, wiring), .words = WIRINGS, .fallback = "switch"),
    MS_KEY("cpu", "maker of a node's processors, by which libraries differ", ENUM,
           offsetof(node_file, cpu), .words = CPUS, .fallback = "intel"),
    MS_KEY("nic_latency",
           "latency that a NIC's driver reports to the library, beside what it expects", QUANTITY,
           offsetof(node_file, nic_latency_s), .dimension = MS_DIM_TIME, .fallback = "0 s",
           .maximum = 1),
    MS_KEY("in_order", "NICs deliver bytes in order, as LL and LL128 need", BOOL,
           offsetof(node_file, is_in_order), .fallback = "true"),
    MS_KEY("power", "what a node takes beside its GPUs: processors, memory, NICs, switches, fans",
           QUANTITY, offsetof(node_file, power_W), .dimension = MS_DIM_POWER, MS_RANGE(1e-3, 1e9)),
    {.key = NULL},
};

static const ms_field SLOW_FIELDS[] = {
    MS_KEY("share", "of all nodes", NUMBER, offsetof(ms_slow_nodes, share), .is_required = true,
           MS_RANGE(0, 1)),
    MS_KEY("time", "how many times as long as others they compute", NUMBER,
           offsetof(ms_slow_nodes, time), .is_required = true, MS_RANGE(1, 10)),
    {.key = NULL},
};

static const ms_field NAME_ROW = MS_KEY("name", NULL, STRING, 0);
static const ms_field_shape GPU = {.file_key = "type"};
static const ms_field_shape TIERS = {.each = &MS_TIER_ROW};
static const ms_field_shape FABRIC = {.variant = ms_fabric_variant};
static const ms_field_shape LIBRARY = {.also = &NAME_ROW, .file_key = "file"};

const ms_field MS_PLATFORM_FIELDS[] = {
    MS_KEY("name", "name shown in results", STRING, offsetof(platform_file, name),
           .is_required = true),
    MS_KEY("base", "platform whose keys hold where this file is silent: its name or path", STRING,
           offsetof(platform_file, base), .gives_rest = true),
    MS_KEY("nodes", "number of nodes; the fabric grows with it [count]", INT,
           offsetof(platform_file, nodes), .is_required = true, MS_RANGE(1, MS_PLATFORM_GPUS_MAX)),
    MS_KEY("node", "what a node holds", MAP, offsetof(platform_file, node), .fields = NODE_FIELDS,
           .is_required = true),
    MS_KEY("gpu", "GPU type, and keys of its file to change", NODE, offsetof(platform_file, gpu),
           .fields = MS_GPU_FIELDS, .shape = &GPU, .is_required = true),
    MS_KEY("slow_nodes",
           "nodes that compute slower than others for no reason that monitoring shows", MAP,
           offsetof(platform_file, slow_nodes), .fields = SLOW_FIELDS),
    MS_KEY("price", "rent of a GPU with its share of node and network", QUANTITY,
           offsetof(platform_file, upkeep.rent_USD_per_h), .dimension = MS_DIM_PRICE,
           MS_RANGE(1e-9, 1e9)),
    MS_KEY("network_power", "of the switches outside the nodes, per GPU", QUANTITY,
           offsetof(platform_file, upkeep.network_W), .dimension = MS_DIM_POWER, .fallback = "0 W",
           .maximum = 1e9),
    MS_KEY("pue", "power usage effectiveness: what the site takes over what its computers take",
           NUMBER, offsetof(platform_file, upkeep.pue), .fallback = "1", MS_RANGE(1, 10)),
    MS_KEY("tiers", "levels of links, innermost first", NODE, offsetof(platform_file, tiers),
           .shape = &TIERS, .is_required = true),
    MS_KEY("fabric", "how nodes are joined", NODE, offsetof(platform_file, fabric),
           .shape = &FABRIC, .is_required = true),
    MS_KEY("routing", "how parallel links are chosen", ENUM, offsetof(platform_file, routing),
           .words = ROUTINGS, .fallback = "spread"),
    MS_KEY("routing_seed", "of the hash that chooses a link, with routing ecmp", INT,
           offsetof(platform_file, seed), .fallback = "1", MS_RANGE(0, 1000000000)),
    MS_KEY("pxn",
           "traffic to another rail changes rail over NVLink in the sending node (rails only)",
           BOOL, offsetof(platform_file, has_pxn)),
    MS_KEY("nvls", "NVLink switches reduce and multicast (NVLink SHARP)", BOOL,
           offsetof(platform_file, has_nvls), .fallback = "false"),
    MS_KEY("sharp", "the network's switches reduce and multicast (SHARP)", BOOL,
           offsetof(platform_file, has_sharp), .fallback = "false"),
    MS_KEY("library",
           "what collectives are chosen and timed by: a file in libraries/, or none; or a mapping "
           "of that file and keys of it to change",
           NODE, offsetof(platform_file, library), .fields = MS_LIBRARY_FIELDS, .shape = &LIBRARY),
    {.key = NULL},
};

/* List the folders in which GPU types are looked up: the folder of the platform's file first, then
 * `folders`.  paths: NULL at the end.  Returns MS_OK; MS_E_NOMEM. */
static ms_status gather_paths(const char *path, const char *const *folders, ms_arena *arena,
                              const char *paths[PATHS_MAX + 2]) {
    const char *slash = strrchr(path, '/');
    size_t count = 0;
    paths[count++] =
        slash == NULL ? "."
                      : ms_arena_strndup(arena, path, slash == path ? 1 : (size_t)(slash - path));
    if (paths[0] == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; folders != NULL && folders[i] != NULL && i < PATHS_MAX; i++) {
        if (strcmp(folders[i], paths[0]) != 0) {
            paths[count++] = folders[i];
        }
    }
    paths[count] = NULL;
    return MS_OK;
}

/* A platform to be loaded. */
typedef struct platform_lookup {
    const char *name;
    ms_file_search search;
    const ms_node *named_by; /* node that names it; NULL, or without a mark: no file names it */
    ms_arena *arena;
    ms_diag *diag;
} platform_lookup;

/* Find the file of a platform.  *path_out: in the arena.  Returns MS_OK; MS_E_INPUT where there is
 * none (reported at the node that names it); MS_E_NOMEM. */
static ms_status find_file(const platform_lookup *lookup, const char **path_out) {
    const char *looked = NULL;
    ms_status status =
        ms_find_yaml(lookup->name, &lookup->search, lookup->arena, path_out, &looked);
    if (status != MS_OK || *path_out != NULL) {
        return status;
    }
    bool has_mark = lookup->named_by != NULL && lookup->named_by->mark.file != NULL;
    return ms_config_fault(lookup->diag, has_mark ? lookup->named_by : NULL,
                           has_mark ? "platform" : NULL, "no platform '%s'%s%s", lookup->name,
                           looked, ms_find_yaml_hint(lookup->name, &lookup->search, lookup->arena));
}

/* Check that the platform has no more GPUs than are supported. */
static ms_status check_size(const platform_file *file, const ms_node *root, ms_diag *diag) {
    double gpus = (double)file->nodes * file->node.gpus;
    return gpus <= MS_PLATFORM_GPUS_MAX
               ? MS_OK
               : ms_config_fault(diag, ms_node_get(root, "nodes"), "nodes",
                                 "%d nodes of %d GPUs are %.0f GPUs; at most %d are supported",
                                 file->nodes, file->node.gpus, gpus, (int)MS_PLATFORM_GPUS_MAX);
}

/* Read the fabric, once nodes, tiers and routing are set in *platform.  before: status of the rest
 * of the file; after a fault there only the fabric's keys themselves are checked.  Returns the
 * first fault of the file, or the status of the fabric. */
static ms_status read_fabric(const platform_file *file, const ms_node *root, ms_status before,
                             ms_arena *arena, ms_diag *diag, ms_platform *platform) {
    ms_fabric_file fabric = {.root = root,
                             .routing_seed = file->seed,
                             .wants_pxn = file->has_pxn,
                             .has_faults = before != MS_OK,
                             .diag = diag};
    if (file->fabric == NULL) {
        return before;
    }
    ms_status size = before == MS_OK ? check_size(file, root, diag) : before;
    ms_status status = ms_fabric_read(file->fabric, &fabric, arena, platform);
    return status == MS_E_NOMEM || size == MS_OK ? status : size;
}

/* Read the communication library, and the keys of nodes and switches that it depends on. A library
 * needs the generation of the GPUs and the NICs of a node, and NVLS needs a switch in the node.
 * Returns MS_OK; MS_E_INPUT (reported); MS_E_IO; MS_E_NOMEM. */
static ms_status read_library(const platform_file *file, const ms_node *root,
                              const char *const *paths, ms_arena *arena, ms_diag *diag,
                              ms_platform *platform) {
    platform->has_nvls = file->has_nvls;
    platform->has_sharp = file->has_sharp;
    platform->has_amd_cpu = file->node.cpu == 1;
    platform->nics.latency_s = file->node.nic_latency_s;
    platform->nics.is_unordered = !file->node.is_in_order;
    if (file->has_nvls && platform->tiers[0].is_paired) {
        return ms_config_fault(diag, ms_node_get(root, "nvls"), "nvls",
                               "a node wired in pairs has no switch that reduces");
    }
    if (file->library == NULL) {
        return MS_OK;
    }
    ms_status status = ms_library_read(file->library, paths, arena, diag, &platform->library);
    if (status != MS_OK || platform->library == NULL) {
        return status;
    }
    if (platform->gpu.generation == MS_GENERATION_NONE || file->node.nics == 0) {
        return ms_config_fault(diag, file->library, "library", "a library needs %s",
                               file->node.nics == 0 ? "node.nics" : "gpu.generation");
    }
    return MS_OK;
}

/* Read everything of a document into *platform; a part with a fault does not keep the other parts
 * from being checked. The document's `gpu` becomes the effective one, with the keys of its type's
 * file.  paths: folders of GPU types and libraries. */
static ms_status read_document(ms_node *root, const char *const *paths, ms_arena *arena,
                               ms_diag *diag, ms_platform *platform) {
    platform_file file = {.has_pxn = true}; /* unless the key says otherwise */
    ms_config_remove_nulls(root, MS_PLATFORM_FIELDS);
    ms_status status = ms_config_read(root, MS_PLATFORM_FIELDS, "", &file, arena, diag);
    if (status == MS_E_NOMEM) {
        return status;
    }
    ms_node *gpu = NULL;
    const ms_node *gpu_node = ms_node_get(root, "gpu");
    if (gpu_node != NULL) {
        ms_status gpu_status = ms_gpu_read(gpu_node, paths, arena, diag, &platform->gpu, &gpu);
        status = status == MS_OK ? gpu_status : status;
    }
    if (file.tiers != NULL) {
        ms_status tier_status = ms_tiers_read(file.tiers, arena, diag, platform);
        status = status == MS_OK ? tier_status : status;
    }
    platform->name = file.name;
    platform->nodes = file.nodes;
    platform->gpus_per_node = file.node.gpus;
    platform->nics_per_node = file.node.nics;
    platform->tiers[0].is_paired = file.node.wiring == 1 && file.node.gpus > 1;
    platform->slow_nodes = file.slow_nodes;
    platform->upkeep = file.upkeep;
    platform->upkeep.node_W = file.node.power_W;
    platform->routing = (ms_routing)file.routing;
    status = read_fabric(&file, root, status, arena, diag, platform);
    status = status == MS_OK ? read_library(&file, root, paths, arena, diag, platform) : status;
    if (status != MS_OK) {
        return status;
    }
    ms_fabric_number_links(platform);
    ms_node *effective = ms_node_get(root, "gpu");
    status = ms_node_overlay(effective, gpu, arena);
    if (status == MS_OK) {
        ms_config_remove_nulls(effective, NULL);
    }
    return status;
}

/* Lay keys over a platform's document. A library is a name there or a mapping; where keys of the
 * library are to change, a name becomes a mapping with the name as `file` first. */
static ms_status overlay(ms_node *root, const ms_node *over, ms_arena *arena, ms_diag *diag) {
    ms_node *library = ms_node_get(root, "library");
    const ms_node *changes = ms_node_get(over, "library");
    bool is_changed = library != NULL && library->type == MS_NODE_SCALAR && changes != NULL &&
                      changes->type == MS_NODE_MAPPING;
    ms_status status = MS_OK;
    if (is_changed) {
        const char *name = ms_yaml_quoted_set("library={file: ", library->text, "}", arena);
        status = name == NULL ? MS_E_NOMEM : ms_node_set(root, name, arena, diag);
    }
    return status == MS_OK ? ms_node_overlay(root, over, arena) : status;
}

static ms_status load_document(const platform_lookup *lookup, int depth,
                               const char *paths[PATHS_MAX + 2], ms_node **root_out);

/* Load the platform that a file names as its base, and lay the file's keys over it.  depth: of the
 * chain, from 1.  paths: folders of the file; those of the base are put behind the file's own
 * folder. *root: keys of the file, replaced by both together. */
static ms_status load_base(const platform_lookup *lookup, int depth, const ms_node *base,
                           const char *paths[PATHS_MAX + 2], ms_node **root) {
    const char *base_paths[PATHS_MAX + 2];
    ms_node *below = NULL;
    if (base->type != MS_NODE_SCALAR) {
        return ms_config_fault(lookup->diag, base, "base",
                               "expected the name or path of a platform");
    }
    if (depth > DEPTH_MAX) {
        return ms_config_fault(lookup->diag, base, "base",
                               "more than %d platforms build on each other", (int)DEPTH_MAX);
    }
    bool is_relative = strchr(base->text, '/') != NULL && base->text[0] != '/';
    platform_lookup wanted = *lookup;
    wanted.name =
        is_relative ? ms_arena_printf(lookup->arena, "%s/%s", paths[0], base->text) : base->text;
    wanted.search.folders = paths;
    wanted.named_by = base;
    ms_status status =
        wanted.name == NULL ? MS_E_NOMEM : load_document(&wanted, depth + 1, base_paths, &below);
    status = status == MS_OK ? ms_tiers_check_names(below, *root, lookup->diag) : status;
    status = status == MS_OK ? overlay(below, *root, lookup->arena, lookup->diag) : status;
    if (status != MS_OK) {
        return status;
    }
    ms_node_remove(below, ms_node_get(below, "base"));
    *root = below;
    size_t count = 1; /* the file's own folder stays in front */
    for (size_t i = 0; base_paths[i] != NULL && count <= PATHS_MAX; i++) {
        paths[count++] = base_paths[i];
    }
    paths[count] = NULL;
    return MS_OK;
}

/* Load the keys of a platform's file, laid over those of its base.  paths: gets the folders in
 * which GPU types are looked up.  Returns MS_OK; MS_E_INPUT (reported); MS_E_IO; MS_E_NOMEM. */
static ms_status load_document(const platform_lookup *lookup, int depth,
                               const char *paths[PATHS_MAX + 2], ms_node **root_out) {
    const char *path = NULL;
    ms_node *root = NULL;
    ms_status status = find_file(lookup, &path);
    status =
        status == MS_OK ? gather_paths(path, lookup->search.folders, lookup->arena, paths) : status;
    status = status == MS_OK ? ms_yaml_load(path, lookup->arena, lookup->diag, &root) : status;
    status =
        status == MS_OK ? ms_input_expect(root, MS_INPUT_PLATFORM, path, lookup->diag) : status;
    const ms_node *base = status == MS_OK ? ms_node_get(root, "base") : NULL;
    if (base != NULL) {
        status = load_base(lookup, depth, base, paths, &root);
    }
    if (status == MS_OK) {
        *root_out = root;
    }
    return status;
}

/* Overrides of tier "*" are spread over the document's tiers first, and misspelt tiers are refused,
 * because a name that the document lacks would become a new tier. */
ms_status ms_platform_load(const char *name, const char *const *folders, const ms_node *overrides,
                           ms_arena *arena, ms_diag *diag, ms_platform *platform_out,
                           const ms_node **document_out) {
    const char *paths[PATHS_MAX + 2];
    ms_node *root = NULL;
    const platform_lookup wanted = {.name = name,
                                    .search = {.folders = folders, .subfolder = ""},
                                    .named_by = overrides,
                                    .arena = arena,
                                    .diag = diag};
    ms_status status = load_document(&wanted, 1, paths, &root);
    status = status == MS_OK ? ms_tiers_spread(root, &overrides, arena) : status;
    if (status == MS_OK && overrides != NULL) {
        status = ms_tiers_check_names(root, overrides, diag);
    }
    if (status == MS_OK && overrides != NULL) {
        status = overlay(root, overrides, arena, diag);
    }
    ms_platform platform = {0};
    status = status == MS_OK ? read_document(root, paths, arena, diag, &platform) : status;
    if (status != MS_OK) {
        return status;
    }
    *platform_out = platform;
    if (document_out != NULL) {
        *document_out = root;
    }
    return MS_OK;
}
