/* meshsim schedule: evaluates a pipeline schedule on paper, that is, with abstract times per pass
 * and without a platform. This file makes the result of one schedule (JSON tree, text and picture),
 * and holds the modes and options of the command; tables of many schedules are made in
 * schedule_compare.c, the search in schedule_search.c. P: pipeline ranks; V: virtual stages of a
 * rank (chunks); M: microbatches; K: slices of a sequence; F, I, W, B: forward pass, input
 * gradient, weight gradient, whole backward pass. */
#include <math.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/job_options.h"
#include "cli/schedule_options.h"
#include "cli/shown_tables.h"
#include "cli/tool.h"
#include "schedule/schedule_study.h"
#include "trace/report/report.h"

/* ---- the result ---- */

/* One evaluated schedule, with all figures that are printed. */
typedef struct shown_schedule {
    const ms_program *program;
    const ms_schedule_result *result;
    ms_schedule_gap gap;            /*< what the makespan consists of */
    double period;                  /*< time that one more microbatch takes; 0: unknown */
    const ms_search_result *search; /*< NULL: not found by search */
    const char *workload;           /*< whose times it has; NULL: none */
} shown_schedule;

/* Columns of the picture without a terminal; narrowest terminal whose width is used. */
enum { WIDTH = 80, WIDTH_LEAST = 40 };

/* Whether a schedule has groups of microbatches, as interleaved ones do; a schedule from a file has
 * none. */
static bool has_groups(const ms_schedule_spec *spec) {
    return spec->kind != MS_SCHEDULE_CUSTOM && ms_schedule_kind_traits(spec->kind).takes_group;
}

/* Add an object with the idle time of a rank, by phase of the schedule.  key: NULL where `parent`
 * is a list. */
static void add_idle(ms_value *parent, const char *key, const ms_schedule_rank *rank) {
    ms_value *phases = ms_value_add(parent, key, MS_VALUE_OBJECT);
    ms_value_add_double(phases, "warmup", rank->idle_warmup);
    ms_value_add_double(phases, "steady", rank->idle_steady);
    ms_value_add_double(phases, "cooldown", rank->idle_cooldown);
}

/* Add the figures that each rank has, as lists with one entry per pipeline rank. */
static void add_rank_lists(ms_value *root, const ms_program *program,
                           const ms_schedule_result *result) {
    ms_value *peak = ms_value_add(root, "peak_inflight", MS_VALUE_ARRAY);
    ms_value *peak_input = ms_value_add(root, "peak_inflight_I", MS_VALUE_ARRAY);
    ms_value *busy = ms_value_add(root, "busy", MS_VALUE_ARRAY);
    ms_value *idle = ms_value_add(root, "idle", MS_VALUE_ARRAY);
    ms_value *exposed = ms_value_add(root, "exposed_p2p", MS_VALUE_ARRAY);
    ms_value *messages = ms_value_add(root, "msgs_sent", MS_VALUE_ARRAY);
    for (int i = 0; i < program->spec.pipeline_ranks; i++) {
        const ms_schedule_rank *rank = &result->ranks[i];
        ms_value_add_int(peak, NULL, rank->peak_inflight);
        ms_value_add_int(peak_input, NULL, rank->peak_inflight_input);
        ms_value_add_double(busy, NULL, rank->busy);
        add_idle(idle, NULL, rank);
        ms_value_add_double(exposed, NULL, rank->exposed_p2p);
        ms_value_add_int(messages, NULL, rank->messages_sent);
    }
}

/* Add the parts of the makespan: its base (the closed form, or the mean work of a rank if no closed
 * form is known), and the time that the order, unequal stages and latency add to it. */
static void add_gap_tree(ms_value *parent, const ms_schedule_gap *gap) {
    ms_value *tree = ms_value_add(parent, "gap", MS_VALUE_OBJECT);
    ms_value_add_double(tree, gap->has_closed_form ? "closed_form" : "work", gap->base);
    ms_value_add_double(tree, "order", gap->order);
    ms_value_add_double(tree, "imbalance", gap->imbalance);
    ms_value_add_double(tree, "latency", gap->latency);
}

/* Add how a schedule was searched, and how far its span is from the proven bound. A rank's span is
 * the time from its first start to its last end. */
static void add_search(ms_value *root, const ms_search_result *search) {
    ms_value *tree = ms_value_add(root, "search", MS_VALUE_OBJECT);
    ms_value_add_double(tree, "span_bound", search->bound);
    ms_value_add_int(tree, "bound_rank", search->bound_rank);
    ms_value_add_bool(tree, "is_optimal", search->is_optimal);
    ms_value_add_bool(tree, "is_cut_short", search->is_cut_short);
    ms_value_add_double(tree, "heuristic_span", search->heuristic_span);
    ms_value_add_string(tree, "start", search->start);
    ms_value_add_int(tree, "variant", search->variant);
    ms_value_add_int(tree, "evaluations", search->evaluations);
}

/* Make the tree that --json prints for one schedule. Figures that are not known (closed forms, the
 * period) are null. */
static ms_value *make_tree(const ms_invocation *call, const shown_schedule *shown) {
    const ms_program *program = shown->program;
    const ms_schedule_result *result = shown->result;
    const ms_schedule_spec *spec = &program->spec;
    ms_value *root = ms_value_new_object(call->arena);
    ms_value_add_string(root, "schedule", program->name);
    ms_value_add_string(root, "workload", shown->workload); /* NULL adds nothing */
    ms_value_add_int(root, "p", spec->pipeline_ranks);
    ms_value_add_int(root, "v", spec->chunks);
    ms_value_add_int(root, "m", spec->microbatches);
    if (has_groups(spec)) {
        ms_value_add_int(root, "group", ms_schedule_group(spec));
    }
    if (spec->slices > 1) {
        ms_value_add_int(root, "splits", spec->slices);
    }
    ms_value_add_double(root, "makespan", result->makespan);
    ms_value_add_double(root, "bubble_fraction", result->bubble_fraction);
    ms_value_add_double(root, "max_span", result->max_span);
    ms_value_add_double(root, "max_span_bubble", result->max_span_bubble);
    add_rank_lists(root, program, result);
    ms_value_add_int(root, "msgs_total", result->messages_total);
    ms_value_add_int(root, "param_replicas", program->parameter_replicas);
    char crc[16];
    snprintf(crc, sizeof crc, "%08x", (unsigned)ms_program_crc32(program));
    ms_value_add_string(root, "order_crc32", crc);
    ms_value_add_double(root, "formula_makespan",
                        result->has_formula ? result->formula_makespan : (double)NAN);
    ms_value_add_double(root, "formula_span_bubble",
                        result->has_span_formula ? result->formula_span_bubble : (double)NAN);
    ms_value_add_double(root, "period", shown->period > 0 ? shown->period : (double)NAN);
    add_gap_tree(root, &shown->gap);
    if (shown->search != NULL) {
        add_search(root, shown->search);
    }
    return root;
}

/* Add a row for each pipeline rank with the figures that --json has as lists (add_rank_lists). */
static void add_rank_rows(const shown_schedule *shown, ms_value *page) {
    ms_value *rows = ms_value_add(page, "ranks", MS_VALUE_ARRAY);
    for (int i = 0; i < shown->program->spec.pipeline_ranks; i++) {
        const ms_schedule_rank *rank = &shown->result->ranks[i];
        ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
        ms_value_add_int(row, "rank", i);
        ms_value_add_int(row, "peak_inflight", rank->peak_inflight);
        ms_value_add_int(row, "peak_inflight_I", rank->peak_inflight_input);
        ms_value_add_double(row, "busy", rank->busy);
        add_idle(row, "idle", rank);
        ms_value_add_double(row, "exposed_p2p", rank->exposed_p2p);
        ms_value_add_int(row, "msgs_sent", rank->messages_sent);
    }
}

/* Columns of the terminal on the standard output; WIDTH where there is no terminal or a very narrow
 * one. */
static int page_width(void) {
    struct winsize size;
    if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
        size.ws_col >= WIDTH_LEAST) {
        return size.ws_col;
    }
    return WIDTH;
}

/* Add the object `page`: values that text and Markdown show and --json does not print. They are the
 * unit of times, the makespan in T of a rank's stages together, the distance to the bound of a
 * search, and the picture. */
static void add_page(const shown_schedule *shown, ms_value *root) {
    const ms_program *program = shown->program;
    const ms_schedule_spec *spec = &program->spec;
    ms_value *page = ms_value_add(root, "page", MS_VALUE_OBJECT);
    bool is_on_paper = shown->workload == NULL;
    ms_value_add_string(page, "unit",
                        is_on_paper ? "T, the unit of --tf, --tb and --tw of one virtual stage"
                                    : "seconds, what the workload's stages compute; its "
                                      "communication and optimizer are left out");
    /* With one stage per rank and no slices both units are the same. */
    if (is_on_paper && program->model_stages * spec->slices > spec->pipeline_ranks) {
        ms_value_add_double(page, "rank_makespan",
                            shown->result->makespan * spec->pipeline_ranks /
                                ((double)program->model_stages * spec->slices));
    }
    if (shown->search != NULL) {
        ms_value_add_double(page, "above_bound", shown->search->span / shown->search->bound - 1);
    }
    add_rank_rows(shown, page);
    ms_buffer picture = {0};
    ms_schedule_write_text(program, shown->result, page_width(), &picture);
    const char *kept = ms_buffer_keep(&picture, root->arena);
    ms_value_add_string(page, "picture", kept);
}

/* ---- output ---- */

/* Print a schedule as text, Markdown or JSON. Two figures take further evaluations and are found
 * only here: what the makespan consists of (`gap`), and the time that one more microbatch takes
 * (`period`). */
static ms_status print(const ms_invocation *call, const ms_schedule_costs *costs,
                       shown_schedule *shown) {
    ms_status status = ms_schedule_explain(shown->program, costs, shown->result->makespan,
                                           call->diag, &shown->gap);
    status = status == MS_OK ? ms_schedule_period(shown->program, costs, shown->result, call->diag,
                                                  &shown->period)
                             : status;
    if (status != MS_OK) {
        return status;
    }
    ms_value *root = make_tree(call, shown);
    if (!ms_cli_has(call, "json")) {
        add_page(shown, root);
    }
    return ms_cli_show(call, shown->program->name, MS_SCHEDULE_TABLES, root);
}

/* Write a note that an option changes nothing, if the option was given and `is_unused`.  why: the
 * rest of the note. */
static void note_if_unused(const ms_invocation *call, const char *option, bool is_unused,
                           const char *why) {
    if (is_unused && ms_cli_has(call, option)) {
        ms_diag_note(call->diag, NULL, NULL, "'--%s' changes nothing: %s", option, why);
    }
}

/* Write a note for each option about overlapped pairs or messages that changes nothing, as the
 * schedule has no pairs, no messages, or messages that take no time. */
static void note_unused_options(const ms_invocation *call, const ms_program *program,
                                const ms_schedule_costs *costs, const ms_schedule_result *result) {
    bool has_pairs = ms_program_has_pairs(program), has_messages = false, is_slow = false;
    for (int rank = 0; rank < program->spec.pipeline_ranks; rank++) {
        has_messages = has_messages || result->ranks[rank].messages_sent > 0;
    }
    for (int stage = 0; stage + 1 < program->model_stages; stage++) {
        is_slow = is_slow || costs->p2p[stage] > 0;
    }
    bool is_scaled = costs->pair_scale > 0 && costs->pair_scale != 1;
    note_if_unused(call, "overlap", costs->is_serial && !has_pairs, "the schedule pairs no passes");
    note_if_unused(call, "fbscale", is_scaled && !has_pairs, "the schedule pairs no passes");
    note_if_unused(call, "fbscale", is_scaled && has_pairs && costs->is_serial,
                   "with '--overlap serial' pairs run one after the other");
    note_if_unused(call, "p2p", is_slow && !has_messages, "no stage sends to another rank");
    note_if_unused(call, "sends", costs->is_blocking && !has_messages,
                   "no stage sends to another rank");
    note_if_unused(call, "sends", costs->is_blocking && has_messages && !is_slow,
                   "messages take no time, see '--p2p'");
}

/* Evaluate a schedule, write the files of --csv and --gantt, and print the result unless one of
 * these files is the standard output. */
static ms_status output(const ms_invocation *call, const ms_cli_schedule *schedule,
                        const ms_schedule_costs *costs) {
    static const char *const FILES[] = {"csv", "gantt", NULL};
    const char *gantt = ms_cli_value(call, "gantt", NULL);
    ms_schedule_result result;
    ms_status status =
        ms_schedule_evaluate(&schedule->opened.program, costs, call->arena, call->diag, &result);
    if (status == MS_OK) {
        note_unused_options(call, &schedule->opened.program, costs, &result);
        status = ms_cli_schedule_write(call, schedule);
    }
    if (status == MS_OK && gantt != NULL) {
        const ms_drawn_schedule drawn = {&schedule->opened.program, &result, "counted per stage",
                                         1};
        status = ms_cli_schedule_gantt(call, &drawn, 1, gantt);
    }
    if (status != MS_OK || ms_cli_uses_stdout(call, FILES)) {
        return status;
    }
    shown_schedule shown = {.program = &schedule->opened.program,
                            .result = &result,
                            .search = schedule->search,
                            .workload = schedule->workload};
    return print(call, costs, &shown);
}

/* ---- modes ---- */

/* Mode: one schedule of a kind or from a file, with sizes and times from options. */
static ms_status run_one(const ms_invocation *call) {
    ms_cli_schedule schedule;
    ms_schedule_costs costs = {0};
    ms_status status = ms_cli_schedule_load(call, &schedule);
    status = status == MS_OK
                 ? ms_cli_schedule_costs(call, schedule.opened.program.model_stages, &costs)
                 : status;
    return status == MS_OK ? output(call, &schedule, &costs) : status;
}

/* Mode: one schedule on paper, with a workload's sizes and the computing times of its passes. */
static ms_status run_one_of_workload(const ms_invocation *call) {
    ms_job job;
    ms_schedule_costs costs = {0};
    ms_schedule_choice choice;
    ms_status status = ms_cli_schedule_choice(call, call->positionals[0], &choice);
    status = status == MS_OK ? ms_cli_schedule_of_workload(call, &choice, &job, &costs) : status;
    if (status != MS_OK) {
        return status;
    }
    const ms_cli_schedule schedule = {.opened.program = job.program, .workload = job.name};
    return output(call, &schedule, &costs);
}

/* Mode: the schedule that the search finds, with sizes and times from options or from a
 * workload. */
static ms_status run_search(const ms_invocation *call) {
    ms_cli_schedule schedule;
    ms_schedule_costs costs = {0};
    ms_status status = ms_cli_schedule_search(call, &schedule, &costs);
    return status == MS_OK ? output(call, &schedule, &costs) : status;
}

/* Run the mode that the command line asks for, if at most one output goes to the standard
 * output. */
static ms_status run(const ms_invocation *call) {
    static const char *const OUTPUTS[] = {"csv",  "csv-table", "pareto", "gantt",
                                          "json", "markdown",  NULL};
    ms_status status = ms_cli_check_stdout(call, OUTPUTS);
    return status == MS_OK ? ms_cli_run_mode(call) : status;
}

/* Indices of the modes in MODES. _IN: the mode takes its sizes and times from a workload. */
enum { AT_KIND, AT_FILE, AT_KIND_IN, AT_TABLE, AT_TABLE_IN, AT_SEARCH, AT_SEARCH_IN };

/* Sets of modes for the option table, with a bit for each mode. */
enum {
    TABLES = 1U << AT_TABLE | 1U << AT_TABLE_IN,
    SEARCHES = 1U << AT_SEARCH | 1U << AT_SEARCH_IN,
    IN = 1U << AT_KIND_IN | 1U << AT_TABLE_IN | 1U << AT_SEARCH_IN,
    PAPER = 1U << AT_KIND | 1U << AT_FILE | 1U << AT_TABLE | 1U << AT_SEARCH,
    ONE = 1U << AT_KIND | 1U << AT_FILE | 1U << AT_KIND_IN |
          SEARCHES,                                      /* the result is one schedule */
    ORDERED = 1U << AT_KIND | 1U << AT_KIND_IN | TABLES, /* kinds generate the order */
    LATENT = PAPER | ONE,                                /* --p2p gives the time of messages */
    SIMULATED = 1U << AT_TABLE_IN,
};

/* --costs replaces the four options of times. */
static const ms_option_rule PAPER_RULES[] = {
    {"costs", "tf", true, "both give times; leave one out"},
    {"costs", "tb", true, "both give times; leave one out"},
    {"costs", "tw", true, "both give times; leave one out"},
    {"costs", "p2p", true, "both give times; leave one out"},
    {0},
};

/* In a workload the picture is drawn from traces. */
static const ms_option_rule TABLE_IN_RULES[] = {
    {"gantt", "traces", false, "draws the traces of '--traces FOLDER', which is missing"},
    {0},
};

/* Reasons for refusing an option in some modes. */
static const char OF_PAPER[] = "is for schedules on paper; sizes and times come from '--workload'";
static const char OF_KINDS[] = "is for a kind's order, and search makes its own, of whole "
                               "sequences; leave out '--group', '--splits', '--reorder'";

/* The modes of the command, which --help numbers in this order. */
static const ms_mode MODES[] = {
    [AT_KIND] = {.usage = "KIND -p P -m M",
                 .summary = "one schedule on paper",
                 .argument = "",
                 .needs = {"ranks", "microbatches"},
                 .rules = PAPER_RULES,
                 .run = run_one},
    [AT_FILE] = {.usage = "csv:FILE",
                 .summary = "the schedule of a file on paper",
                 .argument = "csv:",
                 .rules = PAPER_RULES,
                 .refusal = "makes an order; a file has its own",
                 .run = run_one},
    [AT_KIND_IN] = {.usage = "KIND|csv:FILE --workload WORKLOAD.yaml",
                    .summary = "one schedule on paper, with a workload's sizes and computing times",
                    .argument = "",
                    .chosen_by = {"workload"},
                    .refusal = OF_PAPER,
                    .run = run_one_of_workload},
    [AT_TABLE] = {.usage = "--compare KINDS -p P -m M",
                  .summary = "a table of many on paper",
                  .chosen_by = {"compare"},
                  .rules = PAPER_RULES,
                  .refusal = "is for one schedule, not for '--compare'",
                  .run = ms_cli_schedule_compare},
    [AT_TABLE_IN] = {.usage = "--compare KINDS --workload WORKLOAD.yaml",
                     .summary = "a table of many, simulated in a workload on its platform",
                     .chosen_by = {"compare", "workload"},
                     .rules = TABLE_IN_RULES,
                     .refusal = OF_PAPER,
                     .run = ms_cli_schedule_compare_on_platform},
    [AT_SEARCH] = {.usage = "search -p P -m M",
                   .summary = "the shortest schedule under a cap of memory",
                   .argument = "search",
                   .needs = {"ranks", "microbatches"},
                   .rules = PAPER_RULES,
                   .refusal = OF_KINDS,
                   .run = run_search},
    [AT_SEARCH_IN] = {.usage = "search --workload WORKLOAD.yaml",
                      .summary = "the same with a workload's sizes and computing times",
                      .argument = "search",
                      .chosen_by = {"workload"},
                      .refusal = OF_PAPER,
                      .run = run_search},
    [AT_SEARCH_IN + 1] = {0},
};

/* Words for completing KIND; NULL behind the last. */
static const char *kind_word(int index) {
    return ms_schedule_kind_names()[index];
}

/* Words for completing --compare; NULL behind the last. */
static const char *compared_word(int index) {
    return index == 0 ? "all" : kind_word(index - 1);
}

/* The options of the command. */
static const ms_option OPTIONS[] = {
    {"ranks", "P", .letter = 'p', .help = "pipeline ranks", .section = "sizes", .modes = PAPER},
    {"chunks", "V", .letter = 'v', .help = "virtual stages per rank (default: 1, or 2 of a V)"},
    {"microbatches", "M", .letter = 'm', .help = "microbatches", .modes = PAPER},
    {"group", "N", .fallback = "P", .help = "microbatches per group of interleaved",
     .modes = ORDERED},
    {"splits", "K", .fallback = "1", .help = "slices of a sequence (seq1f1b, csv:FILE)",
     .modes = ORDERED | 1U << AT_FILE},
    {"reorder", .help = "vhalf, vmin: move warm-up and cool-down passes into earlier gaps",
     .modes = ORDERED},
    {"tf", "T", .fallback = "1", .help = "forward time per virtual stage and microbatch",
     .section = "times, and how passes run", .modes = PAPER},
    {"tb", "T", .fallback = "1", .help = "input gradient time, likewise", .modes = PAPER},
    {"tw", "T", .fallback = "1", .help = "weight gradient time, likewise", .modes = PAPER},
    {"p2p", "T", .fallback = "0",
     .help = "latency between stages that follow each other on different ranks", .modes = LATENT},
    {"costs", "FILE.csv",
     .help = "times per stage from a file in the place of --tf, --tb, --tw, --p2p", .modes = PAPER},
    {"overlap", "fused|serial", .fallback = "fused",
     .help = "overlapped passes run together, or one after the other"},
    {"fbscale", "X", .fallback = "1", .help = "a fused pair takes X times the sum of its passes",
     .modes = LATENT},
    {"sends", "async|blocking", .fallback = "async",
     .help = "whether a sending rank waits until its message has arrived"},
    {"compare", "KIND,...", .word = compared_word,
     .help =
         "a table of many: all, or a comma list; times are per rank, and divided among its stages",
     .section = "tables of many, and search", .modes = TABLES},
    {"sort", "COLUMN", .fallback = "makespan", .help = "column of the table to sort by",
     .modes = TABLES},
    {"memory-cap", "X", .help = "microbatches in flight per rank at most; simulated: bytes",
     .modes = TABLES | SEARCHES},
    {"workload", "WORKLOAD.yaml",
     .help = "take sizes and computing times from it; of a table: simulate it",
     .section = "on a workload", .modes = IN},
    {MS_OPTION_PLATFORM, .modes = IN},
    {MS_OPTION_SET, .modes = IN},
    {MS_OPTION_FIDELITY, .modes = IN},
    {"traces", "FOLDER", .help = "write each simulation's trace to FOLDER/KIND.h5", .writes = "/",
     .no_stdout = "it names a folder of several files", .modes = SIMULATED},
    {"jobs", "J", .fallback = "processors, at most 4", .help = "simulations at once",
     .modes = SIMULATED},
    {"csv", "FILE",
     .help = "write the order as PyTorch's CSV ('-': stdout); a file read with csv: keeps its form",
     .writes = ".csv or .txt", .section = "output", .modes = ONE},
    {"csv-form", "compute|sends|comms", .fallback = "compute",
     .help = "compute: passes only; sends: with messages; comms: with messages and parameters",
     .modes = ONE},
    {"csv-dialect", "current|legacy", .fallback = "current",
     .help = "letters I and B, or B and BW as in 2024, for input gradient and whole backward",
     .modes = ONE},
    {"merge-bw", .help = "write I with its W right behind it as one B, which changes the times",
     .modes = ONE},
    {"csv-table", "FILE", .help = "write the table, with the names of --json ('-': stdout)",
     .writes = ".csv or .txt", .modes = TABLES},
    {"gantt", "FILE.svg",
     .help = "draw the passes as a picture, of --compare up to 8 stacked ('-': stdout)",
     .writes = ".svg, .png or .pdf"},
    {MS_OPTION_PARETO("the table's schedules by memory and bubble"), .modes = TABLES},
    {"json", .help = "print one JSON object"},
    {MS_OPTION_MARKDOWN},
    {0},
};

const ms_command ms_cmd_schedule = {
    .name = "schedule",
    .summary = "run a pipeline schedule on paper: makespan, bubble, peaks, closed form.",
    .positional_help = "KIND|csv:FILE|search",
    .word = kind_word,
    .positionals = {0, 1},
    .options = OPTIONS,
    .modes = MODES,
    .description =
        "KIND is one of\n"
        "gpipe: all forwards, then all backwards\n"
        "1f1b: one forward, one backward (PipeDream-flush)\n"
        "interleaved: 1F1B over V stages per rank (Megatron-LM); --group\n"
        "interleaved_torch: the same in M/P rounds (PyTorch)\n"
        "interleaved_flexible: the same, any group size and any M (Llama 3), except where the "
        "ranks would wait for each other; --group\n"
        "looped_bfs: breadth first: all microbatches per chunk\n"
        "zbh1, zbh2: zero bubble with 1F1B's memory, and with twice that\n"
        "zb1p: interleaved zero bubble (PyTorch)\n"
        "zbv: zero bubble in a V, two stages per rank\n"
        "vhalf, vmin: V with a half and a third of the memory; --reorder, or vhalf-reordered, "
        "vmin-reordered\n"
        "dualpipe, chimera: two directions, parameters twice\n"
        "dualpipev: DualPipe cut in half, a V\n"
        "seq1f1b: 1F1B over slices of sequences; --splits\n\n"
        "csv:FILE reads a schedule as PyTorch writes it: one line per rank, cells such as 2F0 or "
        "(2F4;1B0)OVERLAP_F_B, with or without communication, in today's letters or those of 2024, "
        "of at most 256 MiB; stages belong to the rank whose line they stand in. Where the "
        "microbatches of a file are slices of sequences, as --csv writes seq1f1b, --splits says "
        "how many make one. --csv without further options writes a file back as it was; with "
        "--merge-bw a gradient is handed on at the end of the whole backward pass, so that the "
        "same order may take longer when the file is read again. 'search' looks for the schedule "
        "with the shortest span under --memory-cap (in whole microbatches per rank, of one stage "
        "per rank, or with '-v 2' of two in a V), and says how far from a proven bound it is.\n\n"
        "Times have no unit: T is that of --tf, --tb and --tw of one virtual stage. Only with "
        "--workload, where the computing times are the workload's, --p2p is in seconds. Each time "
        "is one number, or a comma list with one per virtual stage (per boundary for --p2p). "
        "--costs reads them from a file with the columns forward, input_gradient, weight_gradient "
        "and, where wanted, stage and p2p: one line per stage, in any order where a column says "
        "which, and p2p the boundary behind it, empty for the last stage. A whole backward pass "
        "takes tb + tw. Messages take only latency; with --sends blocking a rank that sends waits "
        "for the arrival. An overlapped pair takes --fbscale times its two passes together, or, "
        "with --overlap serial, runs as one after the other.\n\n"
        "Idle time counts as warm-up before a rank's first backward pass, as cool-down after its "
        "last forward pass, else as steady. 'Exposed p2p' is how much later passes start than they "
        "would without latency. A microbatch is in flight on a stage from the start of its forward "
        "pass to the end of its weight gradient (to W) or input gradient (to I).\n\n"
        "The makespan is compared with the closed form where one is known for these sizes and "
        "costs; else it is taken apart: the closed form (or the work of a rank) with equal stages "
        "and free messages, and what the order, unequal stages and latency add.\n\n"
        "--compare prints a table of many schedules. There T is the time of a P-th of the model, "
        "spread over its stages (V = 2 and K = 2 where a schedule takes any, unless given), and "
        "--p2p lies between neighbouring ranks. The makespan 'per rank' (rank_makespan) is in this "
        "T, and the table is sorted by it; all other times are in T of one virtual stage, so V K "
        "times as large, as for a single KIND. Memory is counted in units of a P-th of the model "
        "and one microbatch. With a csv:FILE among them -p and -m may be left out, and a file with "
        "K times as many microbatches holds slices of sequences.\n\n"
        "With --workload the table comes from simulations, each in a process of its own, of that "
        "workload with the schedules in the place of its own; V, N and K are the workload's where "
        "it has some. Layers are partitioned as the workload says, or balanced "
        "(schedule.partition) where the number of stages is another. --memory-cap then takes "
        "bytes, such as 60GiB. What cannot be simulated is listed with the reason. Exits with 1 "
        "when none fits in memory.\n\n"
        "A single KIND, or a search, takes sizes and computing times from --workload and stays on "
        "paper; what a search found runs as schedule.kind=csv:FILE.",
    .example = "meshsim schedule interleaved -p 4 -v 2 -m 8 --p2p 0.1",
    .run = run,
};
