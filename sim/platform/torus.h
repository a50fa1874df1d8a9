/* Tori of chips: coordinates, neighbours, routes. Link pair `chip * dimensions + d` belongs to a
 * chip: its first link leads to the next chip along dimension d, its second to the one before. */
#ifndef MS_PLATFORM_TORUS_H
#define MS_PLATFORM_TORUS_H

#include "platform/topology.h"

/* Shape of a box of `chips` inside a pod, as near to a cube as it goes, smaller sides first.
 * shape: of the pod.  box_out: [shape->count].  False if there is none. */
bool ms_torus_box(const ms_ints *shape, int chips, int *box_out);

/* Pod of a chip. */
int ms_torus_pod(const ms_topology *topology, int chip);

/* Coordinates of a chip inside its pod, and back.  coordinates: [MS_TORUS_DIMENSIONS_MAX]. */
void ms_torus_coordinates(const ms_topology *topology, int chip, int *coordinates_out);
int ms_torus_chip(const ms_topology *topology, int pod, const int *coordinates);

/* The chip next to one along a dimension.  direction: MS_LINK_UP (+) or MS_LINK_DOWN (-). */
int ms_torus_neighbour(const ms_topology *topology, int chip, int dimension, int direction);

/* Hops between two chips of a pod. */
int ms_torus_distance(const ms_topology *topology, int from, int to);

/* Dimension after dimension, x first, each the shorter way round; half way round goes up.
 * Both chips in one pod, *out empty before. */
void ms_torus_route(const ms_platform *platform, int from, int to, ms_route *out);

#endif
