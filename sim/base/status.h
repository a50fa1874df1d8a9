/**
 * @file
 * Status codes: what every function that can fail returns, and the exit code of the program for
 * each.
 *
 * 0 is success, a negative value names the kind of failure. The function that detects a failure
 * writes one diagnostic (diag.h); its callers only pass the status on.
 */
#ifndef MESHSIM_STATUS_H
#define MESHSIM_STATUS_H

/** The outcome of a call. */
typedef enum ms_status {
    MS_OK = 0,
    MS_E_NO = -1,    /**< the answer is "no": does not fit, a guard is broken, nothing feasible */
    MS_E_USAGE = -2, /**< the command line is wrong */
    MS_E_INPUT = -3, /**< an input file (or a value given with --set) is wrong */
    MS_E_IO = -4,    /**< the operating system refused to read or write */
    MS_E_NOMEM = -5, /**< memory ran out */
    MS_E_RANGE = -6, /**< an argument of a library function is outside its stated range */
    MS_E_INTERRUPTED = -7, /**< SIGINT or SIGTERM arrived */
    MS_E_BUG = -8,         /**< meshsim broke one of its own invariants */
} ms_status;

/** Added to the number of a signal, the exit code of a process that the signal has ended
 * gracefully, as shells report it. */
enum { MS_EXIT_SIGNAL = 128 };

/** Process exit code for a status: 0, 1, 2, 3, 4 (I/O and memory), 70 (range, bug), 130
 * (interrupted). status: any value, unknown ones count as a bug.  O(1). */
int ms_status_exit_code(ms_status status);

/** Short lower-case name of a status, such as "bad input"; static storage, never NULL. */
const char *ms_status_name(ms_status status);

#endif
