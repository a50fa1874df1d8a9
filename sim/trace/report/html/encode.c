/* Encodes columns of numbers of a page (page.h): variable-length integers, then base64. */
#include "trace/report/html/page.h"

void ms_varint_put(ms_buffer *out, uint64_t number) {
    char bytes[10];
    size_t length = 0;
    while (number >= 0x80) {
        bytes[length++] = (char)(unsigned char)(number | 0x80);
        number >>= 7;
    }
    bytes[length++] = (char)number;
    ms_buffer_add(out, bytes, length);
}

void ms_varint_put_signed(ms_buffer *out, int64_t number) {
    uint64_t twice = (uint64_t)number << 1;
    ms_varint_put(out, number < 0 ? ~twice : twice);
}

void ms_base64_write(const void *bytes, size_t length, ms_buffer *out) {
    static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = bytes;
    for (size_t i = 0; i < length; i += 3) {
        size_t left = length - i;
        unsigned word = (unsigned)at[i] << 16 | (left > 1 ? (unsigned)at[i + 1] << 8 : 0U) |
                        (left > 2 ? at[i + 2] : 0U);
        const char four[4] = {DIGITS[word >> 18], DIGITS[word >> 12 & 63U],
                              left > 1 ? DIGITS[word >> 6 & 63U] : '=',
                              left > 2 ? DIGITS[word & 63U] : '='};
        ms_buffer_add(out, four, sizeof four);
    }
}

void ms_column_write(const char *name, ms_buffer *column, ms_buffer *json) {
    bool is_first = json->length > 0 && json->data[json->length - 1] == '{';
    ms_buffer_printf(json, "%s\"%s\":\"", is_first ? "" : ",", name);
    ms_base64_write(ms_buffer_text(column), column->length, json);
    ms_buffer_puts(json, "\"");
    ms_buffer_release_part(column, json);
}
