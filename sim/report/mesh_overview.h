/* All nodes of a mesh at once, in small cells: of each GPU, or of each node where they are many. */
#ifndef MS_REPORT_MESH_OVERVIEW_H
#define MS_REPORT_MESH_OVERVIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "meshsim/buffer.h"
#include "meshsim/mesh.h"
#include "meshsim/platform.h"

/* What is drawn.  All is borrowed. */
typedef struct ms_mesh_overview {
    const char *what;    /* begins its heading, such as "all ranks" */
    const ms_mesh *mesh; /* where coordinates come from; its ranks are those of `ranks` */
    int axis;            /* of the mesh, whose groups have colours */
    bool must_group;     /* by nodes, too; else they have colours of the outermost axis */
    const ms_platform *platform;
    const uint8_t *uses;   /* as in ms_mesh_picture */
    const int *ranks;      /* [nodes * GPUs of a node] of each GPU; -1: none */
    int first_node, nodes; /* that are drawn */
    int unit_nodes;        /* nodes of a unit of the fabric; 0: it has none */
    double left, width;    /* of the page [pixels] */
} ms_mesh_overview;

/* Append it below `y`.  Returns where it ends.  O(GPUs * axes). */
double ms_mesh_overview_add(const ms_mesh_overview *o, double y, ms_buffer *out);

#endif
