/* meshsim calibrate: parameters of a platform fitted to measurements of one's own. */
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/job_options.h"
#include "meshsim/calibrate.h"
#include "meshsim/failure.h"
#include "meshsim/find.h"
#include "meshsim/target.h"

enum { FILES_MAX = 1000 };

static const ms_option OPTIONS[] = {
    {.name = "platform",
     .argument = "P.yaml",
     .arguments = 1,
     .help = "platform file, or the name of one, to calibrate"},
    MS_OPTION_SET_PLATFORM,
    {.name = "kernels",
     .argument = "TABLE.csv",
     .arguments = 1,
     .help = "measured kernels, as a GPU type's `measured` names them: kernel,shape,time; gemm, "
             "memory and attention count"},
    {.name = "system",
     .argument = "NAME",
     .arguments = 1,
     .help = "points of this system alone, where files have several"},
    {.name = "fit",
     .argument = "KEY",
     .arguments = 1,
     .is_repeatable = true,
     .help = "fit this key, such as tiers.nvlink.efficiency; without it all that the points depend "
             "on"},
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .arguments = 1,
     .help = "write a platform file: its base and the fitted keys",
     .writes = ".yaml"},
    {.name = "name",
     .argument = "NAME",
     .arguments = 1,
     .fallback = "the platform's, with -calibrated",
     .help = "of that platform"},
    {.name = "force", .help = "overwrite a file that is there"},
    MS_OPTION_JSON,
    {0},
};

static const char HEAD[] = "parameter                                 before        after  from\n";
static const ms_table_cell CELLS[] = {{"key", -36, ""},
                                      {"before_text", 12, NULL},
                                      {"after_text", 12, NULL},
                                      {"place", -1, "  "},
                                      {0}};

/* ---- input ---- */

static ms_status check_target(const ms_invocation *call) {
    const char *path = ms_cli_value(call, "output", "-");
    if (strcmp(path, "-") == 0) {
        static const char *const DATA[] = {"json", "output", NULL};
        return ms_cli_check_stdout(call, DATA);
    }
    if (ms_file_is_there(path) && !ms_cli_has(call, "force")) {
        ms_diag_error(call->diag, "'%s' is there already; --force overwrites it", path);
        return MS_E_USAGE;
    }
    return ms_target_check(path, MS_TARGET_TEXT, call->diag);
}

/* A table of kernels is read with the GPU type that names it. */
static ms_status load_platform(const ms_invocation *call, const char *name, ms_platform *platform,
                               ms_calibration_study *study) {
    const char *table = ms_cli_value(call, "kernels", NULL);
    ms_node *changes = NULL;
    ms_status status = ms_cli_platform_changes(call, &changes);
    if (status == MS_OK && table != NULL) {
        const char *set = ms_arena_printf(call->arena, "gpu.measured='%s%s'",
                                          strchr(table, '/') == NULL ? "./" : "", table);
        status = set == NULL ? ms_diag_no_memory(call->diag) : MS_OK;
        status = status == MS_OK ? ms_node_set(changes, set, call->arena, call->diag) : status;
    }
    status = status == MS_OK ? ms_platform_folders(NULL, ms_cli_data_folder(call->arena),
                                                   call->arena, &study->folders)
                             : status;
    status = status == MS_OK ? ms_platform_load(name, study->folders, changes, call->arena,
                                                call->diag, platform, &study->document)
                             : status;
    if (status == MS_OK) {
        study->platform = platform;
        study->kernels = table == NULL ? NULL : platform->gpu.measured;
    }
    return status;
}

static ms_status read_input(const ms_invocation *call, ms_measurements *measurements,
                            ms_platform *platform, ms_calibration_study *study) {
    const char *name = ms_cli_value(call, "platform", NULL);
    if (name == NULL || (call->positional_count == 0 && !ms_cli_has(call, "kernels"))) {
        ms_diag_error(call->diag, name == NULL
                                      ? "expected --platform P.yaml"
                                      : "expected logs of nccl-tests, or --kernels TABLE.csv");
        return MS_E_USAGE;
    }
    ms_status status = check_target(call);
    status = status == MS_OK ? load_platform(call, name, platform, study) : status;
    for (size_t i = 0; i < call->positional_count && (status == MS_OK || i > 0); i++) {
        ms_status one =
            ms_measurements_read(call->positionals[i], call->arena, call->diag, measurements);
        status = status == MS_OK ? one : status;
    }
    return status;
}

/* ---- output ---- */

static void add_error(const char *name, const ms_calibration_error *e, ms_buffer *page) {
    if (e->points > 0) {
        ms_buffer_printf(page, "%-10s %6lld %9.1f %8.1f %9.1f %8.1f\n", name, (long long)e->points,
                         100 * e->before, 100 * e->after, 100 * e->worst_before,
                         100 * e->worst_after);
    }
}

static ms_status print_page(const ms_invocation *call, const ms_calibration *c) {
    ms_table table = {.columns = MS_CALIBRATED_COLUMNS, .reason_offset = MS_TABLE_KEEPS_ALL};
    ms_status status = ms_table_fill(&table, c->keys, sizeof *c->keys, c->key_count, call->arena);
    if (status != MS_OK) {
        return ms_diag_no_memory(call->diag);
    }
    ms_buffer page;
    ms_buffer_init(&page);
    ms_table_write_page(&table, HEAD, CELLS, &page);
    ms_buffer_puts(&page, "\npoints            mean %              worst %\n"
                          "                   before    after    before    after\n");
    add_error("fitted", &c->fitted, &page);
    add_error("left out", &c->left_out, &page);
    for (size_t i = 0; i < c->key_count; i++) {
        if (c->keys[i].is_at_bound) {
            ms_buffer_printf(&page, "! %s is at the end of its range: something else is missing\n",
                             c->keys[i].key);
        }
    }
    return ms_cli_print_page(call, &page);
}

static void add_error_tree(const char *key, const ms_calibration_error *e, ms_value *root) {
    ms_value *entry = ms_value_add(root, key, MS_VALUE_OBJECT);
    ms_value_add_int(entry, "points", e->points);
    ms_value_add_double(entry, "mean_abs_error_before", e->before);
    ms_value_add_double(entry, "mean_abs_error", e->after);
    ms_value_add_double(entry, "worst_abs_error_before", e->worst_before);
    ms_value_add_double(entry, "worst_abs_error", e->worst_after);
}

static ms_status print_json(const ms_invocation *call, const ms_calibration *c) {
    ms_table keys = {.columns = MS_CALIBRATED_COLUMNS, .reason_offset = MS_TABLE_KEEPS_ALL};
    ms_table points = {.columns = MS_CALIBRATION_COLUMNS, .reason_offset = MS_TABLE_KEEPS_ALL};
    if (ms_table_fill(&keys, c->keys, sizeof *c->keys, c->key_count, call->arena) != MS_OK ||
        ms_table_fill(&points, c->points, sizeof *c->points, c->point_count, call->arena) !=
            MS_OK) {
        return ms_diag_no_memory(call->diag);
    }
    ms_value *root = ms_value_new_object(call->arena);
    ms_table_add_list(&keys, false, "parameters", root);
    add_error_tree("fitted", &c->fitted, root);
    add_error_tree("left_out", &c->left_out, root);
    ms_table_add_list(&points, false, "points", root);
    return ms_cli_print_json(call, root);
}

static ms_status write_file(const ms_invocation *call, const ms_platform *platform,
                            const ms_calibration *c) {
    const char *path = ms_cli_value(call, "output", NULL);
    if (path == NULL) {
        return MS_OK;
    }
    const char *usual = ms_arena_printf(call->arena, "%s-calibrated", platform->name);
    const char *base = ms_find_whole_path(ms_cli_value(call, "platform", NULL), call->arena);
    ms_buffer text;
    ms_buffer_init(&text);
    if (usual != NULL && base != NULL) {
        ms_calibration_write(c, base, ms_cli_value(call, "name", usual), &text);
    }
    ms_status status = usual == NULL || base == NULL || text.failed
                           ? ms_diag_no_memory(call->diag)
                           : ms_cli_write_file(call, path, ms_buffer_text(&text), text.length);
    ms_buffer_release(&text);
    return status;
}

static ms_status run(const ms_invocation *call) {
    ms_measurements measurements;
    ms_platform platform;
    ms_calibration calibration;
    ms_given keys = ms_cli_all(call, "fit");
    ms_measurements_init(&measurements);
    ms_calibration_study study = {.measurements = &measurements,
                                  .system = ms_cli_value(call, "system", NULL),
                                  .keys = keys.values,
                                  .key_count = keys.count};
    ms_status status = read_input(call, &measurements, &platform, &study);
    if (status == MS_OK) {
        status = ms_calibrate_run(&study, call->arena, call->diag, &calibration);
    }
    status = status == MS_OK ? write_file(call, &platform, &calibration) : status;
    if (status == MS_OK && strcmp(ms_cli_value(call, "output", ""), "-") != 0) {
        status = ms_cli_has(call, "json") ? print_json(call, &calibration)
                                          : print_page(call, &calibration);
    }
    ms_measurements_release(&measurements);
    return status;
}

const ms_command ms_cmd_calibrate = {
    .name = "calibrate",
    .summary = "fit parameters of a platform to measurements of your own",
    .positional_help = "[LOG...]",
    .positionals_min = 0,
    .positionals_max = FILES_MAX,
    .options = OPTIONS,
    .description =
        "Fits bandwidths, latencies and launches of a platform and its library to logs of "
        "nccl-tests (or what else `validate` reads as collectives), and efficiencies of its GPU "
        "type to a table of measured kernels, by least squares of the logarithms of times. A third "
        "of the points, by the checksums of their names, is left out and says how good the fit is "
        "elsewhere. Prints what moved; -o writes a platform file that names the platform as its "
        "base and has the fitted keys alone, for `run --platform`.",
    .example = "meshsim calibrate workloads/validation/allreduce_a100.csv --system a100 --platform "
               "dgx-a100",
    .run = run,
};
