/* JSON of any length as a stream of its tokens, plain or compressed by gzip. */
#ifndef MS_KINETO_STREAM_H
#define MS_KINETO_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "meshsim/arena.h"
#include "meshsim/cells.h"
#include "meshsim/config.h"
#include "meshsim/diag.h"
#include "meshsim/status.h"
#include "study/kineto/mend.h"

/* Levels of objects and lists in one another, as in all other files that are read. */
enum { MS_STREAM_DEPTH = 64 };

/* What a value is that holds no others. */
typedef enum ms_token {
    MS_TOKEN_NULL,
    MS_TOKEN_BOOL,
    MS_TOKEN_NUMBER,
    MS_TOKEN_STRING,
} ms_token;

/* Who gets the tokens, in the order of the text. A text lives until its function returns. What
 * returns false ends the reading, and has said why (ms_stream_fault), unless memory is out. */
typedef struct ms_stream_sink {
    void *context;                                /* first argument of the functions */
    bool (*begin)(void *context, bool is_object); /* of an object, or a list */
    bool (*end)(void *context);                   /* of either */
    bool (*key)(void *context, ms_span text);     /* of an object's next value */
    bool (*value)(void *context, ms_token token, ms_span text);
} ms_stream_sink;

typedef struct ms_stream ms_stream;

/* A stream that nothing was read of yet.
 * name: of the file, for faults.  sink: borrowed.  *stream_out: in `arena`, so is all it will need
 * (3 MiB, of which what is not used is not touched).  Returns MS_OK; MS_E_NOMEM, not reported. */
ms_status ms_stream_new(const char *name, const ms_stream_sink *sink, ms_arena *arena,
                        ms_diag *diag, ms_stream **stream_out);

/* Read a file to its end, with what profilers write that is no JSON: a value that is no number,
 * such as NaN, is the text MS_STREAM_NO_NUMBER.  path: may name a pipe.  Returns MS_OK; MS_E_INPUT
 * (no JSON, too deep, a string of more than 256 KiB, damaged compression, no such file, or the sink
 * said no), reported with the line; MS_E_IO; MS_E_NOMEM. O(bytes), memory O(1). */
ms_status ms_stream_read_file(ms_stream *stream, const char *path);

/* Read a text in memory, to which all else of the above applies; it is never compressed. */
ms_status ms_stream_read_text(ms_stream *stream, const char *text, size_t length_B);

/* Report what is wrong with the token that the sink was just given.  Returns false, for the sink to
 * hand on. */
bool ms_stream_fault(ms_stream *stream, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Line of the token that the sink was just given, from 1.  O(bytes of a piece). */
int ms_stream_line(const ms_stream *stream);

#endif
