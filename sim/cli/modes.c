/* Modes of a command (ms_mode): finds the mode that the command line asks for, by its argument and
 * its options, checks that all given options belong to the mode, and runs it. A chooser is an
 * option that selects a mode, such as --compare of `schedule`. */
#include <string.h>

#include "cli/cli.h"

/* Whether a mode takes an option. An option without a list of modes belongs to all. */
static bool takes_option(const ms_command *command, const ms_option *option, const ms_mode *mode) {
    return option->modes == 0 || (option->modes & (1U << (mode - command->modes))) != 0;
}

/* ---- which mode ---- */

/* Whether all choosers of a mode were given, and no chooser of another mode. */
static bool is_chosen(const ms_invocation *call, const ms_mode *mode) {
    for (const ms_mode *other = call->command->modes; other->usage != NULL; other++) {
        for (int i = 0; i < MS_MODE_OPTIONS_MAX && other->chosen_by[i] != NULL; i++) {
            const char *name = other->chosen_by[i];
            if (ms_cli_has(call, name) != ms_cli_is_among(name, mode->chosen_by)) {
                return false;
            }
        }
    }
    return true;
}

/* How well the command line's argument suits a mode: 2 where the mode names it, or where neither
 * has an argument; 1 where the mode takes any argument; else 0. */
static int argument_fit(const ms_invocation *call, const ms_mode *mode) {
    const char *given = call->positional_count == 0 ? NULL : call->positionals[0];
    const char *word = mode->argument;
    if (given == NULL || word == NULL) {
        return given == NULL && word == NULL ? 2 : 0;
    }
    size_t length = strlen(word);
    bool is_beginning = length > 0 && word[length - 1] == ':';
    bool is_said = is_beginning ? strncmp(given, word, length) == 0 : strcmp(given, word) == 0;
    return is_said ? 2 : length == 0 ? 1 : 0;
}

/* Report that no mode suits the command line's argument. mode: the nearest one. Either it takes no
 * argument, or the command line lacks the argument, which is the first word of the mode's usage.
 * Returns MS_E_USAGE. */
static ms_status report_argument(const ms_invocation *call, const ms_mode *mode) {
    if (mode->argument == NULL) {
        ms_diag_error(call->diag, "'--%s' leaves no place for an argument; leave out '%s'",
                      mode->chosen_by[0], call->positionals[0]);
    } else {
        ms_diag_error(call->diag, "missing argument: %.*s", (int)strcspn(mode->usage, " "),
                      mode->usage);
    }
    return MS_E_USAGE;
}

/* Find the chosen mode that suits the command line's argument best; of two that suit equally, the
 * first.  Returns MS_OK; MS_E_USAGE (reported): no mode does. */
static ms_status find_mode(const ms_invocation *call, const ms_mode **mode_out) {
    const ms_mode *best = NULL;
    const ms_mode *nearest = call->command->modes;
    int best_fit = 0;
    const ms_mode *mode = nearest;
    do { /* a command that has modes has at least one */
        if (is_chosen(call, mode)) {
            int fit = argument_fit(call, mode);
            /* For the message: the first mode whose choosers were given. */
            nearest = is_chosen(call, nearest) ? nearest : mode;
            best = fit > best_fit ? mode : best;
            best_fit = fit > best_fit ? fit : best_fit;
        }
        mode++;
    } while (mode->usage != NULL);
    *mode_out = best;
    return best == NULL ? report_argument(call, nearest) : MS_OK;
}

/* ---- options that do not belong to the mode ---- */

/* A chooser that all modes which take `option` have in common and `mode` lacks: beside it on the
 * command line, `option` would be allowed. NULL: there is none. */
static const char *missing_chooser(const ms_command *command, const ms_option *option,
                                   const ms_mode *mode) {
    for (const ms_option *chooser = command->options; chooser->name != NULL; chooser++) {
        bool is_common = !ms_cli_is_among(chooser->name, mode->chosen_by);
        for (const ms_mode *other = command->modes; other->usage != NULL && is_common; other++) {
            is_common = !takes_option(command, option, other) ||
                        ms_cli_is_among(chooser->name, other->chosen_by);
        }
        if (is_common) {
            return chooser->name;
        }
    }
    return NULL;
}

/* Append the arguments and choosers of the modes that take an option, each once: "'--compare' and
 * with 'search'". */
static void list_choosers(const ms_command *command, const ms_option *option, ms_buffer *out) {
    const char *last = "";
    for (const ms_mode *mode = command->modes; mode->usage != NULL; mode++) {
        bool has_word = mode->argument != NULL;
        const char *chooser = has_word ? mode->argument : mode->chosen_by[0];
        if (takes_option(command, option, mode) && strcmp(chooser, last) != 0) {
            ms_buffer_printf(out, "%s'%s%s'", last[0] == '\0' ? "" : " and with ",
                             has_word ? "" : "--", chooser);
            last = chooser;
        }
    }
}

/* Report an option that a mode does not take, with the option that it needs, with the `refusal` of
 * the mode where the first mode takes the option, or with the modes that take it.  Returns
 * MS_E_USAGE. */
static ms_status refuse(const ms_invocation *call, const ms_option *option, const ms_mode *mode) {
    const ms_command *command = call->command;
    const char *chooser = missing_chooser(command, option, mode);
    if (chooser != NULL) {
        ms_diag_error(call->diag, "'--%s' goes with '--%s'", option->name, chooser);
    } else if (mode->refusal != NULL && takes_option(command, option, command->modes)) {
        ms_diag_error(call->diag, "'--%s' %s", option->name, mode->refusal);
    } else {
        ms_buffer choosers = {0};
        list_choosers(command, option, &choosers);
        ms_diag_error(call->diag, "'--%s' goes with %s", option->name, ms_buffer_text(&choosers));
        ms_buffer_release(&choosers);
    }
    return MS_E_USAGE;
}

/* Check that the mode takes every option that was given. */
static ms_status check_taken(const ms_invocation *call, const ms_mode *mode) {
    for (const ms_option *option = call->command->options; option->name != NULL; option++) {
        if (ms_cli_has(call, option->name) && !takes_option(call->command, option, mode)) {
            return refuse(call, option, mode);
        }
    }
    return MS_OK;
}

/* Check that the options which the mode requires were given. */
static ms_status check_needs(const ms_invocation *call, const ms_mode *mode) {
    for (int i = 0; i < MS_MODE_OPTIONS_MAX && mode->needs[i] != NULL; i++) {
        if (!ms_cli_has(call, mode->needs[i])) {
            return ms_diag_usage(call->diag, "option '--%s' is missing", mode->needs[i]);
        }
    }
    return MS_OK;
}

/* Check the rules of the mode, each about two options that exclude or need each other. */
static ms_status check_rules(const ms_invocation *call, const ms_mode *mode) {
    for (const ms_option_rule *rule = mode->rules; rule != NULL && rule->option != NULL; rule++) {
        bool has_other = ms_cli_has(call, rule->other);
        /* Exclusive options break the rule if both are given, others if the second is missing. */
        if (!ms_cli_has(call, rule->option) || has_other != rule->is_exclusive) {
            continue;
        }
        if (rule->is_exclusive) {
            ms_diag_error(call->diag, "'--%s' and '--%s' %s", rule->option, rule->other, rule->why);
        } else {
            ms_diag_error(call->diag, "'--%s' %s", rule->option, rule->why);
        }
        return MS_E_USAGE;
    }
    return MS_OK;
}

ms_status ms_cli_run_mode(const ms_invocation *call) {
    const ms_mode *mode = NULL;
    ms_status status = find_mode(call, &mode);
    status = status == MS_OK ? check_taken(call, mode) : status;
    status = status == MS_OK ? check_needs(call, mode) : status;
    status = status == MS_OK ? check_rules(call, mode) : status;
    if (status == MS_OK && mode->writes != NULL) {
        const ms_given given = ms_cli_all(call, "output");
        status = ms_cli_check_output_ending(call, &given, mode->writes);
    }
    return status == MS_OK ? mode->run(call) : status;
}
