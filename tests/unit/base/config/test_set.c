#include <criterion/criterion.h>

#include "sink.h"

static const char *const BASE =
    "name: tiny\nmesh: {tp: 2, pp: 4}\norder: [pp, dp]\nnone:\nlist:\n  - a: 1\n  - [x, y]\n";

/* The tree after an override, as text. */
typedef struct good_set {
    const char *assignment, *path_from_root, *expected;
} good_set;

static const good_set GOOD[] = {
    {"mesh.tp=8", "mesh", "tp: 8\npp: 4\n"},
    {"mesh.cp=2", "mesh", "tp: 2\npp: 4\ncp: 2\n"},
    {"mesh=x", "mesh", "x\n"},
    {"mesh={a: [1, b]}", "mesh", "a: [1, b]\n"},
    {"new.deep.key=400 Gbit/s", "new", "deep:\n  key: 400 Gbit/s\n"},
    {"none.key=1", "none", "key: 1\n"},
    {"order[1]=tp", "order", "[pp, tp]\n"},
    {"order.0=tp", "order", "[tp, dp]\n"},
    {"order=[tp]", "order", "[tp]\n"},
    {"list[0].a=7", "list", "- a: 7\n- [x, y]\n"},
    {"list[1][0]=z", "list", "- a: 1\n- [z, y]\n"},
    {"list.1.0=z", "list", "- a: 1\n- [z, y]\n"},
    {"name=\"5\"", "name", "\"5\"\n"},
    {"name=a=b", "name", "a=b\n"},
    {"name= spaced ", "name", "spaced\n"},
    {"name='a.b'", "name", "\"a.b\"\n"},
    {"mesh.tp=null", "mesh", "tp: null\npp: 4\n"}, /* until ms_config_remove_nulls */
    {"mesh.pp=~", "mesh", "tp: 2\npp: ~\n"},
    {"order[1]=null", "order", "[pp, null]\n"}, /* an entry stays */
    {"mesh.cp=null", "mesh", "tp: 2\npp: 4\ncp: null\n"},
};

Test(set, values_land_where_they_should) {
    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++) {
        sink s;
        sink_init(&s);
        ms_node *root = NULL;
        cr_assert_eq(sink_parse(&s, BASE, &root), MS_OK, "%s", sink_text(&s));
        cr_assert_eq(ms_node_set(root, GOOD[i].assignment, &s.arena, &s.diag), MS_OK, "'%s': %s",
                     GOOD[i].assignment, sink_text(&s));
        ms_buffer text;
        ms_buffer_init(&text);
        ms_node_write(ms_node_get(root, GOOD[i].path_from_root), &text);
        cr_assert_str_eq(ms_buffer_text(&text), GOOD[i].expected, "'%s': %s", GOOD[i].assignment,
                         ms_buffer_text(&text));
        ms_buffer_release(&text);
        sink_release(&s);
    }
}

static const ms_field TIER_FIELDS[] = {{.key = "latency", .type = MS_FIELD_NUMBER}, {.key = NULL}};
static const ms_field TIER_ROW = {.key = "tier", .type = MS_FIELD_MAP, .fields = TIER_FIELDS};
static const ms_field_shape OF_TIERS = {.each = &TIER_ROW}, OF_FILE = {.file_key = "file"};
static const ms_field FIELDS[] = {
    {.key = "name", .type = MS_FIELD_STRING},
    {.key = "tiers", .type = MS_FIELD_NODE, .shape = &OF_TIERS},
    {.key = "file", .type = MS_FIELD_NODE, .fields = TIER_FIELDS, .shape = &OF_FILE},
    {.key = "list", .type = MS_FIELD_WORDS},
    {.key = NULL}};

/* Null keys go where a table knows them; those of a mapping that names a file wait for it, and a
 * key that no table knows stays to be told of. */
Test(set, null_takes_known_keys_out) {
    static const char TEXT[] = "name: null\nnaem: null\nlist: [a, null]\n"
                               "tiers: {a: null, b: {latency: ~, latensy: null}, c: {latency: }}\n"
                               "file: {file: x, latency: null}\n";
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s, TEXT, &root), MS_OK, "%s", sink_text(&s));
    ms_config_remove_nulls(root, FIELDS);
    ms_buffer text;
    ms_buffer_init(&text);
    ms_node_write(root, &text);
    cr_assert_str_eq(ms_buffer_text(&text),
                     "naem: null\nlist: [a, null]\ntiers:\n  b:\n    latensy: null\n  c:\n"
                     "    latency:\nfile:\n  file: x\n  latency: null\n",
                     "%s", ms_buffer_text(&text));
    ms_buffer_release(&text);
    sink_release(&s);
}

typedef struct bad_set {
    const char *assignment;
    ms_status status;
    const char *line;
} bad_set;

static const bad_set BAD[] = {
    {"mesh.tp", MS_E_USAGE, "--set:1:1: error: expected key.path=value, got no '='"},
    {"", MS_E_USAGE, "--set:1:1: error: expected key.path=value, got no '='"},
    {"=3", MS_E_USAGE, "--set:1:1: error: expected key.path=value, got an empty key"},
    {"mesh.=3", MS_E_USAGE, "--set:1:6: error: expected key.path=value, got an empty key"},
    {".tp=3", MS_E_USAGE, "--set:1:1: error: expected key.path=value, got an empty key"},
    {"order[1=3", MS_E_USAGE, "--set:1:6: error: expected an index such as 'name[2]'"},
    {"order[1]x=3", MS_E_USAGE, "--set:1:6: error: expected an index such as 'name[2]'"},
    {"order[]=3", MS_E_USAGE, "--set:1:7: error: expected key.path=value, got an empty key"},
    {"name.x=3", MS_E_INPUT, "--set:1:6: error: there are no keys below 'name', it holds 'tiny'"},
    {"mesh.tp.x=3", MS_E_INPUT,
     "--set:1:9: error: there are no keys below 'mesh.tp', it holds '2'"},
    {"order[2]=3", MS_E_INPUT,
     "--set:1:7: error: expected the number of a list entry, 0 to 1, got '2'"},
    {"order.x=3", MS_E_INPUT,
     "--set:1:7: error: expected the number of a list entry, 0 to 1, got 'x'"},
    {"order[99999999999999999999999]=3", MS_E_INPUT,
     "--set:1:7: error: expected the number of a list entry, 0 to 1, got "
     "'99999999999999999999999'"},
    {"mesh[0]=3", MS_E_INPUT,
     "--set:1:6: error: expected a key here, got the number of a list entry"},
    {"name=", MS_E_INPUT, "--set:1:6: error: expected a value behind '=', got nothing"},
    {"mesh.tp=", MS_E_INPUT, "--set:1:9: error: expected a value behind '=', got nothing"},
    {"mesh.tp=  # 2", MS_E_INPUT, "--set:1:9: error: expected a value behind '=', got nothing"},
    {"name=[1", MS_E_INPUT, "--set:1:8: error: not valid YAML: did not find expected ',' or ']'"},
    {"name=@", MS_E_INPUT,
     "--set:1:6: error: not valid YAML: a value cannot start with '@'; put it in quotes"},
    {"name=*x", MS_E_INPUT, "--set:1:6: error: alias '*x' has no anchor '&x' before it"},
    {"name={a: 1, a: 2}", MS_E_INPUT, "--set:1:13: error: repeated key 'a', first at line 1:7"},
    {"n\xC3\xA4me=\xFF", MS_E_INPUT, "--set:1:6: error: expected UTF-8 text, got the byte 0xff"},
    {"\xC3\xA4=[1, @]", MS_E_INPUT,
     "--set:1:7: error: not valid YAML: a value cannot start with '@'; put it in quotes"},
};

Test(set, faults) {
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        sink s;
        sink_init(&s);
        ms_node *root = NULL;
        cr_assert_eq(sink_parse(&s, BASE, &root), MS_OK);
        cr_assert_eq(ms_node_set(root, BAD[i].assignment, &s.arena, &s.diag), BAD[i].status, "'%s'",
                     BAD[i].assignment);
        cr_assert_str_eq(sink_first_line(&s), BAD[i].line, "'%s': %s", BAD[i].assignment,
                         sink_text(&s));
        cr_assert_eq(s.diag.errors, 1);
        sink_release(&s);
    }
}

Test(set, marks_show_the_assignment) {
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s, BASE, &root), MS_OK);
    cr_assert_eq(ms_node_set(root, "mesh.tp=eight", &s.arena, &s.diag), MS_OK);
    const ms_node *tp = ms_node_get(ms_node_get(root, "mesh"), "tp");
    cr_assert_str_eq(tp->origin, "--set");
    cr_assert_eq(ms_config_fault(&s.diag, tp, "mesh.tp", "expected a number, got '%s'", tp->text),
                 MS_E_INPUT);
    cr_assert_str_eq(sink_text(&s), "--set:1:9: error: mesh.tp: expected a number, got 'eight'\n"
                                    "    1 | mesh.tp=eight\n"
                                    "      |         ^~~~~\n");
    cr_assert(tp->key_mark.column == 1 && tp->key_mark.width == 7);
    sink_release(&s);
}

Test(set, depth_is_bounded) {
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s, BASE, &root), MS_OK);
    ms_buffer text;
    ms_buffer_init(&text);
    for (int i = 0; i < 63; i++) {
        ms_buffer_puts(&text, "k.");
    }
    ms_buffer_puts(&text, "k=1");
    cr_assert_eq(ms_node_set(root, ms_buffer_text(&text), &s.arena, &s.diag), MS_OK, "%s",
                 sink_text(&s));
    ms_buffer_release(&text);
    ms_buffer_puts(&text, "q");
    for (int i = 0; i < 63; i++) {
        ms_buffer_puts(&text, ".k");
    }
    ms_buffer_puts(&text, "=[1]");
    cr_assert_eq(ms_node_set(root, ms_buffer_text(&text), &s.arena, &s.diag), MS_E_INPUT);
    ms_buffer_release(&text);
    ms_buffer_puts(&text, "q");
    for (int i = 0; i < 64; i++) {
        ms_buffer_puts(&text, ".k");
    }
    ms_buffer_puts(&text, "=1");
    cr_assert_eq(ms_node_set(root, ms_buffer_text(&text), &s.arena, &s.diag), MS_E_USAGE);
    ms_buffer_release(&text);
    /* what was made can be written and read again */
    ms_node_write(root, &text);
    ms_node *again = NULL;
    cr_assert_eq(sink_parse(&s, ms_buffer_text(&text), &again), MS_OK, "%s", sink_text(&s));
    ms_buffer_release(&text);
    sink_release(&s);
}

Test(overlay, what_lies_below_fills_gaps_alone) {
    sink s;
    sink_init(&s);
    ms_node *base = NULL;
    ms_node *under = NULL;
    cr_assert_eq(sink_parse(&s, "a: 1\nm: {x: 1}\nl: [1]\nempty:\nk: {q: 1}\n", &base), MS_OK);
    cr_assert_eq(
        sink_parse(&s, "a: 2\nm: {x: 5, y: {w: 4}}\nl: [3, 4]\nempty: 6\nk: 7\nn: 8\n", &under),
        MS_OK);
    cr_assert_eq(ms_node_underlay(base, under, &s.arena), MS_OK);
    ms_buffer text;
    ms_buffer_init(&text);
    ms_node_write(base, &text);
    cr_assert_str_eq(ms_buffer_text(&text),
                     "a: 1\nm:\n  x: 1\n  y:\n    w: 4\nl: [1]\nempty: 6\nk:\n  q: 1\nn: 8\n");
    ms_buffer_release(&text);
    cr_assert_eq(ms_node_get(base, "n")->mark.line, 6, "where it stands below");
    sink_release(&s);
}

Test(overlay, mappings_merge_and_all_else_replaces) {
    sink s;
    sink_init(&s);
    ms_node *base = NULL;
    ms_node *over = NULL;
    cr_assert_eq(sink_parse(&s, "a: 1\nm: {x: 1, y: {z: 2}}\nl: [1, 2]\nk: {q: 1}\n", &base),
                 MS_OK);
    cr_assert_eq(sink_parse(&s, "l: [3]\nm: {y: {w: 4}, x: 5}\nnew: {n: 1}\nk: 7\n", &over), MS_OK);
    cr_assert_eq(ms_node_overlay(base, over, &s.arena), MS_OK);
    ms_buffer text;
    ms_buffer_init(&text);
    ms_node_write(base, &text);
    cr_assert_str_eq(ms_buffer_text(&text),
                     "a: 1\nm:\n  x: 5\n  y:\n    z: 2\n    w: 4\nl: [3]\nk: 7\nnew:\n  n: 1\n");
    ms_buffer_release(&text);
    /* the upper tree stays as it was, whatever happens to the merged one */
    cr_assert_eq(ms_node_set(base, "new.n=9", &s.arena, &s.diag), MS_OK);
    cr_assert_str_eq(ms_node_get(ms_node_get(over, "new"), "n")->text, "1");
    cr_assert_eq(ms_node_get(ms_node_get(base, "m"), "x")->mark.column, 19);
    sink_release(&s);
}
