/* meshsim times: times kernels and collectives that a file lists, each alone on an idle platform by
 * the cost model, for programs that fit or validate platforms (search/times.h). A point is one
 * kernel or collective; a variant is the platform with a list of overrides. */
#include <math.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/shown_tables.h"
#include "search/times.h"

/* The options of the command. */
static const ms_option OPTIONS[] = {
    {"platform", "P.yaml",
     .help = "platform file, or the name of one, in place of the points' own"},
    {MS_OPTION_SET_PLATFORM},
    {MS_OPTION_JSON},
    {MS_OPTION_MARKDOWN},
    {0},
};

/* Add each key below a mapping, at any depth, whose value is a number: its value in SI units, and
 * the file and line that it comes from.  path: key path of the mapping; "" for the root. */
static void add_keys(const ms_node *mapping, const char *path, ms_value *out) {
    for (const ms_node *node = mapping->first; node != NULL && out != NULL; node = node->next) {
        const char *dot = path[0] == '\0' ? "" : ".";
        const char *key = ms_arena_printf(out->arena, "%s%s%s", path, dot, node->key);
        double value = ms_key_number(node);
        if (key != NULL && node->type == MS_NODE_MAPPING) {
            add_keys(node, key, out);
        } else if (key != NULL && !isnan(value)) {
            ms_value *row = ms_value_add(out, key, MS_VALUE_OBJECT);
            const char *place =
                node->mark.file == NULL
                    ? ""
                    : ms_arena_printf(out->arena, "%s:%d", node->mark.file, node->mark.line);
            ms_value_add_double(row, "value", value);
            ms_value_add_string(row, "place", place);
        }
    }
}

/* Add a row for each measured kernel of the GPU type: its kind, sizes and time.  table: NULL: the
 * type has no measured kernels. */
static void add_measured(const ms_kernel_table *table, ms_value *root) {
    ms_value *list = ms_value_add(root, "measured", MS_VALUE_ARRAY);
    for (const ms_timed_kind *kind = MS_TIMED_KINDS; table != NULL && kind->sizes > 0; kind++) {
        for (int i = 0; i < table->counts[kind->kernel]; i++) {
            const ms_measured_row *row = &table->rows[kind->kernel][i];
            ms_value *object = ms_value_add(list, NULL, MS_VALUE_OBJECT);
            ms_value_add_string(object, "kind", kind->name);
            ms_value *sizes = ms_value_add(object, "sizes", MS_VALUE_ARRAY);
            for (int s = 0; s < kind->sizes; s++) {
                ms_value_add_double(sizes, NULL, row->sizes[s]);
            }
            ms_value_add_double(object, "time_s", row->time_s);
        }
    }
}

/* Make the tree that --json prints: the times [s] by variant and point, the numbers of the
 * platform, and its measured kernels. */
static ms_value *make_tree(const ms_times *times, ms_arena *arena) {
    ms_value *root = ms_value_new_object(arena);
    ms_value_add_string(root, "platform", times->platform.name);
    ms_value_add_int(root, "gpus", ms_platform_gpus(&times->platform));
    ms_value *variants = ms_value_add(root, "times_s", MS_VALUE_ARRAY);
    for (size_t variant = 0; variant < times->variant_count; variant++) {
        ms_value *list = ms_value_add(variants, NULL, MS_VALUE_ARRAY);
        for (size_t i = 0; i < times->point_count; i++) {
            ms_value_add_double(list, NULL, times->times_s[variant * times->point_count + i]);
        }
    }
    add_keys(times->keys, "", ms_value_add(root, "keys", MS_VALUE_OBJECT));
    add_measured(times->platform.gpu.measured, root);
    return root;
}

/* Add the object `page`: values that text and Markdown show and --json does not print. They are the
 * overrides of each variant, and a row for each point on each variant. */
static void add_page(const ms_times *times, ms_value *root) {
    ms_value *page = ms_value_add(root, "page", MS_VALUE_OBJECT);
    ms_value *variants = ms_value_add(page, "variants", MS_VALUE_ARRAY);
    ms_value *points = ms_value_add(page, "points", MS_VALUE_ARRAY);
    for (size_t v = 0; v < times->variant_count; v++) {
        const ms_words *sets = &times->variants[v];
        ms_value *row = ms_value_add(variants, NULL, MS_VALUE_OBJECT);
        ms_value_add_int(row, "variant", (int64_t)v);
        ms_value *list = ms_value_add(row, "overrides", MS_VALUE_ARRAY);
        for (size_t i = 0; i < sets->count; i++) {
            ms_value_add_string(list, NULL, sets->items[i]);
        }
        for (size_t i = 0; i < times->point_count; i++) {
            row = ms_value_add(points, NULL, MS_VALUE_OBJECT);
            if (times->variant_count > 1) {
                ms_value_add_int(row, "variant", (int64_t)v);
            }
            ms_value_add_int(row, "point", (int64_t)i);
            ms_value_add_string(row, "kind", MS_TIMED_KINDS[times->points[i].kind].name);
            ms_value_add_double(row, "time_s", times->times_s[v * times->point_count + i]);
        }
    }
}

/* Apply --platform and --set to what the file says. --platform replaces the file's platform
 * together with its overrides; --set is applied behind the overrides that are left.  Returns
 * MS_E_USAGE (reported) where no platform is named. */
static ms_status apply_options(const ms_invocation *call, ms_times *times) {
    const char *name = ms_cli_value(call, "platform", NULL);
    ms_node *sets = NULL;
    ms_status status = ms_cli_platform_changes(call, &sets);
    if (status == MS_OK && name == NULL && times->name == NULL) {
        return ms_diag_usage(call->diag, "expected a key 'platform', or --platform P.yaml");
    }
    if (status == MS_OK && name != NULL) {
        times->name = name;
        times->changes = sets;
        return MS_OK;
    }
    status = status == MS_OK ? ms_node_overlay(times->changes, sets, call->arena) : status;
    return status == MS_E_NOMEM ? ms_diag_no_memory(call->diag) : status;
}

/* Read the file of points (`-`: the standard input), time them, and print the times. */
static ms_status run(const ms_invocation *call) {
    const char *path = call->positionals[0];
    const char *file = strcmp(path, "-") == 0 ? "/dev/stdin" : path;
    ms_times times;
    ms_status status =
        ms_times_read(file, ms_cli_data_folder(call->arena), call->arena, call->diag, &times);
    status = status == MS_OK ? apply_options(call, &times) : status;
    status = status == MS_OK ? ms_times_run(&times, call->arena, call->diag) : status;
    if (status != MS_OK) {
        return status;
    }
    ms_value *root = make_tree(&times, call->arena);
    if (!ms_cli_has(call, "json")) {
        add_page(&times, root);
    }
    return ms_cli_show(call, times.platform.name, MS_TIMES_TABLES, root);
}

const ms_command ms_cmd_times = {
    .name = "times",
    .summary = "time many kernels and collectives at once, for programs",
    .positional_help = "POINTS.yaml",
    .positionals = {1, 1},
    .options = OPTIONS,
    .description =
        "POINTS.yaml, or '-' for the standard input, names a platform and lists points: products, "
        "attention, kernels that only move memory, and collectives among the platform's first "
        "GPUs. Prints what each takes by the cost model, alone on an idle platform; with "
        "'variants', lists of overrides of the platform, once for each of them. --json has the "
        "platform's numbers in use and where they stand, too, and the kernels of its measured "
        "table. platforms/README.md describes the file.",
    .example = "meshsim times workloads/validation/points.yaml",
    .run = run,
};
