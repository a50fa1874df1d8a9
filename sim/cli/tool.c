#include "cli/tool.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "meshsim/failure.h"
#include "meshsim/usage.h"

/* Debian's, which has the packages that scripts/setup installs; another one in PATH may not. */
static const char PYTHON[] = "/usr/bin/python3";

/* The file with which the package starts; NULL: it is not there, or no memory. */
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

/* Append the option with all its values. */
static bool add_option(const ms_option *option, const ms_given *given, ms_arena *arena,
                       ms_vector *words) {
    bool is_added = true;
    for (size_t i = 0; i < given->count && is_added; i++) {
        const char *word = option->arguments == 0
                               ? ms_arena_printf(arena, "--%s", option->name)
                               : ms_arena_printf(arena, "--%s=%s", option->name, given->values[i]);
        is_added = word != NULL && ms_vector_add(words, &word, 1) != NULL;
    }
    return is_added;
}

/* List the words of the new program, NULL behind the last. */
static ms_status list_words(const ms_invocation *call, const char *start, ms_vector *words) {
    char program[PATH_MAX];
    if (realpath("/proc/self/exe", program) == NULL) {
        ms_diag_error(call->diag, "cannot tell the file of the program: %s", strerror(errno));
        return MS_E_IO;
    }
    const char *copy = ms_arena_strdup(call->arena, program);
    const char *const first[] = {PYTHON, "-I", start, copy, call->command->name};
    static const char *const END[] = {"--", NULL};
    bool is_listed =
        copy != NULL && ms_vector_add(words, first, sizeof first / sizeof first[0]) != NULL;
    for (size_t i = 0; is_listed && call->command->options[i].name != NULL; i++) {
        is_listed = add_option(&call->command->options[i], &call->given[i], call->arena, words);
    }
    is_listed = is_listed && ms_vector_add(words, &END[0], 1) != NULL &&
                (call->positional_count == 0 ||
                 ms_vector_add(words, call->positionals, call->positional_count) != NULL) &&
                ms_vector_add(words, &END[1], 1) != NULL;
    return is_listed ? MS_OK : ms_diag_no_memory(call->diag);
}

ms_status ms_cli_run_tool(const ms_invocation *call) {
    char folder[PATH_MAX];
    ms_vector words;
    const char *start =
        ms_program_folder(folder, sizeof folder) ? find_start(folder, call->arena) : NULL;
    if (start == NULL) {
        ms_diag_error(
            call->diag,
            "'%s' is a command of meshsim's Python package, which is not installed beside "
            "the program",
            call->command->name);
        return MS_E_IO;
    }
    ms_vector_init(&words, sizeof(const char *));
    ms_status status = list_words(call, start, &words);
    if (status == MS_OK) {
        execv(PYTHON, words.data);
        ms_diag_error(call->diag, "cannot start %s: %s; 'apt-get install python3' installs it",
                      PYTHON, strerror(errno));
        status = MS_E_IO;
    }
    ms_vector_release(&words);
    return status;
}
