/* What check says of memory is what the run finds: one model, once in the order of the lists and
 * once at the times of the timeline. Equal to the last bit. */
#include "job_fixture.h"
#include "workload_names.h"

static void compare_ranks(job_fixture *f, const char *name) {
    ms_estimate estimate;
    cr_assert_eq(ms_job_estimate(&f->job, &f->arena, &f->diag, &estimate), MS_OK);
    for (int32_t r = 0; r < f->result.dag.rank_count; r++) {
        const ms_rank_estimate *told = &estimate.ranks[f->result.dag.ranks[r].pp];
        const ms_rank_memory *found = &f->result.memory[r];
        cr_assert_eq(told->held.total_B, found->held.total_B, "%s, rank %d: check %.17g, run %.17g",
                     name, r, told->held.total_B, found->held.total_B);
        cr_assert_eq(told->held.activation_B, found->held.activation_B, "%s, rank %d", name, r);
        cr_assert_eq(told->held.buffer_B, found->held.buffer_B, "%s, rank %d", name, r);
        cr_assert_eq(ms_held_static_B(&told->held),
                     found->held.parameter_B + found->held.gradient_B + found->held.optimizer_B,
                     "%s, rank %d", name, r);
    }
}

/* All of workloads/. */
Test(memory_agrees, canonical_workloads, .timeout = 120) {
    workload_name names[WORKLOADS_MAX];
    size_t count = find_workloads(names);
    for (size_t i = 0; i < count; i++) {
        job_fixture f;
        job_fixture_run(&f, names[i].text, NULL, "analytic", false);
        compare_ranks(&f, names[i].text);
        job_fixture_release(&f);
    }
}

/* Every kind, sharded in several ways, with pairs fused and serial. */
Test(memory_agrees, every_kind, .timeout = 120) {
    static const char *const MORE[][2] = {
        {"schedule.overlap=serial", NULL},
        {"data_parallel.zero=3", "data_parallel.gather_stages=2"},
        {"data_parallel.zero=2", "data_parallel.reduce=round"},
        {"recompute=full", "steps=2"},
    };
    int compared = 0;
    for (const char *const *kind = ms_schedule_kind_names(); *kind != NULL; kind++) {
        for (size_t i = 0; i < sizeof MORE / sizeof MORE[0]; i++) {
            char choice[64];
            snprintf(choice, sizeof choice, "schedule.kind=%s", *kind);
            ms_schedule_kind of_name;
            cr_assert_eq(ms_schedule_kind_from_name(*kind, &of_name), MS_OK, "%s", *kind);
            /* 2 virtual stages where the kind has to be told how many, else its own number */
            bool is_any = ms_schedule_kind_traits(of_name).chunks == 0;
            const char *sets[] = {
                choice,     "model.vocab=0", is_any ? "schedule.v=2" : "schedule.v=0",
                MORE[i][0], MORE[i][1],      NULL};
            job_fixture f;
            if (job_fixture_load(&f, "tiny", sets, "analytic", false) == MS_OK) {
                cr_assert_eq(ms_job_run(&f.job, &f.arena, &f.diag, &f.result), MS_OK, "%s: %s",
                             *kind, ms_buffer_text(&f.messages));
                compare_ranks(&f, *kind);
                compared++;
            } else {
                cr_log_info("%s %s: %s", *kind, MORE[i][0], ms_buffer_text(&f.messages));
            }
            job_fixture_release(&f);
        }
    }
    cr_assert_geq(compared, 52, "%d cases are legal; only rounds are not for most kinds", compared);
}
