/* Overlapped pairs on a platform: a pass computes while a collective holds up the other one, and
 * nothing else changes. */
#include <math.h>

#include "job_fixture.h"

/* Four experts' ranks in each of four pipeline ranks, all-to-alls that take their time. */
static const char *const EXPERTS[] = {"platform.nodes=2",
                                      "mesh.pp=4",
                                      "mesh.dp=1",
                                      "mesh.tp=1",
                                      "mesh.ep=4",
                                      "mesh.order=[pp, dp, ep, tp]",
                                      "model.moe={experts: 8, top_k: 2}",
                                      "model.bias=false",
                                      "model.layers=8",
                                      "batch.global=64",
                                      "platform.tiers.nvlink.bandwidth=20 GB/s"};
enum { SETS = sizeof EXPERTS / sizeof EXPERTS[0], COUNT = SETS + 2 };

/* COUNT overrides, with room for one more. */
static const char **sets_of(ms_arena *arena, const char *kind, const char *overlap) {
    const char **sets = MS_NEW(arena, const char *, COUNT + 2);
    cr_assert_not_null(sets);
    memcpy(sets, EXPERTS, sizeof EXPERTS);
    sets[SETS] = ms_arena_printf(arena, "schedule.kind=%s", kind);
    sets[SETS + 1] = ms_arena_printf(arena, "schedule.overlap=%s", overlap);
    return sets;
}

/* What a run leaves for comparison. */
typedef struct outcome {
    double step_s, compute_s, ep_B, exposed_s, busy_s, peak_B;
} outcome;

static outcome run(const char *kind, const char *overlap, bool no_fold) {
    job_fixture f;
    ms_arena arena;
    ms_arena_init(&arena);
    const ms_result *result = job_fixture_run(
        &f, "tiny", (const char *const *)sets_of(&arena, kind, overlap), "analytic", no_fold);
    const ms_metrics *m = &result->metrics;
    outcome o = {.step_s = m->step_time_s,
                 .compute_s = m->share[MS_TIME_COMPUTE] * m->step_time_s,
                 .ep_B = m->axes[MS_AXIS_EP].bytes,
                 .exposed_s = m->axes[MS_AXIS_EP].exposed_s,
                 .busy_s = m->axes[MS_AXIS_EP].busy_s,
                 .peak_B = result->memory[result->peak_rank].held.total_B};
    job_fixture_release(&f);
    ms_arena_release(&arena);
    return o;
}

static void assert_same(double a, double b, const char *what) {
    cr_assert_lt(fabs(a - b), 1e-9 * fabs(b), "%s: %.15g against %.15g", what, a, b);
}

static void assert_hides(const char *kind) {
    outcome together = run(kind, "fused", false), apart = run(kind, "serial", false);
    assert_same(together.ep_B, apart.ep_B, "bytes");
    assert_same(together.compute_s, apart.compute_s, "computation");
    cr_assert_lt(together.step_s, apart.step_s);
    cr_assert_lt(together.exposed_s, 0.7 * apart.exposed_s, "%s: %g s of %g s hidden", kind,
                 together.exposed_s, apart.exposed_s);
}

Test(job_pairs, dualpipe_hides_all_to_alls) {
    assert_hides("dualpipe");
}

Test(job_pairs, dualpipev_hides_all_to_alls) {
    assert_hides("dualpipev");
}

Test(job_pairs, folding_changes_nothing) {
    const char *const kinds[] = {"dualpipe", "dualpipev", "chimera"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        outcome folded = run(kinds[i], "fused", false), every = run(kinds[i], "fused", true);
        assert_same(folded.step_s, every.step_s, "step");
        assert_same(folded.exposed_s, every.exposed_s, "exposed");
        assert_same(folded.peak_B, every.peak_B, "peak");
    }
}

/* The segments of every pass keep their order, whatever runs between them. */
Test(job_pairs, passes_keep_their_order) {
    job_fixture f;
    ms_arena arena;
    ms_arena_init(&arena);
    const ms_result *result =
        job_fixture_run(&f, "tiny", sets_of(&arena, "dualpipev", "fused"), "analytic", false);
    const ms_dag *dag = &result->dag;
    int units = f.job.program.mb_count;
    int *last = MS_NEW(&arena, int, f.job.program.stages *units *MS_OP_KIND_COUNT);
    cr_assert_not_null(last);
    int turns = 0;
    for (int32_t i = 0; i < dag->op_count; i++) {
        const ms_dag_op *op = &dag->ops[i];
        int tag = dag->works[op->work].tag;
        if (!ms_dag_is_compute(dag, i) || op->mb < 0 || tag < 0) {
            continue;
        }
        int *newest = &last[(op->stage * units + op->mb) * MS_OP_KIND_COUNT + op->kind];
        cr_assert_gt(tag + 1, *newest, "segment %d of %d%d comes late", tag, op->stage, op->mb);
        *newest = tag + 1;
        int32_t prev = ms_dag_find_previous(dag, dag->member_first[i]);
        turns += prev >= 0 && (dag->ops[prev].stage != op->stage || dag->ops[prev].mb != op->mb);
    }
    int passes = 2 * f.job.program.stages * units;
    cr_assert_gt(turns, 2 * passes, "%d passes take turns %d times", passes, turns);
    job_fixture_release(&f);
    ms_arena_release(&arena);
}

/* DualPipe keeps every stage twice: the parameters of a rank are those of both its stages. */
Test(job_pairs, two_directions_keep_parameters_twice) {
    job_fixture one, two;
    ms_arena arena;
    ms_arena_init(&arena);
    const char **sets = sets_of(&arena, "1f1b", "fused");
    sets[COUNT] = "model.tied_embeddings=false"; /* else a rank with both ends stores them once */
    const ms_result *single = job_fixture_run(&one, "tiny", sets, "analytic", false);
    sets = sets_of(&arena, "dualpipe", "fused");
    sets[COUNT] = "model.tied_embeddings=false";
    const ms_result *both = job_fixture_run(&two, "tiny", sets, "analytic", false);
    for (int p = 0; p < 4; p++) {
        double sum_B = single->memory[p].held.parameter_B + single->memory[3 - p].held.parameter_B;
        assert_same(both->memory[p].held.parameter_B, sum_B, "parameters");
    }
    assert_same(both->metrics.axes[MS_AXIS_EP].bytes, single->metrics.axes[MS_AXIS_EP].bytes,
                "bytes of all-to-alls");
    job_fixture_release(&one);
    job_fixture_release(&two);
    ms_arena_release(&arena);
}

/* Virtual stages per rank: 2 where the kind takes any number and has to be told one, 0 where it
 * has its own. */
static int chunks_of(const char *name) {
    ms_schedule_kind kind;
    cr_assert_eq(ms_schedule_kind_from_name(name, &kind), MS_OK, "%s", name);
    return ms_schedule_kind_traits(kind).chunks == 0 ? 2 : 0;
}

/* What a job sends over dp on a schedule, with reductions beside the passes or after them [B]. */
static double reduced_B(const char *kind, int zero, bool is_overlapped) {
    job_fixture f;
    ms_arena arena;
    ms_arena_init(&arena);
    const char *const sets[] = {"platform.nodes=2",
                                "mesh.pp=4",
                                "mesh.tp=1",
                                "mesh.dp=4",
                                "model.layers=8",
                                "batch.global=64",
                                ms_arena_printf(&arena, "schedule.v=%d", chunks_of(kind)),
                                ms_arena_printf(&arena, "schedule.kind=%s", kind),
                                ms_arena_printf(&arena, "data_parallel.zero=%d", zero),
                                is_overlapped ? "data_parallel.overlap_reduce=true"
                                              : "data_parallel.overlap_reduce=false",
                                NULL};
    const ms_result *result = job_fixture_run(&f, "tiny", sets, "analytic", false);
    double bytes = result->metrics.axes[MS_AXIS_DP].bytes;
    job_fixture_release(&f);
    ms_arena_release(&arena);
    return bytes;
}

/* Whole backward passes and weight gradients apart take turns on a stage; the last of either
 * reduces. */
Test(job_pairs, every_kind_reduces_all_gradients_beside_the_passes) {
    const char *const *kinds = ms_schedule_kind_names();
    for (size_t i = 0; kinds[i] != NULL; i++) {
        for (int zero = 0; zero <= 2; zero++) {
            double after_B = reduced_B(kinds[i], zero, false);
            cr_assert_gt(after_B, 0.0);
            assert_same(reduced_B(kinds[i], zero, true), after_B, kinds[i]);
        }
    }
}

/* Half of a GPU's SMs held by communication: pairs compute for as much longer as arithmetic takes
 * of them, which memory's traffic and the launches of kernels do not; passes apart do not change.
 */
Test(job_pairs, communication_holds_sms_of_pairs) {
    static const char *const OVERLAPS[] = {"fused", "serial"};
    for (int i = 0; i < 2; i++) {
        job_fixture free, held;
        ms_arena arena;
        ms_arena_init(&arena);
        const char **sets = sets_of(&arena, "dualpipev", OVERLAPS[i]);
        const ms_result *all = job_fixture_run(&free, "tiny", sets, "analytic", false);
        sets[COUNT] = "schedule.communication_sms=54";
        const ms_result *half = job_fixture_run(&held, "tiny", sets, "analytic", false);
        double all_s = all->metrics.share[MS_TIME_COMPUTE] * all->metrics.step_time_s;
        double half_s = half->metrics.share[MS_TIME_COMPUTE] * half->metrics.step_time_s;
        if (i == 0) {
            cr_assert(half_s > 1.1 * all_s && half_s < 2 * all_s, "%g to %g", all_s, half_s);
        } else {
            assert_same(half_s, all_s, "apart");
        }
        job_fixture_release(&free);
        job_fixture_release(&held);
        ms_arena_release(&arena);
    }
}
