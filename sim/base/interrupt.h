/**
 * @file
 * Signals that end the program from outside, such as Ctrl-C. An interrupted program removes its
 * temporary file, so that older results stay intact, and exits with 128 and the signal's number
 * (130 after SIGINT, 143 after SIGTERM).
 */
#ifndef MESHSIM_INTERRUPT_H
#define MESHSIM_INTERRUPT_H

/** Install the handler for SIGINT, SIGTERM, SIGHUP, SIGQUIT, and for SIGXCPU, SIGUSR1, SIGUSR2, by
 * which batch systems announce the end of a job. All but the first two stay ignored where the
 * parent process had them ignored (nohup). SIGPIPE and SIGXFSZ are ignored, so that writing to a
 * closed pipe or beyond the limit of a file fails with EPIPE or EFBIG instead. May be called
 * again.  O(1), no allocation. */
void ms_interrupt_install(void);

/** From now on an interrupt removes this file before the program ends. One file is guarded at a
 * time, the last one named.
 *  path: copied; a path of 4,096 bytes or more cannot be opened and is not guarded either.  Forked
 * children do not remove the file.  O(length), no allocation. */
void ms_interrupt_guard_file(const char *path);

/** Create a file (mkostemp) and guard it, with no interrupt between the two.
 *  name: ends in XXXXXX, which is replaced.  Returns its descriptor; < 0: errno says why. */
int ms_interrupt_make_file(char *name);

/** From now on an interrupt leaves the guarded file, if there is one: it has been renamed or
 * removed. */
void ms_interrupt_unguard_file(void);

/** From now on an interrupt writes this text to stderr before the program ends, such as the escape
 * sequence that clears a line of a terminal.  text: static; NULL: nothing.  O(1). */
void ms_interrupt_set_last_words(const char *text);

/** From now on an interrupt is only recorded and the program goes on, until ms_interrupt_obey. For
 * callers that first have to end child processes or keep results, and that then end the program by
 * the signal of ms_interrupt_pending_signal.  O(1). */
void ms_interrupt_hold(void);

/** From now on an interrupt ends the program again; a signal that was recorded stays recorded.
 * O(1). */
void ms_interrupt_obey(void);

/** The signal that was recorded last; 0: none.  O(1). */
int ms_interrupt_pending_signal(void);

#endif
