/* meshsim help: prints help pages and manual pages, and answers the completion scripts of
 * shells. */
#include <string.h>

#include "cli/commands.h"
#include "cli/complete.h"
#include "cli/help.h"

ms_status ms_cli_print_help(const ms_invocation *call, const ms_command *command, bool is_man) {
    ms_buffer page = {0};
    if (command == NULL) {
        (is_man ? ms_cli_man_program : ms_cli_help_program)(&page);
    } else {
        (is_man ? ms_cli_man_command : ms_cli_help_command)(command, &page);
    }
    return ms_cli_print_page(call, &page);
}

/* Print the words that may complete the last of an unfinished command line.  words: [count] behind
 * "meshsim". */
static ms_status print_completion(const ms_invocation *call, size_t count,
                                  const char *const *words) {
    ms_buffer page = {0};
    ms_status status = ms_cli_complete(count, words, call->arena, &page);
    if (status != MS_OK) {
        ms_buffer_release(&page);
        return ms_diag_no_memory(call->diag);
    }
    return ms_cli_print_page(call, &page);
}

/* The first word may be --complete (for shells) or --man; the word behind it, if there is one,
 * names a command. */
ms_status ms_cli_run_help(const ms_invocation *call, size_t count, const char *const *words) {
    if (count > 0 && strcmp(words[0], "--complete") == 0) {
        return print_completion(call, count - 1, words + 1);
    }
    bool is_man = count > 0 && strcmp(words[0], "--man") == 0;
    size_t at = is_man ? 1 : 0;
    if (count > at + 1) {
        return ms_diag_usage(call->diag, "superfluous argument '%s'", words[at + 1]);
    }
    /* 'help', 'help help' and 'help --help' print the page of the program. */
    const char *name = count == at ? "help" : words[at];
    const ms_command *command = NULL;
    if (strcmp(name, "help") != 0 && strcmp(name, "--help") != 0) {
        command = ms_cli_find_command(name);
        if (command == NULL) {
            return ms_cli_unknown_command(name, call->diag);
        }
    }
    return ms_cli_print_help(call, command, is_man);
}
