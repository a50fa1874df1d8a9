/* Spaces: how many candidates there are, and that each is the job which its settings make. */
#include "job_fixture.h"
#include "meshsim/space.h"

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
    o->request.is_usual = varied == NULL;
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
        cr_assert(ms_job_spec_is_equal(&spec, &read), "%s: candidate %lld", name, (long long)index);
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
    expect_fault("mesh.tp=0", MS_E_INPUT, "expected sizes such as 1,2,4");
    expect_fault("mesh.tp=two", MS_E_INPUT, "expected sizes such as 1,2,4");
    expect_fault("mesh.tp", MS_E_USAGE, "expected '--vary key.path=v1,v2,...'");
    expect_fault("batch.mirco=1,2", MS_E_INPUT, "batch.mirco: unknown key; did you mean 'micro'?");
    expect_fault("batch.micro=1,x", MS_E_INPUT, "batch.micro");
    expect_fault("schedule.kind=1f2b", MS_E_INPUT, "1f1b");
    expect_fault("platform.nodes=1,2", MS_E_USAGE, "'--gpus'");
    expect_fault("mesh.order=[pp,qq]", MS_E_INPUT, "expected axes of the mesh");
}

Test(space, gpus_are_whole_nodes) {
    int gpus = 12;
    opened o = {.request = {.gpus = {&gpus, 1}}};
    cr_assert_eq(open_space(&o, "tiny", (const char *[]){"mesh.tp=1,2", NULL}, NULL), MS_E_USAGE);
    cr_assert_not_null(strstr(ms_buffer_text(&o.f.messages), "nearest: 8 or 16"));
    job_fixture_release(&o.f);
}
