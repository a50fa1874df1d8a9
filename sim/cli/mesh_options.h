/* Reads the options of `meshsim mesh`: the mesh, and the tensor that is laid over it. */
#ifndef MS_CLI_MESH_OPTIONS_H
#define MS_CLI_MESH_OPTIONS_H

#include "cli/cli.h"
#include "cluster/mesh/sharding.h"
#include "cluster/placement/placement.h"

/* Read the mesh of --shape and --order, or of --auto; place its ranks by --devices or --placement;
 * then apply --reshape, --transpose, --sub and --flatten, in this order.  platform: NULL if none is
 * given.  *mesh_out: its contents are in the call's arena.  *placement_out: the placement of
 * --placement; zeroed without it.  Returns MS_OK; MS_E_USAGE or MS_E_INPUT (reported);
 * MS_E_NOMEM. */
ms_status ms_cli_read_mesh(const ms_invocation *call, const ms_platform *platform,
                           ms_mesh *mesh_out, ms_rank_placement *placement_out);

/* A tensor, its present sharding spec, and the spec that --redistribute brings it to. */
typedef struct ms_tensor_study {
    bool is_given; /* --tensor was given; else the rest is unset */
    bool is_moved; /* --redistribute was given; else target, target_local and plan are unset */
    ms_tensor tensor;
    ms_spec spec, target;                           /* present spec, and that of --redistribute */
    int64_t local[MS_TENSOR_DIMENSIONS_MAX];        /* [dimensions] part of a rank under `spec` */
    int64_t target_local[MS_TENSOR_DIMENSIONS_MAX]; /* [dimensions] part under `target` */
    ms_reshard_plan plan;                           /* collectives from `spec` to `target` */
} ms_tensor_study;

/* Read --tensor, --element-size, --spec and --redistribute, and find the parts that ranks hold and
 * the collectives between the two specs.  Returns as ms_cli_read_mesh. */
ms_status ms_cli_read_tensor(const ms_invocation *call, const ms_mesh *mesh,
                             ms_tensor_study *study_out);

/* Split the comma list of an option into words, MS_MESH_AXES_MAX at most. A word may be empty,
 * which the caller refuses.  option: its name, for the message.  text: its value, copied.
 * *words_out: in call->arena; the words may be written to.  Returns as ms_cli_read_mesh. */
ms_status ms_cli_split_axes(const ms_invocation *call, const char *option, const char *text,
                            ms_words *words_out);

/* Split "NAME=REST" at the sign, in place.  item: is "NAME" afterwards.  expected: form for the
 * message, such as "AXIS=SIZE".  Returns REST; NULL (reported) where name or sign is missing. */
char *ms_cli_cut_pair(const ms_invocation *call, const char *option, char *item,
                      const char *expected);

#endif
