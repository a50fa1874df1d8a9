/* meshsim compare: tells what differs between two traces or two folders of traces, and whether a
 * quantity that is guarded differs by more than its tolerance (search/compare.h). A key is the
 * dotted path of a quantity in the summary; a share is a relative difference, such as 1%. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/config/config.h"
#include "base/failure.h"
#include "base/target.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/html_option.h"
#include "cli/render.h"
#include "cli/show_difference.h"

/* The options of the command. */
static const ms_option OPTIONS[] = {
    {"tolerance", "[KEY=]SHARE", .letter = 't', .is_repeatable = true, .fallback = "0",
     .help = "relative difference that is let pass, either way, such as 1%; KEY= limits it to a "
             "key and all below it"},
    {"only", "KEY", .is_repeatable = true,
     .help = "compare and guard this key and all below it, nothing else"},
    {"max-increase", "KEY=SHARE", .is_repeatable = true,
     .help = "guard only this key and all below it, and only against growing by more than SHARE"},
    {"max-decrease", "KEY=SHARE", .is_repeatable = true,
     .help = "the same against shrinking, for what is better when larger"},
    {"top", "N",
     .help = "show N differences of each trace at most, and all that break a named guard"},
    {"map", "OLD.h5=NEW.h5", .is_repeatable = true,
     .help = "compare the trace OLD.h5 of the folder A with NEW.h5 of B"},
    {"accept", .help = "make the traces of B, and only these, the new baseline A; exit with 0"},
    {"junit", "FILE.xml",
     .help = "write a test case per trace and guard, as JUnit's XML ('-': stdout)",
     .writes = ".xml"},
    {MS_OPTION_HTML},
    {MS_OPTION_MARKDOWN},
    {"json", .help = "print one JSON object instead of a table"},
    {0},
};

/* ---- tolerances and guards ---- */

/* Read a share: "1%", "0.01" or "0". A number of 1 or more needs a percent sign: '5' may mean 5 or
 * 500 percent, and a guard that lets every change pass would be useless. Returns MS_OK; MS_E_USAGE
 * (reported). */
static ms_status parse_share(const ms_invocation *call, const char *option, const char *text,
                             double *share_out) {
    const char *reason = NULL;
    if (ms_unit_parse(text, MS_DIM_NONE, share_out, &reason) != MS_OK) {
        return ms_diag_usage(call->diag, "--%s: '%s' is no share: %s", option, text, reason);
    }
    if (*share_out >= 1.0 && strchr(text, '%') == NULL) {
        return ms_diag_usage(call->diag, "--%s: '%s' is no share below 1; did you mean '%s%%'?",
                             option, text, text);
    }
    return MS_OK;
}

/* Read "KEY=SHARE"; of --tolerance also a share alone, whose key is then "".  Returns MS_OK;
 * MS_E_USAGE; MS_E_NOMEM (both reported). */
static ms_status parse_keyed(const ms_invocation *call, const char *option, const char *text,
                             ms_tolerance *out) {
    const char *equals = strrchr(text, '=');
    bool may_lack_key = strcmp(option, "tolerance") == 0;
    size_t length = equals == NULL ? 0 : (size_t)(equals - text);
    if (length == 0 && (equals != NULL || !may_lack_key)) {
        return ms_diag_usage(call->diag, "--%s: '%s' names no quantity; expected %sKEY=SHARE",
                             option, text, may_lack_key ? "SHARE or " : "");
    }
    out->key = ms_arena_strndup(call->arena, text, length);
    if (out->key == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    return parse_share(call, option, equals == NULL ? text : equals + 1, &out->share);
}

/* Read all --tolerance options into the rules. */
static ms_status parse_tolerances(const ms_invocation *call, ms_compare_rules *rules) {
    const ms_given given = ms_cli_all(call, "tolerance");
    ms_tolerance *tolerances = MS_NEW(call->arena, ms_tolerance, given.count);
    ms_status status = tolerances == NULL ? ms_diag_no_memory(call->diag) : MS_OK;
    for (size_t i = 0; i < given.count && status == MS_OK; i++) {
        status = parse_keyed(call, "tolerance", given.values[i], &tolerances[i]);
    }
    rules->tolerances = tolerances;
    rules->tolerance_count = given.count;
    return status;
}

/* Read --only, --max-increase and --max-decrease into the guards of the rules. A guard's direction
 * is 0 for --only (any change), 1 for growing, -1 for shrinking. Guards of a direction are behind
 * those of --only: where both name a key, the last guard holds. */
static ms_status parse_guards(const ms_invocation *call, ms_compare_rules *rules) {
    static const char *const NAMES[] = {"only", "max-increase", "max-decrease"};
    ms_vector guards = {.item_B = sizeof(ms_guard)};
    ms_status status = MS_OK;
    for (int kind = 0; kind < 3; kind++) {
        const ms_given given = ms_cli_all(call, NAMES[kind]);
        for (size_t i = 0; i < given.count && status == MS_OK; i++) {
            ms_tolerance one = {.key = given.values[i]};
            if (kind > 0) {
                status = parse_keyed(call, NAMES[kind], given.values[i], &one);
            } else if (one.key[0] == '\0') {
                status = ms_diag_usage(call->diag, "--only: '' names no quantity");
            }
            const ms_guard guard = {one.key, kind < 2 ? kind : -1, one.share};
            ms_vector_add(&guards, &guard, 1);
        }
    }
    rules->guard_count = guards.count;
    rules->guards = ms_vector_keep(&guards, call->arena);
    return status == MS_OK && rules->guards == NULL ? ms_diag_no_memory(call->diag) : status;
}

/* Read --map OLD=NEW into the renamed traces of the rules.  MS_E_USAGE (reported); MS_E_NOMEM. */
static ms_status parse_map(const ms_invocation *call, ms_compare_rules *rules) {
    const ms_given given = ms_cli_all(call, "map");
    const char *(*renamed)[2] = ms_arena_alloc(call->arena, given.count, sizeof *renamed);
    for (size_t i = 0; i < given.count && renamed != NULL; i++) {
        const char *text = given.values[i], *equals = strchr(text, '=');
        if (equals == NULL) {
            return ms_diag_usage(call->diag, "--map: expected OLD.h5=NEW.h5, got '%s'", text);
        }
        renamed[i][0] = ms_arena_strndup(call->arena, text, (size_t)(equals - text));
        renamed[i][1] = equals + 1;
    }
    rules->renamed = renamed;
    rules->renamed_count = given.count;
    return call->arena->has_failed ? ms_diag_no_memory(call->diag) : MS_OK;
}

/* Read the rules of the comparison, after a check that at most one output goes to the standard
 * output. */
static ms_status parse(const ms_invocation *call, ms_compare_rules *rules) {
    static const char *const FORMS[] = {"junit", "html", "json", "markdown", NULL};
    ms_status status = ms_cli_check_stdout(call, FORMS);
    status = status == MS_OK ? parse_tolerances(call, rules) : status;
    status = status == MS_OK ? parse_map(call, rules) : status;
    return status == MS_OK ? parse_guards(call, rules) : status;
}

/* ---- the outcome ---- */

/* Write the files of --junit and --html, then print the outcome. Files come first: where one cannot
 * be written, nothing is printed that looks like an answer. The page's title has both paths, as the
 * files may have the same name in two folders. */
static ms_status tell(const ms_invocation *call, const ms_shown_comparison *shown) {
    static const char *const FILES[] = {"junit", "html", NULL};
    ms_buffer junit = {0};
    if (ms_cli_has(call, "junit")) {
        ms_show_differences_junit(shown, &junit);
    }
    ms_status status = ms_cli_write_option(call, "junit", &junit);
    if (status == MS_OK && ms_cli_has(call, "html")) {
        const ms_cli_page page = {
            .title = ms_arena_printf(call->arena, "%s, then %s", shown->paths[0], shown->paths[1])};
        status = ms_cli_write_html(call, &page, ms_show_differences_tree(shown));
    }
    if (status != MS_OK || ms_cli_uses_stdout(call, FILES)) {
        return status;
    }
    return ms_cli_has(call, "json") ? ms_cli_print_json(call, ms_show_differences_tree(shown))
                                    : ms_show_differences(call, shown);
}

/* Make a trace of b the baseline: copy it to a by its name in b, and remove that of a if b has no
 * trace of the old name.  removed: [1], counted.  names: of removed traces, appended
 * behind " (".  MS_E_IO, MS_E_INPUT or MS_E_NOMEM (reported). */
static ms_status accept_trace(const ms_invocation *call, const ms_compared_trace *trace,
                              size_t *removed, ms_buffer *names) {
    const char *old = trace->paths[0], *to = old, *of_old_name = old;
    ms_buffer bytes = {0};
    ms_status status = MS_OK;
    if (trace->name != trace->paths[1]) { /* of two files the name is a path */
        to = ms_arena_printf(call->arena, "%s/%s", call->positionals[0], trace->name);
        of_old_name = ms_arena_printf(call->arena, "%s%s", call->positionals[1], strrchr(old, '/'));
    }
    if (to == NULL || of_old_name == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    if (trace->side != MS_COMPARE_ONLY_A) {
        status = ms_file_read(trace->paths[1], MS_FILE_HDF5, &bytes, call->diag);
        status = status == MS_OK
                     ? ms_target_write_text(to, ms_buffer_text(&bytes), bytes.length, call->diag)
                     : status;
    }
    if (status == MS_OK && !ms_file_is_there(of_old_name)) {
        ms_buffer_printf(names, "%s%s", (*removed)++ == 0 ? " (" : ", ", strrchr(old, '/') + 1);
        if (unlink(old) != 0) {
            ms_diag_error(call->diag, "cannot remove '%s': %s", old, strerror(errno));
            status = MS_E_IO;
        }
    }
    ms_buffer_release(&bytes);
    return status;
}

/* Make all traces of b the baseline, and note what was written and removed. Returns as
 * accept_trace. */
static ms_status accept_all(const ms_invocation *call, const ms_trace_comparison *comparison) {
    ms_buffer names = {0};
    ms_status status = MS_OK;
    size_t written = 0, removed = 0;
    for (size_t i = 0; i < comparison->count && status == MS_OK; i++) {
        status = accept_trace(call, &comparison->traces[i], &removed, &names);
        written += comparison->traces[i].side != MS_COMPARE_ONLY_A;
    }
    if (status == MS_OK) {
        ms_diag_note(call->diag, NULL, NULL,
                     "accepted as the new baseline: %zu written, %zu removed%s%s", written, removed,
                     ms_buffer_text(&names), removed == 0 ? "" : ")");
    }
    ms_buffer_release(&names);
    return status;
}

/* Compare the two sides and show the outcome.  Returns MS_E_NO where a guard is broken, and the
 * change is not accepted. */
static ms_status run(const ms_invocation *call) {
    ms_compare_rules rules = {.guard_count = 0};
    ms_trace_comparison comparison;
    long top = 0;
    ms_status status = parse(call, &rules);
    status = status == MS_OK ? ms_cli_int(call, "top", 0, 1, 1000000, &top) : status;
    status = status == MS_OK ? ms_compare_traces(call->positionals, &rules, call->arena, call->diag,
                                                 &comparison)
                             : status;
    if (status != MS_OK) {
        return status;
    }
    const ms_shown_comparison shown = {
        {call->positionals[0], call->positionals[1]}, &rules, &comparison, top, call->arena};
    status = tell(call, &shown);
    bool accepts = ms_cli_has(call, "accept");
    status = status == MS_OK && accepts ? accept_all(call, &comparison) : status;
    return status == MS_OK && !comparison.guarded_ok && !accepts ? MS_E_NO : status;
}

const ms_command ms_cmd_compare = {
    .name = "compare",
    .summary = "tell what differs between two traces, and guard against it",
    .positional_help = "A B",
    .positionals = {2, 2},
    .options = OPTIONS,
    .description =
        "A and B are traces, or folders in which traces (*.h5) of the same names are compared. "
        "Prints the defaults that changed (keys that nobody typed and whose value differs, as a "
        "version of meshsim, a framework's profile or the file of a GPU type has another one), the "
        "inputs that differ, the versions where figures differ, then every quantity that differs "
        "by more than the tolerance: first what breaks the guard, marked with '!'; of equals the "
        "step time, then numbers, largest first, what is on one side only, and texts.\n\n"
        "Exits with 1 when something that is guarded differs by more than is let pass, else with "
        "0. Guarded is what --only, --max-increase and --max-decrease name; everything but texts "
        "where neither "
        "stands. A text (a name, a shape, an algorithm) is guarded only where --only names the "
        "text itself. A trace that is missing in B breaks every guard; one that is new in B only "
        "that of everything. Wall time, memory use of the simulator, versions and paths do not "
        "count.\n\n"
        "KEY is what 'meshsim run --json' calls a quantity, with dots, and stands for all below "
        "it: step_time_s, time_share, memory.peak_B. Rows of lists are named by what they are: "
        "collectives[tp.all_gather.16777216] by axis, kind and bytes, kernels[qkv], stages[3]; "
        "collectives[tp] are all rows that begin so, and '*' is any word: comm.*.exposed_s, "
        "kernels[*].time_s. A key that stands for nothing is an error.\n\n"
        "SHARE is 1%, 0.01 or 0; from 1 on it needs the percent sign. A tolerance is relative to "
        "the larger of the two numbers, so that 100% lets everything pass, also what is on one "
        "side only; of several that fit a key the longest holds. --max-increase and --max-decrease "
        "are relative to A. "
        "Numbers that are 1e-12 or a 1e-12th of themselves apart are equal.",
    .example = "meshsim compare before.h5 after.h5 --max-increase step_time_s=1% --only memory",
    .run = run,
};
