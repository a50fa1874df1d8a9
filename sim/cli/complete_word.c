#include "cli/complete_word.h"

#include <string.h>

void ms_completion_keep(ms_completion *c, size_t length) {
    c->typed += length;
}

void ms_completion_offer(ms_completion *c, const char *word, const char *end, const char *text) {
    if (word != NULL && strncmp(word, c->typed, strlen(c->typed)) == 0) {
        ms_buffer_add(c->out, c->word, (size_t)(c->typed - c->word));
        ms_buffer_printf(c->out, "%s%s\t%s\n", word, end, text);
    }
}
