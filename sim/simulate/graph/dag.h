/**
 * @file
 * The operation graph: what every engine runs and every metric reads. It knows no models, meshes or
 * platforms.
 *
 * An operation carries out a `work` (a computation of fixed time, or a communication of phases of
 * flows) for its `members`. A member is a place in the program order of one stream (a rank's
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
 * which they are added, without waiting for any of them, but before a synchronising one, which it
 * launches once that could start. A communication does not start before all of its members' hosts
 * have launched it, a computation does not end before (sim/simulate/engine/host.md). What follows a
 * synchronising operation on its rank depends on it.
 *
 * Pieces: a computation may hide several computations and communications of its members, which all
 * of them go through together: a piece of a pass. Its time, and what of it is computing and what
 * waiting, is that of these parts played one after the other on links of their own
 * (sim/simulate/lower/pieces.md).
 *
 * Nouns of this room, and what the same word means elsewhere:
 * - operation (op): what one or several streams do at the same time; work: what it does and how
 * long it takes; operations of equal work share one.
 * - member: the place of an operation in the order of one stream. In a group of ranks, a rank.
 * - stream: what runs operations one after the other: the compute stream of a rank, or one
 *   communicator of a rank. A communicator may have streams on several ranks.
 * - piece: the segments of a pass that are one operation at granularity `pass`; part: one of them.
 * - phase: flows of a communication that start together. In metrics and pass times it is a phase of
 *   the pipeline (warm-up, steady, cool-down) or of a step.
 * - crossing: a link on the way of a flow.
 * - place: index of a rank among the ranks of its pipeline rank (lower/ranks.h).
 * - class: ranks, or links, that no figure tells apart (lower/refine.h). In estimate a class is a
 *   communication in all groups of a pipeline rank.
 * - unit of work (`mb`): a microbatch, or one slice of its sequences.
 * - stretch (ms_steady_stretch): a part of a timeline that repeats; its length is the period. A
 *   span is a part of one rank's time that has one category.
 * - step: an optimizer step. In collective/step_fidelity.h it is a step of an algorithm.
 *
 * Folding: a simulated rank stands for `multiplicity` ranks; a work stands for `stands_for`
 * identical ones, whose load on shared links is in the weights of its flows.
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

/** A link is asked for too much only beyond this relative excess, well above the rounding of sums
 * of rates and below anything that shows in a result. */
#define MS_LINK_EXCESS 1e-12

/** A directed link that can bind. */
typedef struct ms_dag_link {
    double capacity_Bps; /**< finite, > 0 */
    int32_t id;          /**< the platform's number of it, for output */
    int32_t tier;        /**< index into the platform's tiers */
} ms_dag_link;

/** One link on the way of a flow. */
typedef struct ms_dag_crossing {
    int32_t link;   /**< index into ms_dag_network.links */
    int32_t weight; /**< crossings of all flows that this one stands for: what the link carries,
                       times the flow's bytes */
    int32_t own;    /**< crossings of one of them */
    double carried; /**< crossings of one of them, the mean, over all links that this one stands
                       for: what they carry */
} ms_dag_crossing;

/** A fluid transfer. Its rate r obeys sum over flows of weight * r <= capacity on every link. */
typedef struct ms_dag_flow {
    double bytes;    /**< load on each crossing: the messages' bytes times `slowness` [B] */
    double slowness; /**< as in ms_flow: time on the links over the time of the messages' bytes at
                        full bandwidth, >= 1 */
    int32_t crossing_first; /**< into ms_dag_network.crossings */
    int32_t crossing_count; /**< 0: nothing limits it, it takes no time */
    double alone_s;  /**< set by ms_dag_finish: time with the other flows of its phase on the links,
                        each crossing them for itself only [s]; < 0 until then */
    double loaded_s; /**< the same with all that the flows stand for */
} ms_dag_flow;

/** Flows that start together; when the last has ended, `latency_s` passes. */
typedef struct ms_dag_phase {
    double latency_s;
    int32_t flow_first; /**< into ms_dag_network.flows */
    int32_t flow_count;
} ms_dag_phase;

/** A computation or a communication inside a piece. */
typedef struct ms_dag_part {
    int32_t work;         /**< no operation of the graph has that of a communication */
    int32_t wait_first;   /**< into ms_dag_pieces.waits */
    int32_t wait_count;   /**< asynchronous parts before it that it starts after, too */
    int16_t communicator; /**< communication: its number among those of the piece, in which parts
                             follow each other; computation: -1 */
    uint8_t axis;         /**< ms_axis, MS_AXIS_NONE for computations */
    bool is_async;        /**< communication: parts behind it do not wait for it */
    double start_s;       /**< set by ms_dag_finish: from the piece's start [s] */
    double end_s;
} ms_dag_part;

/** Communication of one axis inside a piece: busy_s = exposed_s + overlapped_s + in_idle_s. */
typedef struct ms_dag_piece_axis {
    double bytes; /**< sent by each member [B] */
    double busy_s, exposed_s, overlapped_s, in_idle_s;
    double critical_s; /**< of the longest chain through the piece */
    double waited_s;   /**< that members compute nothing because of the axis */
} ms_dag_piece_axis;

/** What a computation hides. All but its parts is set by ms_dag_finish. */
typedef struct ms_dag_piece {
    int32_t part_first; /**< into ms_dag_pieces.parts */
    int32_t part_count;
    unsigned comm_axes; /**< MS_AXIS_BIT of those that it has communications of: of others, `axes`
                           is empty */
    double compute_s;   /**< of its time: computing */
    double waited_s;    /**< the rest, that of all axes */
    double slowed_s;    /**< of that, what communication inside it added */
    double host_s; /**< from its hosts' last launch to its end, at least: what comes behind it [s]
                    */
    ms_dag_piece_axis axes[MS_AXIS_COUNT];
} ms_dag_piece;

/** All pieces of a graph. */
typedef struct ms_dag_pieces {
    ms_dag_piece *pieces;
    ms_dag_part *parts;
    int32_t *waits; /**< parts, counted from the first of their piece */
    int32_t count;
    unsigned unlike_axes; /**< MS_AXIS_BIT of axes whose communications are in no piece, as their
                             groups take different times; set by the one who builds */
    bool is_alone; /**< communications in them meet not even those that their works stand for; set
                      after ms_dag_init by the one who builds */
} ms_dag_pieces;

/** How long a communication may take. */
typedef struct ms_dag_bounds {
    double transfer_s; /**< until its last flow has ended [s] */
    double latency_s;  /**< from then on [s] */
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
    bool is_synchronising; /**< a member's host launches it only once all it waits for has ended */
    bool is_pipelined;     /**< releases its stream before its last latency */
    ms_dag_bounds bounds[2]; /**< communication that stands for others though they differ: the least
                                and the most that any of them takes; else 0 */
    int32_t tag;             /**< for the one who added it (the model's segment); -1 none */
    int32_t piece; /**< computation: 1 + index of the piece that it is, whose time, FLOP, bytes and
                      launches it gets by ms_dag_finish; 0: none */
} ms_dag_work;

/** One operation. */
typedef struct ms_dag_op {
    int32_t work;
    int32_t mb;    /**< microbatch, -1 none */
    int16_t stage; /**< virtual stage, -1 none */
    int16_t chunk; /**< -1 none */
    int16_t layer; /**< -1 none */
    uint8_t kind;  /**< ms_op_kind */
    uint8_t axis;  /**< ms_axis, MS_AXIS_NONE for computations */
} ms_dag_op;

/** A stream of a simulated rank. */
typedef struct ms_dag_stream {
    int32_t rank; /**< index into ms_dag.ranks */
    int32_t peer; /**< p2p: the receiving simulated rank, index into ms_dag.ranks; else -1 */
    int32_t axis; /**< MS_AXIS_NONE: the compute stream */
} ms_dag_stream;

/** A simulated rank. */
typedef struct ms_dag_rank {
    int32_t rank;         /**< rank of the job that is simulated */
    int32_t multiplicity; /**< ranks it stands for, itself included */
    int32_t pp;           /**< pipeline coordinate */
    int32_t compute;      /**< its compute stream */
} ms_dag_rank;

/** What the works of a graph consist of, and what they send over what. */
typedef struct ms_dag_network {
    ms_dag_pieces pieces;
    ms_dag_link *links;
    ms_dag_crossing *crossings;
    ms_dag_flow *flows;
    ms_dag_phase *phases;
    int32_t link_count, crossing_count, flow_count, phase_count;
    /** [MS_COLL_COUNT] by kind of communication: how many times as long a computation takes while
     * one runs on its rank, >= 1; set after ms_dag_init, which sets 1, by the one who builds. */
    double compute_slowdown[MS_COLL_COUNT];
} ms_dag_network;

/** A graph under construction: for the adders. */
typedef struct ms_dag_builder {
    ms_vector vectors[17];
    ms_vector stream_last; /**< newest member on each stream so far (int32_t) */
    bool failed;           /**< memory ran out or an index was wrong; adders turn into no-ops */
} ms_dag_builder;

/** A graph that holds a part of what it stands for: its middle comes so many times more, one by one
 * or several together. */
typedef struct ms_dag_repeat {
    int32_t mbs;     /**< by which `mb` of an operation grows from one time to the next, >= 1 */
    int32_t times;   /**< more, 0: the graph is whole */
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
    int32_t
        *member_first; /**< [op_count + 1] members of op i: member_first[i] .. member_first[i+1] */
    int32_t *member_stream; /**< [member_count] stream of each member */
    int32_t *member_next;   /**< [member_count] operation after it on the stream, -1 none */
    int32_t *dep_first;     /**< [member_count + 1] dependencies of member j: those of `deps` from
                               dep_first[j] on, before dep_first[j+1] */
    int32_t *deps;          /**< operation indices */
    int32_t *step_first;    /**< [step_count + 1] operations of optimizer step k: from step_first[k]
                               on, before step_first[k+1] */
    int32_t rank_count, stream_count, work_count;
    int32_t op_count, member_count, dep_count;
    int32_t step_count;   /**< >= 1 */
    ms_dag_repeat repeat; /**< set after ms_dag_init by the one who builds */
    ms_dag_builder builder;
} ms_dag;

/** Start an empty graph, in which communication slows nothing down. */
void ms_dag_init(ms_dag *dag);
/** Free everything. */
void ms_dag_release(ms_dag *dag);

/** Adders: copy the record, return its index (-1 after a failure). */
int32_t ms_dag_add_rank(ms_dag *dag, int32_t rank, int32_t multiplicity, int32_t pp);
/** A stream of simulated rank index `rank`; the first with axis NONE becomes its compute stream. */
int32_t ms_dag_add_stream(ms_dag *dag, int32_t rank, int32_t peer, ms_axis axis);
int32_t ms_dag_add_link(ms_dag *dag, double capacity_Bps, int32_t id, int32_t tier);
/** A work; for communications follow with phases, flows and crossings of it before the next work.
 */
int32_t ms_dag_add_work(ms_dag *dag, const ms_dag_work *work);
/** A phase of the newest work. */
int32_t ms_dag_add_phase(ms_dag *dag, double latency_s);
/** Add a flow of slowness 1 to the newest phase. */
int32_t ms_dag_add_flow(ms_dag *dag, double bytes);
/** Set the slowness of the newest flow, >= 1. */
void ms_dag_set_slowness(ms_dag *dag, double slowness);
/** Time that the newest flow takes as in ms_dag_flow.alone_s, where its crossings do not tell: they
 * are of classes of links [s]. */
void ms_dag_set_alone(ms_dag *dag, double alone_s);
/** What the newest crossing carries, `own` unless this is called. */
void ms_dag_set_carried(ms_dag *dag, double carried);
/** A crossing of the newest flow. */
int32_t ms_dag_add_crossing(ms_dag *dag, int32_t link, int32_t weight, int32_t own);

/** A piece without parts, for a work that is added with `piece` 1 + its index. */
int32_t ms_dag_add_piece(ms_dag *dag);
/** Next part of the newest piece. */
int32_t ms_dag_add_part(ms_dag *dag, const ms_dag_part *part);
/** The newest part waits for an asynchronous one before it.  part: counted from the piece's first.
 */
void ms_dag_add_part_wait(ms_dag *dag, int32_t part);

/** Whether two works cross a link in common; also before ms_dag_finish.  O(crossings of the one
 * times crossings of the other). */
bool ms_dag_works_meet(const ms_dag *dag, int32_t a, int32_t b);

/** The operations added from here on belong to the next optimizer step. Without a call all belong
 * to one; the first call comes before the first operation. */
void ms_dag_begin_step(ms_dag *dag);
/** Take room for about so many operations, each with one member and one dependency, so that the
 * arrays need not grow bit by bit, which leaves holes as large as they are. */
void ms_dag_reserve(ms_dag *dag, double ops);
/** An operation without members; members and dependencies added next belong to it. */
int32_t ms_dag_add_op(ms_dag *dag, const ms_dag_op *op);
/** Next member of the newest operation: the next place on `stream`. */
void ms_dag_add_member(ms_dag *dag, int32_t stream);
/** Dependency of the newest member; a negative `op` is left out. */
void ms_dag_add_dep(ms_dag *dag, int32_t op);

/** Set the read pointers, the times of flows and what pieces come to, and check every index.
 *  Returns MS_OK; MS_E_NOMEM; MS_E_BUG (reported) if an index is out of range, an operation has no
 * member or no step, a communication no phase, or a slow-down is below 1. */
ms_status ms_dag_finish(ms_dag *dag, ms_diag *diag);

/** Whether an operation occupies a compute stream. */
static inline bool ms_dag_is_compute(const ms_dag *dag, int32_t op) {
    return !dag->works[dag->ops[op].work].is_communication;
}

/** The operation before a member on its stream, -1: none.  O(members between), for messages and
 * tests. */
int32_t ms_dag_find_previous(const ms_dag *dag, int32_t member);

/** What an operation is, whichever ranks carry it out: its axis, kind, virtual stage and
 * microbatch. Of operations that end together the one of the lowest role counts as what the next
 * has waited for, so that attribution depends neither on how ranks are numbered nor on which of
 * them are simulated. Communication between passes (dp, pp) has lower roles than that within them,
 * and computations the highest. */
static inline uint64_t ms_dag_role(const ms_dag *dag, int32_t op) {
    const ms_dag_op *o = &dag->ops[op];
    return (uint64_t)(MS_AXIS_COUNT - o->axis) << 56 | (uint64_t)o->kind << 48 |
           (uint64_t)(uint16_t)(o->stage + 1) << 32 | (uint32_t)(o->mb + 1);
}

/** What a work hides; NULL: nothing. */
static inline const ms_dag_piece *ms_dag_piece_of(const ms_dag *dag, const ms_dag_work *work) {
    return work->piece > 0 ? &dag->network.pieces.pieces[work->piece - 1] : NULL;
}

/** Describe an operation for messages: "forward stage 3 mb 5 layer 7 on rank 12".  Returns
 * text_out. */
char *ms_dag_describe(const ms_dag *dag, int32_t op, char *text_out, size_t size);

/** Bytes of a flow's messages over each crossing [B]. */
static inline double ms_dag_flow_payload_B(const ms_dag_flow *flow) {
    return flow->bytes / flow->slowness;
}

/** Time of flow `flow` with nothing but its phase on the links [s]; 0 without crossings.
 *  is_alone: as the phase of one of those it stands for; false: as that of all of them. */
double ms_dag_flow_time_s(const ms_dag *dag, int32_t flow, bool is_alone);

/** Time of a phase with no other on the links [s]: its slowest flow, then its latency.  is_alone:
 * as for a flow.  *flows_out: the slowest flow's time [s]. */
double ms_dag_phase_time_s(const ms_dag *dag, const ms_dag_phase *phase, bool is_alone,
                           double *flows_out);

/** Latency of a work: of all its phases, what no bandwidth would take away [s]. */
double ms_dag_work_latency_s(const ms_dag *dag, const ms_dag_work *work);

/** Time of a work with no other on the links: computations their time; communications the sum over
 * their phases.  is_alone: as for a flow.  *transfer_out (may be
 * NULL): the same without the last phase's latency. */
double ms_dag_work_time_s(const ms_dag *dag, const ms_dag_work *work, bool is_alone,
                          double *transfer_out);

#endif
