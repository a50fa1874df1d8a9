/* meshsim compare: tells what differs between two traces or two folders of traces, and whether a
 * quantity that is guarded differs by more than its tolerance (search/compare.h). A key is the
 * dotted path of a quantity in the summary; a share is a relative difference, such as 1%. */
#include <string.h>

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
    double share = 0.0;
    if (ms_unit_parse(text, MS_DIM_NONE, &share, &reason) != MS_OK) {
        return ms_diag_usage(call->diag, "--%s: '%s' is no share: %s", option, text, reason);
    }
    if (share >= 1.0 && strchr(text, '%') == NULL) {
        return ms_diag_usage(call->diag, "--%s: '%s' is no share below 1; did you mean '%s%%'?",
                             option, text, text);
    }
    *share_out = share;
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

/* Read --only and --max-increase into the guards of the rules. Guards of --max-increase are behind
 * those of --only: where both name a key, the last guard holds. */
static ms_status parse_guards(const ms_invocation *call, ms_compare_rules *rules) {
    const ms_given only = ms_cli_all(call, "only");
    const ms_given increases = ms_cli_all(call, "max-increase");
    ms_guard *guards = MS_NEW(call->arena, ms_guard, only.count + increases.count);
    ms_status status = guards == NULL ? ms_diag_no_memory(call->diag) : MS_OK;
    for (size_t i = 0; i < only.count && status == MS_OK; i++) {
        guards[i].key = only.values[i];
        if (only.values[i][0] == '\0') {
            status = ms_diag_usage(call->diag, "--only: '' names no quantity");
        }
    }
    for (size_t i = 0; i < increases.count && status == MS_OK; i++) {
        ms_tolerance one = {.key = NULL};
        status = parse_keyed(call, "max-increase", increases.values[i], &one);
        guards[only.count + i] =
            (ms_guard){.key = one.key, .is_increase = true, .share = one.share};
    }
    rules->guards = guards;
    rules->guard_count = only.count + increases.count;
    return status;
}

/* Read the rules of the comparison, after a check that at most one output goes to the standard
 * output. */
static ms_status parse(const ms_invocation *call, ms_compare_rules *rules) {
    static const char *const FORMS[] = {"junit", "html", "json", "markdown", NULL};
    ms_status status = ms_cli_check_stdout(call, FORMS);
    status = status == MS_OK ? parse_tolerances(call, rules) : status;
    return status == MS_OK ? parse_guards(call, rules) : status;
}

/* ---- the outcome ---- */

/* Write the page of --html, if the option is given. The page's title has both paths, as the files
 * may have the same name in two folders. */
static ms_status write_html(const ms_invocation *call, const ms_shown_comparison *shown) {
    const ms_cli_page page = {
        .title = ms_arena_printf(call->arena, "%s, then %s", shown->paths[0], shown->paths[1])};
    return ms_cli_has(call, "html")
               ? ms_cli_write_html(call, &page, ms_show_differences_tree(shown))
               : MS_OK;
}

/* Write the files of --junit and --html, then print the outcome. Files come first: where one cannot
 * be written, nothing is printed that looks like an answer. */
static ms_status tell(const ms_invocation *call, const ms_shown_comparison *shown) {
    static const char *const FILES[] = {"junit", "html", NULL};
    ms_buffer junit = {0};
    if (ms_cli_has(call, "junit")) {
        ms_show_differences_junit(shown, &junit);
    }
    ms_status status = ms_cli_write_option(call, "junit", &junit);
    status = status == MS_OK ? write_html(call, shown) : status;
    if (status != MS_OK || ms_cli_uses_stdout(call, FILES)) {
        return status;
    }
    return ms_cli_has(call, "json") ? ms_cli_print_json(call, ms_show_differences_tree(shown))
                                    : ms_show_differences(call, shown);
}

/* Compare the two sides and show the outcome.  Returns MS_E_NO where a guard is broken. */
static ms_status run(const ms_invocation *call) {
    ms_compare_rules rules = {.guard_count = 0};
    ms_trace_comparison comparison;
    ms_status status = parse(call, &rules);
    status = status == MS_OK ? ms_compare_traces(call->positionals, &rules, call->arena, call->diag,
                                                 &comparison)
                             : status;
    if (status != MS_OK) {
        return status;
    }
    const ms_shown_comparison shown = {.paths = {call->positionals[0], call->positionals[1]},
                                       .rules = &rules,
                                       .comparison = &comparison,
                                       .arena = call->arena};
    status = tell(call, &shown);
    return status == MS_OK && !comparison.guarded_ok ? MS_E_NO : status;
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
        "by more than the tolerance: the step time first, then numbers, largest first, what is on "
        "one side only, and texts. '!' marks what breaks the guard.\n\n"
        "Exits with 1 when something that is guarded differs by more than is let pass, else with "
        "0. Guarded is what --only and --max-increase name; everything but texts where neither "
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
        "side only; of several that fit a key the longest holds. --max-increase is relative to A. "
        "Numbers that are 1e-12 or a 1e-12th of themselves apart are equal.",
    .example = "meshsim compare before.h5 after.h5 --max-increase step_time_s=1% --only memory",
    .run = run,
};
