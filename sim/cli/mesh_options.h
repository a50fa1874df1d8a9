/* What the options of `meshsim mesh` say: the mesh, and the tensor laid over it. */
#ifndef MS_CLI_MESH_OPTIONS_H
#define MS_CLI_MESH_OPTIONS_H

#include "cli/cli.h"
#include "cluster/mesh/sharding.h"
#include "cluster/placement/placement.h"

/* Read the mesh that --shape and --order, or --auto, give; place its ranks by --devices or
 * --placement; then apply --reshape, --transpose, --sub and --flatten, in this order. platform:
 * NULL if none is given. *placement_out: what --placement leaves; zeroed without it. Returns MS_OK;
 * MS_E_USAGE or MS_E_INPUT (reported); MS_E_NOMEM. */
ms_status ms_cli_read_mesh(const ms_invocation *call, const ms_platform *platform,
                           ms_mesh *mesh_out, ms_rank_placement *placement_out);

/* A tensor, how it lies over a mesh, and how it shall lie. */
typedef struct ms_tensor_study {
    bool is_given; /* --tensor stands on the command line */
    bool is_moved; /* and --redistribute */
    ms_tensor tensor;
    ms_spec spec, target;
    int64_t local[MS_TENSOR_DIMENSIONS_MAX], target_local[MS_TENSOR_DIMENSIONS_MAX];
    ms_reshard_plan plan;
} ms_tensor_study;

/* --tensor, --element-size, --spec and --redistribute. Returns as ms_cli_read_mesh. */
ms_status ms_cli_read_tensor(const ms_invocation *call, const ms_mesh *mesh,
                             ms_tensor_study *study_out);

/* Cut the comma list of an option into words, MS_MESH_AXES_MAX at most. A word may be empty: the
 * caller refuses it. *words_out: in call->arena. Returns as ms_cli_read_mesh. */
ms_status ms_cli_words(const ms_invocation *call, const char *option, const char *text,
                       ms_words *words_out);

/* Cut "NAME=REST" in place: what follows the sign, NULL (reported) where name or sign is
 * missing. */
char *ms_cli_cut_pair(const ms_invocation *call, const char *option, char *item,
                      const char *expected);

#endif
