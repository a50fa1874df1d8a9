/* What profilers write that is no JSON, made JSON of the same length, piece by piece. */
#ifndef MS_KINETO_MEND_H
#define MS_KINETO_MEND_H

#include <stdbool.h>
#include <stddef.h>

/* The text that stands for a value which is no number: NaN, Infinity, N/A. */
#define MS_STREAM_NO_NUMBER "~"

/* Where a text stands between two pieces. Start with zeros. */
typedef struct ms_mender {
    bool in_string;
    bool is_escaped; /* behind a backslash */
    int word;        /* letters of a word so far that becomes a text */
    char held;       /* last character of a piece, which the next one decides; '\0': none */
} ms_mender;

/* Mend a piece in its place.
 *  text: [length_B]; the piece, behind `held` of the last one, which comes before it.
 *  is_last: no piece follows.  Returns how much of it is there: all but what is held. */
size_t ms_mend(ms_mender *mender, char *text, size_t length_B, bool is_last);

#endif
