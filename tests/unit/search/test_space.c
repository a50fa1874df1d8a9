/* Spaces: how many candidates there are, and that each is the job which its settings make. */
#include <unistd.h>

#include "job_fixture.h"
#include "search/space.h"
#include "spec_equal.h"

typedef struct opened {
    job_fixture f;
    ms_job_request job;
    ms_space_request request;
    ms_space *space;
} opened;

/* Open a space over workloads/NAME.yaml.  varied, sets: ended by NULL; varied NULL: what is usual.
 */
static ms_status open_space(opened *o, const char *name, const char **varied, const char **sets) {
    job_fixture_init(&o->f);
    o->job = (ms_job_request){
        .workload = ms_arena_printf(&o->f.arena, "%s/workloads/%s.yaml", MS_SOURCE_DIR, name),
        .data_folder = MS_SOURCE_DIR,
        .sets = sets};
    while (sets != NULL && sets[o->job.set_count] != NULL) {
        o->job.set_count++;
    }
    o->request.job = &o->job;
    o->request.has_defaults = varied == NULL;
    o->request.varied.items = varied;
    while (varied != NULL && varied[o->request.varied.count] != NULL) {
        o->request.varied.count++;
    }
    return ms_space_open(&o->request, &o->f.arena, &o->f.diag, &o->space);
}

static void expect_count(const char *name, const char **varied, int gpus, int64_t expected) {
    opened o = {.request = {.gpus = {&gpus, gpus > 0}}};
    cr_assert_eq(open_space(&o, name, varied, NULL), MS_OK, "%s", ms_buffer_text(&o.f.messages));
    cr_assert_eq(ms_space_count(o.space), expected, "%lld instead of %lld",
                 (long long)ms_space_count(o.space), (long long)expected);
    job_fixture_release(&o.f);
}

/* Ordered factorizations of 2^n into k factors: (n + k - 1) over (k - 1). */
Test(space, meshes_are_all_ordered_factorizations) {
    expect_count("textbook-70b-64", (const char *[]){"mesh.tp=all", "mesh.pp=all", NULL}, 0, 28);
    expect_count("textbook-70b-64",
                 (const char *[]){"mesh.tp=all", "mesh.pp=all", "mesh.cp=all", NULL}, 0, 84);
    expect_count("textbook-70b-64",
                 (const char *[]){"mesh.tp=all", "mesh.pp=all", "mesh.cp=all", "mesh.ep=all", NULL},
                 1 << 20, 10626);
}

/* 28 shapes of three axes: 3 have all GPUs on one axis (one order), 15 have two axes above 1 (two
 * orders), 10 have three (six). */
Test(space, orders_that_make_the_same_mesh_are_one) {
    expect_count("textbook-70b-64",
                 (const char *[]){"mesh.tp=all", "mesh.pp=all",
                                  "mesh.order=[pp,dp,tp],[pp,tp,dp],[dp,pp,tp],[dp,tp,pp],[tp,pp,"
                                  "dp],[tp,dp,pp]",
                                  NULL},
                 0, 3 + 15 * 2 + 10 * 6);
}

Test(space, dp_takes_what_is_left_and_may_be_limited) {
    expect_count("tiny", (const char *[]){"mesh.tp=1,2,4,8", NULL}, 0, 3); /* pp is 2: 8 / 2 / tp */
    expect_count("tiny", (const char *[]){"mesh.tp=1,2,4", "mesh.dp=1,4", NULL}, 0, 2);
    expect_count("tiny", (const char *[]){"mesh.tp=3", NULL}, 0, 0);
    expect_count("tiny", (const char *[]){"mesh.tp=1,2", "batch.micro=1,2,4", NULL}, 16, 6);
}

Test(space, a_mapping_sets_several_keys_together) {
    expect_count("tiny",
                 (const char *[]){"schedule={kind: 1f1b, v: 0},{kind: interleaved, v: 2}",
                                  "batch.micro=1,2", NULL},
                 0, 4);
}

/* What a number stands for must be the job that a file with its settings says: with a framework,
 * whose choices depend on the sizes, too. */
static void expect_same(const char *name, const char **varied, const char **sets) {
    opened o = {.request = {.gpus = {NULL, 0}}};
    cr_assert_eq(open_space(&o, name, varied, sets), MS_OK, "%s: %s", name,
                 ms_buffer_text(&o.f.messages));
    int64_t count = ms_space_count(o.space), step = count / 61 + 1;
    int compared = 0;
    for (int64_t index = 0; index < count; index += step) {
        ms_job_spec spec, read;
        ms_words settings;
        ms_status status = ms_space_spec(o.space, index, &o.f.diag, &spec);
        if (status == MS_E_NO) {
            continue; /* the same as another */
        }
        cr_assert_eq(status, MS_OK, "%s", ms_buffer_text(&o.f.messages));
        cr_assert_eq(ms_space_settings(o.space, index, &o.f.arena, &settings), MS_OK);
        const char *all[80];
        size_t total = 0;
        for (size_t i = 0; i < o.job.set_count; i++) {
            all[total++] = o.job.sets[i];
        }
        for (size_t i = 0; i < settings.count; i++) {
            all[total++] = settings.items[i];
        }
        ms_job_request request = o.job;
        request.sets = all;
        request.set_count = total;
        cr_assert_eq(ms_job_spec_read(&request, &o.f.arena, &o.f.diag, &read), MS_OK, "%s",
                     ms_buffer_text(&o.f.messages));
        cr_assert(spec_is_equal(&spec, &read), "%s: candidate %lld", name, (long long)index);
        compared++;
    }
    cr_assert_gt(compared, 20, "%s: %d", name, compared);
    job_fixture_release(&o.f);
}

Test(space, a_candidate_is_the_job_of_its_settings) {
    expect_same("textbook-70b-64", NULL, NULL);
    expect_same("deepseek-v3-2048", NULL, NULL);
    expect_same("llama3-405b-8k", NULL, NULL);
}

Test(space, choices_of_a_framework_follow_the_sizes) {
    expect_same("textbook-70b-64", NULL, (const char *[]){"framework=megatron-core", NULL});
    expect_same("textbook-70b-64",
                (const char *[]){"mesh.tp=all", "mesh.cp=1,2", "data_parallel.zero=0,1,3",
                                 "precision.products=parameters,fp8", NULL},
                (const char *[]){"framework=nemo", NULL});
}

/* The rule of thumb: tp as large as a node and the heads allow, the smallest pp, dp the rest. */
Test(space, the_rule_of_thumb_is_among_what_is_usual) {
    static const char *const NAMES[] = {"gpt3-175b-1024", "llama3-405b-8k", "mtnlg-530b-2240"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        opened o = {.request = {.gpus = {NULL, 0}}};
        cr_assert_eq(open_space(&o, NAMES[i], NULL, NULL), MS_OK);
        unsigned stages = 0; /* bits of the numbers of stages that tp 8 goes with */
        for (int64_t index = 0; index < ms_space_count(o.space); index++) {
            ms_job_spec spec;
            if (ms_space_spec(o.space, index, &o.f.diag, &spec) != MS_OK) {
                continue;
            }
            int tp = 1, pp = 1;
            for (int axis = 0; axis < spec.mesh.axes; axis++) {
                tp = strcmp(spec.mesh.names[axis], "tp") == 0 ? spec.mesh.sizes[axis] : tp;
                pp = strcmp(spec.mesh.names[axis], "pp") == 0 ? spec.mesh.sizes[axis] : pp;
            }
            stages |= tp == 8 && pp <= 8 ? 1U << pp : 0;
        }
        unsigned expected = 1U << 1 | 1U << 2 | 1U << 4 | 1U << 8; /* divisors of all three */
        cr_assert_eq(stages & expected, expected, "%s: %x", NAMES[i], stages);
        job_fixture_release(&o.f);
    }
}

static void expect_fault(const char *varied, ms_status status, const char *text) {
    opened o = {.request = {.gpus = {NULL, 0}}};
    cr_assert_eq(open_space(&o, "tiny", (const char *[]){varied, NULL}, NULL), status, "%s: %s",
                 varied, ms_buffer_text(&o.f.messages));
    cr_assert_not_null(strstr(ms_buffer_text(&o.f.messages), text), "%s: %s", varied,
                       ms_buffer_text(&o.f.messages));
    job_fixture_release(&o.f);
}

Test(space, what_a_key_cannot_have_is_a_fault) {
    expect_fault("mesh.tp=0", MS_E_INPUT,
                 "--vary mesh.tp: expected a size such as 2, or 'all', got '0'");
    expect_fault("mesh.tp=1,two", MS_E_INPUT, "expected a size such as 2, or 'all', got 'two'");
    expect_fault("mesh.tp=1,2,1", MS_E_INPUT, "expected each value once, got '1'");
    expect_fault("batch.micro=1,2,1", MS_E_INPUT, "expected each value once, got '1'");
    expect_fault("mesh.tp", MS_E_USAGE, "expected '--vary key.path=v1,v2,...'");
    expect_fault("batch.mirco=1,2", MS_E_INPUT, "batch.mirco: unknown key; did you mean 'micro'?");
    expect_fault("batch.micro=1,x", MS_E_INPUT, "batch.micro");
    expect_fault("schedule.kind=1f2b", MS_E_INPUT, "1f1b");
    expect_fault("platform.nodes=1,2", MS_E_INPUT, "'--gpus'");
    expect_fault("mesh.order=[pp,qq]", MS_E_INPUT,
                 "expected axes of the mesh, each once, got 'qq'");
    expect_fault("mesh.order=[pp,dp],[pp,pp]", MS_E_INPUT, "each once, got 'pp'");
}

/* ---- a space in a file ---- */

/* Read a text as a space of the tiny workload. */
static ms_status read_space(opened *o, const char *text) {
    char path[] = "/tmp/ms_space_XXXXXX";
    int file = mkstemp(path);
    cr_assert_geq(file, 0);
    cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
    close(file);
    job_fixture_init(&o->f);
    o->job = (ms_job_request){.workload = MS_SOURCE_DIR "/workloads/tiny.yaml",
                              .data_folder = MS_SOURCE_DIR};
    o->request = (ms_space_request){.job = &o->job};
    ms_status status = ms_space_read_file(path, &o->f.arena, &o->f.diag, &o->request);
    status =
        status == MS_OK ? ms_space_open(&o->request, &o->f.arena, &o->f.diag, &o->space) : status;
    unlink(path);
    return status;
}

static void expect_settings(opened *o, int64_t index, const char *expected) {
    ms_words settings;
    char text[512] = "";
    cr_assert_eq(ms_space_settings(o->space, index, &o->f.arena, &settings), MS_OK);
    for (size_t i = 0; i < settings.count; i++) {
        strcat(strcat(text, i == 0 ? "" : "|"), settings.items[i]);
    }
    cr_assert_not_null(strstr(text, expected), "%s: %s", expected, text);
}

Test(space_file, values_are_those_of_yaml) {
    opened o;
    cr_assert_eq(read_space(&o, "vary:\n"
                                "  mesh.tp: all\n"
                                "  mesh.pp: [1]\n"
                                "  description:\n"
                                "    - a, b\n"
                                "    - 'it''s [c]'\n"
                                "    - null\n"
                                "  framework:\n"
                                "    - {name: megatron-core}\n"),
                 MS_OK, "%s", ms_buffer_text(&o.f.messages));
    cr_assert_eq(ms_space_count(o.space), (int64_t)(4 * 3));
    expect_settings(&o, 0, "description=\"a, b\"|framework.name=megatron-core");
    expect_settings(&o, 1, "description=\"it's [c]\"|");
    expect_settings(&o, 2, "description=null|");
    job_fixture_release(&o.f);
}

Test(space_file, faults_are_told_with_their_place) {
    static const struct {
        const char *text, *words;
    } CASES[] = {
        {"", ":1:1: error: expected keys and values, got nothing"},
        {"[1]\n", ":1:1: error: expected keys and values, got a list"},
        {"gpu: [8]\n", ":1:1: error: gpu: unknown key; did you mean 'gpus'?"},
        {"vary: {batch.micro: [1]}\nvary: {}\n", ":2:1: error: repeated key 'vary'"},
        {"usual: maybe\n", ":1:8: error: usual: expected true or false, got 'maybe'"},
        {"usual: [true]\n", "usual: expected true or false"},
        {"gpus: 8\n",
         ":1:7: error: gpus: expected a list of whole numbers such as [1, 2], got '8'"},
        {"gpus: [8, x]\n", ":1:11: error: gpus[1]: expected a whole number, got 'x'"},
        {"gpus: [0]\n", "gpus[0]: expected 1 to 16777216, got '0'"},
        {"gpus: [12]\n",
         ":1:7: error: gpus: 'dgx-a100' has nodes of 8 GPUs, and 12 is no multiple"},
        {"gpus: [7]\n", "nearest: 8\n"},
        {"platforms: flat\n", "platforms: expected a list of words such as [a, b], got 'flat'"},
        {"platforms: [flat, dgx-a10]\n", ":1:19: error: platforms: no platform 'dgx-a10'"},
        {"vary: [1]\n", ":1:7: error: vary: expected keys and their values, such as"},
        {"vary:\n  batch.micro:\n",
         "vary.batch.micro: expected a list of 1 to 1000 values, or a range"},
        {"vary:\n  batch.micro: 4\n", "factor: 2}, got '4'"},
        {"vary:\n  batch.micro: all\n", ":2:16: error: vary.batch.micro: expected a list"},
        {"vary:\n  batch.micro: []\n", ":2:16: error: vary.batch.micro: expected a list"},
        {"vary:\n  batch.micro: {from: 1, to: 4}\n", "got neither"},
        {"vary:\n  batch.micro: {from: 1, two: 4, step: 1}\n", "vary.batch.micro.two: unknown key"},
        {"vary:\n  batch.micro: [1, two]\n",
         ":2:20: error: vary: batch.micro: expected a whole number"},
        {"vary:\n  batch.micro:\n    - 1\n    - 2\n    - 1\n",
         ":5:7: error: vary.batch.micro: expected each value once, got '1'"},
        {"vary:\n  batch.mirco: [1]\n",
         ":2:17: error: vary: batch.mirco: unknown key; did you mean 'micro'?"},
        {"vary:\n  schedule: [{kind: 1f1b}, {knd: gpipe}]\n",
         "schedule.knd: unknown key; did you mean 'kind'?"},
        {"vary:\n  a=b: [1]\n", "vary.a=b: expected a key such as 'batch.micro'"},
        {"vary:\n  mesh.tp: [1, 0]\n",
         ":2:16: error: vary.mesh.tp: expected a size such as 2, or 'all', got '0'"},
        {"vary:\n  mesh.tp: [2, 2]\n", ":2:16: error: vary.mesh.tp: expected each value once"},
        {"vary:\n  mesh.xp: [1]\n", ":2:12: error: vary.mesh.xp: expected mesh.order, or an axis"},
        {"vary:\n  mesh.order: [pp]\n",
         ":2:16: error: vary.mesh.order: expected an order such as [pp, dp, tp], got 'pp'"},
        {"vary:\n  mesh.order: [[pp, tp], [pp, pp]]\n",
         ":2:26: error: vary.mesh.order: expected axes of the mesh, each once, got 'pp'"},
        {"vary:\n  platform.nodes: [1]\n",
         ":2:19: error: vary.platform.nodes: say '--gpus', or 'gpus' in a file"},
        {"vary:\n  platform.file: [flat]\n", "say '--platform', or 'platforms' in a file"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        opened o;
        cr_assert_eq(read_space(&o, CASES[i].text), MS_E_INPUT, "%s", CASES[i].text);
        const char *told = ms_buffer_text(&o.f.messages);
        cr_assert_not_null(strstr(told, CASES[i].words), "%s: %s", CASES[i].words, told);
        job_fixture_release(&o.f);
    }
}

Test(space_file, all_faults_are_told_at_once) {
    opened o;
    cr_assert_eq(read_space(&o, "vary:\n  mesh.tp: [0]\n  batch.micro: [x]\n  mesh.order: [pp]\n"),
                 MS_E_INPUT);
    cr_assert_eq(o.f.diag.errors, 3);
    job_fixture_release(&o.f);
    cr_assert_eq(read_space(&o, "vary:\n  mesh.tp: 1\n  batch.micro: 2\n"), MS_E_INPUT);
    cr_assert_eq(o.f.diag.errors, 2);
    job_fixture_release(&o.f);
}

/* ---- clusters ---- */

Test(space, gpus_are_whole_nodes) {
    int gpus = 12;
    opened o = {.request = {.gpus = {&gpus, 1}}};
    cr_assert_eq(open_space(&o, "tiny", (const char *[]){"mesh.tp=1,2", NULL}, NULL), MS_E_USAGE);
    cr_assert_not_null(strstr(ms_buffer_text(&o.f.messages), "nearest: 8 or 16"));
    job_fixture_release(&o.f);
}
