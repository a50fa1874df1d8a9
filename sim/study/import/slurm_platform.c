/* From Slurm's topology and NCCL's view of a node to the keys of a platform: what neither says is
 * assumed, and told so, where the field has one usual value; else it is required. */
#include "study/import/slurm_platform.h"

#include <math.h>
#include <string.h>

#include "study/import/kinds.h"

/* NVLink SHARP came with Hopper's switches. Source: NVIDIA H100 whitepaper. */
enum { NVIDIA = 0x10de, NVLS_SM_MIN = 90 };

static const double GB_S_IN_BPS = 1e9, GBIT_S_IN_BPS = 125e6, US_IN_S = 1e-6;

/* NVLink by compute capability: a link's nominal bandwidth per direction, and what NCCL takes of
 * it. Sources: NVIDIA's data sheets of P100, V100, A100, RTX A6000, H100, B200 (bandwidth of all
 * links both ways, over twice their number); NVIDIA/nccl, src/graph, the header of the topology
 * (SM60_NVLINK_BW and on). */
static const struct {
    int low, high; /* sm */
    double link_gb_s, nccl_gb_s;
    const char *generation;
} NVLINKS[] = {
    {60, 69, 20, 18, "NVLink 1"},   {70, 79, 25, 20, "NVLink 2"},
    {80, 85, 25, 20, "NVLink 3"},   {86, 89, 14.0625, 12, "NVLink 3"},
    {90, 99, 25, 20.6, "NVLink 4"}, {100, 106, 50, 40.1, "NVLink 5"},
};

/* GPU types by PCI device. Source: the PCI ID Repository, pci.ids. Superchips share one NVLink
 * switch system with others in their rack. */
static const struct {
    long device;
    const char *type;
    bool is_superchip;
} TYPES[] = {
    {0x1db8, "v100-sxm3-32gb", false},
    {0x20b0, "a100-sxm4-40gb", false},
    {0x20b2, "a100-sxm4-80gb", false},
    {0x20b5, "a100-pcie-80gb", false},
    {0x2324, "h800-sxm5-80gb", false},
    {0x2330, "h100-sxm5-80gb", false},
    {0x2335, "h200-sxm5-141gb", false},
    {0x2901, "b200-sxm6", false},
    {0x2941, "gb200", true},
};

/* What stands where nothing is said. Sources: NVIDIA/nccl, src/graph/tuning.cc, hardware latencies
 * (half of a ring step's with the Simple protocol); 369 of 400 GB/s bus bandwidth of an all-reduce
 * on four DGX H100 (S. Bekman, Machine Learning Engineering); a QM9700 switch and 10 m of cable. */
static const char NVLINK_LATENCY[] = "1.7 us", RAIL_LATENCY[] = "7 us", SPINE_LATENCY[] = "230 ns",
                  RAIL_EFFICIENCY[] = "0.92";

/* A platform while it is made. */
typedef struct platform_builder {
    const ms_slurm_topology *topology;
    const ms_nccl_machine *machine; /* NULL: not known */
    ms_arena *arena;
    ms_imported *out;
    ms_buffer remarks;
    int nodes, hosts_per_node; /* of the platform; Slurm's nodes in one of them */
    int gpus, nics;            /* of a node */
    int tiers;
    int nodes_per_unit, units_per_pod; /* 0: not needed */
    const char *kind;
} platform_builder;

/* ---- keys ---- */

static ms_node *add_mapping(platform_builder *b, ms_node *parent, const char *key) {
    ms_node *node = ms_import_new_mapping(b->arena);
    if (node != NULL && parent != NULL) {
        node->key = key;
        ms_node_append(parent, node);
    }
    return node;
}

/* What a value comes from. */
typedef struct value_origin {
    const char *what;
    const ms_mark *mark; /* NULL: no place says it */
} value_origin;

/* A value. A short arena shows at the end. */
static void add(platform_builder *b, ms_node *parent, const char *key, const char *text,
                value_origin from) {
    ms_node *node = MS_NEW(b->arena, ms_node, 1);
    if (node == NULL || parent == NULL || text == NULL) {
        return;
    }
    *node = (ms_node){.type = MS_NODE_SCALAR, .text = text, .key = key, .origin = from.what};
    if (from.mark != NULL) {
        node->mark = *from.mark;
        node->key_mark = *from.mark;
    }
    ms_node_append(parent, node);
}

static const char *count_text(const platform_builder *b, int count) {
    return ms_arena_printf(b->arena, "%d", count);
}

static const char *last_part(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot == NULL ? path : dot + 1;
}

/* A key that nothing says. */
static void require(platform_builder *b, ms_node *parent, const char *path, const char *why) {
    add(b, parent, last_part(path), MS_IMPORT_REQUIRED, (value_origin){why, NULL});
    if (path != NULL && why != NULL) { /* a short arena shows at the end */
        ms_import_open_key(b->out, path, why, b->arena);
    }
}

/* Tell that a key has a value that no source says, and add it. */
static void assume(platform_builder *b, ms_node *parent, const char *path, const char *text,
                   const char *why) {
    const ms_source_key told = {.key = path, .value = text, .fate = MS_SOURCE_ASSUMED, .why = why};
    const char *what = ms_arena_printf(b->arena, "assumed: %s", why == NULL ? "" : why);
    if (path == NULL) {
        return; /* a short arena shows at the end */
    }
    add(b, parent, last_part(path), text, (value_origin){what, NULL});
    ms_source_keys_add(&b->out->keys, &told, b->arena);
}

static const char *gb_s(const platform_builder *b, double Bps) {
    return ms_arena_printf(b->arena, "%.4g GB/s", Bps / GB_S_IN_BPS);
}

/* ---- nodes ---- */

static int find_type(const ms_nccl_machine *machine) {
    for (size_t i = 0; machine != NULL && i < sizeof TYPES / sizeof TYPES[0]; i++) {
        if (machine->gpus.vendor == NVIDIA && TYPES[i].device == machine->gpus.device) {
            return (int)i;
        }
    }
    return -1;
}

/* How many of Slurm's nodes are one node of a platform: those that one NVLink switch system joins,
 * which NCCL shows as machines of one file, or, of superchips, the block. */
static int find_hosts(platform_builder *b) {
    const ms_slurm_topology *t = b->topology;
    int type = find_type(b->machine);
    bool is_domain = b->machine != NULL && b->machine->gpus.has_switch &&
                     (b->machine->hosts > 1 || (type >= 0 && TYPES[type].is_superchip));
    if (is_domain && t->has_blocks) {
        return t->nodes_per_leaf;
    }
    if (is_domain && b->machine->hosts == 1) {
        ms_buffer_puts(&b->remarks,
                       "# GPUs of this type share NVLink with those of other nodes, and neither "
                       "file says which: a node stands alone here\n");
    }
    return is_domain ? b->machine->hosts : 1;
}

/* NICs of a node: one a GPU at most; ports beyond are bundled. */
static void find_nics(platform_builder *b) {
    const ms_nccl_nics *nics = &b->machine->nics;
    int hosts = b->machine->hosts;
    b->nics = nics->count / hosts * b->hosts_per_node;
    if (nics->others > 0) {
        ms_buffer_printf(&b->remarks,
                         "# NICs of another speed than most (%d) are left out: a platform's have "
                         "one\n",
                         nics->others);
    }
    if (nics->count % hosts != 0) {
        ms_buffer_printf(&b->remarks, "# %d NICs in %d machines: each is taken to have %d\n",
                         nics->count, hosts, nics->count / hosts);
    }
}

static void find_sizes(platform_builder *b) {
    const ms_slurm_topology *t = b->topology;
    b->hosts_per_node = find_hosts(b);
    b->nodes = t->nodes / b->hosts_per_node;
    if (t->nodes % b->hosts_per_node != 0) {
        ms_buffer_printf(&b->remarks,
                         "# %d of Slurm's %d nodes are left out, as %d of them make a node here\n",
                         t->nodes % b->hosts_per_node, t->nodes, b->hosts_per_node);
    }
    if (b->machine != NULL) {
        b->gpus = b->machine->gpus.count / b->machine->hosts * b->hosts_per_node;
        find_nics(b);
    }
}

/* Layers of switches: leaves of blocks and leaf switches are units, unless a block is a node. */
static void find_fabric(platform_builder *b) {
    const ms_slurm_topology *t = b->topology;
    bool is_block_node = t->has_blocks && b->hosts_per_node > 1;
    int layers = t->has_blocks ? t->layers + !is_block_node : t->layers;
    int leaf = t->nodes_per_leaf / b->hosts_per_node;
    bool has_rails = t->rails > 1 || (b->nics > 1 && b->hosts_per_node == 1);
    b->tiers = 1 + layers;
    b->nodes_per_unit = layers < 2 ? 0 : is_block_node ? t->leaves_per_pod : leaf < 1 ? 1 : leaf;
    b->units_per_pod = layers < 3 ? 0 : t->leaves_per_pod;
    b->kind = has_rails ? "rails" : "leaf-spine";
    if (!t->has_blocks && t->nodes_per_leaf % b->hosts_per_node != 0) {
        ms_buffer_printf(&b->remarks,
                         "# leaf switches have %d of Slurm's nodes, of which %d make a node here: "
                         "taken as %d nodes\n",
                         t->nodes_per_leaf, b->hosts_per_node, b->nodes_per_unit);
    }
}

/* ---- writing ---- */

static void add_nics(platform_builder *b, ms_node *node) {
    const ms_nccl_nics *nics = &b->machine->nics;
    if (b->nics == 0) {
        require(b, node, "node.nics", "NICs of a node: NCCL's file has none");
        return;
    }
    bool is_bundled = b->nics > b->gpus;
    const value_origin from = {is_bundled ? "one a GPU, of several ports" : "net elements",
                               &nics->mark};
    add(b, node, "nics", count_text(b, is_bundled ? b->gpus : b->nics), from);
    if (nics->latency_s > 0) {
        add(b, node, "nic_latency", ms_arena_printf(b->arena, "%g us", nics->latency_s / US_IN_S),
            (value_origin){"net latency", &nics->mark});
    }
}

static void add_node(platform_builder *b, ms_node *root) {
    const ms_nccl_machine *m = b->machine;
    ms_node *node = add_mapping(b, root, "node");
    if (m == NULL) {
        require(b, node, "node.gpus", "GPUs of a node, which NCCL's file would say");
        require(b, node, "node.nics", "NICs of a node, likewise");
        return;
    }
    const char *joined =
        b->hosts_per_node == 1
            ? "gpu elements"
            : ms_arena_printf(b->arena, "%d of each of the %d machines that NVLink joins",
                              m->gpus.count / m->hosts, b->hosts_per_node);
    add(b, node, "gpus", count_text(b, b->gpus), (value_origin){joined, &m->gpus.mark});
    add_nics(b, node);
    if (m->cpu_mark.file != NULL) {
        add(b, node, "cpu", m->has_amd_cpu ? "amd" : "intel",
            (value_origin){"cpu vendor", &m->cpu_mark});
    }
}

static void add_gpu(platform_builder *b, ms_node *root) {
    const ms_nccl_machine *m = b->machine;
    ms_node *gpu = add_mapping(b, root, "gpu");
    int type = find_type(m);
    if (m == NULL) {
        require(b, gpu, "gpu.type", "a file of gpus/, such as h100-sxm5-80gb");
        return;
    }
    if (type >= 0) {
        const char *what = ms_arena_printf(b->arena, "PCI device 0x%lx", m->gpus.device);
        add(b, gpu, "type", TYPES[type].type, (value_origin){what, &m->gpus.mark});
    } else {
        require(b, gpu, "gpu.type",
                ms_arena_printf(b->arena,
                                "a file of gpus/: PCI device 0x%lx:0x%lx of compute capability "
                                "%d is not known",
                                m->gpus.vendor, m->gpus.device, m->gpus.sm));
    }
    if (m->gpus.host_Bps > 0) {
        add(b, gpu, "pcie", gb_s(b, m->gpus.host_Bps),
            (value_origin){"to the processor and back, each way", &m->gpus.mark});
    }
}

/* Links of NVLink by their generation.  Returns false where it is not known. */
static bool add_nvlink(platform_builder *b, ms_node *tier) {
    const ms_nccl_gpus *gpus = b->machine == NULL ? NULL : &b->machine->gpus;
    for (size_t i = 0; gpus != NULL && gpus->links > 0 && i < sizeof NVLINKS / sizeof NVLINKS[0];
         i++) {
        double link_gb_s = NVLINKS[i].link_gb_s, nccl_gb_s = NVLINKS[i].nccl_gb_s;
        if (gpus->sm < NVLINKS[i].low || gpus->sm > NVLINKS[i].high) {
            continue;
        }
        const char *what = ms_arena_printf(b->arena, "%s, %d links of %g GB/s per direction",
                                           NVLINKS[i].generation, gpus->links, link_gb_s);
        add(b, tier, "bandwidth", gb_s(b, gpus->links * link_gb_s * GB_S_IN_BPS),
            (value_origin){what, &gpus->link_mark});
        assume(b, tier, "tiers.nvlink.efficiency",
               ms_arena_printf(b->arena, "%.3g", nccl_gb_s / link_gb_s),
               ms_arena_printf(b->arena, "NCCL takes %g of %g GB/s a link; calibrate fits it",
                               nccl_gb_s, link_gb_s));
        return true;
    }
    return false;
}

/* The tier inside a node: NVLink; without any, PCI. */
static void add_inner_tier(platform_builder *b, ms_node *tiers) {
    static const char WHY[] = "half of NCCL's ring step in a node";
    const ms_nccl_gpus *gpus = b->machine == NULL ? NULL : &b->machine->gpus;
    if (gpus != NULL && gpus->links == 0 && gpus->host_Bps > 0) {
        ms_node *tier = add_mapping(b, tiers, "pcie");
        add(b, tier, "bandwidth", gb_s(b, gpus->host_Bps),
            (value_origin){"GPUs have no NVLink: their PCI links", &gpus->mark});
        assume(b, tier, "tiers.pcie.latency", NVLINK_LATENCY, WHY);
        return;
    }
    ms_node *tier = add_mapping(b, tiers, "nvlink");
    if (!add_nvlink(b, tier)) {
        require(b, tier, "tiers.nvlink.bandwidth", "of a GPU's links in a node, per direction");
    }
    assume(b, tier, "tiers.nvlink.latency", NVLINK_LATENCY, WHY);
}

static const char *const OUTER_TIERS[] = {"rail", "spine", "core"};

enum { OUTER_MAX = sizeof OUTER_TIERS / sizeof OUTER_TIERS[0] };

/* A tier of the network. The first is the NIC's link; those above are taken to be of its speed. */
static void add_outer_tier(platform_builder *b, ms_node *tiers, int layer) {
    const char *name = OUTER_TIERS[layer];
    const char *path = ms_arena_printf(b->arena, "tiers.%s.bandwidth", name);
    const ms_nccl_nics *nics = b->machine == NULL ? NULL : &b->machine->nics;
    ms_node *tier = add_mapping(b, tiers, name);
    if (path == NULL) {
        return;
    }
    if (nics == NULL || b->nics == 0) {
        require(b, tier, path, "of one link, per direction");
    } else {
        double ports = b->nics > b->gpus ? (double)b->nics / b->gpus : 1;
        const char *text =
            ms_arena_printf(b->arena, "%.6g Gbit/s", nics->speed_Bps * ports / GBIT_S_IN_BPS);
        bool is_bound = nics->speed_Bps < nics->port_Bps;
        const char *what =
            is_bound ? "the NIC's PCI link, which takes less than its port" : "net speed";
        if (layer == 0) {
            add(b, tier, "bandwidth", text, (value_origin){what, &nics->mark});
        } else {
            assume(b, tier, path, text, "as the NICs' links");
        }
    }
    assume(b, tier, ms_arena_printf(b->arena, "tiers.%s.efficiency", name), RAIL_EFFICIENCY,
           "what NDR ports reach in all-reduces; calibrate fits it");
    assume(b, tier, ms_arena_printf(b->arena, "tiers.%s.latency", name),
           layer == 0 ? RAIL_LATENCY : SPINE_LATENCY,
           layer == 0 ? "half of NCCL's ring step between nodes" : "a switch and 10 m of cable");
}

static void add_units(platform_builder *b, ms_node *fabric) {
    static const char NON_BLOCKING[] = "non-blocking, as Slurm does not say";
    const ms_slurm_topology *t = b->topology;
    bool is_block_node = t->has_blocks && b->hosts_per_node > 1;
    const value_origin leaf = {t->has_blocks ? "nodes of a block" : "nodes of a leaf switch",
                               &t->nodes_mark};
    const value_origin group = {"blocks of a group", &t->pod_mark};
    const value_origin pod = {"leaf switches of a switch above", &t->pod_mark};
    if (b->nodes_per_unit > 0) {
        add(b, fabric, "nodes_per_unit", count_text(b, b->nodes_per_unit),
            is_block_node ? group : leaf);
        assume(b, fabric, "fabric.oversubscription", "1", NON_BLOCKING);
    }
    if (b->units_per_pod > 0) {
        add(b, fabric, "units_per_pod", count_text(b, b->units_per_pod),
            t->has_blocks ? group : pod);
        assume(b, fabric, "fabric.core_oversubscription", "1", NON_BLOCKING);
    }
}

static void add_fabric(platform_builder *b, ms_node *root) {
    ms_node *fabric = add_mapping(b, root, "fabric");
    assume(b, fabric, "fabric.kind", b->kind,
           b->topology->rails > 1 ? "leaf switches stand side by side"
           : strcmp(b->kind, "rails") == 0
               ? "a node's NICs are on a leaf switch each; leaf-spine where they are on one"
               : "a node's NICs are on one leaf switch");
    add_units(b, fabric);
}

/* What NCCL's file says of the whole: that NCCL is the library, and what switches do. */
static void add_library(platform_builder *b, ms_node *root) {
    const ms_nccl_machine *m = b->machine;
    if (m == NULL || m->gpus.vendor != NVIDIA) {
        return;
    }
    add(b, root, "library", "nccl-2", (value_origin){"the file is NCCL's", &m->gpus.mark});
    if (m->gpus.has_switch && m->gpus.sm >= NVLS_SM_MIN) {
        add(b, root, "nvls", "true",
            (value_origin){"NVLink switches of this generation reduce", &m->gpus.link_mark});
    }
    if (m->nics.has_sharp) {
        add(b, root, "sharp", "true", (value_origin){"net coll", &m->nics.mark});
    }
}

static void remark_machine(platform_builder *b) {
    const ms_nccl_machine *m = b->machine;
    if (m == NULL) {
        return;
    }
    if (m->gpus.links > 0 && !m->gpus.has_switch) {
        ms_buffer_puts(&b->remarks, "# NVLinks between GPUs are taken as one switch\n");
    }
    if (b->nics > 0 && !m->nics.has_gdr) {
        ms_buffer_puts(&b->remarks, "# NICs without GPUDirect (gdr 0): taken as if they had it\n");
    }
}

static void write_root(platform_builder *b) {
    ms_node *root = b->out->root;
    const char *what = b->hosts_per_node == 1
                           ? "all nodes"
                           : ms_arena_printf(b->arena, "%d of Slurm's nodes, %d each",
                                             b->topology->nodes, b->hosts_per_node);
    assume(b, root, "name", "slurm-cluster", "no file has a cluster's name");
    add(b, root, "nodes", count_text(b, b->nodes), (value_origin){what, &b->topology->nodes_mark});
    add_node(b, root);
    add_gpu(b, root);
    add_library(b, root);
    ms_node *tiers = add_mapping(b, root, "tiers");
    add_inner_tier(b, tiers);
    for (int layer = 0; layer + 1 < b->tiers && layer < OUTER_MAX; layer++) {
        add_outer_tier(b, tiers, layer);
    }
    add_fabric(b, root);
    remark_machine(b);
}

/* ---- all ---- */

static const char *sum_up(const platform_builder *b) {
    const char *units = b->nodes_per_unit == 0
                            ? "all on one leaf"
                            : ms_arena_printf(b->arena, "%d a unit", b->nodes_per_unit);
    const char *pods = b->units_per_pod == 0
                           ? ""
                           : ms_arena_printf(b->arena, ", %d units a pod", b->units_per_pod);
    return b->gpus == 0 ? ms_arena_printf(b->arena, "nodes      %d, %s%s\n", b->nodes, units, pods)
                        : ms_arena_printf(b->arena, "nodes      %d of %d GPUs, %s%s\n", b->nodes,
                                          b->gpus, units, pods);
}

ms_status ms_slurm_platform(const ms_slurm_topology *topology, const ms_nccl_machine *machine,
                            ms_arena *arena, ms_diag *diag, ms_imported *out) {
    platform_builder b = {
        .topology = topology, .machine = machine, .arena = arena, .out = out, .hosts_per_node = 1};
    out->root = ms_import_new_mapping(arena);
    if (out->root == NULL) {
        return ms_diag_no_memory(diag);
    }
    ms_buffer_init(&b.remarks);
    ms_buffer_puts(&b.remarks, topology->remarks);
    find_sizes(&b);
    find_fabric(&b);
    write_root(&b);
    out->remarks = ms_arena_strdup(arena, ms_buffer_text(&b.remarks));
    out->summary = sum_up(&b);
    bool is_short = b.remarks.failed || arena->has_failed;
    ms_buffer_release(&b.remarks);
    return is_short ? ms_diag_no_memory(diag) : MS_OK;
}
