/**
 * @file
 * Pipeline schedules: (kind, P, V, M, options) -> an ordered list of passes per pipeline rank.
 *
 * Pure: no platform, no simulated network; times only where costs are given (evaluation). A pass
 * works on one virtual stage of the model, 0..S-1 (S = P*V), and one microbatch. Passes: F forward,
 * I input gradient, W weight gradient, B the whole backward pass (I and W fused). Rules and sources
 * of each kind: its file in sim/schedule/kinds/.
 *
 * Terms of the folder `schedule`, and what the same words mean elsewhere:
 * - kind: a way to order passes (1f1b, interleaved, zbv, ...).
 * - program: the order that a kind, a file or the search made: a list of actions for each rank.
 * - action: a pass of one stage and microbatch. In simulate: an operation of the graph.
 * - stage: a virtual stage; chunk: the number of a stage among those of its rank (Megatron-LM's
 * model chunk).
 * - rank: a pipeline rank. In cluster: any rank of the mesh.
 * - mb: number of a microbatch; where sequences are cut into K slices, microbatch * K + slice.
 * - direction: the order in which a microbatch runs through the ranks; Chimera and DualPipe have
 * two.
 * - group: consecutive microbatches that the interleaved schedule runs on a chunk before the rank
 * turns to its next chunk. In cluster: ranks of an axis.
 * - pair: a forward and a backward pass that run overlapped.
 * - stop: a step of a walk over a rank's list: one action, or both of an overlapped pair.
 * - makespan: from the first action's start to the last one's end; span: the same of one rank;
 * bubble: idle time of a rank.
 */
#ifndef MESHSIM_SCHEDULE_H
#define MESHSIM_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/diag.h"
#include "base/event.h"
#include "base/status.h"

/** Kinds built so far; later ones are appended. */
typedef enum ms_schedule_kind {
    MS_SCHEDULE_GPIPE,
    MS_SCHEDULE_1F1B,
    MS_SCHEDULE_INTERLEAVED,
    MS_SCHEDULE_INTERLEAVED_TORCH,    /**< groups of PyTorch's size, see ms_torch_group */
    MS_SCHEDULE_INTERLEAVED_FLEXIBLE, /**< Llama 3: groups of any size, M need not divide */
    MS_SCHEDULE_LOOPED_BFS,
    MS_SCHEDULE_ZBH1,
    MS_SCHEDULE_ZBH2,
    MS_SCHEDULE_ZB1P, /**< interleaved zero bubble: I and W apart */
    MS_SCHEDULE_ZBV,
    MS_SCHEDULE_VHALF,
    MS_SCHEDULE_VMIN,
    MS_SCHEDULE_DUALPIPE,
    MS_SCHEDULE_DUALPIPEV,
    MS_SCHEDULE_CHIMERA,
    MS_SCHEDULE_SEQ1F1B,
    MS_SCHEDULE_KIND_COUNT,
    MS_SCHEDULE_CUSTOM = -1, /**< read from a file or found by search; never built by kind */
} ms_schedule_kind;

/** What a schedule is built from. */
typedef struct ms_schedule_spec {
    ms_schedule_kind kind;
    int pipeline_ranks; /**< P >= 1 */
    int chunks;       /**< V >= 1, virtual stages per rank; 0: the V that the kind needs (1, or 2 in
                           a V), an error for kinds that take any V */
    int microbatches; /**< M >= 1 */
    int group;  /**< N, microbatches per group of interleaved kinds; 0: see ms_schedule_group */
    int slices; /**< K, sequence slices of a microbatch (seq1f1b); 0: 1 */
    bool is_reordered; /**< vhalf, vmin: move passes into earlier gaps (v_reorder.c) */
} ms_schedule_spec;

/** One entry of a rank's list. */
typedef struct ms_action {
    uint8_t pass;          /**< ms_pass */
    uint8_t is_overlapped; /**< runs together with the next action of the list (overlapped forward
                              and backward) */
    int16_t stage;         /**< virtual stage 0..stages-1 of the program */
    int32_t mb;            /**< 0..mb_count-1: microbatch, or microbatch * K + sequence slice */
} ms_action;

/** A move: a rank all-gathers the sharded parameters of a stage, or frees them again (UNSHARD and
 * RESHARD of PyTorch). */
typedef struct ms_shard_move {
    size_t before;   /**< index, among the program's actions, of the action before which the move is
                        done; the end of the rank's list: after its last action */
    int16_t stage;   /**< virtual stage of the program, on this rank */
    bool is_unshard; /**< all-gather of the parameters; else they are freed (resharded) */
} ms_shard_move;

/** A whole schedule: the lists of all ranks, one after the other. All storage in the arena of
 * ms_schedule_build.
 *
 * With two directions (DualPipe, Chimera) stage model_stages + s is the stage s of the model in the
 * second direction, with a copy of its parameters, and each direction has microbatches
 * 0..mb_count-1 of its own. */
typedef struct ms_program {
    ms_schedule_spec spec;               /**< with V resolved */
    const struct ms_schedule_type *type; /**< row of the kind that made the program; NULL: it is
                                            from a file or the search, and has no closed form */
    const char *name;                    /**< of the kind ("1f1b"), the file, or "search" */
    int stages;       /**< model_stages * directions: how many stages the actions name */
    int model_stages; /**< S = P*V, the stages of the model; costs are per model stage */
    int round;        /**< number of consecutive microbatches that a rank runs on a stage before it
                         turns to its next stage; the last round may be shorter. 0: the schedule has
                         no rounds */
    int mb_count;     /**< number of `mb` values per stage: M, M/2 with two directions, M*K with
                         slices */
    int parameter_replicas; /**< copies of each stage's parameters among the pipeline ranks (1; 2
                               for bidirectional) */
    int *stage_rank;        /**< [stages] pipeline rank that owns the stage */
    int *stage_chunk;       /**< [stages] which of that rank's chunks it is, from 0 on */
    size_t *first;          /**< [P + 1] rank r's actions are those of `actions` from first[r] on,
                               before first[r+1] */
    ms_action *actions;     /**< [first[P]] */
    size_t *shard_first;    /**< [P + 1] rank r's moves are those of `shard_moves` from
                               shard_first[r] on, before shard_first[r+1], in order */
    ms_shard_move *shard_moves; /**< NULL: the program does not say when parameters are unsharded */
} ms_program;

/** Find the kind with a name ("gpipe", "1f1b", "interleaved").  Returns MS_OK; MS_E_RANGE if there
 * is none (not reported). */
ms_status ms_schedule_kind_from_name(const char *name, ms_schedule_kind *kind_out);
/** Name of a kind, "unknown" if there is none; static storage. */
const char *ms_schedule_kind_name(ms_schedule_kind kind);
/** Names of all kinds, NULL-terminated, in the order of ms_schedule_kind; static storage. */
const char *const *ms_schedule_kind_names(void);

/** Sizes and options that a kind takes besides P and M. */
typedef struct ms_schedule_traits {
    int chunks; /**< V it needs; 0: any */
    bool takes_group, takes_slices, takes_reorder;
} ms_schedule_traits;
/** Traits of a kind.  kind: any but MS_SCHEDULE_CUSTOM. */
ms_schedule_traits ms_schedule_kind_traits(ms_schedule_kind kind);

/** Group size N of a kind that takes groups: spec->group, or its default if that is 0: P, or M if M
 * < P (legal for the flexible kind only). */
int ms_schedule_group(const ms_schedule_spec *spec);

/** Build the program of a schedule.
 *  *program_out: in `arena`.  Returns MS_OK; MS_E_INPUT when P, V, M, N clash (reported with the
 * rule and the nearest legal values); MS_E_NOMEM.  O(P*V*M). */
ms_status ms_schedule_build(const ms_schedule_spec *spec, ms_arena *arena, ms_diag *diag,
                            ms_program *program_out);

/** Whether the next stage needs a stage's forward result: false for the last stage of the model, in
 * either direction. */
bool ms_program_has_next(const ms_program *program, int stage);
/** Whether the previous stage needs a stage's input gradient: false for the first stage of the
 * model, in either direction. */
bool ms_program_has_previous(const ms_program *program, int stage);

/** Stage, on another rank, to which an action's result is sent in a message; -1: no message is
 * sent. */
int ms_action_receiver(const ms_program *program, const ms_action *action);

/** Number in the model, 0..model_stages-1, of a stage of a program; differs from `stage` in the
 * second direction only. */
static inline int ms_program_model_stage(const ms_program *program, int stage) {
    return stage % program->model_stages;
}

/** Number of microbatches (or slices) for which the stage of an action has run a pass with the same
 * effect before: F for an F, B or I for an I, B or W for a W. For a B: B or I (at_end: false), or B
 * or W (at_end: true).
 *  runs: [stages * MS_PASS_COUNT] number of passes run, by stage and kind of pass. */
int ms_action_count_earlier(const ms_action *action, const int *runs, bool at_end);

/** Whether an action computes the first weight gradients of a round on its stage; false without
 * rounds. */
static inline bool ms_action_opens_round(const ms_program *program, const ms_action *action) {
    bool has_weights = action->pass == MS_PASS_B || action->pass == MS_PASS_W;
    return program->round > 0 && has_weights && action->mb % program->round == 0;
}
/** Whether an action computes the last weight gradients of a round on its stage; false without
 * rounds. */
static inline bool ms_action_closes_round(const ms_program *program, const ms_action *action) {
    bool has_weights = action->pass == MS_PASS_B || action->pass == MS_PASS_W;
    bool is_last = program->round > 0 && (action->mb + 1) % program->round == 0;
    return program->round > 0 && has_weights && (is_last || action->mb == program->mb_count - 1);
}

/** Check the invariants of any program: every (stage, mb) has exactly one F and one B or one I and
 * one W; each on the stage's rank; F before B/I, I before W; the slices of a sequence run forward
 * in order and backward in reverse order; an overlapped pair is a forward and a backward pass of
 * different work; the lists can run to their end without deadlock; where the program has moves,
 * each pass finds the parameters of its stage unsharded, none are unsharded twice, and all are
 * resharded after use. Returns MS_OK; MS_E_INPUT, the first broken rule reported (a deadlock as the
 * cycle of waiting actions). */
ms_status ms_program_check(const ms_program *program, ms_diag *diag);

/** Place the moves of sharded parameters in a program: before every action (or pair) a rank
 * reshards the stages that are not among the next `active` different stages of its list, and
 * unshards those of the `active` ones that are sharded; at the end it reshards all. There may be
 * one such stage more, where an overlapped pair would be parted. Replaces the moves that the
 * program had.
 *  active: >= 1, 3 in PyTorch.  program: shard_first and shard_moves are set, in `arena`.  Returns
 * MS_OK; MS_E_NOMEM (reported).  O(actions * stages of a rank).
 *  Source: torch.distributed.pipelining.schedules, _add_unshard_reshard (max_active_stages). */
ms_status ms_program_place_unshards(ms_program *program, int active, ms_arena *arena,
                                    ms_diag *diag);

/** A stop, the step of a walk over a rank's list: the moves that the rank does first, then one
 * action or both actions of an overlapped pair. */
typedef struct ms_program_stop {
    int rank;
    int width;    /**< number of actions: 1, or 2 of a pair; 0 after a list's last action,
                     where only moves are left */
    size_t index; /**< index of the first of them among the program's actions */
    const ms_action *actions;   /**< [width], borrowed from the program */
    const ms_shard_move *moves; /**< [move_count] moves before the actions, borrowed likewise */
    size_t move_count;
} ms_program_stop;

/** The position of a walk over one rank's list. */
typedef struct ms_rank_cursor {
    const ms_program *program;
    int rank;
    bool is_serial; /**< the actions of a pair are two stops; may be set before the first stop */
    size_t action;  /**< index of the next action among the program's actions */
    size_t move;    /**< index of the next move among the program's moves */
} ms_rank_cursor;

/** A cursor at the beginning of a rank's list.  rank: 0..P-1.  O(1), no allocation. */
ms_rank_cursor ms_rank_begin(const ms_program *program, int rank);
/** Go on to the next stop of the list.  Returns false, with nothing written, after the last one.
 * O(1). */
bool ms_rank_next(ms_rank_cursor *cursor, ms_program_stop *stop_out);

/** The position of a walk over all ranks' lists in order of readiness: every action is visited
 * after those whose results it needs. The walk goes round after round over the ranks 0 to P-1; in
 * its turn, a rank goes on in its list as far as it can. */
typedef struct ms_ready_order {
    const ms_program *program;
    ms_rank_cursor *cursors; /**< [P] */
    uint32_t *forward_at;    /**< [stages * mb_count] index + 1 of the visited F, 0: not yet */
    uint32_t *gradient_at;   /**< [stages * mb_count] index + 1 of the visited I or B */
    uint64_t *this_round;    /**< [P bits] ranks after `rank` with a turn in this round */
    uint64_t *next_round;    /**< [P bits] ranks with a turn in the next round */
    bool *is_blocked;        /**< [P] has no turn: waits for another rank, or is at its end */
    int rank;                /**< the rank whose turn it is; -1: none */
} ms_ready_order;

/** Begin a walk in order of readiness, over a program whose actions all name existing stages and
 * microbatches.
 *  is_serial: the actions of a pair are two stops.  *order_out: in `arena`.  Returns MS_OK;
 * MS_E_NOMEM (not reported).  O(stages * mb_count). */
ms_status ms_ready_order_init(const ms_program *program, bool is_serial, ms_arena *arena,
                              ms_ready_order *order_out);
/** Set a walk back to its beginning.  O(stages * mb_count). */
void ms_ready_order_restart(ms_ready_order *order);
/** Go on to the next stop.  Returns false when no rank can go on: at the end, or on a deadlock.
 * O(1), P / 64 once a round. */
bool ms_ready_order_next(ms_ready_order *order, ms_program_stop *stop_out);
/** Check that a walk has come to the end of all lists.  Returns MS_OK; MS_E_INPUT on a deadlock
 * (reported as the cycle of waiting actions).  O(P). */
ms_status ms_ready_order_check(const ms_ready_order *order, ms_diag *diag);

/** Phase of a position in a rank's list: warm-up up to its first backward pass, cool-down after its
 * last forward pass, steady between the two. */
typedef enum ms_pipeline_phase {
    MS_PHASE_WARMUP,
    MS_PHASE_STEADY,
    MS_PHASE_COOLDOWN,
} ms_pipeline_phase;

/** The positions in a list that divide it into phases; starts as MS_NO_PHASES. */
typedef struct ms_pipeline_phases {
    int64_t first_backward; /**< position of the first I, W or B; -1: none yet */
    int64_t last_forward;   /**< position of the last F; -1: none yet */
} ms_pipeline_phases;

/** The phases of an empty list. */
#define MS_NO_PHASES ((ms_pipeline_phases){.first_backward = -1, .last_forward = -1})

/** Add a pass of the list to its phases.  position: from 0, ascending from call to call. */
static inline void ms_phases_add(ms_pipeline_phases *phases, int64_t position, ms_pass pass) {
    if (pass == MS_PASS_F) {
        phases->last_forward = position;
    } else if (phases->first_backward < 0) {
        phases->first_backward = position;
    }
}
/** Phase of the idle time right before the pass at a position.  phases: of the whole list. */
static inline ms_pipeline_phase ms_phase_before(const ms_pipeline_phases *phases,
                                                int64_t position) {
    if (position == 0 || position <= phases->first_backward) {
        return MS_PHASE_WARMUP;
    }
    return position > phases->last_forward ? MS_PHASE_COOLDOWN : MS_PHASE_STEADY;
}

/** Whether a program has overlapped pairs. */
bool ms_program_has_pairs(const ms_program *program);
/** Remove the marks of overlapped pairs, so that their two passes run one after the other. */
void ms_program_part_pairs(ms_program *program);

/** The CRC-32 (zlib) of a program's text as a compute-only CSV file in PyTorch's format: one line
 * per rank, LF ends, cells such as 2F0, no empty cells.  O(actions). */
uint32_t ms_program_crc32(const ms_program *program);

/** Maximum of a cost. With it, the times of all passes and ranks of the largest program add up to
 * less than the maximum of a double (1.8e308), also with the maximum scale of pairs. */
#define MS_SCHEDULE_COST_MAX 1e280

/** Maximum of ms_schedule_costs.pair_scale. */
#define MS_SCHEDULE_SCALE_MAX 1e9

/** Abstract costs, in any unit of time, each from 0 to MS_SCHEDULE_COST_MAX. Arrays are borrowed.
 */
typedef struct ms_schedule_costs {
    const double *forward;     /**< [model_stages] per virtual stage and microbatch (slice) */
    const double *input_grad;  /**< [model_stages] */
    const double *weight_grad; /**< [model_stages]; a fused B costs input_grad + weight_grad */
    const double *p2p; /**< [model_stages-1] latency of messages between stages s and s+1, either
                          way; not used where both stages are on one rank */
    double pair_scale; /**< duration of an overlapped pair over the sum of the durations of its
                          passes; 0: 1; at most MS_SCHEDULE_SCALE_MAX */
    bool is_serial;   /**< the passes of overlapped pairs run one after the other; pair_scale is not
                         used */
    bool is_blocking; /**< sends block: a rank goes on only when its messages have arrived */
} ms_schedule_costs;

/** The times of one action. */
typedef struct ms_schedule_slot {
    double start;
    double end;
} ms_schedule_slot;

/** Measures of one pipeline rank. */
typedef struct ms_schedule_rank {
    double busy; /**< sum of the durations of its passes */
    double idle_warmup, idle_steady,
        idle_cooldown;  /**< idle time by phase, from 0 to the makespan */
    double exposed_p2p; /**< idle time due to latency: sum over actions of start - max(end of the
                           previous action, latest end of a producer) */
    double span;        /**< last end - first start */
    int peak_inflight;  /**< maximum number of activations held, each of one microbatch and stage,
                           from the start of F to the end of W or B */
    int peak_inflight_input; /**< the same to the end of I or B */
    long messages_sent;      /**< to other ranks */
} ms_schedule_rank;

/** Evaluation of a program with abstract costs. */
typedef struct ms_schedule_result {
    double makespan;
    double bubble_fraction; /**< 1 - sum of busy / (P * makespan) */
    double max_span;        /**< longest span of a rank */
    double max_span_bubble; /**< maximum over the ranks of span - busy */
    double busy_max;        /**< busy time of the busiest rank, a lower bound of the makespan */
    long messages_total;
    ms_schedule_rank *ranks; /**< [P] */
    ms_schedule_slot *slots; /**< [number of actions] in the order of the program's actions */
    bool has_formula; /**< whether a closed form of the makespan holds for these costs and sizes */
    double formula_makespan;    /**< the makespan by this form */
    bool has_span_formula;      /**< whether a closed form of max_span_bubble holds */
    double formula_span_bubble; /**< max_span_bubble by this form */
} ms_schedule_result;

/** Evaluate a program with given costs, without a simulated network: bandwidth is unlimited, and
 * the latency of a message delays only the pass that needs it (unless sends block).
 *  *result_out: in `arena`.  Returns MS_OK; MS_E_INPUT on deadlock (reported); MS_E_RANGE for
 *  a negative or too large cost (reported); MS_E_NOMEM (reported).  O(actions). */
ms_status ms_schedule_evaluate(const ms_program *program, const ms_schedule_costs *costs,
                               ms_arena *arena, ms_diag *diag, ms_schedule_result *result_out);

#endif
