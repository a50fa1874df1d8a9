#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/diag.h"

static void collect(void *context, const char *text) {
    ms_buffer_puts(context, text);
}

/* What one fault at a place in a source prints. */
static void assert_printed(ms_mark mark, const char *source, const char *expected) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_diag diag;
    ms_diag_init(&diag, collect, &text);
    mark.file = "a.yaml";
    mark.source = source;
    mark.source_B = source == NULL ? 0 : strlen(source);
    ms_diag_at(&diag, &mark, "mesh.tp", "value '%d' is odd", 3);
    cr_assert_str_eq(ms_buffer_text(&text), expected);
    cr_assert_eq(diag.errors, 1);
    ms_buffer_release(&text);
}

#define HEAD(place) "a.yaml" place ": error: mesh.tp: value '3' is odd\n"

Test(diag, caret_stands_under_the_value) {
    assert_printed((ms_mark){.line = 2, .column = 5, .width = 3}, "mesh:\ntp: abc\n",
                   HEAD(":2:5") "    2 | tp: abc\n"
                                "      |     ^~~\n");
}

Test(diag, caret_at_first_column_of_a_last_line_without_end) {
    assert_printed((ms_mark){.line = 1, .column = 1, .width = 1}, "x",
                   HEAD(":1:1") "    1 | x\n"
                                "      | ^\n");
}

Test(diag, tabs_become_one_column) {
    assert_printed((ms_mark){.line = 1, .column = 3, .width = 2}, "\ta\tb",
                   HEAD(":1:3") "    1 |  a b\n"
                                "      |   ^~\n");
}

Test(diag, utf8_counts_characters_not_bytes) {
    assert_printed((ms_mark){.line = 1, .column = 4, .width = 2},
                   "\xc3\xa4\xe2\x82\xac = \xf0\x9f\x98\x80x\n",
                   HEAD(":1:4") "    1 | \xc3\xa4\xe2\x82\xac = \xf0\x9f\x98\x80x\n"
                                "      |    ^~\n");
}

Test(diag, control_bytes_and_cr_lf_are_not_printed) {
    assert_printed((ms_mark){.line = 1, .column = 1, .width = 2}, "a\033b\r\nnext\r\n",
                   HEAD(":1:1") "    1 | a b\n"
                                "      | ^~\n");
}

/* Of a long line 71 columns are shown, so that with the number it fits into 80: the caret stands
 * under the same character of the line, which the test puts there. */
Test(diag, a_long_line_is_cut_around_the_value) {
    enum { LENGTH = 200 };
    for (int column = 1; column <= LENGTH + 1; column++) {
        char line[LENGTH + 1] = "";
        memset(line, 'a', LENGTH);
        line[column <= LENGTH ? column - 1 : 0] = column <= LENGTH ? 'X' : 'a';
        ms_buffer text = {0};
        ms_diag diag;
        ms_diag_init(&diag, collect, &text);
        const ms_mark mark = {"a.yaml", line, LENGTH, 1, column, 500};
        ms_diag_at(&diag, &mark, "mesh.tp", "value '%d' is odd", 3);
        const char *quote = strchr(ms_buffer_text(&text), '\n') + 1;
        const char *caret = strchr(quote, '\n') + 1;
        const char *end = strchr(caret, '\n');
        const char *at = strchr(caret, '^');
        cr_assert_eq(caret - quote, 8 + 71 + 1, "column %d", column);
        cr_assert_leq(end - caret, 80, "column %d", column);
        cr_assert(column > LENGTH || quote[at - caret] == 'X', "column %d: %s", column, quote);
        cr_assert_eq(strncmp(quote + 8, "...", 3) == 0, column > 30, "column %d", column);
        cr_assert_eq(strncmp(caret - 4, "...", 3) == 0, column < LENGTH - 71 + 30, "%d", column);
        ms_buffer_release(&text);
    }
}

/* Of a line that has more than 71 columns, the beginning is shown where the value is in it. */
Test(diag, a_long_line_begins_at_its_beginning) {
    for (int column = 60; column <= 70; column++) {
        char line[] = "0123456789012345678901234567890123456789012345678901234567890123456789"
                      "0123456789012345678901234567890123456789";
        ms_buffer text = {0};
        ms_diag diag;
        ms_diag_init(&diag, collect, &text);
        const ms_mark mark = {"a.yaml", line, sizeof line - 1, 1, column, 4};
        ms_diag_at(&diag, &mark, "mesh.tp", "value '%d' is odd", 3);
        const char *quote = strchr(ms_buffer_text(&text), '\n') + 1;
        const char *caret = strchr(quote, '\n') + 1;
        cr_assert_eq(quote[8] == '0', column <= 65, "%s", quote);
        cr_assert_eq(quote[strchr(caret, '^') - caret], '0' + (column - 1) % 10, "%s", quote);
        cr_assert_not_null(strstr(caret, "^~~~\n"), "%s", quote);
        const char *value = quote + (strchr(caret, '^') - caret);
        cr_assert_eq(memchr(value, '.', 4), NULL, "%s", quote);
        ms_buffer_release(&text);
    }
}

Test(diag, the_underline_ends_with_the_line) {
    assert_printed((ms_mark){.line = 1, .column = 2, .width = 99}, "abc\nd",
                   HEAD(":1:2") "    1 | abc\n"
                                "      |  ^~\n");
}

Test(diag, a_place_behind_the_line_has_no_caret) {
    assert_printed((ms_mark){.line = 1, .column = 9, .width = 1}, "abc",
                   HEAD(":1:9") "    1 | abc\n");
    assert_printed((ms_mark){.line = 1, .column = 4, .width = 1}, "abc",
                   HEAD(":1:4") "    1 | abc\n"
                                "      |    ^\n");
}

Test(diag, without_line_or_source_only_the_message) {
    assert_printed((ms_mark){.line = 0}, "abc", HEAD(""));
    assert_printed((ms_mark){.line = 3, .column = 0}, NULL, HEAD(":3"));
    assert_printed((ms_mark){.line = 7, .column = 1, .width = 1}, "one line\n", HEAD(":7:1"));
    assert_printed((ms_mark){.line = 2, .column = 1, .width = 1}, "\n\n", HEAD(":2:1"));
}

/* However long the line is and wherever the fault sits, the message comes and nothing is read out
 * of bounds. */
Test(diag, long_lines_do_no_harm) {
    enum { LINE_B = 100000 };
    char *source = malloc(LINE_B + 2);
    cr_assert_not_null(source);
    memset(source, 'k', LINE_B);
    source[LINE_B] = '\n';
    source[LINE_B + 1] = '\0';
    for (int column = 1; column <= LINE_B + 1; column += 9999) {
        ms_buffer text;
        ms_buffer_init(&text);
        ms_diag diag;
        ms_diag_init(&diag, collect, &text);
        ms_mark mark = {.file = "a.yaml",
                        .source = source,
                        .source_B = LINE_B + 1,
                        .line = 1,
                        .column = column,
                        .width = LINE_B};
        ms_diag_at(&diag, &mark, NULL, "too long");
        char head[64];
        snprintf(head, sizeof head, "a.yaml:1:%d: error: too long\n", column);
        cr_assert_eq(strncmp(ms_buffer_text(&text), head, strlen(head)), 0, "%.80s",
                     ms_buffer_text(&text));
        cr_assert_lt(text.length, 1000U);
        ms_buffer_release(&text);
    }
    free(source);
}

Test(diag, a_fault_without_place_names_the_program) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_diag diag;
    ms_diag_init(&diag, collect, &text);
    ms_diag_at(&diag, NULL, "mesh", "missing");
    ms_diag_at(&diag, &(ms_mark){.line = 4}, NULL, "no file");
    ms_diag_error(&diag, "cannot open '%s'", "x");
    ms_diag_warning(&diag, "slow");
    cr_assert_str_eq(ms_buffer_text(&text), "meshsim: error: mesh: missing\n"
                                            "meshsim: error: no file\n"
                                            "meshsim: error: cannot open 'x'\n"
                                            "meshsim: warning: slow\n");
    cr_assert_eq(diag.errors, 3, "a warning is not counted");
    ms_buffer_release(&text);
}

static int count_lines(const char *text) {
    int lines = 0;
    for (; *text != '\0'; text++) {
        lines += *text == '\n';
    }
    return lines;
}

Test(diag, twenty_faults_are_printed_the_rest_is_counted) {
    static const struct {
        int faults, lines;
        const char *end;
    } CASES[] = {{0, 0, ""},
                 {20, 20, "fault 20\n"},
                 {21, 21, "meshsim: ... and 1 more faults\n"},
                 {45, 21, "meshsim: ... and 25 more faults\n"}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ms_buffer text;
        ms_buffer_init(&text);
        ms_diag diag;
        ms_diag_init(&diag, collect, &text);
        for (int fault = 1; fault <= CASES[i].faults; fault++) {
            if (fault % 2 == 0) {
                ms_diag_error(&diag, "fault %d", fault);
            } else {
                ms_diag_at(&diag, NULL, NULL, "fault %d", fault);
            }
        }
        ms_diag_finish(&diag);
        const char *printed = ms_buffer_text(&text);
        cr_assert_eq(diag.errors, CASES[i].faults);
        cr_assert_eq(count_lines(printed), CASES[i].lines, "%s", printed);
        cr_assert_str_eq(printed + text.length - strlen(CASES[i].end), CASES[i].end);
        ms_buffer_release(&text);
    }
}

Test(nearest_word, finds_a_typo_and_refuses_a_stranger) {
    static const char *const KEYS[] = {"bandwidth", "latency", NULL,   "nodes",
                                       "tp",        "forward", "fp16", "bf16"};
    static const struct {
        const char *word, *nearest;
    } CASES[] = {{"bandwith", "bandwidth"},
                 {"Latency", "latency"},
                 {"node", "nodes"},
                 {"forwrad", "forward"},
                 {"tp", "tp"},
                 {"xylophone", NULL},
                 {"temperature", NULL},
                 {"fp8", NULL},
                 {"FP16", "fp16"},
                 {"bf61", "bf16"},
                 {"badnwitdh", "bandwidth"},
                 {"t", NULL},
                 {"late", NULL}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const char *got = ms_nearest_word(CASES[i].word, KEYS, sizeof KEYS / sizeof KEYS[0]);
        if (CASES[i].nearest == NULL) {
            cr_assert_null(got, "'%s' gives '%s'", CASES[i].word, got);
        } else {
            cr_assert_not_null(got, "'%s'", CASES[i].word);
            cr_assert_str_eq(got, CASES[i].nearest);
        }
    }
    cr_assert_null(ms_nearest_word("any", NULL, 0));
}

Test(nearest_word, ends_a_message) {
    char broad[201];
    memset(broad, 'x', sizeof broad - 1);
    broad[sizeof broad - 1] = '\0';
    const char *const keys[] = {"latency", broad};
    cr_assert_str_eq(ms_nearest_hint("latecny", keys, 2).text, "; did you mean 'latency'?");
    cr_assert_str_eq(ms_nearest_hint("bandwidth", keys, 2).text, "");
    cr_assert_str_eq(ms_nearest_hint(NULL, keys, 2).text, "");
    cr_assert_eq(strlen(ms_nearest_hint(broad, keys, 2).text), strlen("; did you mean ''?") + 100);
}

Test(nearest_word, very_long_words_do_no_harm) {
    char word[5000];
    memset(word, 'a', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    const char *candidates[] = {word, "b"};
    cr_assert_eq(ms_nearest_word(word, candidates, 2), word);
}

Test(diag, the_first_fault_is_kept_without_its_place) {
    ms_buffer text;
    ms_buffer reason;
    ms_buffer_init(&text);
    ms_buffer_init(&reason);
    ms_diag diag;
    ms_diag_init(&diag, collect, &text);
    diag.reason = &reason;
    const ms_mark mark = {.file = "error: a.yaml", .source = "tp: 3", .source_B = 5, .line = 1};
    ms_diag_warning(&diag, "error: of no kind");
    cr_assert_eq(reason.length, 0U);
    ms_diag_at(&diag, &mark, "mesh.tp", "value '%s' is odd", "3\033");
    ms_diag_error(&diag, "another one");
    cr_assert_str_eq(ms_buffer_text(&reason), "mesh.tp: value '3?' is odd");
    ms_buffer_release(&reason);
    ms_buffer_init(&reason);
    ms_diag_error(&diag, "two\nlines");
    cr_assert_str_eq(ms_buffer_text(&reason), "two");
    ms_buffer_release(&reason);
    ms_buffer_release(&text);
}

Test(diag, lack_of_memory_is_a_fault_like_others) {
    ms_buffer text;
    ms_diag diag;
    ms_buffer_init(&text);
    ms_diag_init(&diag, collect, &text);
    cr_assert_eq(ms_diag_no_memory(&diag), MS_E_NOMEM);
    cr_assert_str_eq(ms_buffer_text(&text), "meshsim: error: out of memory\n");
    cr_assert_eq(diag.errors, 1);
    ms_buffer_release(&text);
}
