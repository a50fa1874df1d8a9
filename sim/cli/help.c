#include "cli/help.h"

#include <string.h>

#include "cli/commands.h"

enum {
    PAGE_COLUMNS = 80,
    OPTION_TEXT_COLUMN = 30,
    COMMAND_TEXT_COLUMN = 14,
    MODE_TEXT_COLUMN = 13
};

const char MS_CLI_SUMMARY[] = "cluster simulator for large-model training";

const ms_cli_exit MS_CLI_EXITS[] = {
    {"0", "done"},
    {"1", "the answer is no: does not fit, nothing left, a guard broken"},
    {"2", "the command line is wrong"},
    {"3", "an input is wrong"},
    {"4", "reading or writing failed, or memory ran out"},
    {"70", "a bug in meshsim"},
    {"130", "interrupted (143: terminated)"},
    {NULL, NULL},
};

/* Column that the end of the text stands at. */
static size_t current_column(const ms_buffer *out) {
    const char *text = ms_buffer_text(out);
    const char *feed = strrchr(text, '\n');
    return strlen(feed == NULL ? text : feed + 1);
}

static void pad_to(ms_buffer *out, size_t column) {
    for (size_t at = current_column(out); at < column; at++) {
        ms_buffer_puts(out, " ");
    }
}

/* Words wrapped at the page's edge; new lines, those of the text too, start at `indent`. */
static void add_wrapped(ms_buffer *out, const char *text, size_t indent) {
    pad_to(out, indent);
    size_t column = current_column(out);
    bool is_line_start = true;
    while (*text != '\0') {
        if (*text == ' ') {
            text++;
            continue;
        }
        size_t width = strcspn(text, " \n");
        if (*text == '\n' || (!is_line_start && column + 1 + width > PAGE_COLUMNS)) {
            ms_buffer_puts(out, "\n");
            column = indent;
            is_line_start = true;
            text += *text == '\n';
            if (*text != '\n') {
                pad_to(out, indent);
            }
            continue;
        }
        if (!is_line_start) {
            ms_buffer_puts(out, " ");
            column++;
        }
        ms_buffer_add(out, text, width);
        column += width;
        is_line_start = false;
        text += width;
    }
    ms_buffer_puts(out, "\n");
}

void ms_cli_help_option_words(const ms_option *option, ms_buffer *out) {
    if (option->letter != '\0') {
        ms_buffer_printf(out, "-%c, ", option->letter);
    }
    ms_buffer_printf(out, "--%s", option->name);
    if (option->argument != NULL) {
        ms_buffer_printf(out, " %s", option->argument);
    }
}

/* "[1,3]": the modes that take an option, where not all do. */
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

void ms_cli_help_option_text(const ms_command *command, const ms_option *option, ms_buffer *out) {
    ms_buffer_puts(out, option->help);
    if (option->is_repeatable) {
        ms_buffer_puts(out, "; may be repeated");
    }
    if (option->fallback != NULL) {
        ms_buffer_printf(out, " (default: %s)", option->fallback);
    }
    add_modes(out, command, option);
}

static void add_option(ms_buffer *out, const ms_command *command, const ms_option *option) {
    ms_buffer_puts(out, option->letter == '\0' ? "      " : "  ");
    ms_cli_help_option_words(option, out);
    if (current_column(out) + 2 > OPTION_TEXT_COLUMN) {
        ms_buffer_puts(out, "\n");
    }
    ms_buffer text;
    ms_buffer_init(&text);
    ms_cli_help_option_text(command, option, &text);
    add_wrapped(out, ms_buffer_text(&text), OPTION_TEXT_COLUMN);
    out->failed = out->failed || text.failed;
    ms_buffer_release(&text);
}

ms_option ms_cli_help_option(const ms_command *command) {
    return (ms_option){.name = "help",
                       .letter = ms_cli_find_letter(command, 'h') == NULL ? 'h' : '\0',
                       .help = "print this page"};
}

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

void ms_cli_help_example(const char *text, ms_buffer *out) {
    ms_buffer_puts(out, " ");
    size_t column = 1;
    while (*text != '\0') {
        size_t width = strcspn(text, " ");
        if (column + 1 + width + 2 > PAGE_COLUMNS) {
            ms_buffer_puts(out, " \\\n     ");
            column = 5;
        }
        ms_buffer_puts(out, " ");
        ms_buffer_add(out, text, width);
        column += 1 + width;
        text += width;
        text += strspn(text, " ");
    }
    ms_buffer_puts(out, "\n");
}

static const char *positional_help(const ms_command *command) {
    return command->positional_help == NULL ? "" : command->positional_help;
}

/* What may stand behind the command's name; of a command with modes, each with its number. */
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
        ms_cli_help_example(command->example, out);
    }
}

void ms_cli_help_program(ms_buffer *out) {
    ms_buffer_printf(out, "meshsim: %s\n\n", MS_CLI_SUMMARY);
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
    for (const ms_cli_exit *row = MS_CLI_EXITS; row->code != NULL; row++) {
        ms_buffer_printf(out, "  %s", row->code);
        add_wrapped(out, row->meaning, COMMAND_TEXT_COLUMN);
    }
    ms_buffer_puts(out, "\nResults go to the standard output, all else to the standard error.\n");
}
