#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sink.h"

Test(yaml, marks_are_exact) {
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    static const char TEXT[] =
        "# c\na: eight\n\"\xC3\xBC\": 'x y'\nm:\n  k: {p: 1, q: [2, \xC3\xA4\xC3\xA4, 3]}\n";
    cr_assert_eq(sink_parse(&s, TEXT, &root), MS_OK, "%s", sink_text(&s));
    const ms_node *a = ms_node_get(root, "a");
    cr_assert(a->mark.line == 2 && a->mark.column == 4 && a->mark.width == 5);
    cr_assert(a->key_mark.line == 2 && a->key_mark.column == 1 && a->key_mark.width == 1);
    cr_assert_str_eq(a->mark.file, "w.yaml");
    cr_assert_str_eq(a->origin, "file");
    const ms_node *u = ms_node_get(root, "\xC3\xBC");
    cr_assert(u->is_quoted && u->mark.line == 3 && u->mark.column == 6 && u->mark.width == 5);
    const ms_node *q = ms_node_get(ms_node_get(ms_node_get(root, "m"), "k"), "q");
    cr_assert_eq(q->count, 3U);
    cr_assert(q->first->next->mark.line == 5 && q->first->next->mark.column == 20 &&
              q->first->next->mark.width == 2);
    cr_assert_eq(q->last->mark.column, 24, "%d", q->last->mark.column);
    sink_release(&s);
}

Test(yaml, a_byte_order_mark_and_crlf_change_nothing) {
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s,
                            "\xEF\xBB\xBF"
                            "a: 1\r\nb:\r\n  c: xyz\r\n",
                            &root),
                 MS_OK);
    const ms_node *c = ms_node_get(ms_node_get(root, "b"), "c");
    cr_assert_str_eq(c->text, "xyz");
    cr_assert(c->mark.line == 3 && c->mark.column == 6 && c->mark.width == 3);
    cr_assert_eq(ms_node_get(root, "a")->key_mark.column, 1);
    sink_release(&s);
}

Test(yaml, aliases_are_copies) {
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s, "a: &x {b: 1}\nc: *x\nd: &k name\n*k : 2\n", &root), MS_OK, "%s",
                 sink_text(&s));
    cr_assert_eq(ms_node_set(root, "c.b=7", &s.arena, &s.diag), MS_OK);
    cr_assert_str_eq(ms_node_get(ms_node_get(root, "a"), "b")->text, "1");
    cr_assert_str_eq(ms_node_get(ms_node_get(root, "c"), "b")->text, "7");
    cr_assert_str_eq(ms_node_get(root, "name")->text, "2");
    cr_assert_str_eq(ms_node_get(root, "c")->key, "c");
    cr_assert_str_eq(ms_node_get(root, "a")->key, "a");
    sink_release(&s);
}

Test(yaml, an_anchor_set_again_counts_from_there_on) {
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s, "a: &x 1\nb: *x\nc: &x 2\nd: *x\n", &root), MS_OK);
    cr_assert_str_eq(ms_node_get(root, "b")->text, "1");
    cr_assert_str_eq(ms_node_get(root, "d")->text, "2");
    sink_release(&s);
}

typedef struct bad_text {
    const char *text, *line;
} bad_text;

static const bad_text BAD[] = {
    {"", "w.yaml:1:1: error: expected keys and values, got nothing"},
    {"\xEF\xBB\xBF", "w.yaml:1:1: error: expected keys and values, got nothing"},
    {"# only a comment\n", "w.yaml:1:1: error: expected keys and values, got nothing"},
    {"---\n", "w.yaml:2:1: error: expected keys and values, got nothing"},
    {"- 1\n", "w.yaml:1:1: error: expected keys and values, got a list"},
    {"word\n", "w.yaml:1:1: error: expected keys and values, got 'word'"},
    {"a: 1\n---\nb: 2\n", "w.yaml:2:1: error: expected one document, got a second one"},
    {"a: &x [1, *x]\n", "w.yaml:1:11: error: this alias contains itself"},
    {"a: &x {b: {c: *x}}\n", "w.yaml:1:15: error: this alias contains itself"},
    {"a: *y\n", "w.yaml:1:4: error: alias '*y' has no anchor '&y' before it"},
    {"a: 1\nb: \xFF\n", "w.yaml:2:4: error: expected UTF-8 text, got the byte 0xff"},
    {"\xC3\xA4: x\xC3\n", "w.yaml:1:5: error: expected UTF-8 text, got the byte 0xc3"},
    {"a: \xC0\x80\n", "w.yaml:1:4: error: expected UTF-8 text, got the byte 0xc0"},
    {"a: \xED\xA0\x80\n", "w.yaml:1:4: error: expected UTF-8 text, got the byte 0xed"},
    {"a: \xF4\x90\x80\x80\n", "w.yaml:1:4: error: expected UTF-8 text, got the byte 0xf4"},
    {"a: \xE0\x80\x80\n", "w.yaml:1:4: error: expected UTF-8 text, got the byte 0xe0"},
    {"\xFF\xFE"
     "a",
     "w.yaml:1:1: error: expected UTF-8 text, got UTF-16"},
    {"a: \x1B[31m\n", "w.yaml:1:4: error: expected text, got the control character U+001B"},
    {"a: 1\xE2\x80\xA8\n", "w.yaml:1:5: error: expected text, got the control character U+2028"},
    {"a: x\xEF\xBB\xBF\n", "w.yaml:1:5: error: expected text, got the control character U+FEFF"},
    {"a:\n\tb: 1\n", "w.yaml:2:1: error: not valid YAML: found a tab, indent with spaces"},
    {"a: @x\n",
     "w.yaml:1:4: error: not valid YAML: a value cannot start with '@'; put it in quotes"},
    {"a: \"b\n",
     "w.yaml:2:1: error: not valid YAML: found unexpected end of stream (while scanning a "
     "quoted scalar that began at line 1)"},
    {"a: 1\n b: 2\n",
     "w.yaml:2:3: error: not valid YAML: mapping values are not allowed in this context"},
    {"a: [1, 2\nb: 3\n",
     "w.yaml:2:2: error: not valid YAML: did not find expected ',' or ']' (while parsing "
     "a flow sequence that began at line 1)"},
};

Test(yaml, faults_that_end_the_reading) {
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        sink s;
        sink_init(&s);
        ms_node *root = NULL;
        cr_assert_eq(sink_parse(&s, BAD[i].text, &root), MS_E_INPUT, "case %zu", i);
        cr_assert_null(root);
        cr_assert_str_eq(sink_first_line(&s), BAD[i].line, "case %zu: %s", i, sink_text(&s));
        cr_assert_eq(s.diag.errors, 1);
        sink_release(&s);
    }
}

Test(yaml, a_nul_byte_is_a_fault_at_its_place) {
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(ms_yaml_parse("a: 1\nb: x\0y\n", 12, "w.yaml", &s.arena, &s.diag, &root),
                 MS_E_INPUT);
    cr_assert_str_eq(sink_text(&s), "w.yaml:2:5: error: expected text, got a NUL byte\n"
                                    "    2 | b: x?y\n      |     ^\n");
    sink_release(&s);
}

/* Faults after which the tree can still be read: all are reported, and reading any mapping on the
 * way refuses it. */
static const bad_text FLAGGED[] = {
    {"a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n",
     "w.yaml:5:3: error: repeated key 'c', first at line 3:3"},
    {"a: 1\n'a': 3\n", "w.yaml:2:1: error: repeated key 'a', first at line 1:1"},
    {"a: &x {b: 1}\nc:\n  <<: *x\n",
     "w.yaml:3:3: error: merge keys ('<<') are not supported; write the keys out"},
    {"a: 1\n[b, c]: 2\n", "w.yaml:2:1: error: expected a name as key, got a list or mapping"},
    {"a: 1\n? {b: {c: 1}}\n: {d: 1}\n",
     "w.yaml:2:3: error: expected a name as key, got a list or mapping"},
    {"a: 1\n\"\": 2\n", "w.yaml:2:1: error: expected a name as key, got nothing"},
    {"a: !!str 4\n",
     "w.yaml:1:4: error: tags such as '!!str' are not supported; put a text in quotes instead"},
    {"a: \"x\\0y\"\n", "w.yaml:1:4: error: expected text without NUL characters"},
    {"a: [1, {b: 1, b: 2}]\n", "w.yaml:1:15: error: repeated key 'b', first at line 1:9"},
};

Test(yaml, faults_that_leave_a_tree) {
    static const ms_field NONE[] = {{0}};
    for (size_t i = 0; i < sizeof FLAGGED / sizeof FLAGGED[0]; i++) {
        sink s;
        sink_init(&s);
        ms_node *root = NULL;
        int nothing = 0;
        cr_assert_eq(sink_parse(&s, FLAGGED[i].text, &root), MS_OK, "case %zu", i);
        cr_assert_eq(s.diag.errors, 1, "case %zu: %s", i, sink_text(&s));
        cr_assert_str_eq(sink_first_line(&s), FLAGGED[i].line, "case %zu: %s", i, sink_text(&s));
        cr_assert(root->has_fault, "case %zu", i);
        cr_assert_eq(ms_config_read(root, NONE, "", &nothing, &s.arena, &s.diag), MS_E_INPUT);
        ms_node *base = NULL;
        cr_assert_eq(sink_parse(&s, "z: 1\n", &base), MS_OK);
        cr_assert_eq(ms_node_overlay(base, root, &s.arena), MS_OK);
        cr_assert(base->has_fault, "case %zu", i);
        sink_release(&s);
    }
}

Test(yaml, repeated_keys_are_all_found_and_the_first_counts) {
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s, "a: 1\na: 2\nb: 1\na: 3\nb: 2\n", &root), MS_OK);
    cr_assert_str_eq(sink_faults(&s), "w.yaml:2:1: error: repeated key 'a', first at line 1:1\n"
                                      "w.yaml:4:1: error: repeated key 'a', first at line 1:1\n"
                                      "w.yaml:5:1: error: repeated key 'b', first at line 3:1\n");
    cr_assert_str_eq(ms_node_get(root, "a")->text, "1");
    sink_release(&s);
}

/* "a: [[[...]]]" with `levels` lists inside the root mapping. */
static char *nested(ms_arena *arena, size_t levels) {
    char *text = MS_NEW(arena, char, 2 * levels + 16);
    memcpy(text, "a: ", 3);
    memset(text + 3, '[', levels);
    memset(text + 3 + levels, ']', levels);
    return text;
}

Test(yaml, depth_is_bounded) {
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s, nested(&s.arena, 63), &root), MS_OK);
    cr_assert_eq(sink_parse(&s, nested(&s.arena, 64), &root), MS_E_INPUT);
    cr_assert_str_eq(
        sink_first_line(&s),
        "w.yaml:1:67: error: expected at most 64 levels of mappings and lists, got more");
    cr_assert_eq(sink_parse(&s, nested(&s.arena, 500000), &root), MS_E_INPUT);
    sink_release(&s);
}

Test(yaml, depth_by_aliases_is_bounded) {
    sink s;
    sink_init(&s);
    ms_buffer text;
    ms_buffer_init(&text);
    ms_buffer_puts(&text, "x0: &x0 [1]\n");
    for (int i = 1; i < 100; i++) {
        ms_buffer_printf(&text, "x%d: &x%d [*x%d]\n", i, i, i - 1);
    }
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s, ms_buffer_text(&text), &root), MS_E_INPUT);
    cr_assert_str_eq(
        sink_first_line(&s),
        "w.yaml:64:12: error: expected at most 64 levels of mappings and lists, got more "
        "by aliases");
    ms_buffer_release(&text);
    sink_release(&s);
}

Test(yaml, expansion_of_aliases_is_bounded) {
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(
        sink_parse(&s,
                   "a: &a [1,1,1,1,1,1,1,1,1,1]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
                   "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
                   "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: &f [*e,*e,*e,*e,*e,*e,*e,*e,*e,*e]\n",
                   &root),
        MS_E_INPUT);
    cr_assert_str_eq(
        sink_first_line(&s),
        "w.yaml:5:29: error: expected at most 100,000 values made by aliases, got more");
    cr_assert_lt(s.arena.used_B, (size_t)64 << 20);
    sink_release(&s);
}

Test(yaml, anchors_and_values_are_bounded) {
    sink s;
    sink_init(&s);
    ms_buffer text;
    ms_buffer_init(&text);
    ms_buffer_puts(&text, "a: [");
    for (int i = 0; i <= 1000; i++) {
        ms_buffer_printf(&text, "&x%d 1, ", i);
    }
    ms_buffer_puts(&text, "]\n");
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s, ms_buffer_text(&text), &root), MS_E_INPUT);
    cr_assert_not_null(
        strstr(sink_first_line(&s), "expected at most 1,000 anchors ('&'), got more"));
    ms_buffer_release(&text);
    char *many = MS_NEW(&s.arena, char, 2100000);
    memcpy(many, "a: [", 4);
    for (size_t i = 4; i < 2099990; i += 2) {
        memcpy(many + i, "1,", 2);
    }
    cr_assert_eq(sink_parse(&s, many, &root), MS_E_INPUT);
    cr_assert_not_null(
        strstr(sink_text(&s), "expected at most 1,000,000 values in one file, got more"));
    sink_release(&s);
}

/* A folder of its own for tests that read files. */
static void make_folder(char *folder, size_t size) {
    const char *base = getenv("TMPDIR");
    snprintf(folder, size, "%s/meshsim-yaml-XXXXXX", base == NULL ? "/tmp" : base);
    cr_assert_not_null(mkdtemp(folder));
}

static ms_status load(sink *s, const char *path, ms_node **root_out) {
    return ms_yaml_load(path, &s->arena, &s->diag, root_out);
}

Test(yaml, files_are_read) {
    sink s;
    sink_init(&s);
    char folder[256];
    make_folder(folder, sizeof folder);
    const char *path = ms_arena_printf(&s.arena, "%s/w.yaml", folder);
    FILE *file = fopen(path, "w");
    fputs("a: 1\nb: [2]\n", file);
    fclose(file);
    ms_node *root = NULL;
    cr_assert_eq(load(&s, path, &root), MS_OK);
    cr_assert_eq(root->count, 2U);
    cr_assert_str_eq(root->first->mark.file, path);
    unlink(path);
    cr_assert_eq(load(&s, path, &root), MS_E_INPUT);
    cr_assert_str_eq(sink_text(&s), ms_arena_printf(&s.arena, "%s: error: no such file\n", path));
    rmdir(folder);
    sink_release(&s);
}

Test(yaml, a_directory_is_refused) {
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(load(&s, "/", &root), MS_E_INPUT);
    cr_assert_str_eq(sink_text(&s), "/: error: expected a YAML file, got a directory\n");
    sink_release(&s);
}

Test(yaml, large_files_are_refused_before_reading) {
    sink s;
    sink_init(&s);
    char folder[256];
    make_folder(folder, sizeof folder);
    const char *path = ms_arena_printf(&s.arena, "%s/large.yaml", folder);
    int descriptor = open(path, O_CREAT | O_WRONLY, 0600);
    cr_assert_eq(ftruncate(descriptor, (off_t)1 << 40),
                 0); /* sparse: reading it would take hours */
    close(descriptor);
    ms_node *root = NULL;
    cr_assert_eq(load(&s, path, &root), MS_E_INPUT);
    cr_assert_str_eq(
        sink_text(&s),
        ms_arena_printf(&s.arena,
                        "%s: error: expected a YAML file of at most 16 MiB, got 1048576.0 MiB\n",
                        path));
    unlink(path);
    rmdir(folder);
    sink_release(&s);
}

Test(yaml, endless_devices_are_refused) {
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(load(&s, "/dev/zero", &root), MS_E_INPUT);
    cr_assert_str_eq(sink_text(&s),
                     "/dev/zero: error: expected a YAML file of at most 16 MiB, got more\n");
    sink_release(&s);
}

Test(yaml, pipes_are_read) {
    sink s;
    sink_init(&s);
    int ends[2];
    cr_assert_eq(pipe(ends), 0);
    cr_assert_eq(write(ends[1], "a: 1\n", 5), 5);
    close(ends[1]);
    const char *path = ms_arena_printf(&s.arena, "/dev/fd/%d", ends[0]);
    ms_node *root = NULL;
    cr_assert_eq(load(&s, path, &root), MS_OK, "%s", sink_text(&s));
    cr_assert_str_eq(ms_node_get(root, "a")->text, "1");
    close(ends[0]);
    sink_release(&s);
}

static void on_alarm(int signal_number) {
    (void)signal_number;
}

Test(yaml, a_signal_ends_the_wait_for_a_pipe) {
    sink s;
    sink_init(&s);
    char folder[256];
    make_folder(folder, sizeof folder);
    const char *path = ms_arena_printf(&s.arena, "%s/pipe", folder);
    cr_assert_eq(mkfifo(path, 0600), 0);
    struct sigaction action = {.sa_handler = on_alarm};
    sigaction(SIGALRM, &action, NULL);
    ualarm(100000, 100000); /* again and again, so that none comes too early for good */
    ms_node *root = NULL;
    cr_assert_eq(load(&s, path, &root), MS_E_INTERRUPTED, "%s", sink_text(&s));
    ualarm(0, 0);
    unlink(path);
    rmdir(folder);
    sink_release(&s);
}

Test(yaml, unreadable_files_are_io_errors) {
    sink s;
    sink_init(&s);
    char folder[256];
    make_folder(folder, sizeof folder);
    const char *path = ms_arena_printf(&s.arena, "%s/secret.yaml", folder);
    int descriptor = open(path, O_CREAT | O_WRONLY, 0000);
    close(descriptor);
    cr_assert_eq(chmod(folder, 0755), 0);
    if (geteuid() == 0) {
        cr_assert_eq(seteuid(65534), 0); /* root may read anything */
    }
    ms_node *root = NULL;
    ms_status status = load(&s, path, &root);
    if (getuid() == 0) {
        cr_assert_eq(seteuid(0), 0);
    }
    cr_assert_eq(status, MS_E_IO);
    cr_assert_str_eq(
        sink_text(&s),
        ms_arena_printf(&s.arena, "%s: error: cannot open: Permission denied\n", path));
    unlink(path);
    rmdir(folder);
    sink_release(&s);
}
