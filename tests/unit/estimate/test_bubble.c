/* What else is said of a job beside its step, by hand: idle share of the schedule, busy ranks,
 * capacity, and latency that dominates rings. */
#include "estimate/advice.h"
#include "hand_job.h"

/* Equal F and B = 2 F: (P - 1) / (M + P - 1).  Source: Narayanan et al., SC'21. */
Test(bubble, of_1f1b_is_the_textbooks) {
    static const int CASES[][2] = {{2, 2}, {4, 8}, {8, 8}, {1, 3}};
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        double p = CASES[i][0], m = CASES[i][1];
        hand_job x;
        hand_job_init(&x, MS_SCHEDULE_1F1B, CASES[i][0], CASES[i][1]);
        hand_job_plain(&x, 1e-3, 1e6);
        x.optimizer_s[0] = 5e-3; /* no part of it, nor are messages */
        ms_estimate estimate = hand_job_estimate(&x);
        cr_assert_float_eq(estimate.ideal_bubble_fraction, (p - 1) / (m + p - 1), 1e-12, "%g",
                           estimate.ideal_bubble_fraction);
        x.job.spec.schedule.step_end =
            MS_STEP_END_POST_VALIDATION; /* a first stage is under way all the time */
        estimate = hand_job_estimate(&x);
        cr_assert_float_eq(estimate.ideal_bubble_fraction, (p - 1) / (m + p - 1), 1e-12);
        hand_job_release(&x);
    }
}

/* Zero bubble: with F = I = W a rank of H2 is busy from its first pass to its last one, and where
 * ranks meet, the last one's start costs (P - 1) F of (3 M + P - 1) F.  Source: Qi et al.,
 * arXiv:2401.10241, sections 2.3 and 4. */
Test(bubble, of_zbh2_is_only_there_where_ranks_meet) {
    hand_job x;
    hand_job_init(&x, MS_SCHEDULE_ZBH2, 4, 9);
    x.segments[0] = hand_compute(1e-3);
    hand_job_pass(&x, MS_PASS_F, 0, 1);
    hand_job_pass(&x, MS_PASS_I, 0, 1);
    hand_job_pass(&x, MS_PASS_W, 0, 1);
    x.segments[1] = hand_compute(2e-3);
    hand_job_pass(&x, MS_PASS_B, 1, 1);
    ms_estimate estimate = hand_job_estimate(&x);
    cr_assert_float_eq(estimate.ideal_bubble_fraction, 3 / 30.0, 1e-12, "%g",
                       estimate.ideal_bubble_fraction);
    x.job.spec.schedule.step_end = MS_STEP_END_POST_VALIDATION;
    estimate = hand_job_estimate(&x);
    cr_assert_float_eq(estimate.ideal_bubble_fraction, 0.0, 1e-12, "%g",
                       estimate.ideal_bubble_fraction);
    hand_job_release(&x);
}

/* Each rank's own passes and update; the mean over all is what no GPU computes less than. */
Test(bubble, ranks_compute_their_passes_and_update) {
    hand_job x;
    hand_job_init(&x, MS_SCHEDULE_1F1B, 2, 4);
    hand_job_plain(&x, 1e-3, 0);
    x.segments[2] = hand_compute(5e-3);
    x.segments[3] = hand_compute(0);
    x.segments[4] = hand_collective(MS_COLL_ALL_REDUCE, 1e9); /* no computation */
    x.stage[1].passes[MS_PASS_F] = (ms_pass_plan){.first = 2, .count = 1};
    x.stage[1].passes[MS_PASS_B] = (ms_pass_plan){.first = 3, .count = 2};
    x.optimizer_s[1] = 2e-3;
    x.stage[0].layers = 3;
    x.stage[1].layers = 5;
    ms_estimate estimate = hand_job_estimate(&x);
    cr_assert_float_eq(estimate.ranks[0].compute_s, 12e-3, 1e-14);
    cr_assert_float_eq(estimate.ranks[1].compute_s, 22e-3, 1e-14);
    cr_assert_float_eq(estimate.busy_s, 17e-3, 1e-10);
    cr_assert_leq(estimate.busy_s, 17e-3);
    cr_assert_eq(estimate.ranks[0].layers, 3);
    cr_assert_eq(estimate.ranks[1].layers, 5);
    hand_job_release(&x);
}

/* The rank that holds most decides whether the job fits: 1F1B keeps P - p microbatches. */
Test(bubble, the_fullest_rank_decides_what_fits) {
    hand_job x;
    hand_job_init(&x, MS_SCHEDULE_1F1B, 2, 4);
    hand_job_plain(&x, 1e-3, 0);
    ms_estimate estimate = hand_job_estimate(&x);
    double capacity_B = x.f.platform.gpu.hbm_B - x.f.platform.gpu.reserve_B;
    cr_assert_eq(estimate.capacity_B, capacity_B);
    cr_assert_eq(estimate.peak_rank, 0, "the first of those that hold as much");
    for (int s = 0; s < 2; s++) {
        x.stage[s].memory =
            (ms_stage_memory){.parameter_B = 0.25 * capacity_B, .activation_B = capacity_B / 4};
    }
    estimate = hand_job_estimate(&x);
    cr_assert_float_eq(estimate.ranks[0].peak_B, 0.75 * capacity_B, 1.0);
    cr_assert_float_eq(estimate.ranks[1].peak_B, 0.5 * capacity_B, 1.0);
    cr_assert_eq(estimate.peak_rank, 0);
    cr_assert(estimate.fits);
    x.stage[1].memory.parameter_B = 0.75 * capacity_B;
    estimate = hand_job_estimate(&x);
    cr_assert_eq(estimate.peak_rank, 1);
    cr_assert(estimate.fits, "to the last byte");
    x.stage[1].memory.parameter_B += 1e6;
    cr_assert_not(hand_job_estimate(&x).fits);
    hand_job_release(&x);
}

/* A ring of 8 for 8,000 bytes: 14 steps of 1 us and 0.04 us of bytes each. 100 of them are 1.4 of
 * 2.856 + 1.4056 ms. Rings of two have no shorter way, and all-reduces beside passes are no wait.
 */
Test(latency_ahead, of_rings_is_counted_where_ranks_wait) {
    static const char *const NAMES[] = {"dp"};
    const int ranks = 8;
    hand_job x;
    hand_job_init(&x, MS_SCHEDULE_1F1B, 1, 100);
    cr_assert_eq(ms_mesh_init(&x.job.mesh, NAMES, &ranks, 1, &x.f.diag), MS_OK);
    x.segments[0] = hand_compute(9.52e-6);
    x.segments[1] = hand_collective(MS_COLL_ALL_REDUCE, 8000);
    x.segments[2] = hand_compute(19.04e-6);
    x.stage[0].passes[MS_PASS_F] = (ms_pass_plan){.first = 0, .count = 2};
    x.stage[0].passes[MS_PASS_B] = (ms_pass_plan){.first = 2, .count = 1};
    ms_estimate estimate = hand_job_estimate(&x);
    double step_s = 100 * (9.52e-6 + 19.04e-6 + 14 * (1e-6 + 1000 / 25e9));
    cr_assert_float_eq(estimate.step_s, step_s, 1e-14, "%.12g", estimate.step_s);
    cr_assert_eq(ms_advise_latency_ahead(&x.job, &estimate, &x.f.diag), MS_OK);
    char expected[128];
    snprintf(expected, sizeof expected,
             "about %.1f %% of the step waits for rings whose time is mostly latency: dp "
             "all_reduce of 7.81 KiB among 8 (96 %%)",
             100 * 100 * 14e-6 / step_s);
    cr_assert_not_null(strstr(ms_buffer_text(&x.f.messages), expected), "%s, not %s",
                       ms_buffer_text(&x.f.messages), expected);
    ms_buffer_release(&x.f.messages);
    x.segments[1].is_async = true;
    cr_assert_eq(ms_advise_latency_ahead(&x.job, &estimate, &x.f.diag), MS_OK);
    cr_assert_str_empty(ms_buffer_text(&x.f.messages));
    x.segments[1].is_async = false;
    x.segments[1].coll_B = 8e6; /* 8 us and 1 MB: mostly bytes */
    cr_assert_eq(ms_advise_latency_ahead(&x.job, &estimate, &x.f.diag), MS_OK);
    cr_assert_str_empty(ms_buffer_text(&x.f.messages));
    hand_job_release(&x);
}
