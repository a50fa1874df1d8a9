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
    const char *arguments[12];
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
    {{"--shape", "dp=1,tp=8"}, {"\"tiers\":{\"dp\":null,\"tp\":null}"}},
};

Test(mesh_cmd, golden) {
    for (size_t i = 0; i < sizeof GOLDEN / sizeof GOLDEN[0]; i++) {
        const char *words[16] = {"mesh", "--json"};
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
    cr_assert_not_null(strstr(ms_run_out(&result), "1048576 ranks"));
    cr_assert_not_null(strstr(ms_run_out(&result), "dp: 1024 groups of 1024"));
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
