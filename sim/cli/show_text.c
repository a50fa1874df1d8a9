/* Texts on pages of 80 columns and in command lines: width, wrapping, and quoting for a shell
 * (show_text.h). Texts are UTF-8; width is counted in characters. */
#include "cli/show_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"

size_t ms_show_width(const char *text, size_t length) {
    size_t width = 0;
    for (size_t i = 0; i < length; i++) {
        width += ((unsigned char)text[i] & 0xC0U) != 0x80U; /* UTF-8: not a continuation byte */
    }
    return width;
}

/* Bytes of the first `columns` characters of a text; of the whole text where it is shorter. */
static size_t bytes_of(const char *text, size_t columns) {
    size_t length = 0;
    while (text[length] != '\0' && ms_show_width(text, length + 1) <= columns) {
        length++;
    }
    return length;
}

size_t ms_show_fitting(const char *text, size_t columns, char between) {
    const char ends[] = {between, '\0'};
    size_t fitting = 0;
    for (size_t end = strcspn(text, ends); ms_show_width(text, end) <= columns;
         end += 1 + strcspn(text + end + 1, ends)) {
        fitting = end;
        if (text[end] == '\0') {
            break;
        }
    }
    return fitting > 0 ? fitting : bytes_of(text, columns);
}

/* A text with line feeds is a command: it may only be broken at them, with a backslash at the end
 * of a line. Other texts are broken at blanks. */
void ms_show_wrapped_at(size_t used, size_t indent, const char *text, ms_buffer *out) {
    bool is_command = strchr(text, '\n') != NULL;
    char between = is_command ? '\n' : ' ';
    while (*text != '\0') {
        size_t length = /* 2: a blank and a backslash behind a broken line of a command */
            ms_show_fitting(text, MS_SHOW_PAGE_WIDTH - used - (is_command ? 2 : 0), between);
        for (size_t i = 0; i < length; i++) {
            ms_buffer_add(out, text[i] == '\n' ? " " : text + i, 1);
        }
        text += length;
        text += *text == between;
        if (*text != '\0') {
            ms_buffer_printf(out, "%s\n%*s", is_command ? " \\" : "", (int)indent, "");
        }
        used = indent;
    }
    ms_buffer_puts(out, "\n");
}

void ms_show_wrapped(const char *margin, const char *text, ms_buffer *out) {
    ms_buffer_puts(out, margin);
    ms_show_wrapped_at(strlen(margin), 6, text, out);
}

char *ms_show_capacity(const ms_gpu_type *gpu, char *text_out, size_t size) {
    char usable[32];
    char whole[64];
    snprintf(text_out, size, "%s usable of %s",
             ms_unit_format(gpu->hbm_B - gpu->reserve_B, MS_DIM_BYTES, usable, sizeof usable),
             ms_unit_format_capacity(gpu->hbm_B, whole, sizeof whole));
    return text_out;
}

void ms_show_shell_word(const char *word, ms_buffer *out) {
    bool is_plain =
        word[strspn(word,
                    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,%@")] ==
        '\0';
    if (is_plain) {
        ms_buffer_puts(out, word);
        return;
    }
    ms_buffer_puts(out, "'");
    for (const char *c = word; *c != '\0'; c++) {
        ms_buffer_puts(out, *c == '\'' ? "'\\''" : "");
        ms_buffer_add(out, c, *c == '\'' ? 0 : 1); /* the quote is written above */
    }
    ms_buffer_puts(out, "'");
}

const char *ms_show_command_line(const ms_invocation *call) {
    ms_buffer line = {0};
    ms_buffer_puts(&line, "meshsim");
    for (size_t i = 0; i < call->word_count; i++) {
        ms_buffer_puts(&line, " ");
        ms_show_shell_word(call->words[i], &line);
    }
    return ms_buffer_keep(&line, call->arena);
}
