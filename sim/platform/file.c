/* What the keys of a platform file say together, and the sizes that follow. */
#include "platform/file.h"

#include <math.h>
#include <stdio.h>

#include "platform/torus.h"

const char *const MS_FABRIC_KINDS[] = {"flat", "rails", "leaf-spine", "torus", NULL};

/* What the cross-checks look at. */
typedef struct checks {
    const ms_node *root;
    const ms_platform_file *file;
    int tiers;
    ms_diag *diag;
    ms_status status;
} checks;

static const ms_node *node_at(const checks *c, const char *mapping, const char *key) {
    const ms_node *outer = mapping == NULL ? c->root : ms_node_get(c->root, mapping);
    const ms_node *inner = ms_node_get(outer, key);
    return inner != NULL ? inner : outer;
}

static void check_sizes(checks *c) {
    const ms_platform_file *f = c->file;
    double gpus = (double)f->nodes * f->node.gpus;
    if (gpus > MS_PLATFORM_GPUS_MAX) {
        c->status = ms_config_fault(c->diag, node_at(c, NULL, "nodes"), "nodes",
                                    "%d nodes of %d GPUs are %.0f GPUs; at most %d are supported",
                                    f->nodes, f->node.gpus, gpus, (int)MS_PLATFORM_GPUS_MAX);
    }
}

static void refuse_key(checks *c, const char *mapping, const char *key, const char *why) {
    const ms_node *node = ms_node_get(ms_node_get(c->root, mapping), key);
    if (node != NULL) {
        char path[64];
        snprintf(path, sizeof path, "%s.%s", mapping, key);
        c->status = ms_config_fault(c->diag, node, path, "%s", why);
    }
}

static void check_flat(checks *c) {
    if (c->tiers != 1) {
        c->status = ms_config_fault(c->diag, node_at(c, NULL, "tiers"), "tiers",
                                    "a flat fabric has 1 tier (GPU to switch), got %d", c->tiers);
    }
    if (c->file->node.nics != 0) {
        refuse_key(c, "node", "nics", "a flat fabric joins GPUs, leave nics out");
    }
    static const char *const KEYS[] = {"nodes_per_unit", "oversubscription", "units_per_pod",
                                       "core_oversubscription"};
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        refuse_key(c, "fabric", KEYS[i], "a flat fabric is one switch and has no such level");
    }
}

static void check_nics(checks *c) {
    const ms_node_file *node = &c->file->node;
    if (node->nics < 1) {
        c->status = ms_config_fault(c->diag, node_at(c, "node", "nics"), "node.nics",
                                    "a '%s' fabric needs at least 1 NIC a node",
                                    MS_FABRIC_KINDS[c->file->fabric.kind]);
    } else if (node->nics > node->gpus) {
        c->status =
            ms_config_fault(c->diag, node_at(c, "node", "nics"), "node.nics",
                            "%d NICs for %d GPUs: GPU i uses NIC i mod nics, the rest would idle",
                            node->nics, node->gpus);
    }
}

/* Levels above the leaf: each needs its tier, and the other way round. */
static void check_levels(checks *c) {
    const ms_fabric_file *fabric = &c->file->fabric;
    int tiers = c->tiers;
    if (tiers < 2 || tiers > 4) {
        c->status = ms_config_fault(c->diag, node_at(c, NULL, "tiers"), "tiers",
                                    "a '%s' fabric has 2 to 4 tiers (inside a node, NIC to leaf, "
                                    "leaf to spine, spine to core), got %d",
                                    MS_FABRIC_KINDS[fabric->kind], tiers);
        return;
    }
    if (tiers >= 3 && fabric->nodes_per_unit == 0) {
        c->status = ms_config_fault(c->diag, node_at(c, NULL, "fabric"), "fabric.nodes_per_unit",
                                    "required key is missing: nodes that share a leaf switch");
    }
    if (tiers == 4 && fabric->units_per_pod == 0) {
        c->status = ms_config_fault(c->diag, node_at(c, NULL, "fabric"), "fabric.units_per_pod",
                                    "required key is missing: units below one spine layer");
    }
    if (tiers < 3) {
        refuse_key(c, "fabric", "oversubscription", "needs a third tier (leaf to spine)");
    }
    if (tiers < 4) {
        refuse_key(c, "fabric", "units_per_pod", "needs a fourth tier (spine to core)");
        refuse_key(c, "fabric", "core_oversubscription", "needs a fourth tier (spine to core)");
    }
    if (tiers == 2 && fabric->nodes_per_unit != 0 && c->file->nodes > fabric->nodes_per_unit) {
        c->status = ms_config_fault(c->diag, node_at(c, "fabric", "nodes_per_unit"),
                                    "fabric.nodes_per_unit",
                                    "%d nodes in units of %d, but no third tier joins the units",
                                    c->file->nodes, fabric->nodes_per_unit);
    }
}

/* Chips of a whole pod. */
static double pod_chips(const ms_fabric_file *fabric) {
    double chips = 1;
    for (size_t d = 0; d < fabric->shape.count; d++) {
        chips *= fabric->shape.items[d];
    }
    return chips;
}

static void check_shape(checks *c) {
    const ms_ints *shape = &c->file->fabric.shape;
    int hops = 0;
    bool is_right = shape->count >= 1 && shape->count <= MS_TORUS_DIMENSIONS_MAX;
    for (size_t d = 0; d < shape->count && is_right; d++) {
        is_right = shape->items[d] >= 1 && shape->items[d] <= MS_PLATFORM_GPUS_MAX;
        hops += is_right ? shape->items[d] / 2 : 0;
    }
    if (!is_right) {
        c->status = ms_config_fault(c->diag, node_at(c, "fabric", "shape"), "fabric.shape",
                                    "expected 1 to %d sizes of at least 1, such as [16, 16, 16]",
                                    (int)MS_TORUS_DIMENSIONS_MAX);
    } else if (hops > MS_ROUTE_LINKS_MAX) {
        c->status = ms_config_fault(c->diag, node_at(c, "fabric", "shape"), "fabric.shape",
                                    "routes of up to %d hops; at most %d are supported", hops,
                                    (int)MS_ROUTE_LINKS_MAX);
    }
}

/* The job's chips are whole pods, or a box inside one. */
static void check_pods(checks *c) {
    const ms_platform_file *f = c->file;
    double chips = (double)f->nodes * f->node.gpus;
    double pod = pod_chips(&f->fabric);
    int box[MS_TORUS_DIMENSIONS_MAX];
    bool is_whole = fmod(chips, pod) == 0;
    bool is_part = chips < pod && ms_torus_box(&f->fabric.shape, (int)chips, box);
    if (!is_whole && !is_part) {
        c->status = ms_config_fault(
            c->diag, node_at(c, NULL, "nodes"), "nodes",
            "%d nodes of %d chips are neither whole pods of %.0f chips (%g nodes) nor a box inside "
            "one",
            f->nodes, f->node.gpus, pod, pod / f->node.gpus);
    } else if (chips > pod && c->tiers < 2) {
        c->status = ms_config_fault(
            c->diag, node_at(c, NULL, "nodes"), "nodes",
            "%.0f pods, but no second tier joins them; a pod of %.0f chips has %g nodes",
            chips / pod, pod, pod / f->node.gpus);
    }
}

static void check_torus(checks *c) {
    static const char *const KEYS[] = {"nodes_per_unit", "oversubscription", "units_per_pod",
                                       "core_oversubscription"};
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        refuse_key(c, "fabric", KEYS[i], "a torus has no switches");
    }
    if (c->tiers < 1 || c->tiers > 2) {
        c->status = ms_config_fault(c->diag, node_at(c, NULL, "tiers"), "tiers",
                                    "a torus has 1 or 2 tiers (between chips, and from a node to "
                                    "the network between pods), got %d",
                                    c->tiers);
    } else if (c->tiers == 2) {
        check_nics(c);
    } else if (c->file->node.nics != 0) {
        refuse_key(c, "node", "nics", "needs a second tier, the network between pods");
    }
    if (ms_node_get(ms_node_get(c->root, "fabric"), "shape") == NULL) {
        c->status = ms_config_fault(c->diag, node_at(c, NULL, "fabric"), "fabric.shape",
                                    "required key is missing: chips of a pod by dimension, such as "
                                    "[16, 16, 16]");
    } else {
        check_shape(c);
    }
    if (c->status == MS_OK) {
        check_pods(c);
    }
}

/* Physical links from leaves to spines and from pods to the core, one direction; as a number that
 * cannot overflow. Levels are complete, also where nodes do not fill them. */
static double count_uplinks(const ms_platform_file *f) {
    const ms_fabric_file *fabric = &f->fabric;
    double leaves = fabric->kind == MS_FABRIC_RAILS ? f->node.nics : 1;
    double unit = fabric->nodes_per_unit > 0 ? fabric->nodes_per_unit : f->nodes;
    double units = ceil(f->nodes / unit);
    double pod = fabric->units_per_pod > 0 ? fabric->units_per_pod : units;
    double per_leaf = unit * f->node.nics / leaves / fabric->oversubscription;
    double per_pod = per_leaf * leaves * pod / fabric->core_oversubscription;
    return units * leaves * ceil(per_leaf) + ceil(units / pod) * ceil(per_pod);
}

/* A choice needs parallel links, and few enough of them to number. */
static void check_routing(checks *c) {
    const ms_platform_file *f = c->file;
    bool has_switches = f->fabric.kind == MS_FABRIC_RAILS || f->fabric.kind == MS_FABRIC_LEAF_SPINE;
    if (f->routing != MS_ROUTING_ECMP) {
        if (ms_node_get(c->root, "routing_seed") != NULL) {
            c->status = ms_config_fault(c->diag, node_at(c, NULL, "routing_seed"), "routing_seed",
                                        "only 'ecmp' chooses by a seed");
        }
        return;
    }
    if (!has_switches || c->tiers < 3) {
        c->status = ms_config_fault(c->diag, node_at(c, NULL, "routing"), "routing",
                                    "'ecmp' chooses among links of a leaf to the spine, a third "
                                    "tier, which this fabric does not have");
        return;
    }
    double links = 2 * count_uplinks(f);
    if (links > MS_LINKS_MAX) {
        c->status =
            ms_config_fault(c->diag, node_at(c, NULL, "routing"), "routing",
                            "'ecmp' numbers every link, and these are %.0f above the leaves; at "
                            "most %d are supported",
                            links, (int)MS_LINKS_MAX);
    }
}

static void check_pxn(checks *c) {
    const ms_platform_file *f = c->file;
    bool has_rails = f->fabric.kind == MS_FABRIC_RAILS && f->node.nics > 1;
    if (has_rails && !f->has_pxn && c->tiers == 2) {
        c->status = ms_config_fault(c->diag, node_at(c, NULL, "pxn"), "pxn",
                                    "without pxn and without a third tier nothing joins the rails");
    }
}

ms_status ms_platform_file_check(const ms_platform_file *file, const ms_node *root, int tiers,
                                 ms_diag *diag) {
    checks c = {.root = root, .file = file, .tiers = tiers, .diag = diag};
    check_sizes(&c);
    if (file->fabric.kind == MS_FABRIC_FLAT) {
        check_flat(&c);
        refuse_key(&c, "fabric", "shape", "only a torus has a shape");
    } else if (file->fabric.kind == MS_FABRIC_TORUS) {
        check_torus(&c);
    } else {
        check_nics(&c);
        check_levels(&c);
        refuse_key(&c, "fabric", "shape", "only a torus has a shape");
    }
    check_pxn(&c);
    check_routing(&c);
    return c.status;
}

static int ceil_div(int a, int b) {
    return (a + b - 1) / b;
}

/* A torus: the chips' own links, and where a second tier is given one network for all nodes. */
static void size_torus(const ms_platform_file *file, int tiers, ms_topology *out) {
    const ms_ints *shape = &file->fabric.shape;
    int chips = file->nodes * file->node.gpus;
    int pod = (int)fmin(pod_chips(&file->fabric), MS_PLATFORM_GPUS_MAX);
    *out = (ms_topology){.kind = MS_FABRIC_TORUS,
                         .node_tier = -1,
                         .port_tier = tiers > 1 ? 1 : -1,
                         .spine_tier = -1,
                         .core_tier = -1,
                         .ports_per_node = tiers > 1 ? file->node.nics : 1,
                         .nodes_per_unit = file->nodes,
                         .units = 1,
                         .leaves_per_unit = 1,
                         .units_per_pod = 1,
                         .pods = 1,
                         .uplinks_per_leaf = 1,
                         .uplinks_per_pod = 1,
                         .links_per_leaf = 1,
                         .links_per_pod = 1,
                         .torus = {.shape = {1, 1, 1}, .dimensions = (int)shape->count}};
    for (size_t d = 0; d < shape->count; d++) {
        out->torus.shape[d] = shape->items[d];
    }
    if (chips < pod) {
        ms_torus_box(shape, chips, out->torus.shape);
    }
    out->torus.chips = chips < pod ? chips : pod;
    out->torus.pods = chips / out->torus.chips;
}

void ms_platform_file_size(const ms_platform_file *file, int tiers, ms_topology *out) {
    const ms_fabric_file *fabric = &file->fabric;
    bool is_flat = fabric->kind == MS_FABRIC_FLAT;
    if (fabric->kind == MS_FABRIC_TORUS) {
        size_torus(file, tiers, out);
        return;
    }
    *out = (ms_topology){
        .kind = (ms_fabric_kind)fabric->kind,
        .node_tier = is_flat ? -1 : 0,
        .port_tier = is_flat ? 0 : 1,
        .spine_tier = tiers > 2 ? 2 : -1,
        .core_tier = tiers > 3 ? 3 : -1,
        .ports_per_node = is_flat ? file->node.gpus : file->node.nics,
        .nodes_per_unit = fabric->nodes_per_unit > 0 ? fabric->nodes_per_unit : file->nodes,
    };
    out->leaves_per_unit = fabric->kind == MS_FABRIC_RAILS ? out->ports_per_node : 1;
    out->units = ceil_div(file->nodes, out->nodes_per_unit);
    out->units_per_pod = fabric->units_per_pod > 0 ? fabric->units_per_pod : out->units;
    out->pods = ceil_div(out->units, out->units_per_pod);
    double ports_per_leaf =
        (double)out->nodes_per_unit * out->ports_per_node / out->leaves_per_unit;
    bool is_ecmp = file->routing == MS_ROUTING_ECMP;
    out->uplinks_per_leaf = ports_per_leaf / fabric->oversubscription;
    out->uplinks_per_pod = out->uplinks_per_leaf * out->leaves_per_unit * out->units_per_pod /
                           fabric->core_oversubscription;
    out->links_per_leaf = is_ecmp ? (int)ceil(out->uplinks_per_leaf) : 1;
    out->links_per_pod = is_ecmp && tiers > 3 ? (int)ceil(out->uplinks_per_pod) : 1;
    out->seed = (uint64_t)file->seed;
}

const char *ms_platform_file_fabric(const ms_platform_file *file, const ms_topology *topology,
                                    ms_arena *arena) {
    const ms_torus *torus = &topology->torus;
    const char *text = MS_FABRIC_KINDS[file->fabric.kind];
    if (topology->kind != MS_FABRIC_TORUS) {
        return text;
    }
    for (int d = 0; d < torus->dimensions && text != NULL; d++) {
        text = ms_arena_printf(arena, "%s %s %d", text, d == 0 ? "of" : "x", torus->shape[d]);
    }
    return text == NULL || torus->pods == 1
               ? text
               : ms_arena_printf(arena, "%d pods, each a %s", torus->pods, text);
}
