/* Measured runs for tests: files of one case, in words that a test changes. */
#ifndef MS_CASES_FIXTURE_H
#define MS_CASES_FIXTURE_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "meshsim/cases.h"

typedef struct cases_fixture {
    ms_arena arena;
    ms_diag diag;
    ms_buffer messages;
    ms_measurements found;
    ms_case_rules *rules;
} cases_fixture;

static inline void cases_keep(void *context, const char *text) {
    ms_buffer_puts(context, text);
}

static inline void cases_start(cases_fixture *f) {
    ms_arena_init(&f->arena);
    ms_buffer_init(&f->messages);
    ms_diag_init(&f->diag, cases_keep, &f->messages);
    ms_measurements_init(&f->found);
    f->rules = ms_case_rules_new(MS_SOURCE_DIR, &f->arena, &f->diag);
    cr_assert_not_null(f->rules);
}

static inline void cases_end(cases_fixture *f) {
    ms_measurements_release(&f->found);
    ms_buffer_release(&f->messages);
    ms_arena_release(&f->arena);
}

static inline ms_status cases_parse(cases_fixture *f, const char *name, const char *data) {
    const ms_text text = {name, data, strlen(data)};
    return ms_measurements_parse(&text, &f->arena, &f->diag, &f->found);
}

/* A case in the words of its file; what is NULL is as in GPT-3 175B's. */
typedef struct case_words {
    const char *id, *group, *system, *model, *parallel, *kind, *recompute, *batch, *more;
    int gpus;
} case_words;

static const char CASES_GPT[] =
    "type: gpt, layers: 96, hidden: 12288, heads: 96, ffn: 49152, ffn_mats: 2, "
    "vocab: 51200, seq_len: 2048";

static inline const char *cases_or_else(const char *given, const char *fallback) {
    return given == NULL ? fallback : given;
}

/* The one case of a file with these words. */
static inline const ms_case *cases_read(cases_fixture *f, const case_words *w) {
    ms_buffer text;
    ms_buffer_init(&text);
    ms_buffer_printf(
        &text,
        "- {id: %s, group: %s, num_gpus: %d, system: {%s}, model: {%s}, parallel: {%s}, "
        "schedule_kind: %s, recompute_kind: %s, %s, score_step_time_s: 2.5%s}\n",
        cases_or_else(w->id, "one"), cases_or_else(w->group, "narayanan21"),
        w->gpus == 0 ? 1024 : w->gpus,
        cases_or_else(w->system, "gpu: A100-SXM4-80GB, network: 'HDR, Selene'"),
        cases_or_else(w->model, CASES_GPT),
        cases_or_else(w->parallel, "tp: 8, pp: 16, dp: 8, vpp: 1, sp: false, zero: 0"),
        cases_or_else(w->kind, "1f1b"), cases_or_else(w->recompute, "full"),
        cases_or_else(w->batch, "micro_batch: 1, global_batch: 1536"), cases_or_else(w->more, ""));
    ms_status status = cases_parse(f, "cases.yaml", ms_buffer_text(&text));
    cr_assert_eq(status, MS_OK, "%s\n%s", ms_buffer_text(&text), ms_buffer_text(&f->messages));
    ms_buffer_release(&text);
    return &MS_AT(&f->found.cases, ms_case, f->found.cases.count - 1);
}

/* The job of such a case, or the reason why there is none. */
static inline ms_case_job cases_job(cases_fixture *f, const case_words *w) {
    ms_case_job job;
    cr_assert_eq(ms_case_translate(f->rules, cases_read(f, w), &job), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    return job;
}

/* A model of experts, for `model` of a case. */
static const char CASES_EXPERTS[] =
    "type: moe_mla, layers: 16, hidden: 7168, heads: 128, ffn: 18432, ffn_mats: 3, vocab: 129280, "
    "seq_len: 4096, experts: 256, topk: 8, moe_ffn: 2048, shared_experts: 1, dense_layers: 1, "
    "q_lora: 1536, kv_lora: 512, qk_nope: 128, qk_rope: 64, v_dim: 128, mtp_layers: 1";

/* Check that a job can be laid out as its rules made it. */
static inline ms_job_layout cases_lay_out(cases_fixture *f, const ms_case_job *job) {
    ms_job_layout layout;
    cr_assert_null(job->reason, "%s", job->reason);
    cr_assert_eq(ms_job_lay_out(&job->spec, &f->arena, &f->diag, &layout), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    return layout;
}

#endif
