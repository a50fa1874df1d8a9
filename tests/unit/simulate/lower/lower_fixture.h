/* Lowering of hand-made jobs: lists of passes, segments and a mesh on a flat network, and the graph
 * that comes out as text.
 *
 * An operation is a line: its number, what it does, its stage and microbatch, and for each member
 * the stream with the operations it depends on, such as
 *   4 p2p s0 m1: 0>2 after 3
 * Streams: `0` is the compute stream of rank 0, `0.tp` its communicator over tp, `0>2` its messages
 * to rank 2. What a stream's own order says stands nowhere. */
#ifndef MS_LOWER_FIXTURE_H
#define MS_LOWER_FIXTURE_H

#include "platform_fixture.h"
#include "simulate/lower/lower.h"

enum { LOWER_RANKS_MAX = 4, LOWER_STAGES_MAX = 4, LOWER_SEGMENTS_MAX = 24, LOWER_ACTIONS_MAX = 32 };

typedef struct lower_fixture {
    platform_fixture f;
    ms_job job;
    ms_dag dag;
    ms_lower_fold fold;
    ms_buffer text;
    ms_action actions[LOWER_ACTIONS_MAX];
    size_t first[LOWER_RANKS_MAX + 1];
    int stage_rank[LOWER_STAGES_MAX], stage_chunk[LOWER_STAGES_MAX];
    ms_stage_cost stage[LOWER_STAGES_MAX];
    ms_segment segments[LOWER_SEGMENTS_MAX];
    double optimizer_s[LOWER_RANKS_MAX];
} lower_fixture;

/* A computation that waits for nothing but its order. */
static inline ms_segment lower_compute(void) {
    return (ms_segment){.layer = -1, .time_s = 1e-3};
}

/* A collective that holds up what follows. */
static inline ms_segment lower_collective(ms_coll_kind kind, ms_axis axis) {
    return (ms_segment){
        .is_collective = true, .layer = -1, .axis = axis, .coll = kind, .coll_B = 1e6};
}

/* One that runs beside it. */
static inline ms_segment lower_async(ms_coll_kind kind, ms_axis axis) {
    ms_segment segment = lower_collective(kind, axis);
    segment.is_async = true;
    return segment;
}

/* `segment`, after segments of its pass. */
static inline ms_segment lower_after(ms_segment segment, const int *waits, int count) {
    segment.waits = waits;
    segment.wait_count = count;
    return segment;
}
#define AFTER(segment, ...)                                                                        \
    lower_after(segment, (const int[]){__VA_ARGS__},                                               \
                (int)(sizeof((const int[]){__VA_ARGS__}) / sizeof(int)))

static inline ms_pass lower_pass_of(char letter) {
    return letter == 'F'   ? MS_PASS_F
           : letter == 'I' ? MS_PASS_I
           : letter == 'W' ? MS_PASS_W
                           : MS_PASS_B;
}

/* One list, such as "0F0 0F1+0B0 0B1": stage, pass, microbatch; `+` between the passes of a pair.
 * Single digits. Returns the end of the list in actions. */
static inline size_t lower_read_list(lower_fixture *x, const char *list, size_t next) {
    for (const char *at = list; *at != '\0'; at += at[3] == '\0' ? 3 : 4) {
        cr_assert_lt(next, (size_t)LOWER_ACTIONS_MAX);
        x->actions[next++] = (ms_action){.pass = (uint8_t)lower_pass_of(at[1]),
                                         .is_overlapped = at[3] == '+',
                                         .stage = (int16_t)(at[0] - '0'),
                                         .mb = at[2] - '0'};
    }
    return next;
}

/* Sizes of the axes. */
typedef struct lower_degrees {
    int pp, dp, tp;
} lower_degrees;

/* A job of `pp` pipeline ranks, stage s on rank s mod pp, with dp x tp ranks each, `mbs`
 * microbatches and the given lists; no segments yet. */
static inline void lower_init(lower_fixture *x, lower_degrees of, int mbs,
                              const char *const *lists) {
    const int pp = of.pp;
    char nodes[32];
    memset(x, 0, sizeof *x);
    snprintf(nodes, sizeof nodes, "{nodes: %d}", pp * of.dp * of.tp);
    fixture_platform(&x->f, "flat", nodes);
    x->job = (ms_job){.platform = &x->f.platform,
                      .spec = {.schedule.step_end = MS_STEP_END_POST_VALIDATION,
                               .simulation.fidelity = MS_FIDELITY_FLOW}};
    const char *const names[] = {"pp", "dp", "tp"};
    cr_assert_eq(ms_mesh_init(&x->job.mesh, names, (const int[]){pp, of.dp, of.tp}, 3, &x->f.diag),
                 MS_OK);
    int stages = pp;
    for (int p = 0; p < pp; p++) {
        x->first[p + 1] = lower_read_list(x, lists[p], x->first[p]);
    }
    for (size_t i = 0; i < x->first[pp]; i++) {
        stages = x->actions[i].stage >= stages ? x->actions[i].stage + 1 : stages;
    }
    for (int s = 0; s < stages; s++) {
        x->stage_rank[s] = s % pp;
        x->stage_chunk[s] = s / pp;
        x->stage[s].send_forward_B = x->stage[s].send_backward_B = 1e6;
    }
    x->job.program = (ms_program){.spec = {.pipeline_ranks = pp, .microbatches = mbs},
                                  .name = "hand-made",
                                  .stages = stages,
                                  .model_stages = stages,
                                  .mb_count = mbs,
                                  .parameter_replicas = 1,
                                  .stage_rank = x->stage_rank,
                                  .stage_chunk = x->stage_chunk,
                                  .first = x->first,
                                  .actions = x->actions};
    x->job.costs = (ms_stage_costs){.stages = stages,
                                    .stage = x->stage,
                                    .segments = x->segments,
                                    .segment_count = LOWER_SEGMENTS_MAX,
                                    .optimizer_s = x->optimizer_s};
}

/* Give every stage's pass `count` segments from `first` on. */
static inline void lower_set_pass(lower_fixture *x, ms_pass pass, int first, int count) {
    for (int s = 0; s < x->job.program.stages; s++) {
        x->stage[s].passes[pass] = (ms_pass_plan){.first = first, .count = count};
    }
}

/* The same job with one computation in every pass. */
static inline void lower_set_plain_passes(lower_fixture *x) {
    x->segments[0] = lower_compute();
    for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
        lower_set_pass(x, (ms_pass)pass, 0, 1);
    }
}

static inline void lower_write_stream(lower_fixture *x, int32_t stream) {
    const ms_dag_stream *s = &x->dag.streams[stream];
    ms_buffer_printf(&x->text, "%d", (int)x->dag.ranks[s->rank].rank);
    if (s->peer >= 0) {
        ms_buffer_printf(&x->text, ">%d", (int)x->dag.ranks[s->peer].rank);
    } else if (s->axis != MS_AXIS_NONE) {
        ms_buffer_printf(&x->text, ".%s", ms_axis_name((ms_axis)s->axis));
    }
}

static inline void lower_write_member(lower_fixture *x, int32_t op, int32_t member) {
    lower_write_stream(x, x->dag.member_stream[member]);
    for (int32_t d = x->dag.dep_first[member]; d < x->dag.dep_first[member + 1]; d++) {
        cr_assert_lt(x->dag.deps[d], op, "a dependency that points forward");
        ms_buffer_printf(&x->text, "%s%d", d == x->dag.dep_first[member] ? " after " : " ",
                         (int)x->dag.deps[d]);
    }
}

static inline void lower_write_op(lower_fixture *x, int32_t op) {
    const ms_dag_op *o = &x->dag.ops[op];
    ms_buffer_printf(&x->text, "%d %s", (int)op, ms_op_kind_name((ms_op_kind)o->kind));
    if (o->stage >= 0) {
        ms_buffer_printf(&x->text, " s%d", o->stage);
    }
    if (o->mb >= 0) {
        ms_buffer_printf(&x->text, " m%d", (int)o->mb);
    }
    for (int32_t m = x->dag.member_first[op]; m < x->dag.member_first[op + 1]; m++) {
        ms_buffer_puts(&x->text, m == x->dag.member_first[op] ? ": " : ", ");
        lower_write_member(x, op, m);
    }
    ms_buffer_puts(&x->text, "\n");
}

/* Lower the job, which must give this graph. */
static inline void lower_expect(lower_fixture *x, const char *expected) {
    ms_buffer_release(&x->text);
    cr_assert_eq(ms_lower(&x->job, &x->f.diag, &x->dag, &x->fold), MS_OK, "%s",
                 ms_buffer_text(&x->f.messages));
    for (int32_t op = 0; op < x->dag.op_count; op++) {
        lower_write_op(x, op);
    }
    cr_assert_str_eq(ms_buffer_text(&x->text), expected, "got\n%sexpected\n%s",
                     ms_buffer_text(&x->text), expected);
}

static inline void lower_release(lower_fixture *x) {
    ms_dag_release(&x->dag);
    ms_buffer_release(&x->text);
    fixture_release(&x->f);
}

#endif
