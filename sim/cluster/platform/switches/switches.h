/* Fabrics of switches: flat, rail-optimised and leaf-spine. Each is a tree of up to four levels of
 * links, which are the tiers of the platform:
 *   node    GPUs to the NVLink switch of their node (absent in a flat fabric)
 *   port    one link pair per NIC (per GPU in a flat fabric) to a leaf switch
 *   spine   one aggregated link pair per leaf switch to the spine layer of its pod
 *   core    one aggregated link pair per pod to the core layer
 * A unit is the nodes that share leaf switches: a rail-optimised unit has one leaf per NIC index (a
 * rail), a leaf-spine unit has a single leaf. A pod is the units that share a spine layer. */
#ifndef MS_PLATFORM_SWITCHES_H
#define MS_PLATFORM_SWITCHES_H

#include "cluster/platform/fabric.h"

/* Sizes of a switched fabric. */
typedef struct ms_switches {
    ms_topology head;
    ms_platform_layout layout; /* its tiers are -1 where the fabric has no such level; without ECMP
                                  the uplinks of a leaf, or of a pod, act as one link */
    double uplinks_per_leaf;   /* physical links from a leaf to the spine, in one direction */
    double uplinks_per_pod;    /* physical links from a pod's spine to the core */
    uint64_t seed;             /* of the hash that chooses a numbered link (ECMP) */
} ms_switches;

/* The three fabric kinds. */
extern const ms_fabric_kind ms_fabric_flat, ms_fabric_rails, ms_fabric_leaf_spine;

/* The sizes of a platform whose fabric has switches. */
static inline const ms_switches *ms_switches_of(const ms_platform *platform) {
    return (const ms_switches *)platform->topology; /* ms_switches begins with its ms_topology */
}

/* Index of the link pair (in the port tier) of the port that a GPU uses, and number of the leaf
 * switch to which this port is connected. */
int ms_switches_port(const ms_platform *platform, int gpu);
int ms_switches_leaf(const ms_platform *platform, int gpu);

/* For nodes that are wired in pairs (a link between every two GPUs, no switch): number of link
 * pairs of a node, and the address of the link from a GPU to another of its node; MS_LINK_UP leads
 * to the GPU of the higher number. */
int ms_switches_node_pairs(const ms_platform *platform);
ms_link_address ms_switches_pair(const ms_platform *platform, int from, int to);
/* The GPUs from which and to which the link of such a pair leads.  ends_out: source,
 * destination. */
void ms_switches_pair_ends(const ms_platform *platform, ms_link_address address, int ends_out[2]);

/* The functions of the fabric kinds; see ms_fabric_kind for each. */
ms_status ms_switches_read_flat(ms_fabric_file *file, ms_arena *arena, ms_platform *platform);
ms_status ms_switches_read_rails(ms_fabric_file *file, ms_arena *arena, ms_platform *platform);
ms_status ms_switches_read_leaf_spine(ms_fabric_file *file, ms_arena *arena, ms_platform *platform);
int ms_switches_link_pairs(const ms_platform *platform, int tier);
double ms_switches_cables(const ms_platform *platform, int tier);
int64_t ms_switches_domain(const ms_platform *platform, int tier);
void ms_switches_route(const ms_platform *platform, int source, int destination, ms_route *out);
int ms_switches_rails(const ms_platform *platform);
void ms_switches_shift(const ms_platform *platform, int nodes, int slots, int *shifts_out);
ms_status ms_switches_rings(const ms_platform *platform, const int *gpus, int members,
                            ms_arena *arena, ms_ring_orders *orders_out);
const char *ms_switches_route_fault(const ms_platform *platform, int source, int destination,
                                    const ms_route *route);
void ms_switches_name_link(const ms_platform *platform, ms_link_address address, char *text_out,
                           size_t size);
double ms_switches_bisection_Bps(const ms_platform *platform);
void ms_switches_write_xml_routers(const ms_platform *platform, ms_buffer *out);
void ms_switches_write_xml_routes(const ms_platform *platform, ms_buffer *out);

/* Keys below `fabric` of the kinds with NICs; a flat fabric has none. */
extern const ms_field MS_SWITCHES_FIELDS[];

#endif
