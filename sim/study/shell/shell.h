/* Shell scripts taken apart without being run (sim/study/shell/shell.md). */
#ifndef MS_SHELL_H
#define MS_SHELL_H

#include "meshsim/buffer.h"
#include "meshsim/config.h"
#include "meshsim/diag.h"

/* A word of a command line. */
typedef struct ms_shell_word {
    const char *text; /* variables put in */
    ms_mark mark;     /* where it stands, or the variable that it came from */
    bool is_quoted;   /* some of it */
    bool is_open;     /* some of it only running the script would tell, and is as it is written */
} ms_shell_word;

/* A variable, or an array. */
typedef struct ms_shell_variable {
    const char *name;
    const ms_shell_word *words; /* [count] */
    size_t count;
    bool is_array;
} ms_shell_variable;

/* A command. */
typedef struct ms_shell_command {
    size_t first, count; /* of the words of all commands */
} ms_shell_command;

/* What a reading of a script took for granted, or left out. */
typedef struct ms_shell_note {
    ms_mark mark;
    const char *what; /* the line, such as: if [ "$1" = small ] */
    const char *took; /* such as "lines 4 to 9"; NULL: it was left out */
    const char *why;
} ms_shell_note;

/* Scripts taken apart. */
typedef struct ms_shell {
    ms_vector variables;   /* ms_shell_variable, a new value behind the one before */
    ms_vector words;       /* ms_shell_word, of all commands */
    ms_vector commands;    /* ms_shell_command, those that would be run, in their order */
    ms_vector environment; /* ms_shell_word "NAME VALUE", of what libraries read */
    ms_vector batch;       /* ms_shell_word "NAME VALUE", what lines #SBATCH ask for */
    ms_vector notes;       /* ms_shell_note */
} ms_shell;

/* What is read. */
typedef struct ms_shell_source {
    const ms_text *texts; /* [count], which belong together */
    size_t count;
    const ms_words *defines; /* "NAME=VALUE" of variables that the texts find set, and of positional
                                parameters by their numbers; NULL: none */
} ms_shell_source;

/* Take scripts apart that belong together; none is run.  *shell: filled, also when it fails.
 * Returns MS_OK; MS_E_INPUT (reported); MS_E_NOMEM. */
ms_status ms_shell_read(const ms_shell_source *source, ms_arena *arena, ms_diag *diag,
                        ms_shell *shell);

/* Free the lists. */
void ms_shell_release(ms_shell *shell);

#endif
