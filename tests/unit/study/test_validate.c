/* Validation: errors, groups and marks by hand, of runs whose measured times are set so that the
 * error is known. */
#include "meshsim/validate.h"

#include "cases_fixture.h"

typedef struct fixture {
    cases_fixture cases;
    ms_validation v;
} fixture;

#define SMALL                                                                                      \
    "system: {gpu: A100-SXM4-80GB}, model: {type: gpt, layers: 2, hidden: 1024, heads: 16, "       \
    "ffn: 4096, ffn_mats: 2, vocab: 1024, seq_len: 512}, parallel: {tp: 1, pp: 1, dp: 1}, "        \
    "num_gpus: 1, micro_batch: 1, global_batch: 2"

static void add(fixture *f, const char *name, const char *data) {
    cr_assert_eq(cases_parse(&f->cases, name, data), MS_OK, "%s",
                 ms_buffer_text(&f->cases.messages));
}

/* Validate some of the cases; of all where neither is given. */
static ms_status validate(fixture *f, const char *group, const char *id) {
    const ms_validate_study study = {.measurements = &f->cases.found,
                                     .group = group,
                                     .id = id,
                                     .data_folder = MS_SOURCE_DIR,
                                     .jobs = 2};
    return ms_validate_run(&study, &f->cases.arena, &f->cases.diag, &f->v);
}

static ms_case *case_of(fixture *f, size_t index) {
    return &MS_AT(&f->cases.found.cases, ms_case, index);
}

static const ms_validate_group *group_of(const ms_validate_groups *groups, const char *name) {
    for (size_t i = 0; i < groups->count; i++) {
        if (strcmp(groups->items[i].name, name) == 0) {
            return &groups->items[i];
        }
    }
    cr_assert_fail("no group %s", name);
    return NULL;
}

/* Two rows 25 % too slow and 10 % too fast; in another group one inside its range and one at twice
 * its upper end; one without a platform; one apart from the score. */
Test(validate, errors_are_summed_up_by_group) {
    fixture f;
    cases_start(&f.cases);
    add(&f, "c.yaml",
        "- {id: slow, group: a, core: true, schedule_kind: 1f1b, score_step_time_s: 1, " SMALL "}\n"
        "- {id: ci, group: megatron_ci, schedule_kind: 1f1b, score_step_time_s: 1, " SMALL "}\n"
        "- {id: fast, group: a, schedule_kind: 1f1b, score_step_time_s: 1, flags: [suspect], "
        "recompute_kind: unstated, " SMALL "}\n"
        "- {id: inside, group: b, schedule_kind: 1f1b, recompute_kind: none, "
        "score_step_time_s: 1, " SMALL "}\n"
        "- {id: above, group: b, schedule_kind: 1f1b, recompute_kind: none, "
        "score_step_time_s: 1, " SMALL "}\n"
        "- {id: none, group: b, schedule_kind: spiral, score_step_time_s: 1, " SMALL "}\n");
    cr_assert_eq(validate(&f, NULL, NULL), MS_OK, "%s", ms_buffer_text(&f.cases.messages));
    double step_s = f.v.rows[0].predicted_s;
    cr_assert_gt(step_s, 0);
    case_of(&f, 0)->measured.step_s = step_s / 1.25;
    case_of(&f, 1)->measured.step_s = step_s;
    case_of(&f, 2)->measured.step_s = step_s / 0.9;
    case_of(&f, 3)->measured.low_s = step_s / 2;
    case_of(&f, 3)->measured.high_s = step_s * 2;
    case_of(&f, 4)->measured.low_s = step_s / 4;
    case_of(&f, 4)->measured.high_s = step_s / 2;
    cr_assert_eq(validate(&f, NULL, NULL), MS_OK, "%s", ms_buffer_text(&f.cases.messages));
    const ms_validation *v = &f.v;
    cr_assert_eq(v->scored, 5);
    cr_assert_eq(v->timed, 6);
    cr_assert_eq(v->row_count, 6);
    static const double ERRORS[] = {0.25, -0.1, 0.0, 1.0};
    for (int i = 0; i < 4; i++) {
        cr_assert_float_eq(v->rows[i].error, ERRORS[i], 1e-12, "%s", v->rows[i].id);
        cr_assert(v->rows[i].fits);
    }
    cr_assert(v->rows[0].is_core && !v->rows[1].is_core);
    cr_assert(v->rows[1].is_suspect && !v->rows[0].is_suspect);
    cr_assert(!v->rows[1].is_stated && v->rows[2].is_stated);
    cr_assert_float_eq(v->rows[3].measured_s, step_s / 2, 1e-15);
    cr_assert_str_eq(v->rows[4].reason, "schedule 'spiral' is not built");
    cr_assert_float_eq(v->rows[5].error, 0.0, 1e-12);
    const ms_validate_group *a = group_of(&v->groups, "a");
    cr_assert_eq(a->n, 2);
    cr_assert_float_eq(a->mean_abs_error, 0.175, 1e-12);
    cr_assert_float_eq(a->bias, 0.075, 1e-12);
    cr_assert_float_eq(a->worst_abs_error, 0.25, 1e-12);
    cr_assert_str_eq(a->worst, "slow");
    const ms_validate_group *b = group_of(&v->groups, "b");
    cr_assert_eq(b->n, 2);
    cr_assert_float_eq(b->mean_abs_error, 0.5, 1e-12);
    cr_assert_eq(v->groups.count, 2);
    cr_assert_float_eq(v->mean_of_groups, 0.3375, 1e-12);
    cr_assert_float_eq(v->stated_mean, 0.5, 1e-12); /* b alone: a's rows do not say */
    cr_assert_eq(group_of(&v->apart, "megatron_ci")->n, 1);
    cases_end(&f.cases);
}

/* What ran, fitted: a job that is too large as simulated is flagged, not refused. */
Test(validate, what_does_not_fit_is_simulated) {
    fixture f;
    cases_start(&f.cases);
    add(&f, "c.yaml",
        "- {id: large, group: a, schedule_kind: 1f1b, score_step_time_s: 1, system: {gpu: A100}, "
        "num_gpus: 1, micro_batch: 1, global_batch: 1, parallel: {tp: 1, pp: 1, dp: 1}, model: "
        "{type: gpt, layers: 40, hidden: 5120, heads: 40, ffn: 20480, ffn_mats: 2, vocab: 51200, "
        "seq_len: 512}, measured: {peak_memory_gb: 100}}\n");
    cr_assert_eq(validate(&f, NULL, NULL), MS_OK, "%s", ms_buffer_text(&f.cases.messages));
    cr_assert_null(f.v.rows[0].reason, "%s", f.v.rows[0].reason);
    cr_assert_not(f.v.rows[0].fits);
    cr_assert_gt(f.v.rows[0].predicted_s, 0);
    cr_assert_eq(f.v.memory.count, 1);
    const ms_validate_point *memory = &f.v.memory.items[0];
    cr_assert_str_eq(memory->quantity, "peak_reserved");
    cr_assert_str_eq(memory->rank, "peak");
    cr_assert_float_eq(memory->error, f.v.rows[0].figures.peak_B / 100e9 - 1, 1e-12);
    cases_end(&f.cases);
}

/* Of two stages the last one has head and loss; between steps it keeps 18 bytes a parameter (bf16,
 * fp32 gradients, 12 bytes of state), which are 2 of 4 layers, the head and the last norm. */
Test(validate, memory_of_the_last_rank_is_that_of_the_last_stage) {
    fixture f;
    cases_start(&f.cases);
    add(&f, "c.yaml",
        "- {id: ci, group: megatron_ci, schedule_kind: 1f1b, recompute_kind: none, system: "
        "{gpu: A100}, num_gpus: 2, micro_batch: 1, global_batch: 4, parallel: {tp: 1, pp: 2, "
        "dp: 1, zero: 0}, model: {type: llama, layers: 4, hidden: 1024, heads: 16, ffn: 4096, "
        "ffn_mats: 3, vocab: 51200, seq_len: 512}, measured: {rank: last, "
        "alloc_between_steps_bytes: 1e9}, score_peak_alloc_bytes: 1e9}\n");
    cr_assert_eq(validate(&f, NULL, NULL), MS_OK, "%s", ms_buffer_text(&f.cases.messages));
    cr_assert_eq(f.v.memory.count, 2);
    const ms_validate_point *peak = &f.v.memory.items[0];
    const ms_validate_point *between = &f.v.memory.items[1];
    cr_assert_str_eq(peak->quantity, "peak_alloc");
    cr_assert_str_eq(peak->rank, "last");
    cr_assert_str_eq(between->quantity, "between_steps");
    double layer = 4 * 1024.0 * 1024 + 3 * 1024.0 * 4096 + 2 * 1024;
    double head = 51200 * 1024.0 + 1024;
    /* cuBLAS twice and Transformer Engine; placeholders of products' gradients */
    double workspace = (2 * 8.125 + 4) * 1048576;
    double products = 4 * 1024.0 * 1024 + 3 * 1024.0 * 4096 + 51200 * 1024.0;
    cr_assert_float_eq(between->predicted, 18 * (2 * layer + head) + workspace + 2 * products, 1.0,
                       "%.0f", between->predicted);
    cr_assert_gt(peak->predicted, between->predicted);
    cr_assert_eq(f.v.groups.count, 0); /* no time was measured */
    cr_assert(isnan(f.v.mean_of_groups));
    cases_end(&f.cases);
}

/* All of a device has the GPU type's reserve on top, 3 GiB of an A100; gradients of DeepSpeed's
 * bf16 optimizer are there twice. */
Test(validate, memory_of_a_device_has_the_reserve_on_top) {
    static const char ROW[] =
        "- {id: %s, group: bloom, schedule_kind: 1f1b, recompute_kind: none, system: {gpu: A100}, "
        "num_gpus: 1, micro_batch: 1, global_batch: 1, parallel: {tp: 1, pp: 1, dp: 1, zero: 0}, "
        "model: {type: gpt, layers: 2, hidden: 1024, heads: 16, ffn: 4096, ffn_mats: 2, vocab: "
        "51200, seq_len: 512}, measured: {%s: 10}, notes: '%s'}\n";
    static const char *const WORDS[][3] = {{"a", "peak_memory_gb", ""},
                                           {"b", "peak_memory_gb_approx", ""},
                                           {"c", "peak_memory_gb", "BF16 optimizer"}};
    fixture f;
    cases_start(&f.cases);
    for (int i = 0; i < 3; i++) {
        char text[600], name[8];
        snprintf(text, sizeof text, ROW, WORDS[i][0], WORDS[i][1], WORDS[i][2]);
        snprintf(name, sizeof name, "%d.yaml", i);
        add(&f, name, text);
    }
    cr_assert_eq(validate(&f, NULL, NULL), MS_OK, "%s", ms_buffer_text(&f.cases.messages));
    cr_assert_eq(f.v.memory.count, 3);
    const ms_validate_point *points = f.v.memory.items;
    cr_assert_str_eq(points[0].quantity, "peak_reserved");
    cr_assert_str_eq(points[1].quantity, "peak_device");
    cr_assert_float_eq(points[1].predicted - points[0].predicted, 3 * 1073741824.0, 1);
    double layer = 12 * 1024.0 * 1024 + 13 * 1024, parameters = 2 * layer + 51200 * 1024.0 + 2048;
    cr_assert_float_eq(points[2].predicted - points[0].predicted, 2 * parameters, 1);
    cases_end(&f.cases);
}

/* A layer alone, without tensor parallelism: its halves are what a pass computes, and both together
 * are its step but for the update. */
Test(validate, a_layer_is_timed_in_halves) {
    fixture f;
    cases_start(&f.cases);
    add(&f, "c.yaml",
        "- {id: layer, group: korthikanti22, schedule_kind: layer, recompute_kind: full, system: "
        "{gpu: A100}, num_gpus: 1, micro_batch: 4, global_batch: 4, parallel: {tp: 1, pp: 1, "
        "dp: 1}, model: {type: gpt, layers: 1, hidden: 6144, heads: 64, ffn: 24576, ffn_mats: 2, "
        "vocab: 51200, seq_len: 2048}, measured: {fwd_ms: 7, bwd_ms_incl_recompute: 14, "
        "combined_ms: 21}}\n");
    cr_assert_eq(validate(&f, NULL, NULL), MS_OK, "%s", ms_buffer_text(&f.cases.messages));
    const ms_validate_row *row = &f.v.rows[0];
    const ms_validate_point *points = f.v.layers.items;
    cr_assert_null(row->reason, "%s", row->reason);
    cr_assert_eq(f.v.scored, 0);
    cr_assert_eq(f.v.timed, 0);
    cr_assert_eq(f.v.layers.count, 3);
    cr_assert_str_eq(points[0].quantity, "forward");
    cr_assert_float_eq(points[0].predicted, row->finding.pass_s[MS_OP_FORWARD], 1e-12);
    cr_assert_float_eq(points[1].predicted,
                       row->finding.pass_s[MS_OP_BACKWARD] + row->finding.pass_s[MS_OP_RECOMPUTE],
                       1e-12);
    cr_assert_float_eq(points[2].predicted, points[0].predicted + points[1].predicted, 1e-12);
    double update_s = row->figures.share[MS_TIME_OPTIMIZER] * row->predicted_s;
    cr_assert_float_eq(points[2].predicted + update_s, row->predicted_s, 1e-9);
    cr_assert_float_eq(points[0].error, points[0].predicted / 7e-3 - 1, 1e-12);
    cases_end(&f.cases);
}

/* With sequence parallelism a layer gathers and scatters twice forward; its backward pass begins
 * with two gathers, of its output's gradient and of its input, before it computes anything. A
 * gather takes as long as a reduce-scatter, so backward half as much again is exposed as forward.
 */
Test(validate, a_layer_s_backward_half_has_its_own_gathers) {
    fixture f;
    cases_start(&f.cases);
    add(&f, "c.yaml",
        "- {id: layer, group: vtrain, schedule_kind: layer, recompute_kind: none, system: "
        "{gpu: A100}, num_gpus: 8, micro_batch: 4, global_batch: 4, parallel: {tp: 8, pp: 1, "
        "dp: 1, sp: true}, model: {type: gpt, layers: 1, hidden: 6144, heads: 64, ffn: 24576, "
        "ffn_mats: 2, vocab: 51200, seq_len: 2048}, measured: {fwd_ms: 7, "
        "bwd_ms_incl_recompute: 14}}\n");
    const char *without_host[] = {"host.launch=0 s"}; /* it would stand between the kernels */
    const ms_validate_study study = {.measurements = &f.cases.found,
                                     .sets = {.items = without_host, .count = 1},
                                     .data_folder = MS_SOURCE_DIR,
                                     .jobs = 1};
    cr_assert_eq(ms_validate_run(&study, &f.cases.arena, &f.cases.diag, &f.v), MS_OK, "%s",
                 ms_buffer_text(&f.cases.messages));
    const ms_validate_row *row = &f.v.rows[0];
    cr_assert_null(row->reason, "%s", row->reason);
    double forward_s = row->finding.forward_s - row->finding.pass_s[MS_OP_FORWARD];
    double backward_s = row->finding.backward_s - row->finding.pass_s[MS_OP_BACKWARD];
    cr_assert_gt(forward_s, 0);
    cr_assert_float_eq(backward_s, 1.5 * forward_s, 1e-9);
    cases_end(&f.cases);
}

/* Phases of a step on two pipeline ranks, whose passes communicate nothing inside and whose kernels
 * are so long that no host is late. */
static const double *phases_of(fixture *f, const char *kind, int microbatches) {
    char data[1024];
    snprintf(data, sizeof data,
             "- {id: '%s %d', group: a, schedule_kind: %s, recompute_kind: none, "
             "score_step_time_s: 1, system: {gpu: A100}, num_gpus: 2, micro_batch: 1, "
             "global_batch: %d, parallel: {tp: 1, pp: 2, dp: 1}, model: {type: gpt, layers: 4, "
             "hidden: 8192, heads: 64, ffn: 32768, ffn_mats: 2, vocab: 1024, seq_len: 2048}, "
             "measured: {t_1F_s: 1, t_1F1B_s: 2}}\n",
             kind, microbatches, kind, microbatches);
    cases_start(&f->cases);
    add(f, "c.yaml", data);
    cr_assert_eq(validate(f, NULL, NULL), MS_OK, "%s", ms_buffer_text(&f->cases.messages));
    cr_assert_null(f->v.rows[0].reason, "%s", f->v.rows[0].reason);
    const double *phase_s = f->v.rows[0].finding.phase_s;
    double sum_s = 0;
    for (int i = 0; i < MS_STEP_PHASE_COUNT; i++) {
        sum_s += phase_s[i];
    }
    cr_assert_float_eq(sum_s, f->v.rows[0].predicted_s, 1e-12);
    return phase_s;
}

/* Six forward passes alone on each rank; 1F1B has neither pairs nor weight gradients of their own,
 * ZB-H1 puts some of them off, and no phase makes any other computation longer. */
Test(validate, a_step_is_parted_into_phases) {
    fixture plain, split;
    const double *phase_s = phases_of(&plain, "1f1b", 6);
    const double *pass_s = plain.v.rows[0].finding.pass_s;
    cr_assert_float_eq(phase_s[MS_STEP_FORWARD], 6 * pass_s[MS_OP_FORWARD], 1e-12);
    cr_assert_float_eq(phase_s[MS_STEP_BACKWARD], 6 * pass_s[MS_OP_BACKWARD], 1e-12);
    cr_assert_eq(phase_s[MS_STEP_PAIR], 0);
    cr_assert_eq(phase_s[MS_STEP_WEIGHT], 0);
    cr_assert_gt(phase_s[MS_STEP_BUBBLE], 0);
    cr_assert_gt(phase_s[MS_STEP_END], 0);
    cr_assert_eq(plain.v.phases.count, 2);
    cr_assert_str_eq(plain.v.phases.items[0].quantity, "1F");
    cr_assert_float_eq(plain.v.phases.items[0].error, phase_s[MS_STEP_FORWARD] - 1, 1e-12);
    cr_assert_str_eq(plain.v.phases.items[1].quantity, "1F1B");
    phase_s = phases_of(&split, "zbh1", 6);
    pass_s = split.v.rows[0].finding.pass_s;
    cr_assert_gt(phase_s[MS_STEP_WEIGHT], 0);
    cr_assert_float_eq(phase_s[MS_STEP_WEIGHT], 6 * pass_s[MS_OP_WEIGHT_GRAD], 1e-12);
    cases_end(&plain.cases);
    cases_end(&split.cases);
}

/* Of DualPipe's four microbatches a rank of two runs one forward and one backward pass as a pair;
 * each further one of both directions adds a pair on either stage. */
Test(validate, pairs_are_a_phase) {
    fixture few, many;
    const double *few_s = phases_of(&few, "dualpipe", 4);
    const double *many_s = phases_of(&many, "dualpipe", 8);
    const double *few_pass_s = few.v.rows[0].finding.pass_s;
    const double *many_pass_s = many.v.rows[0].finding.pass_s;
    double added_s = 8 * (many_pass_s[MS_OP_FORWARD] + many_pass_s[MS_OP_BACKWARD]) -
                     4 * (few_pass_s[MS_OP_FORWARD] + few_pass_s[MS_OP_BACKWARD]);
    cr_assert_gt(few_s[MS_STEP_PAIR], 0);
    cr_assert_gt(added_s, 0);
    cr_assert_float_eq(many_s[MS_STEP_PAIR] - few_s[MS_STEP_PAIR], added_s, 1e-12);
    cr_assert_float_eq(many_s[MS_STEP_FORWARD], few_s[MS_STEP_FORWARD], 1e-12);
    cases_end(&few.cases);
    cases_end(&many.cases);
}

/* A ring of 8 on NVLink sends 2 * 7/8 of the buffer at 300 GB/s times 0.783, in 14 steps of 2 times
 * 1.7 us. */
Test(validate, collectives_are_timed_on_idle_links) {
    fixture f;
    cases_start(&f.cases);
    add(&f, "p.yaml",
        "nccl_tests:\n"
        "- {system: A100 node, op: all_reduce, ranks: 8, nodes: 1, points: [{bytes: 8e9, "
        "time_us: 50000}]}\n"
        "- {system: abacus, op: all_reduce, ranks: 8, nodes: 1, points: [{bytes: 8e9, time_us: "
        "1}]}\n");
    cr_assert_eq(validate(&f, NULL, NULL), MS_OK, "%s", ms_buffer_text(&f.cases.messages));
    cr_assert_eq(f.v.collectives.count, 2);
    const ms_validate_point *point = &f.v.collectives.items[0];
    /* launch, base latency, steps, the ramp, and bytes at a ring with its turn between chunks */
    double expected_s = 22e-6 + 8.4e-6 + 14 * 3.4e-6 + 160e-6 * 8e9 / (8e9 + 0x1p28) +
                        8e9 * 1.75 / (300e9 * 0.803) * (1 + 0.45 / 14);
    cr_assert_float_eq(point->predicted, expected_s, 1e-9 * expected_s, "%.9g", point->predicted);
    cr_assert_float_eq(point->error, expected_s / 0.05 - 1, 1e-9);
    cr_assert_null(point->reason);
    cr_assert_not_null(f.v.collectives.items[1].reason);
    cr_assert_eq(f.v.sizes.count, 1);
    cr_assert_str_eq(f.v.sizes.items[0].name, "256 MiB and more");
    cr_assert_eq(f.v.sizes.items[0].n, 1);
    cases_end(&f.cases);
}

/* The same sizes as two benchmarks show them. One times a call at a time, so that 20 us of the host
 * are in each; the other launches on 8 GPUs from one thread, which at a channel of 32 KiB takes
 * 8 * (5.2 + 0.31) us, and at all 24 of 1 MiB 8 * (5.2 + 24 * 0.31). Large ones hide launches. */
Test(validate, benchmarks_add_what_they_do_not_hide) {
    fixture f;
    cases_start(&f.cases);
    add(&f, "p.yaml",
        "nccl_tests:\n"
        "- {system: H200, op: all_reduce, ranks: 8, nodes: 1, points: [{bytes: 32768, time_us: "
        "1}]}\n"
        "- {system: H200, op: all_reduce, ranks: 8, nodes: 1, points: [{bytes: 32768, time_us: 1}],"
        " source: 'stas00/ml-engineering 744d01e1 network/README.md'}\n"
        "- {system: A100, op: all_reduce, ranks: 8, nodes: 1, points: [{bytes: 32768, time_us: 1},"
        " {bytes: 1048576, time_us: 1}, {bytes: 1073741824, time_us: 1}],"
        " source: 'stas00/ml-engineering 744d01e1 network/README.md'}\n"
        "- {system: A100, op: all_reduce, ranks: 8, nodes: 1,"
        " points: [{bytes: 1073741824, time_us: 1}]}\n");
    cr_assert_eq(validate(&f, NULL, NULL), MS_OK, "%s", ms_buffer_text(&f.cases.messages));
    cr_assert_eq(f.v.collectives.count, 6);
    const ms_validate_point *p = f.v.collectives.items;
    cr_assert_float_eq(p[1].predicted - p[0].predicted, 20e-6, 1e-15);
    cr_assert_float_eq(p[2].predicted, 8 * (5.2e-6 + 0.31e-6), 1e-12);
    cr_assert_float_eq(p[3].predicted, 8 * (5.2e-6 + 24 * 0.31e-6), 1e-12);
    cr_assert_float_eq(p[4].predicted, p[5].predicted, 1e-15);
    cases_end(&f.cases);
}

Test(validate, a_choice_that_chooses_nothing_is_refused) {
    fixture f;
    cases_start(&f.cases);
    add(&f, "c.yaml",
        "- {id: slow, group: dense, schedule_kind: 1f1b, score_step_time_s: 1, " SMALL "}\n");
    cr_assert_eq(validate(&f, "dens", NULL), MS_E_INPUT);
    cr_assert_eq(validate(&f, NULL, "slwo"), MS_E_INPUT);
    cr_assert_str_eq(ms_buffer_text(&f.cases.messages),
                     "meshsim: error: no case of a group 'dens'; did you mean 'dense'?\n"
                     "meshsim: error: no case named 'slwo'; did you mean 'slow'?\n");
    cases_end(&f.cases);
}
