/* Folded and unfolded runs see the same contention: all of it, or with analytic fidelity none. */
#include <math.h>

#include "job_fixture.h"

/* Eight data-parallel pairs of two nodes; two of them share each NIC. */
static const char *const SHARED_NICS[] = {"platform.file=hypothetical-two-tier",
                                          "platform.nodes=2",
                                          "platform.library=none",
                                          "mesh.pp=1",
                                          "mesh.dp=2",
                                          "mesh.tp=8",
                                          "model.vocab=0",
                                          NULL};

static double reduction_s(const char *fidelity, bool no_fold, double *step_out) {
    job_fixture f;
    const ms_result *result = job_fixture_run(&f, "tiny", SHARED_NICS, fidelity, no_fold);
    double busy_s = result->metrics.axes[MS_AXIS_DP].busy_s;
    *step_out = result->metrics.step_time_s;
    job_fixture_release(&f);
    return busy_s;
}

Test(fold_fidelity, analytic_folds_without_contention) {
    double folded_s = 0.0;
    double unfolded_s = 0.0;
    double alone_s = reduction_s("analytic", true, &unfolded_s);
    cr_assert_lt(fabs(reduction_s("analytic", false, &folded_s) / alone_s - 1), 1e-12);
    cr_assert_lt(fabs(folded_s / unfolded_s - 1), 1e-12);
    /* 28 us are the two passes' latency; the rest is shared by two */
    double shared_s = reduction_s("flow", false, &folded_s);
    cr_assert_lt(fabs((shared_s - 28e-6) / (alone_s - 28e-6) - 2), 1e-6, "%g against %g", shared_s,
                 alone_s);
    cr_assert_gt(folded_s, unfolded_s);
}

Test(fold_fidelity, flow_folds_with_contention) {
    double step_s = 0.0;
    double alone_s = reduction_s("analytic", true, &step_s);
    double shared_s = reduction_s("flow", true, &step_s);
    cr_assert_lt(fabs((shared_s - 28e-6) / (alone_s - 28e-6) - 2), 1e-6);
}
