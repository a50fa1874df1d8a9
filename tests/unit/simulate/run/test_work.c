/* How much is done for a job of so many GPUs, counted, not timed: the linker puts the functions
 * below before those of the library that they call (--wrap, scripts/cmake/MeshsimTests.cmake). */
#include <math.h>

#include "collective/coll_class.h"
#include "collective/crossings.h"
#include "job_fixture.h"

typedef struct work_done {
    int64_t routes;    /* found from one GPU to another */
    int64_t plans;     /* collectives laid out by themselves */
    int64_t crossings; /* of links, sorted into flows */
    int64_t of_norm; /* routes of the all-reduce of 4 bytes among all ranks, in none of the above */
    int64_t arrays;  /* with a place for each of the platform's links */
} work_done;

static work_done done;
static size_t link_count; /* of the platform at hand */

void *__real_ms_arena_alloc(ms_arena *arena, size_t count, size_t size);
void *__wrap_ms_arena_alloc(ms_arena *arena, size_t count, size_t size);
void *__wrap_ms_arena_alloc(ms_arena *arena, size_t count, size_t size) {
    done.arrays += link_count > 0 && count == link_count;
    return __real_ms_arena_alloc(arena, count, size);
}

void __real_ms_platform_route(const ms_platform *platform, int source, int destination,
                              ms_route *route_out);
void __wrap_ms_platform_route(const ms_platform *platform, int source, int destination,
                              ms_route *route_out);
void __wrap_ms_platform_route(const ms_platform *platform, int source, int destination,
                              ms_route *route_out) {
    done.routes++;
    __real_ms_platform_route(platform, source, destination, route_out);
}

ms_status __real_ms_coll_plan_build(const ms_platform *platform, const ms_coll_request *request,
                                    ms_arena *arena, ms_coll_plan *plan_out);
ms_status __wrap_ms_coll_plan_build(const ms_platform *platform, const ms_coll_request *request,
                                    ms_arena *arena, ms_coll_plan *plan_out);
ms_status __wrap_ms_coll_plan_build(const ms_platform *platform, const ms_coll_request *request,
                                    ms_arena *arena, ms_coll_plan *plan_out) {
    done.plans++;
    bool is_norm = request->kind == MS_COLL_ALL_REDUCE && request->size_B == 4.0;
    const work_done before = done;
    ms_status status = __real_ms_coll_plan_build(platform, request, arena, plan_out);
    if (is_norm) {
        int64_t of_norm = before.of_norm + done.routes - before.routes;
        done = before;
        done.plans--;
        done.of_norm = of_norm;
    }
    return status;
}

ms_status __real_ms_crossings_plan(ms_crossings *crossings, double crossing_B, double latency_s,
                                   ms_arena *arena, ms_coll_plan *plan);
ms_status __wrap_ms_crossings_plan(ms_crossings *crossings, double crossing_B, double latency_s,
                                   ms_arena *arena, ms_coll_plan *plan);
ms_status __wrap_ms_crossings_plan(ms_crossings *crossings, double crossing_B, double latency_s,
                                   ms_arena *arena, ms_coll_plan *plan) {
    done.crossings += (int64_t)crossings->links.count;
    return __real_ms_crossings_plan(crossings, crossing_B, latency_s, arena, plan);
}

enum { FEWEST = 1024, SIZES = 3, GROWTH = 32 }; /* 1,024, 32,768 and 1,048,576 GPUs */

/* Each size's counts against the one before: at most `most` times as many for
 * GROWTH times as many GPUs, and something was counted at all. */
static void assert_growth(const int64_t counts[SIZES], double most, const char *what) {
    cr_assert_gt(counts[0], 0, "%s", what);
    for (int i = 1; i < SIZES; i++) {
        cr_assert_leq((double)counts[i], most * (double)counts[i - 1], "%s: %lld, then %lld", what,
                      (long long)counts[i - 1], (long long)counts[i]);
    }
}

/* Load and lower a step of `gpus` GPUs, of which only dp, and the batch with it, depends on them.
 */
static work_done of_step(const char *workload, int gpus, const char *const *more) {
    job_fixture f;
    char mesh[32], nodes[48], batch[48];
    snprintf(mesh, sizeof mesh, "mesh.dp=%d", gpus / 16);
    snprintf(nodes, sizeof nodes, "platform.nodes=%d", gpus / 8);
    snprintf(batch, sizeof batch, "batch.global=%d", gpus / 16 * 2);
    const char *const sets[] = {mesh,    nodes,   batch,   "mesh.tp=8", "mesh.pp=2",
                                more[0], more[1], more[2], NULL};
    cr_assert_eq(job_fixture_load(&f, workload, sets, "flow", false), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    done = (work_done){.routes = 0};
    cr_assert_eq(ms_job_lower(&f.job, &f.diag, &f.result.dag, &f.result.fold), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    ms_dag_release(&f.result.dag);
    ms_dag_init(&f.result.dag);
    job_fixture_release(&f);
    return done;
}

/* Groups of one node (tp), messages between neighbouring nodes (pp) and the groups of dp's ranks
 * lie alike all over the cluster, so each communication is laid out as often at any size. Groups of
 * dp grow themselves: an exchange by halves among n GPUs takes each log2(n) routes. The norm joins
 * all GPUs in two trees, whose n - 1 edges are taken up and down: 4 bytes take one channel. */
Test(work, of_a_step) {
    static const char *const MORE[] = {"model.layers=4", "platform.file=meta-roce-h100",
                                       "schedule.v=2"};
    int64_t routes[SIZES], plans[SIZES], crossings[SIZES], of_norm[SIZES];
    for (int i = 0, gpus = FEWEST; i < SIZES; i++, gpus *= GROWTH) {
        work_done found = of_step("llama3-405b-8k", gpus, MORE);
        routes[i] = found.routes;
        plans[i] = found.plans;
        crossings[i] = found.crossings;
        of_norm[i] = found.of_norm;
    }
    for (int i = 0, gpus = FEWEST; i < SIZES; i++, gpus *= GROWTH) {
        double n_log_n = gpus * log2(gpus);
        cr_assert_eq(plans[i], plans[0], "%d GPUs: %lld plans", gpus, (long long)plans[i]);
        cr_assert(routes[i] > 0 && (double)routes[i] < 0.75 * n_log_n, "%d GPUs: %lld routes", gpus,
                  (long long)routes[i]);
        cr_assert_eq(of_norm[i], 2 * 2 * (int64_t)(gpus - 1), "%d GPUs: %lld routes of the norm",
                     gpus, (long long)of_norm[i]);
        cr_assert(crossings[i] > 0 && (double)crossings[i] < 4 * n_log_n, "%d GPUs: %lld crossings",
                  gpus, (long long)crossings[i]);
    }
}

/* A pass of each of 64 stages has collectives of its own, and all of them are laid out with the
 * same arrays over links. */
Test(work, pieces_share_arrays_over_links) {
    job_fixture f;
    const char *const sets[] = {"granularity=pass", "batch.global=384", NULL};
    cr_assert_eq(job_fixture_load(&f, "megatron-1t-3072", sets, "flow", false), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    done = (work_done){.routes = 0};
    link_count = (size_t)f.job.platform->link_count;
    cr_assert_eq(ms_job_lower(&f.job, &f.diag, &f.result.dag, &f.result.fold), MS_OK, "%s",
                 ms_buffer_text(&f.messages));
    link_count = 0;
    cr_assert_geq(f.result.dag.network.fused.count, 64);
    cr_assert(done.arrays > 0 && done.arrays < 32, "%lld", (long long)done.arrays);
    job_fixture_release(&f);
}

static work_done of_collective(const char *platform_name, ms_coll_kind kind, int gpus) {
    job_fixture f; /* for its arena */
    ms_platform platform;
    ms_coll_plan plan;
    char nodes[48];
    job_fixture_init(&f);
    snprintf(nodes, sizeof nodes, "{nodes: %d}", gpus / 8);
    const char *const folders[] = {MS_SOURCE_DIR "/platforms", NULL};
    ms_node *over = NULL;
    cr_assert_eq(ms_yaml_parse(nodes, strlen(nodes), "nodes", &f.arena, &f.diag, &over), MS_OK);
    cr_assert_eq(ms_platform_load(platform_name, folders, over, &f.arena, &f.diag, &platform, NULL),
                 MS_OK);
    int *all = MS_NEW(&f.arena, int, gpus);
    for (int i = 0; i < gpus; i++) {
        all[i] = i;
    }
    done = (work_done){.routes = 0};
    const ms_coll_request request = {.kind = kind, .gpus = all, .members = gpus, .size_B = 1e9};
    cr_assert_eq(ms_coll_plan_build(&platform, &request, &f.arena, &plan), MS_OK);
    job_fixture_release(&f);
    return done;
}

Test(work, rings_are_linear_in_gpus) {
    int64_t routes[SIZES], crossings[SIZES];
    for (int i = 0, gpus = FEWEST; i < SIZES; i++, gpus *= GROWTH) {
        work_done found = of_collective("dgx-h100", MS_COLL_ALL_REDUCE, gpus);
        routes[i] = found.routes;
        crossings[i] = found.crossings;
    }
    assert_growth(routes, 1.05 * GROWTH, "routes");
    assert_growth(crossings, 1.05 * GROWTH, "crossings");
}

/* Every GPU sends to every other one; looked at are its halves of routes. */
Test(work, all_to_all_is_linear_in_gpus) {
    int64_t routes[2];
    for (int i = 0; i < 2; i++) {
        routes[i] = of_collective("dgx-h100", MS_COLL_ALL_TO_ALL, i == 0 ? 4096 : 131072).routes;
    }
    cr_assert_gt(routes[0], 4096);
    cr_assert_leq(routes[1], 33 * routes[0]);
    cr_assert_lt(routes[1], 64 * (int64_t)131072, "levels, rails and ends for each GPU");
}
