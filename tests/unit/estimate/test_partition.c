/* Balanced layer partitions. */
#include "estimate/layer_partition.h"

#include "spec_fixture.h"

/* Layers of each stage of a workload whose partition is balanced. */
static const int *balance(spec_fixture *f, const char *name, const char *const *sets,
                          size_t set_count, int *stages_out) {
    ms_job job;
    const ms_job_spec spec = spec_fixture_read(f, name, sets, set_count);
    cr_assert_eq(ms_job_lay_out(&spec, &f->arena, &f->diag, &job), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    cr_assert_null(job.layout.stage_layers, "they need times");
    cr_assert_eq(ms_layer_partition_balance(&job, &f->arena, &f->diag), MS_OK);
    *stages_out = job.program.model_stages;
    return job.layout.stage_layers;
}

/* With fewer layers than stages the model's ends have none. */
Test(layer_partition, balanced_shares_leave_the_ends_empty) {
    static const char *const SETS[] = {"mesh.pp=4", "mesh.dp=1", "model.layers=2",
                                       "schedule.partition=balanced"};
    spec_fixture f;
    int stages = 0;
    spec_fixture_init(&f);
    const int *shares = balance(&f, "tiny", SETS, 4, &stages);
    cr_assert_eq(stages, 4);
    cr_assert(shares[0] == 0 && shares[1] == 1 && shares[2] == 1 && shares[3] == 0);
    spec_fixture_release(&f);
}

/* Balanced shares follow what stages take: the head and prediction modules leave less room for
 * layers, and a rank with much on one stage gets less on its other one. */
Test(layer_partition, balanced_shares) {
    static const struct {
        const char *workload;
        const char *sets[4];
        int first, inner, before_last, last; /* layers of stages 0, 1, S - 2 and S - 1 */
    } SHARES[] = {
        /* Llama 3 as published, section 3.3.2; with 80 GiB the second stage would not fit */
        {"llama3-405b-8k",
         {"schedule.kind=1f1b", "schedule.v=1", "data_parallel.reduce=last",
          "platform.gpu.hbm=96 GiB"},
         7,
         8,
         8,
         7},
        {"llama3-405b-8k", {"schedule.v=8"}, 0, 1, 1, 0},
        {"llama3-405b-8k", {"schedule.v=4"}, 1, 2, 2, 1},
        /* with 16 microbatches, 8.74 s simulated; 8.99 s with 7, 8, 8, ..., 8, 7 layers a rank */
        {"llama3-405b-8k", {"schedule.v=2", "schedule.first_stage_layers=6"}, 6, 4, 3, 3},
        /* three of the first five are dense, and the last stage has a prediction module with a
         * head: 21.2 s simulated, 22.9 s with 4, 4, .., 4, 1 */
        {"deepseek-v3-2048", {"schedule.kind=1f1b"}, 5, 4, 4, 0},
        /* one rank has both ends: 20.1 s simulated, 20.7 s with a layer on it */
        {"deepseek-v3-2048", {"schedule.kind=zbv"}, 0, 3, 2, 0},
        {"tiny", {"schedule.kind=1f1b"}, 5, 3, 5, 3}, /* its head takes what two layers do */
    };
    for (size_t i = 0; i < sizeof SHARES / sizeof SHARES[0]; i++) {
        const char *sets[6] = {"schedule.stage_layers=[]", "schedule.partition=balanced",
                               SHARES[i].sets[0],          SHARES[i].sets[1],
                               SHARES[i].sets[2],          SHARES[i].sets[3]};
        size_t count = 2;
        while (count < 6 && sets[count] != NULL) {
            count++;
        }
        spec_fixture f;
        int stages = 0;
        spec_fixture_init(&f);
        const int *shares = balance(&f, SHARES[i].workload, sets, count, &stages);
        cr_assert_eq(shares[0], SHARES[i].first, "%zu: %d", i, shares[0]);
        cr_assert_eq(shares[stages - 1], SHARES[i].last, "%zu: %d", i, shares[stages - 1]);
        cr_assert_eq(shares[1], SHARES[i].inner, "%zu: %d", i, shares[1]);
        cr_assert_eq(shares[stages - 2], SHARES[i].before_last, "%zu: %d", i, shares[stages - 2]);
        spec_fixture_release(&f);
    }
}

/* A head of tiny multiplies 2 * 1024 * 51200 times a token, a layer 24 * 1024^2 + 2 * 1024^2 with
 * half of the attention left out: 3.85 layers, and its loss is under one more. So three stages of 4
 * layers and one with the head alone are the only partition without a stage of 5 layers' time,
 * whatever the reductions take with which a step of 32 microbatches ends. */
Test(layer_partition, reductions_at_the_end_of_a_step_move_no_layers) {
    static const char *const SETS[] = {
        "schedule={kind: 1f1b, partition: balanced}",
        "platform={file: flat, nodes: 32}",
        "mesh={dp: 8, pp: 4, tp: 1}",
        "model.layers=12",
        "batch.global=256",
        "data_parallel={zero: 1, overlap_reduce: true, overlap_gather: true, bucketing: megatron}"};
    spec_fixture f;
    int stages = 0;
    spec_fixture_init(&f);
    const int *shares = balance(&f, "tiny", SETS, sizeof SETS / sizeof SETS[0], &stages);
    cr_assert_eq(stages, 4);
    cr_assert(shares[0] == 4 && shares[1] == 4 && shares[2] == 4 && shares[3] == 0, "%d %d %d %d",
              shares[0], shares[1], shares[2], shares[3]);
    spec_fixture_release(&f);
}

/* A dense layer of tiny multiplies about 24 * 1024^2 times a token, one of experts of which four
 * are chosen 72 * 1024^2, as much as three. Three dense layers in front, six of experts and a head
 * of 3.85 dense ones come to 24.85: 3 + 3 * 3 = 12 on the first stage, 3 * 3 + 3.85 = 12.85 on the
 * other one. */
Test(layer_partition, layers_that_differ_count_as_what_they_take) {
    static const char *const MOE[] = {
        "schedule={kind: 1f1b, partition: balanced}", "model.layers=9", "model.bias=false",
        "model.moe={experts: 8, top_k: 4, ffn: 4096, first_dense_layers: 3}", "batch.global=64"};
    spec_fixture f;
    int stages = 0;
    spec_fixture_init(&f);
    const int *shares = balance(&f, "tiny", MOE, sizeof MOE / sizeof MOE[0], &stages);
    cr_assert_eq(shares[0] + shares[1], 9);
    cr_assert_eq(shares[0], 6, "%d", shares[0]);
    spec_fixture_release(&f);
}

/* Shares that a workload gives, or that are even, need no times. */
Test(layer_partition, what_is_known_stays) {
    static const char *const SETS[] = {"schedule.stage_layers=[7, 1]"};
    spec_fixture f;
    ms_job job;
    spec_fixture_init(&f);
    const ms_job_spec spec = spec_fixture_read(&f, "tiny", SETS, 1);
    cr_assert_eq(ms_job_lay_out(&spec, &f.arena, &f.diag, &job), MS_OK);
    cr_assert_eq(ms_layer_partition_balance(&job, &f.arena, &f.diag), MS_OK);
    cr_assert(job.layout.stage_layers[0] == 7 && job.layout.stage_layers[1] == 1);
    spec_fixture_release(&f);
}
