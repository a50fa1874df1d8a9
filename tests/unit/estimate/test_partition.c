/* Balanced layer partitions. */
#include "meshsim/layer_partition.h"

#include "spec_fixture.h"

/* Layers of each stage of a workload whose partition is balanced. */
static const int *balance(spec_fixture *f, const char *name, const char *const *sets,
                          size_t set_count, int *stages_out) {
    ms_job_layout laid_out;
    const ms_job_spec spec = spec_fixture_read(f, name, sets, set_count);
    cr_assert_eq(ms_job_lay_out(&spec, &f->arena, &f->diag, &laid_out), MS_OK, "%s",
                 ms_buffer_text(&f->messages));
    cr_assert_null(laid_out.layout.stage_layers, "they need times");
    cr_assert_eq(ms_layer_partition_balance(&spec, &f->arena, &f->diag, &laid_out), MS_OK);
    *stages_out = laid_out.program.model_stages;
    return laid_out.layout.stage_layers;
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
        /* Llama 3 as published, section 3.3.2 */
        {"llama3-405b-8k",
         {"schedule.kind=1f1b", "schedule.v=1", "data_parallel.reduce=last"},
         7,
         8,
         8,
         7},
        {"llama3-405b-8k", {"schedule.v=8"}, 0, 1, 1, 0},
        {"llama3-405b-8k", {"schedule.v=4"}, 1, 2, 2, 1},
        {"llama3-405b-8k", {"schedule.v=2", "schedule.first_stage_layers=6"}, 6, 4, 4, 3},
        {"deepseek-v3-2048", {"schedule.kind=1f1b"}, 4, 4, 4, 1},
        {"deepseek-v3-2048", {"schedule.kind=zbv"}, 1, 2, 2, 0},
        {"tiny", {"schedule.kind=1f1b"}, 5, 3, 5, 3}, /* its head takes what two layers do */
    };
    for (size_t i = 0; i < sizeof SHARES / sizeof SHARES[0]; i++) {
        const char *sets[5] = {"schedule.stage_layers=[]", "schedule.partition=balanced",
                               SHARES[i].sets[0], SHARES[i].sets[1], SHARES[i].sets[2]};
        size_t count = 2;
        while (count < 5 && sets[count] != NULL) {
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

/* Shares that a workload gives, or that are even, need no times. */
Test(layer_partition, what_is_known_stays) {
    static const char *const SETS[] = {"schedule.stage_layers=[7, 1]"};
    spec_fixture f;
    ms_job_layout laid_out;
    spec_fixture_init(&f);
    const ms_job_spec spec = spec_fixture_read(&f, "tiny", SETS, 1);
    cr_assert_eq(ms_job_lay_out(&spec, &f.arena, &f.diag, &laid_out), MS_OK);
    cr_assert_eq(ms_layer_partition_balance(&spec, &f.arena, &f.diag, &laid_out), MS_OK);
    cr_assert(laid_out.layout.stage_layers[0] == 7 && laid_out.layout.stage_layers[1] == 1);
    spec_fixture_release(&f);
}
