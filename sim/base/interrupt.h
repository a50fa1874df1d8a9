/**
 * @file
 * Ctrl-C and its like: an interrupted program removes its temporary file and exits with 128 and the
 * signal's number (130 after SIGINT, 143 after SIGTERM), leaving older results intact.
 */
#ifndef MESHSIM_INTERRUPT_H
#define MESHSIM_INTERRUPT_H

/** Handle as above what ends a program from outside: SIGINT, SIGTERM, SIGHUP, SIGQUIT, and SIGXCPU,
 * SIGUSR1, SIGUSR2, by which batch systems announce the end of a job. All but the first two stay
 * ignored where whoever started us had them ignored (nohup). SIGPIPE and SIGXFSZ are ignored, so
 * that writing to a closed pipe or beyond the limit of a file fails with EPIPE or EFBIG instead.
 * May be called again.  O(1), no allocation. */
void ms_interrupt_install(void);

/** From now on an interrupt removes this file first; one file at a time, the last one named.
 *  path: copied; one of 4,096 bytes or more cannot be opened and is not guarded either.  Forked
 * children do not remove it.  O(length), no allocation. */
void ms_interrupt_guard_file(const char *path);

/** Create a file (mkostemp) and guard it, with no interrupt between the two.
 *  name: ends in XXXXXX, which is replaced.  Returns its descriptor; < 0: errno says why. */
int ms_interrupt_make_file(char *name);

/** The guarded file, if any, stays from now on (it has been renamed or removed). */
void ms_interrupt_unguard_file(void);

/** From now on an interrupt writes this to stderr before the program ends, such as what wipes a
 * line off a terminal. text: static; NULL: nothing.  O(1). */
void ms_interrupt_say_last(const char *text);

/** From now on an interrupt is noted and the program goes on, until ms_interrupt_obey: for who has
 * children to end or results to keep first, and then ends with ms_interrupt_noted.  O(1). */
void ms_interrupt_hold(void);

/** From now on an interrupt ends the program again; what was noted stays noted.  O(1). */
void ms_interrupt_obey(void);

/** The signal that was noted last; 0: none.  O(1). */
int ms_interrupt_noted(void);

#endif
