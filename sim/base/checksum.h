/**
 * @file
 * Checksums of texts: CRC-32 and SHA-256.
 */
#ifndef MESHSIM_CHECKSUM_H
#define MESHSIM_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/** Extend a CRC-32 by the next bytes of a text, as zlib's crc32 does.
 *  crc: of the bytes before these, 0 at the start.  bytes: [length_B].  Returns the CRC of the
 * bytes before and these together.
 *  O(length_B).  Source: ISO 3309 / RFC 1952 section 8, reversed polynomial 0xEDB88320. */
uint32_t ms_crc32_add(uint32_t crc, const void *bytes, size_t length_B);

/** Size of a SHA-256 digest in hexadecimal with its NUL [B]. */
enum { MS_SHA256_HEX = 65 };

/** SHA-256 of a text, as `sha256sum` prints it: 64 lower-case hexadecimal digits and a NUL.
 *  data: [length].  O(length).  Source: FIPS 180-4, section 6.2. */
void ms_sha256_hex(const void *data, size_t length, char hex_out[MS_SHA256_HEX]);

#endif
