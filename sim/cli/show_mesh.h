/* What `meshsim mesh` prints. */
#ifndef MS_CLI_SHOW_MESH_H
#define MS_CLI_SHOW_MESH_H

#include "cli/mesh_options.h"
#include "meshsim/reshard_time.h"

/* What is asked about a mesh. */
typedef struct ms_mesh_view {
    ms_mesh mesh;
    int only;                    /* axis whose groups are shown, -1: all */
    const ms_platform *platform; /* NULL: none given */
    ms_rank_placement placement; /* zeroed: --placement was not given */
    ms_tensor_study tensor;
    ms_reshard_time times[MS_RESHARD_STEPS_MAX]; /* of the plan's steps, with a platform only */
} ms_mesh_view;

/* Print as text, or as one JSON object. MS_OK; MS_E_IO (reported). */
ms_status ms_cli_show_mesh(const ms_invocation *call, const ms_mesh_view *view);
ms_status ms_cli_show_mesh_json(const ms_invocation *call, const ms_mesh_view *view);

#endif
