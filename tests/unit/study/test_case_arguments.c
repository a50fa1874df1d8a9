/* Measured runs whose arguments of Megatron-LM are known: what job those make. */
#include "cases_fixture.h"

/* CASES_EXPERTS and its mesh, as its run's arguments say them. */
#define ARGUED                                                                                     \
    "--num-layers 16, --hidden-size 7168, --num-attention-heads 128, --ffn-hidden-size 18432, "    \
    "--swiglu, --seq-length 4096, --num-experts 256, --moe-router-topk 8, "                        \
    "--moe-ffn-hidden-size 2048, --micro-batch-size 1, --global-batch-size 8, "                    \
    "--tensor-model-parallel-size 2, --pipeline-model-parallel-size 2, --sequence-parallel, "      \
    "--expert-model-parallel-size 4, --expert-tensor-parallel-size 1, "                            \
    "--use-distributed-optimizer, "                                                                \
    "--disable-bias-linear"

static ms_case_job argued_job(cases_fixture *f, const char *id, const char *more) {
    ms_case_job job =
        cases_job(f, &(case_words){.id = id,
                                   .group = "megatron_ci_small",
                                   .system = "gpu: H100-SXM5-80GB",
                                   .model = CASES_EXPERTS,
                                   .parallel = "tp: 2, pp: 2, vpp: 1, dp: 2, ep: 4, etp: 1, sp: "
                                               "true, zero: 1",
                                   .gpus = 8,
                                   .batch = "micro_batch: 1, global_batch: 8",
                                   .more = more});
    cases_lay_out(f, &job);
    return job;
}

Test(case_arguments, arguments_choose_the_recipe_of_fp8) {
    cases_fixture f;
    cases_start(&f);
    const ms_products delayed =
        argued_job(&f, "usual", ", precision: fp8, args: [" ARGUED ", --bf16, --fp8-format hybrid]")
            .spec.precision.products;
    cr_assert_eq(delayed.format, MS_PRODUCT_FP8);
    cr_assert_eq(delayed.scaling, MS_SCALING_DELAYED);
    cr_assert_eq(delayed.amax, MS_AMAX_REPLICAS);
    cr_assert_eq(delayed.first_plain_layers + delayed.last_plain_layers, 0);
    const ms_products blocks =
        argued_job(&f, "blocks",
                   ", precision: fp8, args: [" ARGUED
                   ", --bf16, --fp8-format e4m3, --fp8-recipe blockwise, --fp8-param-gather, "
                   "--first-last-layers-bf16, --tp-only-amax-red]")
            .spec.precision.products;
    cr_assert_eq(blocks.scaling, MS_SCALING_BLOCKWISE);
    cr_assert_eq(blocks.parameter_gathers, MS_TYPE_OF_PRODUCTS);
    cr_assert_eq(blocks.amax, MS_AMAX_TENSOR);
    cr_assert_eq(blocks.first_plain_layers, 1);
    cr_assert_eq(blocks.last_plain_layers, 1);
    cases_end(&f);
}

Test(case_arguments, arguments_choose_kernels_and_buffers) {
    cases_fixture f;
    cases_start(&f);
    ms_case_job job =
        argued_job(&f, "engine",
                   ", args: [" ARGUED ", --bf16, --moe-grouped-gemm, --hidden-dropout 0.0]"
                   ", provenance: 'x (2025-10-02)'");
    const ms_framework_memory *framework = &job.spec.framework_memory;
    cr_assert_str_eq(job.spec.framework.name, "megatron-core");
    cr_assert_eq(framework->libraries, MS_LIBRARIES_TRANSFORMER_ENGINE);
    cr_assert_eq(framework->cublas_B, 0);
    cr_assert_eq(framework->buffers,
                 MS_BUFFER_GROUPED_PRODUCTS | MS_BUFFER_GATHER | MS_BUFFER_WEIGHT_GRADIENTS);
    cr_assert_eq(job.spec.model.attention, MS_ATTENTION_FUSED);
    cr_assert_eq(job.spec.model.dropout, 0);
    cr_assert_eq(job.spec.model.loss, MS_LOSS_VOCAB_PARALLEL);
    cr_assert_eq(job.spec.model.moe.router, MS_MOE_ROUTER_EAGER);
    cr_assert_not(job.spec.data.has_reduce_overlap);
    job = argued_job(&f, "own",
                     ", args: [" ARGUED ", --transformer-impl local, --deterministic-mode, --fp16, "
                     "--cross-entropy-loss-fusion, --overlap-grad-reduce]"
                     ", provenance: 'x (2025-09-30)'");
    cr_assert_eq(job.spec.framework_memory.cublas_B, 32.0 * 1048576);
    cr_assert_eq(job.spec.framework_memory.buffers,
                 MS_BUFFER_GATHER | MS_BUFFER_SCORES | MS_BUFFER_MAIN_GRADIENTS);
    cr_assert_eq(job.spec.model.attention, MS_ATTENTION_UNFUSED);
    cr_assert_eq(job.spec.model.dropout, 0.1);
    cr_assert_eq(job.spec.model.loss, MS_LOSS_COMPILED);
    cr_assert_eq(job.spec.precision.gradients, MS_DTYPE_FP16);
    cr_assert(job.spec.data.has_reduce_overlap);
    job = argued_job(
        &f, "others",
        ", args: [" ARGUED
        ", --bf16, --attention-backend unfused, --no-gradient-accumulation-fusion, "
        "--cross-entropy-loss-fusion, --cross-entropy-fusion-impl te, "
        "--moe-expert-capacity-factor 1.5, --moe-router-fusion, --cuda-graph-impl local, "
        "--num-distributed-optimizer-instances 2, "
        "--fine-grained-activation-offloading, "
        "'--offload-modules [core_attn moe_act]']"
        ", provenance: 'x (2026-01-01)'");
    cr_assert_eq(job.spec.framework_memory.buffers, MS_BUFFER_GATHER);
    cr_assert_eq(job.spec.model.attention, MS_ATTENTION_UNFUSED);
    cr_assert_eq(job.spec.model.loss, MS_LOSS_TRANSFORMER_ENGINE);
    cr_assert_not(job.spec.model.has_fused_accumulation);
    cr_assert_eq(job.spec.model.moe.capacity_factor, 1.5);
    cr_assert_eq(job.spec.model.moe.router, MS_MOE_ROUTER_FUSED);
    cr_assert_eq(job.spec.data.copies, 2);
    cr_assert_eq(job.spec.offloaded, MS_OFFLOAD_ATTENTION);
    cr_assert_str_eq(job.differs, "CUDA graphs hold no memory of their own; "
                                  "copies to the host and back take no time");
    cases_end(&f);
}

/* Without --bf16 and --fp16 parameters and activations stay in fp32, also beside fp8; they are
 * their own master copy unless Megatron's FSDP makes one. */
Test(case_arguments, arguments_without_a_type_of_16_bits_leave_fp32) {
    cases_fixture f;
    cases_start(&f);
    const ms_spec_precision plain =
        argued_job(&f, "plain",
                   ", args: [" ARGUED ", --fp8-format hybrid, --attention-backend unfused]")
            .spec.precision;
    cr_assert_eq(plain.parameters, MS_DTYPE_FP32);
    cr_assert_eq(plain.products.format, MS_PRODUCT_FP8);
    cr_assert_eq(plain.optimizer_B, 8);
    const ms_spec_precision sharded =
        argued_job(&f, "fsdp",
                   ", args: [" ARGUED ", --attention-backend unfused, --use-megatron-fsdp]")
            .spec.precision;
    cr_assert_eq(sharded.parameters, MS_DTYPE_FP32);
    cr_assert_eq(sharded.optimizer_B, 12);
    cr_assert_eq(argued_job(&f, "bf16", ", args: [" ARGUED ", --bf16]").spec.precision.parameters,
                 MS_DTYPE_BF16);
    cases_end(&f);
}

static int axis_of(const ms_job_spec *spec, const char *name) {
    int size = 1;
    for (int axis = 0; axis < spec->mesh.axes; axis++) {
        size *= strcmp(spec->mesh.names[axis], name) == 0 ? spec->mesh.sizes[axis] : 1;
    }
    return size;
}

static void expect_model(const ms_case *c, const ms_model *model) {
    const ms_case_model *m = &c->model;
    cr_assert_eq(model->layers, m->layers, "%s", c->id);
    cr_assert_eq(model->hidden, m->hidden, "%s", c->id);
    cr_assert_eq(model->heads, m->heads, "%s", c->id);
    cr_assert_eq(model->kv_heads, m->kv_heads, "%s", c->id);
    cr_assert(m->experts.mla.kv_rank > 0 || model->head_dim == m->head_dim, "%s", c->id);
    cr_assert_eq(model->ffn, m->ffn, "%s", c->id);
    cr_assert_eq(model->is_gated, m->ffn_mats == 3, "%s", c->id);
    cr_assert_eq(model->sequence, m->sequence, "%s", c->id);
    cr_assert_eq(model->mtp_layers, m->mtp_layers, "%s", c->id);
    cr_assert_eq(model->has_tied_embeddings, m->traits.is_tied == 1, "%s", c->id);
    cr_assert_eq(model->is_rms_norm, m->traits.is_rms_norm == 1, "%s", c->id);
    cr_assert_eq(model->has_positions, m->traits.has_learned_positions == 1, "%s", c->id);
    cr_assert_eq(model->moe.experts, m->experts.experts, "%s", c->id);
    cr_assert_eq(model->mla.kv_rank, m->experts.mla.kv_rank, "%s", c->id);
    if (m->experts.experts > 0) {
        cr_assert_eq(model->moe.top_k, m->experts.top_k, "%s", c->id);
        cr_assert_eq(model->moe.ffn, m->experts.ffn, "%s", c->id);
        cr_assert_eq(model->moe.first_dense_layers, m->experts.dense_layers, "%s", c->id);
    }
}

/* The fields of these rows were made of the same arguments by somebody else. */
Test(case_arguments, arguments_of_published_rows_say_what_their_fields_say) {
    cases_fixture f;
    int jobs = 0;
    cases_start(&f);
    cr_assert_eq(ms_measurements_read(MS_SOURCE_DIR "/workloads/validation/megatron_ci.yaml",
                                      &f.arena, &f.diag, &f.found),
                 MS_OK);
    for (size_t i = 0; i < f.found.cases.count; i++) {
        const ms_case *c = &MS_AT(&f.found.cases, ms_case, i);
        ms_case_job job;
        cr_assert_gt(c->arguments.count, 0, "%s", c->id);
        cr_assert_eq(ms_case_translate(f.rules, c, &job), MS_OK, "%s", c->id);
        cr_assert_null(strstr(job.differs, "no rule for"), "%s: %s", c->id, job.differs);
        cr_assert_eq(job.reason == NULL, c->gpus > 0, "%s: %s", c->id, job.reason);
        if (job.reason != NULL) {
            continue;
        }
        const ms_case_parallel *p = &c->parallel;
        expect_model(c, &job.spec.model);
        cr_assert_eq(axis_of(&job.spec, "tp"), p->tp, "%s", c->id);
        cr_assert_eq(axis_of(&job.spec, "pp"), p->pp, "%s", c->id);
        cr_assert_eq(axis_of(&job.spec, "dp") * axis_of(&job.spec, "ep"), p->dp, "%s", c->id);
        cr_assert_eq(job.spec.data.zero, p->zero, "%s", c->id);
        cr_assert_eq(job.spec.schedule.kind == MS_SCHEDULE_INTERLEAVED, p->vpp > 1, "%s", c->id);
        cr_assert_eq(job.spec.batch.global, c->schedule.global_batch, "%s", c->id);
        cr_assert_eq(job.spec.batch.micro, c->schedule.micro_batch, "%s", c->id);
        jobs++;
    }
    cr_assert_eq(jobs, 52);
    cases_end(&f);
}
