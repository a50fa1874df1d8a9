/* The comments behind values, which say where numbers come from. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/config/config.h"

static void ignore(void *context, const char *text) {
    (void)context;
    (void)text;
}

/* The lines of ms_config_write_sources for a text. */
static void assert_sources(const char *text, const char *expected) {
    ms_arena arena;
    ms_diag diag;
    ms_buffer out;
    ms_node *root = NULL;
    ms_arena_init(&arena);
    ms_diag_init(&diag, ignore, NULL);
    ms_buffer_init(&out);
    cr_assert_eq(ms_yaml_parse(text, strlen(text), "f.yaml", &arena, &diag, &root), MS_OK);
    ms_config_write_sources(root, "top", &out);
    cr_assert_str_eq(ms_buffer_text(&out), expected);
    ms_buffer_release(&out);
    ms_arena_release(&arena);
}

Test(config_sources, a_comment_behind_a_value) {
    assert_sources("a: 1 # one\nb: 2\nc: 3 #three \n", "top.a: one\ntop.c: three\n");
}

Test(config_sources, goes_on_in_lines_of_its_own_but_not_at_their_beginning) {
    assert_sources(
        "a: 1   # one\n       # and more\n# not of it\nb: 2   # two\n\n       # nor this\n",
        "top.a: one and more\ntop.b: two\n");
}

Test(config_sources, of_mappings_and_what_is_in_them) {
    assert_sources(
        "m:           # all\n  x: [1, 2]  # of x\n  y:\n    z: 3     # of z\nf: {p: 1, q: 2} # "
        "both",
        "top.m: all\ntop.m.x: of x\ntop.m.y.z: of z\ntop.f: both\ntop.f.p: both\ntop.f.q: both\n");
}

Test(config_sources, a_sign_inside_a_word_begins_none) {
    assert_sources("a: b#c\nd: '1 2'   # of d\n", "top.d: of d\n");
}
