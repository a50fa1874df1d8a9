/**
 * @file
 * Small operation graphs built by hand, for tests of whatever reads or runs one.
 *
 * Every time is given in seconds and kept exactly: the one link moves 1 B/s, a transfer of t
 * seconds has t bytes. Operations are entered in program order of their streams.
 */
#ifndef MESHSIM_TESTS_DAG_FIXTURE_H
#define MESHSIM_TESTS_DAG_FIXTURE_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/random.h"
#include "simulate/engine/engine.h"
#include "simulate/graph/dag.h"

enum { FIXTURE_RANKS = 64, FIXTURE_STREAMS = 1024 };

typedef struct fixture_stream {
    int32_t rank, peer;
    ms_axis axis;
    int32_t stream;
} fixture_stream;

typedef struct dag_fixture {
    ms_dag dag;
    ms_diag diag;
    ms_arena arena;
    ms_timeline timeline; /**< after fixture_run */
    int32_t compute[FIXTURE_RANKS];
    int32_t ranks;
    fixture_stream streams[FIXTURE_STREAMS];
    int stream_count;
} dag_fixture;

static inline void fixture_quiet(void *context, const char *text) {
    (void)context;
    (void)text;
}

static inline void fixture_init(dag_fixture *f) {
    *f = (dag_fixture){0};
    ms_dag_init(&f->dag);
    ms_diag_init(&f->diag, fixture_quiet, NULL);
    ms_arena_init(&f->arena);
    ms_dag_add_link(&f->dag, 1.0, 0, 0);
}

static inline void fixture_release(dag_fixture *f) {
    ms_dag_release(&f->dag);
    ms_arena_release(&f->arena);
}

/** A simulated rank on pipeline rank `pp`; returns its index. */
static inline int32_t fixture_rank(dag_fixture *f, int32_t pp, int32_t multiplicity) {
    int32_t rank = ms_dag_add_rank(&f->dag, f->ranks, multiplicity, pp);
    f->compute[rank] = ms_dag_add_stream(&f->dag, rank, -1, MS_AXIS_NONE);
    f->ranks++;
    return rank;
}

/** The rank's stream of an axis (or to a peer), added on first use. */
static inline int32_t fixture_stream_of(dag_fixture *f, int32_t rank, int32_t peer, ms_axis axis) {
    for (int i = 0; i < f->stream_count; i++) {
        const fixture_stream *s = &f->streams[i];
        if (s->rank == rank && s->peer == peer && s->axis == axis) {
            return s->stream;
        }
    }
    cr_assert_lt(f->stream_count, FIXTURE_STREAMS);
    int32_t stream = ms_dag_add_stream(&f->dag, rank, peer, axis);
    f->streams[f->stream_count++] = (fixture_stream){rank, peer, axis, stream};
    return stream;
}

/** A computation; stage and mb of 0 where a test does not care. */
typedef struct fixture_compute {
    int32_t rank;
    ms_op_kind kind;
    int stage, mb;
    double time_s;
    double flop;
} fixture_compute;

/** Add a computation that waits for `dep` (-1: nothing); ms_dag_add_dep adds further ones. */
static inline int32_t fixture_add_compute(dag_fixture *f, const fixture_compute *c, int32_t dep) {
    int32_t work = ms_dag_add_work(&f->dag, &(ms_dag_work){.time_s = c->time_s,
                                                           .flop = c->flop,
                                                           .stands_for = 1,
                                                           .group_size = 1,
                                                           .tier = -1,
                                                           .tag = -1});
    int32_t op = ms_dag_add_op(&f->dag, &(ms_dag_op){.work = work,
                                                     .kind = (uint8_t)c->kind,
                                                     .stage = (int16_t)c->stage,
                                                     .mb = c->mb,
                                                     .chunk = 0,
                                                     .layer = -1});
    ms_dag_add_member(&f->dag, f->compute[c->rank]);
    ms_dag_add_dep(&f->dag, dep);
    return op;
}

/** Shorthand: a computation without labels. */
static inline int32_t fixture_work(dag_fixture *f, int32_t rank, ms_op_kind kind, double time_s,
                                   int32_t dep) {
    return fixture_add_compute(f, &(fixture_compute){.rank = rank, .kind = kind, .time_s = time_s},
                               dep);
}

/** A communication. */
typedef struct fixture_comm {
    ms_axis axis;
    ms_coll_kind kind;
    double transfer_s; /**< on the link */
    double latency_s;  /**< after it */
    double host_s;     /**< that each member's host takes to launch it */
    double bytes;      /**< sent by each member */
    double size_B;
    int group_size;
    bool is_pipelined;
} fixture_comm;

/** Add a communication without members; follow with fixture_join. */
static inline int32_t fixture_add_comm(dag_fixture *f, const fixture_comm *c) {
    int32_t work = ms_dag_add_work(&f->dag, &(ms_dag_work){.bytes = c->bytes,
                                                           .host_s = c->host_s,
                                                           .size_B = c->size_B,
                                                           .stands_for = 1,
                                                           .group_size = c->group_size,
                                                           .tier = 0,
                                                           .coll = (uint8_t)c->kind,
                                                           .is_communication = true,
                                                           .is_pipelined = c->is_pipelined,
                                                           .tag = -1});
    ms_dag_add_phase(&f->dag, c->latency_s);
    if (c->transfer_s > 0.0) {
        ms_dag_add_flow(&f->dag, c->transfer_s);
        ms_dag_add_crossing(&f->dag, 0, 1, 1);
    }
    return ms_dag_add_op(&f->dag, &(ms_dag_op){.work = work,
                                               .kind = (uint8_t)ms_op_kind_of_coll(c->kind),
                                               .axis = (uint8_t)c->axis,
                                               .mb = -1,
                                               .stage = -1,
                                               .chunk = -1,
                                               .layer = -1});
}

/** Make `rank` a member of the newest communication, ready when `dep` has ended. */
static inline void fixture_join(dag_fixture *f, int32_t rank, ms_axis axis, int32_t dep) {
    ms_dag_add_member(&f->dag, fixture_stream_of(f, rank, -1, axis));
    ms_dag_add_dep(&f->dag, dep);
}

/** A message between simulated ranks. */
typedef struct fixture_message {
    int32_t from, to;
    double transfer_s; /**< on the link */
    double latency_s;  /**< after it */
} fixture_message;

/** Add a message of the pipeline, which waits for `dep`; pipelined, as all of them. */
static inline int32_t fixture_p2p(dag_fixture *f, const fixture_message *m, int32_t dep) {
    int32_t op = fixture_add_comm(f, &(fixture_comm){.axis = MS_AXIS_PP,
                                                     .kind = MS_COLL_P2P,
                                                     .transfer_s = m->transfer_s,
                                                     .latency_s = m->latency_s,
                                                     .bytes = m->transfer_s,
                                                     .size_B = m->transfer_s,
                                                     .group_size = 2,
                                                     .is_pipelined = true});
    ms_dag_add_member(&f->dag, fixture_stream_of(f, m->from, m->to, MS_AXIS_PP));
    ms_dag_add_dep(&f->dag, dep);
    return op;
}

/** Run the graph in the closed form; asserts that it runs. */
static inline void fixture_run(dag_fixture *f) {
    cr_assert_eq(ms_dag_finish(&f->dag, &f->diag), MS_OK);
    cr_assert_eq(ms_engine_run(&f->dag, MS_FIDELITY_ANALYTIC, MS_SOLVER_SIMGRID, &f->arena,
                               &f->diag, &f->timeline),
                 MS_OK);
}

/** A pipeline: GPipe (is_gpipe), 1F1B, or with chunks > 1 Megatron's interleaved 1F1B (groups of
 * `group` microbatches, 0: as many as ranks). Times are per virtual stage; one rank each. */
typedef struct fixture_pipeline {
    bool is_gpipe;
    int ranks, chunks, microbatches, group;
    double forward_s, backward_s;
    double latency_s; /**< of a message; 0: none is sent */
} fixture_pipeline;

typedef struct fixture_pass {
    bool is_backward;
    int stage, mb;
} fixture_pass;

/** The k-th forward (or backward) pass of a rank. */
static inline fixture_pass fixture_pass_at(const fixture_pipeline *p, int rank, int k,
                                           bool is_backward) {
    int group = p->group > 0 ? p->group : p->ranks;
    group = p->chunks == 1 ? p->microbatches : group;
    int block = k / (group * p->chunks);
    int left = p->microbatches - block * group;
    int size = left < group ? left : group; /* the last group keeps the remainder */
    int inside = k - block * group * p->chunks;
    int chunk = inside / size;
    chunk = is_backward ? p->chunks - 1 - chunk : chunk;
    return (fixture_pass){is_backward, chunk * p->ranks + rank, block * group + inside % size};
}

/** Passes of a rank in order; list: [2 * chunks * microbatches]. */
static inline void fixture_order(const fixture_pipeline *p, int rank, fixture_pass *list) {
    int total = p->chunks * p->microbatches;
    int group = p->group > 0 ? p->group : p->ranks;
    int warmup =
        p->chunks == 1 ? p->ranks - 1 - rank : 2 * (p->ranks - 1 - rank) + (p->chunks - 1) * group;
    warmup = p->is_gpipe || warmup > total ? total : warmup;
    int n = 0;
    for (int k = 0; k < warmup; k++) {
        list[n++] = fixture_pass_at(p, rank, k, false);
    }
    for (int k = 0; k < total; k++) {
        if (warmup + k < total) {
            list[n++] = fixture_pass_at(p, rank, warmup + k, false);
        }
        list[n++] = fixture_pass_at(p, rank, k, true);
    }
}

/** Add one pass and, where the next stage sits elsewhere, its message; what the next waits for. */
static inline int32_t fixture_add_pass(dag_fixture *f, const fixture_pipeline *p,
                                       const fixture_pass *pass, int32_t dep) {
    int32_t rank = pass->stage % p->ranks;
    fixture_compute compute = {.rank = rank,
                               .kind = pass->is_backward ? MS_OP_BACKWARD : MS_OP_FORWARD,
                               .stage = pass->stage,
                               .mb = pass->mb,
                               .time_s = pass->is_backward ? p->backward_s : p->forward_s};
    int32_t op = fixture_add_compute(f, &compute, dep);
    int next = pass->stage + (pass->is_backward ? -1 : 1);
    bool has_next = next >= 0 && next < p->ranks * p->chunks;
    if (p->latency_s > 0.0 && has_next && p->ranks > 1) {
        fixture_message m = {.from = rank, .to = next % p->ranks, .latency_s = p->latency_s};
        op = fixture_p2p(f, &m, op);
    }
    return op;
}

/** Build a pipeline's graph, emitting each rank's passes as their inputs come up. */
static inline void fixture_add_pipeline(dag_fixture *f, const fixture_pipeline *p) {
    int stages = p->ranks * p->chunks;
    int passes = 2 * p->chunks * p->microbatches;
    /* [2][S][M] operation that hands the pass's result on, + 1; 0: not there yet */
    int32_t *done = MS_NEW(&f->arena, int32_t, 2 * stages * p->microbatches);
    fixture_pass *list = MS_NEW(&f->arena, fixture_pass, p->ranks * passes);
    int *next = MS_NEW(&f->arena, int, p->ranks);
    for (int r = 0; r < p->ranks; r++) {
        fixture_rank(f, r, 1);
        fixture_order(p, r, list + r * passes);
    }
    for (int left = p->ranks * passes; left > 0;) {
        int before = left;
        for (int r = 0; r < p->ranks; r++) {
            while (next[r] < passes) {
                const fixture_pass *pass = &list[r * passes + next[r]];
                bool is_turn = pass->is_backward && pass->stage == stages - 1;
                int from = is_turn ? pass->stage : pass->stage + (pass->is_backward ? 1 : -1);
                int row = pass->is_backward && !is_turn ? stages + from : from;
                int32_t dep = from < 0 ? 0 : done[row * p->microbatches + pass->mb];
                if (from >= 0 && dep == 0) {
                    break;
                }
                int mine = (pass->is_backward ? stages : 0) + pass->stage;
                done[mine * p->microbatches + pass->mb] = fixture_add_pass(f, p, pass, dep - 1) + 1;
                next[r]++;
                left--;
            }
        }
        cr_assert_lt(left, before, "the pipeline of the fixture waits for itself");
    }
}

/** Seed of a property test: MS_SEED from the environment, else `seed`. */
static inline uint64_t fixture_seed(uint64_t seed) {
    const char *text = getenv("MS_SEED");
    return text == NULL ? seed : strtoull(text, NULL, 10);
}

#endif
