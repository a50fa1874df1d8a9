/* meshsim platform: shows what a platform consists of (GPUs, tiers of links, prices), the route
 * between two GPUs, and which GPUs a placement leaves unused; exports it as a picture, for
 * Graphviz, or for SimGrid. A tier is a level of links: inside nodes, from NICs to leaf switches,
 * from leaves to spines, and so on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/shown_tables.h"
#include "cli/tool.h"
#include "cluster/platform/price.h"
#include "trace/summary.h"

/* Bytes of the name of a link. */
enum { TEXT_SIZE = 96 };

/* The options of the command. */
static const ms_option OPTIONS[] = {
    {MS_OPTION_SET_PLATFORM},
    {"route", "A B", .help = "show each link from GPU A to GPU B"},
    {MS_OPTION_PLACEMENT},
    {"ranks", "N",
     .help = "with --placement: ranks of the job; otherwise as many as its nodes have GPUs"},
    {"dot", "FILE", .help = "write the graph for Graphviz ('-': standard output)",
     .writes = ".dot or .txt"},
    {"svg", "FILE", .help = "write a picture of the tiers ('-': standard output)",
     .writes = ".svg, .png or .pdf"},
    {"simgrid-xml", "FILE",
     .help = "write the graph for SimGrid, up to 1,024 GPUs ('-': standard output)",
     .writes = ".xml"},
    {MS_OPTION_JSON},
    {.name = NULL},
};

/* A route between two GPUs, and its slowest link. */
typedef struct path {
    int from, to; /* GPUs */
    ms_route route;
    double bottleneck_Bps; /* bandwidth of the slowest link; INFINITY: no link is limited */
    int bottleneck_tier;   /* of that link */
} path;

/* A platform that is shown, and the ranks that are placed on it. */
typedef struct view {
    ms_platform platform;
    ms_rank_placement placement; /* zeroed without --placement */
} view;

/* Add a row for each tier, innermost first: its links, their nominal bandwidth, efficiency and
 * latency. */
static void add_tiers(const ms_platform *platform, ms_value *root) {
    ms_value *tiers = ms_value_add(root, "tiers", MS_VALUE_ARRAY);
    for (int index = 0; index < platform->tier_count; index++) {
        const ms_tier *tier = &platform->tiers[index];
        ms_link_info link = ms_platform_link(platform, tier->first_link);
        ms_value *row = ms_value_add(tiers, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(row, "name", tier->name);
        ms_value_add_int(row, "links", tier->links);
        ms_value_add_double(row, "bandwidth_Bps", tier->bandwidth_Bps);
        ms_value_add_double(row, "efficiency", tier->efficiency);
        ms_value_add_int(row, "parallel", link.parallel);
        ms_value_add_double(row, "capacity_Bps", ms_tier_capacity_Bps(tier));
        ms_value_add_double(row, "latency_s", tier->latency_s);
        ms_value_add_bool(row, "in_bits", tier->is_in_bits);
    }
}

/* Add how the fabric is built: the shape of a torus, or the numbers of leaves, spines and pods of a
 * network of switches. */
static void add_layout(const ms_platform *platform, ms_value *root) {
    ms_platform_layout layout;
    ms_platform_layout_of(platform, &layout);
    ms_value *object = ms_value_add(root, "layout", MS_VALUE_OBJECT);
    ms_summary_add_tier(platform, layout.port_tier, "port_tier", object);
    ms_value_add_int(object, "pods", layout.pods);
    if (layout.dimensions > 0) {
        ms_value *shape = ms_value_add(object, "shape", MS_VALUE_ARRAY);
        for (int i = 0; i < layout.dimensions; i++) {
            ms_value_add_int(shape, NULL, layout.shape[i]);
        }
        return;
    }
    ms_summary_add_tier(platform, layout.node_tier, "node_tier", object);
    ms_summary_add_tier(platform, layout.spine_tier, "spine_tier", object);
    ms_summary_add_tier(platform, layout.core_tier, "core_tier", object);
    ms_value_add_bool(object, "is_paired", platform->tiers[0].is_paired);
    ms_value_add_bool(object, "has_rails", layout.has_rails);
    ms_value_add_int(object, "units", layout.units);
    ms_value_add_int(object, "nodes_per_unit", layout.nodes_per_unit);
    ms_value_add_int(object, "leaves_per_unit", layout.leaves_per_unit);
    ms_value_add_int(object, "units_per_pod", layout.units_per_pod);
    ms_value_add_int(object, "ports_per_node", layout.ports_per_node);
    ms_value_add_int(object, "links_per_leaf", layout.links_per_leaf);
    ms_value_add_int(object, "links_per_pod", layout.links_per_pod);
}

/* Add the GPUs without a rank, spare ones included, as a list of ranges [first, last]. */
static void add_unused(const view *shown, ms_value *root) {
    const uint8_t *uses = shown->placement.uses;
    int gpus = uses == NULL ? 0 : ms_platform_gpus(&shown->platform);
    ms_value *rows = uses == NULL ? NULL : ms_value_add(root, "unused_gpus", MS_VALUE_ARRAY);
    /* `end`: the first used GPU from `gpu` on; the next range can only begin behind it. */
    for (int gpu = 0, end = 0; gpu < gpus; gpu = end + 1) {
        for (end = gpu; end < gpus && uses[end] != MS_GPU_USED; end++) {
        }
        if (end > gpu) {
            ms_value *row = ms_value_add(rows, NULL, MS_VALUE_ARRAY);
            ms_value_add_int(row, NULL, gpu);
            ms_value_add_int(row, NULL, end - 1);
        }
    }
}

/* Add the figures of the GPU type. */
static void add_gpu(const ms_gpu_type *gpu, ms_value *root) {
    ms_value *object = ms_value_add(root, "gpu", MS_VALUE_OBJECT);
    ms_value_add_string(object, "name", gpu->name);
    ms_value_add_double(object, "peak_flop_per_s", gpu->peak_flop_per_s);
    ms_value_add_double(object, "hbm_B", gpu->hbm_B);
    ms_value_add_double(object, "reserve_B", gpu->reserve_B);
    ms_value_add_double(object, "hbm_Bps", gpu->hbm_Bps);
    ms_value_add_int(object, "sms", gpu->sms);
}

/* Add a positive number; null where the platform file does not give it (value 0). */
static void add_given(ms_value *object, const char *key, double value) {
    ms_value_add_double(object, key, value > 0.0 ? value : NAN);
}

/* Add the rent of a GPU with its share of node and network, and the power of a GPU, of a node
 * without its GPUs, and of the switches per GPU. network_power and pue have defaults (0 W and 1),
 * so they are never null. */
static void add_upkeep(const ms_platform *platform, ms_value *root) {
    ms_value *object = ms_value_add(root, "upkeep", MS_VALUE_OBJECT);
    add_given(object, "price_USD_per_h", platform->upkeep.rent_USD_per_h);
    add_given(object, "gpu_load_W", platform->gpu.clock.power.load_W);
    add_given(object, "gpu_idle_W", platform->gpu.clock.power.idle_W);
    add_given(object, "node_W", platform->upkeep.node_W);
    ms_value_add_double(object, "network_W", platform->upkeep.network_W);
    ms_value_add_double(object, "pue", platform->upkeep.pue);
}

/* Add the route of --route: each link with its tier, bandwidth and latency, and those of the whole
 * route. */
static void add_path(const ms_platform *platform, const path *route, ms_value *root) {
    ms_value *object = ms_value_add(root, "route", MS_VALUE_OBJECT);
    ms_value_add_int(object, "source", route->from);
    ms_value_add_int(object, "destination", route->to);
    ms_value *links = ms_value_add(object, "links", MS_VALUE_ARRAY);
    for (int i = 0; i < route->route.count; i++) {
        char name[TEXT_SIZE];
        ms_link_info link = ms_platform_link(platform, route->route.links[i]);
        ms_value *row = ms_value_add(links, NULL, MS_VALUE_OBJECT);
        ms_platform_link_name(platform, route->route.links[i], name, sizeof name);
        ms_value_add_string(row, "name", name);
        ms_value_add_string(row, "tier", platform->tiers[link.tier].name);
        ms_value_add_double(row, "capacity_Bps", link.capacity_Bps);
        ms_value_add_double(row, "latency_s", link.latency_s);
    }
    ms_value_add_double(object, "bottleneck_Bps", route->bottleneck_Bps);
    ms_value_add_double(object, "latency_s", route->route.latency_s);
    ms_summary_add_tier(platform, route->route.tier, "tier", object);
}

/* Make the tree that --json prints.  route: NULL: none is asked for. */
static ms_value *make_tree(const ms_invocation *call, const view *shown, const path *route) {
    const ms_platform *platform = &shown->platform;
    ms_value *root = ms_value_new_object(call->arena);
    ms_value_add_string(root, "platform", platform->name);
    ms_value_add_string(root, "fabric", platform->fabric);
    ms_value_add_int(root, "nodes", platform->nodes);
    ms_value_add_int(root, "gpus_per_node", platform->gpus_per_node);
    ms_value_add_int(root, "nics_per_node", platform->nics_per_node);
    ms_value_add_int(root, "gpus", ms_platform_gpus(platform));
    ms_value_add_int(root, "links", platform->link_count);
    ms_value_add_bool(root, "pxn", platform->has_pxn);
    ms_value_add_double(root, "bisection_Bps", ms_platform_bisection_Bps(platform));
    ms_summary_add_placement(&shown->placement, root);
    add_unused(shown, root);
    add_layout(platform, root);
    add_gpu(&platform->gpu, root);
    add_upkeep(platform, root);
    add_tiers(platform, root);
    if (route != NULL) {
        add_path(platform, route, root);
    }
    return root;
}

/* Read one of the two GPU numbers of --route.  Returns MS_OK; MS_E_USAGE (reported). */
static ms_status read_gpu(const ms_invocation *call, const char *text, const ms_platform *platform,
                          int *gpu_out) {
    char *end = NULL;
    long gpu = strtol(text, &end, 10);
    bool is_number = text[0] >= '0' && text[0] <= '9' && *end == '\0';
    if (!is_number || gpu >= ms_platform_gpus(platform)) {
        return ms_diag_usage(call->diag, "--route: expected a GPU from 0 to %d, got '%s'",
                             ms_platform_gpus(platform) - 1, text);
    }
    *gpu_out = (int)gpu;
    return MS_OK;
}

/* Find the route between the two GPUs of --route, which is given; if it is given several times, the
 * last one counts. */
static ms_status find_path(const ms_invocation *call, const ms_platform *platform, path *out) {
    ms_given given = ms_cli_all(call, "route");
    const char *const *ends = given.values + 2 * (given.count - 1);
    ms_status status = read_gpu(call, ends[0], platform, &out->from);
    status = status == MS_OK ? read_gpu(call, ends[1], platform, &out->to) : status;
    if (status != MS_OK) {
        return status;
    }
    ms_platform_route(platform, out->from, out->to, &out->route);
    out->bottleneck_Bps = ms_route_bottleneck_Bps(platform, &out->route, &out->bottleneck_tier);
    return MS_OK;
}

/* Write the file of --simgrid-xml; without the option, do nothing. */
static ms_status write_xml(const ms_invocation *call, const view *shown) {
    ms_buffer text = {0};
    ms_status status = ms_cli_has(call, "simgrid-xml")
                           ? ms_platform_write_simgrid_xml(&shown->platform, call->diag, &text)
                           : MS_OK;
    if (status != MS_OK) {
        ms_buffer_release(&text);
        return status;
    }
    return ms_cli_write_option(call, "simgrid-xml", &text);
}

/* Write the files of --dot, --svg and --simgrid-xml. The first two are drawn from the result
 * tree. */
static ms_status export_files(const ms_invocation *call, const view *shown) {
    static const char *const AS_DOT[] = {"--format=dot", NULL};
    ms_status status = MS_OK;
    if (ms_cli_has(call, "dot") || ms_cli_has(call, "svg")) {
        const ms_value *tree = make_tree(call, shown, NULL);
        status = ms_cli_draw(call, "dot", AS_DOT, tree);
        status = status == MS_OK ? ms_cli_draw(call, "svg", NULL, tree) : status;
    }
    return status == MS_OK ? write_xml(call, shown) : status;
}

/* Options that name an output file. */
static const char *const EXPORTS[] = {"dot", "svg", "simgrid-xml", NULL};

/* Read the placement of ranks from --placement and --ranks.  Returns MS_OK; MS_E_USAGE (reported):
 * --ranks alone. */
static ms_status read_placement(const ms_invocation *call, view *shown) {
    long ranks = 0;
    bool has_ranks = ms_cli_has(call, "ranks");
    if (!ms_cli_has(call, "placement")) {
        return has_ranks ? ms_diag_usage(call->diag, "--ranks goes with --placement only") : MS_OK;
    }
    ms_status status =
        ms_cli_int(call, "ranks", 0, has_ranks ? 1 : 0, ms_platform_gpus(&shown->platform), &ranks);
    return status == MS_OK
               ? ms_cli_read_placement(call, &shown->platform, (int)ranks, &shown->placement)
               : status;
}

/* Load and check the platform, and read the placement. */
static ms_status read_view(const ms_invocation *call, view *shown) {
    ms_status status = ms_cli_load_platform(call, call->positionals[0], &shown->platform);
    status = status == MS_OK ? ms_platform_check(&shown->platform, call->diag) : status;
    return status == MS_OK ? read_placement(call, shown) : status;
}

/* Read the platform, find the route, write the exports, and print the result unless an export is
 * the standard output. */
static ms_status run(const ms_invocation *call) {
    view shown = {.placement = {.ranks = 0}};
    path route = {.from = 0};
    const path *asked = ms_cli_has(call, "route") ? &route : NULL;
    ms_status status = ms_cli_check_targets(call, EXPORTS);
    status = status == MS_OK ? read_view(call, &shown) : status;
    if (status == MS_OK && asked != NULL) {
        status = find_path(call, &shown.platform, &route);
    }
    status = status == MS_OK ? export_files(call, &shown) : status;
    if (status != MS_OK || ms_cli_uses_stdout(call, EXPORTS)) {
        return status;
    }
    return ms_cli_show(call, shown.platform.name, MS_PLATFORM_TABLES,
                       make_tree(call, &shown, asked));
}

const ms_command ms_cmd_platform = {
    .name = "platform",
    .summary = "show a platform: tiers, counts, bisection, routes",
    .positional_help = "PLATFORM.yaml",
    .positionals = {1, 1},
    .options = OPTIONS,
    .description =
        "Reads a platform file, or finds it by its name without .yaml (in the current folder, in "
        "../platforms, in platforms, and among those that come with meshsim), and shows what it is "
        "made of: GPUs, the tiers of links with their nominal and achieved bandwidth, and the "
        "bandwidth between the two halves of its nodes.\n"
        "\n"
        "--placement says where the ranks of a job sit: how many GPUs they leave is shown, and "
        "--svg draws idle and spare nodes.\n"
        "\n"
        "--route lists the links between two GPUs in order; unlimited links are left out. --dot "
        "and --simgrid-xml write the graph for other programs; in the SimGrid file, SimGrid's "
        "shortest paths are the routes shown here.",
    .example = "meshsim platform platforms/dgx-a100.yaml --set platform.nodes=40 --route 0 165",
    .run = run,
};
