/* The parts that all pages share (page.h): members of their JSON data, and the template into which
 * style, script and data are put. */
#include "trace/report/html/page.h"

#include <stdio.h>
#include <string.h>

#include "base/checksum.h"

/* ---- data ---- */

void ms_page_put_string(ms_buffer *json, const char *key, const char *text) {
    ms_buffer_printf(json, "\"%s\":", key);
    ms_json_write_string(json, text);
    ms_buffer_puts(json, ",");
}

void ms_page_put_tree(ms_buffer *json, const char *key, const ms_value *tree) {
    ms_buffer_printf(json, "\"%s\":", key);
    if (tree == NULL) {
        ms_buffer_puts(json, "null");
    } else {
        ms_value_write_json(tree, 0, json);
    }
    ms_buffer_puts(json, ",");
}

void ms_page_put_input(ms_buffer *json, const ms_page_input *input) {
    char digest[MS_SHA256_HEX];
    ms_sha256_hex(input->text, input->length, digest);
    ms_buffer_puts(json, "{");
    ms_page_put_string(json, "name", input->name);
    ms_page_put_string(json, "sha256", digest);
    ms_buffer_puts(json, "\"text\":");
    if (input->is_left_out) {
        ms_buffer_puts(json, "null");
    } else {
        ms_json_write_string(json, input->text);
    }
    ms_buffer_puts(json, "}");
}

/* ---- the template ---- */

/* Append the hash of a text as a Content-Security-Policy writes it: "'sha256-...'", in base64. */
static void put_hash(const ms_page_text *text, ms_buffer *out) {
    char hex[MS_SHA256_HEX];
    unsigned char digest[(MS_SHA256_HEX - 1) / 2];
    ms_sha256_hex(text->text, text->length, hex);
    for (size_t i = 0; i < sizeof digest; i++) {
        unsigned byte = 0;
        (void)sscanf(hex + 2 * i, "%2x", &byte);
        digest[i] = (unsigned char)byte;
    }
    ms_buffer_puts(out, "'sha256-");
    ms_base64_write(digest, sizeof digest, out);
    ms_buffer_puts(out, "'");
}

/* Whether an escape of ms_json_write_string is left to the browser, which then shows its character:
 * ends of lines, tabs, U+FFFD in place of bytes that are not UTF-8, and escapes of one letter. */
static bool is_shown(const char *escape) {
    static const char *const SHOWN[] = {"\\u0009", "\\u000a", "\\u000d", "\\ufffd"};
    bool is_shown = escape[1] != 'u';
    for (size_t i = 0; i < sizeof SHOWN / sizeof SHOWN[0]; i++) {
        is_shown = is_shown || strncmp(escape, SHOWN[i], strlen(SHOWN[i])) == 0;
    }
    return is_shown;
}

/* Append JSON to the page. A script ends at the first "</script", so each '<' is written as an
 * escape. The escape of an invisible character is escaped once more, so that the page shows the
 * escape (such as \u202e) and never the character. */
static void put_json(const ms_buffer *json, ms_buffer *out) {
    const char *from = ms_buffer_text(json);
    while (*from != '\0') {
        size_t plain = strcspn(from, "<\\");
        ms_buffer_add(out, from, plain);
        from += plain;
        if (*from == '<') {
            ms_buffer_puts(out, "\\u003c");
            from++;
        } else if (*from == '\\') {
            ms_buffer_puts(out, is_shown(from) ? "" : "\\");
            ms_buffer_add(out, from, 2);
            from += 2;
        }
    }
}

/* Append the part of the page for a name between {{ and }} of the template. For other names nothing
 * is appended.  name: [length]. */
static void put_part(const char *name, size_t length, const ms_page_parts *parts, ms_buffer *out) {
    static const char *const NAMES[] = {"title", "style_hash", "script_hash",
                                        "style", "script",     "data"};
    size_t part = 0;
    while (part < 6 && (strlen(NAMES[part]) != length || memcmp(name, NAMES[part], length) != 0)) {
        part++;
    }
    switch (part) {
    case 0:
        ms_xml_write_text(out, parts->title);
        break;
    case 1:
    case 2:
        put_hash(part == 1 ? &MS_PAGE_STYLE : parts->script, out);
        break;
    case 3:
    case 4:
        ms_buffer_add(out, part == 3 ? MS_PAGE_STYLE.text : parts->script->text,
                      part == 3 ? MS_PAGE_STYLE.length : parts->script->length);
        break;
    case 5:
        put_json(parts->json, out);
        break;
    default:
        break;
    }
}

ms_status ms_page_put(const ms_page_parts *parts, ms_buffer *out) {
    const char *from = MS_PAGE_TEMPLATE.text;
    const char *open;
    while ((open = strstr(from, "{{")) != NULL) {
        const char *close = strstr(open, "}}");
        if (close == NULL) {
            break;
        }
        ms_buffer_add(out, from, (size_t)(open - from));
        put_part(open + 2, (size_t)(close - open - 2), parts, out);
        from = close + 2;
    }
    ms_buffer_puts(out, from);
    return out->failed ? MS_E_NOMEM : MS_OK;
}
