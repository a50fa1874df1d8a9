/* What `auto` takes against every other way that the library offers. NCCL chooses by its own model,
 * while the links of a platform decide on the time (sim/collective/nccl.md). So `auto` may take a
 * way that another one beats, and twice the bytes may take more than twice as long where another
 * way is taken for them. Each of these cases is a row of choices.csv, with the constant that makes
 * it. */
#include <dirent.h>
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "collective/nccl.h"
#include "plan_fixture.h"

/* The table; with MS_ACCEPT set it is written anew. */
static const char TABLE[] = MS_SOURCE_DIR "/tests/unit/collective/choices.csv";
static const char HEADER[] =
    "case,platform,kind,ranks,stride,from_MiB,to_MiB,taken,faster,constant\n";

enum { LEAST_POWER = 20, SLOW_POWER = 32, MOST_POWER = 34, GPUS_MAX = 576 };

/* A way to do a collective. */
typedef struct way {
    ms_coll_algorithm algorithm;
    ms_protocol protocol;
} way;

/* A group of every `stride`-th GPU of a platform, and a kind of collective among its members. */
typedef struct group_case {
    ms_platform *platform;
    ms_coll_kind kind;
    int members, stride;
    int gpus[GPUS_MAX];
} group_case;

/* A row of the table that is not written yet, as the next size may extend it. */
typedef struct case_row {
    const char *name; /* NULL: there is none */
    int from_power, to_power;
    way taken, faster;
    const char *constant;
} case_row;

/* Lay a collective out by a way, parts of which may be AUTO, and time it on idle links [s];
 * INFINITY where the library does not offer it. *taken_out: what is taken. */
static double plan_s(const group_case *g, way asked, double size_B, way *taken_out) {
    const ms_coll_request request = {.kind = g->kind,
                                     .algorithm = asked.algorithm,
                                     .protocol = asked.protocol,
                                     .gpus = g->gpus,
                                     .members = g->members,
                                     .size_B = size_B};
    ms_arena arena;
    ms_coll_plan plan;
    double time_s = INFINITY;
    ms_arena_init(&arena);
    if (ms_coll_plan_build(g->platform, &request, &arena, &plan) == MS_OK) {
        cr_assert_eq(ms_coll_plan_time(g->platform, &plan, &time_s), MS_OK);
        *taken_out = (way){plan.algorithm, plan.protocol};
    }
    ms_arena_release(&arena);
    return time_s;
}

/* By how much a way takes longer on the links than NCCL's model has it, without the overhead that
 * all ways have [s]. */
static double excess_s(const group_case *g, way w, double size_B) {
    const ms_coll_request request = {
        .kind = g->kind, .algorithm = w.algorithm, .protocol = w.protocol};
    ms_nccl_comm comm;
    way taken = w;
    cr_assert_eq(ms_nccl_comm_find(g->platform, g->gpus, g->members, &comm), MS_OK);
    return plan_s(g, w, size_B, &taken) - ms_nccl_overhead_s(g->platform) -
           ms_nccl_time_s(g->platform, &comm, &request, size_B);
}

/* Set constants to what makes model and links agree. */

static void drop_correction(ms_platform *platform, ms_library *library) {
    (void)platform;
    for (int p = 0; p < MS_LIBRARY_PROTOCOLS; p++) {
        for (int i = 0; i < MS_LIBRARY_SIZES; i++) {
            library->tree_correction[p][i] = 1.0;
        }
    }
}

static void drop_nic_latency(ms_platform *platform, ms_library *library) {
    (void)library;
    platform->nics.latency_s = 0.0;
}

static void drop_ramp(ms_platform *platform, ms_library *library) {
    library->generations[platform->gpu.generation].ramp.time_s = 0.0;
}

static void drop_ring_turn(ms_platform *platform, ms_library *library) {
    library->generations[platform->gpu.generation].ring_turn = 0.0;
}

static void drop_link_latency(ms_platform *platform, ms_library *library) {
    for (int tier = 0; tier < platform->tier_count; tier++) {
        platform->tiers[tier].latency_s = tier < 2 ? library->link_step_s[tier] / 2.0 : 0.0;
    }
}

static const struct {
    const char *name;
    void (*drop)(ms_platform *platform, ms_library *library);
} CONSTANTS[] = {
    {"tree_correction", drop_correction},
    {"nic_latency", drop_nic_latency},
    {"ramp_time", drop_ramp},
    {"ring_turn", drop_ring_turn},
    {"latency", drop_link_latency},
};
enum { CONSTANT_COUNT = sizeof CONSTANTS / sizeof CONSTANTS[0] };

/* The constant of NCCL's formula for the bandwidth of an algorithm; a ring's bandwidth is that of
 * its links, so that only their latency is left. */
static const char *rate_constant(const group_case *g, ms_coll_algorithm algorithm) {
    ms_nccl_comm comm;
    cr_assert_eq(ms_nccl_comm_find(g->platform, g->gpus, g->members, &comm), MS_OK);
    bool has_copies = g->platform->library->formulas != MS_FORMULAS_2_28 && comm.nodes == 2;
    switch (algorithm) {
    case MS_ALGORITHM_NVLS:
        return "nvls_efficiency";
    case MS_ALGORITHM_NVLS_TREE:
        return "nvls_tree_bandwidth";
    case MS_ALGORITHM_TREE:
        return has_copies ? "channel_copies" : "tree_ratio";
    case MS_ALGORITHM_PAT:
        return "pat_ratio";
    default:
        return "latency";
    }
}

/* The constant by which model and links differ most over two ways: where the model has `taken` as
 * the faster one and the links have `faster`. What no single constant accounts for are the rates of
 * the two. */
static const char *constant_of(const group_case *g, way taken, way faster, double size_B) {
    double all_s = excess_s(g, taken, size_B) - excess_s(g, faster, size_B);
    double most_s = 0.0;
    const char *name = "";
    ms_platform bare = *g->platform;
    ms_library bare_library = *bare.library;
    for (int i = 0; i < CONSTANT_COUNT; i++) {
        ms_platform platform = *g->platform;
        ms_library library = *platform.library;
        group_case other = *g;
        platform.library = &library;
        other.platform = &platform;
        CONSTANTS[i].drop(&platform, &library);
        CONSTANTS[i].drop(&bare, &bare_library);
        double part_s =
            all_s - (excess_s(&other, taken, size_B) - excess_s(&other, faster, size_B));
        if (part_s > most_s) {
            most_s = part_s;
            name = CONSTANTS[i].name;
        }
    }
    group_case rest = *g;
    bare.library = &bare_library;
    rest.platform = &bare;
    double taken_s = excess_s(&rest, taken, size_B);
    double faster_s = -excess_s(&rest, faster, size_B);
    if (taken_s > most_s || faster_s > most_s) {
        name = rate_constant(g, taken_s > faster_s ? taken.algorithm : faster.algorithm);
    }
    cr_expect(name[0] != '\0', "%s among %d, %g B: no constant", ms_coll_kind_name(g->kind),
              g->members, size_B);
    return name;
}

static void write_row(const group_case *g, case_row *row, ms_buffer *table) {
    if (row->name != NULL) {
        ms_buffer_printf(table, "%s,%s,%s,%d,%d,%ld,%ld,%s/%s,%s/%s,%s\n", row->name,
                         g->platform->name, ms_coll_kind_name(g->kind), g->members, g->stride,
                         1L << (row->from_power - LEAST_POWER), 1L << (row->to_power - LEAST_POWER),
                         ms_coll_algorithm_name(row->taken.algorithm),
                         ms_protocol_name(row->taken.protocol),
                         ms_coll_algorithm_name(row->faster.algorithm),
                         ms_protocol_name(row->faster.protocol), row->constant);
        row->name = NULL;
    }
}

static bool is_same_way(way a, way b) {
    return a.algorithm == b.algorithm && a.protocol == b.protocol;
}

/* Add a case to the row before, or begin a new one. */
static void add_case(const group_case *g, const case_row *found, case_row *row, ms_buffer *table) {
    if (row->name != NULL && row->to_power + 1 == found->from_power &&
        is_same_way(row->taken, found->taken) && is_same_way(row->faster, found->faster) &&
        row->constant == found->constant) {
        row->to_power = found->from_power;
        return;
    }
    write_row(g, row, table);
    *row = *found;
}

/* The fastest way with another algorithm than `taken`. */
static double fastest_s(const group_case *g, way taken, double size_B, way *fastest_out) {
    double least_s = INFINITY;
    for (int a = MS_ALGORITHM_RING; a <= MS_ALGORITHM_COLLNET_CHAIN; a++) {
        for (int p = MS_PROTOCOL_LL; p <= MS_PROTOCOL_SIMPLE; p++) {
            way w = {(ms_coll_algorithm)a, (ms_protocol)p};
            bool is_other = w.algorithm != taken.algorithm;
            double time_s = is_other ? plan_s(g, w, size_B, &w) : INFINITY;
            if (time_s < least_s) {
                least_s = time_s;
                *fastest_out = w;
            }
        }
    }
    return least_s;
}

static void add_slow_cases(const group_case *g, ms_buffer *table) {
    case_row row = {.name = NULL};
    for (int power = LEAST_POWER; power <= SLOW_POWER; power++) {
        way taken = {0}, fastest = {0};
        double time_s = plan_s(g, taken, ldexp(1.0, power), &taken);
        if (time_s > 1.1 * fastest_s(g, taken, ldexp(1.0, power), &fastest)) {
            const case_row found = {"slow",  power,
                                    power,   taken,
                                    fastest, constant_of(g, taken, fastest, ldexp(1.0, power))};
            add_case(g, &found, &row, table);
        }
    }
    write_row(g, &row, table);
}

static void add_jumps(const group_case *g, ms_buffer *table) {
    case_row row = {.name = NULL};
    way before = {0};
    double before_s = INFINITY;
    for (int power = LEAST_POWER; power <= MOST_POWER; power++) {
        way taken = {0};
        double time_s = plan_s(g, taken, ldexp(1.0, power), &taken);
        if (time_s > 2.0 * before_s * (1.0 + 1e-12)) {
            cr_expect(!is_same_way(before, taken), "%s: %s among %d, 2^%d B: %g s, half of it %g s",
                      g->platform->name, ms_coll_kind_name(g->kind), g->members, power, time_s,
                      before_s);
            const case_row found = {"jump", power,
                                    power,  taken,
                                    before, constant_of(g, taken, before, ldexp(1.0, power))};
            add_case(g, &found, &row, table);
        }
        before = taken;
        before_s = time_s;
    }
    write_row(g, &row, table);
}

static void add_cases(const group_case *g, ms_buffer *table) {
    if (ms_nccl_applies(g->platform, g->kind)) {
        add_slow_cases(g, table);
    }
    add_jumps(g, table);
}

/* Add the cases of all groups and kinds of a platform. */
static void add_platform(ms_platform *platform, ms_buffer *table) {
    static const int CLOSE[] = {2, 3, 4, 5, 6, 7, 8, 9, 12, 16, 24, 32, 64, 72, 128, 144, 256, 576};
    static const int SPREAD[] = {2, 4, 16};
    enum { CLOSE_COUNT = sizeof CLOSE / sizeof CLOSE[0], SPREAD_COUNT = 3 };
    for (int i = 0; i < CLOSE_COUNT + SPREAD_COUNT; i++) {
        static group_case g;
        g.platform = platform;
        g.members = i < CLOSE_COUNT ? CLOSE[i] : SPREAD[i - CLOSE_COUNT];
        g.stride = i < CLOSE_COUNT ? 1 : platform->gpus_per_node;
        for (int m = 0; m < g.members; m++) {
            g.gpus[m] = m * g.stride;
        }
        for (int kind = MS_COLL_NONE + 1; kind < MS_COLL_COUNT; kind++) {
            g.kind = (ms_coll_kind)kind;
            if ((g.kind != MS_COLL_P2P || g.members == 2) &&
                g.members * g.stride <= ms_platform_gpus(platform)) {
                add_cases(&g, table);
            }
        }
    }
}

static int is_platform(const struct dirent *entry) {
    const char *dot = strrchr(entry->d_name, '.');
    return dot != NULL && strcmp(dot, ".yaml") == 0;
}

/* Call `visit` for all platforms, by name. */
static void visit_platforms(void (*visit)(ms_platform *platform, ms_buffer *table),
                            ms_buffer *table) {
    struct dirent **entries = NULL;
    int count = scandir(MS_SOURCE_DIR "/platforms", &entries, is_platform, alphasort);
    cr_assert_gt(count, 6);
    for (int i = 0; i < count; i++) {
        platform_fixture f;
        *strrchr(entries[i]->d_name, '.') = '\0';
        fixture_platform(&f, entries[i]->d_name, NULL);
        visit(&f.platform, table);
        fixture_release(&f);
        free(entries[i]);
    }
    free(entries);
}

/* Report the rows of a text that another one lacks. */
static void expect_rows(const ms_buffer *rows, const ms_buffer *in, const char *what) {
    const char *row = ms_buffer_text(rows) + sizeof HEADER - 1;
    for (const char *end = strchr(row, '\n'); end != NULL; row = end + 1, end = strchr(row, '\n')) {
        char line[256];
        snprintf(line, sizeof line, "\n%.*s\n", (int)(end - row), row);
        cr_expect_not_null(strstr(ms_buffer_text(in), line), "%s: %.*s", what, (int)(end - row),
                           row);
    }
}

/* The rows of the table, as it is kept. */
static void read_table(ms_buffer *rows) {
    char line[256];
    FILE *file = fopen(TABLE, "r");
    cr_assert_not_null(file, "%s", TABLE);
    while (fgets(line, sizeof line, file) != NULL) {
        ms_buffer_puts(rows, line);
    }
    fclose(file);
}

static void write_table(const ms_buffer *rows) {
    FILE *file = fopen(TABLE, "w");
    cr_assert_not_null(file, "%s", TABLE);
    fputs(ms_buffer_text(rows), file);
    fclose(file);
}

Test(choices, each_that_is_slow_or_jumps_stands_in_the_table) {
    ms_buffer found, kept;
    ms_buffer_init(&found);
    ms_buffer_init(&kept);
    ms_buffer_puts(&found, HEADER);
    visit_platforms(add_platform, &found);
    if (getenv("MS_ACCEPT") != NULL) {
        write_table(&found);
    }
    read_table(&kept);
    expect_rows(&found, &kept, "not in the table");
    expect_rows(&kept, &found, "no longer so");
    ms_buffer_release(&found);
    ms_buffer_release(&kept);
}

/* A group of 2 to 64 GPUs that lie side by side, apart, or on as many nodes. */
static void draw_group(ms_platform *platform, ms_random *random, group_case *g) {
    int world = ms_platform_gpus(platform);
    const int strides[] = {1, 1, (int)ms_random_range(random, 1, 7), platform->gpus_per_node};
    g->platform = platform;
    g->kind = (ms_coll_kind)ms_random_range(random, MS_COLL_NONE + 1, MS_COLL_COUNT - 1);
    g->stride = strides[ms_random_range(random, 0, 3)];
    int most = world / g->stride < 64 ? world / g->stride : 64;
    g->members = g->kind == MS_COLL_P2P ? 2 : (int)ms_random_range(random, 2, most);
    for (int m = 0; m < g->members; m++) {
        g->gpus[m] = m * g->stride;
    }
}

/* Twice the bytes, of any size from 1 MiB to 16 GiB, take at most twice as long the same way, be it
 * asked for or taken by itself. */
static void expect_doubling(ms_platform *platform, ms_random *random) {
    static group_case g;
    for (int draw = 0; draw < 200; draw++) {
        double size_B = floor(ldexp(1.0 + ms_random_unit(random),
                                    (int)ms_random_range(random, LEAST_POWER, MOST_POWER - 2)));
        way asked = {.algorithm = ms_random_range(random, 0, 2) > 0
                                      ? MS_ALGORITHM_AUTO
                                      : (ms_coll_algorithm)ms_random_range(
                                            random, MS_ALGORITHM_RING, MS_ALGORITHM_COLLNET_CHAIN)};
        way taken = {0}, taken_twice = {0};
        draw_group(platform, random, &g);
        double time_s = plan_s(&g, asked, size_B, &taken);
        double twice_s = plan_s(&g, asked, 2.0 * size_B, &taken_twice);
        if (isfinite(time_s) && is_same_way(taken, taken_twice)) {
            cr_expect_leq(twice_s, 2.0 * time_s * (1.0 + 1e-12),
                          "%s: %s/%s of %s among %d, %d apart, %g B: %g s, twice as many %g s",
                          platform->name, ms_coll_algorithm_name(taken.algorithm),
                          ms_protocol_name(taken.protocol), ms_coll_kind_name(g.kind), g.members,
                          g.stride, size_B, time_s, twice_s);
        }
    }
}

static void expect_doubling_of(ms_platform *platform, ms_buffer *unused) {
    const char *text = getenv("MS_SEED");
    ms_random random = {.state = text == NULL ? 1 : strtoull(text, NULL, 10)};
    (void)unused;
    expect_doubling(platform, &random);
}

/* MS_SEED replays one seed. */
Test(choices, twice_the_bytes_take_at_most_twice_as_long_the_same_way) {
    visit_platforms(expect_doubling_of, NULL);
}
