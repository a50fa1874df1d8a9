/* What `meshsim mesh` prints. */
#ifndef MS_CLI_SHOW_MESH_H
#define MS_CLI_SHOW_MESH_H

#include "cli/mesh_options.h"
#include "collective/reshard_time.h"

/* What is asked about a mesh. */
typedef struct ms_mesh_view {
    ms_mesh mesh;
    int only;                    /* axis whose groups are shown, -1: all */
    const ms_platform *platform; /* NULL: none given */
    ms_rank_placement placement; /* zeroed: --placement was not given */
    ms_tensor_study tensor;
    ms_reshard_time times[MS_RESHARD_STEPS_MAX]; /* of the plan's steps, with a platform only */
} ms_mesh_view;

/* Print a mesh as text, Markdown or JSON, as the command line asks. Returns as ms_cli_show. */
ms_status ms_cli_show_mesh(const ms_invocation *call, const ms_mesh_view *view);

/* The tree that --json prints. has_groups: list the ranks of each group; a picture leaves the lists
 * out and finds the groups by the sizes. Lack of memory shows in the arena of the call. */
ms_value *ms_show_mesh_tree(const ms_invocation *call, const ms_mesh_view *view, bool has_groups);

/* Add which GPUs and numbers the ranks of a mesh have, null where these are 0..N-1, and the nodes
 * on which they lie.  platform: NULL: none is given, and no nodes. */
void ms_show_mesh_places(const ms_mesh *mesh, const ms_platform *platform, ms_value *root);

#endif
