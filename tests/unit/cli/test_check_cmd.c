/* meshsim check: the page, the JSON, every key with its origin, and faults. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "ms_run.h"

#define WORKLOAD(name) MS_SOURCE_DIR "/workloads/" name ".yaml"
#define TINY           WORKLOAD("tiny")

static const char *const NAMES[] = {TINY,
                                    WORKLOAD("gpt3-175b-1024"),
                                    WORKLOAD("megatron-1t-3072"),
                                    WORKLOAD("mtnlg-530b-2240"),
                                    WORKLOAD("llama3-405b-8k"),
                                    WORKLOAD("textbook-70b-64")};

Test(cli_check, prints_a_page_of_80_columns) {
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        ms_run_result r = MS_RUN("check", NAMES[i]);
        cr_assert_eq(r.exit_code, 0, "%s: %s", NAMES[i], ms_run_err(&r));
        cr_assert_eq(r.err.length, 0, "%s", ms_run_err(&r));
        for (const char *line = ms_run_out(&r); *line != '\0'; line += strcspn(line, "\n") + 1) {
            cr_assert_leq(strcspn(line, "\n"), 80U, "%.120s", line);
        }
        ms_run_release(&r);
    }
}

/* What tests and scripts read of `check --json`. */
Test(cli_check, prints_one_json_object) {
    static const char *const KEYS[] = {
        "\"workload\": \"tiny\"", "\"platform\": \"dgx-a100\"",    "\"gpus\": 8",
        "\"schedule\": \"1f1b\"", "\"num_microbatches\": 8",       "\"lower_bound_s\": 0.0",
        "\"stages\": [",          "\"ideal_bubble_fraction\": 0.", "\"fits\": true"};
    ms_run_result r = MS_RUN("check", TINY, "--json");
    const char *text = ms_run_out(&r);
    cr_assert_eq(r.exit_code, 0, "%s", ms_run_err(&r));
    cr_assert_eq(text[0], '{');
    cr_assert_str_eq(text + r.out.length - 3, "\n}\n");
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++) {
        cr_assert_not_null(strstr(text, KEYS[i]), "%s in\n%s", KEYS[i], text);
    }
    ms_run_release(&r);
}

/* Every key with its value and where it came from: a file's line, --set, a default. */
Test(cli_check, effective_names_every_origin) {
    static const char *const LINES[] = {
        "\nname = tiny  # " TINY ":2\n",
        "\nmesh.tp = 4  # --set\n",
        "\nschedule.v = 0  # default\n",
        "\nfidelity = flow  # default\n",
        "\ncosts =  # not given\n",
        "\nmodel.layers = 8  # " TINY ":5\n",
        "\nplatform.nodes = 2  # --set\n",
        "\nplatform.tiers.rail.bandwidth = 100GB/s  # --set\n",
        "\nplatform.gpu.peak = 312 TFLOP/s  # " MS_SOURCE_DIR
        "/workloads/../platforms/gpus/a100-sxm4-80gb.yaml:",
        "\nplatform.fabric.kind = rails  # " MS_SOURCE_DIR "/workloads/../platforms/dgx-a100.yaml:",

    };
    ms_run_result r = MS_RUN("check", TINY, "--effective", "--set", "mesh.tp=4", "--set",
                             "platform.nodes=2", "--set", "platform.tiers.rail.bandwidth=100GB/s");
    cr_assert_eq(r.exit_code, 0, "%s", ms_run_err(&r));
    for (size_t i = 0; i < sizeof LINES / sizeof LINES[0]; i++) {
        cr_assert_not_null(strstr(ms_run_out(&r), LINES[i]), "%s in\n%s", LINES[i], ms_run_out(&r));
    }
    ms_run_release(&r);
}

/* As JSON it is a workload file, once as it was read and once with what its layout gives; without a
 * layout the answer is no. */
Test(cli_check, effective_as_json_is_a_workload_with_its_stages) {
    static const char *const TEXTS[] = {
        "  \"workload\": \"name: tiny\\u000a",
        "batch:\\u000a  global: 32\\u000a\",\n  \"laid_out\": ",
        "schedule:\\u000a  v: 1\\u000a  stage_layers: [4, 4]\\u000a",
        "    \"name\": \"tiny\",\n    \"gpus\": 8,\n    \"node_gpus\": 8,\n",
        "    \"num_microbatches\": 16,\n    \"stage_pp_ranks\": [\n      0,\n      1\n    ]\n",
    };
    ms_run_result r = MS_RUN("check", TINY, "--effective", "--json", "--set", "batch.global=32");
    cr_assert_eq(r.exit_code, 0, "%s", ms_run_err(&r));
    for (size_t i = 0; i < sizeof TEXTS / sizeof TEXTS[0]; i++) {
        cr_assert_not_null(strstr(ms_run_out(&r), TEXTS[i]), "%s in\n%s", TEXTS[i], ms_run_out(&r));
    }
    ms_run_release(&r);
    r = MS_RUN("check", TINY, "--effective", "--json", "--set", "mesh.tp=4");
    cr_assert_eq(r.exit_code, 1);
    cr_assert_not_null(strstr(ms_run_out(&r), "  tp: 4\\u000a"));
    cr_assert_null(strstr(ms_run_out(&r), "laid_out"));
    cr_assert_not_null(strstr(ms_run_err(&r), "needs 16 GPUs"));
    ms_run_release(&r);
}

/* The list of keys stands alone: what would need a workload is refused beside it. */
Test(cli_check, lists_keys_without_a_workload) {
    ms_run_result r = MS_RUN("check", "--keys");
    cr_assert_eq(r.exit_code, 0, "%s", ms_run_err(&r));
    cr_assert_not_null(strstr(ms_run_out(&r), "\nmodel.moe.top_k =  # required, count, 1 to "));
    cr_assert_not_null(strstr(ms_run_out(&r), "\nfidelity = flow  # analytic, flow or step: "));
    ms_run_release(&r);
    static const char *const WORDS[][2] = {
        {TINY, "'--keys' leaves no place for an argument"},
        {"--effective", "'--keys' and '--effective'"},
        {"--json", "'--keys' and '--json'"},
    };
    for (size_t i = 0; i < sizeof WORDS / sizeof WORDS[0]; i++) {
        r = MS_RUN("check", "--keys", WORDS[i][0]);
        cr_assert_eq(r.exit_code, 2, "%s", WORDS[i][0]);
        cr_assert_not_null(strstr(ms_run_err(&r), WORDS[i][1]), "%s", ms_run_err(&r));
        ms_run_release(&r);
    }
    r = MS_RUN("check");
    cr_assert_eq(r.exit_code, 2);
    cr_assert_not_null(strstr(ms_run_err(&r), "missing argument: WORKLOAD.yaml"));
    ms_run_release(&r);
}

Test(cli_check, reads_a_workload_from_a_pipe) {
    ms_run_result plain = MS_RUN("check", TINY, "--json");
    int pipes[2];
    cr_assert_eq(pipe(pipes), 0);
    FILE *file = fopen(TINY, "r");
    char text[4096];
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    cr_assert_eq(write(pipes[1], text, length), (ssize_t)length);
    close(pipes[1]);
    int before = dup(STDIN_FILENO);
    cr_assert_geq(dup2(pipes[0], STDIN_FILENO), 0);
    close(pipes[0]);
    /* found by name: the folders beside /dev/stdin hold no platforms, the installed data may not
     * be there yet */
    cr_assert_eq(setenv("MESHSIM_DATA", MS_SOURCE_DIR, 1), 0);
    ms_run_result piped = MS_RUN("check", "/dev/stdin", "--json");
    dup2(before, STDIN_FILENO);
    close(before);
    cr_assert_str_eq(ms_run_out(&piped), ms_run_out(&plain), "%s", ms_run_err(&piped));
    ms_run_release(&plain);
    ms_run_release(&piped);
}

/* Faults of every part come in one run, each with file, line, column and a caret. */
Test(cli_check, tells_all_faults_with_their_places) {
    char path[] = "/tmp/meshsim-check-XXXXXX";
    int file = mkstemp(path);
    static const char TEXT[] =
        "platform: {file: dgx-a100, nodes: 1}\n"
        "model: {type: gpt, layers: 8, hidden: x, heads: 16, vocab: 51200, sequence: 1024}\n"
        "mesh: {dp: 2, pp: 2, tp: 3, order: [pp, dp, tp]}\n"
        "schedule: {knd: 1f1b}\n"
        "batch: {global: 15}\n"
        "steps: 1 s\n";
    cr_assert_eq(write(file, TEXT, sizeof TEXT - 1), (ssize_t)sizeof TEXT - 1);
    close(file);
    cr_assert_eq(setenv("MESHSIM_DATA", MS_SOURCE_DIR, 1), 0);
    ms_run_result r = MS_RUN("check", path);
    unlink(path);
    cr_assert_eq(r.exit_code, 3);
    cr_assert_eq(r.out.length, 0, "%s", ms_run_out(&r));
    static const char *const SAID[] = {
        ":2:39: error: model.hidden: expected a whole number, got 'x'\n    2 | model: {",
        "\n      |                                       ^\n",
        ":3:7: error: mesh: pp 2 x dp 2 x tp 3 needs 12 GPUs",
        ":4:12: error: schedule.knd: unknown key; did you mean 'kind'?",
        ":5:17: error: batch.global: 15 sequences do not divide",
        ":6:8: error: steps: expected a whole number, got '1 s'",
    };
    for (size_t i = 0; i < sizeof SAID / sizeof SAID[0]; i++) {
        cr_assert_not_null(strstr(ms_run_err(&r), SAID[i]), "%s in\n%s", SAID[i], ms_run_err(&r));
    }
    ms_run_release(&r);
}

Test(cli_check, cuts_many_faults_with_a_count) {
    ms_run_setup setup = {0};
    const char *words[64] = {"check", TINY};
    char sets[25][24];
    for (int i = 0; i < 25; i++) {
        snprintf(sets[i], sizeof sets[i], "unknown_%d=1", i);
        words[2 + 2 * i] = "--set";
        words[3 + 2 * i] = sets[i];
    }
    ms_run_result r = ms_run_with(&setup, words);
    cr_assert_eq(r.exit_code, 3);
    cr_assert_not_null(strstr(ms_run_err(&r), "meshsim: ... and 5 more faults\n"), "%s",
                       ms_run_err(&r));
    ms_run_release(&r);
}

/* check says what run finds: the same memory, and a step that run never beats. */
static double number_after(const char *text, const char *key) {
    const char *at = strstr(text, key);
    cr_assert_not_null(at, "%s in\n%s", key, text);
    return strtod(at + strlen(key), NULL);
}

Test(cli_check, agrees_with_run) {
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        ms_run_result check = MS_RUN("check", NAMES[i], "--json");
        ms_run_result run = MS_RUN("run", NAMES[i], "--json");
        double bound_s = number_after(ms_run_out(&check), "\"lower_bound_s\": ");
        double step_s = number_after(ms_run_out(&run), "\"step_time_s\": ");
        cr_assert_leq(bound_s, step_s, "%s", NAMES[i]);
        double before_B = number_after(ms_run_out(&check), "\"peak_B\": ");
        double after_B = number_after(ms_run_out(&run), "\"peak_B\": ");
        cr_assert_float_eq(before_B, after_B, 1e-9 * after_B, "%s", NAMES[i]);
        ms_run_release(&check);
        ms_run_release(&run);
    }
}
