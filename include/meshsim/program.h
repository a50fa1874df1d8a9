/**
 * @file
 * The program as a function: what its `main` calls, and what other languages call in the shared
 * library. These functions stay as they are for as long as the command line
 * does. */
#ifndef MESHSIM_PROGRAM_H
#define MESHSIM_PROGRAM_H

#ifdef __cplusplus
extern "C" {
#endif

/** Run a command line. Call it once in a process: it installs signal handlers, and SimGrid keeps
 * its state until the process ends; a caller that asks often forks a child for each call.
 *  count: number of words, at least 1.  words: [count] the program's name, then the arguments as a
 * shell passes them.  Writes results to the standard output and messages to the standard error.
 * Returns the exit code: 0 done, 1 the answer is "no", 2 usage, 3 bad input, 4 I/O or memory, 70 a
 * bug, 128 + the number of a signal that ended it. */
__attribute__((visibility("default"))) int ms_program_main(int count, char *const *words);

/** The version, such as "0.1.0"; static storage. */
__attribute__((visibility("default"))) const char *ms_program_version(void);

#ifdef __cplusplus
}
#endif

#endif
