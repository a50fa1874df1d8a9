/* meshsim merge: one store of all shards of a study. */
#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/shown_tables.h"
#include "search/shards.h"

static const ms_option OPTIONS[] = {
    {MS_OPTION_JSON},
    {0},
};

/* "3,5-7": numbers as Slurm's --array takes them. */
static void add_ranges(const ms_shards_report *report, ms_buffer *out) {
    for (int i = 0; i < report->missing_count; i++) {
        int first = report->missing[i];
        while (i + 1 < report->missing_count && report->missing[i + 1] == report->missing[i] + 1) {
            i++;
        }
        ms_buffer_printf(out, "%s%d", out->length == 0 ? "" : ",", first);
        if (report->missing[i] > first) {
            ms_buffer_printf(out, "-%d", report->missing[i]);
        }
    }
}

static ms_value *make_tree(const ms_shards_report *report, ms_arena *arena) {
    ms_value *root = ms_value_new_object(arena);
    ms_value_add_string(root, "store", report->store);
    ms_value_add_int(root, "rows", (int64_t)report->rows);
    ms_value_add_int(root, "shards", report->count);
    ms_value *missing = ms_value_add(root, "missing", MS_VALUE_ARRAY);
    for (int i = 0; i < report->missing_count; i++) {
        ms_value_add_int(missing, NULL, report->missing[i]);
    }
    ms_value *programs = ms_value_add(root, "programs", MS_VALUE_ARRAY);
    for (size_t i = 0; i < report->programs.count; i++) {
        ms_value_add_string(programs, NULL, report->programs.items[i]);
    }
    ms_value *doubles = ms_value_add(root, "double", MS_VALUE_ARRAY);
    for (size_t i = 0; i < report->double_count; i++) {
        const ms_shards_double *found = &report->doubles[i];
        ms_value *entry = ms_value_add(doubles, NULL, MS_VALUE_OBJECT);
        ms_value_add_string(entry, "key", found->key);
        ms_value *shards = ms_value_add(entry, "shards", MS_VALUE_ARRAY);
        ms_value_add_int(shards, NULL, found->first);
        ms_value_add_int(shards, NULL, found->second);
    }
    return root;
}

/* Add the values that text and Markdown show and --json does not print. */
static void add_page(const ms_shards_report *report, ms_value *root) {
    ms_buffer ranges = {0};
    add_ranges(report, &ranges);
    const char *list = ms_buffer_keep(&ranges, root->arena);
    ms_value *page = ms_value_add(root, "page", MS_VALUE_OBJECT);
    ms_value_add_int(page, "complete", report->count - report->missing_count);
    if (report->missing_count > 0 && list != NULL) {
        const char *option = ms_arena_printf(root->arena, "--array=%s", list);
        ms_value_add_string(page, "missing", option);
    }
    if (report->double_count > 0) {
        ms_value_add_int(page, "double", (int64_t)report->double_count);
    }
    if (report->programs.count > 1) {
        ms_value_add_int(page, "programs", (int64_t)report->programs.count);
    }
}

static ms_status run(const ms_invocation *call) {
    ms_shards_report report;
    ms_status status = ms_shards_merge(call->positionals[0], call->arena, call->diag, &report);
    if (status != MS_OK) {
        return status;
    }
    ms_value *root = make_tree(&report, call->arena);
    if (!ms_cli_has(call, "json")) {
        add_page(&report, root);
    }
    status = ms_cli_show(call, NULL, MS_MERGE_TABLES, root);
    return status == MS_OK && report.missing_count > 0 ? MS_E_NO : status;
}

const ms_command ms_cmd_merge = {
    .name = "merge",
    .summary = "make one store of the shards of a study",
    .positional_help = "DIR",
    .positionals = {1, 1},
    .options = OPTIONS,
    .description =
        "Puts the rows of all complete shards of a folder, as --shard leaves them, into the store "
        "DIR/study.db, all or none. Tells which shards are missing, as a list that Slurm's --array "
        "takes, and exits with 1 while some are. The command that made the shards, with '--store "
        "DIR/study.db' and without '--shard', then prints all of the study and simulates nothing.",
    .example = "meshsim merge results",
    .run = run,
};
