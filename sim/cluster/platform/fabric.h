/* Fabric kinds (flat, rails, leaf-spine, torus) as tables of functions: everything that a kind must
 * provide so that the rest of the program can use it.
 *
 * A kind stores the sizes of its levels in a struct of its own, whose first member is ms_topology.
 * A platform points to this member, which names the kind that understands the struct; nothing
 * outside the kind's folder reads further. Links are numbered tier after tier and come in pairs (up
 * and down), so a kind only states how many pairs each tier has and what pair `index` of a tier
 * connects. */
#ifndef MS_PLATFORM_FABRIC_H
#define MS_PLATFORM_FABRIC_H

#include "cluster/platform/platform.h"

typedef struct ms_fabric_kind ms_fabric_kind;

/* First member of every kind's sizes. */
struct ms_topology {
    const ms_fabric_kind *kind;
};

/* Largest platform, and most links: numbers of links, and sums of them, stay well inside int. */
enum { MS_PLATFORM_GPUS_MAX = 1 << 24, MS_LINKS_MAX = 1 << 27 };

/* The two links of a pair: up (towards the core, in a torus +) has the lower number. */
enum { MS_LINK_UP = 0, MS_LINK_DOWN = 1 };

/* The position of a link in the fabric, decoded from its number. */
typedef struct ms_link_address {
    int tier;
    int index;     /* of the link pair inside its tier; its meaning is the kind's */
    int direction; /* MS_LINK_UP or MS_LINK_DOWN */
} ms_link_address;

/* The input from which a kind reads its keys, and whether there was a fault so far. */
typedef struct ms_fabric_file {
    const ms_fabric_kind *kind; /* the kind that is reading */
    const ms_node *root;        /* the platform's document */
    const ms_node *keys;        /* the kind's own keys below `fabric`, in a mapping of their own */
    int routing_seed;
    bool wants_pxn;
    bool has_faults; /* the rest of the file has faults: keys are read, but not checked together */
    ms_diag *diag;
    ms_status status; /* MS_E_INPUT once a fault was reported with the functions below */
} ms_fabric_file;

/* A fabric kind. A function may be NULL only where its comment states the meaning of NULL. */
struct ms_fabric_kind {
    const char *name;       /* value of the key fabric.kind */
    const ms_field *fields; /* its keys below `fabric` besides `kind`; the last row's key is NULL */
    bool has_parallel_links; /* routing `ecmp` has links to choose among; otherwise it is refused */

    /* Read the keys, check them together with the rest of the file, and set the platform's
     * topology. Also set its `fabric` text and `has_pxn` where they differ from the kind's name and
     * from false. All other members of *platform are set before.  Returns MS_OK; MS_E_INPUT, every
     * fault reported; MS_E_NOMEM. */
    ms_status (*read)(ms_fabric_file *file, ms_arena *arena, ms_platform *platform);

    /* Number of link pairs of a tier. */
    int (*link_pairs)(const ms_platform *platform, int tier);

    /* Number of cables that one link of a tier stands for; NULL: one, in every tier. */
    double (*cables)(const ms_platform *platform, int tier);

    /* Number of GPUs that a tier and the tiers inside it connect, see ms_platform_domain; it may
     * exceed the platform's GPUs, and is then cut to them. */
    int64_t (*domain)(const ms_platform *platform, int tier);

    /* Append the links from one GPU to another, unlimited ones too, with their latency and the
     * outermost tier.  source != destination; *out is empty before. */
    void (*route)(const ms_platform *platform, int source, int destination, ms_route *out);

    /* See ms_platform_rails; if the result is above 0, routes set `turn`.  NULL: 0. */
    int (*rails)(const ms_platform *platform);

    /* How much higher the numbers of links are, by tier, for a group that is so many nodes further,
     * and so many slots further inside its nodes (see ms_platform_moves_alike). shifts_out:
     * [MS_TIER_MAX] zeros before; a tier whose domains the nodes do not fill stays 0. NULL: no two
     * groups are known to be alike. */
    void (*shift)(const ms_platform *platform, int nodes, int slots, int *shifts_out);

    /* Check a route for rules of this fabric beyond those that hold for all.  Returns what is
     * wrong; NULL: nothing. */
    const char *(*route_fault)(const ms_platform *platform, int source, int destination,
                               const ms_route *route);

    /* The part of a link's name after its tier and ':', such as "gpu12:up". */
    void (*name_link)(const ms_platform *platform, ms_link_address address, char *text_out,
                      size_t size);

    /* See ms_platform_bisection_Bps. */
    double (*bisection_Bps)(const ms_platform *platform);

    /* See ms_platform_rings, for at least three members; NULL: no order better than the
     * caller's. */
    ms_status (*rings)(const ms_platform *platform, const int *gpus, int members, ms_arena *arena,
                       ms_ring_orders *orders_out);

    /* How the fabric is built; *out has all tiers at -1 and all else at 0 before. */
    void (*layout)(const ms_platform *platform, ms_platform_layout *out);

    /* Write SimGrid's routers, and the routes between routers and hosts. */
    void (*write_xml_routers)(const ms_platform *platform, ms_buffer *out);
    void (*write_xml_routes)(const ms_platform *platform, ms_buffer *out);
};

/* For tests: add one more kind, which everything that reads platforms knows from now on. */
void ms_fabric_add_kind(const ms_fabric_kind *kind);

/* Name and fields of a kind by index, for schemas.  Returns false beyond the last kind. */
bool ms_fabric_variant(int index, ms_field_variant *variant_out);

/* Read the `fabric` mapping by the kind that its key `kind` names; other arguments and status as of
 * that kind's `read`. mapping: of any type.  file->kind and file->keys are set here. */
ms_status ms_fabric_read(const ms_node *mapping, ms_fabric_file *file, ms_arena *arena,
                         ms_platform *platform);

/* Read the kind's own keys into its struct.  Returns MS_OK; MS_E_INPUT, also where only the rest of
 * the file has faults: the caller then must not check the keys together; MS_E_NOMEM. */
ms_status ms_fabric_read_keys(ms_fabric_file *file, const ms_field *fields, void *out,
                              ms_arena *arena);

/* Report a fault at a key and set file->status to MS_E_INPUT.  key_path: such as "node.nics"; where
 * the file lacks the key, the fault is reported at the mapping that should have it. */
void ms_fabric_fault(ms_fabric_file *file, const char *key_path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Report a fault at a key as ms_fabric_fault does, but only if the file has the key. */
void ms_fabric_refuse_key(ms_fabric_file *file, const char *key_path, const char *why);

/* Check the number of NICs of a node, for fabrics that connect NICs: at least one, and no more than
 * GPUs. */
void ms_fabric_check_nics(ms_fabric_file *file, const ms_platform *platform);

/* Number of the link at an address. */
int ms_fabric_link(const ms_platform *platform, int tier, int index, int direction);

/* The address of a link.  O(tiers). */
ms_link_address ms_fabric_address(const ms_platform *platform, int link);

/* Append a link to a route: add its latency and raise the route's tier. */
void ms_fabric_cross(const ms_platform *platform, ms_link_address address, ms_route *route);

/* Capacity of a link of a tier [B/s]; INFINITY for no tier (-1). */
double ms_fabric_capacity_Bps(const ms_platform *platform, int tier);

/* The route between two GPUs with its unlimited links, which ms_platform_route leaves out. */
void ms_fabric_route(const ms_platform *platform, int source, int destination, ms_route *out);

/* Set first_link, links and cables of every tier, and link_count, from the kind's numbers. */
void ms_fabric_number_links(ms_platform *platform);

#endif
