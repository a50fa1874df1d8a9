/* Files of measured runs: what they say, in which units, and how their faults are told. */
#include "cases_fixture.h"

Test(case_files, figures_are_read_with_the_unit_of_their_name) {
    cases_fixture f;
    cases_start(&f);
    const ms_case *c = cases_read(
        &f, &(case_words){
                .more = ", measured: {peak_memory_gb: 30, mfu_pct: 41.5, memory_note: 29GB}"});
    cr_assert_float_eq(c->measured.step_s, 2.5, 0);
    cr_assert_float_eq(c->measured.peak_B, 30e9, 0);
    cr_assert_not(c->measured.is_allocated);
    cr_assert(isnan(c->measured.low_s) && isnan(c->measured.static_B));
    cr_assert_eq(c->measured.figure_count, 3);
    cr_assert_str_eq(c->measured.figures[2].text, "29GB");
    cr_assert_eq(c->use, MS_CASE_SCORED);
    c = cases_read(&f,
                   &(case_words){.id = "ci",
                                 .group = "megatron_ci",
                                 .more = ", score_peak_alloc_bytes: 1000, measured: {rank: last, "
                                         "peak_alloc_bytes: 999, alloc_between_steps_bytes: 500}"});
    cr_assert_float_eq(c->measured.peak_B, 1000, 0);
    cr_assert_float_eq(c->measured.static_B, 500, 0);
    cr_assert(c->measured.is_allocated && c->measured.is_last_rank);
    cr_assert_eq(c->use, MS_CASE_APART);
    cr_assert_not(c->measured.is_device);
    c = cases_read(&f,
                   &(case_words){.id = "smi", .more = ", measured: {peak_memory_gb_approx: 59}"});
    cr_assert_float_eq(c->measured.peak_B, 59e9, 0);
    cr_assert(c->measured.is_device && !c->measured.is_allocated);
    c = cases_read(&f,
                   &(case_words){.id = "layer",
                                 .kind = "layer",
                                 .more = ", measured: {fwd_ms: 7.7, bwd_ms_incl_recompute: 11.9, "
                                         "combined_ms: 19.6, peak_alloc_gib: 2}"});
    cr_assert_float_eq(c->measured.forward_s, 7.7e-3, 1e-15);
    cr_assert_float_eq(c->measured.backward_s, 11.9e-3, 1e-15);
    cr_assert_float_eq(c->measured.layer_s, 19.6e-3, 1e-15);
    cr_assert_float_eq(c->measured.peak_B, 2.0 * 1024 * 1024 * 1024, 0);
    cr_assert_eq(c->use, MS_CASE_LAYER);
    cases_end(&f);
}

/* What is recomputed, and peaks that nothing is held against, have names of their own. */
Test(case_files, keys_for_readers_may_be_any) {
    cases_fixture f;
    cases_start(&f);
    const ms_case *c = cases_read(
        &f, &(case_words){.system = "gpu: A100, peak_int8_tops: 624, network: null",
                          .more = ", check7: {formula: x}, measured: {peak_x: 3, none: null}"});
    cr_assert_null(c->system.network);
    cr_assert_eq(c->measured.figure_count, 1);
    cr_assert_str_eq(c->measured.figures[0].name, "peak_x");
    cases_end(&f);
}

/* A measurement is a range where the two ways to read it lie more than a tenth apart. */
Test(case_files, a_figure_of_unknown_convention_is_a_range) {
    cases_fixture f;
    cases_start(&f);
    const ms_case *c =
        cases_read(&f, &(case_words){.id = "wide",
                                     .more = ", measured: {step_time_s_derived_causal: 10.9, "
                                             "step_time_s_derived_noncausal: 15.28}"});
    cr_assert_float_eq(c->measured.low_s, 10.9, 0);
    cr_assert_float_eq(c->measured.high_s, 15.28, 0);
    c = cases_read(&f, &(case_words){.id = "narrow",
                                     .more = ", measured: {step_time_s_derived_causal: 6.461, "
                                             "step_time_s_derived_noncausal: 6.721}"});
    cr_assert(isnan(c->measured.low_s));
    cases_end(&f);
}

Test(case_files, tables_are_read) {
    cases_fixture f;
    cases_start(&f);
    static const char STEPS[] =
        "# vTrain single-node ground truth; units: iteration time ms\n"
        "# GPUs,global batch,micro batch,hidden size,attention heads,# layers,sequence length,"
        "tensor parallelism,data parallelism,pipeline parallelism,iteration time (ms)\n"
        "8,4,1,1024,16,16,1024,1,2,4,77.216619\n";
    static const char REDUCES[] = "gpu,ranks,bytes,time_us_out_of_place,busbw_gb_s_out_of_place\n"
                                  "a100,2,1048576,44.21,23.72\n";
    cr_assert_eq(cases_parse(&f, "steps.csv", STEPS), MS_OK, "%s", ms_buffer_text(&f.messages));
    const ms_case *c = &MS_AT(&f.found.cases, ms_case, 0);
    cr_assert_str_eq(c->id, "single_node_3");
    cr_assert_eq(c->use, MS_CASE_APART);
    cr_assert_eq(c->gpus, 8);
    cr_assert_eq(c->model.ffn, 4096);
    cr_assert_eq(c->parallel.pp, 4);
    cr_assert_float_eq(c->measured.step_s, 77.216619e-3, 1e-15);
    ms_case_job job;
    cr_assert_eq(ms_case_translate(f.rules, c, &job), MS_OK);
    cr_assert_null(job.reason, "%s", job.reason);
    cr_assert_eq(cases_parse(&f, "reduces.csv", REDUCES), MS_OK, "%s", ms_buffer_text(&f.messages));
    const ms_case_collective *r = &MS_AT(&f.found.collectives, ms_case_collective, 0);
    cr_assert_eq(r->ranks, 2);
    cr_assert_float_eq(r->measured_s, 44.21e-6, 1e-18);
    cr_assert_eq(cases_parse(&f, "bad.csv", "gpu,ranks,bytes,time_us_out_of_place\na100,two,1,2\n"),
                 MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "bad.csv:2: error: "), "%s",
                       ms_buffer_text(&f.messages));
    cr_assert_eq(cases_parse(&f, "other.csv", "a,b\n1,2\n"), MS_E_INPUT);
    cases_end(&f);
}

/* Bus bandwidth of an all-reduce is 2 (n - 1) / n of size over time: 8 GB among 8 at 140 GB/s take
 * 8 * 1.75 / 140 = 0.1 s. */
Test(case_files, points_have_a_time_or_a_bandwidth) {
    cases_fixture f;
    cases_start(&f);
    static const char POINTS[] =
        "nccl_tests:\n- {system: DGX H100, op: all_reduce, ranks: 8, nodes: 1, points: [\n"
        "  {bytes: 8e9, time_us: null, busbw_gb_s: 140},\n"
        "  {bytes: null, time_us: null, busbw_gb_s: 100},\n"
        "  {bytes: 1024, time_us: 16.94, busbw_gb_s: null}]}\n";
    cr_assert_eq(cases_parse(&f, "points.yaml", POINTS), MS_OK, "%s", ms_buffer_text(&f.messages));
    cr_assert_eq(f.found.collectives.count, 3);
    const ms_case_collective *list = f.found.collectives.data;
    cr_assert_float_eq(list[0].measured_s, 0.1, 1e-12);
    cr_assert(list[1].is_plateau && !list[0].is_plateau);
    cr_assert_float_eq(list[1].size_B, 17179869184.0, 0);
    cr_assert_float_eq(list[2].measured_s, 16.94e-6, 1e-18);
    cr_assert_eq(cases_parse(&f, "bad.yaml",
                             "nccl_tests: [{system: x, op: all_reduce, ranks: 8, nodes: 1, points: "
                             "[{bytes: 1}]}]\n"),
                 MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages), "expected time_us or busbw_gb_s"));
    cases_end(&f);
}

/* ---- faults ---- */

Test(case_files, faults_of_a_file_are_told_at_their_place) {
    static const struct {
        const char *from, *to, *message;
    } ROWS[] = {
        {"layers: 8", "layer: 8", "cases.yaml:1:60: error: a.model.layer: unknown key; did you"},
        {", vocab: 512", "", "error: a.model.vocab: this key is required"},
        {"hidden: 64", "hidden: 64 GB", "error: a.model.hidden: "},
        {"score_step_time_s: 1", "score_step_time_s: 1 s", "error: a.score_step_time_s: "},
        {"score_step_time_s: 1", "score_step_time_s: 0", "a measured step takes time"},
        {"micro_batch: 1", "micro_batch: 0", "error: a.micro_batch: "},
        {"tp: 1", "tp: -1", "error: a.parallel.tp: "},
        {"gpu: x", "gpu: x, gpus_per_node: 5000",
         "error: a.system.gpus_per_node: expected 1 to 4096, got '5000'"},
        {"gpu: x", "gpu: x, nic_gbit_s_per_gpu: 1e17", "error: a.system.nic_gbit_s_per_gpu: "},
        {"id: a", "id: null", "error: [0]: 'id' and 'group' cannot be null"},
        {"group: g", "group: ~", "error: a: 'id' and 'group' cannot be null"},
    };
    static const char FIRST[] =
        "- {id: a, group: g, num_gpus: 1, system: {gpu: x}, model: {layers: 8, type: gpt, "
        "hidden: 64, heads: 2, ffn: 256, ffn_mats: 2, vocab: 512, seq_len: 64}, parallel: {tp: 1, "
        "pp: 1, dp: 1}, schedule_kind: 1f1b, micro_batch: 1, global_batch: 1, "
        "score_step_time_s: 1}\n";
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        cases_fixture f;
        ms_buffer text;
        cases_start(&f);
        ms_buffer_init(&text);
        const char *at = strstr(FIRST, ROWS[i].from);
        cr_assert_not_null(at);
        ms_buffer_add(&text, FIRST, (size_t)(at - FIRST));
        ms_buffer_printf(&text, "%s%s", ROWS[i].to, at + strlen(ROWS[i].from));
        cr_assert_eq(cases_parse(&f, "cases.yaml", ms_buffer_text(&text)), MS_E_INPUT, "%s",
                     ROWS[i].message);
        cr_assert_eq(f.diag.errors, 1, "%s", ms_buffer_text(&f.messages));
        cr_assert_not_null(strstr(ms_buffer_text(&f.messages), ROWS[i].message), "%s: %s",
                           ROWS[i].message, ms_buffer_text(&f.messages));
        ms_buffer_release(&text);
        cases_end(&f);
    }
}

Test(case_files, an_id_names_one_case_of_all_files) {
    cases_fixture f;
    cases_start(&f);
    cases_read(&f, &(case_words){.id = "twin"});
    static const char AGAIN[] =
        "- {id: twin, group: g, num_gpus: 1, system: {gpu: x}, model: {layers: 8, type: gpt, "
        "hidden: 64, heads: 2, ffn: 256, ffn_mats: 2, vocab: 512, seq_len: 64}, parallel: {tp: 1, "
        "pp: 1, dp: 1}, schedule_kind: 1f1b, micro_batch: 1, global_batch: 1}\n";
    cr_assert_eq(cases_parse(&f, "more.yaml", AGAIN), MS_E_INPUT);
    cr_assert_not_null(strstr(ms_buffer_text(&f.messages),
                              "more.yaml:1:8: error: twin: id 'twin' is there already, at "
                              "cases.yaml:1"),
                       "%s", ms_buffer_text(&f.messages));
    cases_end(&f);
}
