/* Fabrics of switches: one tree of levels seen from a GPU's port.
 *   node    GPUs on an NVLink switch (absent in a flat fabric: the port sits at the GPU)
 *   port    one link pair per NIC (per GPU in a flat fabric) to a leaf switch
 *   spine   one aggregated link pair per leaf switch to the spine layer of its pod
 *   core    one aggregated link pair per pod to the core layer
 * A rail-optimised unit has one leaf per NIC index; a top-of-rack unit has a single leaf. */
#ifndef MS_PLATFORM_SWITCHES_H
#define MS_PLATFORM_SWITCHES_H

#include "cluster/platform/fabric.h"

typedef struct ms_switches {
    ms_topology head;
    bool has_rails;                                  /* leaf r of a unit joins NIC r of its nodes */
    int node_tier, port_tier, spine_tier, core_tier; /* index into tiers, -1: no such level */
    int ports_per_node;                              /* NICs, or GPUs in a flat fabric */
    int nodes_per_unit;
    int units; /* the last one may be filled in part; its switches are complete */
    int leaves_per_unit;
    int units_per_pod;
    int pods;
    double uplinks_per_leaf; /* physical links from a leaf to the spine, in one direction */
    double uplinks_per_pod;  /* physical links from a pod's spine to the core */
    int links_per_leaf;      /* links that these are numbered as: 1 where they act as one */
    int links_per_pod;
    uint64_t seed; /* of the choice among them */
} ms_switches;

/* The rows. */
extern const ms_fabric_kind ms_fabric_flat, ms_fabric_rails, ms_fabric_leaf_spine;

static inline const ms_switches *ms_switches_of(const ms_platform *platform) {
    return (const ms_switches *)platform->topology; /* the head is its first member */
}

/* Link pair index of the port that a GPU uses, and of the leaf that this port is plugged into. */
int ms_switches_port(const ms_platform *platform, int gpu);
int ms_switches_leaf(const ms_platform *platform, int gpu);

/* Where nodes are wired in pairs: number of link pairs of a node, and the link pair between two
 * GPUs of one node, of which MS_LINK_UP leads to the GPU of the higher number. */
int ms_switches_node_pairs(const ms_platform *platform);
ms_link_address ms_switches_pair(const ms_platform *platform, int from, int to);
/* The GPUs that such a link leads from and to. */
void ms_switches_pair_ends(const ms_platform *platform, ms_link_address address, int ends_out[2]);

/* What the rows hold; see ms_fabric_kind. */
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
