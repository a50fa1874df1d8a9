/* Values without quotes that are no JSON: NaN, inf (a bandwidth over no time) and N/A, as printf
 * and Python write them; control characters inside of strings, and escapes that there are none of
 * (paths of Windows). Valid JSON has none of these, and is left as it is.
 * Source: pytorch/kineto, torch_tb_profiler.profiler.data (which mends the same before it parses).
 */
#include "study/kineto/mend.h"

#include <string.h>

static bool is_end(char letter) {
    return strchr(",:]} \t\r\n", letter) != NULL; /* '\0' as well */
}

/* Whether a word begins here that becomes a text; `next` decides of a minus and of `nan`. */
static bool begins_word(char letter, char next) {
    bool is_nan = letter == 'n' && (next == 'a' || next == 'A');
    bool is_negative = letter == '-' && next != '\0' && strchr("IiNn", next) != NULL;
    return letter == 'N' || letter == 'I' || letter == 'i' || is_nan || is_negative;
}

/* A quote, the mark, a quote, and blanks for all that follows. */
static char letter_of_word(int index) {
    return index == 1 ? MS_STREAM_NO_NUMBER[0] : index == 2 ? '"' : ' ';
}

static char mend_inside(ms_mender *m, char letter) {
    bool was_escaped = m->is_escaped;
    m->is_escaped = !was_escaped && letter == '\\';
    if (was_escaped) {
        return letter != '\0' && strchr("\"\\/bfnrtu", letter) != NULL ? letter : '/';
    }
    m->in_string = letter != '"';
    return (unsigned char)letter < ' ' ? ' ' : letter;
}

static char mend_outside(ms_mender *m, char letter, char next) {
    if (m->word > 0 && !is_end(letter)) {
        return letter_of_word(m->word++);
    }
    m->word = 0;
    m->in_string = letter == '"';
    if (begins_word(letter, next)) {
        m->word = 1;
        return '"';
    }
    return letter;
}

size_t ms_mend(ms_mender *m, char *text, size_t length_B, bool is_last) {
    m->held = '\0';
    for (size_t i = 0; i < length_B; i++) {
        bool has_next = i + 1 < length_B;
        bool is_open = !m->in_string && m->word == 0 && (text[i] == 'n' || text[i] == '-');
        if (is_open && !has_next && !is_last) {
            m->held = text[i];
            return i;
        }
        text[i] = m->in_string ? mend_inside(m, text[i])
                               : mend_outside(m, text[i], has_next ? text[i + 1] : '\0');
    }
    return length_B;
}
