/* Sizes of a platform's levels, private to the platform layer.
 *
 * Every supported fabric is one tree of levels seen from a GPU's port:
 *   node    GPUs on an NVLink switch (absent in flat fabrics: the port sits at the GPU)
 *   port    one link pair per NIC (per GPU in flat fabrics) to a leaf switch
 *   spine   one aggregated link pair per leaf switch to the spine layer of its pod
 *   core    one aggregated link pair per pod to the core layer
 * A rail-optimised unit has one leaf per NIC index; a top-of-rack unit has a single leaf.
 * A torus has no switches: its chips are joined by links of tier 0 (see torus.h), and pods by one
 * network that the nodes' ports lead to, if there is a port tier. */
#ifndef MS_PLATFORM_TOPOLOGY_H
#define MS_PLATFORM_TOPOLOGY_H

#include "meshsim/platform.h"

typedef enum ms_fabric_kind {
    MS_FABRIC_FLAT,
    MS_FABRIC_RAILS,
    MS_FABRIC_LEAF_SPINE,
    MS_FABRIC_TORUS,
} ms_fabric_kind;

enum { MS_TORUS_DIMENSIONS_MAX = 3 };

/* Pods of chips in up to three dimensions, each wrapping around. */
typedef struct ms_torus {
    int shape[MS_TORUS_DIMENSIONS_MAX]; /* chips of a pod by dimension, 1 beyond `dimensions` */
    int dimensions;
    int chips; /* of a pod, the product of the shape */
    int pods;
} ms_torus;

typedef struct ms_topology {
    ms_fabric_kind kind;
    int node_tier, port_tier, spine_tier, core_tier; /* index into tiers, -1: no such level */
    int ports_per_node;                              /* NICs, or GPUs in flat fabrics */
    int nodes_per_unit;
    int units; /* the last one may be filled in part; its switches are complete */
    int leaves_per_unit;
    int units_per_pod;
    int pods;
    double uplinks_per_leaf; /* physical links from a leaf to the spine, in one direction */
    double uplinks_per_pod;  /* physical links from a pod's spine to the core */
    int links_per_leaf;      /* links that these are numbered as: 1 where they act as one */
    int links_per_pod;
    uint64_t seed;  /* of the choice among them */
    ms_torus torus; /* of a torus only */
} ms_topology;

/* The last hop of a link's numbering: links come in pairs, up (towards the core) first. */
enum { MS_LINK_UP = 0, MS_LINK_DOWN = 1 };

/* What a link is attached to, decoded from its number. */
typedef struct ms_link_place {
    int tier;
    int index;     /* of the link pair inside its tier */
    int direction; /* MS_LINK_UP or MS_LINK_DOWN */
} ms_link_place;

const ms_topology *ms_topology_of(const ms_platform *platform);

/* Number of a link. */
int ms_topology_link(const ms_platform *platform, int tier, int index, int direction);

/* Where a link sits.  O(tiers). */
ms_link_place ms_topology_place(const ms_platform *platform, int link);

/* Link pair index of the port that a GPU uses, and of the leaf that this port is plugged into. */
int ms_topology_port(const ms_platform *platform, int gpu);
int ms_topology_leaf(const ms_platform *platform, int gpu);

/* The GPU of `source`'s node that hands traffic to the rail of `destination` (PXN); `source` itself
 * when none is needed. */
int ms_topology_proxy(const ms_platform *platform, int source, int destination);

/* Route with unlimited links kept: what the public function filters. */
void ms_topology_route(const ms_platform *platform, int source, int destination, ms_route *out);

/* Set first_link and links of every tier, and link_count, from the topology's sizes. */
void ms_topology_number_links(ms_platform *platform);

/* Where files named without a path are looked for. */
typedef struct ms_search {
    const char *const *folders; /* NULL at the end; NULL: none */
    const char *subfolder;      /* of each folder, with its slash at the end, or "" */
} ms_search;

/* Path of a YAML file, in `arena`: a name with '/' as it is, and so one with an ending that is in
 * the current folder; any other as NAME.yaml in the first folder that has it. *path_out: NULL when
 * there is none; then *looked_out is "; looked for ..." with the paths tried, "" for a path.
 * Returns MS_OK; MS_E_NOMEM. */
ms_status ms_find_yaml(const char *name, const ms_search *search, ms_arena *arena,
                       const char **path_out, const char **looked_out);

/* "; did you mean 'NAME'?" with the nearest name that would have been found, "" if none is near.
 * In `arena` or static.  O(files of the folders). */
const char *ms_find_yaml_hint(const char *name, const ms_search *search, ms_arena *arena);

/* Read a GPU type into *gpu_out.
 * mapping: the platform's `gpu:` mapping (type and overrides). places: folders to look in, NULL at
 * the end. *effective_out: the file's keys with the overrides laid over, in `arena`.
 * Returns MS_OK; MS_E_INPUT (reported); MS_E_IO; MS_E_NOMEM. */
ms_status ms_gpu_read(const ms_node *mapping, const char *const *places, ms_arena *arena,
                      ms_diag *diag, ms_gpu_type *gpu_out, ms_node **effective_out);

#endif
