/**
 * @file
 * Diagnostics: where a fault sits, and the one line (with source and caret) that explains it.
 *
 * Message text: lower case, no full stop, the fault first, the value in single quotes.
 */
#ifndef MESHSIM_DIAG_H
#define MESHSIM_DIAG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/failure.h"
#include "base/status.h"

/** A span of an input text. All pointers are borrowed and outlive the mark. */
typedef struct ms_mark {
    const char *file;   /**< name shown to the user; NULL: no place known */
    const char *source; /**< the whole text the span is in; NULL: no caret is printed */
    size_t source_B;    /**< length of `source` [B] */
    int line;           /**< 1-based; 0: the file as a whole */
    int column;         /**< 1-based, in characters; 0: the line as a whole */
    int width;          /**< characters the caret underlines, >= 1 */
} ms_mark;

/** Where diagnostics are written to, and how many there were. */
typedef struct ms_diag {
    void (*write)(void *context, const char *text); /**< receives whole messages, LF at the end */
    void *context;                                  /**< first argument of `write` */
    int errors;                                     /**< faults reported so far */
    int key_faults; /**< of the errors, those of one key alone: the key is unknown, or its value is
                       not allowed (config.h) */
    int limit;      /**< faults printed at most (20); later ones only counted */
    bool has_no_memory; /**< memory ran out while a message was made, which was reported once */
    ms_buffer *reason;  /**< gets the first fault before it is written: one line of key path and
                           message, without the place; borrowed.  NULL: not wanted */
} ms_diag;

/** A sink that prints to stderr. */
void ms_diag_init_stderr(ms_diag *diag);

/** A sink for faults that are expected, which the caller reports in other words if at all: nothing
 * is printed. */
void ms_diag_init_mute(ms_diag *diag);

/** A sink that calls `write(context, text)` for each message. */
void ms_diag_init(ms_diag *diag, void (*write)(void *, const char *), void *context);

/** Report a fault that has no place in an input: "meshsim: error: ...".
 *  Returns MS_E_INPUT, for callers whose fault is one of an input. */
ms_status ms_diag_error(ms_diag *diag, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Report a fault of the command line likewise.  Returns MS_E_USAGE. */
ms_status ms_diag_usage(ms_diag *diag, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Report that memory ran out, and record it (failure.h).  Returns MS_E_NOMEM; inline, so that
 * compilers and analysers know the value. */
static inline ms_status ms_diag_no_memory(ms_diag *diag) {
    ms_failure_note_memory();
    ms_diag_error(diag, "out of memory");
    return MS_E_NOMEM;
}

/** The ending of a counted noun in a message: "s", or none for one. */
static inline const char *ms_plural(long count) {
    return count == 1 ? "" : "s";
}

/** Report something worth knowing that stops nothing: "meshsim: warning: ...". Not counted. */
void ms_diag_warning(ms_diag *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Report something worth knowing about an input on one line: "file:line:column: note: key.path:
 * ...". Notes are not counted, and not dropped beyond `limit`.  mark: NULL or without file prints
 * "meshsim: note: ...". */
void ms_diag_note(ms_diag *diag, const ms_mark *mark, const char *key_path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** Report a fault of an input: "file:line:column: error: key.path: ...", the source line and a
 * caret. mark: NULL or without file prints as ms_diag_error.  key_path: NULL leaves it out. Returns
 * MS_E_INPUT. */
ms_status ms_diag_at(ms_diag *diag, const ms_mark *mark, const char *key_path, const char *format,
                     ...) __attribute__((format(printf, 4, 5)));

/** Report the end of a list of faults: "... and 7 more faults", when more than `limit` came. */
void ms_diag_finish(ms_diag *diag);

/** The shortest candidate of which `word` is a part, as "h100" of "dgx-h100"; else the candidate
 * that differs from `word` by the fewest slips, regardless of capitals. A slip is a letter put in,
 * left out, replaced, or swapped with the next. A candidate must differ by at most a third of the
 * length of `word` (by one slip for a word of two letters). candidates: [count] C strings, NULL
 * entries are skipped.  Returns one of them, or NULL. */
const char *ms_nearest_word(const char *word, const char *const *candidates, size_t count);

/** Words that end a message: "; did you mean 'NAME'?", or none; a name is cut at 100 letters. */
typedef struct ms_hint {
    char text[128];
} ms_hint;

/** The hint that a fault about an unknown word ends with: the nearest candidate, if one is near.
 *  word, candidates, count: as in ms_nearest_word; word: NULL has no hint. */
ms_hint ms_nearest_hint(const char *word, const char *const *candidates, size_t count);

/** Report a word that is none of those known: "unknown kind 'x'; did you mean 'y'? (known: y, z)".
 *  what: "kind".  known: [count] C strings. */
void ms_diag_unknown(ms_diag *diag, const char *what, const char *word, const char *const *known,
                     size_t count);

#endif
