/* Running the program under test: arguments in, exit code and both outputs back. */
#ifndef MS_RUN_H
#define MS_RUN_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"

enum { MS_RUN_LIMIT_S = 100, MS_RUN_NO_EXEC = 127 };

/** How to run it; all members may be zero. */
typedef struct ms_run_setup {
    const char *cwd;         /**< folder to run in; NULL: the test's own */
    const char *stdout_path; /**< existing file or device that takes stdout instead of `out` */
    bool has_closed_stdout;  /**< start without a standard output */
} ms_run_setup;

/** What came of it; give it to ms_run_release. */
typedef struct ms_run_result {
    int exit_code; /**< 0..255, -1 if a signal ended it */
    int signal;    /**< 0 if none */
    ms_buffer out; /**< stdout */
    ms_buffer err; /**< stderr */
} ms_run_result;

static inline void ms_run_child(const ms_run_setup *setup, char **words, int out, int err) {
    if (setup->stdout_path != NULL) {
        out = open(setup->stdout_path, O_WRONLY);
    }
    if (out < 0 || dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0 ||
        (setup->cwd != NULL && chdir(setup->cwd) != 0)) {
        _exit(MS_RUN_NO_EXEC);
    }
    if (setup->has_closed_stdout) {
        close(STDOUT_FILENO);
    }
    alarm(MS_RUN_LIMIT_S);
    execv(words[0], words);
    _exit(MS_RUN_NO_EXEC);
}

/* Everything a finished child left in a memory file; closes it. */
static inline void ms_run_collect(int file, ms_buffer *into) {
    char block[4096];
    ssize_t got = 0;
    ms_buffer_init(into);
    lseek(file, 0, SEEK_SET);
    while ((got = read(file, block, sizeof block)) > 0) {
        ms_buffer_add(into, block, (size_t)got);
    }
    close(file);
}

/** Run `meshsim` with `arguments` (NULL-terminated, without the program's name) and wait for its
 * end. A program that cannot be started gives exit code 127; one that runs too long dies of
 * SIGALRM. */
static inline ms_run_result ms_run_with(const ms_run_setup *setup, const char *const *arguments) {
    enum { WORDS_MAX = 64 };
    static char program[] = MS_BINARY_DIR "/meshsim";
    char *words[WORDS_MAX + 2] = {program};
    for (size_t i = 0; i < WORDS_MAX && arguments[i] != NULL; i++) {
        memcpy(&words[i + 1], &arguments[i],
               sizeof words[0]); /* execv wants char *, and changes nothing */
    }
    int out = memfd_create("out", MFD_CLOEXEC);
    int err = memfd_create("err", MFD_CLOEXEC);
    ms_run_result result = {.exit_code = MS_RUN_NO_EXEC};
    pid_t child = fork();
    if (child == 0) {
        ms_run_child(setup, words, out, err);
    }
    int state = 0;
    if (child > 0 && waitpid(child, &state, 0) == child) {
        result.exit_code = WIFEXITED(state) ? WEXITSTATUS(state) : -1;
        result.signal = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    }
    ms_run_collect(out, &result.out);
    ms_run_collect(err, &result.err);
    return result;
}

/** Run `meshsim` with the given words: MS_RUN("schedule", "gpipe", "-p", "4"). */
#define MS_RUN(...) ms_run_with(&(ms_run_setup){0}, (const char *const[]){__VA_ARGS__, NULL})

/** The same in a folder. */
#define MS_RUN_IN(folder, ...)                                                                     \
    ms_run_with(&(ms_run_setup){.cwd = (folder)}, (const char *const[]){__VA_ARGS__, NULL})

/** The outputs as C strings. */
static inline const char *ms_run_out(const ms_run_result *result) {
    return ms_buffer_text(&result->out);
}

static inline const char *ms_run_err(const ms_run_result *result) {
    return ms_buffer_text(&result->err);
}

static inline void ms_run_release(ms_run_result *result) {
    ms_buffer_release(&result->out);
    ms_buffer_release(&result->err);
}

#endif
