/* What a platform file holds once read, its checks, and the sizes that follow from it. */
#ifndef MS_PLATFORM_FILE_H
#define MS_PLATFORM_FILE_H

#include "meshsim/config.h"
#include "platform/topology.h"

/* Largest platform: route and link numbers stay well inside int. */
enum { MS_PLATFORM_GPUS_MAX = 1 << 24, MS_LINKS_MAX = 1 << 27 };

typedef struct ms_node_file {
    int gpus, nics;
} ms_node_file;

typedef struct ms_fabric_file {
    int kind;
    int nodes_per_unit, units_per_pod;
    double oversubscription, core_oversubscription;
    ms_ints shape; /* of a torus' pod */
} ms_fabric_file;

typedef struct ms_platform_file {
    const char *name;
    int nodes;
    ms_node_file node;
    const ms_node *gpu, *tiers;
    ms_fabric_file fabric;
    int routing;
    int seed;
    bool has_pxn;
} ms_platform_file;

/* Words of fabric.kind, NULL at the end. */
extern const char *const MS_FABRIC_KINDS[];

/* Check what the keys of a file say together. root: the file's document. Every fault is reported.
 * Returns MS_OK; MS_E_INPUT. */
ms_status ms_platform_file_check(const ms_platform_file *file, const ms_node *root, int tiers,
                                 ms_diag *diag);

/* Sizes of the fabric's levels, from a file that passed the check. */
void ms_platform_file_size(const ms_platform_file *file, int tiers, ms_topology *out);

/* The fabric in words, in `arena` or static; NULL when memory runs out. */
const char *ms_platform_file_fabric(const ms_platform_file *file, const ms_topology *topology,
                                    ms_arena *arena);

#endif
