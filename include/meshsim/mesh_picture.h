/**
 * @file
 * A mesh on its platform as a picture: which rank sits on which GPU of which node; as SVG.
 */
#ifndef MESHSIM_MESH_PICTURE_H
#define MESHSIM_MESH_PICTURE_H

#include <stdint.h>

#include "meshsim/arena.h"
#include "meshsim/buffer.h"
#include "meshsim/decls.h"
#include "meshsim/mesh.h"
#include "meshsim/platform.h"

MS_BEGIN_DECLS

/** What is drawn.  All is borrowed. */
typedef struct ms_mesh_picture {
    const ms_mesh *mesh;
    const ms_platform *platform; /**< has every rank's GPU, see ms_mesh_check_devices */
    int axis; /**< of the mesh, whose groups have colours; -1: the innermost with several ranks */
    const ms_mesh *expert_mesh; /**< the experts' own view of the same ranks; NULL: `mesh` */
    const uint8_t *uses; /**< [GPUs] ms_gpu_use of each; NULL: those without a rank are idle */
} ms_mesh_picture;

/** Append the picture: a box for each node, with its GPUs and on each its rank and coordinates, and
 * a new row for each unit of the fabric.  Of a platform with more than 256 GPUs the nodes from the
 * first with a rank to the last one: the first 64 GPUs so, and all of them as an overview, a cell
 * for each GPU of up to 4,096, else for each node, or for several of more than 16,384.  Groups of
 * experts have an overview of their own.  Lack of memory shows
 * in `scratch`.  O(ranks * axes), and what ms_mesh_axis_tier takes for each axis. */
void ms_mesh_picture_write(const ms_mesh_picture *picture, ms_arena *scratch, ms_buffer *out);

MS_END_DECLS

#endif
