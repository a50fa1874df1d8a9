/* libFuzzer target: any words, one per line, as a command line that is not finished. What may stand
 * for its last word is offered in whole lines, each of which begins with what is typed already or
 * asks the shell for files. */
#include <string.h>

#include "cli/complete.h"
#include "fuzz_target.h"

enum { WORDS_MAX = 32 };

static size_t split(char *text, const char *words[WORDS_MAX]) {
    size_t count = 0;
    while (count < WORDS_MAX) {
        char *end = strchr(text, '\n');
        words[count++] = text;
        if (end == NULL) {
            break;
        }
        *end = '\0';
        text = end + 1;
    }
    return count;
}

/* A line: a word, a tab and what it means; of a request for files two tabs. */
static void check_line(const char *line, const char *end, const char *typed) {
    const char *tab = memchr(line, '\t', (size_t)(end - line));
    require(tab != NULL);
    bool is_request = strncmp(line, ":file\t", 6) == 0 || strncmp(line, ":folder\t", 8) == 0;
    size_t length = strlen(typed);
    require(is_request || ((size_t)(tab - line) >= length && memcmp(line, typed, length) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ms_arena arena;
    ms_buffer out;
    const char *words[WORDS_MAX];
    ms_arena_init(&arena);
    ms_buffer_init(&out);
    char *text = ms_arena_strndup(&arena, (const char *)data, size);
    require(text != NULL);
    size_t count = split(text, words);
    require(ms_cli_complete(count, words, &arena, &out) == MS_OK);
    bool is_clean = strpbrk(words[count - 1], "\t") == NULL;
    const char *line = ms_buffer_text(&out);
    for (const char *end; is_clean && *line != '\0'; line = end + 1) {
        end = strchr(line, '\n');
        require(end != NULL);
        check_line(line, end, words[count - 1]);
    }
    ms_buffer_release(&out);
    ms_arena_release(&arena);
    return 0;
}
