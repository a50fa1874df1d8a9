/**
 * @file
 * Checksums of texts.
 */
#ifndef MESHSIM_CHECKSUM_H
#define MESHSIM_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

#include "meshsim/decls.h"

MS_BEGIN_DECLS

/** The CRC-32 of a text that is taken piece by piece, as zlib's crc32.
 *  crc: of what came before, 0 at the start.  bytes: [length_B].  Returns that of both.
 *  O(length_B).  Source: ISO 3309 / RFC 1952 section 8, reversed polynomial 0xEDB88320. */
uint32_t ms_crc32_add(uint32_t crc, const void *bytes, size_t length_B);

MS_END_DECLS

#endif
