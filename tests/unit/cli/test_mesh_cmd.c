/* meshsim mesh */
#include <criterion/criterion.h>
#include <stdio.h>

#include "ms_run.h"

#define DGX MS_SOURCE_DIR "/platforms/dgx-a100.yaml"

/* Standard output without spaces and line feeds. */
static void squeeze(const char *text, ms_buffer *out) {
    ms_buffer_init(out);
    for (; *text != '\0'; text++) {
        if (*text != ' ' && *text != '\n') {
            ms_buffer_add(out, text, 1);
        }
    }
}

typedef struct json_case {
    const char *arguments[16];
    const char *words[4]; /* each stands in the squeezed JSON */
} json_case;

/* Source: the groups PyTorch's DeviceMesh (dp, pp, tp) and Megatron-LM (pp, dp, tp) form. */
static const json_case GOLDEN[] = {
    {{"--shape", "dp=2,pp=2,tp=2", "--order", "dp,pp,tp"},
     {"\"tp\":[[0,1],[2,3],[4,5],[6,7]]", "\"pp\":[[0,2],[1,3],[4,6],[5,7]]",
      "\"dp\":[[0,4],[1,5],[2,6],[3,7]]", "\"axes\":[\"dp\",\"pp\",\"tp\"]"}},
    {{"--shape", "dp=2,pp=2,tp=2", "--order", "pp,dp,tp"},
     {"\"tp\":[[0,1],[2,3],[4,5],[6,7]]", "\"dp\":[[0,2],[1,3],[4,6],[5,7]]",
      "\"pp\":[[0,4],[1,5],[2,6],[3,7]]", "\"order\":[\"pp\",\"dp\",\"tp\"]"}},
    {{"--shape", "dp=2,pp=2,tp=2"}, {"\"order\":[\"pp\",\"dp\",\"tp\"]"}},
    {{"--shape", "dp=8,pp=4,tp=8", "--order", "dp,pp,tp", "--groups", "dp"},
     {"\"ranks\":256", "\"groups\":{\"dp\":[[0,32,64,96,128,160,192,224],[1,33,"}},
    {{"--shape", "dp=8,pp=4,tp=8", "--order", "dp,pp,tp", "--groups", "pp"},
     {"\"groups\":{\"pp\":[[0,8,16,24],[1,9,17,25],"}},
    {{"--shape", "dp=2,tp=4,pp=8", "--order", "dp,pp,tp"},
     {"\"tp\":[[0,1,2,3],", "\"pp\":[[0,4,8,12,16,20,24,28],", "\"ranks\":64"}},
    {{"--shape", "dp=2,tp=4,pp=8", "--order", "dp,tp,pp"},
     {"\"tp\":[[0,8,16,24],", "\"pp\":[[0,1,2,3,4,5,6,7],",
      "\"sizes\":{\"dp\":2,\"tp\":4,\"pp\":8}"}},
    {{"--shape", "dp=2,pp=2,tp=8", "--platform", DGX},
     {"\"tiers\":{\"pp\":\"rail\",\"dp\":\"rail\",\"tp\":\"nvlink\"}"}},
    {{"--shape", "dp=2,pp=2,tp=8", "--platform", DGX, "--order", "tp,dp,pp"},
     {"\"tiers\":{\"tp\":\"rail\",\"dp\":\"nvlink\",\"pp\":\"nvlink\"}"}},
    {{"--shape", "dp=40,tp=8", "--platform", DGX, "--set", "platform.nodes=40"},
     {"\"tiers\":{\"dp\":\"spine\",\"tp\":\"nvlink\"}"}},
    {{"--shape", "dp=1,tp=8"}, {"\"tiers\":{\"dp\":null,\"tp\":null}", "\"devices\":null"}},
    {{"--shape", "dp=4,pp=4,tp=8", "--order", "dp,pp,tp", "--sub", "dp=2"},
     {"\"sizes\":{\"pp\":4,\"tp\":8},\"ranks\":32,\"devices\":[64,65,66,", ",93,94,95],",
      "\"pp\":[[64,72,80,88],"}},
    {{"--shape", "dp=4,tp=8", "--order", "dp,tp", "--reshape", "dp=2,pp=4,tp=4"},
     {"\"sizes\":{\"dp\":2,\"pp\":4,\"tp\":4}", "\"devices\":null",
      "\"pp\":[[0,4,8,12],[1,5,9,13],"}},
    {{"--shape", "dp=2,tp=4", "--order", "dp,tp", "--transpose", "tp,dp"},
     {"\"axes\":[\"tp\",\"dp\"]", "\"tp\":[[0,1,2,3],[4,5,6,7]]",
      "\"dp\":[[0,4],[1,5],[2,6],[3,7]]", "\"devices\":[0,4,1,5,2,6,3,7]"}},
    {{"--shape", "dp=2,pp=2,cp=2", "--order", "dp,pp,cp", "--flatten", "dp,cp"},
     {"\"dp_cp\":[[0,1,4,5],[2,3,6,7]]", "\"pp\":[[0,2],[1,3],[4,6],[5,7]]"}},
    {{"--shape", "dp=2,tp=4", "--order", "dp,tp", "--devices", "0,2,4,6,8-11", "--platform", DGX},
     {"\"tp\":[[0,2,4,6],[8,9,10,11]]", "\"dp\":[[0,8],[2,9],[4,10],[6,11]]",
      "\"tiers\":{\"dp\":\"rail\",\"tp\":\"nvlink\"}"}},
    {{"--auto", "--shape", "tp=8,pp=1", "--platform", DGX, "--set", "platform.nodes=64"},
     {"\"order\":[\"dp\",\"pp\",\"tp\"]", "\"sizes\":{\"dp\":64,\"pp\":1,\"tp\":8}",
      "\"ranks\":512"}},
    {{"--auto", "--shape", "tp=16", "--platform", DGX, "--allow-slow-tp"},
     {"\"sizes\":{\"dp\":8,\"tp\":16}", "\"tiers\":{\"dp\":\"rail\",\"tp\":\"rail\"}"}},
    {{"--shape", "dp=4,tp=2", "--order", "dp,tp", "--tensor", "1024,4096", "--spec", "tp=shard1"},
     {"\"spec\":{\"dp\":\"replicate\",\"tp\":\"shard1\"},\"local_shape\":[1024,2048],"
      "\"local_B\":4194304"}},
};

/* One step of a redistribution on the flat platform (25 GB/s, 1 us): kind, bytes, time. A group of
 * 4 of 2 MiB: an all-gather sends 3/4 of the whole in 3 steps of 1 us, an all-to-all 3/4 of a
 * quarter at once, an all-reduce twice the all-gather. */
typedef struct move_case {
    const char *from, *to;
    const char *kind;
    double bytes, time_s;
} move_case;

static const move_case MOVES[] = {
    {"dp=shard0", "dp=replicate", "all_gather", 1572864, 3e-6 + 1572864 / 25e9},
    {"dp=replicate", "dp=shard0", "local", 0, 0},
    {"dp=shard0", "dp=shard1", "all_to_all", 393216, 1e-6 + 393216 / 25e9},
    {"dp=partial", "dp=replicate", "all_reduce", 3145728, 6e-6 + 3145728 / 25e9},
    {"dp=partial", "dp=shard1", "reduce_scatter", 1572864, 3e-6 + 1572864 / 25e9},
};

static double number_after(const char *text, const char *key) {
    const char *at = strstr(text, key);
    cr_assert_not_null(at, "no %s in %s", key, text);
    return strtod(at + strlen(key), NULL);
}

Test(mesh_cmd, redistribution_with_bytes_and_time) {
    for (size_t i = 0; i < sizeof MOVES / sizeof MOVES[0]; i++) {
        ms_run_result result = MS_RUN("mesh", "--json", "--shape", "dp=4", "--tensor", "1024,1024",
                                      "--spec", MOVES[i].from, "--redistribute", MOVES[i].to,
                                      "--platform", MS_SOURCE_DIR "/platforms/flat.yaml");
        cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
        ms_buffer squeezed;
        squeeze(ms_run_out(&result), &squeezed);
        const char *move = strstr(ms_buffer_text(&squeezed), "\"redistribute\"");
        char kind[64];
        cr_assert_not_null(move);
        snprintf(kind, sizeof kind, "\"kind\":\"%s\"", MOVES[i].kind);
        cr_assert_not_null(strstr(move, kind), "case %zu: %s", i, move);
        cr_assert_eq(number_after(move, "\"bytes_per_rank\":"), MOVES[i].bytes, "case %zu", i);
        cr_assert_float_eq(number_after(move, "\"time_s\":"), MOVES[i].time_s, 1e-15, "case %zu",
                           i);
        cr_assert_float_eq(number_after(move, "\"time_alone_s\":"), MOVES[i].time_s, 1e-15);
        ms_buffer_release(&squeezed);
        ms_run_release(&result);
    }
}

/* Groups that share a NIC get their part of it: on a node of 8 GPUs and one NIC, eight dp groups
 * over two nodes take eight times as long as one. */
Test(mesh_cmd, groups_share_the_links_they_meet_on) {
    ms_run_result result = MS_RUN(
        "mesh", "--json", "--shape", "dp=2,tp=8", "--tensor", "1024,1024", "--spec", "dp=shard0",
        "--redistribute", "dp=replicate", "--platform", DGX, "--set", "platform.node.nics=1",
        "--set", "platform.tiers.rail.latency=0 s", "--set", "platform.library=none");
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    ms_buffer squeezed;
    squeeze(ms_run_out(&result), &squeezed);
    const char *text = ms_buffer_text(&squeezed);
    double alone_s = 1048576 / (25e9 * 0.92);
    cr_assert_float_eq(number_after(text, "\"time_alone_s\":"), alone_s, 1e-12);
    cr_assert_float_eq(number_after(text, "\"time_s\":"), 8 * alone_s, 1e-12);
    ms_buffer_release(&squeezed);
    ms_run_release(&result);
}

Test(mesh_cmd, golden) {
    for (size_t i = 0; i < sizeof GOLDEN / sizeof GOLDEN[0]; i++) {
        const char *words[20] = {"mesh", "--json"};
        memcpy(words + 2, GOLDEN[i].arguments, sizeof GOLDEN[i].arguments);
        ms_run_result result = ms_run_with(&(ms_run_setup){0}, words);
        cr_assert_eq(result.exit_code, 0, "case %zu: %s", i, ms_run_err(&result));
        ms_buffer squeezed;
        squeeze(ms_run_out(&result), &squeezed);
        for (size_t w = 0; w < 4 && GOLDEN[i].words[w] != NULL; w++) {
            cr_assert_not_null(strstr(ms_buffer_text(&squeezed), GOLDEN[i].words[w]),
                               "case %zu: no '%s' in %s", i, GOLDEN[i].words[w],
                               ms_buffer_text(&squeezed));
        }
        ms_buffer_release(&squeezed);
        ms_run_release(&result);
    }
}

/* Groups of an axis in the printed JSON, counted by their opening brackets. */
static int count_groups(const char *axis) {
    ms_run_result result = MS_RUN("mesh", "--json", "--shape", "dp=8,pp=4,tp=8", "--order",
                                  "dp,pp,tp", "--groups", axis);
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    ms_buffer squeezed;
    squeeze(ms_run_out(&result), &squeezed);
    const char *at = strstr(ms_buffer_text(&squeezed), "\"groups\":{");
    const char *end = strstr(at, "]]");
    int count = -1; /* the bracket around the list */
    for (; at < end; at++) {
        count += *at == '[';
    }
    ms_buffer_release(&squeezed);
    ms_run_release(&result);
    return count;
}

Test(mesh_cmd, counts_of_8x4x8) {
    cr_assert_eq(count_groups("dp"), 32);
    cr_assert_eq(count_groups("pp"), 64);
    cr_assert_eq(count_groups("tp"), 32);
}

Test(mesh_cmd, people_get_80_columns_and_counts) {
    ms_run_result result = MS_RUN("mesh", "--shape", "dp=1024,pp=64,tp=16");
    cr_assert_eq(result.exit_code, 0);
    cr_assert_not_null(strstr(ms_run_out(&result), "\nranks                  1048576\n"));
    cr_assert_not_null(strstr(ms_run_out(&result), "\ndp    1024"));
    cr_assert_not_null(strstr(ms_run_out(&result), "and 65528 more"));
    int column = 0;
    for (const char *at = ms_run_out(&result); *at != '\0'; at++) {
        column = *at == '\n' ? 0 : column + 1;
        cr_assert_leq(column, 80);
    }
    ms_run_release(&result);
}

typedef struct fault_case {
    const char *arguments[10];
    int exit_code;
    const char *words;
} fault_case;

static const fault_case FAULTS[] = {
    {{NULL}, 2, "--shape is required"},
    {{"--shape", "dp"}, 2, "expected AXIS=SIZE, got 'dp'"},
    {{"--shape", "dp=2,"}, 2, "expected AXIS=SIZE, got ''"},
    {{"--shape", "=2"}, 2, "expected AXIS=SIZE, got '=2'"},
    {{"--shape", "dp=0"}, 2, "axis 'dp' needs a size of at least 1, got '0'"},
    {{"--shape", "dp=-3"}, 2, "got '-3'"},
    {{"--shape", "dp=2x"}, 2, "got '2x'"},
    {{"--shape", "dp=99999999999999999999"}, 2, "got '99999999999999999999'"},
    {{"--shape", "dp=2,dp=3"}, 2, "'dp' stands twice"},
    {{"--shape", "a=1,b=1,c=1,d=1,e=1,f=1,g=1,h=1,i=1"}, 2, "more than 8 axes"},
    {{"--shape", "ep=2"}, 2, "'ep' does not stand in the order"},
    {{"--shape", "dp=2", "--order", "dp,tp"}, 2, "'tp' has no size"},
    {{"--shape", "dp=2,tp=2", "--order", "dp"}, 2, "'tp' does not stand in the order"},
    {{"--shape", "dp=2", "--order", "dp,dp"}, 2, "'dp' stands twice"},
    {{"--shape", "dp=2", "--order", "dp,"}, 2, "expected the name of an axis"},
    {{"--shape", "dp=8192,tp=8192"}, 2, "more than 16777216 ranks"},
    {{"--shape", "dp=2", "--groups", "db"}, 2, "no axis 'db'; did you mean 'dp'?"},
    {{"--shape", "dp=2", "--set", "platform.nodes=2"}, 2, "there is no --platform"},
    {{"--shape", "dp=129", "--platform", DGX},
     3,
     "the mesh has 129 ranks, platform 'dgx-a100' has 128 GPUs"},
    {{"--shape", "dp=2", "--devices", "0,0"}, 3, "device 0 stands twice, for ranks 0 and 1"},
    {{"--shape", "dp=2", "--devices", "0-2"}, 3, "the mesh has 2 ranks, the list has 3 devices"},
    {{"--shape", "dp=2", "--devices", "0,x"}, 2, "expected GPU numbers and ranges"},
    {{"--shape", "dp=2", "--devices", "3-1"}, 2, "expected GPU numbers and ranges"},
    {{"--shape", "dp=2", "--devices", "0,"}, 2, "expected GPU numbers and ranges"},
    {{"--shape", "dp=2", "--devices", "0,99999999999999999999"}, 2, "expected GPU numbers"},
    {{"--shape", "dp=2", "--devices", "0,128", "--platform", DGX},
     3,
     "the mesh uses GPU 128, platform 'dgx-a100' has 0 to 127"},
    {{"--shape", "dp=2,tp=2", "--reshape", "dp=3"}, 3, "4 ranks cannot become one of 3"},
    {{"--shape", "dp=2,tp=2", "--reshape", "dp"}, 2, "--reshape: expected AXIS=SIZE, got 'dp'"},
    {{"--shape", "dp=2,tp=2", "--transpose", "tp"}, 3, "leaves out axis 'dp'"},
    {{"--shape", "dp=2,tp=2", "--sub", "dp=2"}, 3, "only 0 to 1"},
    {{"--shape", "dp=2,tp=2", "--sub", "dp=x"}, 2, "needs a coordinate of at least 0"},
    {{"--shape", "dp=2,tp=2", "--flatten", "dp"}, 3, "takes 2 to 2 axes"},
    {{"--auto"}, 2, "name it with --platform"},
    {{"--auto", "--shape", "tp=16", "--platform", DGX}, 3, "tp=16 is more than the 8 GPUs"},
    {{"--shape", "dp=2", "--allow-slow-tp"}, 2, "goes with --auto only"},
    {{"--shape", "dp=2", "--spec", "dp=shard0"}, 2, "--spec needs --tensor"},
    {{"--shape", "dp=4,tp=2", "--tensor", "1024,4097", "--spec", "tp=shard1"},
     3,
     "dimension 1 of size 4097 does not divide by axis 'tp' of size 2"},
    {{"--shape", "dp=2", "--tensor", "4,0"}, 2, "sizes of at least 1, such as 1024,4096, got '0'"},
    {{"--shape", "dp=2", "--tensor", "4", "--spec", "pp=shard0"}, 2, "no axis 'pp'"},
    {{"--shape", "dp=2", "--tensor", "4", "--spec", "dp=split0"}, 2, "got 'split0'"},
    {{"--shape", "dp=2", "--tensor", "4", "--element-size", "2"}, 2, "expected bytes above 0"},
};

Test(mesh_cmd, faults) {
    for (size_t i = 0; i < sizeof FAULTS / sizeof FAULTS[0]; i++) {
        const char *words[12] = {"mesh"};
        memcpy(words + 1, FAULTS[i].arguments, sizeof FAULTS[i].arguments);
        ms_run_result result = ms_run_with(&(ms_run_setup){0}, words);
        cr_assert_eq(result.exit_code, FAULTS[i].exit_code, "case %zu: %d: %s", i, result.exit_code,
                     ms_run_err(&result));
        cr_assert_not_null(strstr(ms_run_err(&result), FAULTS[i].words), "case %zu: %s", i,
                           ms_run_err(&result));
        cr_assert_eq(result.out.length, 0U, "case %zu", i);
        ms_run_release(&result);
    }
}

/* Time of a tp all-reduce on 8 nodes of 8 GPUs, 50 GB/s between them, nothing but bandwidth. */
static double tp_time_s(const char *order, const char *nvlink) {
    ms_run_result result =
        MS_RUN("mesh", "--json", "--shape", "pp=8,tp=8", "--order", order, "--tensor", "4096,8192",
               "--spec", "tp=partial", "--redistribute", "tp=replicate", "--platform",
               MS_SOURCE_DIR "/platforms/dgx-h100.yaml", "--set", "platform.nodes=8", "--set",
               nvlink, "--set", "platform.tiers.nvlink.efficiency=1", "--set",
               "platform.tiers.nvlink.latency=0 s", "--set", "platform.tiers.rail.efficiency=1",
               "--set", "platform.tiers.rail.latency=0 s", "--set", "platform.library=none");
    cr_assert_eq(result.exit_code, 0, "%s", ms_run_err(&result));
    ms_buffer squeezed;
    squeeze(ms_run_out(&result), &squeezed);
    double time_s = number_after(ms_buffer_text(&squeezed), "\"time_s\":");
    ms_buffer_release(&squeezed);
    ms_run_release(&result);
    return time_s;
}

/* tp across nodes instead of inside them slows its collectives by the ratio of bandwidths. */
Test(mesh_cmd, order_decides_what_tp_costs) {
    static const char SLIDES[] = "platform.tiers.nvlink.bandwidth=900 GB/s";
    static const char H100[] = "platform.tiers.nvlink.bandwidth=450 GB/s";
    cr_assert_float_eq(tp_time_s("tp,pp", SLIDES) / tp_time_s("pp,tp", SLIDES), 18, 1e-9);
    cr_assert_float_eq(tp_time_s("tp,pp", H100) / tp_time_s("pp,tp", H100), 9, 1e-9);
    double payload_B = 4096.0 * 8192 * 2;
    cr_assert_float_eq(tp_time_s("pp,tp", SLIDES), 2 * 7.0 / 8 * payload_B / 900e9, 1e-12);
}
