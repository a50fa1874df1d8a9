#include <criterion/criterion.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "base/value.h"

static void assert_json(const ms_value *value, int indent, const char *expected) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_value_write_json(value, indent, &text);
    cr_assert_str_eq(ms_buffer_text(&text), expected);
    ms_buffer_release(&text);
}

Test(value, writes_every_type_in_the_order_added) {
    ms_arena arena;
    ms_arena_init(&arena);
    ms_value *root = ms_value_new_object(&arena);
    ms_value_add(root, "none", MS_VALUE_NULL);
    ms_value_add_bool(root, "yes", true);
    ms_value_add_int(root, "least", INT64_MIN);
    ms_value_add_double(root, "half", 0.5);
    ms_value_add_string(root, "name", "a b");
    ms_value *list = ms_value_add(root, "list", MS_VALUE_ARRAY);
    ms_value_add_int(list, NULL, 1);
    ms_value_add(list, NULL, MS_VALUE_OBJECT);
    assert_json(root, 0,
                "{\"none\":null,\"yes\":true,\"least\":-9223372036854775808,\"half\":0.5,"
                "\"name\":\"a b\",\"list\":[1,{}]}");
    cr_assert_eq(root->count, 6U);
    ms_arena_release(&arena);
}

Test(value, indents_levels_and_leaves_empty_ones_closed) {
    ms_arena arena;
    ms_arena_init(&arena);
    ms_value *root = ms_value_new_object(&arena);
    ms_value *inner = ms_value_add(root, "a", MS_VALUE_OBJECT);
    ms_value_add_int(inner, "b", 1);
    ms_value_add(root, "c", MS_VALUE_ARRAY);
    assert_json(root, 2, "{\n  \"a\": {\n    \"b\": 1\n  },\n  \"c\": []\n}");
    ms_arena_release(&arena);
}

Test(value, what_json_cannot_say_becomes_null) {
    ms_arena arena;
    ms_arena_init(&arena);
    ms_value *root = ms_value_new_object(&arena);
    ms_value_add_double(root, "nan", NAN);
    ms_value_add_double(root, "inf", -INFINITY);
    assert_json(root, 0, "{\"nan\":null,\"inf\":null}");
    ms_arena_release(&arena);
}

Test(value, strings_are_escaped_and_always_utf8) {
    static const struct {
        const char *text, *json;
    } CASES[] = {
        {"", "\"\""},
        {"\"\\/", "\"\\\"\\\\/\""},
        {"\n\t\x01\x1f\x7f", "\"\\u000a\\u0009\\u0001\\u001f\\u007f\""},
        {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\""},
        {"a\xff"
         "b",
         "\"a\\ufffdb\""},
        {"\xc3", "\"\\ufffd\""},                                  /* cut short */
        {"\xc0\xaf", "\"\\ufffd\\ufffd\""},                       /* overlong, two bytes */
        {"\xe0\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\""},            /* overlong, three bytes */
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},            /* a surrogate */
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* above U+10FFFF */
        {"\xf0\x9f\x98", "\"\\ufffd\\ufffd\\ufffd\""},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_buffer text;
        ms_buffer_init(&text);
        ms_json_write_string(&text, CASES[i].text);
        cr_assert_str_eq(ms_buffer_text(&text), CASES[i].json, "case %zu", i);
        ms_buffer_release(&text);
    }
}

/* Every finite double reads back with the same bits. */
Test(value, doubles_read_back_equal) {
    const char *given = getenv("MS_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : 11;
    ms_random random = {seed};
    for (int i = 0; i < 2000; i++) {
        uint64_t bits = ms_random_next(&random);
        double number = 0;
        memcpy(&number, &bits, sizeof number);
        if (!isfinite(number)) {
            continue;
        }
        ms_value value = {.type = MS_VALUE_DOUBLE, .as.number = number};
        ms_buffer text;
        ms_buffer_init(&text);
        ms_value_write_json(&value, 0, &text);
        double back = strtod(ms_buffer_text(&text), NULL);
        cr_assert_eq(memcmp(&back, &number, sizeof back), 0, "seed %llu: %s",
                     (unsigned long long)seed, ms_buffer_text(&text));
        ms_buffer_release(&text);
    }
}

static void assert_number(double number, const char *expected) {
    const ms_value value = {.type = MS_VALUE_DOUBLE, .as.number = number};
    assert_json(&value, 0, expected);
}

/* Digits of a number as it is printed, without zeros before the first and behind the last. */
static int significant_digits(const char *text) {
    int count = 0, zeros = 0;
    for (; *text != '\0' && *text != 'e'; text++) {
        bool is_digit = *text >= '0' && *text <= '9';
        if (is_digit && (*text != '0' || count > 0)) {
            zeros = *text == '0' ? zeros + 1 : 0;
            count++;
        }
    }
    return count - zeros;
}

/* A number reads back with the same bits, and with one digit less it would not. */
static void expect_least_digits(double number, uint64_t seed) {
    const ms_value value = {.type = MS_VALUE_DOUBLE, .as.number = number};
    ms_buffer text;
    char shorter[400];
    ms_buffer_init(&text);
    ms_value_write_json(&value, 0, &text);
    double back = strtod(ms_buffer_text(&text), NULL);
    cr_assert_eq(memcmp(&back, &number, sizeof back), 0, "seed %llu: %s", (unsigned long long)seed,
                 ms_buffer_text(&text));
    int digits = significant_digits(ms_buffer_text(&text));
    snprintf(shorter, sizeof shorter, "%.*g", digits - 1, number);
    cr_assert(digits <= 1 || strtod(shorter, NULL) != number, "seed %llu: %s, %s",
              (unsigned long long)seed, ms_buffer_text(&text), shorter);
    ms_buffer_release(&text);
}

Test(value, doubles_have_no_more_digits_than_they_need) {
    static const struct {
        double number;
        const char *text;
    } ROWS[] = {
        {24.36, "24.36"},
        {0.1, "0.1"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {-0.0, "-0"},
        {100000, "100000"},
        {1e22, "1e+22"},
        {1.2345678901234568e17, "1.2345678901234568e+17"},
        {5e-324, "5e-324"}, /* of %.15g it would be 4.94065645841247e-324 */
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        assert_number(ROWS[i].number, ROWS[i].text);
    }
    const char *given = getenv("MS_SEED");
    uint64_t seed = given != NULL ? strtoull(given, NULL, 10) : 13;
    ms_random random = {seed};
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = ms_random_next(&random);
        double number = 0;
        char decimal[40];
        memcpy(&number, &bits, sizeof number);
        if (i % 2 == 0) { /* a decimal of a few digits */
            int digits = (int)ms_random_range(&random, 1, 15);
            snprintf(decimal, sizeof decimal, "%.*e", digits - 1, ms_random_unit(&random) * 1e6);
            number = strtod(decimal, NULL);
        }
        if (isfinite(number)) {
            expect_least_digits(number, seed);
        }
    }
}

Test(value, finds_children_and_dotted_paths) {
    ms_arena arena;
    ms_arena_init(&arena);
    ms_value *root = ms_value_new_object(&arena);
    ms_value *share = ms_value_add(root, "time_share", MS_VALUE_OBJECT);
    ms_value_add_double(share, "compute", 0.75);
    ms_value_add_int(root, "gpus", 8);
    ms_value_add_string(root, "order", "tp");
    cr_assert_eq(ms_value_get(root, "gpus")->as.integer, 8);
    cr_assert_null(ms_value_get(root, "gpu"));
    cr_assert_null(ms_value_get(NULL, "gpus"));
    cr_assert_null(ms_value_get(ms_value_get(root, "gpus"), "inner"));
    cr_assert_eq(ms_value_number(root, "time_share.compute", -1), 0.75);
    cr_assert_eq(ms_value_number(root, "gpus", -1), 8.0);
    cr_assert_eq(ms_value_number(root, "order", -1), -1.0);
    cr_assert_eq(ms_value_number(root, "time_share.other", -1), -1.0);
    cr_assert_eq(ms_value_number(root, "gpus.inner", -1), -1.0);
    ms_arena_release(&arena);
}

/* Wherever memory runs out, adders give NULL, take NULL, and the tree that is there can still be
 * written. */
Test(value, memory_running_out_anywhere_is_survived) {
    for (long allocations = 0; allocations < 12; allocations++) {
        ms_arena arena;
        ms_arena_init(&arena);
        ms_arena_fail_after(&arena, allocations);
        ms_value *root = ms_value_new_object(&arena);
        ms_value *list = ms_value_add(root, "list", MS_VALUE_ARRAY);
        ms_value_add_string(list, NULL, "text");
        ms_value_add_double(list, NULL, 1.5);
        ms_value_add_bool(root, "last", false);
        if (root == NULL) {
            cr_assert_eq(allocations, 0);
        } else {
            ms_buffer text;
            ms_buffer_init(&text);
            ms_value_write_json(root, 0, &text);
            cr_assert_eq(ms_buffer_text(&text)[0], '{');
            ms_buffer_release(&text);
        }
        ms_arena_release(&arena);
    }
}

/* A copied tree is equal, bit by bit, and needs the first one no longer. */
Test(value, copies) {
    ms_arena arena, own;
    ms_arena_init(&arena);
    ms_arena_init(&own);
    ms_value *root = ms_value_new_object(&arena);
    ms_value_add(root, "none", MS_VALUE_NULL);
    ms_value_add_bool(root, "yes", true);
    ms_value_add_int(root, "least", INT64_MIN);
    ms_value_add_double(root, "third", 1.0 / 3.0);
    ms_value_add_string(root, "", "a\nb");
    ms_value *list = ms_value_add(root, "list", MS_VALUE_ARRAY);
    ms_value_add_double(ms_value_add(list, NULL, MS_VALUE_OBJECT), "x", 5e-324);
    ms_value_add(list, NULL, MS_VALUE_ARRAY);
    ms_buffer text;
    ms_buffer_init(&text);
    ms_value_write_json(root, 0, &text);
    const ms_value *copy = ms_value_copy(root, &own);
    ms_arena_release(&arena);
    cr_assert_not_null(copy);
    assert_json(copy, 0, ms_buffer_text(&text));
    cr_assert_eq(ms_value_number(copy, "third", 0), 1.0 / 3.0);
    ms_buffer_release(&text);
    ms_arena_release(&own);
}

Test(value, text_in_xml_is_escaped_and_legal) {
    static const struct {
        const char *text, *expected;
    } CASES[] = {
        {"plain \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80",
         "plain \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80"},
        {"<a b=\"c\">&</a>", "&lt;a b=&quot;c&quot;&gt;&amp;&lt;/a&gt;"},
        {"\x01\t\n", "???"},
        {"\xFF\xC3(\xED\xA0\x80", "??"
                                  "(???"},
        {"\xEF\xBF\xBE\xEF\xBF\xBD", "?\xEF\xBF\xBD"},
        {"\x7F\xC2\x80\xC2\x9F\xC2\xA0", "???\xC2\xA0"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_buffer out;
        ms_buffer_init(&out);
        ms_xml_write_text(&out, CASES[i].text);
        cr_assert_str_eq(ms_buffer_text(&out), CASES[i].expected, "case %zu", i);
        ms_buffer_release(&out);
    }
}

Test(json, terminals_get_no_orders) {
    static const struct {
        const char *text, *shown;
    } CASES[] = {{"plain, \xC3\xA4 \xE2\x82\xAC\n\tline", "plain, \xC3\xA4 \xE2\x82\xAC\n\tline"},
                 {"\x1B[31mred\x1B]0;title\x07", "?[31mred?]0;title?"},
                 {"back\b\r\x7F", "back???"},
                 {"\xC2\x9B"
                  "31m \xC2\x80 \xC2\x9F \xC2\xA0",
                  "?31m ? ? \xC2\xA0"},
                 {"\x9B"
                  "31m \xFF \xC3",
                  "?31m ? ?"},
                 {"a\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\x8B\xE2\x80\xA8\xEF\xBB\xBF\xF3\xA0\x81\x81z",
                  "a??????z"}, /* U+202E, U+2066, U+200B, U+2028, U+FEFF, U+E0041 */
                 {"", ""}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_buffer out;
        ms_buffer_init(&out);
        ms_terminal_write_text(&out, CASES[i].text);
        cr_assert_str_eq(ms_buffer_text(&out), CASES[i].shown);
        ms_buffer_release(&out);
    }
}

Test(json, control_characters_are_escaped) {
    ms_buffer out;
    ms_buffer_init(&out);
    ms_json_write_string(&out, "\x1B\x7F\xC2\x80\xC2\x9F\xC2\xA0\x9B\n");
    cr_assert_str_eq(ms_buffer_text(&out),
                     "\"\\u001b\\u007f\\u0080\\u009f\xC2\xA0\\ufffd\\u000a\"");
    ms_buffer_release(&out);
}

/* RFC 8259, section 7: U+E0041 less 0x10000 is 0xD0041, whose ten upper and ten lower bits make
 * DB40 and DC41. */
Test(json, characters_above_16_bits_are_escaped_as_pairs) {
    ms_buffer out;
    ms_buffer_init(&out);
    ms_json_write_string(&out, "\xF3\xA0\x81\x81");
    cr_assert_str_eq(ms_buffer_text(&out), "\"\\udb40\\udc41\"");
    ms_buffer_release(&out);
}

Test(json, what_readers_take_for_something_else_is_escaped) {
    ms_buffer out;
    ms_buffer_init(&out);
    ms_json_write_string(
        &out, "\xE2\x80\xA8\xE2\x80\xA9\xE2\x80\xAA\xEF\xBB\xBF\xEF\xBF\xBD\xEF\xBF\xBE");
    cr_assert_str_eq(ms_buffer_text(&out), "\"\\u2028\\u2029\\u202a\\ufeff\xEF\xBF\xBD\\ufffe\"");
    ms_buffer_release(&out);
}

Test(value, leaves_are_copied_under_another_key) {
    ms_arena arena;
    ms_buffer text;
    ms_arena_init(&arena);
    ms_buffer_init(&text);
    ms_value *from = ms_value_new_object(&arena);
    ms_value_add_bool(from, "", true);
    ms_value_add_int(from, "", -3);
    ms_value_add_double(from, "", 0.5);
    ms_value_add_string(from, "", "text");
    ms_value_add(from, "", MS_VALUE_NULL);
    ms_value_add(from, "", MS_VALUE_OBJECT);
    ms_value *to = ms_value_new_object(&arena);
    for (const ms_value *leaf = from->first; leaf != NULL; leaf = leaf->next) {
        ms_value_add_leaf(to, "x", leaf);
    }
    ms_value_add_leaf(to, "nothing", NULL);
    ms_value_write_json(to, 0, &text);
    cr_assert_str_eq(ms_buffer_text(&text),
                     "{\"x\":true,\"x\":-3,\"x\":0.5,\"x\":\"text\",\"x\":null,\"x\":null,"
                     "\"nothing\":null}");
    ms_buffer_release(&text);
    ms_arena_release(&arena);
}
