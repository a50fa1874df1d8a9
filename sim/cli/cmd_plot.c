/* meshsim plot: results and traces as pictures, which Python draws. */
#include "cli/commands.h"
#include "cli/tool.h"

enum { FILES_MAX = 1000 };

/* As FORMS and the parts of KINDS of scripts/python/meshsim/tools/plot.py. */
static const char *format_word(int index) {
    static const char *const FORMATS[] = {"svg", "png", "pdf", "dot", NULL};
    return FORMATS[index];
}

static const char *part_word(int index) {
    static const char *const PARTS[] = {"time", "memory", "mesh", "timeline", NULL};
    return PARTS[index];
}

static const char *scale_word(int index) {
    static const char *const SCALES[] = {"linear", "log", NULL};
    return SCALES[index];
}

static const ms_option OPTIONS[] = {
    {.name = "output",
     .letter = 'o',
     .argument = "FILE",
     .arguments = 1,
     .fallback = "-",
     .help = "write the picture there, '-' for standard output",
     .writes = ".svg, .png, .pdf or .dot"},
    {.name = "format",
     .argument = "F",
     .arguments = 1,
     .word = format_word,
     .fallback = "as FILE ends, of '-' svg",
     .help = "svg, png, pdf, or dot, a platform's graph for Graphviz"},
    {.name = "of",
     .argument = "PART",
     .arguments = 1,
     .word = part_word,
     .help = "what is drawn of a file that has several: time or memory (of jobs and schedules), "
             "mesh (of check), memory or timeline (of a trace)"},
    {.name = "title", .argument = "TEXT", .arguments = 1, .help = "above the picture"},
    {.name = "quantity",
     .argument = "Q",
     .arguments = 1,
     .fallback = "what the sweep's file asks for",
     .help = "of a sweep, as --json calls it, such as mfu; of a collective busbw_Bps, algbw_Bps or "
             "time_s"},
    {.name = "x",
     .argument = "KEY",
     .arguments = 1,
     .fallback = "what the sweep's file asks for",
     .help = "key of a sweep that runs to the right"},
    {.name = "heat", .help = "of a sweep a table of colours"},
    {.name = "scale",
     .argument = "linear|log",
     .arguments = 1,
     .word = scale_word,
     .fallback = "as the values ask for",
     .help = "of the y axis of lines"},
    {.name = "groups",
     .argument = "AXIS",
     .arguments = 1,
     .help = "axis of a mesh whose groups have colours"},
    {0},
};

const ms_command ms_cmd_plot = {
    .name = "plot",
    .summary = "draw results (what --json prints) and traces",
    .positional_help = "FILE...",
    .positionals_min = 1,
    .positionals_max = FILES_MAX,
    .options = OPTIONS,
    .description =
        "FILE is what a command printed with --json, or a trace; '-' is the standard input. The "
        "picture is that of the command: lines of collective (of several files a line each) and "
        "sweep, predicted against measured times of validate, levels of platform, ranks of mesh; "
        "where the time goes, or what memory holds, of run, check, search, schedule --compare and "
        "sweep (of several files a bar each); differences of compare; the timeline of a trace, or "
        "its memory over time. "
        "From Python the same pictures are functions of meshsim.plot.",
    .example = "meshsim plot sweep.json -o sweep.svg",
    .run = ms_cli_run_tool,
};
