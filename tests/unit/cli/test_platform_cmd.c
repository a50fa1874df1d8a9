/* meshsim platform */
#include <criterion/criterion.h>
#include <stdio.h>

#include "ms_run.h"

#define DGX MS_SOURCE_DIR "/platforms/dgx-a100.yaml"

typedef struct words_case {
    const char *arguments[12];
    const char *words[8]; /* each stands in the standard output, in this order */
} words_case;

static const words_case SHOWN[] = {
    {{DGX},
     {"dgx-a100", "  128\n", "312 TFLOP/s", "80 GiB\nof it reserved                3 GiB\n",
      "bisection", "300 GB/s", "200 Gbit/s", "184 Gbit/s"}},
    {{DGX, "--set", "platform.nodes=40"}, {"  320\n", "  40\n", "3.68 TB/s"}},
    {{DGX, "--set", "platform.tiers.rail.bandwidth=100GB/s"}, {"rail", "100 GB/s", "92 GB/s"}},
    {{DGX, "--route", "0", "13"},
     {"to GPU          13\n", "bottleneck      23 GB/s", "latency         17.4 us", "tier  rail",
      "nvlink:gpu0:up", "nvlink:gpu5:down", "rail:node0:nic5:up", "rail:node1:nic5:down"}},
    {{DGX, "--route", "3", "3"}, {"from GPU  3\nto GPU    3\nlatency   0 s\n"}},
    {{DGX, "--json", "--route", "0", "1"},
     {"\"gpus\": 128", "\"bisection_Bps\": ", "\"tiers\": [", "\"route\": {",
      "\"name\": \"nvlink:gpu0:up\"", "\"bottleneck_Bps\": 240900000000", "\"tier\": \"nvlink\""}},
    {{DGX, "--simgrid-xml", "-", "--set", "platform.nodes=1"},
     {"<?xml", "<zone id=\"platform\" routing=\"Dijkstra\">", "<host id=\"gpu-7\"",
      "<link id=\"nvlink:gpu0:up\" bandwidth=\"240900000000Bps\"", "</platform>"}},
    {{MS_SOURCE_DIR "/platforms/ideal.yaml", "--json"},
     {"\"platform\": \"ideal\"", "\"bisection_Bps\": null", "\"bandwidth_Bps\": null"}},
};

Test(platform_cmd, shows) {
    for (size_t i = 0; i < sizeof SHOWN / sizeof SHOWN[0]; i++) {
        const char *words[16] = {"platform"};
        memcpy(words + 1, SHOWN[i].arguments, sizeof SHOWN[i].arguments);
        ms_run_result result = ms_run_with(&(ms_run_setup){0}, words);
        cr_assert_eq(result.exit_code, 0, "case %zu: %s", i, ms_run_err(&result));
        const char *at = ms_run_out(&result);
        for (size_t w = 0; w < 8 && SHOWN[i].words[w] != NULL; w++) {
            at = strstr(at, SHOWN[i].words[w]);
            cr_assert_not_null(at, "case %zu: no '%s' in %s", i, SHOWN[i].words[w],
                               ms_run_out(&result));
        }
        cr_assert_eq(result.err.length, 0U, "%s", ms_run_err(&result));
        ms_run_release(&result);
    }
}

Test(platform_cmd, people_get_80_columns) {
    ms_run_result result =
        MS_RUN("platform", MS_SOURCE_DIR "/platforms/selene-a100.yaml", "--route", "0", "4479");
    int column = 0;
    for (const char *at = ms_run_out(&result); *at != '\0'; at++) {
        column = *at == '\n' ? 0 : column + 1;
        cr_assert_leq(column, 80);
    }
    ms_run_release(&result);
}

typedef struct fault_case {
    const char *arguments[8];
    int exit_code;
    const char *words;
} fault_case;

static const fault_case FAULTS[] = {
    {{NULL}, 2, "PLATFORM.yaml"},
    {{DGX, "--route", "0", "128"}, 2, "expected a GPU from 0 to 127, got '128'"},
    {{DGX, "--route", "-1", "0"}, 2, "expected a GPU from 0 to 127, got '-1'"},
    {{DGX, "--route", "x", "0"}, 2, "expected a GPU from 0 to 127, got 'x'"},
    {{DGX, "--route", "0"}, 2, "route"},
    {{DGX, "--json", "--dot", "-"}, 2, "both want the standard output"},
    {{DGX, "--dot", "-", "--simgrid-xml", "-"}, 2, "both want the standard output"},
    {{DGX, "--json", "--svg", "-"}, 2, "both want the standard output"},
    {{DGX, "--rout", "0", "1"}, 2, "--route"},
    {{DGX, "--set", "platform.nodez=3"}, 3, "did you mean 'nodes'?"},
    {{DGX, "--set", "platform.nodes"}, 2, "expected key.path=value"},
    {{MS_SOURCE_DIR "/platforms/selene-a100.yaml", "--simgrid-xml", "-"},
     3,
     "at most 1024 GPUs, platform 'selene-a100' has 4480"},
    {{MS_SOURCE_DIR "/platforms/none.yaml"}, 3, "none.yaml"},
    {{MS_SOURCE_DIR "/platforms"}, 3, "platforms"},
    {{DGX, "--dot", "/nowhere/at/all.dot"}, 4, "/nowhere/at/all.dot"},
};

Test(platform_cmd, faults) {
    for (size_t i = 0; i < sizeof FAULTS / sizeof FAULTS[0]; i++) {
        const char *words[12] = {"platform"};
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
