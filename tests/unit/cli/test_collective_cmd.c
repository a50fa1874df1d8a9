/* meshsim collective: the table, closed forms through the program, and its command line. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "ms_run.h"

#define PLATFORM(name) MS_SOURCE_DIR "/platforms/" name ".yaml"

static const char *const PLATFORMS[] = {PLATFORM("flat"),     PLATFORM("ideal"),
                                        PLATFORM("dgx-a100"), PLATFORM("selene-a100"),
                                        PLATFORM("dgx-h100"), PLATFORM("hypothetical-two-tier")};
static const char *const KINDS[] = {"p2p", "all_reduce", "reduce_scatter", "all_gather"};

static double number_after(const char *text, const char *key) {
    const char *at = strstr(text, key);
    cr_assert_not_null(at, "%s in\n%s", key, text);
    return strtod(at + strlen(key), NULL);
}

Test(cli_collective, prints_a_table_of_80_columns) {
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < 4; k++) {
            ms_run_result r = MS_RUN("collective", KINDS[k], "--platform", PLATFORMS[i], "-n",
                                     k == 0 ? "2" : "16", "-b", "1MiB", "-e", "16GiB", "-f", "8");
            cr_assert_eq(r.exit_code, 0, "%s", ms_run_err(&r));
            cr_assert_null(strstr(ms_run_err(&r), "error"), "%s", ms_run_err(&r));
            int lines = 0;
            for (const char *at = ms_run_out(&r); *at != '\0'; at += strcspn(at, "\n") + 1) {
                cr_assert_leq(strcspn(at, "\n"), 80U, "%.120s", at);
                lines++;
            }
            cr_assert_eq(lines, 3 + 5, "1 MiB to 4 GiB in steps of 8:\n%s", ms_run_out(&r));
            ms_run_release(&r);
        }
    }
}

/* kind, ranks, bytes on a flat platform of 25 GB/s ports, 1 us from end to end. */
typedef struct form_case {
    char kind[16];
    int ranks;
    double size_B;
    double factor;    /* of size / bandwidth */
    double hops;      /* of latency */
    double bus_share; /* bus bandwidth / (size / time) */
} form_case;

static form_case FORMS[] = {
    {"all_reduce", 1024, 1073741824.0, 2.0 * 1023 / 1024, 2.0 * 1023, 2.0 * 1023 / 1024},
    {"all_reduce", 2, 1048576.0, 1.0, 2.0, 1.0},
    {"all_reduce", 7, 1000000.0, 12.0 / 7, 12.0, 12.0 / 7},
    {"reduce_scatter", 64, 67108864.0, 63.0 / 64, 63.0, 63.0 / 64},
    {"all_gather", 64, 67108864.0, 63.0 / 64, 63.0, 63.0 / 64},
    {"p2p", 2, 1048576.0, 1.0, 1.0, 1.0},
};

ParameterizedTestParameters(cli_collective, closed_form) {
    return cr_make_param_array(form_case, FORMS, sizeof FORMS / sizeof FORMS[0]);
}

ParameterizedTest(form_case *c, cli_collective, closed_form) {
    char ranks[16];
    char size[32];
    snprintf(ranks, sizeof ranks, "%d", c->ranks);
    snprintf(size, sizeof size, "%.0f B", c->size_B);
    double expected_s = c->factor * c->size_B / 25e9 + c->hops * 1e-6;
    static const char *const FIDELITY[] = {"flow", "analytic"};
    for (size_t i = 0; i < 2; i++) {
        ms_run_result r = MS_RUN("collective", c->kind, "--platform", PLATFORM("flat"), "-n", ranks,
                                 "-b", size, "-e", size, "--fidelity", FIDELITY[i], "--json");
        cr_assert_eq(r.exit_code, 0, "%s", ms_run_err(&r));
        const char *text = ms_run_out(&r);
        double time_s = number_after(text, "\"time_s\": ");
        cr_assert_lt(fabs(time_s / expected_s - 1.0), 1e-6, "%s: %.12g s, expected %.12g s",
                     c->kind, time_s, expected_s);
        cr_assert_float_eq(number_after(text, "\"algbw_Bps\": ") * time_s, c->size_B,
                           1e-9 * c->size_B);
        cr_assert_float_eq(number_after(text, "\"busbw_Bps\": ") * time_s, c->size_B * c->bus_share,
                           1e-9 * c->size_B);
        /* the engine's row, as in run */
        cr_assert_eq(number_after(text, "\"ops\": "), 1);
        cr_assert_gt(number_after(text, "\"wall_s\": "), 0);
        cr_assert_gt(number_after(text, "\"peak_rss_B\": "), 1e6);
        ms_run_release(&r);
    }
}

/* A ring's latency at small sizes is no property of the cluster: it is told, beside the result. */
Test(cli_collective, warns_of_latency) {
    ms_run_result r = MS_RUN("collective", "all_reduce", "--platform", PLATFORM("flat"), "-b",
                             "1MiB", "-e", "16GiB", "-f", "16", "--json");
    cr_assert_eq(r.exit_code, 0);
    cr_assert_not_null(strstr(ms_run_err(&r), "warning: latency is most of the ring's time up to "
                                              "16 MiB (96 % of 2.13 ms for 1 MiB among 1024)"),
                       "%s", ms_run_err(&r));
    cr_assert_eq(ms_run_out(&r)[0], '{', "one object on the standard output");
    ms_run_release(&r);
    static const char *const QUIET[][2] = {{"all_reduce", "64"}, {"p2p", "2"}, {"all_gather", "2"}};
    for (size_t i = 0; i < 3; i++) {
        r = MS_RUN("collective", QUIET[i][0], "--platform", PLATFORM("flat"), "-n", QUIET[i][1],
                   "-b", "64MiB", "-e", "64MiB");
        cr_assert_eq(r.err.length, 0U, "%s", ms_run_err(&r));
        ms_run_release(&r);
    }
}

typedef struct failing_case {
    const char *words[10];
    int exit_code;
    const char *says;
} failing_case;

#define FLAT "--platform", PLATFORM("flat")
static const failing_case FAILING[] = {
    {{NULL}, 2, "missing argument: KIND"},
    {{"all_reduc", FLAT}, 2, "did you mean 'all_reduce'?"},
    {{"all_reduce"}, 2, "expected --platform"},
    {{"all_reduce", FLAT, "-n", "1"}, 2, "from 2 to 1024, got '1'"},
    {{"all_reduce", FLAT, "-n", "1025"}, 2, "from 2 to 1024, got '1025'"},
    {{"all_reduce", FLAT, "-n", "two"}, 2, "got 'two'"},
    {{"all_to_all", FLAT, "--set", "nodes=131073", "-e", "1MiB"},
     3,
     "131073 ranks is not laid out"},
    {{"p2p", FLAT, "-n", "3"}, 2, "p2p takes 2 ranks"},
    {{"all_reduce", FLAT, "-b", "1"}, 2, "--begin '1': "},
    {{"all_reduce", FLAT, "-b", "1 us"}, 2, "--begin '1 us': "},
    {{"all_reduce", FLAT, "-b", "2MiB", "-e", "1MiB"}, 2, "begin <= end"},
    {{"all_reduce", FLAT, "-f", "1"}, 2, "a factor above 1"},
    {{"all_reduce", FLAT, "-f", "1.01"}, 2, "use a larger --factor"},
    {{"all_reduce", FLAT, "--algorithm", "magic"},
     2,
     "expected auto, ring, tree, nvls, nvls_tree, collnet_direct or "
     "collnet_chain"},
    {{"all_gather", FLAT, "--algorithm", "tree"},
     2,
     "algorithm 'tree' is not built for all_gather"},
    {{"all_reduce", FLAT, "--fidelity", "steps"}, 2, "unknown fidelity 'steps'"},
    {{"all_reduce", "--platform", "flatt"}, 3, "no platform 'flatt'"},
    {{"all_reduce", FLAT, "--set", "platform.nods=4"}, 3, "did you mean 'nodes'?"},
    {{"all_reduce", FLAT, "--set", "tiers.fabrik.latency=1 us"}, 3, "did you mean 'fabric'?"},
};

ParameterizedTestParameters(cli_collective, failing) {
    static int indices[sizeof FAILING / sizeof FAILING[0]];
    for (int i = 0; i < (int)(sizeof FAILING / sizeof FAILING[0]); i++) {
        indices[i] = i;
    }
    return cr_make_param_array(int, indices, sizeof FAILING / sizeof FAILING[0]);
}

ParameterizedTest(int *index, cli_collective, failing) {
    const failing_case *c = &FAILING[*index];
    const char *words[12] = {"collective"};
    for (int i = 0; i < 10 && c->words[i] != NULL; i++) {
        words[i + 1] = c->words[i];
    }
    ms_run_result r = ms_run_with(&(ms_run_setup){0}, words);
    cr_assert_eq(r.exit_code, c->exit_code, "%s: exit code %d: %s", c->says, r.exit_code,
                 ms_run_err(&r));
    cr_assert_eq(r.out.length, 0, "%s", ms_run_out(&r));
    cr_assert_not_null(strstr(ms_run_err(&r), c->says), "'%s' in:\n%s", c->says, ms_run_err(&r));
    ms_run_release(&r);
}

/* Overrides scale the platform, with or without its name in front. */
Test(cli_collective, overrides_reach_the_platform) {
    ms_run_result r = MS_RUN("collective", "p2p", FLAT, "--set", "platform.nodes=2", "--set",
                             "tiers.fabric.latency=0 s", "--set", "tiers.fabric.bandwidth=1 GB/s",
                             "-b", "1 GB", "-e", "1 GB", "--json");
    cr_assert_eq(r.exit_code, 0, "%s", ms_run_err(&r));
    cr_assert_float_eq(number_after(ms_run_out(&r), "\"time_s\": "), 1.0, 1e-6);
    ms_run_release(&r);
}

/* Where nothing takes time a bandwidth is no number: null in JSON, inf in the table. */
Test(cli_collective, unlimited_links_have_no_bandwidth) {
    ms_run_result json = MS_RUN("collective", "all_reduce", "--platform", PLATFORM("ideal"), "-n",
                                "4", "-b", "1 GiB", "-e", "1 GiB", "--json");
    cr_assert_not_null(strstr(ms_run_out(&json), "\"algbw_Bps\": null,"), "%s", ms_run_out(&json));
    cr_assert_not_null(strstr(ms_run_out(&json), "\"busbw_Bps\": null,"), "%s", ms_run_out(&json));
    ms_run_release(&json);
}

/* The algorithm that is asked for is simulated, and named: on 64 ports six edges up and down. */
Test(cli_collective, lays_out_the_tree_that_is_asked_for) {
    ms_run_result r = MS_RUN("collective", "all_reduce", FLAT, "-n", "64", "-b", "1MB", "-e", "1MB",
                             "--algorithm", "tree", "--json");
    cr_assert_eq(r.exit_code, 0, "%s", ms_run_err(&r));
    cr_assert_not_null(strstr(ms_run_out(&r), "\"algorithm\": \"tree\""), "%s", ms_run_out(&r));
    cr_assert_float_eq(number_after(ms_run_out(&r), "\"time_s\": "), 12e-6 + 2e6 / 25e9, 1e-15);
    cr_assert_eq(r.err.length, 0U, "no ring, no warning of one: %s", ms_run_err(&r));
    ms_run_release(&r);
    r = MS_RUN("collective", "all_reduce", FLAT, "-n", "64", "-e", "1MiB", "--algorithm", "tree");
    cr_assert_not_null(strstr(ms_run_out(&r), "64 GPUs of flat, fidelity flow"), "%s",
                       ms_run_out(&r));
    ms_run_release(&r);
}
