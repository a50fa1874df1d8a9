/* Fabric kinds as rows: what a kind must know about itself for the rest of the program to use it.
 *
 * A kind keeps the sizes of its levels in a struct of its own whose first member is ms_topology,
 * the head that a platform points to; the head says which row understands it. Nothing outside the
 * kind's folder looks further than that. Links are numbered tier after tier and come in pairs, so a
 * kind only says how many pairs each tier has and what pair `index` of a tier is. */
#ifndef MS_PLATFORM_FABRIC_H
#define MS_PLATFORM_FABRIC_H

#include "cluster/platform/platform.h"

typedef struct ms_fabric_kind ms_fabric_kind;

/* First member of every kind's sizes. */
struct ms_topology {
    const ms_fabric_kind *kind;
};

/* Largest platform: route and link numbers stay well inside int. */
enum { MS_PLATFORM_GPUS_MAX = 1 << 24, MS_LINKS_MAX = 1 << 27 };

/* The last hop of a link's numbering: links come in pairs, up (towards the core) first. */
enum { MS_LINK_UP = 0, MS_LINK_DOWN = 1 };

/* What a link is attached to, decoded from its number. */
typedef struct ms_link_address {
    int tier;
    int index;     /* of the link pair inside its tier */
    int direction; /* MS_LINK_UP or MS_LINK_DOWN */
} ms_link_address;

/* What a kind reads itself from, and whether anything was wrong so far. */
typedef struct ms_fabric_file {
    const ms_fabric_kind *kind; /* the row that is reading */
    const ms_node *root;        /* the platform's document */
    const ms_node *keys;        /* the kind's own keys below `fabric`, in a mapping of their own */
    int routing_seed;
    bool wants_pxn;
    bool has_faults; /* elsewhere in the file: keys are read, what they say together is not */
    ms_diag *diag;
    ms_status status; /* MS_E_INPUT once a fault was reported with the functions below */
} ms_fabric_file;

/* A fabric kind. Functions may be NULL where this says what then holds. */
struct ms_fabric_kind {
    const char *name;       /* word of fabric.kind */
    const ms_field *fields; /* its keys below `fabric` besides `kind`; the last row's key is NULL */
    bool has_parallel_links; /* routing `ecmp` has links to choose among; otherwise it is refused */

    /* Read the keys, check what the file says together, and set the platform's topology, and where
     * they differ from the kind's name and false its `fabric` text and `has_pxn`. *platform holds
     * everything else. Returns MS_OK; MS_E_INPUT, every fault reported; MS_E_NOMEM. */
    ms_status (*read)(ms_fabric_file *file, ms_arena *arena, ms_platform *platform);

    /* Link pairs of a tier. */
    int (*link_pairs)(const ms_platform *platform, int tier);

    /* Cables that one link of a tier stands for; NULL: one, in every tier. */
    double (*cables)(const ms_platform *platform, int tier);

    /* GPUs in a row that a tier and those inside it join, see ms_platform_domain; what exceeds the
     * platform's GPUs is cut down to them. */
    int64_t (*domain)(const ms_platform *platform, int tier);

    /* Append the links from one GPU to another, unlimited ones too, with their latency and the
     * outermost tier.  source != destination; *out is empty before. */
    void (*route)(const ms_platform *platform, int source, int destination, ms_route *out);

    /* See ms_platform_rails; its routes then say where they turn.  NULL: 0. */
    int (*rails)(const ms_platform *platform);

    /* How much higher the numbers of links are so many nodes further on, and so many slots inside
     * a node (see ms_platform_moves_alike): of each tier whose domains the nodes fill, the others
     * left at 0.  NULL: no two groups of slots are known to be alike. */
    void (*shift)(const ms_platform *platform, int nodes, int slots, int *shifts_out);

    /* What is wrong with a route of this fabric beyond what holds for all; NULL: nothing. */
    const char *(*route_fault)(const ms_platform *platform, int source, int destination,
                               const ms_route *route);

    /* The part of a link's name after its tier and ':', such as "gpu12:up". */
    void (*name_link)(const ms_platform *platform, ms_link_address address, char *text_out,
                      size_t size);

    /* See ms_platform_bisection_Bps. */
    double (*bisection_Bps)(const ms_platform *platform);

    /* See ms_platform_rings, for at least three members; NULL: no better order than the caller's.
     */
    ms_status (*rings)(const ms_platform *platform, const int *gpus, int members, ms_arena *arena,
                       ms_ring_orders *orders_out);

    /* How it is built; *out has all tiers at -1, the rest at 0. */
    void (*layout)(const ms_platform *platform, ms_platform_layout *out);

    /* SimGrid's vertices besides the hosts, and the routes between them and the hosts. */
    void (*write_xml_routers)(const ms_platform *platform, ms_buffer *out);
    void (*write_xml_routes)(const ms_platform *platform, ms_buffer *out);
};

/* For tests: one more kind, known to everything that reads platforms from now on. */
void ms_fabric_add_kind(const ms_fabric_kind *kind);

/* Kind by number, for schemas.  Returns false beyond the last one. */
bool ms_fabric_variant(int index, ms_field_variant *variant_out);

/* Read the `fabric` mapping by the row that its `kind` names; other arguments as that row's `read`.
 * mapping: of any type.  file->kind and file->keys are set here. */
ms_status ms_fabric_read(const ms_node *mapping, ms_fabric_file *file, ms_arena *arena,
                         ms_platform *platform);

/* Read the kind's own keys into its struct. Returns MS_OK; MS_E_INPUT, also where the rest of the
 * file has faults: then nothing that the keys say together is to be checked; MS_E_NOMEM. */
ms_status ms_fabric_read_keys(ms_fabric_file *file, const ms_field *fields, void *out,
                              ms_arena *arena);

/* Report a fault at a key, which is dotted where it stands in a mapping ("node.nics"), or at what
 * holds it where it is absent, and keep it in file->status. */
void ms_fabric_fault(ms_fabric_file *file, const char *key_path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Report a fault at a key as above, only if the key is given. */
void ms_fabric_refuse_key(ms_fabric_file *file, const char *key_path, const char *why);

/* NICs that every fabric behind NICs asks for: at least one, and no more than GPUs. */
void ms_fabric_check_nics(ms_fabric_file *file, const ms_platform *platform);

/* Number of a link. */
int ms_fabric_link(const ms_platform *platform, int tier, int index, int direction);

/* The address of a link.  O(tiers). */
ms_link_address ms_fabric_address(const ms_platform *platform, int link);

/* Append a link to a route, with its latency. */
void ms_fabric_cross(const ms_platform *platform, ms_link_address address, ms_route *route);

/* Capacity of a link of a tier [B/s]; INFINITY for no tier (-1). */
double ms_fabric_capacity_Bps(const ms_platform *platform, int tier);

/* Route with unlimited links kept: what the public function filters. */
void ms_fabric_route(const ms_platform *platform, int source, int destination, ms_route *out);

/* Set first_link and links of every tier, and link_count, from the kind's link pairs. */
void ms_fabric_number_links(ms_platform *platform);

#endif
