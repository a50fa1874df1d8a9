/* A fabric kind that a test adds by its row carries a whole step. */
#include <math.h>

#include "job_fixture.h"
#include "toy_fabric.h"

static double step_s(const char *kind, const char *latency, const char *cables) {
    job_fixture f;
    const char *sets[] = {"platform.nodes=8", kind, latency, cables, NULL};
    ms_job_request request = {.workload = MS_SOURCE_DIR "/workloads/tiny.yaml",
                              .platform = MS_SOURCE_DIR "/platforms/flat.yaml",
                              .sets = sets,
                              .set_count = cables == NULL ? 3 : 4,
                              .fidelity = "analytic"};
    job_fixture_init(&f);
    ms_dag_init(&f.result.dag);
    ms_status status = ms_job_load(&request, &f.arena, &f.diag, &f.job);
    status = status == MS_OK ? ms_job_run(&f.job, &f.arena, &f.diag, &f.result) : status;
    cr_assert_eq(status, MS_OK, "%s", ms_buffer_text(&f.messages));
    double step = f.result.metrics.step_time_s;
    job_fixture_release(&f);
    return step;
}

/* Without contention a cable between two GPUs is as good as a switch with half its latency on each
 * side; with three cables communication, and with it the step, is faster. */
Test(job_toy_fabric, carries_a_step) {
    ms_fabric_add_kind(&TOY_FABRIC);
    double flat_s =
        step_s("platform.fabric.kind=flat", "platform.tiers.fabric.latency=500 ns", NULL);
    double mesh_s = step_s("platform.fabric.kind=full-mesh", "platform.tiers.fabric.latency=1 us",
                           "platform.fabric.cables=1");
    double thick_s = step_s("platform.fabric.kind=full-mesh", "platform.tiers.fabric.latency=1 us",
                            "platform.fabric.cables=3");
    cr_assert_float_eq(mesh_s / flat_s, 1.0, 1e-12, "%.17g %.17g", mesh_s, flat_s);
    cr_assert_lt(thick_s, mesh_s);
}
