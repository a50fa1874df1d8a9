/* Decodes UTF-8 and tells visible characters from invisible ones (text.h). Names come from files,
 * traces and the command line and may hold invisible characters; everything that writes pages or
 * messages decides here which characters it has to replace. */
#include "base/text.h"

#include <string.h>

typedef struct code_range {
    uint32_t first, last;
} code_range;

/* Invisible code points of Unicode, in ascending order; base/text.h gives the source. */
static const code_range UNSEEN[] = {
    {0x0000, 0x001F},   {0x007F, 0x009F}, {0x00AD, 0x00AD}, {0x034F, 0x034F},   {0x061C, 0x061C},
    {0x115F, 0x1160},   {0x17B4, 0x17B5}, {0x180B, 0x180F}, {0x200B, 0x200F},   {0x2028, 0x202E},
    {0x2060, 0x206F},   {0x3164, 0x3164}, {0xFDD0, 0xFDEF}, {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},
    {0xFFA0, 0xFFA0},   {0xFFF0, 0xFFFB}, {0xFFFE, 0xFFFF}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A},
    {0xE0000, 0xE0FFF},
};

int ms_word_index(const char *word, const char *const *words, int count) {
    for (int i = 0; i < count; i++) {
        if (strcmp(words[i], word) == 0) {
            return i;
        }
    }
    return -1;
}

size_t ms_text_characters(const char *text, size_t length_B) {
    size_t count = 0;
    for (size_t i = 0; i < length_B; i++) {
        count += ms_text_is_continuation(text[i]) ? 0 : 1;
    }
    return count;
}

/* The first byte gives the length, and each further byte six bits of the code point. */
size_t ms_text_decode(const char *text, size_t available, uint32_t *code_out) {
    /* by length: smallest code point that needs so many bytes; a smaller one is an overlong form */
    static const uint32_t LEAST[5] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)text;
    unsigned char first = at[0];
    /* by the first byte; 0x80 to 0xC1 begin no character: continuations and overlong forms */
    size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (length == 0 || length > available || first > 0xF4) {
        return 0;
    }
    uint32_t code = length == 1 ? first : first & (0x7FU >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xC0U) != 0x80U) {
            return 0;
        }
        code = (code << 6) | (at[i] & 0x3FU);
    }
    if (code < LEAST[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        return 0;
    }
    *code_out = code;
    return length;
}

bool ms_text_is_visible(uint32_t code) {
    if ((code & 0xFFFEU) == 0xFFFE) { /* the last two of each plane are no characters */
        return false;
    }
    for (size_t i = 0; i < sizeof UNSEEN / sizeof UNSEEN[0] && code >= UNSEEN[i].first; i++) {
        if (code <= UNSEEN[i].last) {
            return false;
        }
    }
    return true;
}
