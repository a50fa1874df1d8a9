/* JSON texts: trees with places, and what is refused with its place. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "sink.h"

static ms_status parse(sink *s, const char *text, ms_node **root) {
    const ms_text document = {"c.json", text, strlen(text)};
    return ms_config_parse_json(&document, &s->arena, &s->diag, root);
}

static void expect_mark(const ms_node *node, int line, int column, int width) {
    cr_assert_eq(node->mark.line, line, "%s: %d", node->key, node->mark.line);
    cr_assert_eq(node->mark.column, column, "%s: %d", node->key, node->mark.column);
    cr_assert_eq(node->mark.width, width, "%s: %d", node->key, node->mark.width);
}

Test(json, values_stand_where_the_text_has_them) {
    sink s;
    ms_node *root = NULL;
    sink_init(&s);
    cr_assert_eq(parse(&s,
                       "{\"hidden\": 4096,\n"
                       "  \"n\\\"{\\u00e4\": [1, -2.5e3, true, null, \"a:,}\"],\n"
                       "\t\"ö\": {\"x\" : \"y\"}, \"last\":7}\n",
                       &root),
                 MS_OK, "%s", sink_text(&s));
    const ms_node *hidden = ms_node_get(root, "hidden"), *list = ms_node_get(root, "n\"{ä");
    const ms_node *inner = ms_node_get(root, "ö"), *last = ms_node_get(root, "last");
    cr_assert_eq(root->count, 4);
    cr_assert_str_eq(hidden->text, "4096");
    cr_assert_not(hidden->is_quoted);
    expect_mark(hidden, 1, 12, 4);
    cr_assert_eq(hidden->key_mark.column, 2);
    cr_assert_eq(list->type, MS_NODE_SEQUENCE);
    cr_assert_eq(list->count, 5);
    cr_assert_str_eq(list->first->next->text, "-2.5e3");
    expect_mark(list->first->next, 2, 21, 6);
    cr_assert_str_eq(list->last->text, "a:,}");
    cr_assert(list->last->is_quoted);
    cr_assert_str_eq(ms_node_get(inner, "x")->text, "y");
    expect_mark(ms_node_get(inner, "x"), 3, 14, 3);
    expect_mark(last, 3, 27, 1);
    sink_release(&s);
}

static const struct {
    const char *text, *said;
} REFUSED[] = {
    {"", "c.json:1:1: error: expected JSON, got an empty file"},
    {" \n", "c.json:1:1: error: expected JSON, got an empty file"},
    {"{\"a\": NaN}", "c.json:1:9: error: not valid JSON: invalid token"},
    {"{\"a\": Infinity}", "not valid JSON: invalid token"},
    {"{\"a\": [1,]}", "c.json:1:10: error: not valid JSON: unexpected token"},
    {"{\n \"a\": 1\n \"b\": 2}", "c.json:3:4: error: not valid JSON: '}' expected"},
    {"{\"a\": 1, \"a\": 2}", "not valid JSON: duplicate object key"},
    {"{\"a\": 99999999999999999999}", "not valid JSON: too big integer"},
    {"{\"a\": 1e999}", "not valid JSON: real number overflow"},
    {"{'a': 1}", "c.json:1:2: error: not valid JSON: string or '}' expected"},
    {"{\"a\": \"\\u0000\"}", "not valid JSON: \\u0000 is not allowed"},
    {"[1]", "c.json:1:1: error: expected keys and values, got a list"},
    {"7", "c.json:1:1: error: expected keys and values, got '7'"},
    {"{\"a\": \"\xff\"}", "c.json:1:8: error: expected UTF-8 text, got the byte 0xff"},
};

Test(json, what_is_none_is_refused_with_its_place) {
    for (size_t i = 0; i < sizeof REFUSED / sizeof REFUSED[0]; i++) {
        sink s;
        ms_node *root = NULL;
        sink_init(&s);
        cr_assert_eq(parse(&s, REFUSED[i].text, &root), MS_E_INPUT, "case %zu", i);
        cr_assert_not_null(strstr(sink_text(&s), REFUSED[i].said), "case %zu: %s", i,
                           sink_text(&s));
        cr_assert_eq(s.diag.errors, 1, "case %zu", i);
        sink_release(&s);
    }
}

Test(json, levels_are_limited) {
    sink s;
    ms_node *root = NULL;
    char text[400] = "{\"a\": ";
    sink_init(&s);
    memset(text + strlen(text), '[', 100);
    memset(text + strlen(text), ']', 100);
    strcat(text, "}");
    cr_assert_eq(parse(&s, text, &root), MS_E_INPUT);
    cr_assert_not_null(strstr(sink_text(&s), "at most 64 levels"), "%s", sink_text(&s));
    sink_release(&s);
}
