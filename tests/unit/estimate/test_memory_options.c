/* Memory options: a saving that is promised is one that the changed job has; and the smallest
 * change with which a job fits. */
#include <math.h>

#include "estimate/estimate.h"
#include "estimate/memory_options.h"
#include "spec_fixture.h"

/* Whether a list of overrides is "A, B". */
static bool is_list(const ms_words *sets, const char *text) {
    char joined[512] = "";
    for (size_t i = 0; i < sets->count; i++) {
        strcat(joined, i == 0 ? "" : ", ");
        strcat(joined, sets->items[i]);
    }
    return strcmp(joined, text) == 0;
}

static const ms_memory_option *find(const ms_memory_option *options, int count,
                                    const char *setting) {
    for (int i = 0; i < count; i++) {
        if (is_list(&options[i].sets, setting)) {
            return &options[i];
        }
    }
    return NULL;
}

static size_t count_of(const char *const *sets) {
    size_t count = 0;
    while (sets[count] != NULL) {
        count++;
    }
    return count;
}

static double peak_of(const char *const *sets) {
    spec_fixture f;
    double peak_B = 0.0;
    spec_fixture_init(&f);
    const ms_job job =
        spec_fixture_lay_out(&f, spec_fixture_read(&f, "gpt3-175b-1024", sets, count_of(sets)));
    ms_memory_model memory;
    ms_memory_moments moments;
    cr_assert_eq(ms_memory_model_init(&job.program, &job.costs, &f.arena, &memory), MS_OK);
    cr_assert_eq(ms_memory_moments_find(&memory, &f.arena, &moments), MS_OK);
    peak_B = ms_memory_highest_B(&memory, &moments);
    spec_fixture_release(&f);
    return peak_B;
}

/* The options of a spec.  options_out: [MS_MEMORY_OPTIONS_MAX].  Returns their number. */
static int list(spec_fixture *f, ms_job_spec spec, ms_memory_option *options_out) {
    int count = -1;
    cr_assert_eq(ms_memory_options_find(&spec, &f->arena, &f->diag, options_out, &count), MS_OK,
                 "%s", ms_buffer_text(&f->messages));
    return count;
}

/* Each promise against the workload with that very setting. */
Test(memory_options, promises_are_kept) {
    const char *base[] = {"recompute=none", NULL};
    spec_fixture f;
    ms_memory_option options[MS_MEMORY_OPTIONS_MAX];
    spec_fixture_init(&f);
    const int count = list(&f, spec_fixture_read(&f, "gpt3-175b-1024", base, 1), options);
    const struct {
        const char *setting;
        const char *sets[4];
    } CASES[] = {
        {"recompute=full", {"recompute=full", NULL}},
        {"recompute=selective", {"recompute=none", "recompute=selective", NULL}},
        {"data_parallel.zero=1", {"recompute=none", "data_parallel.zero=1", NULL}},
        {"tensor_parallel.sequence=true, pipeline.scatter_gather=false",
         {"recompute=none", "tensor_parallel.sequence=true", "pipeline.scatter_gather=false",
          NULL}},
    };
    double today_B = peak_of(base);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        const ms_memory_option *option = find(options, count, CASES[i].setting);
        cr_assert_not_null(option, "%s", CASES[i].setting);
        double peak_B = peak_of(CASES[i].sets);
        cr_assert_lt(fabs(option->peak_B / peak_B - 1), 1e-12, "%s: %g, really %g",
                     CASES[i].setting, option->peak_B, peak_B);
        cr_assert_lt(fabs(option->saved_B - (today_B - peak_B)), 1.0);
    }
    for (int i = 1; i < count; i++) {
        cr_assert_geq(options[i - 1].saved_B, options[i].saved_B, "largest saving first");
    }
    spec_fixture_release(&f);
}

/* What is on already is not offered, and a job with given costs has no options. */
Test(memory_options, nothing_to_offer) {
    spec_fixture f;
    ms_memory_option options[MS_MEMORY_OPTIONS_MAX];
    spec_fixture_init(&f);
    int count = list(&f, spec_fixture_read(&f, "gpt3-175b-1024", NULL, 0), options);
    cr_assert_null(find(options, count, "recompute=full"));
    count = list(&f,
                 spec_fixture_read_text(&f, "platform: {file: ideal, nodes: 2}\n"
                                            "mesh: {pp: 2, order: [pp]}\n"
                                            "costs: {forward: 1 ms, input_gradient: 1 ms}\n"
                                            "batch: {microbatches: 2}\n"),
                 options);
    cr_assert_eq(count, 0);
    spec_fixture_release(&f);
}

/* With ep 16 an expert rank holds 4 of 64 experts of 3 x 4,096 x 4,096 parameters in 12 layers:
 * 2.4 billion, 4.8 with ep 8, both of which fit 18 bytes each, and 9.7 with ep 4, which does not.
 * Of the two that take one override ep 16 is faster: its experts have no replicas among which
 * gradients are reduced. */
Test(memory_options, experts_on_a_mesh_of_their_own_are_spread_further) {
    spec_fixture f;
    ms_fitting_change change;
    spec_fixture_init(&f);
    const ms_job_spec spec =
        spec_fixture_read_text(&f, "platform: {file: dgx-h100, nodes: 2}\n"
                                   "model: {type: llama, layers: 12, hidden: 4096, heads: 32,\n"
                                   "  vocab: 32000, sequence: 1024,\n"
                                   "  moe: {experts: 64, top_k: 2, ffn: 4096}}\n"
                                   "mesh: {dp: 16}\n"
                                   "expert_mesh: {ep: 2}\n"
                                   "data_parallel: {zero: 1}\n"
                                   "batch: {global: 64}\n");
    cr_assert_eq(ms_fitting_change_find(&spec, &f.arena, &f.diag, &change), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    cr_assert(change.fits);
    cr_assert(is_list(&change.sets, "expert_mesh.ep=16"), "%s", change.sets.items[0]);
    spec_fixture_release(&f);
}
