#include "cli/show_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "meshsim/units.h"

void ms_show_wrapped(const char *margin, const char *text, ms_buffer *out) {
    static const char INDENT[] = "      ";
    size_t used = strlen(margin);
    ms_buffer_puts(out, margin);
    for (bool is_first = true; *text != '\0'; is_first = false) {
        size_t word = strcspn(text, " ");
        bool is_new = !is_first && used + 1 + word > MS_SHOW_PAGE_WIDTH;
        const char *between = is_first ? "" : is_new ? "\n" : " ";
        ms_buffer_printf(out, "%s%s%.*s", between, is_new ? INDENT : "", (int)word, text);
        used = (is_new ? sizeof INDENT - 1 : used + !is_first) + word;
        text += word + (text[word] == ' ');
    }
    ms_buffer_puts(out, "\n");
}

void ms_show_reason(const char *name, const char *reason, ms_buffer *out) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_buffer_printf(&text, "%s: %s", name, reason);
    ms_show_wrapped("  ", ms_buffer_text(&text), out);
    out->failed = out->failed || text.failed;
    ms_buffer_release(&text);
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
    bool is_plain = word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                      "0123456789_-+=./:,%@")] == '\0';
    if (is_plain) {
        ms_buffer_puts(out, word);
        return;
    }
    ms_buffer_puts(out, "'");
    for (const char *c = word; *c != '\0'; c++) {
        ms_buffer_puts(out, *c == '\'' ? "'\\''" : "");
        ms_buffer_add(out, c, *c == '\'' ? 0 : 1);
    }
    ms_buffer_puts(out, "'");
}

const char *ms_show_command_line(const ms_invocation *call) {
    ms_buffer line;
    ms_buffer_init(&line);
    ms_buffer_puts(&line, "meshsim");
    for (size_t i = 0; i < call->word_count; i++) {
        ms_buffer_puts(&line, " ");
        ms_show_shell_word(call->words[i], &line);
    }
    return ms_buffer_keep(&line, call->arena);
}
