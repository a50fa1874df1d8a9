/* Texts in tables and on pages of 80 columns. */
#ifndef MS_CLI_SHOW_TEXT_H
#define MS_CLI_SHOW_TEXT_H

#include "base/buffer.h"
#include "cli/cli.h"
#include "cluster/platform/platform.h"

/** Columns of a page: what a terminal has at least. */
enum { MS_SHOW_PAGE_WIDTH = 80 };

/** Number of characters in the first `length` bytes of a text. */
size_t ms_show_width(const char *text, size_t length);

/** Bytes of the words at a text's begin that fit into some columns; of a first word that is longer,
 * the bytes that fit.  between: what separates words.  0: the text is empty. */
size_t ms_show_fitting(const char *text, size_t columns, char between);

/** Append a text, and a line feed, to a line of which some columns are used, on lines of at most 80
 * columns; all but the first are indented.  A text with line feeds is a command, which is broken
 * there alone, so that a shell reads its lines as one. */
void ms_show_wrapped_at(size_t used, size_t indent, const char *text, ms_buffer *out);

/** Append a text behind a margin, on lines of at most 80 columns, all but the first indented
 * further; words are not cut. */
void ms_show_wrapped(const char *margin, const char *text, ms_buffer *out);

/** Append a word of a command line, in quotes where a shell would not leave it as it is. */
void ms_show_shell_word(const char *word, ms_buffer *out);

/** Memory of a GPU as "77 GiB usable of 80 GiB (85.9 GB)".  text_out: [size], NUL-terminated.
 * Returns text_out. */
char *ms_show_capacity(const ms_gpu_type *gpu, char *text_out, size_t size);

/* The command line, as a shell reads it, in the call's arena; NULL when memory runs out. */
const char *ms_show_command_line(const ms_invocation *call);

#endif
