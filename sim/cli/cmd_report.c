/* meshsim report: shows traces as a page of HTML, a Gantt picture, or a file for trace viewers. It
 * also shows results of `validate --json`, which the Python package printed, as a page or as
 * Markdown tables. */
#include "base/config/config.h"
#include "base/target.h"
#include "cli/commands.h"
#include "cli/html_option.h"
#include "cli/job_options.h"
#include "cli/shown_tables.h"
#include "trace/report/report.h"
#include "trace/summary.h"

/* The options of the command. */
static const ms_option OPTIONS[] = {
    {"output", "FILE", .letter = 'o',
     .help =
         "where to write; the ending chooses the kind: .html, .svg, .png, .pdf, .json or .json.gz",
     .writes = ".html, .svg, .png, .pdf, .json or .json.gz",
     .no_stdout = "the ending of the file's name chooses what is written"},
    {"markdown", .help = "of results: print tables in Markdown, as code hosts show them"},
    {MS_OPTION_TOKENS},
    {"every-rank", .help = "a row of a picture or page for every rank that was simulated"},
    {0},
};

/* ---- results of `validate --json` ---- */

/* A file with results. Its writer may have added facts for a page under the key "page". */
typedef struct result_file {
    const ms_value *tree; /* the results, without "page" */
    const char *title;    /* subject of the results; NULL: not in the file */
    const char *subject;  /* what the command line names first; NULL: not in the file */
    const char *command;  /* command line, quoted for a shell; NULL: not in the file */
    ms_words files;       /* input files, which the page keeps */
} result_file;

/* Offset of a member, for the table below. */
#define AT(member) offsetof(result_file, member)

/* Keys of "page". */
static const ms_field PAGE_FIELDS[] = {
    MS_KEY("title", "what it is about", STRING, AT(title)),
    MS_KEY("subject", "what came first", STRING, AT(subject)),
    MS_KEY("command", "command line", STRING, AT(command)),
    MS_KEY("files", "files that were read", WORDS, AT(files)),
    {.key = NULL},
};

/* Read a file that `validate --json` printed.  *file_out: in the call's arena.  Returns MS_OK;
 * MS_E_INPUT (reported), also for results of other commands; MS_E_IO; MS_E_NOMEM. */
static ms_status read_result_file(const ms_invocation *call, const char *path,
                                  result_file *file_out) {
    ms_node *root = NULL;
    *file_out = (result_file){.tree = NULL};
    ms_status status = ms_config_load_json(path, call->arena, call->diag, &root);
    if (status != MS_OK) {
        return status;
    }
    if (ms_node_get(root, "mean_of_groups") == NULL) { /* only validate prints this key */
        return ms_config_fault(call->diag, root, "",
                               "expected a trace, or what 'meshsim validate --json' prints");
    }
    const ms_node *page = ms_node_get(root, "page");
    if (page != NULL) {
        status = ms_config_read(page, PAGE_FIELDS, "page", file_out, call->arena, call->diag);
        ms_node_remove(root, page);
    }
    ms_value *tree = ms_value_new_object(call->arena);
    ms_summary_add_json(root, tree);
    file_out->tree = tree;
    return status == MS_OK && call->arena->has_failed ? ms_diag_no_memory(call->diag) : status;
}

/* Show a file that `validate --json` printed: as a page of HTML with -o, or as tables with
 * --markdown.  Returns MS_OK; MS_E_USAGE (reported): neither or both are given, or the file of -o
 * does not end in ".html". */
static ms_status show_results(const ms_invocation *call) {
    const char *path = ms_cli_value(call, "output", NULL);
    const char *source = call->positionals[0];
    bool has_markdown = ms_cli_has(call, "markdown");
    if (path != NULL ? has_markdown || !ms_report_has_ending(path, ".html") : !has_markdown) {
        return ms_diag_usage(
            call->diag, "results become a page or tables: expected -o FILE.html, or --markdown");
    }
    result_file file;
    ms_status status = read_result_file(call, source, &file);
    if (status != MS_OK) {
        return status;
    }
    if (has_markdown) {
        const char *heading = file.title == NULL
                                  ? "validate"
                                  : ms_arena_printf(call->arena, "validate: %s", file.title);
        return ms_cli_print_tables(call, heading, MS_VALIDATE_TABLES, file.tree, true);
    }
    ms_page_results results = {
        .kind = "validate",
        .title = file.title == NULL ? "validation"
                                    : ms_arena_printf(call->arena, "validation: %s", file.title),
        .subject = file.subject == NULL ? source : file.subject,
        .command = file.command == NULL ? "" : file.command,
        .version = MESHSIM_VERSION,
        .tree = file.tree};
    status = results.title == NULL ? ms_diag_no_memory(call->diag)
                                   : ms_target_check(path, MS_TARGET_TEXT, call->diag);
    return status == MS_OK ? ms_cli_write_results_page(call, "output", &results, &file.files)
                           : status;
}

/* Show the results of a file in .json, or the traces. */
static ms_status run(const ms_invocation *call) {
    const char *path = ms_cli_value(call, "output", NULL);
    if (call->positional_count == 1 && ms_report_has_ending(call->positionals[0], ".json")) {
        return show_results(call);
    }
    if (ms_cli_has(call, "markdown")) {
        return ms_diag_usage(call->diag, "'--markdown' shows results; of a trace expected -o");
    }
    if (path == NULL) {
        ms_diag_error(
            call->diag,
            "no output given: expected -o FILE.html, .svg, .png, .pdf, .json or .json.gz");
        return MS_E_USAGE;
    }
    const ms_gantt_rows rows =
        ms_cli_has(call, "every-rank") ? MS_GANTT_EVERY_RANK : MS_GANTT_PIPELINE_RANKS;
    double tokens = 0.0;
    ms_status status = ms_cli_tokens(call, &tokens);
    if (status == MS_OK && tokens > 0.0 && !ms_report_has_ending(path, ".html")) {
        status = ms_diag_usage(call->diag, "'--tokens' adds to a page; expected -o FILE.html");
    }
    return status == MS_OK ? ms_report_write(call->positionals, call->positional_count, rows,
                                             tokens, path, call->diag)
                           : status;
}

const ms_command ms_cmd_report = {
    .name = "report",
    .summary = "show a trace as a page or a picture, or turn it into one for a trace viewer",
    .positional_help = "TRACE.h5...|RESULT.json",
    .positionals = {1, SIZE_MAX}, /* more than can be stacked are refused with the limit */
    .options = OPTIONS,
    .description =
        "Reads traces that 'meshsim run -o' wrote. FILE.html becomes a page for people, one file "
        "that a browser opens without a network: what a step takes, costs and holds, where the "
        "time goes, a timeline to zoom and search, memory by class, links, the critical path with "
        "slack, what-ifs and kernels, and the input to make it again. FILE.svg, FILE.png or "
        "FILE.pdf becomes a Gantt picture of the pipeline: pipeline ranks from top to bottom, each "
        "as the simulated rank of it that stands for most others (--every-rank: a row for each "
        "that was simulated), time to the right, a colour and a letter per pass, waiting for "
        "communication visible, idle time by phase, memory per rank below. Several traces (at most "
        "8) become a page that sets them side by side, with the distance of each figure to the "
        "first one's and the timelines on one time axis, or stacked pictures, with the distance of "
        "each to the shortest and the inputs that differ from the first one's. FILE.json (or "
        "FILE.json.gz, "
        "compressed) becomes a trace in Chrome's format for ui.perfetto.dev or chrome://tracing; "
        "above 200,000 operations it shows whole passes instead of single operations. RESULT.json "
        "is what 'validate --json' printed: FILE.html becomes its page, --markdown prints its "
        "tables.",
    .example = "meshsim report tiny.h5 -o tiny.svg",
    .run = run,
};
