/* meshsim report: a trace as a picture or for a trace viewer. */
#include "cli/commands.h"
#include "meshsim/report.h"

static const ms_option OPTIONS[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .arguments = 1,
     .help =
         "where to write; the ending chooses the kind: .html, .svg, .png, .pdf, .json or .json.gz",
     .writes = ".html, .svg, .png, .pdf or .json",
     .no_stdout = "the ending of the file's name chooses what is written"},
    {.name = "every-rank", .help = "a row of a picture or page for every rank that was simulated"},
    {0},
};

static ms_status run(const ms_invocation *call) {
    const char *path = ms_cli_value(call, "output", NULL);
    if (path == NULL) {
        ms_diag_error(
            call->diag,
            "no output given: expected -o FILE.html, .svg, .png, .pdf, .json or .json.gz");
        return MS_E_USAGE;
    }
    const ms_gantt_rows rows =
        ms_cli_has(call, "every-rank") ? MS_GANTT_EVERY_RANK : MS_GANTT_PIPELINE_RANKS;
    return ms_report_write(call->positionals, call->positional_count, rows, path, call->diag);
}

const ms_command ms_cmd_report = {
    .name = "report",
    .summary = "show a trace as a page or a picture, or turn it into one for a trace viewer",
    .positional_help = "TRACE.h5...",
    .positionals_min = 1,
    .positionals_max = SIZE_MAX, /* more than can be stacked are refused with the limit */
    .options = OPTIONS,
    .description =
        "Reads traces that 'meshsim run -o' wrote. FILE.html becomes a page for people, one file "
        "that a browser opens without a network: what a step takes, costs and holds, where the "
        "time "
        "goes, a timeline to zoom and search, memory by class, links, the critical path with "
        "slack, what-ifs and kernels, and the input to make it again. FILE.svg, FILE.png or "
        "FILE.pdf becomes a Gantt "
        "picture of the "
        "pipeline: pipeline ranks from top to bottom, each as the simulated rank of it that stands "
        "for "
        "most others (--every-rank: a row for each that was simulated), time to the right, a "
        "colour and a letter per pass, "
        "waiting for communication visible, idle time by phase, memory per rank below. Of several "
        "traces (at most 8) the pictures are stacked on one time axis, with the distance of each "
        "to the shortest and the inputs that differ from the first one's. FILE.json (or "
        "FILE.json.gz, compressed) becomes a trace in Chrome's "
        "format for ui.perfetto.dev or "
        "chrome://tracing; above 200,000 operations it shows whole passes instead of single "
        "operations.",
    .example = "meshsim report tiny.h5 -o tiny.svg",
    .run = run,
};
