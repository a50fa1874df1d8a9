/* SHA-256, for the provenance of input texts: what `sha256sum` prints of the same bytes. */
#ifndef MS_TRACE_SHA256_H
#define MS_TRACE_SHA256_H

#include <stddef.h>

enum { MS_SHA256_HEX = 65 };

/* Digest of `length` bytes as 64 lower-case hexadecimal digits and a NUL.
 * Source: FIPS 180-4, section 6.2. */
void ms_sha256_hex(const void *data, size_t length, char hex_out[MS_SHA256_HEX]);

#endif
