/* Sweeps: from a file to points. */
#include "job_fixture.h"
#include "search/sweep.h"

typedef struct sweep_file {
    job_fixture f;
    char path[64];
    ms_sweep sweep;
} sweep_file;

/* Read a text as a sweep of the tiny workload. */
static ms_status read_text(sweep_file *s, const char *text) {
    job_fixture_init(&s->f);
    snprintf(s->path, sizeof s->path, "/tmp/ms_sweep_XXXXXX");
    int file = mkstemp(s->path);
    cr_assert_geq(file, 0);
    FILE *stream = fdopen(file, "w");
    fprintf(stream, "workload: %s/workloads/tiny.yaml\n%s", MS_SOURCE_DIR, text);
    fclose(stream);
    ms_status status = ms_sweep_read(s->path, MS_SOURCE_DIR, &s->f.arena, &s->f.diag, &s->sweep);
    unlink(s->path);
    return status;
}

static void expect_settings(sweep_file *s, size_t point, const char *expected) {
    ms_words settings;
    char text[512] = "";
    cr_assert_eq(ms_sweep_settings(&s->sweep, point, &s->f.arena, &settings), MS_OK);
    for (size_t i = 0; i < settings.count; i++) {
        strcat(strcat(text, i == 0 ? "" : "|"), settings.items[i]);
    }
    cr_assert_str_eq(text, expected);
}

Test(sweep, axes_are_crossed_and_the_last_runs_fastest) {
    sweep_file s;
    cr_assert_eq(read_text(&s, "axes:\n"
                               "  - batch.global: [16, 32]\n"
                               "  - mesh.tp: [1, 2, 4]\n"
                               "    mesh.dp: [4, 2, 1]\n"),
                 MS_OK, "%s", ms_buffer_text(&s.f.messages));
    cr_assert_eq(s.sweep.count, (size_t)6);
    expect_settings(&s, 0, "batch.global=16|mesh.tp=1|mesh.dp=4|granularity=pass");
    expect_settings(&s, 1, "batch.global=16|mesh.tp=2|mesh.dp=2|granularity=pass");
    expect_settings(&s, 5, "batch.global=32|mesh.tp=4|mesh.dp=1|granularity=pass");
    cr_assert_str_eq(ms_sweep_value(&s.sweep, 4, 1), "2");
    ms_point point;
    cr_assert_eq(ms_sweep_make(&s.sweep, 5, &s.f.arena, &s.f.diag, &point), MS_OK);
    cr_assert_eq(point.spec.batch.global, 32);
    cr_assert_eq(point.spec.simulation.granularity, MS_GRANULARITY_PASS);
    cr_assert_eq(point.settings.count, (size_t)4);
    job_fixture_release(&s.f);
}

Test(sweep, values_are_those_that_set_takes) {
    sweep_file s;
    cr_assert_eq(
        read_text(
            &s,
            "set: {granularity: layer, recompute: full}\n"
            "axes:\n"
            "  - platform.tiers.nvlink.bandwidth: {from: 100 GB/s, to: 300 GB/s, step: 100 GB/s}\n"
            "  - platform: [dgx-a100, {file: dgx-h100, nodes: 1}]\n"
            "  - batch.global: {from: 8, to: 40, factor: 2}\n"
            "  - description: [null]\n"
            "  - name: ['12', a b]\n"),
        MS_OK, "%s", ms_buffer_text(&s.f.messages));
    cr_assert_eq(s.sweep.count, (size_t)(3 * 2 * 3 * 1 * 2));
    expect_settings(&s, 0,
                    "platform.tiers.nvlink.bandwidth=100 GB/s|platform=dgx-a100|batch.global=8|"
                    "description=null|name=\"12\"|granularity=layer|recompute=full");
    expect_settings(&s, 35,
                    "platform.tiers.nvlink.bandwidth=300 GB/s|platform={\"file\": dgx-h100, "
                    "\"nodes\": 1}|batch.global=32|description=null|name=a b|granularity=layer|"
                    "recompute=full");
    job_fixture_release(&s.f);
}

Test(sweep, faults_are_told_with_their_place) {
    static const struct {
        const char *text, *words;
    } CASES[] = {
        {"axes: []\n", ":2:7: error: axes: expected a list of axes"},
        {"axes:\n  - batch.globl: [1]\n",
         ":3:18: error: axes[0]: batch.globl: unknown key; did you mean 'global'?"},
        {"axes:\n  - mesh.tp: [1, two]\n", ":3:14: error: axes[0]: mesh.tp: expected"},
        {"axes:\n  - platform.tiers.nvlink.latency: [1 GB/s]\n",
         "axes[0]: tiers.nvlink.latency: '1 GB/s' is a bandwidth"},
        {"axes:\n  - mesh.tp: [1]\n  - mesh.tp: [2]\n",
         ":4:14: error: axes[1]: this key has an axis already"},
        {"set: {mesh.tp: 1}\naxes:\n  - mesh.tp: [1, 2]\n",
         "axes[0]: this key has a value in 'set' already"},
        {"axes:\n  - batch.global: {from: 1, to: 1001, step: 1}\n",
         "expected at most 1000 values, got a range of more"},
        {"axes:\n  - mesh.tp: [1, 2]\n    mesh.dp: [1]\n",
         "expected 2 values, as the keys beside it have, got 1"},
        {"axes:\n  - mesh.tp: []\n", "expected a list of 1 to 1000 values"},
        {"axes:\n  - mesh.tp: 4\n", "expected a list of 1 to 1000 values"},
        {"axes:\n  - mesh.tp: {from: 1, to: 4}\n",
         "expected either 'step' or 'factor', got neither"},
        {"axes:\n  - mesh.tp: {from: 1, to: 4, step: 0}\n", "by a step above 0"},
        {"axes:\n  - mesh.tp: {from: 1, to: 4, factor: 1}\n", "by a factor above 1"},
        {"axes:\n  - mesh.tp: {from: 4, to: 1, step: 1}\n", "expected values that grow"},
        {"axes:\n  - mesh.tp: {from: 1 GB, to: 4 B, step: 1 GB}\n",
         "expected one unit, got 'GB', 'B' and 'GB'"},
        {"axes:\n  - mesh.tp: {from: x, to: 4, step: 1}\n", "expected numbers such as 2"},
        {"axes:\n  - mesh.tp: {from: 1, till: 4, step: 1}\n", "axes[0].till: unknown key"},
        {"axe:\n  - mesh.tp: [1]\n", "unknown key; did you mean 'axes'?"},
        {"set: {batch.qp: 1}\naxes:\n  - mesh.tp: [1]\n", ":2:6: error: set: batch.qp: "},
        {"set: 3\naxes:\n  - mesh.tp: [1]\n", "set: expected keys and values"},
        {"axes:\n  - mesh.tp: [1]\npicture: {quantity: step_time}\n",
         "did you mean 'step_time_s'?"},
        {"axes:\n  - mesh.tp: [1]\npicture: {x: mesh.dp}\n", "no axis has the key 'mesh.dp'"},
        {"axes:\n  - mesh.tp: [1]\npicture: {kind: heat}\n",
         "drawn over two axes, and there are 1"},
        {"axes:\n  - 3\n", "axes[0]: expected a key and its values"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        sweep_file s;
        cr_assert_eq(read_text(&s, CASES[i].text), MS_E_INPUT, "%s", CASES[i].text);
        const char *told = ms_buffer_text(&s.f.messages);
        cr_assert_not_null(strstr(told, CASES[i].words), "%s: %s", CASES[i].words, told);
        job_fixture_release(&s.f);
    }
}

Test(sweep, a_point_that_is_no_job_is_no_fault_of_the_file) {
    sweep_file s;
    cr_assert_eq(read_text(&s, "axes:\n  - mesh.tp: [1, 16]\n"), MS_OK, "%s",
                 ms_buffer_text(&s.f.messages));
    job_fixture_release(&s.f);
}
