/**
 * @file
 * Pipeline schedules: (kind, P, V, M, options) -> an ordered list of passes per pipeline rank.
 *
 * Pure: no times, no platform. A pass works on a global virtual stage 0..S-1 (S = P*V) and one
 * microbatch. Rules and sources: schedule files in sim/schedule/kinds/, one per schedule.
 *
 * Nouns of the room `schedule`, and what the same words mean elsewhere:
 * - kind: a way to order passes (1f1b, interleaved, zbv, ...).
 * - program: the order that a kind, a file or the search made: a list of actions for each rank.
 * - action: a pass of one stage and microbatch. In simulate: an operation of the graph.
 * - stage: a virtual stage; chunk: the number of a stage among those of its rank.
 * - rank: a pipeline rank. In cluster: any rank of the mesh.
 * - mb: a microbatch; where sequences are cut into K slices, microbatch * K + slice.
 * - direction: the way of a microbatch through the ranks; Chimera and DualPipe have two.
 * - group: microbatches that the interleaved schedule takes together. In cluster: ranks of an axis.
 * - pair: a forward and a backward pass that run overlapped.
 * - makespan: from the first action's start to the last one's end; bubble: idle time of a rank.
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
    MS_SCHEDULE_INTERLEAVED_TORCH,    /**< PyTorch's rounds in the place of groups */
    MS_SCHEDULE_INTERLEAVED_FLEXIBLE, /**< Llama 3: groups of any size, M need not divide */
    MS_SCHEDULE_LOOPED_BFS,
    MS_SCHEDULE_ZBH1,
    MS_SCHEDULE_ZBH2,
    MS_SCHEDULE_ZB1P, /**< interleaved, I and W apart */
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
    int chunks;         /**< V >= 1, virtual stages per rank; 0: the kind's own (1, or 2 of a V),
                             an error for kinds that take any number */
    int microbatches;   /**< M >= 1 */
    int group;          /**< N, microbatches per group of the interleaved table; 0: P */
    int slices;         /**< K, sequence slices of a microbatch (seq1f1b); 0: 1 */
    bool is_reordered;  /**< vhalf, vmin: move warm-up and cool-down passes into earlier gaps */
} ms_schedule_spec;

/** One entry of a rank's list. */
typedef struct ms_action {
    uint8_t pass;          /**< ms_pass */
    uint8_t is_overlapped; /**< runs together with the next action of the list (overlapped forward
                              and backward) */
    int16_t stage;         /**< virtual stage 0..stages-1 of the program */
    int32_t mb;            /**< 0..mb_count-1: microbatch, or microbatch * K + sequence slice */
} ms_action;

/** A change of what sharded parameters a rank has whole: UNSHARD and RESHARD of PyTorch. */
typedef struct ms_shard_move {
    size_t before; /**< the action it stands before, an index into the program's actions; the end of
                      the rank's list: behind the last one */
    int16_t stage; /**< virtual stage of the program, on this rank */
    bool is_unshard; /**< gathered from the ranks that share them; else resharded */
} ms_shard_move;

/** A whole schedule: the lists of all ranks, one after the other. All storage in the arena of
 * ms_schedule_build.
 *
 * With two directions (DualPipe, Chimera) stage model_stages + s is stage s of the model again,
 * with parameters of its own, and each direction has its own microbatches 0..mb_count-1. */
typedef struct ms_program {
    ms_schedule_spec spec;               /**< with V resolved */
    const struct ms_schedule_type *type; /**< row of the kind that made it; NULL: a file or a search
                                            did, and no closed form is known */
    const char *name;       /**< as the user writes the kind: "gpipe", "1f1b", "interleaved" */
    int stages;             /**< model_stages * directions: how many stages the actions name */
    int model_stages;       /**< S = P*V; costs are given for these */
    int round;              /**< microbatches that a stage takes one after the other before the
                               rank goes on with another stage; the last round may be shorter. 0:
                               the schedule has no rounds */
    int mb_count;           /**< `mb` of each stage: M, M/2 with two directions, M*K with slices */
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

/** Kind of a name ("gpipe", "1f1b", "interleaved").  Returns MS_OK, or MS_E_RANGE if there is none.
 */
ms_status ms_schedule_kind_from_name(const char *name, ms_schedule_kind *kind_out);
/** Name of a kind; static storage. */
const char *ms_schedule_kind_name(ms_schedule_kind kind);
/** All names, NULL-terminated; static storage. */
const char *const *ms_schedule_kind_names(void);

/** Sizes and options of a kind beyond P and M. */
typedef struct ms_schedule_traits {
    int chunks; /**< V it needs; 0: any */
    bool takes_group, takes_slices, takes_reorder;
} ms_schedule_traits;
/** Traits of one of the kinds that are built by kind. */
ms_schedule_traits ms_schedule_kind_traits(ms_schedule_kind kind);

/** Microbatches per group of a kind that takes groups: N; where none is given P, or M if that is
 * less, which only the flexible kind takes. */
int ms_schedule_group(const ms_schedule_spec *spec);

/** Build the program of a schedule.
 *  *program_out: in `arena`.  Returns MS_OK; MS_E_INPUT when P, V, M, N clash (reported with the
 * rule and the nearest legal values); MS_E_NOMEM.  O(P*V*M). */
ms_status ms_schedule_build(const ms_schedule_spec *spec, ms_arena *arena, ms_diag *diag,
                            ms_program *program_out);

/** Whether a stage of a program hands its forward result to the next one: not the last stage of the
 * model, in either direction. */
bool ms_program_has_next(const ms_program *program, int stage);
/** Whether a stage hands its gradient to the one before. */
bool ms_program_has_previous(const ms_program *program, int stage);

/** Stage that gets this action's result in a message; -1 if none does. */
int ms_action_receiver(const ms_program *program, const ms_action *action);

/** Stage of the model that a program's stage is; in one direction the same number. */
static inline int ms_program_model_stage(const ms_program *program, int stage) {
    return stage % program->model_stages;
}

/** Units that an action's stage has been through with a pass that does the same: a whole backward
 * pass counts with input gradients before it runs (at_end: false), and with weight gradients after.
 *  runs: [stages * MS_PASS_COUNT] units whose pass has run. */
int ms_action_runs_before(const ms_action *action, const int *runs, bool at_end);

/** Whether an action makes the first weight gradients of a round, or the last ones; false without
 * rounds. */
static inline bool ms_action_opens_round(const ms_program *program, const ms_action *action) {
    bool has_weights = action->pass == MS_PASS_B || action->pass == MS_PASS_W;
    return program->round > 0 && has_weights && action->mb % program->round == 0;
}
static inline bool ms_action_closes_round(const ms_program *program, const ms_action *action) {
    bool has_weights = action->pass == MS_PASS_B || action->pass == MS_PASS_W;
    bool is_last = program->round > 0 && (action->mb + 1) % program->round == 0;
    return program->round > 0 && has_weights && (is_last || action->mb == program->mb_count - 1);
}

/** Invariants of any program: every (stage, mb) has exactly one F and one B or one I and one W;
 * each on the stage's rank; F before B/I, I before W; the slices of a sequence forwards in
 * order and backwards the other way round; an overlapped pair is a forward and a backward pass of
 * different work; the lists can run to their end without deadlock; where the program says when
 * parameters are unsharded, a pass only of a stage that is, none unsharded twice, and all resharded
 * after use. Returns MS_OK; MS_E_INPUT, the first broken rule reported (a deadlock as the cycle of
 * waiting actions). */
ms_status ms_program_check(const ms_program *program, ms_diag *diag);

/** Say when sharded parameters are unsharded: before every action (or pair) a rank reshards what is
 * not among the next `active` different stages of its list, and unshards what of these is not yet;
 * at the end it reshards all. Replaces what the program said.
 *  active: >= 1, 3 in PyTorch.  program: the moves are in `arena`.  Returns MS_OK; MS_E_NOMEM
 * (reported).  O(actions * stages of a rank).
 *  Source: torch.distributed.pipelining.schedules, _add_unshard_reshard (max_active_stages). */
ms_status ms_program_place_unshards(ms_program *program, int active, ms_arena *arena,
                                    ms_diag *diag);

/** A stop on the way through a program: what a rank unshards and reshards, then one action, or both
 * of an overlapped pair. */
typedef struct ms_program_stop {
    int rank;
    int width;                  /**< actions that run as one: 1, 2 of a pair; 0 behind a list's last
                                   action, where only moves are left */
    size_t index;               /**< of the first one among the program's actions */
    const ms_action *actions;   /**< [width], of the program */
    const ms_shard_move *moves; /**< [move_count] before the actions, of the program */
    size_t move_count;
} ms_program_stop;

/** The position of a visit of one rank's list. */
typedef struct ms_rank_cursor {
    const ms_program *program;
    int rank;
    bool is_serial; /**< may be set before the first stop: pairs are two stops */
    size_t action;  /**< the next one, an index into the program's actions */
    size_t move;    /**< the next one, an index into the program's moves */
} ms_rank_cursor;

/** A cursor at the beginning of a rank's list.  rank: 0..P-1.  O(1), no allocation. */
ms_rank_cursor ms_rank_begin(const ms_program *program, int rank);
/** Go on to the next stop of the list; false behind the last one, nothing written.  O(1). */
bool ms_rank_next(ms_rank_cursor *cursor, ms_program_stop *stop_out);

/** Where a visit of all ranks' lists stands. Every action comes after those whose results it needs:
 * round after round, rank 0 to P-1, each going on in its list as far as it can. */
typedef struct ms_ready_order {
    const ms_program *program;
    ms_rank_cursor *cursors; /**< [P] */
    uint32_t *forward_at;    /**< [stages * mb_count] index + 1 of the visited F, 0: not yet */
    uint32_t *gradient_at;   /**< [stages * mb_count] index + 1 of the visited I or B */
    uint64_t *this_round;    /**< [P bits] ranks that may go on, behind the one at hand */
    uint64_t *next_round;    /**< [P bits] ranks that may go on, before it */
    bool *is_blocked;        /**< [P] in neither: waits for others, or is at its end */
    int rank;                /**< the one at hand, -1: none */
} ms_ready_order;

/** Make an order at its beginning, for a program whose actions all name existing stages and
 * microbatches.
 *  is_serial: pairs are two stops.  *order_out: in `arena`.  Returns MS_OK; MS_E_NOMEM (not
 * reported).  O(stages * mb_count). */
ms_status ms_ready_order_init(const ms_program *program, bool is_serial, ms_arena *arena,
                              ms_ready_order *order_out);
/** Go back to the beginning.  O(stages * mb_count). */
void ms_ready_order_restart(ms_ready_order *order);
/** Go on to the next stop; false when no rank can go on.  O(1), P / 64 once a round. */
bool ms_ready_order_next(ms_ready_order *order, ms_program_stop *stop_out);
/** Whether the visit has come to the end of all lists.  Returns MS_OK; MS_E_INPUT on a deadlock
 * (reported as the cycle of waiting actions).  O(P). */
ms_status ms_ready_order_check(const ms_ready_order *order, ms_diag *diag);

/** Where a pipeline rank's list is: before its first backward pass, behind its last forward pass,
 * or between them. */
typedef enum ms_pipeline_phase {
    MS_PHASE_WARMUP,
    MS_PHASE_STEADY,
    MS_PHASE_COOLDOWN,
} ms_pipeline_phase;

/** The positions in a list that divide it into phases; begin with MS_NO_PHASES. */
typedef struct ms_pipeline_phases {
    int64_t first_backward; /**< -1: none */
    int64_t last_forward;   /**< -1: none */
} ms_pipeline_phases;

/** Phases that are not there. */
#define MS_NO_PHASES ((ms_pipeline_phases){.first_backward = -1, .last_forward = -1})

/** Take note of a pass; positions come in ascending order. */
static inline void ms_phases_add(ms_pipeline_phases *phases, int64_t position, ms_pass pass) {
    if (pass == MS_PASS_F) {
        phases->last_forward = position;
    } else if (phases->first_backward < 0) {
        phases->first_backward = position;
    }
}
/** Phase that idle time right before a position belongs to; what lies before the first pass is
 * warm-up. */
static inline ms_pipeline_phase ms_phase_before(const ms_pipeline_phases *phases,
                                                int64_t position) {
    if (position == 0 || position <= phases->first_backward) {
        return MS_PHASE_WARMUP;
    }
    return position > phases->last_forward ? MS_PHASE_COOLDOWN : MS_PHASE_STEADY;
}

/** Whether some passes of a program run together, as overlapped pairs. */
bool ms_program_has_pairs(const ms_program *program);
/** Let overlapped pairs run as what they are made of: forward, then backward pass. */
void ms_program_part_pairs(ms_program *program);

/** zlib crc32 of the compute-only CSV (PyTorch's format: one line per rank, LF ends, cells such as
 * 2F0, no empty cells).  O(actions). */
uint32_t ms_program_crc32(const ms_program *program);

/** Largest cost: the times of all passes and ranks that a program may have add up to less than a
 * double holds (1.8e308), also with the largest scale of pairs. */
#define MS_SCHEDULE_COST_MAX 1e280

/** Largest scale of pairs. */
#define MS_SCHEDULE_SCALE_MAX 1e9

/** Abstract costs, any time unit, each at most MS_SCHEDULE_COST_MAX. */
typedef struct ms_schedule_costs {
    const double *forward;     /**< [model_stages] per virtual stage and microbatch (slice) */
    const double *input_grad;  /**< [model_stages] */
    const double *weight_grad; /**< [model_stages]; a fused B costs input_grad + weight_grad */
    const double *p2p; /**< [model_stages-1] latency of the boundary s|s+1, both directions; 0 if
                          both are on one rank */
    double pair_scale; /**< an overlapped pair takes this times the sum of its passes; 0: 1; at
                          most MS_SCHEDULE_SCALE_MAX */
    bool is_serial;    /**< overlapped pairs run as forward, then backward; the scale is not used */
    bool is_blocking;  /**< a rank that sends waits for the arrival before it goes on */
} ms_schedule_costs;

/** One pass with its times, in the order of the program's actions. */
typedef struct ms_schedule_slot {
    double start;
    double end;
} ms_schedule_slot;

/** Per pipeline rank. */
typedef struct ms_schedule_rank {
    double busy;
    double idle_warmup, idle_steady, idle_cooldown;
    double exposed_p2p;      /**< sum over actions of start - max(previous end, latest producer end
                                without latency) */
    double span;             /**< last end - first start */
    int peak_inflight;       /**< +1 at F start, -1 at the end of W or B */
    int peak_inflight_input; /**< +1 at F start, -1 at the end of I or B */
    long messages_sent;
} ms_schedule_rank;

/** Evaluation of a program with abstract costs. */
typedef struct ms_schedule_result {
    double makespan;
    double bubble_fraction; /**< 1 - sum of busy / (P * makespan) */
    double max_span;
    double max_span_bubble; /**< max over ranks of span - busy */
    double busy_max;        /**< work of the busiest rank: no schedule ends sooner */
    long messages_total;
    ms_schedule_rank *ranks; /**< [P] */
    ms_schedule_slot *slots; /**< [number of actions] */
    bool has_formula;
    double formula_makespan; /**< closed form where one holds for these costs and sizes */
    bool has_span_formula;
    double formula_span_bubble; /**< the same for max_span_bubble */
} ms_schedule_result;

/** Run a program on paper: unlimited bandwidth, p2p latency delays only the consumer.
 *  *result_out: in `arena`.  Returns MS_OK; MS_E_INPUT on deadlock (reported); MS_E_RANGE for
 *  a negative or too large cost (reported); MS_E_NOMEM (reported).  O(actions). */
ms_status ms_schedule_evaluate(const ms_program *program, const ms_schedule_costs *costs,
                               ms_arena *arena, ms_diag *diag, ms_schedule_result *result_out);

#endif
