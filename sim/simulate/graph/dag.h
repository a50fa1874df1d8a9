/**
 * @file
 * The operation graph: what every engine runs and every metric reads. It knows no models, meshes or
 * platforms.
 *
 * An operation carries out a `work` (a computation of fixed time, or a communication of phases of
 * flows) for its `members`. A member is a position in the program order of one stream (a rank's
 * compute stream, or one communicator of a rank). An operation starts when, for every member, all
 * its dependencies have ended and the operation before it on the stream has released the stream. A
 * stream is released at the operation's end; a pipelined work (a p2p message) releases it when its
 * last flow has ended, its latency comes after that.
 *
 * Operations are numbered in the order they are added. A dependency may name any operation, also
 * one that is added later, and so the graph may wait for itself, which the engine reports. The
 * graphs of the lowering (simulate/lower/lower.h) are sorted: there every dependency has a lower
 * number.
 *
 * Launching: the host of a rank launches the rank's operations one after the other, in the order in
 * which they are added, without waiting for their ends. The exception is a synchronising operation:
 * the host launches it only when everything that the operation waits for has ended. A communication
 * does not start, and a computation does not end, before the hosts of all its members have launched
 * it (sim/simulate/engine/host.md). The builder makes every operation that follows a synchronising
 * one on its rank depend on it.
 *
 * Fused passes: an operation of the compute stream may be a whole pass, or a part of one, fused: a
 * run of computations and communications (its parts) that all members go through together. The
 * parts are simulated once, on links of their own. That gives the time of the fused pass and its
 * shares of computing and waiting (sim/simulate/lower/fused_passes.md).
 *
 * Nouns of this room, and what the same word means elsewhere:
 * - operation (op): a node of the graph, which occupies one or several streams at the same time.
 * - work: the content of an operation: a computation of known duration, or a communication with its
 *   flows. Operations with the same content share one work.
 * - member: the position of an operation in the order of one stream. In a group of ranks, a rank.
 * - stream: what runs operations one after the other: the compute stream of a rank, or one
 *   communicator of a rank. A communicator may have streams on several ranks.
 * - fused pass: a run of segments of a pass that is one operation at granularity `pass`; part: one
 * of these segments.
 * - phase: flows of a communication that start together. In metrics and pass times it is a phase of
 *   the pipeline (warm-up, steady, cool-down) or of a step.
 * - crossing: a link on the route of a flow, with the number of times that the flow uses it.
 * - rank_in_stage: index of a rank among the ranks of its pipeline rank (lower/ranks.h).
 * - class: ranks, or links, that behave alike, so one can stand for all (lower/refine.h). In
 *   estimate a class is a communication in all groups of a pipeline rank.
 * - unit of work (`mb`): a microbatch, or one slice of its sequences.
 * - repeated period (ms_repeated_period): a part of a timeline that happens again and again.
 * - span: a part of one rank's time that has one category.
 * - step: an optimizer step. In collective/step_fidelity.h it is a step of an algorithm.
 *
 * Folding: of ranks that behave alike one is simulated, which stands for `multiplicity` ranks. A
 * work stands for `stands_for` identical works of other groups; their load on shared links is in
 * the weights of the crossings.
 *
 * Several arrays hold lists side by side: x_first and x_count of a record are the index of its
 * first item in the array of all items, and the number of its items.
 */
#ifndef MESHSIM_DAG_H
#define MESHSIM_DAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/diag.h"
#include "base/event.h"
#include "base/status.h"

/** A link counts as overloaded only if the sum of the requested rates exceeds its capacity by more
 * than this share of the capacity. The tolerance is well above the rounding of sums of rates and
 * below anything that shows in a result. */
#define MS_LINK_EXCESS 1e-12

/** A directed link that can bind: that is, limit the rate of some flow. */
typedef struct ms_dag_link {
    double capacity_Bps; /**< finite, > 0 */
    int32_t id;          /**< the platform's number of the link, for output */
    int32_t tier;        /**< index into the platform's tiers */
} ms_dag_link;

/** One link on the route of a flow. A folded flow stands for equal flows of several groups, a
 * folded link for several equal links. */
typedef struct ms_dag_crossing {
    int32_t link;   /**< index into ms_dag_network.links */
    int32_t weight; /**< how often all flows that this flow stands for cross the link, together; the
                       link carries weight * bytes of the flow */
    int32_t own;    /**< how often one of these flows crosses the link */
    double carried; /**< how often one of these flows crosses links that this link stands for, in
                       all (a mean over these flows); for the bytes carried by a tier */
} ms_dag_crossing;

/** A fluid transfer. Its rate r obeys sum over flows of weight * r <= capacity on every link. */
typedef struct ms_dag_flow {
    double bytes;    /**< load on each crossing: the messages' bytes times `slowness` [B] */
    double slowness; /**< as in ms_flow: time on the links over the time of the messages' bytes at
                        full bandwidth, >= 1 */
    int32_t crossing_first; /**< into ms_dag_network.crossings */
    int32_t crossing_count; /**< 0: nothing limits the flow, it takes no time */
    double alone_s;  /**< set by ms_dag_finish: time with only the flows of its phase on the links,
                        those of one group (crossings weigh `own`) [s]; < 0 until then */
    double loaded_s; /**< set by ms_dag_finish: as alone_s, with the flows of all groups that the
                        work stands for (crossings weigh `weight`) [s] */
} ms_dag_flow;

/** Flows of a communication that start together. When the last flow has ended, `latency_s` passes
 * before the next phase starts or the communication ends. */
typedef struct ms_dag_phase {
    double latency_s;   /**< [s] */
    int32_t flow_first; /**< into ms_dag_network.flows */
    int32_t flow_count;
} ms_dag_phase;

/** A computation or a communication inside a fused pass. */
typedef struct ms_dag_part {
    int32_t work; /**< index of its work; the work of a communication inside a fused pass is not
                     used by any operation of the graph */
    int32_t wait_first;   /**< into ms_fused_passes.waits */
    int32_t wait_count;   /**< number of earlier asynchronous parts that this part waits for, beside
                             the blocking parts before it */
    int16_t communicator; /**< communication: number of its communicator within the fused pass, on
                             which parts run one after the other; computation: -1 */
    uint8_t axis;         /**< ms_axis, MS_AXIS_NONE for computations */
    bool is_async;        /**< communication: later parts do not wait for it unless they list it */
    double start_s;       /**< set by ms_dag_finish: from the fused pass's start [s] */
    double end_s;         /**< likewise [s] */
} ms_dag_part;

/** Communication of one axis inside a fused pass: busy_s = exposed_s + overlapped_s + in_idle_s.
 * Times in seconds. */
typedef struct ms_fused_pass_axis {
    double bytes;        /**< sent by each member [B] */
    double busy_s;       /**< some communication of the axis runs */
    double exposed_s;    /**< of busy_s: the member waits for this axis */
    double overlapped_s; /**< of busy_s: the member computes */
    double in_idle_s;    /**< of busy_s: the member waits for another axis */
    double critical_s;   /**< the axis' share of the critical path through the fused pass */
    double waited_s;     /**< the member computes nothing, and the axis is the cause */
} ms_fused_pass_axis;

/** A fused pass. All but its parts is set by ms_dag_finish. */
typedef struct ms_fused_pass {
    int32_t part_first; /**< into ms_fused_passes.parts */
    int32_t part_count;
    unsigned comm_axes; /**< MS_AXIS_BIT of the axes that its communications belong to; `axes` is
                           zero for all other axes */
    double compute_s;   /**< of its time: a member computes [s] */
    double waited_s;    /**< the rest of its time: the sum of waited_s over all axes [s] */
    double slowed_s; /**< of compute_s: added by communication that runs beside computations [s] */
    double host_s; /**< least time from the host's last launch for the fused pass to its end [s] */
    ms_fused_pass_axis axes[MS_AXIS_COUNT];
} ms_fused_pass;

/** All fused passes of a graph. */
typedef struct ms_fused_passes {
    ms_fused_pass *passes;
    ms_dag_part *parts;
    int32_t *waits; /**< parts that a part waits for; 0: the first part of their fused pass */
    int32_t count;
    unsigned unlike_axes; /**< MS_AXIS_BIT of axes whose communications are in no fused pass, as
                             their groups take different times; set by the builder's caller */
    bool is_alone; /**< communications in fused passes take their time alone (alone_s of a flow),
                      without those of the groups that their works stand for; set by the
                      builder's caller after ms_dag_init */
} ms_fused_passes;

/** One bound of the time that a communication may take. */
typedef struct ms_dag_bounds {
    double transfer_s; /**< from its start until its last flow has ended [s] */
    double latency_s;  /**< from the end of the last flow on [s] */
} ms_dag_bounds;

/** What an operation does; shared by all operations that do the same. */
typedef struct ms_dag_work {
    double time_s; /**< computation: its time; communication: 0 */
    double host_s; /**< time the host of each member's rank takes to launch it [s] */
    double flop;   /**< computation: executed FLOP */
    double bytes;  /**< computation: HBM traffic; communication: bytes each member sends [B] */
    double size_B; /**< communication: full buffer [B] */
    int32_t phase_first; /**< into ms_dag_network.phases */
    int32_t phase_count; /**< communication: >= 1; computation: 0 */
    int32_t stands_for;  /**< identical works this one represents, >= 1 */
    int32_t group_size;  /**< communication: ranks that take part (2 for p2p) */
    int16_t tier;        /**< communication: outermost tier crossed, -1 none */
    uint8_t coll;        /**< ms_coll_kind, MS_COLL_NONE for a computation */
    uint8_t algorithm;   /**< ms_coll_algorithm of the plan */
    uint8_t protocol;    /**< ms_protocol of the plan */
    bool is_communication;
    bool is_synchronising; /**< a member's host launches the operation only when everything that the
                              operation waits for has ended */
    bool is_pipelined;     /**< releases its stream before its last latency */
    ms_dag_bounds bounds[2]; /**< communication that stands for others of different duration (fold
                                `bounded`): least [0] and longest [1] time that any of them may
                                take; else 0 */
    int32_t tag;   /**< free for the caller (the lowering: the model's segment); -1 none */
    int32_t fused; /**< computation: 1 + index of the fused pass that the work is, from which
                      ms_dag_finish sets its time, FLOP, bytes and launch time; 0: no fused pass */
} ms_dag_work;

/** One operation. */
typedef struct ms_dag_op {
    int32_t work;
    int32_t mb;    /**< microbatch, -1 none */
    int16_t stage; /**< virtual stage, -1 none */
    int16_t chunk; /**< model chunk of the rank, -1 none */
    int16_t layer; /**< layer of the model, -1 none */
    uint8_t kind;  /**< ms_op_kind */
    uint8_t axis;  /**< ms_axis, MS_AXIS_NONE for computations */
} ms_dag_op;

/** A stream of a simulated rank. */
typedef struct ms_dag_stream {
    int32_t rank; /**< index into ms_dag.ranks */
    int32_t peer; /**< p2p: the receiving simulated rank, index into ms_dag.ranks; else -1 */
    int32_t axis; /**< ms_axis of its communications; MS_AXIS_NONE: a compute stream */
} ms_dag_stream;

/** A simulated rank. */
typedef struct ms_dag_rank {
    int32_t rank;         /**< rank of the job that is simulated */
    int32_t multiplicity; /**< number of the job's ranks it stands for, itself included */
    int32_t pp;           /**< pipeline coordinate */
    int32_t compute;      /**< index of its compute stream */
} ms_dag_rank;

/** The phases, flows and fused passes that the works of a graph consist of, and the links they use.
 */
typedef struct ms_dag_network {
    ms_fused_passes fused;
    ms_dag_link *links;
    ms_dag_crossing *crossings;
    ms_dag_flow *flows;
    ms_dag_phase *phases;
    int32_t link_count, crossing_count, flow_count, phase_count;
    /** By kind of communication: factor on the time of a computation while a communication of that
     * kind runs on its rank, >= 1. ms_dag_init sets 1; the builder's caller may set others then. */
    double compute_slowdown[MS_COLL_COUNT];
} ms_dag_network;

/** A graph under construction: for the adders. */
typedef struct ms_dag_builder {
    ms_vector vectors[17];
    ms_vector stream_last; /**< newest member on each stream so far (int32_t) */
    bool failed;           /**< memory ran out or an index was wrong; adders turn into no-ops */
} ms_dag_builder;

/** For a graph that is a shortened job (sim/simulate/run/fast_forward.md): how the middle of each
 * step is to be repeated to give the whole job. A repetition is the smallest unit, a number of
 * microbatches; the period that is found in the timeline may be several of them. */
typedef struct ms_dag_repeat {
    int32_t mbs;     /**< microbatches of one repetition: difference of `mb` between an operation
                        and its next occurrence, >= 1 */
    int32_t times;   /**< repetitions that the graph leaves out; 0: the graph is whole */
    int64_t ops_max; /**< if times > 0: maximum cost of running the graph and proving that it
                        repeats itself, in the unit of ms_timeline.ops_run */
} ms_dag_repeat;

/** The graph. Arrays are vectors; read them through the pointers that ms_dag_finish sets. */
typedef struct ms_dag {
    ms_dag_rank *ranks;
    ms_dag_stream *streams;
    ms_dag_network network;
    ms_dag_work *works;
    ms_dag_op *ops;
    int32_t *member_first;  /**< [op_count + 1] members of op i: from member_first[i] on, before
                               member_first[i+1] */
    int32_t *member_stream; /**< [member_count] stream of each member */
    int32_t *member_next;   /**< [member_count] operation after it on the stream, -1 none */
    int32_t *dep_first;     /**< [member_count + 1] dependencies of member j: those of `deps` from
                               dep_first[j] on, before dep_first[j+1] */
    int32_t *deps;          /**< [dep_count] operation indices */
    int32_t *step_first;    /**< [step_count + 1] operations of optimizer step k: from step_first[k]
                               on, before step_first[k+1] */
    int32_t rank_count, stream_count, work_count;
    int32_t op_count, member_count, dep_count;
    int32_t step_count;   /**< >= 1 */
    ms_dag_repeat repeat; /**< set by the builder's caller after ms_dag_init */
    ms_dag_builder builder;
} ms_dag;

/** Start an empty graph, in which communication slows nothing down. */
void ms_dag_init(ms_dag *dag);
/** Free everything. */
void ms_dag_release(ms_dag *dag);

/** Add a simulated rank. All functions ms_dag_add_... that return a number copy their arguments and
 * return the index of the new record; -1 after a failure, which ms_dag_finish reports. Parameters
 * are as the fields of the record. */
int32_t ms_dag_add_rank(ms_dag *dag, int32_t rank, int32_t multiplicity, int32_t pp);
/** Add a stream of the simulated rank with index `rank`. The first stream of a rank with axis
 * MS_AXIS_NONE becomes its compute stream. */
int32_t ms_dag_add_stream(ms_dag *dag, int32_t rank, int32_t peer, ms_axis axis);
/** Add a link. */
int32_t ms_dag_add_link(ms_dag *dag, double capacity_Bps, int32_t id, int32_t tier);
/** Add a work without phases. The phases, flows and crossings of a communication must be added
 * before the next work. */
int32_t ms_dag_add_work(ms_dag *dag, const ms_dag_work *work);
/** Add a phase to the newest work. */
int32_t ms_dag_add_phase(ms_dag *dag, double latency_s);
/** Add a flow of slowness 1 to the newest phase.  Returns it, so that the caller can set slowness,
 * >= 1, and alone_s: ms_dag_finish could not compute alone_s of flows of folded works, because
 * their crossings name classes of links rather than the links of one group. It is valid until the
 * next flow is added.  NULL after a failure. */
ms_dag_flow *ms_dag_add_flow(ms_dag *dag, double bytes);
/** Add a crossing to the newest flow; each link at most once.  Returns it, so that the caller can
 * set `carried`, which is `own` otherwise; valid until the next crossing is added.  NULL after a
 * failure. */
ms_dag_crossing *ms_dag_add_crossing(ms_dag *dag, int32_t link, int32_t weight, int32_t own);

/** Add a fused pass without parts. The work that is this fused pass has `fused` = 1 + its index. */
int32_t ms_dag_add_fused_pass(ms_dag *dag);
/** Add the next part of the newest fused pass, in the order of launches. */
int32_t ms_dag_add_part(ms_dag *dag, const ms_dag_part *part);
/** Let the newest part wait for an earlier asynchronous part of its fused pass.  part: counted from
 * the first part of the fused pass. */
void ms_dag_add_part_wait(ms_dag *dag, int32_t part);

/** Whether works `a` and `b` have a link in common. May be called before ms_dag_finish.
 * O(crossings of a times crossings of b). */
bool ms_dag_works_meet(const ms_dag *dag, int32_t a, int32_t b);

/** Let the operations added from here on belong to the next optimizer step. Without a call all
 * operations belong to one step. The first call must come before the first operation. */
void ms_dag_begin_step(ms_dag *dag);
/** Reserve memory for about `ops` operations, each with one member and one dependency. An array
 * that is not reserved grows by copies, each of which leaves a hole of its old size in the heap. */
void ms_dag_reserve(ms_dag *dag, double ops);
/** Add an operation without members. */
int32_t ms_dag_add_op(ms_dag *dag, const ms_dag_op *op);
/** Add a member to the newest operation: the next position in the order of `stream`. */
void ms_dag_add_member(ms_dag *dag, int32_t stream);
/** Let the newest member depend on operation `op`; nothing happens if `op` is negative. */
void ms_dag_add_dep(ms_dag *dag, int32_t op);

/** End the construction: set the read pointers, check every index, and compute the times of flows
 * and fused passes.  Returns MS_OK; MS_E_NOMEM (reported); MS_E_BUG (reported) if an index is out
 * of range, an operation has no member or no step, a communication no phase, or a slow-down is
 * below 1. */
ms_status ms_dag_finish(ms_dag *dag, ms_diag *diag);

/** Whether an operation occupies a compute stream. */
static inline bool ms_dag_is_compute(const ms_dag *dag, int32_t op) {
    return !dag->works[dag->ops[op].work].is_communication;
}

/** The operation before a member on its stream, -1: none.  O(members between the two); used only
 * for messages and tests. */
int32_t ms_dag_find_previous(const ms_dag *dag, int32_t member);

/** The role of an operation: its axis, kind, virtual stage and microbatch as one number, the same
 * on whichever ranks run it. Where an operation is released by several that end together, the one
 * of the lowest role counts as the cause. So the attribution of waits depends neither on how ranks
 * are numbered nor on which of them are simulated. Communication between passes (dp, pp) has lower
 * roles than communication within passes; computations have the highest. */
static inline uint64_t ms_dag_role(const ms_dag *dag, int32_t op) {
    const ms_dag_op *o = &dag->ops[op];
    return (uint64_t)(MS_AXIS_COUNT - o->axis) << 56 | (uint64_t)o->kind << 48 |
           (uint64_t)(uint16_t)(o->stage + 1) << 32 | (uint32_t)(o->mb + 1);
}

/** The fused pass that a work is; NULL: it is none. */
static inline const ms_fused_pass *ms_fused_pass_of(const ms_dag *dag, const ms_dag_work *work) {
    return work->fused > 0 ? &dag->network.fused.passes[work->fused - 1] : NULL;
}

/** Describe an operation for messages: "forward stage 3 mb 5 layer 7 on rank 12", without what the
 * operation lacks, and with the rank of its first member.  text_out: [size], cut where that ends.
 * Returns text_out. */
char *ms_dag_describe(const ms_dag *dag, int32_t op, char *text_out, size_t size);

/** Bytes of a flow's messages over each crossing [B]. */
static inline double ms_dag_flow_payload_B(const ms_dag_flow *flow) {
    return flow->bytes / flow->slowness;
}

/** Time of flow `flow` with only its phase on the links [s]; 0 without crossings.  is_alone: true:
 * ms_dag_flow.alone_s, false: loaded_s. */
double ms_dag_flow_time_s(const ms_dag *dag, int32_t flow, bool is_alone);

/** Time of a phase with no other phase on the links [s]: its slowest flow, then its latency.
 * is_alone: as for ms_dag_flow_time_s.  *flows_out: the slowest flow's time [s]. */
double ms_dag_phase_time_s(const ms_dag *dag, const ms_dag_phase *phase, bool is_alone,
                           double *flows_out);

/** Latency of a work: the sum over its phases; the part of its time that more bandwidth would not
 * shorten [s]. */
double ms_dag_work_latency_s(const ms_dag *dag, const ms_dag_work *work);

/** Time of a work with no other work on the links [s]: for a computation its time, for a
 * communication the sum over its phases.  is_alone: as for ms_dag_flow_time_s.  *transfer_out (may
 * be NULL): the same without the latency of the last phase [s]. */
double ms_dag_work_time_s(const ms_dag *dag, const ms_dag_work *work, bool is_alone,
                          double *transfer_out);

#endif
