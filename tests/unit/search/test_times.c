/* Points of a file take what the cost model's functions say of them, on the platform and on its
 * variants. */
#include "search/times.h"

#include <stdlib.h>

#include "base/random.h"
#include "collective/collective.h"
#include "model/kernel_times.h"
#include "platform_fixture.h"
#include "text_file.h"

enum { POINTS = 1000, RANKS_MAX = 64, KERNELS = 4, COLLECTIVES = 6 };

static const char *const NAMES[KERNELS + COLLECTIVES] = {
    "gemm",       "memory",         "attention",  "attention_backward", "p2p",
    "all_reduce", "reduce_scatter", "all_gather", "all_to_all",         "ring_shift"};
static const ms_coll_kind COLLS[COLLECTIVES] = {
    MS_COLL_P2P,        MS_COLL_ALL_REDUCE, MS_COLL_REDUCE_SCATTER,
    MS_COLL_ALL_GATHER, MS_COLL_ALL_TO_ALL, MS_COLL_RING_SHIFT};
static const char *const TIMINGS[] = {"queued", "one_thread", "lone_call"};
static const char *const KEYS[KERNELS][MS_MEASURED_SIZES] = {
    {"m", "n", "k", "count"},
    {"bytes"},
    {"batch", "sequence", "heads", "kv_heads", "query", "value"},
    {"batch", "sequence", "heads", "kv_heads", "query", "value"}};
static const int SIZES[KERNELS] = {4, 1, 6, 6};

/* A point as the test knows it. */
typedef struct drawn {
    int kind, ranks, timing;
    double sizes[MS_MEASURED_SIZES], size_B;
} drawn;

static drawn draw(ms_random *random, ms_buffer *text) {
    drawn d = {.kind = (int)ms_random_range(random, 0, KERNELS + COLLECTIVES - 1)};
    ms_buffer_printf(text, "- {kind: %s", NAMES[d.kind]);
    for (int i = 0; d.kind < KERNELS && i < SIZES[d.kind]; i++) {
        d.sizes[i] = (double)ms_random_range(random, 1, d.kind == 1 ? 1LL << 36 : 5000);
        ms_buffer_printf(text, ", %s: %.17g%s", KEYS[d.kind][i], d.sizes[i],
                         d.kind == 1 ? " B" : "");
    }
    if (d.kind >= KERNELS) {
        d.ranks = d.kind == KERNELS ? 2 : (int)ms_random_range(random, 2, RANKS_MAX);
        d.timing = (int)ms_random_range(random, 0, 2);
        d.size_B = 1e9 * ms_random_unit(random);
        ms_buffer_printf(text, ", gpus: %d, bytes: %.17g B, timing: %s", d.ranks, d.size_B,
                         TIMINGS[d.timing]);
    }
    ms_buffer_puts(text, "}\n");
    return d;
}

static double expected_s(const ms_platform *platform, const drawn *d) {
    const double *n = d->sizes;
    switch (d->kind) {
    case 0:
        return ms_gemm_time_s(&platform->gpu, (ms_gemm_shape){n[0], n[1], n[2], n[3]}, 2);
    case 1:
        return ms_memory_time_s(&platform->gpu, n[0]);
    case 2:
        return ms_attention_time_s(&platform->gpu, n, false);
    case 3:
        return ms_attention_time_s(&platform->gpu, n, true);
    default:
        break;
    }
    int gpus[RANKS_MAX];
    for (int i = 0; i < RANKS_MAX; i++) {
        gpus[i] = i;
    }
    const ms_coll_request request = {
        .kind = COLLS[d->kind - KERNELS], .gpus = gpus, .members = d->ranks, .size_B = d->size_B};
    ms_arena arena;
    ms_coll_plan plan;
    double time_s = 0;
    ms_arena_init(&arena);
    cr_assert_eq(ms_coll_plan_build(platform, &request, &arena, &plan), MS_OK);
    cr_assert_eq(ms_coll_plan_time(platform, &plan, &time_s), MS_OK);
    ms_arena_release(&arena);
    const ms_timed_collective c = {
        .timing = d->timing, .ranks = d->ranks, .nodes = (d->ranks + 7) / 8, .size_B = d->size_B};
    return ms_timed_s(&c, platform, time_s);
}

/* A file with a text in a folder of its own.  path_out: [64]. */
static void write_points(const ms_buffer *text, char path_out[64]) {
    char folder[] = "/tmp/meshsim-times-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    write_text(folder, "p.yaml", ms_buffer_text(text));
    snprintf(path_out, 64, "%s/p.yaml", folder);
}

static ms_status run_text(platform_fixture *f, const ms_buffer *text, ms_times *times_out) {
    char path[64];
    write_points(text, path);
    ms_status status = ms_times_read(path, MS_SOURCE_DIR, &f->arena, &f->diag, times_out);
    return status == MS_OK ? ms_times_run(times_out, &f->arena, &f->diag) : status;
}

static void check_points(const char *name, uint64_t seed) {
    static drawn points[POINTS];
    platform_fixture f;
    ms_times times;
    ms_buffer text;
    ms_random random = {seed};
    fixture_platform(&f, name, NULL);
    ms_platform slower = f.platform;
    slower.gpu.gemm_efficiency = 0.321;
    slower.tiers[0].efficiency = 0.123;
    slower.tiers[1].latency_s = 12.5e-6;
    ms_buffer_init(&text);
    ms_buffer_printf(&text, "platform: %s\nvariants:\n- []\n- [gpu.gemm_efficiency=0.321, ", name);
    ms_buffer_printf(&text,
                     "platform.tiers.%s.efficiency=0.123, tiers.%s.latency=12.5 us]\npoints:\n",
                     slower.tiers[0].name, slower.tiers[1].name);
    for (int i = 0; i < POINTS; i++) {
        points[i] = draw(&random, &text);
    }
    cr_assert_eq(run_text(&f, &text, &times), MS_OK, "%s", ms_buffer_text(&f.messages));
    cr_assert_eq(times.point_count, POINTS);
    cr_assert_eq(times.variant_count, 2);
    for (int i = 0; i < POINTS; i++) {
        double one = expected_s(&f.platform, &points[i]), other = expected_s(&slower, &points[i]);
        cr_assert_eq(times.times_s[i], one, "%s %d of seed %llu: %.17g, not %.17g", name, i,
                     (unsigned long long)seed, times.times_s[i], one);
        cr_assert_eq(times.times_s[POINTS + i], other, "%s %d, variant: %.17g, not %.17g", name, i,
                     times.times_s[POINTS + i], other);
    }
    ms_buffer_release(&text);
    fixture_release(&f);
}

Test(times, a_thousand_points_take_what_the_cost_model_says) {
    const char *seed = getenv("MS_SEED");
    uint64_t start = seed == NULL ? 20261127 : strtoull(seed, NULL, 10);
    check_points("dgx-h100", start);
    check_points("dgx-a100", start + 1);
}

/* What is said of a text that cannot be timed. */
static void check_fault(const char *text, const char *expected) {
    platform_fixture f;
    ms_times times;
    ms_buffer buffer;
    fixture_init(&f);
    ms_buffer_init(&buffer);
    ms_buffer_puts(&buffer, text);
    cr_assert_eq(run_text(&f, &buffer, &times), MS_E_INPUT, "%s", text);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), expected), "%s: %s", text,
                       ms_buffer_text(&f.messages));
    ms_buffer_release(&buffer);
    fixture_release(&f);
}

Test(times, faults_have_their_place) {
    static const char *const FAULTS[][2] = {
        {"points: 3", "p.yaml:1:9: error: points: expected a list of points"},
        {"points: [3]", "p.yaml:1:10: error: points[0]: expected a mapping with a 'kind'"},
        {"points: [{kind: gem}]",
         "p.yaml:1:17: error: points[0]: unknown kind 'gem'; did you mean"},
        {"points: [{kind: memory, bytes: 8}]", "points[0].bytes: expected a unit"},
        {"points: [{kind: memory, bites: 8 B}]", "points[0].bites: unknown key; did you mean"},
        {"points: [{kind: gemm, m: 1, n: 1, k: 0}]", "points[0].k: expected"},
        {"points: [{kind: p2p, gpus: 3, bytes: 8 B}]", "p2p takes 2 GPUs"},
        {"points: [{kind: all_reduce, gpus: 2, bytes: 1 B, timing: x}]", "expected one of queued"},
        {"points: [{kind: all_reduce, gpus: 9999, bytes: 1 B}]\nplatform: flat", "which has"},
        {"points: []\nplatform: []", "p.yaml:2:11: error: platform: expected the name"},
        {"points: []\nplatform: flat\nset: [a]", "--set:1:1: error: expected key.path=value"},
        {"points: []\nplatform: flat\nset: [nodez=1]", "nodez: unknown key"},
        {"points: []\nplatform: {file: flat, nodez: 1}", "p.yaml:2:24: error: nodez: unknown key"},
        {"points: []\nplatform: flat\nvariants: []", "expected a list of lists of overrides"},
        {"points: []\nplatform: flat\nvariants: [[a: 1]]", "expected a list of overrides"},
        {"points: []\nplatform: flat\nvariants: [nodes=1]", "expected a list of overrides"},
    };
    for (size_t i = 0; i < sizeof FAULTS / sizeof FAULTS[0]; i++) {
        check_fault(FAULTS[i][0], FAULTS[i][1]);
    }
}

Test(times, more_times_than_fit_are_refused) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_buffer_puts(&text, "platform: flat\nvariants: [[]");
    for (int i = 0; i < 2000; i++) {
        ms_buffer_puts(&text, ",[]");
    }
    ms_buffer_puts(&text, "]\npoints:\n");
    for (int i = 0; i < POINTS; i++) {
        ms_buffer_puts(&text, "- {kind: memory, bytes: 8 B}\n");
    }
    check_fault(ms_buffer_text(&text), "more than 2000000 times");
    ms_buffer_release(&text);
}
