/**
 * @file
 * Checksums of texts.
 */
#ifndef MESHSIM_CHECKSUM_H
#define MESHSIM_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/** The CRC-32 of a text that is taken piece by piece, as zlib's crc32.
 *  crc: of what came before, 0 at the start.  bytes: [length_B].  Returns that of both.
 *  O(length_B).  Source: ISO 3309 / RFC 1952 section 8, reversed polynomial 0xEDB88320. */
uint32_t ms_crc32_add(uint32_t crc, const void *bytes, size_t length_B);

/** Bytes of a digest in hexadecimal, its NUL included. */
enum { MS_SHA256_HEX = 65 };

/** SHA-256 of a text, as `sha256sum` prints it: 64 lower-case hexadecimal digits and a NUL.
 *  data: [length].  O(length).  Source: FIPS 180-4, section 6.2. */
void ms_sha256_hex(const void *data, size_t length, char hex_out[MS_SHA256_HEX]);

#endif
