#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/random.h"
#include "same_tree.h"
#include "sink.h"

/* Texts whose written form is tricky. */
static const char *const TEXTS[] = {"",
                                    "a",
                                    "8",
                                    "400 Gbit/s",
                                    "5 %",
                                    "~",
                                    "null",
                                    "true",
                                    "a: b",
                                    "a:b",
                                    "a:",
                                    ":a",
                                    "-a",
                                    "- a",
                                    "-",
                                    "?",
                                    "?a",
                                    "a #b",
                                    "a#b",
                                    "#a",
                                    "[a",
                                    "a]",
                                    "{a}",
                                    "a, b",
                                    "\"",
                                    "'",
                                    "it's",
                                    "\\",
                                    "a\nb",
                                    ("a\xe2\x80\xae"
                                     "b"), /* U+202E */
                                    "\xe2\x80\xa8",
                                    "\xf3\xa0\x81\x81", /* U+E0041 */
                                    "\n",
                                    " a",
                                    "a ",
                                    "\t",
                                    "a\tb",
                                    "a\t#b",
                                    "a:\tb",
                                    "*a",
                                    "&a",
                                    "!a",
                                    "|",
                                    ">",
                                    "%a",
                                    "@a",
                                    "`a",
                                    "---",
                                    "...",
                                    "--- a",
                                    "<<",
                                    "=",
                                    "\x01",
                                    "\x7F",
                                    "\xC2\x85",
                                    "\xC2\xA0",
                                    "\xE2\x80\xA8",
                                    "\xEF\xBB\xBF",
                                    "\xEF\xBF\xBE",
                                    "\xF0\x9F\x98\x80",
                                    "\xC3\xA4",
                                    "a\r\nb",
                                    "0x10",
                                    "1_000"};
enum { TEXT_COUNT = sizeof TEXTS / sizeof TEXTS[0] };

static ms_node *random_tree(ms_random *random, ms_arena *arena, int depth) {
    ms_node *node = MS_NEW(arena, ms_node, 1);
    int kind = depth == 0 ? 0 : (int)ms_random_range(random, 0, 3);
    if (kind <= 1) {
        node->type = MS_NODE_SCALAR;
        node->is_quoted = true;
        node->text = TEXTS[ms_random_range(random, 0, TEXT_COUNT - 1)];
        return node;
    }
    node->type = kind == 2 ? MS_NODE_SEQUENCE : MS_NODE_MAPPING;
    int count = (int)ms_random_range(random, 0, 4);
    for (int i = 0; i < count; i++) {
        ms_node *child = random_tree(random, arena, depth - 1);
        if (node->type == MS_NODE_MAPPING) {
            const char *text = TEXTS[ms_random_range(random, 0, TEXT_COUNT - 1)];
            int repeats = ms_random_range(random, 0, 20) == 0
                              ? 80
                              : 1; /* some keys longer than a simple one */
            ms_buffer key;
            ms_buffer_init(&key);
            ms_buffer_printf(&key, "%d", i);
            for (int j = 0; j < repeats; j++) {
                ms_buffer_puts(&key, text);
            }
            child->key = ms_arena_strdup(arena, ms_buffer_text(&key));
            ms_buffer_release(&key);
        }
        if (node->last == NULL) {
            node->first = child;
        } else {
            node->last->next = child;
        }
        node->last = child;
        node->count++;
    }
    return node;
}

Test(write, random_trees_come_back) {
    const char *replay = getenv("MS_SEED");
    uint64_t seed = replay == NULL ? 7 : strtoull(replay, NULL, 0);
    ms_random random = {seed};
    for (int i = 0; i < 3000; i++) {
        sink s;
        sink_init(&s);
        ms_node *tree = random_tree(&random, &s.arena, 5);
        if (tree->type == MS_NODE_MAPPING) {
            ms_buffer text;
            ms_buffer_init(&text);
            ms_node_write(tree, &text);
            ms_node *back = NULL;
            cr_assert_eq(sink_parse(&s, ms_buffer_text(&text), &back), MS_OK,
                         "seed %lu, tree %d: %s\n%s", (unsigned long)seed, i, sink_text(&s),
                         ms_buffer_text(&text));
            cr_assert(is_same_tree(tree, back), "seed %lu, tree %d:\n%s", (unsigned long)seed, i,
                      ms_buffer_text(&text));
            ms_buffer_release(&text);
        }
        sink_release(&s);
    }
}

/* Every tricky text that YAML lets stand plain comes back plain, and in any place. */
Test(write, plain_texts_come_back_plain) {
    static const char *const FORMS[] = {"k: %s\n", "k: [%s, x]\n", "k:\n- %s\n- x\n",
                                        "k: {j: %s}\n", "k: [[%s], {a: %s}]\n"};
    size_t parsed = 0;
    for (size_t form = 0; form < sizeof FORMS / sizeof FORMS[0]; form++) {
        for (size_t i = 0; i < TEXT_COUNT; i++) {
            sink s;
            sink_init(&s);
            char *in = ms_arena_printf(&s.arena, FORMS[form], TEXTS[i], TEXTS[i]);
            ms_node *tree = NULL;
            if (sink_parse(&s, in, &tree) == MS_OK && !tree->has_fault) {
                parsed++;
                ms_buffer text;
                ms_buffer_init(&text);
                ms_node_write(tree, &text);
                ms_node *back = NULL;
                cr_assert_eq(sink_parse(&s, ms_buffer_text(&text), &back), MS_OK, "%s as\n%s%s", in,
                             ms_buffer_text(&text), sink_text(&s));
                cr_assert(is_same_tree(tree, back), "%s as\n%s", in, ms_buffer_text(&text));
                ms_buffer_release(&text);
            }
            sink_release(&s);
        }
    }
    cr_assert_gt(parsed, 100U);
}

Test(write, looks_as_people_write_it) {
    static const char *const TEXT = "name: tiny\n"
                                    "mesh:\n"
                                    "  tp: 8\n"
                                    "order: [pp, dp, tp]\n"
                                    "tiers:\n"
                                    "  - name: nvlink\n"
                                    "    bandwidth: 300 GB/s\n"
                                    "  - name: \"a: b\"\n"
                                    "    empty: {}\n"
                                    "    none: []\n"
                                    "nothing:\n";
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s, TEXT, &root), MS_OK);
    ms_buffer text;
    ms_buffer_init(&text);
    ms_node_write(root, &text);
    cr_assert_str_eq(ms_buffer_text(&text), TEXT, "%s", ms_buffer_text(&text));
    ms_buffer_release(&text);
    sink_release(&s);
}

Test(write, single_values) {
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s, "a: {}\nb: []\nc: 'x'\nd: [1, [2]]\n", &root), MS_OK);
    static const char *const EXPECTED[] = {"{}\n", "[]\n", "\"x\"\n", "- 1\n- [2]\n"};
    size_t i = 0;
    for (const ms_node *child = root->first; child != NULL; child = child->next) {
        ms_buffer text;
        ms_buffer_init(&text);
        ms_node_write(child, &text);
        cr_assert_str_eq(ms_buffer_text(&text), EXPECTED[i++]);
        ms_buffer_release(&text);
    }
    sink_release(&s);
}
