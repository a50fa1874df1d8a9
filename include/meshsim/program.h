/**
 * @file
 * The program as a function, for its own `main` and for other languages, which call it in the
 * shared library. These functions are as stable as the command line.
 */
#ifndef MESHSIM_PROGRAM_H
#define MESHSIM_PROGRAM_H

#ifdef __cplusplus
extern "C" {
#endif

/** Run a command line. Call this function once in a process: it installs signal handlers, and
 * SimGrid keeps its state until the process ends. A caller with many command lines forks a child
 * for each. Results are written to the standard output, messages to the standard error.
 *
 * count: number of words, at least 1.  words: [count] the program's name, then the arguments as a
 * shell passes them.  Returns the exit code: 0: done; 1: the answer is "no", such as a job that
 * does not fit in memory; 2: the command line is wrong; 3: an input is wrong; 4: I/O failed or
 * memory ran out; 70: a bug; 128 + the number of the signal that ended the run. */
__attribute__((visibility("default"))) int ms_program_main(int count, char *const *words);

/** The version of the program, such as "0.1.0"; static storage. */
__attribute__((visibility("default"))) const char *ms_program_version(void);

#ifdef __cplusplus
}
#endif

#endif
