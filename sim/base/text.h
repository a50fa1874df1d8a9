/**
 * @file
 * Characters of UTF-8 texts, and which of them are visible; the search for a word in a list.
 */
#ifndef MESHSIM_TEXT_H
#define MESHSIM_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Whether a byte of a UTF-8 text is a continuation byte, not the first byte of a character. */
static inline bool ms_text_is_continuation(char byte) {
    return ((unsigned char)byte & 0xC0U) == 0x80U;
}

/** Number of characters whose first byte is among the first length_B bytes of a UTF-8 text.
 * O(length_B). */
size_t ms_text_characters(const char *text, size_t length_B);

/** Decode the first character of a text.
 *  available: bytes of the text, at least 1; of a C string any larger number [B].
 *  *code_out: its code point, written only if there is one.
 *  Returns the character's length, 1 to 4 [B]; 0 if the bytes are no UTF-8 (overlong forms,
 *  surrogates and values above U+10FFFF included).  O(1).  Source: RFC 3629, section 4. */
size_t ms_text_decode(const char *text, size_t available, uint32_t *code_out);

/** Index of a word in a list; -1 where the list lacks it.  words: [count] C strings. */
int ms_word_index(const char *word, const char *const *words, int count);

/** Whether a character is visible. False for characters that control a terminal, end a line,
 *  change the direction of the text around them, or have no glyph: controls (U+0000 to U+001F,
 *  U+007F to U+009F), U+2028, U+2029, the bidirectional controls, the default ignorable code
 *  points, interlinear annotations, and the code points that are no characters. With them a name
 *  can look like another name, so every page and message shows something in their place.  O(1).
 *  Source: Unicode 15.0, UnicodeData.txt (categories Cc, Zl, Zp), PropList.txt (Bidi_Control,
 *  Noncharacter_Code_Point), DerivedCoreProperties.txt (Default_Ignorable_Code_Point), and
 *  chapter 23.8 (U+FFF9 to U+FFFB). */
bool ms_text_is_visible(uint32_t code);

#endif
