#include "cli/man_pages.h"

#include <ctype.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/help.h"

/* Text for roff: no accidental requests, escapes or typographic hyphens; a blank line becomes a
 * paragraph, and a line of its own stays one.  line_feed: request that keeps it, "" where roff
 * keeps lines by itself. */
static void add_lines(ms_buffer *out, const char *text, const char *line_feed) {
    bool is_line_start = true;
    for (; *text != '\0'; text++) {
        if (is_line_start && *text == '\n') {
            ms_buffer_puts(out, ".PP\n");
            continue;
        }
        if (is_line_start && (*text == '.' || *text == '\'')) {
            ms_buffer_puts(out, "\\&");
        }
        if (*text == '\\') {
            ms_buffer_puts(out, "\\e");
        } else if (*text == '-') {
            ms_buffer_puts(out, "\\-");
        } else {
            ms_buffer_add(out, text, 1);
        }
        is_line_start = *text == '\n';
        if (is_line_start && text[1] != '\n' && text[1] != '\0') {
            ms_buffer_puts(out, line_feed);
        }
    }
    ms_buffer_puts(out, "\n");
}

static void add_roff(ms_buffer *out, const char *text) {
    add_lines(out, text, ".br\n");
}

/* ".TH MESHSIM-RUN 1 ..." and the section NAME; `command` NULL: the program's. */
static void begin_page(const ms_command *command, ms_buffer *out) {
    ms_buffer_puts(out, ".TH MESHSIM");
    for (const char *at = command == NULL ? "" : command->name; *at != '\0'; at++) {
        ms_buffer_printf(out, "%s%c", at == command->name ? "\\-" : "",
                         toupper((unsigned char)*at));
    }
    ms_buffer_printf(out,
                     " 1 \"\" \"meshsim " MESHSIM_VERSION "\" \"meshsim manual\"\n.SH NAME\n"
                     "meshsim%s%s \\- ",
                     command == NULL ? "" : "\\-", command == NULL ? "" : command->name);
    add_roff(out, command == NULL ? MS_CLI_SUMMARY : command->summary);
}

static void add_exits(ms_buffer *out) {
    ms_buffer_puts(out, ".SH EXIT STATUS\n");
    for (const ms_cli_exit *row = MS_CLI_EXITS; row->code != NULL; row++) {
        ms_buffer_printf(out, ".TP\n.B %s\n", row->code);
        add_roff(out, row->meaning);
    }
}

/* Its usage; of a command with modes, each with its number as --help has it. */
static void add_synopsis(const ms_command *command, ms_buffer *out) {
    ms_buffer_puts(out, ".SH SYNOPSIS\n");
    if (command->modes == NULL) {
        ms_buffer_printf(out, ".B meshsim %s\n", command->name);
        if (command->positional_help != NULL) {
            add_roff(out, command->positional_help);
        }
        ms_buffer_puts(out, "[\\fIoptions\\fR]\n");
        return;
    }
    for (const ms_mode *mode = command->modes; mode->usage != NULL; mode++) {
        ms_buffer_printf(out, ".TP\n.B meshsim %s ", command->name);
        add_roff(out, mode->usage);
        ms_buffer_printf(out, "[%d] ", (int)(mode - command->modes) + 1);
        add_roff(out, mode->summary);
    }
    ms_buffer_puts(out, ".PP\nAn option with numbers behind it goes with these modes only.\n");
}

static void add_option(const ms_command *command, const ms_option *option, ms_buffer *out) {
    ms_buffer words;
    ms_buffer text;
    ms_buffer_init(&words);
    ms_buffer_init(&text);
    ms_cli_help_option_words(option, &words);
    ms_cli_help_option_text(command, option, &text);
    ms_buffer_puts(out, ".TP\n.B ");
    add_roff(out, ms_buffer_text(&words));
    add_roff(out, ms_buffer_text(&text));
    out->failed = out->failed || words.failed || text.failed;
    ms_buffer_release(&words);
    ms_buffer_release(&text);
}

static void add_options(const ms_command *command, ms_buffer *out) {
    ms_buffer_puts(out, ".SH OPTIONS\n");
    for (const ms_option *option = command->options; option != NULL && option->name != NULL;
         option++) {
        if (option->section != NULL) {
            ms_buffer_puts(out, ".SS ");
            add_roff(out, option->section);
        }
        add_option(command, option, out);
    }
    const ms_option help = ms_cli_help_option(command);
    add_option(command, &help, out);
}

static void add_example(const ms_command *command, ms_buffer *out) {
    ms_buffer lines;
    ms_buffer_init(&lines);
    ms_cli_help_example(command->example, &lines);
    ms_buffer_puts(out, ".SH EXAMPLE\n.EX\n");
    add_lines(out, ms_buffer_text(&lines), "");
    ms_buffer_puts(out, ".EE\n");
    out->failed = out->failed || lines.failed;
    ms_buffer_release(&lines);
}

void ms_cli_man_command(const ms_command *command, ms_buffer *out) {
    begin_page(command, out);
    add_synopsis(command, out);
    if (command->description != NULL) {
        ms_buffer_puts(out, ".SH DESCRIPTION\n");
        add_roff(out, command->description);
    }
    add_options(command, out);
    if (command->example != NULL) {
        add_example(command, out);
    }
    add_exits(out);
    ms_buffer_puts(out, ".SH SEE ALSO\n.BR meshsim (1)\n");
}

void ms_cli_man_program(ms_buffer *out) {
    begin_page(NULL, out);
    ms_buffer_puts(
        out,
        ".SH SYNOPSIS\n.B meshsim\n\\fICOMMAND\\fR [\\fIarguments\\fR]\n.br\n"
        ".B meshsim help\n\\fICOMMAND\\fR\n.br\n.B meshsim \\-\\-version\n"
        ".SH COMMANDS\nEvery command has a page of its own, such as \\fBmeshsim\\-run\\fR(1).\n");
    for (const ms_command *const *command = ms_cli_commands(); *command != NULL; command++) {
        ms_buffer_printf(out, ".TP\n.BR meshsim\\-%s (1)\n", (*command)->name);
        add_roff(out, (*command)->summary);
    }
    ms_buffer_puts(
        out,
        ".TP\n.B meshsim help \\-\\-man\nThis page; with a command behind it, that command's.\n");
    add_exits(out);
    ms_buffer_puts(
        out,
        ".SH ENVIRONMENT\n.TP\n.B MESHSIM_DATA\nThe folder in which the folders \\fIplatforms\\fR "
        "and \\fIworkloads\\fR are, in the place of the one installed beside the program.\n");
}
