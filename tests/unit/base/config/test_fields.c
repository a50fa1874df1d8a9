#include <criterion/criterion.h>
#include <stdio.h>

#include "every_field.h"
#include "sink.h"

static ms_status read_text(sink *s, const char *text, every_field *out) {
    ms_node *root = NULL;
    ms_status status = sink_parse(s, text, &root);
    return status != MS_OK ? status
                           : ms_config_read(root, EVERY_FIELDS, "", out, &s->arena, &s->diag);
}

Test(fields, every_type_is_read) {
    sink s;
    sink_init(&s);
    every_field x = {0};
    cr_assert_eq(
        read_text(
            &s,
            "gpus_per_node: 8\nefficiency: 85 %\nbandwidth: 400 Gbit/s\nlatency: \"3 us\"\n"
            "memory: 80 GiB\npeak: 312 TFLOP/s\nwork: 1e9 FLOP\npxn: false\nname: 450\n"
            "schedule: 'gpipe'\nmodel: {layers: 96}\nlink: {bandwidth: 25 GB/s, width: +16}\n"
            "layers: [3, 4, 5]\nweights: [0.5, 1]\nforward: [1 ms, 2 ms]\norder: [a, 'b', 3]\n",
            &x),
        MS_OK, "%s", sink_text(&s));
    cr_assert_eq(x.gpus_per_node, 8);
    cr_assert_eq(x.efficiency, 0.85);
    cr_assert_eq(x.bandwidth_Bps, 5e10);
    cr_assert_eq(x.latency_s, 3e-6);
    cr_assert_eq(x.memory_B, 85899345920.0);
    cr_assert_eq(x.peak_flop_per_s, 312e12);
    cr_assert_eq(x.work_flop, 1e9);
    cr_assert_not(x.pxn);
    cr_assert_str_eq(x.name, "450");
    cr_assert_eq(x.schedule, 0);
    cr_assert_str_eq(ms_node_get(x.model, "layers")->text, "96");
    cr_assert(x.link.bandwidth_Bps == 25e9 && x.link.latency_s == 2e-6 && x.link.width == 16);
    cr_assert(x.layers.count == 3 && x.layers.items[0] == 3 && x.layers.items[2] == 5);
    cr_assert(x.weights.count == 2 && x.weights.items[0] == 0.5 && x.weights.items[1] == 1);
    cr_assert(x.forward_s.count == 2 && x.forward_s.items[1] == 2e-3);
    cr_assert_eq(x.order.count, 3U);
    cr_assert_str_eq(x.order.items[2], "3");
    cr_assert_eq(s.diag.errors, 0);
    sink_release(&s);
}

Test(fields, defaults_apply) {
    sink s;
    sink_init(&s);
    every_field x = {.weights = {.count = 77}, .model = NULL};
    cr_assert_eq(read_text(&s, "gpus_per_node: 8\n", &x), MS_OK, "%s", sink_text(&s));
    cr_assert_eq(x.efficiency, 0.5);
    cr_assert_eq(x.bandwidth_Bps, 25e9);
    cr_assert(x.pxn);
    cr_assert_str_eq(x.name, "");
    cr_assert_eq(x.schedule, 1);
    cr_assert(x.layers.count == 2 && x.layers.items[1] == 2);
    cr_assert(x.forward_s.count == 1 && x.forward_s.items[0] == 1e-3);
    cr_assert_str_eq(x.order.items[0], "pp");
    cr_assert_eq(x.weights.count, 77U, "no key, no default: left as it was");
    cr_assert(x.link.width == 4 && x.link.latency_s == 2e-6);
    cr_assert_eq(x.link.bandwidth_Bps, 0.0, "required only when the mapping is there");
    sink_release(&s);
}

Test(fields, lone_values_are_lists_of_one) {
    sink s;
    sink_init(&s);
    every_field x = {0};
    cr_assert_eq(read_text(&s, "gpus_per_node: 8\nweights: 0.25\nforward: 3 ms\nlayers: []\n", &x),
                 MS_OK);
    cr_assert(x.weights.count == 1 && x.weights.items[0] == 0.25);
    cr_assert(x.forward_s.count == 1 && x.forward_s.items[0] == 3e-3);
    cr_assert(x.layers.count == 0 && x.layers.items != NULL);
    sink_release(&s);
}

/* Each text follows "gpus_per_node: 8\n", so it stands on line 2. */
typedef struct bad_value {
    const char *text, *line;
} bad_value;

#define AT(place, message) "w.yaml:" place ": error: " message

static const bad_value BAD[] = {
    {"gpus_per_nod: 8", AT("2:1", "gpus_per_nod: unknown key; did you mean 'gpus_per_node'?")},
    {"zzz: 8",
     AT("2:1",
        "zzz: unknown key; the keys here are gpus_per_node, efficiency, bandwidth, latency, "
        "memory, peak, work, pxn, name, schedule, model, link, layers, weights, forward, order")},
    {"link: {bandwith: 1 GB/s}",
     AT("2:8", "link.bandwith: unknown key; did you mean 'bandwidth'?")},
    {"link: {bandwidth: 1 GB/s, number_of_lanes: 2}",
     AT("2:27", "link.number_of_lanes: unknown key; it is 'width' now: lanes")},
    {"link: {bandwidth: 1 GB/s, duplex: full}",
     AT("2:27", "link.duplex: this key is gone: every link has both directions")},
    {"link: {width: 2}", AT("2:7", "link.bandwidth: this key is required: of one direction")},
    {"link:\n  width: 2", AT("2:1", "link.bandwidth: this key is required: of one direction")},
    {"link:", AT("2:1", "link: expected a mapping of keys to values, got nothing")},
    {"link: 3", AT("2:7", "link: expected a mapping of keys to values, got '3'")},
    {"link: [a]", AT("2:7", "link: expected a mapping of keys to values, got a list")},
    {"link: {bandwidth: 450}",
     AT("2:19", "link.bandwidth: expected a unit after the number, such as '450 B/s', got '450'")},
    {"link: {bandwidth: 1 GB/s, width: 0}", AT("2:34", "link.width: expected at least 1, got '0'")},
    {"link: {bandwidth: 1 GB/s, latency: 3 s}",
     AT("2:36", "link.latency: expected 0 s to 1 s, got '3 s'")},
    {"efficiency: 0", AT("2:13", "efficiency: expected 1e-300 to 1, got '0'")},
    {"efficiency: nan",
     AT("2:13", "efficiency: expected a number such as 0.5 or '5 %', got 'nan'")},
    {"efficiency: .inf",
     AT("2:13", "efficiency: expected a number such as 0.5 or '5 %', got '.inf'")},
    {"efficiency: 0x1",
     AT("2:13", "efficiency: expected a number such as 0.5 or '5 %', got '0x1'")},
    {"efficiency: 1_0",
     AT("2:13", "efficiency: expected a number such as 0.5 or '5 %', got '1_0'")},
    {"efficiency: '0.5'",
     AT("2:13", "efficiency: expected a number such as 0.5 or '5 %', got '0.5' in quotes")},
    {"efficiency:", AT("2:1", "efficiency: expected a number such as 0.5 or '5 %', got nothing")},
    {"efficiency: ~",
     AT("2:13", "efficiency: expected a number such as 0.5 or '5 %', got nothing")},
    {"bandwidth: 3 GB",
     AT("2:12", "bandwidth: '3 GB' is a size, expected a bandwidth such as '400 Gbit/s'")},
    {"bandwidth: 400 gbit/s",
     AT("2:12", "bandwidth: expected a bandwidth such as '400 Gbit/s', got '400 "
                "gbit/s'; did you mean 'Gbit/s'?")},
    {"bandwidth: -1 GB/s",
     AT("2:12", "bandwidth: expected a bandwidth of at least 0, got '-1 GB/s'")},
    {"bandwidth: [1 GB/s]",
     AT("2:12", "bandwidth: expected a bandwidth such as '400 Gbit/s', got a list")},
    {"bandwidth:", AT("2:1", "bandwidth: expected a bandwidth such as '400 Gbit/s', got nothing")},
    {"latency: 3 s", AT("2:10", "latency: expected 0 s to 2 s, got '3 s'")},
    {"pxn: yes", AT("2:6", "pxn: expected true or false, got 'yes'")},
    {"pxn: True", AT("2:6", "pxn: expected true or false, got 'True'")},
    {"pxn: 1", AT("2:6", "pxn: expected true or false, got '1'")},
    {"pxn: 'true'", AT("2:6", "pxn: expected true or false, got 'true' in quotes")},
    {"name:", AT("2:1", "name: expected a text, got nothing")},
    {"name: null", AT("2:7", "name: expected a text, got nothing")},
    {"name: [a]", AT("2:7", "name: expected a text, got a list")},
    {"name:\n  a: b", AT("2:1", "name: expected a text, got a mapping")},
    {"schedule: 1f2b",
     AT("2:11", "schedule: expected one of gpipe, 1f1b or interleaved, got '1f2b'; did you "
                "mean '1f1b'?")},
    {"schedule: zero",
     AT("2:11", "schedule: expected one of gpipe, 1f1b or interleaved, got 'zero'")},
    {"schedule: [gpipe]",
     AT("2:11", "schedule: expected one of gpipe, 1f1b or interleaved, got a list")},
    {"schedule:", AT("2:1", "schedule: expected one of gpipe, 1f1b or interleaved, got nothing")},
    {"model:", AT("2:1", "model: expected a value, got nothing")},
    {"layers: 3", AT("2:9", "layers: expected a list of whole numbers such as [1, 2], got '3'")},
    {"layers: {a: 3}",
     AT("2:9", "layers: expected a list of whole numbers such as [1, 2], got a mapping")},
    {"layers: [1, x]", AT("2:13", "layers[1]: expected a whole number, got 'x'")},
    {"layers: [1, 0]", AT("2:13", "layers[1]: expected at least 1, got '0'")},
    {"layers:\n  - 1\n  - [2]", AT("4:5", "layers[1]: expected a whole number, got a list")},
    {"weights: {a: 1}",
     AT("2:10", "weights: expected a number or a list of numbers, got a mapping")},
    {"weights: [1, 2 s]",
     AT("2:14", "weights[1]: expected a number such as 0.5 or '5 %', got '2 s'")},
    {"forward: 3", AT("2:10", "forward: expected a unit after the number, such as '3 s', got '3'")},
    {"forward: [1 ms, 3 B]",
     AT("2:17", "forward[1]: '3 B' is a size, expected a time such as '2 us'")},
    {"order: pp", AT("2:8", "order: expected a list of words such as [a, b], got 'pp'")},
    {"order: [pp, ~]", AT("2:13", "order[1]: expected a text, got nothing")},
};

Test(fields, faults_have_place_and_words) {
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        sink s;
        sink_init(&s);
        every_field x = {0};
        const char *text = ms_arena_printf(&s.arena, "gpus_per_node: 8\n%s\n", BAD[i].text);
        cr_assert_eq(read_text(&s, text, &x), MS_E_INPUT, "'%s'", BAD[i].text);
        cr_assert_str_eq(sink_first_line(&s), BAD[i].line, "'%s': %s", BAD[i].text, sink_text(&s));
        cr_assert_eq(s.diag.errors, 1, "'%s': %s", BAD[i].text, sink_text(&s));
        sink_release(&s);
    }
}

/* What stands behind "gpus_per_node: ", an integer from 1 to 65536. */
static const bad_value BAD_INTEGERS[] = {
    {"0", "expected 1 to 65536, got '0'"},
    {"-8", "expected 1 to 65536, got '-8'"},
    {"65537", "expected 1 to 65536, got '65537'"},
    {"1.5", "expected a whole number, got '1.5'"},
    {"0x10", "expected a whole number, got '0x10'"},
    {"1e3", "expected a whole number, got '1e3'"},
    {"1_000", "expected a whole number, got '1_000'"},
    {"010", "expected a whole number without zeros in front, got '010'"},
    {"8 GB", "expected a whole number, got '8 GB'"},
    {"5 %", "expected a whole number, got '5 %'"},
    {"--8", "expected a whole number, got '--8'"},
    {"2147483648", "expected a whole number of at most 2147483647, got '2147483648'"},
    {"99999999999999999999",
     "expected a whole number of at most 2147483647, got '99999999999999999999'"},
    {"\"8\"", "expected a whole number, got '8' in quotes"},
    {"eight", "expected a whole number, got 'eight'"},
    {"[8]", "expected a whole number, got a list"},
    {"\"a\\e[31m\\nb\"", "expected a whole number, got 'a?[31m?b' in quotes"},
};

Test(fields, integers_are_strict) {
    for (size_t i = 0; i < sizeof BAD_INTEGERS / sizeof BAD_INTEGERS[0]; i++) {
        sink s;
        sink_init(&s);
        every_field x = {0};
        const char *text = ms_arena_printf(&s.arena, "gpus_per_node: %s\n", BAD_INTEGERS[i].text);
        const char *line = ms_arena_printf(&s.arena, "w.yaml:1:16: error: gpus_per_node: %s",
                                           BAD_INTEGERS[i].line);
        cr_assert_eq(read_text(&s, text, &x), MS_E_INPUT, "'%s'", BAD_INTEGERS[i].text);
        cr_assert_str_eq(sink_first_line(&s), line, "%s", sink_text(&s));
        cr_assert_eq(x.gpus_per_node, 0);
        sink_release(&s);
    }
}

Test(fields, all_faults_of_a_file_at_once) {
    sink s;
    sink_init(&s);
    every_field x = {0};
    cr_assert_eq(
        read_text(&s,
                  "# a cluster\nname: [a\n  , b]\nbandwidth: 450\nlink:\n  widht: 8\n  width: 0\n"
                  "  width: 1\nlatency: 5\nschedule: 1f2b\n",
                  &x),
        MS_E_INPUT);
    cr_assert_str_eq(
        sink_faults(&s),
        "w.yaml:8:3: error: repeated key 'width', first at line 7:3\n"
        "w.yaml:2:7: error: name: expected a text, got a list\n"
        "w.yaml:4:12: error: bandwidth: expected a unit after the number, such as '450 B/s', got "
        "'450'\n"
        "w.yaml:6:3: error: link.widht: unknown key; did you mean 'width'?\n"
        "w.yaml:7:10: error: link.width: expected at least 1, got '0'\n"
        "w.yaml:5:1: error: link.bandwidth: this key is required: of one direction\n"
        "w.yaml:9:10: error: latency: expected a unit after the number, such as '5 s', got '5'\n"
        "w.yaml:10:11: error: schedule: expected one of gpipe, 1f1b or interleaved, got '1f2b'; "
        "did you mean "
        "'1f1b'?\n"
        "w.yaml:2:1: error: gpus_per_node: this key is required: GPUs in one node [count]\n");
    cr_assert_eq(s.diag.errors, 9);
    sink_release(&s);
}

Test(fields, a_misspelt_required_key_is_one_fault) {
    sink s;
    sink_init(&s);
    every_field x = {0};
    cr_assert_eq(read_text(&s, "gpus_per_nod: 8\n", &x), MS_E_INPUT);
    cr_assert_str_eq(sink_text(&s),
                     "w.yaml:1:1: error: gpus_per_nod: unknown key; did you mean 'gpus_per_node'?\n"
                     "    1 | gpus_per_nod: 8\n"
                     "      | ^~~~~~~~~~~~\n");
    sink_release(&s);
}

Test(fields, twenty_faults_are_printed_and_the_rest_counted) {
    sink s;
    sink_init(&s);
    ms_buffer text;
    ms_buffer_init(&text);
    ms_buffer_puts(&text, "gpus_per_node: 8\n");
    for (int i = 0; i < 27; i++) {
        ms_buffer_printf(&text, "unknown%d: 1\n", i);
    }
    every_field x = {0};
    cr_assert_eq(read_text(&s, ms_buffer_text(&text), &x), MS_E_INPUT);
    ms_diag_finish(&s.diag);
    const char *faults = sink_faults(&s);
    size_t lines = 0;
    for (const char *at = faults; *at != '\0'; at++) {
        lines += *at == '\n' ? 1 : 0;
    }
    cr_assert_eq(lines, 21U);
    cr_assert_not_null(strstr(faults, "... and 7 more faults\n"));
    ms_buffer_release(&text);
    sink_release(&s);
}

Test(fields, nothing_is_all_defaults_and_required_keys_are_faults) {
    sink s;
    sink_init(&s);
    every_field x = {0};
    cr_assert_eq(ms_config_read(NULL, EVERY_FIELDS, "cluster", &x, &s.arena, &s.diag), MS_E_INPUT);
    cr_assert_str_eq(
        sink_text(&s),
        "meshsim: error: cluster.gpus_per_node: this key is required: GPUs in one node [count]\n");
    cr_assert_eq(x.efficiency, 0.5);
    sink_release(&s);
}

Test(fields, a_list_is_no_mapping) {
    sink s;
    sink_init(&s);
    every_field x = {0};
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s, "a: [1]\n", &root), MS_OK);
    cr_assert_eq(ms_config_read(ms_node_get(root, "a"), EVERY_FIELDS, "a", &x, &s.arena, &s.diag),
                 MS_E_INPUT);
    cr_assert_str_eq(sink_first_line(&s),
                     "w.yaml:1:4: error: a: expected a mapping of keys to values, got a list");
    sink_release(&s);
}

Test(fields, a_default_that_does_not_fit_is_our_bug) {
    static const ms_field BROKEN[] = {{.key = "n", .type = MS_FIELD_INT, .fallback = "three"}, {0}};
    static const ms_field BROKEN_LIST[] = {{.key = "n", .type = MS_FIELD_INTS, .fallback = "[1"},
                                           {0}};
    sink s;
    sink_init(&s);
    ms_ints n = {0};
    cr_assert_eq(ms_config_read(NULL, BROKEN, "", &n, &s.arena, &s.diag), MS_E_BUG);
    cr_assert_eq(ms_config_read(NULL, BROKEN_LIST, "", &n, &s.arena, &s.diag), MS_E_BUG);
    sink_release(&s);
}

Test(fields, has_tells_given_keys_from_defaults) {
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s, "a: 1\n", &root), MS_OK);
    cr_assert(ms_node_get(root, "a") != NULL);
    cr_assert(ms_node_get(root, "b") == NULL);
    cr_assert(ms_node_get(NULL, "a") == NULL);
    cr_assert(ms_node_get(root->first, "a") == NULL);
    sink_release(&s);
}

Test(fields, long_texts_are_cut_between_characters) {
    sink s;
    sink_init(&s);
    ms_buffer text;
    ms_buffer_init(&text);
    ms_buffer_puts(&text, "gpus_per_node: x");
    for (int i = 0; i < 60; i++) {
        ms_buffer_puts(&text, "\xC3\xA4");
    }
    every_field x = {0};
    cr_assert_eq(read_text(&s, ms_buffer_text(&text), &x), MS_E_INPUT);
    const char *line = sink_first_line(&s);
    cr_assert_not_null(strstr(line, "\xC3\xA4\xC3\xA4...'"), "%s", line);
    cr_assert_lt(strlen(line), 140U);
    ms_buffer_release(&text);
    sink_release(&s);
}

Test(effective, every_key_with_its_origin) {
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s,
                            "gpus_per_node: 8\nname: 'a: b'\nlink:\n  bandwidth: 1 GB/s\n"
                            "model: {layers: 96, attention: {heads: [1, {x: y}]}}\n",
                            &root),
                 MS_OK);
    cr_assert_eq(ms_node_set(root, "link.width=16", &s.arena, &s.diag), MS_OK);
    cr_assert_eq(ms_node_set(root, "order=[a, b]", &s.arena, &s.diag), MS_OK);
    ms_buffer text;
    ms_buffer_init(&text);
    ms_config_write_effective(root, EVERY_FIELDS, "w", &text);
    cr_assert_str_eq(ms_buffer_text(&text), "w.gpus_per_node = 8  # w.yaml:1\n"
                                            "w.efficiency = 50 %  # default\n"
                                            "w.bandwidth = 25 GB/s  # default\n"
                                            "w.latency = 1 us  # default\n"
                                            "w.memory = 80 GiB  # default\n"
                                            "w.peak = 312 TFLOP/s  # default\n"
                                            "w.work = 1e9 FLOP  # default\n"
                                            "w.pxn = true  # default\n"
                                            "w.name = \"a: b\"  # w.yaml:2\n"
                                            "w.schedule = 1f1b  # default\n"
                                            "w.model.layers = 96  # w.yaml:5\n"
                                            "w.model.attention.heads = [1, {x: y}]  # w.yaml:5\n"
                                            "w.link.bandwidth = 1 GB/s  # w.yaml:4\n"
                                            "w.link.latency = 2 us  # default\n"
                                            "w.link.width = 16  # --set\n"
                                            "w.layers = [1, 2]  # default\n"
                                            "w.weights =  # not given\n"
                                            "w.forward = 1 ms  # default\n"
                                            "w.order = [a, b]  # --set\n");
    ms_buffer_release(&text);
    sink_release(&s);
}

Test(effective, an_empty_default_is_shown_in_quotes) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_config_write_effective(NULL, EVERY_FIELDS, "", &text);
    cr_assert_not_null(strstr(ms_buffer_text(&text), "\nname = \"\"  # default\n"), "%s",
                       ms_buffer_text(&text));
    /* a mapping that cannot do without some of its keys is left out as a whole */
    cr_assert_not_null(strstr(ms_buffer_text(&text), "\nlink =  # not given\n"));
    cr_assert_null(strstr(ms_buffer_text(&text), "\nlink.bandwidth"));
    ms_buffer_release(&text);
}

/* What another reader's table knows is listed too, and after it what that table does not know. */
Test(effective, keys_that_are_read_further) {
    static const ms_field FIELDS[] = {
        {.key = "link", .type = MS_FIELD_NODE, .fields = EVERY_LINK_FIELDS}, {0}};
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s, "link: {colour: red, bandwidth: 1 GB/s}\n", &root), MS_OK);
    ms_buffer text;
    ms_buffer_init(&text);
    ms_config_write_effective(root, FIELDS, "", &text);
    cr_assert_str_eq(ms_buffer_text(&text), "link.bandwidth = 1 GB/s  # w.yaml:1\n"
                                            "link.latency = 2 us  # default\n"
                                            "link.width = 4  # default\n"
                                            "link.colour = red  # w.yaml:1\n");
    ms_buffer_release(&text);
    sink_release(&s);
}

/* Origins without places: what the user's file or --set says is typed, any other file has its name.
 */
Test(resolved, every_key_with_its_origin_in_words) {
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(sink_parse(&s,
                            "gpus_per_node: 8\nname: 'a: b'\npxn: false\n"
                            "schedule: gpipe\nlink: {bandwidth: 1 GB/s}\n",
                            &root),
                 MS_OK);
    cr_assert_eq(ms_node_set(root, "link.width=16", &s.arena, &s.diag), MS_OK);
    ms_node_get(root, "name")->mark.file = "some/where/other.yaml";
    ms_node_get(root, "pxn")->origin = "framework ../own/profile";
    ms_node_get(root, "schedule")->origin = "derived";
    ms_buffer text;
    ms_buffer_init(&text);
    ms_config_write_resolved(root, EVERY_FIELDS, "w.yaml", &text);
    static const char *const LINES[] = {
        "gpus_per_node = 8  # typed\nefficiency = 50 %  # default\n",
        "\npxn = false  # framework profile\nname = \"a: b\"  # other.yaml\n",
        "\nschedule = gpipe  # derived\n",
        ("\nlink.bandwidth = 1 GB/s  # typed\nlink.latency = 2 us  # default\nlink.width = 16  # "
         "typed\n"),
        "\nweights =  # not given\n",
    };
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        cr_assert_not_null(strstr(ms_buffer_text(&text), LINES[i]), "%s in\n%s", LINES[i],
                           ms_buffer_text(&text));
    }
    ms_buffer_release(&text);
    sink_release(&s);
}

/* ---- defaults as keys ---- */

static bool small_variant(int index, ms_field_variant *variant_out) {
    static const ms_field FIELDS[] = {{.key = "size", .type = MS_FIELD_INT, .fallback = "3"}, {0}};
    *variant_out = (ms_field_variant){"small", FIELDS};
    return index == 0;
}

Test(fill, defaults_become_keys_in_every_kind_of_mapping) {
    static const ms_field INNER[] = {{.key = "depth", .type = MS_FIELD_INT, .fallback = "2"},
                                     {.key = "open", .type = MS_FIELD_INT},
                                     {0}};
    static const ms_field EACH_ROW = {.key = "each", .type = MS_FIELD_MAP, .fields = INNER};
    static const ms_field_shape EACH = {.each = &EACH_ROW};
    static const ms_field_shape VARIANTS = {.variant = small_variant};
    static const ms_field FIELDS[] = {
        {.key = "given", .type = MS_FIELD_INT, .fallback = "1"},
        {.key = "list", .type = MS_FIELD_INTS, .fallback = "[1, 2]"},
        {.key = "made", .type = MS_FIELD_MAP, .fields = INNER},
        {.key = "link", .type = MS_FIELD_MAP, .fields = EVERY_LINK_FIELDS}, /* has a required key */
        {.key = "below", .type = MS_FIELD_NODE, .fields = INNER},
        {.key = "named", .type = MS_FIELD_NODE, .shape = &EACH},
        {.key = "kinds", .type = MS_FIELD_NODE, .shape = &VARIANTS},
        {0}};
    sink s;
    sink_init(&s);
    ms_node *root = NULL;
    cr_assert_eq(
        sink_parse(&s,
                   "given: 7\nbelow: {open: 4}\nnamed: {a: {depth: 9}, b: {open: 1}, c: 5}\n"
                   "kinds: {kind: small}\n",
                   &root),
        MS_OK);
    cr_assert_eq(ms_config_fill(root, FIELDS, &s.arena, &s.diag), MS_OK);
    ms_buffer text;
    ms_buffer_init(&text);
    ms_config_write_resolved(root, FIELDS, "w.yaml", &text);
    cr_assert_str_eq(ms_buffer_text(&text), "given = 7  # typed\n"
                                            "list = [1, 2]  # default\n"
                                            "made.depth = 2  # default\n"
                                            "made.open =  # not given\n"
                                            "link =  # not given\n"
                                            "below.depth = 2  # default\n"
                                            "below.open = 4  # typed\n"
                                            "named.a.depth = 9  # typed\n"
                                            "named.b.open = 1  # typed\n"
                                            "named.b.depth = 2  # default\n"
                                            "named.c = 5  # typed\n"
                                            "kinds.kind = small  # typed\n"
                                            "kinds.size = 3  # default\n");
    ms_buffer_release(&text);
    sink_release(&s);
}

Test(keys, every_key_with_default_kind_and_meaning) {
    static const char *const LINES[] = {
        "w.gpus_per_node =  # required, count, 1 to 65536: GPUs in one node [count]\n",
        "\nw.efficiency = 50 %  # number, 1e-300 to 1\n",
        "\nw.bandwidth = 25 GB/s  # with unit\n",
        "\nw.latency = 1 us  # with unit, 0 s to 2 s\n",
        "\nw.pxn = true  # true or false\n",
        "\nw.name = \"\"  # text\n",
        "\nw.schedule = 1f1b  # gpipe, 1f1b or interleaved\n",
        "\nw.model =  # text or list\n",
        "\nw.link =  # mapping\nw.link.bandwidth =  # required, with unit: of one direction\n",
        "\nw.link.width = 4  # count, at least 1: lanes\n",
        "\nw.layers = [1, 2]  # list of counts, at least 1\n",
        "\nw.weights =  # number or list\n",
        "\nw.forward = 1 ms  # with unit, or list\n",
        "\nw.order = [pp, dp, tp]  # list of words\n",
    };
    ms_buffer text;
    ms_buffer_init(&text);
    ms_config_write_keys(EVERY_FIELDS, "w", &text);
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        cr_assert_not_null(strstr(ms_buffer_text(&text), LINES[i]), "%s in\n%s", LINES[i],
                           ms_buffer_text(&text));
    }
    ms_buffer_release(&text);
}
