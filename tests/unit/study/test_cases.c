/* Measured runs: what job each of them was, field by field against what the rules give by hand. */
#include "cases_fixture.h"

static void expect_axis(const ms_job_spec *spec, int axis, const char *name, int size) {
    cr_assert_lt(axis, spec->mesh.axes);
    cr_assert_str_eq(spec->mesh.names[axis], name);
    cr_assert_eq(spec->mesh.sizes[axis], size, "%s: %d", name, spec->mesh.sizes[axis]);
}

static void expect_layers(const ms_job_spec *spec, const int *layers, size_t count) {
    const ms_ints *found = &spec->schedule.partition.stage_layers;
    cr_assert_eq(found->count, count, "%zu stages", found->count);
    for (size_t i = 0; i < count; i++) {
        cr_assert_eq(found->items[i], layers[i], "stage %zu: %d", i, found->items[i]);
    }
}

#define EXPECT_LAYERS(spec, ...)                                                                   \
    expect_layers(spec, (const int[]){__VA_ARGS__}, sizeof(int[]){__VA_ARGS__} / sizeof(int))

Test(cases, what_is_published_goes_into_the_job) {
    cases_fixture f;
    cases_start(&f);
    const ms_case_job job = cases_job(&f, &(case_words){.id = "gpt3"});
    cases_lay_out(&f, &job);
    const ms_job_spec *spec = &job.spec;
    cr_assert_str_eq(job.framework, "megatron-lm-2021");
    cr_assert_str_eq(job.differs, "");
    cr_assert_str_eq(spec->name, "gpt3");
    cr_assert_str_eq(spec->platform.cluster->name, "selene-a100");
    cr_assert_eq(spec->platform.cluster->nodes, 128);
    cr_assert_not(spec->placement.is_given);
    cr_assert_eq(spec->mesh.axes, 4);
    expect_axis(spec, 0, "pp", 16);
    expect_axis(spec, 1, "dp", 8);
    expect_axis(spec, 2, "cp", 1);
    expect_axis(spec, 3, "tp", 8);
    cr_assert_eq(spec->schedule.kind, MS_SCHEDULE_1F1B);
    cr_assert_eq(spec->schedule.partition.kind, MS_PARTITION_EVEN);
    cr_assert_eq(spec->batch.global, 1536);
    cr_assert_eq(spec->batch.micro, 1);
    cr_assert_eq(spec->recompute.kind, MS_RECOMPUTE_FULL);
    cr_assert_eq(spec->data.zero, 0);
    cr_assert(spec->has_scatter_gather);
    cr_assert_not(spec->tensor.has_sequence_parallel);
    const ms_model *model = &spec->model;
    cr_assert_eq(model->layers, 96);
    cr_assert_eq(model->hidden, 12288);
    cr_assert_eq(model->kv_heads, 96);
    cr_assert_eq(model->head_dim, 128);
    cr_assert_eq(model->ffn, 49152);
    cr_assert_eq(model->vocab, 51200);
    cr_assert_eq(model->sequence, 2048);
    cr_assert_not(model->is_gated);
    cr_assert(model->has_bias && model->has_positions && model->has_tied_embeddings);
    cr_assert_eq(model->attention, MS_ATTENTION_UNFUSED); /* the framework's */
    cases_end(&f);
}

Test(cases, kernels_are_those_that_notes_name) {
    static const struct {
        const char *id, *more;
        ms_kernels kernels;
    } ROWS[] = {{"silent", "", MS_KERNELS_COMPILED}, /* the framework's */
                {"compiled", ", notes: torch.compile", MS_KERNELS_COMPILED},
                {"eager", ", notes: no torch.compile", MS_KERNELS_EAGER}};
    cases_fixture f;
    cases_start(&f);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const ms_case_job job = cases_job(
            &f,
            &(case_words){.id = ROWS[i].id,
                          .group = "torchtitan",
                          .model = "type: llama, layers: 32, hidden: 4096, heads: 32, kv_heads: 8, "
                                   "ffn: 14336, ffn_mats: 3, vocab: 128256, seq_len: 8192",
                          .parallel = "tp: 1, pp: 1, dp: 8, zero: 3",
                          .gpus = 8,
                          .batch = "micro_batch: 1, global_batch: 8",
                          .more = ROWS[i].more});
        cr_assert_eq(job.spec.model.kernels, ROWS[i].kernels, "%s", ROWS[i].id);
        cr_assert_eq(job.spec.model.attention, MS_ATTENTION_FLASH2);
    }
    cases_end(&f);
}

Test(cases, a_family_that_is_not_the_frameworks_has_its_own_traits) {
    cases_fixture f;
    cases_start(&f);
    const ms_case_job job = cases_job(
        &f, &(case_words){.model = "type: llama, layers: 32, hidden: 4096, heads: 32, kv_heads: 8, "
                                   "ffn: 14336, ffn_mats: 3, vocab: 32000, seq_len: 4096",
                          .parallel = "tp: 1, pp: 1, dp: 8, zero: 1",
                          .gpus = 8,
                          .batch = "micro_batch: 1, global_batch: 8"});
    cases_lay_out(&f, &job);
    const ms_model *model = &job.spec.model;
    cr_assert(model->is_gated && model->is_rms_norm);
    cr_assert_not(model->has_bias || model->has_positions || model->has_tied_embeddings);
    cr_assert_eq(model->dropout, 0);
    cr_assert_eq(model->kv_heads, 8);
    cr_assert_not(job.spec.has_scatter_gather); /* nothing to scatter */
    cases_end(&f);
}

Test(cases, a_part_of_a_node_is_a_placement) {
    cases_fixture f;
    cases_start(&f);
    const ms_case_job job =
        cases_job(&f, &(case_words){.system = "gpu: V100-SXM3-32GB",
                                    .parallel = "tp: 1, pp: 1, dp: 1",
                                    .gpus = 1,
                                    .batch = "micro_batch: 8, global_batch: 8"});
    const ms_job_layout layout = cases_lay_out(&f, &job);
    cr_assert_str_eq(job.spec.platform.cluster->name, "dgx2-v100");
    cr_assert_eq(job.spec.platform.cluster->nodes, 1);
    cr_assert(job.spec.placement.is_given);
    cr_assert_eq(layout.placement.idle_gpus, 15);
    cases_end(&f);
}

Test(cases, a_network_that_is_not_the_platforms_is_told) {
    cases_fixture f;
    cases_start(&f);
    const ms_case_job job =
        cases_job(&f, &(case_words){.system = "gpu: MI300X, nic_gbit_s_per_gpu: 100"});
    cr_assert_not_null(strstr(job.differs, "bandwidth is the platform's"), "%s", job.differs);
    cases_end(&f);
}

/* ---- stages ---- */

Test(cases, layers_lie_as_the_source_says) {
    cases_fixture f;
    cases_start(&f);
    static const char ZB[] = "type: gpt, layers: 22, hidden: 2304, heads: 24, ffn: 9216, "
                             "ffn_mats: 2, vocab: 50257, seq_len: 1024";
    static const char DEEP[] = "type: gpt, layers: 78, hidden: 13824, heads: 128, ffn: 55296, "
                               "ffn_mats: 2, vocab: 250880, seq_len: 2048";
    const case_words fewer = {.group = "zerobubble",
                              .model = ZB,
                              .parallel = "tp: 1, pp: 8, vpp: 1, dp: 1",
                              .gpus = 8,
                              .batch = "micro_batch: 6, global_batch: 144",
                              .more = ", notes: first and last stage one layer fewer"};
    ms_case_job job = cases_job(&f, &fewer);
    cases_lay_out(&f, &job);
    EXPECT_LAYERS(&job.spec, 2, 3, 3, 3, 3, 3, 3, 2);
    case_words rest = fewer;
    rest.id = "rest";
    rest.group = "bloom";
    rest.model = DEEP;
    rest.parallel = "tp: 8, pp: 12, vpp: 1, dp: 1";
    rest.gpus = 96;
    rest.more = ", notes: 'ceil(layers/pp) per stage, remainder on last'";
    job = cases_job(&f, &rest);
    EXPECT_LAYERS(&job.spec, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 1);
    case_words given = fewer;
    given.id = "given";
    given.more = ", stage_layers: [1, 3, 3, 3, 3, 3, 3, 3]";
    job = cases_job(&f, &given);
    EXPECT_LAYERS(&job.spec, 1, 3, 3, 3, 3, 3, 3, 3);
    case_words chunks = fewer;
    chunks.id = "chunks";
    chunks.kind = "interleaved";
    chunks.parallel = "tp: 1, pp: 4, vpp: 3, dp: 2";
    job = cases_job(&f, &chunks); /* 22 and the two ends on 12 stages */
    EXPECT_LAYERS(&job.spec, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1);
    cr_assert_eq(job.spec.schedule.kind, MS_SCHEDULE_INTERLEAVED);
    cr_assert_eq(job.spec.schedule.chunks, 3);
    cases_end(&f);
}

Test(cases, megatrons_word_for_stages_is_read) {
    static const struct {
        const char *layout;
        int pp, vpp, layers;
        int stages[16];
    } ROWS[] = {
        {"Et*7|t*7mL", 2, 1, 14, {7, 7}},
        {"Et*2|(tt|)*5t|tmL", 4, 2, 14, {2, 2, 2, 2, 2, 2, 1, 1}},
        {"Et*3\\\\|\\\\(tt\\\\|\\\\)*6L", 4, 2, 15, {3, 2, 2, 2, 2, 2, 2, 0}},
    };
    cases_fixture f;
    cases_start(&f);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        ms_buffer parallel, model, id;
        ms_buffer_init(&parallel);
        ms_buffer_init(&model);
        ms_buffer_init(&id);
        ms_buffer_printf(&parallel, "tp: 1, pp: %d, vpp: %d, dp: 1, layout: \"%s\"", ROWS[i].pp,
                         ROWS[i].vpp, ROWS[i].layout);
        ms_buffer_printf(&model,
                         "type: gpt, layers: %d, hidden: 512, heads: 8, ffn: 2048, ffn_mats: 2, "
                         "vocab: 1024, seq_len: 512",
                         ROWS[i].layers);
        ms_buffer_printf(&id, "layout%zu", i);
        const ms_case_job job =
            cases_job(&f, &(case_words){.id = ms_buffer_text(&id),
                                        .group = "other",
                                        .model = ms_buffer_text(&model),
                                        .parallel = ms_buffer_text(&parallel),
                                        .kind = ROWS[i].vpp > 1 ? "interleaved" : "1f1b",
                                        .gpus = ROWS[i].pp,
                                        .batch = "micro_batch: 1, global_batch: 8"});
        cr_assert_null(job.reason, "%s", job.reason);
        expect_layers(&job.spec, ROWS[i].stages, (size_t)(ROWS[i].pp * ROWS[i].vpp));
        ms_buffer_release(&parallel);
        ms_buffer_release(&model);
        ms_buffer_release(&id);
    }
    cases_end(&f);
}

Test(cases, late_validation_is_of_zero_bubble_orders) {
    cases_fixture f;
    cases_start(&f);
    const case_words w = {.id = "zb",
                          .group = "zerobubble",
                          .model = "type: gpt, layers: 24, hidden: 2304, heads: 24, ffn: 9216, "
                                   "ffn_mats: 2, vocab: 50257, seq_len: 1024",
                          .parallel = "tp: 1, pp: 8, vpp: 1, dp: 1",
                          .kind = "zbh2",
                          .recompute = "none",
                          .gpus = 8,
                          .batch = "micro_batch: 6, global_batch: 144"};
    ms_case_job job = cases_job(&f, &w);
    cases_lay_out(&f, &job);
    cr_assert_eq(job.spec.schedule.kind, MS_SCHEDULE_ZBH2);
    cr_assert_eq(job.spec.schedule.step_end, MS_STEP_END_POST_VALIDATION);
    cr_assert_eq(job.spec.simulation.steps, 4);
    case_words plain = w;
    plain.id = "plain";
    plain.kind = "1f1b";
    job = cases_job(&f, &plain);
    cr_assert_eq(job.spec.schedule.step_end, MS_STEP_END_SYNCHRONOUS);
    cr_assert_eq(job.spec.simulation.steps, 1);
    cases_end(&f);
}

/* ---- experts ---- */

Test(cases, experts_are_replicas_to_the_rest) {
    cases_fixture f;
    cases_start(&f);
    ms_case_job job = cases_job(&f, &(case_words){.id = "axis",
                                                  .group = "dsv3",
                                                  .system = "gpu: H800-SXM5-80GB",
                                                  .model = CASES_EXPERTS,
                                                  .parallel = "tp: 1, pp: 2, vpp: 2, dp: 16, ep: 8",
                                                  .kind = "dualpipe",
                                                  .recompute = "partial",
                                                  .gpus = 32,
                                                  .batch = "micro_batch: 1, global_batch: 128"});
    cases_lay_out(&f, &job);
    cr_assert_eq(job.spec.experts.ep, 0);
    cr_assert_eq(job.spec.mesh.axes, 5);
    expect_axis(&job.spec, 1, "dp", 2);
    expect_axis(&job.spec, 2, "ep", 8);
    cr_assert_eq(job.spec.model.moe.experts, 256);
    cr_assert_eq(job.spec.model.moe.shared_ffn, 2048);
    cr_assert_eq(job.spec.model.moe.node_limit, 4); /* the framework's */
    cr_assert_eq(job.spec.model.mla.kv_rank, 512);
    cr_assert_eq(job.spec.model.mtp_layers, 1);
    cr_assert_eq(job.spec.recompute.parts,
                 MS_RECOMPUTE_NORMS | MS_RECOMPUTE_LATENT_UP | MS_RECOMPUTE_ACTIVATIONS);
    job = cases_job(
        &f, &(case_words){.id = "mesh",
                          .group = "other",
                          .system = "gpu: H100-SXM5-80GB",
                          .model = CASES_EXPERTS,
                          .parallel = "tp: 2, pp: 2, vpp: 1, dp: 8, ep: 8, etp: 1, sp: true",
                          .recompute = "none",
                          .gpus = 32,
                          .batch = "micro_batch: 1, global_batch: 128"});
    cases_lay_out(&f, &job);
    cr_assert_eq(job.spec.experts.ep, 8);
    cr_assert_eq(job.spec.experts.tp, 1);
    cr_assert(job.spec.tensor.has_sequence_parallel);
    cases_end(&f);
}

/* ---- what is recomputed, and in which precision ---- */

Test(cases, pods_hold_copies_of_what_is_sharded) {
    static const char PALM[] = "type: llama, layers: 118, hidden: 18432, heads: 48, kv_heads: 1, "
                               "head_dim: 256, ffn: 73728, ffn_mats: 3, vocab: 256000, "
                               "seq_len: 2048";
    cases_fixture f;
    cases_start(&f);
    const ms_case_job two = cases_job(&f, &(case_words){.id = "two",
                                                        .group = "palm",
                                                        .system = "gpu: TPU v4",
                                                        .model = PALM,
                                                        .parallel = "tp: 12, pp: 1, dp: 512",
                                                        .gpus = 6144,
                                                        .batch = "micro_batch: 1, "
                                                                 "global_batch: 2048"});
    cases_lay_out(&f, &two);
    expect_axis(&two.spec, 1, "pod", 2);
    expect_axis(&two.spec, 2, "dp", 256);
    cr_assert_eq(two.spec.data.shard.count, 1);
    cr_assert_str_eq(two.spec.data.shard.items[0], "dp");
    const ms_case_job one = cases_job(&f, &(case_words){.id = "one",
                                                        .group = "palm",
                                                        .system = "gpu: TPU v4",
                                                        .model = PALM,
                                                        .parallel = "tp: 12, pp: 1, dp: 256",
                                                        .gpus = 3072,
                                                        .batch = "micro_batch: 1, "
                                                                 "global_batch: 2048"});
    cases_lay_out(&f, &one);
    expect_axis(&one.spec, 1, "dp", 256);
    cr_assert_eq(one.spec.data.shard.count, 0);
    cases_end(&f);
}

Test(cases, parts_of_layers_are_those_that_a_source_names) {
    cases_fixture f;
    cases_start(&f);
    const ms_case_job job = cases_job(
        &f, &(case_words){.recompute = "partial", .more = ", recompute: 'RMSNorm and SwiGLU'"});
    cr_assert_eq(job.spec.recompute.kind, MS_RECOMPUTE_NONE);
    cr_assert_eq(job.spec.recompute.parts, MS_RECOMPUTE_NORMS | MS_RECOMPUTE_ACTIVATIONS);
    const ms_case_job unknown = cases_job(
        &f, &(case_words){.id = "unknown", .recompute = "partial", .more = ", recompute: [some]"});
    cr_assert_str_eq(unknown.reason, "which parts 'partial' recomputes is not known");
    cases_end(&f);
}

Test(cases, recomputation_is_the_sources_or_the_frameworks) {
    static const struct {
        const char *group, *kind;
        ms_recompute recompute;
        unsigned parts;
        const char *model;
    } ROWS[] = {
        {"korthikanti22", "selective", MS_RECOMPUTE_SELECTIVE, 0, NULL},
        {"korthikanti22", "none", MS_RECOMPUTE_NONE, 0, NULL},
        {"korthikanti22", "unstated", MS_RECOMPUTE_FULL, 0, NULL}, /* the framework's */
        {"torchtitan", "selective", MS_RECOMPUTE_NONE,
         MS_RECOMPUTE_NORMS | MS_RECOMPUTE_ACTIVATIONS | MS_RECOMPUTE_PRODUCTS,
         "type: llama, layers: 96, hidden: 12288, heads: 96, ffn: 32768, ffn_mats: 3, "
         "vocab: 51200, seq_len: 2048"},
        {"torchtitan", "selective", MS_RECOMPUTE_NONE,
         MS_RECOMPUTE_NORMS | MS_RECOMPUTE_ACTIVATIONS, NULL},
        {"torchtitan", "full", MS_RECOMPUTE_FULL, 0, NULL},
        {"torchtitan", "none", MS_RECOMPUTE_NONE, 0, NULL},
    };
    cases_fixture f;
    cases_start(&f);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char id[16];
        snprintf(id, sizeof id, "row%zu", i);
        const ms_case_job job = cases_job(&f, &(case_words){.id = id,
                                                            .group = ROWS[i].group,
                                                            .recompute = ROWS[i].kind,
                                                            .model = ROWS[i].model});
        cr_assert_null(job.reason, "%s", job.reason);
        cr_assert_eq(job.spec.recompute.kind, ROWS[i].recompute, "%zu", i);
        cr_assert_eq(job.spec.recompute.parts, ROWS[i].parts, "%zu", i);
    }
    cases_end(&f);
}

Test(cases, what_is_not_built_is_told_beside_the_job) {
    cases_fixture f;
    cases_start(&f);
    ms_case_job job = cases_job(&f, &(case_words){.more = ", precision: fp8 rowwise"});
    cr_assert_str_eq(job.differs,
                     "products of fewer bits run in the working type: the GPU has none");
    job = cases_job(&f, &(case_words){.id = "rows",
                                      .system = "gpu: H100-SXM5-80GB",
                                      .more = ", precision: fp8 rowwise"});
    cr_assert_str_eq(job.differs, "");
    cr_assert_eq(job.spec.precision.products.format, MS_PRODUCT_FP8);
    cr_assert_eq(job.spec.precision.products.scaling, MS_SCALING_ROWWISE);
    cr_assert_eq(job.spec.precision.products.tensor_gathers, MS_TYPE_OF_PARAMETERS);
    job =
        cases_job(&f, &(case_words){.id = "amp", .group = "mpt", .more = ", precision: amp_bf16"});
    cr_assert_str_eq(job.differs, "");
    cr_assert_eq(job.spec.precision.gradients, MS_DTYPE_FP32);
    job = cases_job(&f, &(case_words){.id = "pure", .group = "mpt", .more = ", precision: bf16"});
    cr_assert_eq(job.spec.precision.gradients, MS_DTYPE_BF16);
    cases_end(&f);
}

/* BLOOM's shapes were tried in fp16, with sums in fp16, and trained in bf16, with sums in fp32. */
Test(cases, a_source_of_two_setups_is_told_apart_by_its_working_type) {
    static const struct {
        const char *more, *framework;
        ms_dtype gradients;
    } ROWS[] = {{", precision: fp16", "bloom-fp16", MS_DTYPE_FP16},
                {", precision: bf16", "bloom", MS_DTYPE_FP32},
                {"", "bloom", MS_DTYPE_FP32}};
    cases_fixture f;
    cases_start(&f);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char id[16];
        snprintf(id, sizeof id, "bloom%zu", i);
        const ms_case_job job =
            cases_job(&f, &(case_words){.id = id, .group = "bloom", .more = ROWS[i].more});
        cr_assert_null(job.reason, "%s", job.reason);
        cr_assert_str_eq(job.framework, ROWS[i].framework);
        cr_assert_eq(job.spec.precision.gradients, ROWS[i].gradients);
    }
    cases_end(&f);
}

/* ---- cases without a job ---- */

Test(cases, replicas_follow_from_all_gpus) {
    cases_fixture f;
    cases_start(&f);
    const ms_case *c = cases_read(&f, &(case_words){.parallel = "tp: 8, pp: 16, dp: null, cp: 2"});
    cr_assert_eq(c->parallel.dp, 4);
    cases_end(&f);
}

Test(cases, attention_of_its_notes_ran_where_its_software_has_none) {
    static const struct {
        const char *id, *group, *more;
        ms_attention_kernel attention;
    } ROWS[] = {
        {"a", "narayanan21", "", MS_ATTENTION_UNFUSED},
        {"b", "narayanan21", ", notes: with Flash Attention", MS_ATTENTION_FLASH1},
        {"c", "narayanan21", ", notes: with FlashAttention-2", MS_ATTENTION_FLASH2},
        {"d", "narayanan21", ", notes: no flash attention", MS_ATTENTION_UNFUSED},
        {"e", "nemo2407", ", notes: flash attention", MS_ATTENTION_FLASH2}, /* the framework's */
    };
    cases_fixture f;
    cases_start(&f);
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const ms_case_job job = cases_job(
            &f, &(case_words){.id = ROWS[i].id, .group = ROWS[i].group, .more = ROWS[i].more});
        cr_assert_eq(job.spec.model.attention, ROWS[i].attention, "%s", ROWS[i].id);
    }
    cases_end(&f);
}

Test(cases, what_is_not_published_is_a_reason) {
    static const struct {
        case_words w;
        const char *reason;
    } ROWS[] = {
        {{.batch = "micro_batch: null, global_batch: 1536"}, "micro_batch is not published"},
        {{.parallel = "tp: 8, pp: null, dp: null"}, "parallel.pp is not published"},
        {{.parallel = "tp: 8, pp: 10, dp: null"}, "parallel.dp is not published"},
        {{.system = "gpu: MI250X"}, "no platform for a GPU 'MI250X'"},
        {{.parallel = "tp: 8, pp: 16, dp: 4"}, "the mesh has 512 ranks, and num_gpus is 1024"},
        {{.kind = "spiral"}, "schedule 'spiral' is not built"},
        {{.recompute = "some"}, "which parts 'some' recomputes is not known"},
        {{.kind = "interleaved", .parallel = "tp: 8, pp: 16, dp: 8"},
         "parallel.vpp is not published"},
        {{.batch = "micro_batch: 3, global_batch: 1535"},
         "a batch of 1535 is no multiple of 3 sequences on 8 replicas"},
        {{.parallel = "tp: 8, pp: 16, dp: 8, layout: 'Et|t'"},
         "parallel.layout 'Et|t' does not give 96 layers to 16 stages"},
        {{.parallel = "tp: 8, pp: 16, dp: 8, order: [pp, xp]"},
         "parallel.order names an axis 'xp' that is not known"},
    };
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        cases_fixture f;
        cases_start(&f);
        const ms_case_job job = cases_job(&f, &ROWS[i].w);
        cr_assert_not_null(job.reason, "%zu", i);
        cr_assert_str_eq(job.reason, ROWS[i].reason);
        cr_assert_eq(f.messages.length, 0, "%s", ms_buffer_text(&f.messages));
        cases_end(&f);
    }
}
