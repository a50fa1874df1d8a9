/* When gradients are reduced (data_parallel.reduce): memory, traffic and operations by hand. */
#include <math.h>

#include "estimate/memory_options.h"
#include "job_fixture.h"

/* Llama 3 70B by hand. A layer: queries and output 2 x 8192^2, keys and values 2 x 8192 x 1024, MLP
 * 3 x 8192 x 28672, norms 2 x 8192. */
static const double LAYER = 855654400, TABLE = 128256.0 * 8192, NORM = 8192;
static const double WHOLE_70B = 70553706496; /* 80 layers, embedding, head, norm */

/* 64 H100; the rest of the workload follows. */
static const char JOB_70B[] =
    "platform: {file: dgx-h100, nodes: 8}\n"
    "model: {type: llama, layers: 80, hidden: 8192, heads: 64, kv_heads: 8, ffn: 28672,\n"
    "  vocab: 128256, sequence: 4096}\n"
    "recompute: full\n"
    "fidelity: analytic\n"
    "%s";

static const ms_result *run_text(job_fixture *f, const char *head, const char *rest) {
    char text[1024];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, head, rest);
#pragma GCC diagnostic pop
    cr_assert_eq(job_fixture_load_text(f, text), MS_OK, "%s: %s", rest,
                 ms_buffer_text(&f->messages));
    cr_assert_eq(ms_job_run(&f->job, &f->arena, &f->diag, &f->result), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    return &f->result;
}

static double gap(double a, double b) {
    return a == b ? 0 : fabs(a - b) / fmax(fabs(a), fabs(b));
}

/* The case: 262.8 GiB of gradients on an 80 GB GPU, or 4.1. The last setting is the group
 * of eight that shards are kept in, with copies in the eight others. */
Test(job_reduce, one_pipeline_rank_keeps_shards) {
    const struct {
        const char *rest;
        double shares;
    } ROWS[] = {
        {"mesh: {dp: 64}\nbatch: {microbatches: 1}\ndata_parallel: {zero: 3}\n", 64},
        {"mesh: {dp: 64}\nbatch: {microbatches: 4}\ndata_parallel: {zero: 3}\n", 64},
        {"mesh: {dp: 64}\nbatch: {microbatches: 4}\ndata_parallel: {zero: 2}\n", 64},
        {"mesh: {dp: 64}\nbatch: {microbatches: 4}\ndata_parallel: {zero: 3, reduce: last}\n", 1},
        {"mesh: {dp: 64}\nbatch: {microbatches: 4}\ndata_parallel: {zero: 1}\n", 1},
        {"mesh: {dp: 64}\nbatch: {microbatches: 4}\n", 1},
        {"mesh: {dp: 8, cp: 8}\nbatch: {microbatches: 4}\n"
         "data_parallel: {zero: 3, shard: [cp]}\n",
         8},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        job_fixture f;
        const ms_result *r = run_text(&f, JOB_70B, ROWS[i].rest);
        double expected_B = 4 * WHOLE_70B / ROWS[i].shares;
        cr_assert_lt(gap(r->memory[0].held.gradient_B, expected_B), 1e-14, "row %zu: %g", i,
                     r->memory[0].held.gradient_B);
        job_fixture_release(&f);
    }
}

/* With one microbatch the same bytes are sent, and a job that fits says so. */
Test(job_reduce, one_microbatch_is_reduced_once_either_way) {
    double sent_B[2];
    for (int is_last = 0; is_last <= 1; is_last++) {
        job_fixture f;
        const ms_result *r = run_text(&f, JOB_70B,
                                      is_last ? "mesh: {dp: 64}\nbatch: {microbatches: 1}\n"
                                                "data_parallel: {zero: 3, reduce: last}\n"
                                              : "mesh: {dp: 64}\nbatch: {microbatches: 1}\n"
                                                "data_parallel: {zero: 3}\n");
        sent_B[is_last] = r->metrics.axes[MS_AXIS_DP].bytes;
        ms_estimate estimate;
        cr_assert_eq(ms_job_estimate(&f.job, &f.arena, &f.diag, &estimate), MS_OK);
        cr_assert_eq(estimate.fits, !is_last);
        job_fixture_release(&f);
    }
    cr_assert_lt(gap(sent_B[0], sent_B[1]), 1e-14);
    cr_assert_lt(gap(sent_B[0], 63 / 64.0 * (2 + 2 + 4) * WHOLE_70B), 1e-12);
}

/* Four pipeline ranks of 16 replicas. Plain: 20 layers each, the first with the embedding. In two
 * chunks of 10 a round has one chunk's gradients whole, at the peak that which has most: the
 * embedding's on the first rank, the head's on the last. */
Test(job_reduce, stages_hold_whole_gradients_as_long_as_it_says) {
    const double FIRST = 20 * LAYER + TABLE, LAST = 20 * LAYER + TABLE + NORM;
    const double FIRST_CHUNK = 10 * LAYER + TABLE, LAST_CHUNK = 10 * LAYER + TABLE + NORM;
    const struct {
        const char *rest;
        double first, last; /* gradients at the peak of the first and the last pipeline rank */
    } ROWS[] = {
        {"data_parallel: {zero: 3}\n", FIRST, LAST},
        {"data_parallel: {zero: 2}\n", FIRST, LAST},
        {"data_parallel: {zero: 2, reduce: last}\n", FIRST, LAST},
        {"data_parallel: {zero: 2, reduce: every}\n", FIRST / 16, LAST / 16},
        {"data_parallel: {zero: 3, reduce: every}\n", FIRST / 16, LAST / 16},
        {"data_parallel: {zero: 3}\nschedule: {kind: interleaved, v: 2}\n", FIRST, LAST},
        {"data_parallel: {zero: 3, reduce: every}\nschedule: {kind: interleaved, v: 2}\n",
         FIRST / 16, LAST / 16},
        {"data_parallel: {zero: 2, reduce: round}\nschedule: {kind: interleaved, v: 2}\n",
         FIRST / 16 + FIRST_CHUNK, LAST / 16 + LAST_CHUNK},
        {"data_parallel: {zero: 2, reduce: round, overlap_reduce: true}\n"
         "schedule: {kind: interleaved_torch, v: 2}\n",
         FIRST / 16 + FIRST_CHUNK, LAST / 16 + LAST_CHUNK},
        {"data_parallel: {zero: 3, reduce: round, gather_stages: 3}\n"
         "schedule: {kind: interleaved_flexible, v: 2, group: 4}\n",
         FIRST / 16 + FIRST_CHUNK, LAST / 16 + LAST_CHUNK},
        {"data_parallel: {zero: 2, reduce: round}\nschedule: {kind: interleaved, v: 1}\n",
         FIRST / 16 + FIRST, LAST / 16 + LAST},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char rest[512];
        snprintf(rest, sizeof rest, "mesh: {pp: 4, dp: 16}\nbatch: {microbatches: 8}\n%s",
                 ROWS[i].rest);
        job_fixture f;
        const ms_result *r = run_text(&f, JOB_70B, rest);
        cr_assert_lt(gap(r->memory[0].held.gradient_B, 4 * ROWS[i].first), 1e-14, "row %zu: %g", i,
                     r->memory[0].held.gradient_B / 4);
        cr_assert_lt(gap(r->memory[3].held.gradient_B, 4 * ROWS[i].last), 1e-14, "row %zu: %g", i,
                     r->memory[3].held.gradient_B / 4);
        ms_estimate estimate;
        cr_assert_eq(ms_job_estimate(&f.job, &f.arena, &f.diag, &estimate), MS_OK);
        for (int p = 0; p < 4; p++) { /* check and run agree */
            cr_assert_lt(gap(r->memory[p].held.total_B, estimate.ranks[p].peak_B), 1e-12, "row %zu",
                         i);
        }
        job_fixture_release(&f);
    }
}

/* Two layers of 8 experts over ep 4, dp 2. Dense, over all 8: attention 4 x 1024^2, router 8 x
 * 1024, norms 2 x 1024; experts, over dp: two of 3 x 1024 x 2048. */
Test(job_reduce, experts_are_shards_of_their_own_replicas) {
    const double DENSE = 2 * (4 * 1024.0 * 1024 + 8 * 1024 + 2 * 1024);
    const double EXPERTS = 2 * 2 * 3 * 1024.0 * 2048;
    static const char JOB[] =
        "platform: {file: dgx-h100, nodes: 1}\n"
        "model: {type: llama, layers: 2, hidden: 1024, heads: 8, ffn: 4096, vocab: 0,\n"
        "  sequence: 1024, moe: {experts: 8, top_k: 2, ffn: 2048}}\n"
        "mesh: {ep: 4, dp: 2, order: [dp, ep]}\n"
        "batch: {microbatches: 2}\n"
        "fidelity: analytic\n"
        "data_parallel: {zero: 2%s}\n";
    for (int is_last = 0; is_last <= 1; is_last++) {
        job_fixture f;
        const ms_result *r = run_text(&f, JOB, is_last ? ", reduce: last" : "");
        double expected = is_last ? DENSE + EXPERTS : DENSE / 8 + EXPERTS / 2;
        cr_assert_lt(gap(r->memory[0].held.gradient_B, 4 * expected), 1e-14, "%g",
                     r->memory[0].held.gradient_B / 4);
        double reduced = 4 * (7 / 8.0 * DENSE + 1 / 2.0 * EXPERTS) * (is_last ? 1 : 2);
        double gathered = 2 * (7 / 8.0 * DENSE + 1 / 2.0 * EXPERTS);
        cr_assert_lt(gap(r->metrics.axes[MS_AXIS_DP].bytes, reduced + gathered), 1e-12);
        job_fixture_release(&f);
    }
}

/* Reduce-scatters over dp of one stage and microbatch. */
static int count_reductions(const job_fixture *f, int stage, int mb) {
    const ms_dag *dag = &f->result.dag;
    int count = 0;
    for (int32_t i = 0; i < dag->op_count; i++) {
        const ms_dag_op *op = &dag->ops[i];
        count += op->axis == MS_AXIS_DP && op->kind == MS_OP_REDUCE_SCATTER && op->stage == stage &&
                 op->mb == mb;
    }
    return count;
}

/* Ten microbatches in groups of four: a reduction of every chunk after the 4th, 8th and 10th, and
 * bytes to match; with overlap unit by unit. */
Test(job_reduce, a_round_ends_with_one_reduction_of_every_chunk) {
    static const char ROUNDS[] = "mesh: {pp: 4, dp: 16}\nbatch: {microbatches: 10}\n"
                                 "schedule: {kind: interleaved_flexible, v: 2, group: 4}\n"
                                 "data_parallel: {zero: 2, reduce: %s%s}\n";
    double sent_B[3];
    for (int overlaps = 0; overlaps <= 1; overlaps++) {
        char rest[512];
        snprintf(rest, sizeof rest, ROUNDS, "round", overlaps ? ", overlap_reduce: true" : "");
        job_fixture f;
        sent_B[0] = run_text(&f, JOB_70B, rest)->metrics.axes[MS_AXIS_DP].bytes;
        for (int stage = 0; stage < 8; stage++) {
            int units = 10 + (stage == 0) + (stage == 7); /* layers, embedding, head */
            for (int mb = 0; mb < 10; mb++) {
                bool is_end = mb == 3 || mb == 7 || mb == 9;
                int expected = !is_end ? 0 : overlaps ? units : 1;
                cr_assert_eq(count_reductions(&f, stage, mb), expected, "stage %d mb %d", stage,
                             mb);
            }
        }
        job_fixture_release(&f);
    }
    for (int i = 1; i < 3; i++) {
        char rest[512];
        snprintf(rest, sizeof rest, ROUNDS, i == 1 ? "last" : "every", "");
        job_fixture f;
        sent_B[i] = run_text(&f, JOB_70B, rest)->metrics.axes[MS_AXIS_DP].bytes;
        job_fixture_release(&f);
    }
    double once_B = 15 / 16.0 * 4 * WHOLE_70B / 4; /* the mean of four pipeline ranks */
    cr_assert_lt(gap(sent_B[0] - sent_B[1], 2 * once_B), 1e-12);
    cr_assert_lt(gap(sent_B[2] - sent_B[1], 9 * once_B), 1e-12);
}

/* Input and weight gradients apart: weight gradients begin and end a round. */
Test(job_reduce, rounds_follow_the_weight_gradients) {
    job_fixture f;
    run_text(&f, JOB_70B,
             "mesh: {pp: 4, dp: 16}\nbatch: {microbatches: 8}\n"
             "schedule: {kind: zb1p, v: 2}\ndata_parallel: {zero: 2, reduce: round}\n");
    for (int stage = 0; stage < 8; stage++) {
        for (int mb = 0; mb < 8; mb++) {
            cr_assert_eq(count_reductions(&f, stage, mb), mb % 4 == 3);
        }
    }
    job_fixture_release(&f);
}

Test(job_reduce, what_cannot_be_is_refused) {
    const struct {
        const char *set, *message;
    } ROWS[] = {
        {"data_parallel.reduce_every=true", "data_parallel.reduce_every: unknown key; it is "
                                            "'reduce' now: when a stage's gradients are reduced"},
        {"data_parallel.reduce=round", "'round' needs a schedule that takes microbatches in groups "
                                       "(interleaved, interleaved_torch, interleaved_flexible, "
                                       "zb1p), and '1f1b' does not"},
        {"data_parallel.zero=1", "reducing gradients after every microbatch needs ZeRO stage 2"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const char *sets[] = {"data_parallel.zero=2", "data_parallel.reduce=every", ROWS[i].set,
                              NULL};
        job_fixture f;
        cr_assert_eq(job_fixture_load(&f, "tiny", sets, NULL, false), MS_E_INPUT);
        cr_assert_not_null(strstr(ms_buffer_text(&f.messages), ROWS[i].message), "%s",
                           ms_buffer_text(&f.messages));
        job_fixture_release(&f);
    }
}

static int find_option(const job_fixture *f, const char *setting, ms_memory_option *option_out) {
    ms_memory_option options[MS_MEMORY_OPTIONS_MAX];
    ms_arena arena;
    ms_diag mute;
    ms_arena_init(&arena);
    ms_diag_init_mute(&mute);
    int count = 0, found = 0;
    cr_assert_eq(ms_memory_options_find(&f->job.spec, &arena, &mute, options, &count), MS_OK);
    for (int i = 0; i < count; i++) {
        if (options[i].sets.count == 1 && strcmp(options[i].sets.items[0], setting) == 0) {
            *option_out = options[i];
            found++;
        }
    }
    ms_arena_release(&arena);
    return found;
}

/* What `check` promises is what the setting gives; without groups it does not offer rounds. */
Test(job_reduce, memory_options_keep_their_promises) {
    static const char MESH[] = "mesh: {pp: 4, dp: 16}\nbatch: {microbatches: 8}\n"
                               "schedule: {kind: %s, v: %d}\n"
                               "data_parallel: {zero: 2%s}\n";
    const struct {
        const char *kind;
        int chunks;
        const char *setting, *key;
        int offers;
    } ROWS[] = {
        {"interleaved", 2, "data_parallel.reduce=every", ", reduce: every", 1},
        {"interleaved", 2, "data_parallel.reduce=round", ", reduce: round", 1},
        {"1f1b", 1, "data_parallel.reduce=every", ", reduce: every", 1},
        {"1f1b", 1, "data_parallel.reduce=round", ", reduce: last", 0},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char today_text[512], then_text[512];
        snprintf(today_text, sizeof today_text, MESH, ROWS[i].kind, ROWS[i].chunks, "");
        snprintf(then_text, sizeof then_text, MESH, ROWS[i].kind, ROWS[i].chunks, ROWS[i].key);
        job_fixture today, then;
        run_text(&today, JOB_70B, today_text);
        const ms_result *r = run_text(&then, JOB_70B, then_text);
        ms_memory_option option = {.peak_B = r->memory[r->peak_rank].held.total_B};
        cr_assert_eq(find_option(&today, ROWS[i].setting, &option), ROWS[i].offers, "row %zu", i);
        cr_assert_lt(gap(option.peak_B, r->memory[r->peak_rank].held.total_B), 1e-12, "row %zu", i);
        job_fixture_release(&today);
        job_fixture_release(&then);
    }
}
