/* Makes help pages (--help) and manual pages (roff) from the tables of commands, options and modes.
 * Help pages have 80 columns; a text begins at a fixed column and is wrapped there. */
#include "cli/help.h"

#include <ctype.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/show_text.h"

/* Columns, from 0, at which the texts of options, commands and modes begin. */
enum { OPTION_TEXT_COLUMN = 30, COMMAND_TEXT_COLUMN = 14, MODE_TEXT_COLUMN = 13 };

/* The program in one line. */
static const char SUMMARY[] = "cluster simulator for large-model training";

/* Exit codes and what they mean. */
static const struct exit_code {
    const char *code; /* NULL ends the rows */
    const char *meaning;
} EXITS[] = {
    {"0", "done"},
    {"1", "the answer is no: does not fit, nothing left, a guard broken"},
    {"2", "the command line is wrong"},
    {"3", "an input is wrong"},
    {"4", "reading or writing failed, or memory ran out"},
    {"70", "a bug in meshsim"},
    {"130", "interrupted (143: terminated)"},
    {NULL, NULL},
};

/* Column, from 0, at which the next character of the page stands. */
static size_t current_column(const ms_buffer *out) {
    const char *text = ms_buffer_text(out);
    const char *feed = strrchr(text, '\n');
    return strlen(feed == NULL ? text : feed + 1);
}

/* Append a text of one or several lines, each indented to a column and wrapped at column 80. */
static void add_wrapped(ms_buffer *out, const char *text, size_t indent) {
    while (*text != '\0') {
        ms_buffer line = {0};
        size_t length = strcspn(text, "\n");
        ms_buffer_add(&line, text, length);
        size_t at = current_column(out);
        ms_buffer_printf(out, "%*s", length > 0 && at < indent ? (int)(indent - at) : 0, "");
        ms_show_wrapped_at(current_column(out), indent, ms_buffer_text(&line), out);
        ms_buffer_release_part(&line, out);
        text += length + (text[length] == '\n');
    }
}

/* Append an option as a user types it: "-o, --output FILE". */
static void add_option_words(const ms_option *option, ms_buffer *out) {
    if (option->letter != '\0') {
        ms_buffer_printf(out, "-%c, ", option->letter);
    }
    ms_buffer_printf(out, "--%s", option->name);
    if (option->argument != NULL) {
        ms_buffer_printf(out, " %s", option->argument);
    }
}

/* Append the numbers of the modes that take an option, such as " [1,3]", unless all modes take
 * it. */
static void add_modes(ms_buffer *out, const ms_command *command, const ms_option *option) {
    const char *before = " [";
    for (unsigned i = 0; option->modes != 0 && command->modes[i].usage != NULL; i++) {
        if ((option->modes & (1U << i)) != 0) {
            ms_buffer_printf(out, "%s%u", before, i + 1);
            before = ",";
        }
    }
    ms_buffer_puts(out, option->modes != 0 ? "]" : "");
}

/* Append the text of an option: its help, whether it may be repeated, its default and its modes. */
static void add_option_text(const ms_command *command, const ms_option *option, ms_buffer *out) {
    ms_buffer_puts(out, option->help);
    if (option->is_repeatable) {
        ms_buffer_puts(out, "; may be repeated");
    }
    if (option->fallback != NULL) {
        ms_buffer_printf(out, " (default: %s)", option->fallback);
    }
    add_modes(out, command, option);
}

/* Append an option's words and text to a help page; the text begins on a new line where the words
 * are too long. */
static void add_option(ms_buffer *out, const ms_command *command, const ms_option *option) {
    ms_buffer_puts(out, option->letter == '\0' ? "      " : "  ");
    add_option_words(option, out);
    if (current_column(out) + 2 > OPTION_TEXT_COLUMN) { /* 2: blanks between words and text */
        ms_buffer_puts(out, "\n");
    }
    ms_buffer text = {0};
    add_option_text(command, option, &text);
    add_wrapped(out, ms_buffer_text(&text), OPTION_TEXT_COLUMN);
    ms_buffer_release_part(&text, out);
}

ms_option ms_cli_help_option(const ms_command *command) {
    return (ms_option){.name = "help",
                       .letter = ms_cli_find_letter(command, 'h') == NULL ? 'h' : '\0',
                       .help = "print this page"};
}

/* Append all options of a command, under the headings of their sections, and --help. */
static void add_options(ms_buffer *out, const ms_command *command) {
    bool has_sections = command->options != NULL && command->options->section != NULL;
    ms_buffer_puts(out, has_sections ? "" : "\noptions:\n");
    for (const ms_option *option = command->options; option != NULL && option->name != NULL;
         option++) {
        if (option->section != NULL) {
            ms_buffer_printf(out, "\n%s:\n", option->section);
        }
        add_option(out, command, option);
    }
    const ms_option help = ms_cli_help_option(command);
    add_option(out, command, &help);
}

/* Append a command line, indented, broken at blanks where it is too long; a broken line ends with a
 * backslash. */
static void break_example(const char *text, ms_buffer *out) {
    ms_buffer line = {0};
    /* ms_show_wrapped_at breaks a command at line feeds. */
    for (; *text != '\0'; text++) {
        ms_buffer_add(&line, *text == ' ' ? "\n" : text, 1);
    }
    ms_buffer_puts(out, "  ");
    ms_show_wrapped_at(2, 6, ms_buffer_text(&line), out);
    ms_buffer_release_part(&line, out);
}

/* The positional arguments of a command as the help page prints them; "" without any. */
static const char *positional_help(const ms_command *command) {
    return command->positional_help == NULL ? "" : command->positional_help;
}

/* Append the usage of a command: one line, or for a command with modes a line and a summary for
 * each, with its number. */
static void add_usage(ms_buffer *out, const ms_command *command) {
    static const char MARGIN[] = "       ";
    if (command->modes == NULL) {
        ms_buffer_printf(out, "usage: meshsim %s %s%s[options]\n", command->name,
                         positional_help(command), positional_help(command)[0] == '\0' ? "" : " ");
        return;
    }
    for (const ms_mode *mode = command->modes; mode->usage != NULL; mode++) {
        ms_buffer_printf(out, "%smeshsim %s %s [options]\n%s  [%d]",
                         mode == command->modes ? "usage: " : MARGIN, command->name, mode->usage,
                         MARGIN, (int)(mode - command->modes) + 1);
        add_wrapped(out, mode->summary, MODE_TEXT_COLUMN);
    }
    ms_buffer_puts(out, "\nAn option with numbers behind it goes with these modes only.\n");
}

void ms_cli_help_command(const ms_command *command, ms_buffer *out) {
    add_usage(out, command);
    ms_buffer_puts(out, "\n");
    add_wrapped(out, command->summary, 0);
    if (command->description != NULL) {
        ms_buffer_puts(out, "\n");
        add_wrapped(out, command->description, 0);
    }
    add_options(out, command);
    if (command->example != NULL) {
        ms_buffer_puts(out, "\nexample:\n");
        break_example(command->example, out);
    }
}

void ms_cli_help_program(ms_buffer *out) {
    ms_buffer_printf(out, "meshsim: %s\n\n", SUMMARY);
    ms_buffer_puts(out, "usage: meshsim COMMAND [arguments]\n"
                        "       meshsim help COMMAND\n"
                        "       meshsim --version\n\ncommands:\n");
    for (const ms_command *const *command = ms_cli_commands(); *command != NULL; command++) {
        ms_buffer_printf(out, "  %s", (*command)->name);
        add_wrapped(out, (*command)->summary, COMMAND_TEXT_COLUMN);
    }
    ms_buffer_puts(out, "  help");
    add_wrapped(out, "print this page, or that of a command", COMMAND_TEXT_COLUMN);
    ms_buffer_puts(out, "\nexit codes:\n");
    for (const struct exit_code *row = EXITS; row->code != NULL; row++) {
        ms_buffer_printf(out, "  %s", row->code);
        add_wrapped(out, row->meaning, COMMAND_TEXT_COLUMN);
    }
    ms_buffer_puts(out, "\nResults go to the standard output, all else to the standard error.\n");
}

/* ---- manual pages ---- */

/* Append a text for roff: leading dots, backslashes and hyphens are escaped, and a blank line
 * becomes a paragraph.  line_feed: request that keeps a line break of the text, such as ".br\n"; ""
 * inside .EX, where roff keeps lines. */
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

/* Append a text for roff that keeps its line breaks. */
static void add_roff(ms_buffer *out, const char *text) {
    add_lines(out, text, ".br\n");
}

/* Append the title of a manual page, ".TH MESHSIM\-RUN 1 ...", and its section NAME.  command:
 * NULL: the page of the program. */
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
    add_roff(out, command == NULL ? SUMMARY : command->summary);
}

/* Append the section of exit codes. */
static void add_exits(ms_buffer *out) {
    ms_buffer_puts(out, ".SH EXIT STATUS\n");
    for (const struct exit_code *row = EXITS; row->code != NULL; row++) {
        ms_buffer_printf(out, ".TP\n.B %s\n", row->code);
        add_roff(out, row->meaning);
    }
}

/* Append the section SYNOPSIS: the usage of a command, or that of each mode with the number that
 * --help gives the mode. */
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

/* Append an option's words and text to a manual page. */
static void add_man_option(const ms_command *command, const ms_option *option, ms_buffer *out) {
    ms_buffer words = {0};
    ms_buffer text = {0};
    add_option_words(option, &words);
    add_option_text(command, option, &text);
    ms_buffer_puts(out, ".TP\n.B ");
    add_roff(out, ms_buffer_text(&words));
    add_roff(out, ms_buffer_text(&text));
    ms_buffer_release_part(&words, out);
    ms_buffer_release_part(&text, out);
}

/* Append the section OPTIONS: all options of a command, under the headings of their sections, and
 * --help. */
static void add_man_options(const ms_command *command, ms_buffer *out) {
    ms_buffer_puts(out, ".SH OPTIONS\n");
    for (const ms_option *option = command->options; option != NULL && option->name != NULL;
         option++) {
        if (option->section != NULL) {
            ms_buffer_puts(out, ".SS ");
            add_roff(out, option->section);
        }
        add_man_option(command, option, out);
    }
    const ms_option help = ms_cli_help_option(command);
    add_man_option(command, &help, out);
}

/* Append the section EXAMPLE of a command that has one. */
static void add_example(const ms_command *command, ms_buffer *out) {
    ms_buffer lines = {0};
    break_example(command->example, &lines);
    ms_buffer_puts(out, ".SH EXAMPLE\n.EX\n");
    add_lines(out, ms_buffer_text(&lines), "");
    ms_buffer_puts(out, ".EE\n");
    ms_buffer_release_part(&lines, out);
}

/* The page has the sections of man-pages(7), in their order, as roff text. */
void ms_cli_man_command(const ms_command *command, ms_buffer *out) {
    begin_page(command, out);
    add_synopsis(command, out);
    if (command->description != NULL) {
        ms_buffer_puts(out, ".SH DESCRIPTION\n");
        add_roff(out, command->description);
    }
    add_man_options(command, out);
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
