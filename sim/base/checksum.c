/* CRC-32 (checksum.h). Each byte is taken as two halves of 4 bits, which needs a table of 16
 * entries. */
#include "base/checksum.h"

/* Polynomial division by table, four bits at a time, the lowest bits of a byte first. */
uint32_t ms_crc32_add(uint32_t crc, const void *bytes, size_t length_B) {
    /* entry i: remainder of the 4-bit value i divided by the reversed polynomial */
    static const uint32_t REMAINDERS[] = {0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC,
                                          0x76DC4190, 0x6B6B51F4, 0x4DB26158, 0x5005713C,
                                          0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
                                          0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C};
    const unsigned char *at = bytes;
    crc = ~crc; /* a CRC is the complement of the register */
    for (size_t i = 0; i < length_B; i++) {
        crc ^= at[i];
        crc = (crc >> 4) ^ REMAINDERS[crc & 0xFU];
        crc = (crc >> 4) ^ REMAINDERS[crc & 0xFU];
    }
    return ~crc;
}
