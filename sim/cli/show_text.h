/* Texts in tables and on pages of 80 columns. */
#ifndef MS_CLI_SHOW_TEXT_H
#define MS_CLI_SHOW_TEXT_H

#include "base/buffer.h"
#include "cli/cli.h"
#include "cluster/platform/platform.h"

/** Columns of a page, which every terminal is taken to have. */
enum { MS_SHOW_PAGE_WIDTH = 80 };

/** Number of characters in the first `length` bytes of a text in UTF-8. */
size_t ms_show_width(const char *text, size_t length);

/** Bytes of those words at the beginning of a text that fit into some columns; of a first word that
 * is longer, the bytes that fit.  between: the character that separates words.  Returns 0 for an
 * empty text. */
size_t ms_show_fitting(const char *text, size_t columns, char between);

/** Append a text and a line feed, wrapped at 80 columns.  used: columns of the first line that are
 * occupied already.  indent: blanks before all further lines.  A text with line feeds is a command:
 * it is broken only at a line feed, with a backslash, so that a shell joins its lines. */
void ms_show_wrapped_at(size_t used, size_t indent, const char *text, ms_buffer *out);

/** Append a margin, a text and a line feed, wrapped at 80 columns; further lines are indented by 6.
 * Words are not cut unless one is longer than a line. */
void ms_show_wrapped(const char *margin, const char *text, ms_buffer *out);

/** Append a word of a command line, in single quotes where it has characters that a shell treats
 * specially. */
void ms_show_shell_word(const char *word, ms_buffer *out);

/** Write the memory of a GPU as "77 GiB usable of 80 GiB (85.9 GB)".  text_out: [size],
 * NUL-terminated.  Returns text_out. */
char *ms_show_capacity(const ms_gpu_type *gpu, char *text_out, size_t size);

/** The command line of this program, quoted for a shell, in the call's arena; NULL when memory runs
 * out. */
const char *ms_show_command_line(const ms_invocation *call);

#endif
