/* The program as a function: what `main` calls, and what other languages call in the shared library
 * (shared.md), where nothing else is promised to stay. */
#ifndef MS_CLI_PROGRAM_H
#define MS_CLI_PROGRAM_H

/** Run a command line, once in a process: it handles signals, and what it simulated with SimGrid
 * stays.
 *  words: [count] the program's name, then as a shell gives them.  Writes to the standard output
 * and standard error.  Returns the exit code. */
__attribute__((visibility("default"))) int ms_program_main(int count, char *const *words);

/** The version, such as "0.1.0"; static storage. */
__attribute__((visibility("default"))) const char *ms_program_version(void);

#endif
