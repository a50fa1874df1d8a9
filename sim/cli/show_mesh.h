/* Prints the results of `meshsim mesh`, and makes the tree for pictures of a mesh. */
#ifndef MS_CLI_SHOW_MESH_H
#define MS_CLI_SHOW_MESH_H

#include "cli/mesh_options.h"
#include "collective/reshard_time.h"

/* A mesh, and the figures that are shown of it. */
typedef struct ms_mesh_view {
    ms_mesh mesh;
    int only;                    /* index of the axis whose groups are shown; -1: all axes */
    const ms_platform *platform; /* NULL: none given */
    ms_rank_placement placement; /* zeroed: --placement was not given */
    ms_tensor_study tensor;
    ms_reshard_time times[MS_RESHARD_STEPS_MAX]; /* [tensor.plan.count] times of its steps,
                                                    with a platform only */
} ms_mesh_view;

/* Print a mesh as text, Markdown or JSON, as the command line asks.  Returns as ms_cli_show. */
ms_status ms_cli_show_mesh(const ms_invocation *call, const ms_mesh_view *view);

/* Make the tree that --json prints.  has_groups: list the ranks of each group; a picture needs no
 * lists, as it finds the groups by the sizes.  Lack of memory shows in the arena of the call. */
ms_value *ms_show_mesh_tree(const ms_invocation *call, const ms_mesh_view *view, bool has_groups);

/* Add the GPUs and the numbers of the ranks of a mesh, in the order of its axes, and the nodes of
 * the platform. Both lists are null where the ranks are 0..N-1 on the GPUs of the same numbers.
 * platform: NULL: none is given, and no nodes are added. */
void ms_show_mesh_devices(const ms_mesh *mesh, const ms_platform *platform, ms_value *root);

#endif
