/* Asynchronous collectives of a pass: what a segment joins, and what is left to the step's end. */
#include "platform_fixture.h"
#include "simulate/lower/lower.h"

/* A pass of computation 0, asynchronous collectives 1 to 3, each on an axis of its own, and
 * computations 4 and 5. */
enum { ASYNC = 3, SEGMENTS = 6 };
static const ms_axis AXES[ASYNC] = {MS_AXIS_DP, MS_AXIS_TP, MS_AXIS_CP};

/* Which segment joins collective i: the next one, the first computation behind, the last one. */
typedef enum placement { NEXT, FIRST, LAST, PLACEMENTS } placement;

static int joiner(placement where, int i) {
    return where == NEXT ? 1 + i + 1 : where == FIRST ? 1 + ASYNC : SEGMENTS - 1;
}

/* The pass in which the collectives of the set `joined` are joined. */
static void lay_out(unsigned joined, placement where, ms_segment segments[SEGMENTS + 1],
                    int waits[SEGMENTS][ASYNC]) {
    for (int i = 0; i <= SEGMENTS; i++) {
        segments[i] = (ms_segment){.time_s = 1e-3, .layer = -1};
    }
    for (int i = 0; i < SEGMENTS; i++) {
        segments[i].waits = waits[i];
    }
    for (int i = 0; i < ASYNC; i++) {
        segments[1 + i] = (ms_segment){.is_collective = true,
                                       .is_async = true,
                                       .layer = -1,
                                       .waits = waits[1 + i],
                                       .axis = AXES[i],
                                       .coll = MS_COLL_ALL_REDUCE,
                                       .coll_B = 1e6};
    }
    for (int i = 0; i < ASYNC; i++) {
        if ((joined >> i & 1U) != 0) {
            int place = joiner(where, i);
            waits[place][segments[place].wait_count++] = 1 + i;
        }
    }
}

static int32_t find_op(const ms_dag *dag, ms_op_kind kind, ms_axis axis) {
    int32_t i = 0;
    while (i < dag->op_count && (dag->ops[i].kind != kind || dag->ops[i].axis != axis)) {
        i++;
    }
    cr_assert_lt(i, dag->op_count, "no operation '%s' on axis '%s'", ms_op_kind_name(kind),
                 ms_axis_name(axis));
    return i;
}

static bool waits_for(const ms_dag *dag, int32_t op, int32_t dependency) {
    for (int32_t member = dag->member_first[op]; member < dag->member_first[op + 1]; member++) {
        for (int32_t d = dag->dep_first[member]; d < dag->dep_first[member + 1]; d++) {
            if (dag->deps[d] == dependency) {
                return true;
            }
        }
    }
    return false;
}

static void check_update(const ms_dag *dag, unsigned joined, placement where) {
    int32_t update = find_op(dag, MS_OP_OPTIMIZER, MS_AXIS_NONE);
    for (int i = 0; i < ASYNC; i++) {
        bool is_joined = (joined >> i & 1U) != 0;
        int32_t collective = find_op(dag, MS_OP_ALL_REDUCE, AXES[i]);
        cr_assert_eq(waits_for(dag, update, collective), !is_joined,
                     "collective %d of joined %x, placement %d", i, joined, (int)where);
    }
}

Test(outstanding, the_update_waits_for_what_no_segment_joined) {
    platform_fixture f;
    const ms_platform *platform = fixture_platform(&f, "flat", "nodes: 8");
    ms_job job = {.platform = platform,
                  .spec = {.schedule.step_end = MS_STEP_END_POST_VALIDATION,
                           .simulation.fidelity = MS_FIDELITY_FLOW}};
    const char *const names[] = {"dp", "cp", "tp", "pp"};
    cr_assert_eq(ms_mesh_init(&job.mesh, names, (const int[]){2, 2, 2, 1}, 4, &f.diag), MS_OK);
    const ms_schedule_spec spec = {
        .kind = MS_SCHEDULE_GPIPE, .pipeline_ranks = 1, .chunks = 1, .microbatches = 1};
    cr_assert_eq(ms_schedule_build(&spec, &f.arena, &f.diag, &job.program), MS_OK);
    for (unsigned joined = 0; joined < 1U << ASYNC; joined++) {
        for (placement where = NEXT; where < PLACEMENTS; where++) {
            ms_segment segments[SEGMENTS + 1];
            int waits[SEGMENTS][ASYNC];
            lay_out(joined, where, segments, waits);
            double optimizer_s = 1e-3;
            ms_stage_cost stage = {.passes = {[MS_PASS_F] = {.first = 0, .count = SEGMENTS},
                                              [MS_PASS_B] = {.first = SEGMENTS, .count = 1}}};
            job.costs = (ms_stage_costs){.stages = 1,
                                         .stage = &stage,
                                         .segments = segments,
                                         .segment_count = SEGMENTS + 1,
                                         .optimizer_s = &optimizer_s};
            ms_dag dag;
            ms_lower_fold fold = {0};
            cr_assert_eq(ms_lower(&job, &f.diag, &dag, &fold), MS_OK, "%s",
                         ms_buffer_text(&f.messages));
            check_update(&dag, joined, where);
            ms_dag_release(&dag);
        }
    }
    fixture_release(&f);
}
