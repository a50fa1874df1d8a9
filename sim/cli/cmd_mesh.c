/* meshsim mesh: lists which ranks form the groups of each axis of a mesh, the outermost tier of
 * links that they cross, and how a tensor is sharded over the mesh; times the collectives that
 * redistribute the tensor. */
#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/show_mesh.h"
#include "cli/tool.h"

/* The options of the command. */
static const ms_option OPTIONS[] = {
    {"shape", "AXIS=SIZE,...", .help = "axes and their sizes, such as dp=2,pp=2,tp=2"},
    {"order", "AXIS,...", .fallback = "pp,dp,cp,tp",
     .help = "axes from outermost to innermost (slowest to fastest varying rank)"},
    {"auto",
     .help = "take all GPUs of the platform: dp is what --shape leaves; order dp,pp,cp,..,tp"},
    {"allow-slow-tp", .help = "with --auto: let tp cross more than the innermost tier"},
    {"devices", "GPU,...",
     .help = "GPUs of the ranks, such as 0,2,8-15; otherwise rank r is on GPU r"},
    {MS_OPTION_PLACEMENT},
    {"reshape", "AXIS=SIZE,...", .help = "other axes over the same ranks, outermost first"},
    {"transpose", "AXIS,...",
     .help = "all axes in another order; groups stay, device order changes"},
    {"sub", "AXIS=COORD,...", .help = "only the part where these axes stand at these coordinates"},
    {"flatten", "AXIS,AXIS,...", .is_repeatable = true,
     .help = "several axes as one, such as dp,cp as dp_cp"},
    {"groups", "AXIS", .help = "only the groups of this axis"},
    {"tensor", "SIZE,...", .help = "shape of a tensor to lay over the mesh, such as 1024,4096"},
    {"element-size", "BYTES", .fallback = "2 B", .help = "of one element of the tensor"},
    {"spec", "AXIS=PLACEMENT,...",
     .help = "replicate (where an axis is not named), shardD for dimension D, or partial"},
    {"redistribute", "AXIS=PLACEMENT,...",
     .help = "spec to bring the tensor to: collectives, bytes, and time on the platform"},
    {"platform", "PLATFORM.yaml",
     .help = "lay rank r on GPU r and name the tier each axis crosses"},
    {MS_OPTION_SET_PLATFORM},
    {"svg", "FILE",
     .help = "draw which rank sits where on the platform, the groups of the innermost axis, or "
             "those of --groups, in colours ('-': standard output)",
     .writes = ".svg, .png or .pdf"},
    {MS_OPTION_JSON},
    {.name = NULL},
};

/* Options that name an output file. */
static const char *const TARGETS[] = {"svg", NULL};

/* Find the axis of --groups.  *axis_out: its index; -1 without the option.  Returns MS_OK;
 * MS_E_USAGE (reported). */
static ms_status find_axis(const ms_invocation *call, const ms_mesh *mesh, int *axis_out) {
    const char *name = ms_cli_value(call, "groups", NULL);
    *axis_out = -1;
    bool is_fine = name == NULL || ms_mesh_find_axis(mesh, name, call->diag, axis_out) == MS_OK;
    return is_fine ? MS_OK : MS_E_USAGE;
}

/* Time the steps of the redistribution on the platform, which is given. */
static ms_status time_steps(const ms_invocation *call, ms_mesh_view *view) {
    ms_status status = MS_OK;
    for (int i = 0; i < view->tensor.plan.count && status == MS_OK; i++) {
        status = ms_reshard_step_time(view->platform, &view->mesh, &view->tensor.plan.steps[i],
                                      call->diag, &view->times[i]);
    }
    return status;
}

/* Read platform, mesh, axis and tensor from the options.  platform: filled in, and borrowed by
 * `view`; unset without --platform. */
static ms_status read_view(const ms_invocation *call, ms_platform *platform, ms_mesh_view *view) {
    ms_status status = MS_OK;
    if (ms_cli_has(call, "set") && !ms_cli_has(call, "platform")) {
        return ms_diag_usage(call->diag, "--set changes a platform, but there is no --platform");
    }
    if (ms_cli_has(call, "platform")) {
        status = ms_cli_load_platform(call, ms_cli_value(call, "platform", NULL), platform);
        view->platform = platform;
    }
    status = status == MS_OK ? ms_cli_read_mesh(call, view->platform, &view->mesh, &view->placement)
                             : status;
    status = status == MS_OK ? find_axis(call, &view->mesh, &view->only) : status;
    if (status == MS_OK && view->platform != NULL) {
        status = ms_mesh_check_devices(&view->mesh, view->platform, call->diag);
    }
    status = status == MS_OK ? ms_cli_read_tensor(call, &view->mesh, &view->tensor) : status;
    return status;
}

/* Draw the picture of --svg: the ranks on the platform, and the groups of an axis in colours. */
static ms_status draw(const ms_invocation *call, const ms_mesh_view *view) {
    const char *axis = view->only < 0 ? NULL : view->mesh.names[view->only];
    const char *const words[] = {
        axis == NULL ? NULL : ms_arena_printf(call->arena, "--groups=%s", axis), NULL};
    return ms_cli_has(call, "svg")
               ? ms_cli_draw(call, "svg", words, ms_show_mesh_tree(call, view, false))
               : MS_OK;
}

/* Check that --svg has a platform, and that its file can be written.  Returns MS_OK; MS_E_USAGE
 * (reported), else as ms_target_check. */
static ms_status check_targets(const ms_invocation *call) {
    if (ms_cli_has(call, "svg") && !ms_cli_has(call, "platform")) {
        return ms_diag_usage(call->diag,
                             "--svg draws ranks on a platform; name it with --platform");
    }
    return ms_cli_check_targets(call, TARGETS);
}

/* Read the mesh, time the redistribution, draw, and print the result unless the picture is the
 * standard output. */
static ms_status run(const ms_invocation *call) {
    ms_mesh_view view = {.only = -1};
    ms_platform platform;
    ms_status status = check_targets(call);
    status = status == MS_OK ? read_view(call, &platform, &view) : status;
    if (status == MS_OK && view.platform != NULL) {
        status = time_steps(call, &view);
    }
    status = status == MS_OK ? draw(call, &view) : status;
    if (status != MS_OK || ms_cli_uses_stdout(call, TARGETS)) {
        return status;
    }
    return ms_cli_show_mesh(call, &view);
}

const ms_command ms_cmd_mesh = {
    .name = "mesh",
    .summary = "lay named axes over ranks; list groups, shards and what moving them takes",
    .options = OPTIONS,
    .description = "Numbers the ranks over named axes and lists, for each axis, the groups of "
                   "ranks that differ in that axis only. The innermost axis of the order varies "
                   "fastest, so its groups are neighbouring ranks. With --platform, rank r runs on "
                   "GPU r unless --devices or --placement say otherwise, and the outermost tier of "
                   "links that the groups of an axis cross is shown.\n"
                   "\n"
                   "--devices or --placement, --reshape, --transpose, --sub and --flatten are "
                   "applied in this order, whatever their order on the command line. Groups are "
                   "then listed by the GPUs of their ranks.\n"
                   "\n"
                   "--tensor with --spec shows what each rank holds of a tensor. --redistribute "
                   "tells the collectives that bring it to another spec; sizes are those of a "
                   "rank's full buffer. With a platform each step is timed: by itself, and with "
                   "all groups of its axis at once, sharing the links they meet on.",
    .example = "meshsim mesh --shape dp=4,tp=2 --order dp,tp --platform platforms/dgx-a100.yaml "
               "--tensor 1024,4096 --spec tp=shard1 --redistribute dp=shard0",
    .run = run,
};
