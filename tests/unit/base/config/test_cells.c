/* CSV texts, cell by cell. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/config/csv_cells.h"

enum { TEXT_MAX = 256 };

static void append(char *out, const char *word, ms_span span) {
    size_t used = strlen(out);
    snprintf(out + used, TEXT_MAX - used, "%s%.*s", word, (int)(span.to - span.from), span.from);
}

/* Cells in brackets, lines apart by '/', faults with '!'. */
static void expect(const char *text, const char *wanted) {
    char got[TEXT_MAX] = "";
    ms_span body = ms_cells_body(text, strlen(text));
    ms_span line;
    while (ms_cells_next_line(&body, &line)) {
        ms_cell cell;
        while (ms_cells_next(&line, &cell)) {
            append(got, cell.fault != NULL ? "!" : "[", cell.text);
            append(got, "]", (ms_span){"", ""});
        }
        append(got, "/", (ms_span){"", ""});
    }
    cr_assert_str_eq(got, wanted, "%s: %s", text, got);
}

Test(cells, lines_and_cells) {
    expect("", "");
    expect("\n", "/");
    expect("a", "[a]/");
    expect("a,b\nc", "[a][b]/[c]/");
    expect("a,b\r\nc,\r\n", "[a][b]/[c][]/");
    expect(",\n\n", "[][]//");
    expect(" a\t, b b ,\n", "[a][b b][]/");
}

Test(cells, marks_and_quotes) {
    expect("\xEF\xBB\xBF"
           "a,b\n",
           "[a][b]/");
    expect("\xEF\xBB\xBF", "");
    expect("\"a\",\"b\"\n", "[a][b]/");
    expect(" \" a \" ,\"\"\r\n", "[a][]/");
    expect("\"a,b\",c\n", "[a,b][c]/");
    expect("\"a\"\"b\",c\n", "[a\"\"b][c]/");
    expect("a\"b\n", "[a\"b]/"); /* a quote inside is a character */
}

Test(cells, quotes_that_are_no_quotes) {
    expect("\"a,b\nc\n", "!\"a,b]/[c]/");
    expect("\"a\"b,c\n", "!\"a\"b][c]/");
    expect("\"\n", "!\"]/");
    expect("\"\"\"\n", "!\"\"\"]/");
}

/* A quote behind the end of the text is none of it. */
Test(cells, a_text_ends_where_its_length_says) {
    ms_span body = ms_cells_body("a, \"b\"", 3);
    ms_span line;
    ms_cell cell;
    cr_assert(ms_cells_next_line(&body, &line));
    cr_assert(ms_cells_next(&line, &cell));
    cr_assert(ms_cells_next(&line, &cell));
    cr_assert_null(cell.fault, "%s", cell.fault);
    cr_assert_eq(cell.text.from, cell.text.to);
    cr_assert_not(ms_cells_next(&line, &cell));
}

Test(cells, places_hold_the_quotes) {
    static const char TEXT[] = "x, \"a\" ,y";
    ms_span body = ms_cells_body(TEXT, strlen(TEXT));
    ms_span line;
    ms_cell cell;
    cr_assert(ms_cells_next_line(&body, &line));
    cr_assert(ms_cells_next(&line, &cell));
    cr_assert(ms_cells_next(&line, &cell));
    cr_assert_eq(cell.span.from - TEXT, 3);
    cr_assert_eq(cell.span.to - cell.span.from, 3);
}
