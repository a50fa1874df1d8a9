/* What the parts of `export megatron` share: arguments said, and keys asked for. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "study/export/megatron.h"

/* Words of a shell; all others are quoted. */
static bool is_plain(const char *text) {
    static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "-_.,:/+=% ";
    return text[0] != '\0' && strspn(text, LETTERS) == strlen(text);
}

void ms_megatron_say(ms_megatron_export *x, const char *flag, const char *format, ...) {
    char value[64];
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(value, sizeof value, format, args);
    char *text = MS_NEW(x->arena, char, length + 1);
    if (text == NULL) {
        x->lines.failed = true;
    } else {
        vsnprintf(text, (size_t)length + 1, format, again);
        const char *quote = is_plain(text) ? "" : "'";
        ms_buffer_printf(&x->lines, "    %s %s%s%s\n", flag, quote, text, quote);
    }
    va_end(again);
    va_end(args);
}

void ms_megatron_say_if(ms_megatron_export *x, const char *flag, bool is_said) {
    if (is_said) {
        ms_buffer_printf(&x->lines, "    %s\n", flag);
    }
}

void ms_megatron_say_count(ms_megatron_export *x, const char *flag, int count, int usual) {
    if (count != usual) {
        ms_megatron_say(x, flag, "%d", count);
    }
}

const char *ms_megatron_key(ms_megatron_export *x, const char *key) {
    bool is_there = false;
    const ms_node *node = ms_node_at(x->root, key, &is_there);
    const char *text = is_there && node->type == MS_NODE_SCALAR
                           ? node->text
                           : ms_export_default(x->defaults, key, x->arena);
    x->lines.failed = x->lines.failed || text == NULL;
    return text == NULL ? "none" : text;
}

void ms_megatron_say_pairs(ms_megatron_export *x, const ms_megatron_pair *pairs) {
    for (; pairs->flag != NULL; pairs++) {
        const char *value = ms_megatron_key(x, pairs->key);
        bool is_count = value[0] >= '1' && value[0] <= '9';
        if (pairs->given != NULL) {
            ms_megatron_say_if(x, pairs->flag, strcmp(value, pairs->given) == 0);
        } else if (is_count) {
            ms_megatron_say(x, pairs->flag, "%s", value);
        }
    }
}
