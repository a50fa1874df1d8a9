/* Checksums against zlib's. */
#include "base/checksum.h"

#include <criterion/criterion.h>
#include <string.h>

/* Source: the check value of CRC-32 (Williams, A painless guide to CRC error detection
 * algorithms); the others from Python's zlib.crc32. */
Test(checksum, texts_have_the_crc_of_zlib) {
    static const struct {
        const char *text;
        uint32_t crc;
    } TEXTS[] = {
        {"", 0}, {"123456789", 0xCBF43926}, {"korthi22_530b_full", 0x13AC7691}, {"a", 0xE8B7BE43}};
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        size_t length = strlen(TEXTS[i].text);
        cr_assert_eq(ms_crc32_add(0, TEXTS[i].text, length), TEXTS[i].crc, "%s", TEXTS[i].text);
        for (size_t cut = 0; cut <= length; cut++) {
            uint32_t first = ms_crc32_add(0, TEXTS[i].text, cut);
            cr_assert_eq(ms_crc32_add(first, TEXTS[i].text + cut, length - cut), TEXTS[i].crc);
        }
    }
}
