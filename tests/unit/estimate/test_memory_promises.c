/* Every saving that is offered is the one that the changed job has, for jobs of many kinds. */
#include <math.h>
#include <stdio.h>

#include "meshsim/estimate.h"
#include "meshsim/memory_options.h"
#include "spec_fixture.h"

enum { SETS_MAX = 12, TEXT_MAX = 96 };

static double peak_of(spec_fixture *f, const spec_laid_out *s) {
    double peak_B = 0.0;
    cr_assert_eq(ms_estimate_peak_B(&s->job.program, &s->costs, &f->arena, &peak_B), MS_OK);
    return peak_B;
}

/* The settings that an option says, one by one: "data_parallel.zero=2, reduce=every" are two keys
 * of one mapping, and "half the dp" stands for the mesh's other axis.  Returns how many. */
static size_t settings_of(const ms_memory_option *option, int dp, char texts[2][TEXT_MAX]) {
    const char *comma = strstr(option->setting, ", ");
    bool is_list = strchr(option->setting, '[') != NULL;
    if (comma == NULL || is_list) {
        snprintf(texts[0], TEXT_MAX, "%s", option->setting);
        return 1;
    }
    int first = (int)(comma - option->setting);
    snprintf(texts[0], TEXT_MAX, "%.*s", first, option->setting);
    if (strstr(comma, "half the dp") != NULL) {
        snprintf(texts[1], TEXT_MAX, "mesh.dp=%d", dp / 2);
    } else {
        int group = (int)(strchr(option->setting, '.') - option->setting);
        snprintf(texts[1], TEXT_MAX, "%.*s.%s", group, option->setting, comma + 2);
    }
    return 2;
}

typedef struct promise_case {
    const char *sets[8];
    int dp;
} promise_case;

static const promise_case CASES[] = {
    {{"mesh={dp: 4, cp: 1, pp: 2, order: [pp, dp, cp]}"}, 4},
    {{"mesh={dp: 4, cp: 1, pp: 2, order: [pp, dp, cp]}", "data_parallel.zero=1"}, 4},
    {{"mesh={dp: 4, cp: 1, pp: 2, order: [pp, dp, cp]}", "batch={micro: 2, global: 32}",
      "data_parallel={zero: 2, reduce: last}"},
     4},
    {{"mesh={dp: 4, cp: 1, tp: 2, order: [dp, cp, tp]}", "batch={micro: 2, global: 32}",
      "recompute=selective"},
     4},
    {{"mesh={dp: 2, cp: 1, pp: 2, tp: 2, order: [pp, dp, cp, tp]}",
      "data_parallel={zero: 3, reduce: last}", "schedule={kind: interleaved, v: 2}"},
     2},
    {{"mesh={dp: 2, cp: 2, tp: 2, order: [dp, cp, tp]}", "tensor_parallel.sequence=true",
      "recompute=selective", "recompute_parts=[norms]"},
     2},
};

Test(memory_promises, all_are_kept) {
    int checked = 0;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const char *sets[SETS_MAX] = {NULL};
        size_t count = 0;
        spec_fixture f;
        ms_memory_option options[MS_MEMORY_OPTIONS_MAX];
        int found = 0;
        spec_fixture_init(&f);
        for (; CASES[i].sets[count] != NULL; count++) {
            sets[count] = CASES[i].sets[count];
        }
        const spec_laid_out s =
            spec_fixture_lay_out(&f, spec_fixture_read(&f, "tiny", sets, count));
        const ms_memory_options_input input = {.platform = s.spec.platform.cluster,
                                               .model = &s.spec.model,
                                               .layout = &s.job.layout,
                                               .precision = &s.job.precision,
                                               .program = &s.job.program,
                                               .costs = &s.costs};
        cr_assert_eq(ms_memory_options_find(&input, &f.arena, options, &found), MS_OK);
        cr_assert_gt(found, 1, "case %zu", i);
        double today_B = peak_of(&f, &s);
        bool offers_parts = false; /* which save something in all of them */
        for (int k = 0; k < found; k++) {
            char texts[2][TEXT_MAX];
            offers_parts = offers_parts || strstr(options[k].setting, "recompute_parts=") != NULL;
            size_t more = settings_of(&options[k], CASES[i].dp, texts);
            sets[count] = texts[0];
            sets[count + 1] = texts[1];
            if (strstr(options[k].setting, "sequence=true") != NULL) {
                sets[count + more++] = "pipeline.scatter_gather=false";
            }
            const spec_laid_out changed =
                spec_fixture_lay_out(&f, spec_fixture_read(&f, "tiny", sets, count + more));
            double peak_B = peak_of(&f, &changed);
            cr_assert_float_eq(options[k].peak_B, peak_B, 1e-12 * peak_B,
                               "case %zu, %s: %g, really %g", i, options[k].setting,
                               options[k].peak_B, peak_B);
            cr_assert_float_eq(options[k].saved_B, today_B - peak_B, 1e-9 * today_B);
            checked++;
        }
        cr_assert(offers_parts, "case %zu", i);
        spec_fixture_release(&f);
    }
    cr_assert_gt(checked, 20, "%d", checked);
}
