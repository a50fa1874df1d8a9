/* Runs commands of the Python package beside the program (tool.h): either in the place of this
 * program, or as a child process that draws a picture and returns it. */
#include "cli/tool.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/usage.h"
#include "cli/show_text.h"
#include "trace/report/report.h"

/* Debian's Python, which has the packages that scripts/setup installs; another Python in PATH may
 * lack them. */
static const char PYTHON[] = "/usr/bin/python3";

/* The path of the package's start file, as installed or in the source tree.  folder: of the running
 * program.  Returns NULL if there is no package, or no memory. */
static const char *find_start(const char *folder, ms_arena *arena) {
    static const char *const PLACES[] = {"/../share/meshsim/python", "/../scripts/python"};
    for (size_t i = 0; i < sizeof PLACES / sizeof PLACES[0]; i++) {
        const char *path =
            ms_arena_printf(arena, "%s%s/meshsim/tools/_start.py", folder, PLACES[i]);
        if (path != NULL && ms_file_is_there(path)) {
            return path;
        }
    }
    return NULL;
}

/* Append an option as "--name=value", once for each time it was given. Options of tools take at
 * most one argument.  words: of const char *.  Returns false when memory runs out. */
static bool add_option(const ms_option *option, const ms_given *given, ms_arena *arena,
                       ms_vector *words) {
    bool is_added = true;
    for (size_t i = 0; i < given->count && is_added; i++) {
        const char *word = ms_cli_argument_count(option) == 0
                               ? ms_arena_printf(arena, "--%s", option->name)
                               : ms_arena_printf(arena, "--%s=%s", option->name, given->values[i]);
        is_added = word != NULL && ms_vector_add(words, &word, 1) != NULL;
    }
    return is_added;
}

/* Append the beginning of a tool's command line: Python in isolated mode (-I: no PYTHONPATH, no
 * current folder), the start file, the path of this program, and the tool's name.  Returns MS_OK;
 * MS_E_IO, MS_E_NOMEM (reported). */
static ms_status list_start(const ms_invocation *call, const char *command, ms_vector *words) {
    char folder[PATH_MAX];
    char program[PATH_MAX];
    const char *start =
        ms_program_folder(folder, sizeof folder) ? find_start(folder, call->arena) : NULL;
    if (start == NULL) {
        ms_diag_error(call->diag,
                      "'%s' is a command of meshsim's Python package, which is not installed "
                      "beside the program",
                      command);
        return MS_E_IO;
    }
    if (realpath("/proc/self/exe", program) == NULL) {
        ms_diag_error(call->diag, "cannot tell the file of the program: %s", strerror(errno));
        return MS_E_IO;
    }
    const char *copy = ms_arena_strdup(call->arena, program);
    const char *const first[] = {PYTHON, "-I", start, copy, command};
    return copy != NULL && ms_vector_add(words, first, sizeof first / sizeof first[0]) != NULL
               ? MS_OK
               : ms_diag_no_memory(call->diag);
}

/* Report that Python cannot be started, with errno.  Returns MS_E_IO. */
static ms_status fail_to_start(const ms_invocation *call) {
    ms_diag_error(call->diag, "cannot start %s: %s; 'apt-get install python3' installs it", PYTHON,
                  strerror(errno));
    return MS_E_IO;
}

/* ---- a tool in the place of this program ---- */

/* List the whole command line of a tool: its beginning, the options that were given, "--" and the
 * positional arguments, NULL behind the last. */
static ms_status list_words(const ms_invocation *call, ms_vector *words) {
    static const char *const END[] = {"--", NULL};
    ms_status status = list_start(call, call->command->name, words);
    bool is_listed = status == MS_OK;
    for (size_t i = 0; is_listed && call->command->options[i].name != NULL; i++) {
        is_listed = add_option(&call->command->options[i], &call->given[i], call->arena, words);
    }
    is_listed = is_listed && ms_vector_add(words, &END[0], 1) != NULL &&
                (call->positional_count == 0 ||
                 ms_vector_add(words, call->positionals, call->positional_count) != NULL) &&
                ms_vector_add(words, &END[1], 1) != NULL;
    return is_listed || status != MS_OK ? status : ms_diag_no_memory(call->diag);
}

ms_status ms_cli_run_tool(const ms_invocation *call) {
    ms_vector words = {.item_B = sizeof(const char *)};
    ms_status status = list_words(call, &words);
    const char *line = ms_show_command_line(call); /* as the user typed it; pages show it */
    if (status == MS_OK && (line == NULL || setenv("MESHSIM_COMMAND_LINE", line, 1) != 0)) {
        status = ms_diag_no_memory(call->diag);
    }
    if (status == MS_OK) {
        execv(PYTHON, words.data);
        status = fail_to_start(call);
    }
    ms_vector_release(&words);
    return status;
}

/* ---- a tool that draws for this program ---- */

/* Report that a picture cannot be drawn.  Returns MS_E_IO. */
static ms_status fail(const ms_invocation *call, const char *what) {
    ms_diag_error(call->diag, "cannot draw: %s", what);
    return MS_E_IO;
}

/* Run the tool with a text on its standard input, and append its output to `out`. Its messages go
 * to our standard error. Its exit code, which is that of a meshsim command, becomes the status. */
static ms_status run_filter(const ms_invocation *call, const ms_filter *tool, ms_buffer *out) {
    int exit_code = 0;
    if (access(PYTHON, X_OK) != 0) {
        return fail_to_start(call);
    }
    if (!ms_filter_run(tool, out, &exit_code)) {
        return fail(call, strerror(errno));
    }
    switch (exit_code) {
    case 0:
        return MS_OK;
    case 3:
        return MS_E_INPUT;
    case 4:
        return MS_E_IO;
    case MS_EXIT_SIGNAL + SIGINT:
    case MS_EXIT_SIGNAL + SIGTERM:
        return MS_E_INTERRUPTED;
    default:
        return fail(call, exit_code < 0 ? "Python was ended by a signal"
                                        : "the tool that draws has failed");
    }
}

/* Draw a result tree.  words: command line of the tool, of const char *.  out: receives the
 * picture. */
static ms_status draw(const ms_invocation *call, const ms_vector *words, const ms_value *tree,
                      ms_buffer *out) {
    ms_buffer text = {0};
    ms_value_write_json(tree, 0, &text);
    ms_status status =
        text.failed || call->arena->has_failed ? ms_diag_no_memory(call->diag) : MS_OK;
    const ms_filter tool = {
        .words = words->data, .text = ms_buffer_text(&text), .length = text.length};
    status = status == MS_OK ? run_filter(call, &tool, out) : status;
    ms_buffer_release(&text);
    return status;
}

/* The package's tool `plot` gets the tree on its standard input, and writes the picture to its
 * standard output. */
ms_status ms_cli_draw(const ms_invocation *call, const char *option, const char *const *words,
                      const ms_value *tree) {
    static const char *const END[] = {"--", "-", NULL};
    if (!ms_cli_has(call, option)) {
        return MS_OK;
    }
    ms_vector all = {.item_B = sizeof(const char *)};
    ms_buffer picture = {0};
    ms_status status = list_start(call, "plot", &all);
    for (size_t i = 0; words != NULL && words[i] != NULL; i++) {
        ms_vector_add(&all, &words[i], 1);
    }
    ms_vector_add(&all, END, sizeof END / sizeof END[0]);
    status = status == MS_OK && all.failed ? ms_diag_no_memory(call->diag) : status;
    status = status == MS_OK ? draw(call, &all, tree, &picture) : status;
    ms_vector_release(&all);
    if (status != MS_OK) {
        ms_buffer_release(&picture);
        return status;
    }
    return ms_cli_write_option(call, option, &picture);
}

ms_status ms_cli_draw_pareto(const ms_invocation *call, const ms_value *tree) {
    static const char *const WORDS[] = {"--of=pareto", NULL};
    return ms_cli_draw(call, "pareto", WORDS, tree);
}
