/* What all commands share: help, versions, suggestions, streams. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "ms_run.h"

static void expect_width(const char *page) {
    for (const char *line = page; *line != '\0'; line = strchr(line, '\n') + 1) {
        cr_assert_not_null(strchr(line, '\n'), "the page does not end with a line feed");
        cr_assert_leq(strcspn(line, "\n"), 80U, "%.100s", line);
    }
}

Test(cli_core, help_lists_commands_and_exit_codes) {
    ms_run_result by_option = MS_RUN("--help");
    ms_run_result by_word = MS_RUN("help");
    cr_assert_eq(by_option.exit_code, 0);
    cr_assert_eq(by_option.err.length, 0);
    cr_assert_str_eq(ms_run_out(&by_option), ms_run_out(&by_word));
    cr_assert_not_null(strstr(ms_run_out(&by_option), "\n  schedule "));
    cr_assert_not_null(strstr(ms_run_out(&by_option), "\n  70 "));
    expect_width(ms_run_out(&by_option));
    ms_run_release(&by_option);
    ms_run_release(&by_word);
}

enum { COMMANDS_MAX = 64 };

/* Names of all commands, from the help page. Returns how many. */
static size_t list_commands(char names[COMMANDS_MAX][32]) {
    ms_run_result page = MS_RUN("help");
    const char *at = strstr(ms_run_out(&page), "\ncommands:\n") + 11;
    size_t count = 0;
    while (*at == ' ' && count < COMMANDS_MAX) {
        at += 2;
        size_t width = strcspn(at, " \n");
        if (width > 0 && width < 32) { /* else a continuation of the line above */
            memcpy(names[count], at, width);
            names[count++][width] = '\0';
        }
        at += strcspn(at, "\n") + 1;
    }
    ms_run_release(&page);
    return count;
}

Test(cli_core, every_command_has_a_page_with_an_example) {
    char names[COMMANDS_MAX][32];
    size_t count = list_commands(names);
    cr_assert_geq(count, 2U);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], "help") == 0) {
            continue;
        }
        ms_run_result by_word = MS_RUN("help", names[i]);
        ms_run_result by_option = MS_RUN(names[i], "--help");
        ms_run_result by_letter = MS_RUN(names[i], "x", "-h", "--nonsense");
        cr_assert_eq(by_word.exit_code, 0, "%s", ms_run_err(&by_word));
        cr_assert_str_eq(ms_run_out(&by_word), ms_run_out(&by_option));
        cr_assert_str_eq(ms_run_out(&by_word), ms_run_out(&by_letter));
        cr_assert_not_null(strstr(ms_run_out(&by_word), "\nexample:\n  meshsim "), "%s", names[i]);
        expect_width(ms_run_out(&by_word));
        ms_run_release(&by_word);
        ms_run_release(&by_option);
        ms_run_release(&by_letter);
    }
}

Test(cli_core, version) {
    ms_run_result result = MS_RUN("--version");
    cr_assert_eq(result.exit_code, 0);
    cr_assert_eq(strncmp(ms_run_out(&result), "meshsim ", 8), 0);
    cr_assert_eq(strspn(ms_run_out(&result) + 8, "0123456789."), result.out.length - 9);
    ms_run_release(&result);
}

Test(cli_core, usage_faults) {
    static const struct {
        const char *words[4];
        const char *message;
    } BAD[] = {
        {{NULL}, "no command given"},
        {{"schedul"}, "unknown command 'schedul'; did you mean 'schedule'?"},
        {{"hepl"}, "did you mean 'help'?"},
        {{"xyzzyxyzzy"}, "unknown command 'xyzzyxyzzy'\n"},
        {{"--nonsense"}, "unknown option '--nonsense'"},
        {{"help", "schedul"}, "did you mean 'schedule'?"},
        {{"help", "schedule", "more"}, "superfluous argument 'more'"},
        {{""}, "unknown command ''"},
    };
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        ms_run_result result = ms_run_with(&(ms_run_setup){0}, BAD[i].words);
        cr_assert_eq(result.exit_code, 2, "row %zu", i);
        cr_assert_eq(result.out.length, 0);
        cr_assert_not_null(strstr(ms_run_err(&result), BAD[i].message), "row %zu: %s", i,
                           ms_run_err(&result));
        cr_assert_not_null(strstr(ms_run_err(&result), "meshsim: try 'meshsim --help'\n"));
        ms_run_release(&result);
    }
}

Test(cli_core, two_dashes_end_the_options) {
    ms_run_result result = MS_RUN("schedule", "-p2", "-m2", "--", "--help");
    cr_assert_eq(result.exit_code, 2);
    cr_assert_not_null(strstr(ms_run_err(&result), "unknown schedule '--help'"));
    ms_run_release(&result);
}

Test(cli_core, lost_output_is_a_failure) {
    static const char *const CALLS[][6] = {{"--help"},
                                           {"--version"},
                                           {"help", "--man"},
                                           {"schedule", "gpipe", "-p2", "-m2"},
                                           {"schedule", "gpipe", "-p2", "-m2", "--json"}};
    for (size_t i = 0; i < sizeof CALLS / sizeof CALLS[0]; i++) {
        ms_run_result full = ms_run_with(&(ms_run_setup){.stdout_path = "/dev/full"}, CALLS[i]);
        cr_assert_eq(full.exit_code, 4, "row %zu", i);
        cr_assert_not_null(strstr(ms_run_err(&full), "standard output"), "%s", ms_run_err(&full));
        ms_run_result closed = ms_run_with(&(ms_run_setup){.has_closed_stdout = true}, CALLS[i]);
        cr_assert_eq(closed.exit_code, 4, "row %zu", i);
        ms_run_release(&full);
        ms_run_release(&closed);
    }
}

Test(cli_core, closed_pipe_is_a_failure_not_a_death) {
    int code = system("code=$({ { sleep 0.2; '" MS_BINARY_DIR "/meshsim' --help 2>/dev/null; "
                      "echo $? >&3; } | true; } 3>&1); test \"$code\" = 4");
    cr_assert_eq(code, 0);
}

/* A line that starts with a dot is one of the macros we use. */
static void check_macros(const char *text) {
    static const char *const MACROS[] = {".TH ", ".SH ",  ".SS ",  ".TP\n", ".B ",  ".BR ",
                                         ".I ",  ".PP\n", ".EX\n", ".EE\n", ".br\n"};
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        bool is_known = *line != '.' && *line != '\'';
        for (size_t i = 0; i < sizeof MACROS / sizeof MACROS[0]; i++) {
            is_known = is_known || strncmp(line, MACROS[i], strlen(MACROS[i])) == 0;
        }
        cr_assert(is_known, "%.40s", line);
    }
}

Test(cli_core, manual_pages_are_roff_and_name_every_command) {
    ms_run_result page = MS_RUN("help", "--man");
    cr_assert_eq(page.exit_code, 0);
    const char *text = ms_run_out(&page);
    cr_assert_eq(strncmp(text, ".TH MESHSIM 1 ", 14), 0);
    check_macros(text);
    char names[COMMANDS_MAX][32];
    size_t count = list_commands(names);
    for (size_t i = 0; i < count; i++) {
        char heading[64];
        if (strcmp(names[i], "help") == 0) {
            continue;
        }
        snprintf(heading, sizeof heading, "\n.BR meshsim\\-%s (1)\n", names[i]);
        cr_assert_not_null(strstr(text, heading), "%s", names[i]);
        ms_run_result own = MS_RUN("help", "--man", names[i]);
        cr_assert_eq(own.exit_code, 0, "%s", names[i]);
        check_macros(ms_run_out(&own));
        ms_run_release(&own);
    }
    ms_run_release(&page);
}
