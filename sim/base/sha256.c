/* SHA-256 of a whole text (checksum.h), by the steps of FIPS 180-4: the text is padded to blocks of
 * 64 bytes, and each block changes a state of eight words, which is the digest at the end. K and w
 * are the standard's K and W, v[0] to v[7] its a to h. */
#include "base/checksum.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK_B = 64 };

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes (FIPS 180-4,
 * section 4.2.2). */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

/* Rotate a word right.  by: 1 to 31 bits. */
static uint32_t rotate(uint32_t word, unsigned by) {
    return (word >> by) | (word << (32 - by));
}

/* Fill the message schedule of a block.  block: [64] bytes.  w: [64] words: the block's sixteen
 * big-endian words, then 48 that follow from them (FIPS 180-4, section 6.2.2, step 1). */
static void expand(const unsigned char *block, uint32_t w[64]) {
    for (size_t i = 0; i < 16; i++) {
        const unsigned char *at = block + 4 * i;
        w[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    for (size_t i = 16; i < 64; i++) {
        uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ (w[i - 15] >> 3);
        uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ (w[i - 2] >> 10);
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
}

/* Hash one block into the state.  hash: the state before, replaced by that after.  block: [64]
 * bytes. Source: FIPS 180-4, section 6.2.2, steps 2 to 4. */
static void add_block(uint32_t hash[8], const unsigned char *block) {
    uint32_t w[64];
    uint32_t v[8];
    expand(block, w);
    memcpy(v, hash, sizeof v);
    for (size_t i = 0; i < 64; i++) {
        uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + choice + K[i] + w[i];
        uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof v[0]);
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (size_t i = 0; i < 8; i++) {
        hash[i] += v[i];
    }
}

/* Hashes the whole blocks in place, then one or two blocks with the rest of the text and the
 * padding. */
void ms_sha256_hex(const void *data, size_t length, char hex_out[MS_SHA256_HEX]) {
    /* First 32 bits of the fractional parts of the square roots of the first eight primes. */
    uint32_t hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                        0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    const unsigned char *bytes = data;
    size_t whole = length / BLOCK_B * BLOCK_B;
    for (size_t at = 0; at < whole; at += BLOCK_B) {
        add_block(hash, bytes + at);
    }
    unsigned char tail[2 * BLOCK_B] = {0};
    size_t rest = length - whole;
    if (rest > 0) {
        memcpy(tail, bytes + whole, rest);
    }
    /* padding: a 1 bit, zeros, and the length in bits as 8 big-endian bytes that end a block */
    tail[rest] = 0x80;
    size_t tail_B = rest + 9 <= BLOCK_B ? BLOCK_B : 2 * BLOCK_B;
    uint64_t bits = (uint64_t)length * 8;
    for (size_t i = 0; i < 8; i++) {
        tail[tail_B - 1 - i] = (unsigned char)(bits >> (8 * i));
    }
    for (size_t at = 0; at < tail_B; at += BLOCK_B) {
        add_block(hash, tail + at);
    }
    for (size_t i = 0; i < 8; i++) {
        snprintf(hex_out + 8 * i, 9, "%08x", (unsigned)hash[i]);
    }
}
