#include "dag_fixture.h"
#include "simulate/metrics/metrics.h"

static const ms_stage_memory MEMORY = {.parameter_B = 100.0,
                                       .gradient_B = 200.0,
                                       .optimizer_B = 600.0,
                                       .activation_B = 10.0,
                                       .working_B = 3.0,
                                       .transformer_B = 700.0};

/* Costs of `stages` equal stages, of which only the memory is set; stage s on rank s % ranks. */
typedef struct memory_setup {
    ms_stage_cost stage[64];
    ms_job job; /* up to 64 microbatches */
    int stage_rank[64];
    size_t first[65]; /* of empty lists: they are those of the graph */
    ms_action actions[2048];
} memory_setup;

static void set_up(memory_setup *setup, int stages, int ranks) {
    *setup = (memory_setup){
        .job = {.costs = {.stages = stages},
                .program = {.stages = stages, .model_stages = stages, .mb_count = 64}}};
    setup->job.costs.stage = setup->stage;
    setup->job.program.stage_rank = setup->stage_rank;
    setup->job.program.first = setup->first;
    for (int s = 0; s < stages; s++) {
        setup->stage[s].memory = MEMORY;
        setup->stage_rank[s] = s % ranks;
    }
}

/* Pass of an operation, MS_PASS_COUNT for one that is of none. */
static ms_pass pass_of(const ms_dag_op *op) {
    static const ms_pass PASSES[] = {[MS_OP_FORWARD] = MS_PASS_F,
                                     [MS_OP_INPUT_GRAD] = MS_PASS_I,
                                     [MS_OP_WEIGHT_GRAD] = MS_PASS_W,
                                     [MS_OP_BACKWARD] = MS_PASS_B};
    bool is_pass = op->kind == MS_OP_FORWARD || op->kind == MS_OP_INPUT_GRAD ||
                   op->kind == MS_OP_WEIGHT_GRAD || op->kind == MS_OP_BACKWARD;
    return is_pass ? PASSES[op->kind] : MS_PASS_COUNT;
}

/* Add the pass of an operation to a rank's list, once. */
static void list_pass(memory_setup *setup, int rank, const ms_dag_op *op) {
    ms_pass pass = pass_of(op);
    if (pass == MS_PASS_COUNT || setup->stage_rank[op->stage] != rank) {
        return;
    }
    for (size_t i = setup->first[rank]; i < setup->first[rank + 1]; i++) {
        const ms_action *action = &setup->actions[i];
        if (action->pass == pass && action->stage == op->stage && action->mb == op->mb) {
            return;
        }
    }
    setup->actions[setup->first[rank + 1]++] =
        (ms_action){.pass = (uint8_t)pass, .stage = op->stage, .mb = op->mb};
}

/* A program whose lists are what the graph's ranks run. */
static void list_passes(const dag_fixture *f, memory_setup *setup) {
    setup->job.program.actions = setup->actions;
    for (int rank = 0; rank < 64; rank++) {
        setup->first[rank + 1] = setup->first[rank];
        for (int32_t i = 0; i < f->dag.op_count; i++) {
            int32_t stream = f->dag.member_stream[f->dag.member_first[i]];
            if (f->dag.ranks[f->dag.streams[stream].rank].pp == rank) {
                list_pass(setup, rank, &f->dag.ops[i]);
            }
        }
    }
}

static ms_rank_memory *compute(dag_fixture *f, memory_setup *setup) {
    ms_rank_memory *ranks;
    if (setup->job.program.actions == NULL || setup->job.program.actions == setup->actions) {
        list_passes(f, setup);
    }
    cr_assert_eq(ms_memory_compute(&setup->job, &f->dag, &f->timeline, &f->arena, &ranks), MS_OK);
    return ranks;
}

static void add_pass(dag_fixture *f, ms_op_kind kind, int stage, int mb, double time_s) {
    fixture_compute c = {.kind = kind, .stage = stage, .mb = mb, .time_s = time_s};
    fixture_add_compute(f, &c, -1);
}

static void expect_points(const ms_rank_memory *memory, const ms_memory_point *points, int count) {
    cr_assert_eq(memory->point_count, count, "%d points, expected %d", memory->point_count, count);
    for (int i = 0; i < count; i++) {
        cr_assert_float_eq(memory->points[i].time_s, points[i].time_s, 1e-12, "point %d at %g", i,
                           memory->points[i].time_s);
        cr_assert_float_eq(memory->points[i].bytes, points[i].bytes, 1e-9, "point %d: %g B", i,
                           memory->points[i].bytes);
    }
}

/* F0 0-1, F1 1-2, recomputation and B0 2-4, a hole until 5, B1 5-6. */
Test(memory, follows_a_rank_by_hand) {
    dag_fixture f;
    memory_setup setup;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    fixture_rank(&f, 1, 1);
    set_up(&setup, 1, 1);
    fixture_compute late = {.rank = 1, .kind = MS_OP_OPTIMIZER, .stage = -1, .mb = -1, .time_s = 5};
    int32_t wait = fixture_add_compute(&f, &late, -1);
    add_pass(&f, MS_OP_FORWARD, 0, 0, 1.0);
    add_pass(&f, MS_OP_FORWARD, 0, 1, 1.0);
    add_pass(&f, MS_OP_RECOMPUTE, 0, 0, 1.0);
    add_pass(&f, MS_OP_BACKWARD, 0, 0, 1.0);
    add_pass(&f, MS_OP_BACKWARD, 0, 1, 1.0);
    ms_dag_add_dep(&f.dag, wait);
    fixture_run(&f);
    ms_rank_memory *ranks = compute(&f, &setup);
    const ms_memory_point expected[] = {{0, 913}, {1, 923}, {4, 910}, {5, 913}, {6, 900}};
    expect_points(&ranks[0], expected, 5);
    cr_assert_float_eq(ranks[0].held.total_B, 923.0, 1e-9);
    cr_assert_float_eq(ranks[0].peak_time_s, 1.0, 1e-12, "the first instant of the peak");
    cr_assert_float_eq(ranks[0].held.parameter_B, 100.0, 1e-9);
    cr_assert_float_eq(ranks[0].held.gradient_B, 200.0, 1e-9);
    cr_assert_float_eq(ranks[0].held.optimizer_B, 600.0, 1e-9);
    cr_assert_float_eq(ranks[0].held.activation_B, 20.0, 1e-9);
    cr_assert_float_eq(ranks[0].held.buffer_B, 3.0, 1e-9);
    cr_assert_float_eq(ranks[0].held.transformer_B, 700.0, 1e-9);
    cr_assert_eq(ranks[0].inflight_peak, 2);
    /* the other rank has no stage */
    cr_assert_float_eq(ranks[1].held.total_B, 0.0, 0.0);
    cr_assert_eq(ranks[1].point_count, 1);
    fixture_release(&f);
}

/* What the allocator loses is a share of what comes and goes. */
Test(memory, allocator_overhead_comes_on_top) {
    dag_fixture f;
    memory_setup setup;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    set_up(&setup, 1, 1);
    setup.job.costs.allocator_overhead = 0.5;
    add_pass(&f, MS_OP_FORWARD, 0, 0, 1.0);
    add_pass(&f, MS_OP_BACKWARD, 0, 0, 1.0);
    fixture_run(&f);
    ms_rank_memory *ranks = compute(&f, &setup);
    /* 900 of states; 10 kept and 3 at work */
    cr_assert_float_eq(ranks[0].held.other_B, 6.5, 1e-9);
    cr_assert_float_eq(ranks[0].held.total_B, 919.5, 1e-9);
    fixture_release(&f);
}

/* With the backward pass split, W keeps the activations until its end: F 0-1, I 1-2, F' 2-3,
 * W 3-4. */
Test(memory, weight_gradient_keeps_activations) {
    dag_fixture f;
    memory_setup setup;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    set_up(&setup, 1, 1);
    add_pass(&f, MS_OP_FORWARD, 0, 0, 1.0);
    add_pass(&f, MS_OP_INPUT_GRAD, 0, 0, 1.0);
    add_pass(&f, MS_OP_FORWARD, 0, 1, 1.0);
    add_pass(&f, MS_OP_WEIGHT_GRAD, 0, 0, 1.0);
    fixture_run(&f);
    ms_rank_memory *ranks = compute(&f, &setup);
    const ms_memory_point expected[] = {{0, 913}, {2, 923}, {4, 910}};
    expect_points(&ranks[0], expected, 3);
    cr_assert_eq(ranks[0].inflight_peak, 2);
    fixture_release(&f);
}

/* Two stages of unlike size on a rank: each microbatch counts with its own stage's bytes. */
Test(memory, stages_of_a_rank_add_up) {
    dag_fixture f;
    memory_setup setup;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    set_up(&setup, 2, 1);
    setup.stage[1].memory = (ms_stage_memory){.parameter_B = 1.0, .activation_B = 1000.0};
    add_pass(&f, MS_OP_FORWARD, 0, 0, 1.0);
    add_pass(&f, MS_OP_FORWARD, 1, 0, 1.0);
    add_pass(&f, MS_OP_BACKWARD, 1, 0, 1.0);
    add_pass(&f, MS_OP_BACKWARD, 0, 0, 1.0);
    fixture_run(&f);
    ms_rank_memory *ranks = compute(&f, &setup);
    const ms_memory_point expected[] = {{0, 914}, {1, 1911}, {3, 914}, {4, 901}};
    expect_points(&ranks[0], expected, 4);
    cr_assert_float_eq(ranks[0].held.activation_B, 1010.0, 1e-9);
    cr_assert_float_eq(ranks[0].held.buffer_B, 0.0, 1e-9);
    cr_assert_eq(ranks[0].inflight_peak, 2);
    fixture_release(&f);
}

/* An overlapped pair runs by turns: F1 and B0 are both under way from the pair's first operation of
 * theirs to the last, and F1 is kept beside 0 until B0's end. F0 0-1, B0 1-2, F1 2-3, B0 3-4,
 * F1 4-5, B1 5-6. */
Test(memory, passes_that_run_by_turns_are_both_under_way) {
    dag_fixture f;
    memory_setup setup;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    set_up(&setup, 1, 1);
    add_pass(&f, MS_OP_FORWARD, 0, 0, 1.0);
    add_pass(&f, MS_OP_BACKWARD, 0, 0, 1.0);
    add_pass(&f, MS_OP_FORWARD, 0, 1, 1.0);
    add_pass(&f, MS_OP_BACKWARD, 0, 0, 1.0);
    add_pass(&f, MS_OP_FORWARD, 0, 1, 1.0);
    add_pass(&f, MS_OP_BACKWARD, 0, 1, 1.0);
    fixture_run(&f);
    ms_rank_memory *ranks = compute(&f, &setup);
    const ms_memory_point expected[] = {{0, 913}, {2, 926}, {4, 913}, {6, 900}};
    expect_points(&ranks[0], expected, 4);
    fixture_release(&f);
}

/* In two directions stage 1 is the model's stage 0 again, on the other rank, with states of its
 * own; a rank holds those of both its stages. */
Test(memory, copies_of_a_stage_have_states_of_their_own) {
    dag_fixture f;
    memory_setup setup;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    fixture_rank(&f, 1, 1);
    set_up(&setup, 2, 2);
    setup.job.costs.stages = setup.job.program.model_stages = 1;
    setup.stage[1].memory = (ms_stage_memory){0}; /* nobody's */
    add_pass(&f, MS_OP_FORWARD, 0, 0, 1.0);
    add_pass(&f, MS_OP_BACKWARD, 0, 0, 1.0);
    fixture_add_compute(
        &f, &(fixture_compute){.rank = 1, .kind = MS_OP_FORWARD, .stage = 1, .time_s = 1.0}, -1);
    fixture_run(&f);
    ms_rank_memory *ranks = compute(&f, &setup);
    for (int r = 0; r < 2; r++) {
        cr_assert_float_eq(ranks[r].held.total_B, 913.0, 1e-9);
        cr_assert_eq(ranks[r].inflight_peak, 1);
    }
    setup.stage_rank[1] = 0;
    ranks = compute(&f, &setup);
    cr_assert_float_eq(ranks[0].held.parameter_B, 200.0, 1e-9, "both copies on one rank");
    fixture_release(&f);
}

/* The slices of a sequence keep what their own passes say; states are the whole stage's. */
Test(memory, parts_of_a_sequence_keep_their_own) {
    dag_fixture f;
    memory_setup setup;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    set_up(&setup, 2, 1);
    setup.job.costs.stages = setup.job.program.stages = setup.job.program.model_stages = 1;
    setup.job.costs.slices = 2;
    setup.stage[1].memory = (ms_stage_memory){.activation_B = 40.0, .working_B = 5.0};
    add_pass(&f, MS_OP_FORWARD, 0, 2, 1.0);
    add_pass(&f, MS_OP_FORWARD, 0, 3, 1.0);
    add_pass(&f, MS_OP_BACKWARD, 0, 3, 1.0);
    add_pass(&f, MS_OP_BACKWARD, 0, 2, 1.0);
    fixture_run(&f);
    ms_rank_memory *ranks = compute(&f, &setup);
    const ms_memory_point expected[] = {{0, 913}, {1, 955}, {3, 913}, {4, 900}};
    expect_points(&ranks[0], expected, 4);
    fixture_release(&f);
}

/* The next step's passes have activations of their own. */
Test(memory, steps_follow_each_other) {
    dag_fixture f;
    memory_setup setup;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    set_up(&setup, 1, 1);
    for (int step = 0; step < 2; step++) {
        ms_dag_begin_step(&f.dag);
        add_pass(&f, MS_OP_FORWARD, 0, 0, 1.0);
        add_pass(&f, MS_OP_BACKWARD, 0, 0, 1.0);
        add_pass(&f, MS_OP_OPTIMIZER, -1, -1, 1.0);
    }
    fixture_run(&f);
    ms_rank_memory *ranks = compute(&f, &setup);
    const ms_memory_point expected[] = {{0, 913}, {2, 900}, {3, 913}, {5, 900}};
    expect_points(&ranks[0], expected, 4);
    cr_assert_eq(ranks[0].inflight_peak, 1);
    fixture_release(&f);
}

/* F0 0-1, then F1 and B0 in turns until 5, both under way all the time; B1 5-6. A list may name
 * either of a pair first. */
static void follow_pair(const ms_action *first, const ms_action *second) {
    dag_fixture f;
    memory_setup setup;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    set_up(&setup, 1, 1);
    ms_action actions[] = {{.pass = MS_PASS_F}, *first, *second, {.pass = MS_PASS_B, .mb = 1}};
    actions[1].is_overlapped = 1;
    setup.job.program.actions = actions;
    setup.first[1] = 4;
    add_pass(&f, MS_OP_FORWARD, 0, 0, 1.0);
    for (int turn = 0; turn < 2; turn++) {
        add_pass(&f, MS_OP_FORWARD, 0, 1, 1.0);
        add_pass(&f, MS_OP_BACKWARD, 0, 0, 1.0);
    }
    add_pass(&f, MS_OP_BACKWARD, 0, 1, 1.0);
    fixture_run(&f);
    ms_rank_memory *ranks = compute(&f, &setup);
    const ms_memory_point expected[] = {{0, 913}, {1, 926}, {5, 913}, {6, 900}};
    expect_points(&ranks[0], expected, 4);
    fixture_release(&f);
}

Test(memory, a_pair_is_under_way_as_a_whole) {
    const ms_action forward = {.pass = MS_PASS_F, .mb = 1}, backward = {.pass = MS_PASS_B};
    follow_pair(&forward, &backward);
    follow_pair(&backward, &forward);
}

/* Microbatches in flight: GPipe keeps all M, 1F1B min(M, P-r), interleaved 1F1B
 * min(VM, 2(P-1-r) + (V-1)P + 1).  Source: Narayanan et al., SC'21, section 2.2. */
Test(memory, inflight_is_what_the_schedule_keeps) {
    static const fixture_pipeline CASES[] = {
        {.is_gpipe = true, .ranks = 4, .chunks = 1, .microbatches = 10},
        {.ranks = 4, .chunks = 1, .microbatches = 10},
        {.ranks = 8, .chunks = 1, .microbatches = 3},
        {.ranks = 4, .chunks = 2, .microbatches = 8},
        {.ranks = 8, .chunks = 4, .microbatches = 16},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        fixture_pipeline p = CASES[i];
        p.forward_s = 1.0;
        p.backward_s = 2.0;
        dag_fixture f;
        memory_setup setup;
        fixture_init(&f);
        fixture_add_pipeline(&f, &p);
        fixture_run(&f);
        set_up(&setup, p.ranks * p.chunks, p.ranks);
        ms_rank_memory *ranks = compute(&f, &setup);
        for (int r = 0; r < p.ranks; r++) {
            int total = p.chunks * p.microbatches;
            int kept =
                p.chunks == 1 ? p.ranks - r : 2 * (p.ranks - 1 - r) + (p.chunks - 1) * p.ranks + 1;
            kept = p.is_gpipe || kept > total ? total : kept;
            cr_assert_eq(ranks[r].inflight_peak, kept, "case %zu rank %d: %d", i, r,
                         ranks[r].inflight_peak);
            cr_assert_float_eq(ranks[r].held.total_B, 900.0 * p.chunks + 10.0 * kept + 3.0, 1e-9);
            const ms_memory_point *last = &ranks[r].points[ranks[r].point_count - 1];
            cr_assert_float_eq(last->bytes, 900.0 * p.chunks, 1e-9, "everything is given back");
        }
        fixture_release(&f);
    }
}

/* Without memory figures a timeline is a single point. */
Test(memory, zero_costs_give_one_point) {
    fixture_pipeline p = {
        .ranks = 2, .chunks = 1, .microbatches = 4, .forward_s = 1.0, .backward_s = 1.0};
    dag_fixture f;
    memory_setup setup;
    fixture_init(&f);
    fixture_add_pipeline(&f, &p);
    fixture_run(&f);
    set_up(&setup, 2, 2);
    setup.stage[0].memory = setup.stage[1].memory = (ms_stage_memory){0};
    ms_rank_memory *ranks = compute(&f, &setup);
    cr_assert_eq(ranks[0].point_count, 1);
    cr_assert_float_eq(ranks[0].held.total_B, 0.0, 0.0);
    cr_assert_eq(ranks[0].inflight_peak, 2);
    fixture_release(&f);
}

/* Every total in the points is static memory plus whole activations and buffers, the peak is the
 * highest of them and the parts sum to it. */
Test(memory, points_and_peak_agree) {
    fixture_pipeline p = {.ranks = 3,
                          .chunks = 2,
                          .microbatches = 9,
                          .forward_s = 0.7,
                          .backward_s = 1.9,
                          .latency_s = 0.3};
    dag_fixture f;
    memory_setup setup;
    fixture_init(&f);
    fixture_add_pipeline(&f, &p);
    fixture_run(&f);
    set_up(&setup, 6, 3);
    ms_rank_memory *ranks = compute(&f, &setup);
    for (int r = 0; r < 3; r++) {
        const ms_rank_memory *m = &ranks[r];
        double highest_B = 0.0;
        double highest_s = 0.0;
        for (int i = 0; i < m->point_count; i++) {
            cr_assert(i == 0 || m->points[i].time_s > m->points[i - 1].time_s);
            cr_assert(i == 0 || m->points[i].bytes != m->points[i - 1].bytes);
            if (m->points[i].bytes > highest_B) {
                highest_B = m->points[i].bytes;
                highest_s = m->points[i].time_s;
            }
        }
        cr_assert_float_eq(m->held.total_B, highest_B, 0.0);
        cr_assert_float_eq(m->peak_time_s, highest_s, 0.0);
        cr_assert_float_eq(m->held.total_B,
                           m->held.parameter_B + m->held.gradient_B + m->held.optimizer_B +
                               m->held.activation_B + m->held.buffer_B + m->held.other_B,
                           0.0);
    }
    fixture_release(&f);
}

Test(memory, running_out_of_memory_is_told) {
    fixture_pipeline p = {
        .ranks = 2, .chunks = 1, .microbatches = 4, .forward_s = 1.0, .backward_s = 1.0};
    dag_fixture f;
    memory_setup setup;
    fixture_init(&f);
    fixture_add_pipeline(&f, &p);
    fixture_run(&f);
    set_up(&setup, 2, 2);
    list_passes(&f, &setup);
    ms_status status = MS_E_NOMEM;
    int fails = 0;
    for (long n = 0; status != MS_OK && n < 100; n++) {
        ms_rank_memory untouched = {0};
        ms_rank_memory *ranks = &untouched;
        ms_arena arena;
        ms_arena_init(&arena);
        ms_arena_fail_after(&arena, n);
        status = ms_memory_compute(&setup.job, &f.dag, &f.timeline, &arena, &ranks);
        cr_assert(status == MS_OK || (status == MS_E_NOMEM && ranks == &untouched));
        fails += status != MS_OK;
        ms_arena_release(&arena);
    }
    cr_assert_eq(status, MS_OK);
    cr_assert_geq(fails, 3);
    fixture_release(&f);
}

/* Whole parameters are there from the end of the pass before the gather's place to the end of the
 * one before they are freed, at the ends of the list as long as the step: F of stage 0 0-1, F of
 * stage 1 1-2, its B 2-3, B of stage 0 3-4; the same again 4-8. */
Test(memory, gathered_stages_hold_their_parameters) {
    dag_fixture f;
    memory_setup setup;
    fixture_init(&f);
    fixture_rank(&f, 0, 1);
    set_up(&setup, 2, 1);
    setup.stage[0].memory = (ms_stage_memory){.parameter_B = 1.0,
                                              .unsharded_B = 100.0,
                                              .transformer_B = 1.0,
                                              .unsharded_transformer_B = 90.0};
    setup.stage[1].memory = (ms_stage_memory){.parameter_B = 1.0, .unsharded_B = 10.0};
    ms_action actions[] = {{.pass = MS_PASS_F, .stage = 0},
                           {.pass = MS_PASS_F, .stage = 1},
                           {.pass = MS_PASS_B, .stage = 1},
                           {.pass = MS_PASS_B, .stage = 0}};
    ms_shard_move moves[] = {{0, 0, true},  {1, 0, false}, {1, 1, true},
                             {3, 1, false}, {3, 0, true},  {4, 0, false}};
    size_t shard_first[] = {0, 6};
    setup.job.program.actions = actions;
    setup.first[1] = 4;
    setup.job.program.shard_first = shard_first;
    setup.job.program.shard_moves = moves;
    for (int step = 0; step < 2; step++) {
        ms_dag_begin_step(&f.dag);
        add_pass(&f, MS_OP_FORWARD, 0, 0, 1.0);
        add_pass(&f, MS_OP_FORWARD, 1, 0, 1.0);
        add_pass(&f, MS_OP_BACKWARD, 1, 0, 1.0);
        add_pass(&f, MS_OP_BACKWARD, 0, 0, 1.0);
    }
    fixture_run(&f);
    ms_rank_memory *ranks = compute(&f, &setup);
    const ms_memory_point expected[] = {{0, 102}, {1, 12}, {3, 102}, {5, 12}, {7, 102}, {8, 2}};
    expect_points(&ranks[0], expected, 6);
    cr_assert_float_eq(ranks[0].held.parameter_B, 102.0, 1e-9);
    cr_assert_float_eq(ranks[0].held.transformer_B, 91.0, 1e-9);
    fixture_release(&f);
}
