/* Columns of numbers as short texts inside a page. */
#ifndef MS_REPORT_HTML_ENCODE_H
#define MS_REPORT_HTML_ENCODE_H

#include <stdint.h>

#include "base/buffer.h"

/* Append a number in pieces of seven bits, the lowest first, with the eighth bit set in all but the
 * last.  Source: Protocol Buffers, Encoding, base 128 varints. */
void ms_varint_put(ms_buffer *out, uint64_t number);

/* The same of a number with a sign: 0, -1, 1, -2 ... become 0, 1, 2, 3 ... */
void ms_varint_put_signed(ms_buffer *out, int64_t number);

/* Append bytes as base64 with padding.  Source: RFC 4648, section 4. */
void ms_base64_write(const void *bytes, size_t length, ms_buffer *out);

/* Append `"name":"..."` with the column's bytes as base64, and a comma before it unless it is the
 * first of its object.  The column is released; its failure becomes that of `json`. */
void ms_column_write(const char *name, ms_buffer *column, ms_buffer *json);

#endif
