#include <criterion/criterion.h>

#include "base/text.h"

Test(text, characters_are_decoded) {
    static const struct {
        const char *text;
        size_t available, length;
        uint32_t code;
    } CASES[] = {
        {"a", 1, 1, 'a'},
        {"\xc3\xa4", 2, 2, 0xE4},
        {"\xe2\x82\xac", 9, 3, 0x20AC},
        {"\xf0\x9f\x98\x80", SIZE_MAX, 4, 0x1F600},
        {"\xf4\x8f\xbf\xbf", 4, 4, 0x10FFFF},
        {"\xe2\x82\xac", 2, 0, 0},     /* cut short */
        {"\x80", 1, 0, 0},             /* no first byte */
        {"\xc0\xaf", 2, 0, 0},         /* overlong */
        {"\xe0\x80\xaf", 3, 0, 0},     /* overlong */
        {"\xf0\x8f\xbf\xbf", 4, 0, 0}, /* overlong */
        {"\xed\xa0\x80", 3, 0, 0},     /* a surrogate */
        {"\xf4\x90\x80\x80", 4, 0, 0}, /* above U+10FFFF */
        {"\xe2\x28\xa1", 3, 0, 0},     /* no second byte */
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        uint32_t code = 0;
        cr_assert_eq(ms_text_decode(CASES[i].text, CASES[i].available, &code), CASES[i].length,
                     "case %zu", i);
        cr_assert_eq(code, CASES[i].code, "case %zu", i);
    }
}

/* Source: Unicode 15.0, as ms_text_is_visible names it; the neighbours of each range are seen. */
Test(text, what_nobody_sees) {
    static const uint32_t RANGES[][2] = {
        {0x0000, 0x001F},   {0x007F, 0x009F},   {0x00AD, 0x00AD},     {0x034F, 0x034F},
        {0x061C, 0x061C},   {0x115F, 0x1160},   {0x17B4, 0x17B5},     {0x180B, 0x180F},
        {0x200B, 0x200F},   {0x2028, 0x202E},   {0x2060, 0x206F},     {0x3164, 0x3164},
        {0xFDD0, 0xFDEF},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},     {0xFFA0, 0xFFA0},
        {0xFFF0, 0xFFFB},   {0xFFFE, 0xFFFF},   {0x1BCA0, 0x1BCA3},   {0x1D173, 0x1D17A},
        {0x1FFFE, 0x1FFFF}, {0xDFFFE, 0xE0FFF}, {0x10FFFE, 0x10FFFF},
    };
    for (size_t i = 0; i < sizeof RANGES / sizeof RANGES[0]; i++) {
        for (uint32_t code = RANGES[i][0]; code <= RANGES[i][1]; code++) {
            cr_assert_not(ms_text_is_visible(code), "U+%04X", (unsigned)code);
        }
        cr_assert(RANGES[i][0] == 0 || ms_text_is_visible(RANGES[i][0] - 1), "before range %zu", i);
        cr_assert(RANGES[i][1] == 0x10FFFF || ms_text_is_visible(RANGES[i][1] + 1),
                  "behind range %zu", i);
    }
    for (uint32_t code = 0x20; code < 0x7F; code++) {
        cr_assert(ms_text_is_visible(code));
    }
    cr_assert(ms_text_is_visible(0xE9) && ms_text_is_visible(0x20AC) &&
              ms_text_is_visible(0x1F600));
}
