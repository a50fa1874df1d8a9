/* Tori of chips, such as TPU pods: coordinates, neighbours, routes. Link pair `chip * dimensions +
 * d` belongs to a chip: its first link leads to the next chip along dimension d, its second link to
 * the chip before. */
#ifndef MS_PLATFORM_TORUS_H
#define MS_PLATFORM_TORUS_H

#include "cluster/platform/fabric.h"

enum { MS_TORUS_DIMENSIONS_MAX = 3 };

/* Sizes of a torus fabric: pods of chips in one to three dimensions, each of which wraps around.
 * The chips of a pod are connected by links of tier 0. A second tier, if there is one, is a network
 * for all pods, to which the NICs of the nodes connect. */
typedef struct ms_torus {
    ms_topology head;
    int shape[MS_TORUS_DIMENSIONS_MAX]; /* chips of a pod by dimension, 1 beyond `dimensions` */
    int dimensions;
    int chips; /* of a pod, the product of the shape */
    int pods;
    int port_tier; /* tier of the network between pods, index into tiers; -1: none */
} ms_torus;

/* The torus as a fabric kind. */
extern const ms_fabric_kind ms_fabric_torus;

/* The sizes of a platform whose fabric is a torus. */
const ms_torus *ms_torus_of(const ms_platform *platform);

/* Pod of a chip. */
int ms_torus_pod(const ms_torus *torus, int chip);

/* Coordinates of a chip inside its pod, and the chip at coordinates of a pod. Chips are numbered
 * pod after pod, and in a pod along x first.  coordinates, coordinates_out:
 * [MS_TORUS_DIMENSIONS_MAX]. */
void ms_torus_coordinates(const ms_torus *torus, int chip, int *coordinates_out);
int ms_torus_chip(const ms_torus *torus, int pod, const int *coordinates);

/* The chip next to a chip along a dimension.  direction: MS_LINK_UP (+) or MS_LINK_DOWN (-). */
int ms_torus_neighbour(const ms_torus *torus, int chip, int dimension, int direction);

/* Index of the link pair, in the port tier, of the NIC that a chip uses. */
int ms_torus_port(const ms_platform *platform, int chip);

/* The functions of the fabric kind; see ms_fabric_kind for each. */
ms_status ms_torus_read(ms_fabric_file *file, ms_arena *arena, ms_platform *platform);
int ms_torus_link_pairs(const ms_platform *platform, int tier);
int64_t ms_torus_domain(const ms_platform *platform, int tier);
void ms_torus_route(const ms_platform *platform, int source, int destination, ms_route *out);
const char *ms_torus_route_fault(const ms_platform *platform, int source, int destination,
                                 const ms_route *route);
void ms_torus_name_link(const ms_platform *platform, ms_link_address address, char *text_out,
                        size_t size);
double ms_torus_bisection_Bps(const ms_platform *platform);
ms_status ms_torus_rings(const ms_platform *platform, const int *gpus, int members, ms_arena *arena,
                         ms_ring_orders *orders_out);
void ms_torus_write_xml_routers(const ms_platform *platform, ms_buffer *out);
void ms_torus_write_xml_routes(const ms_platform *platform, ms_buffer *out);

/* Keys below `fabric`. */
extern const ms_field MS_TORUS_FIELDS[];

#endif
