/* Specs by the estimator: what a single estimate of the whole job says, and no memory for what is
 * known. */
#include <malloc.h>
#include <math.h>

#include "cluster/platform/price.h"
#include "estimate/estimate.h"
#include "estimate/layer_partition.h"
#include "estimate/slow_spans.h"
#include "spec_fixture.h"

enum { SPECS_MAX = 2000 };

typedef struct spec_set {
    spec_fixture f;
    ms_job_spec *list; /* [SPECS_MAX] */
    int count;
} spec_set;

static void begin(spec_set *set) {
    spec_fixture_init(&set->f);
    set->list = MS_NEW(&set->f.arena, ms_job_spec, SPECS_MAX);
    set->count = 0;
}

static ms_job_spec *add(spec_set *set, const ms_job_spec *base) {
    cr_assert_lt(set->count, SPECS_MAX);
    set->list[set->count] = *base;
    return &set->list[set->count++];
}

/* The choices that change which collectives stand where in a pass. */
static void add_choices(spec_set *set, const ms_job_spec *base) {
    for (int i = 0; i < 48; i++) {
        ms_job_spec *spec = add(set, base);
        spec->choices.zero = i % 4;
        spec->choices.has_reduce_overlap = i / 4 % 2 == 1;
        spec->choices.has_gather_overlap = i / 8 % 2 == 1 && spec->choices.zero > 0;
        spec->choices.recompute = (ms_recompute)(i / 16);
        spec->choices.recompute_parts = 0;
        spec->choices.recompute_layers = i / 16 == MS_RECOMPUTE_FULL ? 2 : 0;
        spec->choices.bucket_B = i % 3 == 0 ? 3e8 : 0;
        spec->host.launch_s = i % 5 * 1e-4; /* faster than the kernels, about as fast, slower */
        spec->host.syncs = (unsigned)i % 4 | (i % 8 < 4 ? 0U : MS_SYNC_BATCH);
    }
}

static void add_meshes(spec_set *set, const char *workload, const int sizes[][3], int count) {
    ms_job_spec base = spec_fixture_read(&set->f, workload, NULL, 0);
    base = ms_job_spec_derive(&base);
    for (int i = 0; i < count; i++) {
        cr_assert_eq(spec_set_axis(&base, "tp", sizes[i][0]), MS_OK);
        cr_assert_eq(spec_set_axis(&base, "pp", sizes[i][1]), MS_OK);
        cr_assert_eq(spec_set_axis(&base, "dp", sizes[i][2]), MS_OK);
        add_choices(set, &base);
    }
}

/* Orders and choices that take other ways through the estimate: pairs, slices, blocking sends,
 * placed gathers, slowed computation, experts, ranks on part of a cluster, given costs. */
static void add_others(spec_set *set) {
    static const char *const SETS[][6] = {
        {"schedule={kind: dualpipev}", "model.layers=32"},
        {"schedule={kind: dualpipev, overlap: serial}", "model.layers=32"},
        {"schedule={kind: dualpipev, communication_sms: 54}", "model.layers=32"},
        {"schedule={kind: dualpipe}", "mesh={tp: 1, pp: 4, dp: 2}", "model.layers=32"},
        {"schedule={kind: seq1f1b, splits: 2}", "model.layers=24"},
        {"schedule={kind: zbv}", "model.layers=24", "data_parallel.zero=1"},
        {"schedule={kind: zbh1, sends: blocking}", "model.layers=24"},
        {"data_parallel={zero: 3, gather_stages: 1}", "model.layers=24"},
        {"platform.gpu.compute_slowdown=1.3", "data_parallel={zero: 3, overlap_gather: true}",
         "model.layers=24"},
        {"platform.gpu.compute_slowdown=1.3", "data_parallel={zero: 1, overlap_reduce: true}",
         "tensor_parallel={sequence: true, overlap: bulk}", "model.layers=24"},
        {"schedule={partition: balanced}", "model.layers=23"},
        {"schedule={kind: interleaved, v: 2, partition: balanced}", "model.layers=23"},
        {"schedule={first_stage_layers: 9}", "model.layers=20"},
        {"model.moe={experts: 8, top_k: 2}", "model.bias=false",
         "mesh={tp: 1, pp: 2, dp: 2, ep: 2, order: [pp, dp, ep, tp]}"},
        {"platform.nodes=3", "placement={nodes: [1], spares: 1}"},
        {"recompute=full", "recompute_layers=3", "model.layers=24"},
        {"steps=3"},
    };
    for (size_t i = 0; i < sizeof SETS / sizeof SETS[0]; i++) {
        size_t count = 0;
        while (count < 6 && SETS[i][count] != NULL) {
            count++;
        }
        ms_job_spec spec = spec_fixture_read(&set->f, "tiny", SETS[i], count);
        add(set, &spec);
    }
}

/* Jobs on few GPUs with long runs of layers, and those that ship. */
static void list_specs(spec_set *set) {
    static const int ON_1024[][3] = {{8, 16, 8}, {4, 2, 128}, {8, 1, 128}};
    static const int ON_8[][3] = {{2, 2, 2}, {1, 1, 8}, {2, 4, 1}, {4, 1, 2}};
    static const char *const SHIPPED[] = {"llama3-405b-8k",   "llama3-8b-128k-64",
                                          "mixtral-8x7b-64",  "deepseek-v3-2048",
                                          "megatron-1t-3072", "palm-540b-6144"};
    add_meshes(set, "gpt3-175b-1024", ON_1024, 3);
    add_meshes(set, "tiny", ON_8, 4);
    add_others(set);
    for (size_t i = 0; i < sizeof SHIPPED / sizeof SHIPPED[0]; i++) {
        ms_job_spec shipped = spec_fixture_read(&set->f, SHIPPED[i], NULL, 0);
        add(set, &shipped);
    }
}

/* A single estimate of the whole job: every layer of every stage. */
static ms_status estimate_alone(spec_set *set, const ms_job_spec *spec, ms_arena *arena,
                                ms_estimate *estimate) {
    ms_job job;
    ms_diag mute;
    ms_diag_init_mute(&mute);
    ms_status status = ms_job_lay_out(spec, arena, &mute, &job);
    status = status == MS_OK ? ms_layer_partition_balance(&job, arena, &set->f.diag) : status;
    if (status != MS_OK) {
        return status;
    }
    cr_assert_eq(ms_model_costs(&spec->model, &job.layout, &job.precision, &job.platform->gpu,
                                arena, &set->f.diag, &job.costs),
                 MS_OK);
    job.run.no_sharing = true;
    return ms_job_estimate(&job, arena, &set->f.diag, estimate);
}

/* Sums are rounded in another order.  Where communication slows computation down, the estimator
 * lets all repetitions of a layer take what the last one takes, a single estimate each its own. */
static double tolerance_of(const ms_job_spec *spec) {
    bool is_slowed = ms_slowdown_is_needed(spec->platform.cluster->gpu.compute_slowdown);
    return is_slowed ? 5e-3 : 1e-11;
}

/* Bounds of cost and energy are those of what bounds the step and what its GPUs compute. */
static void check_price_bounds(const ms_job_spec *spec, const ms_estimate *alone,
                               const ms_spec_estimate *found, ms_arena *arena) {
    ms_diag mute;
    ms_job job;
    ms_diag_init_mute(&mute);
    cr_assert_eq(ms_job_lay_out(spec, arena, &mute, &job), MS_OK);
    const ms_price_use least = ms_job_price_use(&job, found->lower_bound_s, alone->busy_s);
    const ms_platform *platform = spec->platform.cluster;
    double energy_J = ms_price_step_J(platform, &least);
    cr_assert_eq(ms_price_step_USD(platform, &found->least), ms_price_step_USD(platform, &least));
    cr_assert_leq(fabs(ms_price_step_J(platform, &found->least) - energy_J), 1e-9 * energy_J);
}

/* The bound from computations alone is no higher than that of the whole job, nor than what its GPUs
 * compute.  Returns its share of the whole job's bound. */
static double check_early_bound(ms_estimator *estimator, const ms_job_spec *spec,
                                const ms_estimate *alone) {
    ms_diag mute;
    ms_price_use least;
    ms_diag_init_mute(&mute);
    cr_assert_eq(ms_estimator_bound(estimator, spec, &mute, &least), MS_OK);
    cr_assert_leq(least.step_s, alone->lower_bound_s * (1.0 + 1e-9), "%s", spec->name);
    cr_assert_leq(least.busy_s, alone->busy_s * (1.0 + 1e-9), "%s", spec->name);
    return least.step_s / alone->lower_bound_s;
}

/* Specs one by one by both, without what pipeline ranks take from each other on shared links, which
 * the estimator leaves out.  Returns how many are legal. */
static int compare(spec_set *set, ms_estimator *estimator, ms_fidelity fidelity) {
    ms_diag mute;
    int legal = 0, hosted = 0;
    double early_shares = 0.0; /* where no host holds the GPUs up */
    ms_diag_init_mute(&mute);
    for (int i = 0; i < set->count; i++) {
        ms_arena arena;
        ms_estimate alone;
        ms_spec_estimate found;
        ms_arena_init(&arena);
        set->list[i].simulation.fidelity = fidelity;
        ms_status status = estimate_alone(set, &set->list[i], &arena, &alone);
        cr_assert_eq(ms_estimator_run(estimator, &set->list[i], &mute, &found), status, "%d", i);
        if (status == MS_OK) {
            cr_assert_lt(fabs(found.step_s / alone.step_s - 1.0), tolerance_of(&set->list[i]),
                         "%d: %.17g not %.17g", i, found.step_s, alone.step_s);
            cr_assert_leq(found.lower_bound_s, alone.lower_bound_s * (1.0 + 1e-9), "%d", i);
            cr_assert_geq(found.lower_bound_s, 0.995 * alone.lower_bound_s, "%d", i);
            check_price_bounds(&set->list[i], &alone, &found, &arena);
            cr_assert_eq(found.peak_B, alone.ranks[alone.peak_rank].peak_B, "%d", i);
            cr_assert_eq(found.fits, alone.fits);
            double share = check_early_bound(estimator, &set->list[i], &alone);
            bool is_hosted = set->list[i].host.launch_s > 0.0;
            early_shares += is_hosted ? 0.0 : share;
            hosted += is_hosted;
            legal++;
        }
        ms_arena_release(&arena);
    }
    cr_assert_gt(early_shares, 0.5 * (legal - hosted), "%g of %d", early_shares, legal - hosted);
    return legal;
}

Test(estimator, says_what_a_single_estimate_says) {
    spec_set set;
    begin(&set);
    list_specs(&set);
    ms_estimator *estimator = ms_estimator_new(&set.f.arena);
    int analytic = compare(&set, estimator, MS_FIDELITY_ANALYTIC);
    int flow = compare(&set, estimator, MS_FIDELITY_FLOW);
    cr_assert_gt(analytic, 200, "%d of %d", analytic, set.count);
    cr_assert_eq(flow, analytic);
    ms_estimator_free(estimator);
    spec_fixture_release(&set.f);
}

Test(estimator, allocates_nothing_for_what_is_known) {
    static const int ON_8[][3] = {{2, 2, 2}, {1, 1, 8}, {2, 4, 1}};
    spec_set set;
    ms_diag mute;
    begin(&set);
    ms_diag_init_mute(&mute);
    add_meshes(&set, "tiny", ON_8, 3);
    ms_estimator *estimator = ms_estimator_new(&set.f.arena);
    size_t arena_B = 0, heap_B = 0;
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < set.count; i++) {
            ms_spec_estimate found;
            ms_estimator_run(estimator, &set.list[i], &mute, &found);
            cr_assert(round < 2 || mallinfo2().uordblks == heap_B, "round %d, spec %d", round, i);
            heap_B = mallinfo2().uordblks;
        }
        cr_assert(round == 0 || set.f.arena.used_B == arena_B, "round %d", round);
        arena_B = set.f.arena.used_B;
    }
    ms_estimator_free(estimator);
    spec_fixture_release(&set.f);
}

/* The same pipeline with other messages, other groups on the same GPUs, other passes. */
static void list_neighbours(spec_set *set) {
    static const char *const ORDERS[] = {"mesh.order=[pp, dp, tp]", "mesh.order=[dp, pp, tp]",
                                         "mesh.order=[dp, tp, pp]", "mesh.order=[tp, pp, dp]"};
    for (int i = 0; i < 4; i++) {
        const char *const settings[] = {ORDERS[i], "schedule={kind: interleaved, v: 2}"};
        ms_job_spec base = spec_fixture_read(&set->f, "gpt3-175b-1024", settings, 2);
        for (int k = 0; k < 4; k++) {
            ms_job_spec *spec = add(set, &base);
            spec->choices.zero = k % 2;
            spec->choices.recompute = k / 2 == 0 ? MS_RECOMPUTE_FULL : MS_RECOMPUTE_NONE;
        }
    }
}

Test(estimator, a_spec_does_not_depend_on_those_before_it) {
    spec_set set;
    begin(&set);
    list_neighbours(&set);
    ms_estimator *all = ms_estimator_new(&set.f.arena);
    double before_s = 0.0;
    int others = 0;
    for (int i = 0; i < set.count; i++) {
        ms_estimator *own = ms_estimator_new(&set.f.arena);
        ms_spec_estimate found, alone;
        cr_assert_eq(ms_estimator_run(all, &set.list[i], &set.f.diag, &found), MS_OK);
        cr_assert_eq(ms_estimator_run(own, &set.list[i], &set.f.diag, &alone), MS_OK);
        /* a library's classes are laid out with the bytes that are asked for first */
        cr_assert_lt(fabs(found.step_s / alone.step_s - 1.0), 1e-12, "%d", i);
        cr_assert_lt(fabs(found.lower_bound_s / alone.lower_bound_s - 1.0), 1e-12, "%d", i);
        cr_assert_eq(found.peak_B, alone.peak_B, "%d", i);
        others += fabs(found.step_s / before_s - 1.0) > 1e-6;
        before_s = found.step_s;
        ms_estimator_free(own);
    }
    cr_assert_eq(others, set.count); /* neighbours differ, so that a mix-up would be seen */
    ms_estimator_free(all);
    spec_fixture_release(&set.f);
}

/* A schedule that cannot be built, layers that do not divide, and a mesh that is none are refused
 * each time. */
Test(estimator, refuses_again_what_it_refused) {
    spec_set set;
    begin(&set);
    ms_job_spec tiny = spec_fixture_read(&set.f, "tiny", NULL, 0);
    ms_estimator *estimator = ms_estimator_new(&set.f.arena);
    ms_job_spec odd[3] = {tiny, tiny, tiny};
    for (int i = 0; i < 3; i++) {
        odd[i] = ms_job_spec_derive(&tiny);
    }
    odd[0].schedule.kind = MS_SCHEDULE_INTERLEAVED;
    odd[0].schedule.chunks = 2;
    odd[0].batch = (ms_spec_batch){.microbatches = 3, .micro = 1};
    odd[1].schedule.partition.first_stage_layers = odd[1].model.layers;
    odd[2].mesh.sizes[0]++;
    for (int i = 0; i < 6; i++) {
        ms_spec_estimate found;
        cr_assert_eq(ms_estimator_run(estimator, &odd[i / 2], &set.f.diag, &found), MS_E_INPUT,
                     "%d", i);
        cr_assert_gt(set.f.messages.length, 0, "%d", i);
    }
    ms_spec_estimate found;
    cr_assert_eq(ms_estimator_run(estimator, &tiny, &set.f.diag, &found), MS_OK);
    ms_estimator_free(estimator);
    spec_fixture_release(&set.f);
}

/* Layers are looked at before an order is built, and no other jobs are refused for it: none that
 * the whole check lets pass, and all that it refuses for their layers, in the same words. */
static int expect_early(spec_fixture *f, const ms_job_spec *spec) {
    ms_arena arena;
    ms_job job;
    ms_buffer early, late;
    ms_diag first, second;
    ms_arena_init(&arena);
    ms_buffer_init(&early);
    ms_buffer_init(&late);
    ms_diag_init_mute(&first);
    ms_diag_init_mute(&second);
    first.reason = &early;
    second.reason = &late;
    cr_assert_eq(ms_job_shape(spec, &arena, &f->diag, &job), MS_OK);
    bool is_refused = ms_job_check_layers(&job, &first) != MS_OK;
    bool is_illegal = ms_job_lay_out(spec, &arena, &second, &job) != MS_OK;
    bool is_of_layers = strstr(ms_buffer_text(&late), "virtual stages") != NULL ||
                        strstr(ms_buffer_text(&late), "entries (pp x v)") != NULL;
    cr_assert(is_illegal || !is_refused, "%s", ms_buffer_text(&early));
    if (is_of_layers) {
        cr_assert_str_eq(ms_buffer_text(&early), ms_buffer_text(&late));
    }
    ms_buffer_release(&early);
    ms_buffer_release(&late);
    ms_arena_release(&arena);
    return is_of_layers;
}

Test(estimator, layers_are_looked_at_before_an_order_is_built) {
    static const ms_schedule_kind KINDS[] = {MS_SCHEDULE_1F1B,     MS_SCHEDULE_INTERLEAVED,
                                             MS_SCHEDULE_GPIPE,    MS_SCHEDULE_ZBV,
                                             MS_SCHEDULE_DUALPIPE, MS_SCHEDULE_DUALPIPEV};
    int listed[] = {4, 4};
    spec_fixture f;
    spec_fixture_init(&f);
    int refused = 0, count = 0;
    const ms_job_spec tiny = spec_fixture_read(&f, "tiny", NULL, 0);
    for (; count < 4 * 3 * 6 * 4; count++) {
        ms_job_spec spec = ms_job_spec_derive(&tiny);
        spec.mesh.sizes[0] = 1 << count % 4; /* pp */
        spec.mesh.sizes[1] = 8 >> count % 4; /* dp */
        spec.mesh.sizes[2] = 1;
        spec.schedule.chunks = count / 4 % 3;
        spec.schedule.kind = KINDS[count / 12 % 6];
        int choice = count / 72;
        spec.schedule.partition.first_stage_layers = choice == 1 ? 3 : 0;
        spec.schedule.partition.kind = choice == 2 ? MS_PARTITION_BALANCED : MS_PARTITION_EVEN;
        spec.schedule.partition.stage_layers = (ms_ints){listed, choice == 3 ? 2 : 0};
        spec.batch = (ms_spec_batch){.global = 256, .micro = 1};
        refused += expect_early(&f, &spec);
    }
    cr_assert(refused > 40 && refused < count / 2, "%d of %d", refused, count);
    spec_fixture_release(&f);
}
