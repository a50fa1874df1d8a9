/* meshsim merge: makes one store of the shards of a study. Each shard is a file with the results of
 * one process (search/shards.h); the program that wrote a result has a version, and results of
 * other versions are not reused. */
#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/shown_tables.h"
#include "search/shards.h"

/* The options of the command. */
static const ms_option OPTIONS[] = {
    {MS_OPTION_JSON},
    {0},
};

/* Append the numbers of missing shards as Slurm's --array takes them: "3,5-7". */
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

/* Make the tree that --json prints: the merged store, the missing shards, the versions of the
 * program, and the results that two shards both have. */
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

/* Add the object `page`: values that text and Markdown show and --json does not print, such as the
 * missing shards as an option of Slurm. */
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

/* Merge the complete shards of a folder.  Returns MS_E_NO where some shards are missing. */
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
