/* Memory as the simulation reports it, against published figures. */
#include <criterion/criterion.h>
#include <math.h>

#include "job_fixture.h"

static const double GIB = 1073741824.0;

static double apart(double a, double b) {
    return fabs(a - b) / fmax(fabs(b), 1e-300);
}

/* Run a text and give the memory of pipeline rank 0. */
static ms_rank_memory first_rank(const char *text) {
    job_fixture f;
    ms_status status = job_fixture_load_text(&f, text);
    cr_assert_eq(status, MS_OK, "%s", ms_buffer_text(&f.messages));
    status = ms_job_run(&f.job, &f.arena, &f.diag, &f.result);
    cr_assert_eq(status, MS_OK, "%s", ms_buffer_text(&f.messages));
    ms_rank_memory memory = f.result.memory[0];
    job_fixture_release(&f);
    return memory;
}

/* Korthikanti et al. 2022, arXiv:2205.05198, figure 1 and table 3: transformer layers alone. */
typedef struct published_model {
    const char *name;
    int layers, hidden, heads, pp, chunks, micro;
    double states_GiB, none_GiB, both_GiB; /* both: sequence parallel and selective */
} published_model;

static const published_model MODELS[] = {
    {"22B", 48, 6144, 64, 1, 1, 4, 45.5625, 59.25, 9.5625},
    {"175B", 96, 12288, 96, 8, 3, 1, 45.5625, 66.84375, 12.3515625},
    {"530B", 105, 20480, 128, 35, 3, 1, 31.640625, 114.0234375, 23.076171875},
    {"1T", 128, 25600, 160, 64, 1, 1, 32.958984375, 131.25, 26.5625},
};

static ms_rank_memory run_model(const published_model *m, bool is_sequence, const char *recompute) {
    char text[2048];
    snprintf(text, sizeof text,
             "platform: {file: dgx-a100, nodes: %d}\n"
             "model: {type: gpt, layers: %d, hidden: %d, heads: %d, vocab: 0, sequence: 2048,\n"
             "  attention: unfused, bias: false, norm: plain, dropout: 0.1}\n"
             "mesh: {tp: 8, pp: %d}\n"
             "schedule: {kind: %s, v: %d}\n"
             "batch: {microbatches: %d, micro: %d}\n"
             "precision: {gradients: fp32, optimizer: 12 B}\n"
             "tensor_parallel: {sequence: %s}\n"
             "recompute: %s\n"
             "fidelity: analytic\n",
             m->pp, m->layers, m->hidden, m->heads, m->pp, m->chunks > 1 ? "interleaved" : "1f1b",
             m->chunks, m->pp * (m->chunks > 1 ? 2 : 1), m->micro, is_sequence ? "true" : "false",
             recompute);
    return first_rank(text);
}

Test(memory_figures, published_models_hold_what_the_paper_says) {
    for (size_t i = 0; i < sizeof MODELS / sizeof MODELS[0]; i++) {
        const published_model *m = &MODELS[i];
        ms_rank_memory none = run_model(m, false, "none");
        ms_rank_memory both = run_model(m, true, "selective");
        cr_assert_lt(apart(none.held.transformer_B, m->states_GiB * GIB), 1e-14, "%s: %.17g",
                     m->name, none.held.transformer_B / GIB);
        cr_assert_lt(apart(none.held.activation_B, m->none_GiB * GIB), 1e-14, "%s: %.17g", m->name,
                     none.held.activation_B / GIB);
        cr_assert_lt(apart(both.held.activation_B, m->both_GiB * GIB), 1e-14, "%s: %.17g", m->name,
                     both.held.activation_B / GIB);
    }
}

/* The other terms, for the 22B model: sbh(34/t + 5as/(ht)), sbh(10 + 24/t), 2sbh. */
Test(memory_figures, each_saving_alone_follows_the_closed_form) {
    const published_model *m = &MODELS[0];
    double s = 2048, b = 4, h = m->hidden, a = m->heads, t = 8;
    const struct {
        bool is_sequence;
        const char *recompute;
        double per_layer;
    } ROWS[] = {{false, "none", 10 + 24 / t + 5 * a * s / (h * t)},
                {true, "none", 34 / t + 5 * a * s / (h * t)},
                {false, "selective", 10 + 24 / t},
                {true, "selective", 34 / t},
                {false, "full", 2},
                {true, "full", 2 / t}};
    double working[sizeof ROWS / sizeof ROWS[0]];
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        ms_rank_memory memory = run_model(m, ROWS[i].is_sequence, ROWS[i].recompute);
        double expected = m->layers * s * b * h * ROWS[i].per_layer;
        cr_assert_lt(apart(memory.held.activation_B, expected), 1e-14, "row %zu", i);
        working[i] = memory.held.buffer_B;
    }
    /* a recomputed layer's working set */
    cr_assert_lt(apart(working[4] - working[0], s * b * h * ROWS[0].per_layer), 1e-12);
    cr_assert_lt(apart(working[5] - working[1], s * b * h * ROWS[1].per_layer), 1e-12);
}

/* States by count: a round number of parameters spread over tp and stages, GB = 1e9 B. */
Test(memory_figures, round_counts_divide_as_the_textbook_says) {
    static const struct {
        double billions;
        int dp, pp, tp;
        const char *optimizer;
        int zero;
        double parameters_GB, gradients_GB, optimizer_GB;
    } ROWS[] = {
        {175, 32, 8, 4, "12 B", 0, 10.9375, 10.9375, 65.625},
        {175, 32, 8, 4, "12 B", 1, 10.9375, 10.9375, 65.625 / 32},
        {40, 4, 8, 8, "12 B", 0, 1.25, 1.25, 7.5},
        {40, 4, 8, 8, "12 B", 1, 1.25, 1.25, 1.875},
        {175, 8, 16, 8, "8 B", 0, 2.734375, 2.734375, 10.9375},
        {175, 8, 16, 8, "8 B", 1, 2.734375, 2.734375, 1.3671875},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 "platform: {file: dgx-a100, nodes: %d}\n"
                 "model: {type: gpt, layers: 96, hidden: 1024, heads: 16, vocab: 0,\n"
                 "  sequence: 1024, parameters_override: %.0f}\n"
                 "mesh: {dp: %d, pp: %d, tp: %d}\n"
                 "batch: {microbatches: 1}\n"
                 "precision: {gradients: bf16, optimizer: %s}\n"
                 "data_parallel: {zero: %d}\n"
                 "fidelity: analytic\n",
                 ROWS[i].dp * ROWS[i].pp * ROWS[i].tp / 8, ROWS[i].billions * 1e9, ROWS[i].dp,
                 ROWS[i].pp, ROWS[i].tp, ROWS[i].optimizer, ROWS[i].zero);
        ms_rank_memory memory = first_rank(text);
        cr_assert_lt(apart(memory.held.parameter_B, ROWS[i].parameters_GB * 1e9), 1e-14, "row %zu",
                     i);
        cr_assert_lt(apart(memory.held.gradient_B, ROWS[i].gradients_GB * 1e9), 1e-14, "row %zu",
                     i);
        cr_assert_lt(apart(memory.held.optimizer_B, ROWS[i].optimizer_GB * 1e9), 1e-14, "row %zu",
                     i);
    }
}
