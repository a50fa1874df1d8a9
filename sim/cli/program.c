/* Runs the program for one command line (meshsim/program.h): finds the command, parses its options,
 * runs it, writes its results and messages, and returns the exit code. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/interrupt.h"
#include "base/status.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/help.h"
#include "cli/job_options.h"
#include "meshsim/program.h"

/* Occupy the descriptors of standard streams that are closed. Otherwise the next file that is
 * opened would get such a number, and output for the stream would end up in that file. Each is
 * opened in the wrong direction, so that every use of it fails. */
static void guard_standard_streams(void) {
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
        if (fcntl(file, F_GETFD) == -1 && errno == EBADF) {
            int guard = open("/dev/null", file == STDIN_FILENO ? O_WRONLY : O_RDONLY);
            if (guard != file && guard >= 0) {
                close(guard);
            }
        }
    }
}

/* Parse the words of a command and run it, or print its help page.  words: [count] behind the
 * command's name. */
static ms_status run_command(ms_invocation *call, int count, char *const *words) {
    bool wants_help = false;
    ms_status status = ms_cli_parse(call, (size_t)count, (const char *const *)words, &wants_help);
    if (status != MS_OK) {
        return status;
    }
    if (wants_help) {
        return ms_cli_print_help(call, call->command, false);
    }
    status = ms_cli_check_endings(call);
    status = status == MS_OK ? call->command->run(call) : status;
    if (status == MS_OK || status == MS_E_NO) {
        ms_status flushed = ms_cli_finish_stdout(call);
        status = flushed == MS_OK ? status : flushed;
    }
    return status;
}

/* Whether a word is one of two words. */
static bool is_one_of(const char *word, const char *a, const char *b) {
    return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

/* Commands for a user who gives none; they work in any folder. */
static const char FIRST_STEPS[] =
    "to begin with, type\n"
    "  meshsim run tiny -o tiny.h5            # a small model on one node: where a step's time "
    "goes\n"
    "  meshsim report tiny.h5 -o tiny.html    # the same as a page for a browser\n"
    "  meshsim new --model tiny --platform dgx-h100 --gpus 16 -o my.yaml    # one of your own\n";

/* Run what the first word asks for: help, the version, or a command.  words: [count] with the name
 * of the program first. */
static ms_status dispatch(ms_invocation *call, int count, char *const *words) {
    if (count < 2) {
        ms_diag_error(call->diag, "no command given");
        fputs(FIRST_STEPS, stderr);
        return MS_E_USAGE;
    }
    if (is_one_of(words[1], "--help", "-h") || strcmp(words[1], "help") == 0) {
        return ms_cli_run_help(call, (size_t)count - 2, (const char *const *)words + 2);
    }
    if (is_one_of(words[1], "--version", "-V")) {
        ms_buffer text = {0};
        ms_buffer_printf(&text, "meshsim %s\n", ms_program_version());
        return ms_cli_print_page(call, &text);
    }
    call->command = ms_cli_find_command(words[1]);
    if (call->command == NULL) {
        return ms_cli_unknown_command(words[1], call->diag);
    }
    call->words = (const char *const *)words + 1;
    call->word_count = (size_t)count - 1;
    return run_command(call, count - 2, words + 2);
}

/* State of the messages of one program run. */
typedef struct talk {
    ms_diag *diag;
    ms_vector *results; /* as in ms_invocation */
    int errors_told;    /* errors that were written so far */
} talk;

/* Write a message: `write` of the program's ms_diag, with a talk as its context. Errors are written
 * at once; notes and warnings in order with the kept results. After a failed system call only that
 * failure is written, once, as it may be the cause of any later error. */
static void write_message(void *context, const char *text) {
    talk *state = context;
    bool has_failed = ms_failure_count() > 0;
    if (has_failed && state->errors_told == 0) {
        fprintf(stderr, "meshsim: error: %s\n", ms_failure_text());
        state->errors_told = 1;
    } else if (!has_failed) {
        bool is_error = state->diag->errors > state->errors_told;
        ms_cli_write_message(is_error ? NULL : state->results, text);
        state->errors_told = state->diag->errors;
    }
}

/* Say which folder is missing and what to set, if the program lies apart from its data, as a copy
 * of it does: without the data no platform, model or workload has a name. */
static void tell_missing_data(const ms_invocation *call) {
    const char *data = ms_cli_data_folder(call->arena);
    const char *platforms = ms_arena_printf(call->arena, "%s/platforms", data);
    if (platforms != NULL && !ms_file_is_there(platforms)) {
        ms_diag_note(call->diag, NULL, NULL,
                     "the folder '%s' of meshsim's platforms, models and workloads is not there; "
                     "set MESHSIM_DATA to the folder that holds 'platforms' and 'workloads'",
                     data);
    }
}

/* Write the messages that are due at the end: a failed system call that no code reported, missing
 * data of a command that found its input wrong, the number of faults beyond the limit, and how to
 * get help. */
static void finish_messages(const ms_invocation *call, ms_status status) {
    if (ms_failure_count() > 0 && call->diag->errors == 0) {
        ms_diag_error(call->diag, "%s", ms_failure_text());
    }
    if (status == MS_E_INPUT) {
        tell_missing_data(call);
    }
    ms_diag_finish(call->diag);
    if (status == MS_E_USAGE) {
        fprintf(stderr, "meshsim: try 'meshsim %s%s--help'\n",
                call->command == NULL ? "" : call->command->name, call->command == NULL ? "" : " ");
    }
}

/* The exit code of the program. After an interrupt that let the program end by itself, the code is
 * 128 and the number of the signal, as if the signal had ended it. */
static int exit_code(ms_status status) {
    int number = status == MS_E_INTERRUPTED ? ms_interrupt_pending_signal() : 0;
    return number != 0 ? MS_EXIT_SIGNAL + number : ms_status_exit_code(status);
}

int ms_program_main(int count, char *const *words) {
    guard_standard_streams();
    ms_interrupt_install(); /* also makes a closed pipe a write error with exit code 4 */
    ms_diag diag;
    ms_vector results = {.item_B = sizeof(ms_cli_result)};
    talk told = {.diag = &diag, .results = &results};
    ms_diag_init(&diag, write_message, &told);
    ms_arena arena;
    ms_arena_init(&arena);
    ms_invocation call = {.arena = &arena, .diag = &diag, .results = &results};
    ms_status status = ms_failure_since(0, dispatch(&call, count, words));
    status = ms_cli_write_results(&call, status);
    finish_messages(&call, status);
    ms_arena_release(&arena);
    return exit_code(status);
}
