/**
 * @file
 * Pipeline schedules: (kind, P, V, M, options) -> an ordered list of passes per pipeline rank.
 *
 * Pure: no times, no platform. A pass works on a global virtual stage 0..S-1 (S = P*V) and one
 * microbatch. Rules and sources: schedule files in sim/schedule/, one per schedule.
 */
#ifndef MESHSIM_SCHEDULE_H
#define MESHSIM_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "meshsim/arena.h"
#include "meshsim/buffer.h"
#include "meshsim/diag.h"
#include "meshsim/event.h"
#include "meshsim/status.h"

/** Kinds built so far; later ones are appended. */
typedef enum ms_schedule_kind {
    MS_SCHEDULE_GPIPE,
    MS_SCHEDULE_1F1B,
    MS_SCHEDULE_INTERLEAVED,
    MS_SCHEDULE_KIND_COUNT,
} ms_schedule_kind;

/** What to build. */
typedef struct ms_schedule_spec {
    ms_schedule_kind kind;
    int pipeline_ranks; /**< P >= 1 */
    int chunks;         /**< V >= 1, virtual stages per rank; > 1 for interleaved only */
    int microbatches;   /**< M >= 1 */
    int group;          /**< N, microbatches per group of the interleaved table; 0: P */
} ms_schedule_spec;

/** One entry of a rank's list. */
typedef struct ms_action {
    uint8_t pass;          /**< ms_pass */
    uint8_t is_overlapped; /**< runs together with the next action of the list (overlapped forward
                              and backward) */
    int16_t stage;         /**< global virtual stage 0..S-1 */
    int32_t mb;            /**< microbatch 0..M-1 */
} ms_action;

/** A whole schedule: the lists of all ranks, one after the other. All storage in the arena of
 * ms_schedule_build. */
typedef struct ms_program {
    ms_schedule_spec spec;
    const char *name;       /**< as the user writes the kind: "gpipe", "1f1b", "interleaved" */
    int stages;             /**< S */
    int parameter_replicas; /**< copies of each stage's parameters among the pipeline ranks (1; 2
                               for bidirectional) */
    int *stage_rank;        /**< [S] pipeline rank that owns the stage */
    int *stage_chunk;       /**< [S] which of that rank's chunks it is, 0..V-1 */
    size_t *first;          /**< [P + 1] rank r's actions are actions[first[r] .. first[r+1]) */
    ms_action *actions;     /**< [first[P]] */
} ms_program;

/** Kind of a name ("gpipe", "1f1b", "interleaved").  Returns MS_OK, or MS_E_RANGE if there is none.
 */
ms_status ms_schedule_kind_from_name(const char *name, ms_schedule_kind *kind_out);
/** Name of a kind; static storage. */
const char *ms_schedule_kind_name(ms_schedule_kind kind);
/** All names, NULL-terminated; static storage. */
const char *const *ms_schedule_kind_names(void);

/** Build the program of a schedule.
 *  *program_out: in `arena`.  Returns MS_OK; MS_E_INPUT when P, V, M, N clash (reported with the
 * rule and the nearest legal values); MS_E_NOMEM.  O(P*V*M). */
ms_status ms_schedule_build(const ms_schedule_spec *spec, ms_arena *arena, ms_diag *diag,
                            ms_program *program_out);

/** Invariants of any program: every (stage, mb) has exactly one F and one B or one I and one W;
 * each on the stage's rank; F before B/I, I before W; the lists can run to their end without
 * deadlock. Returns MS_OK; MS_E_INPUT, the first broken rule reported (a deadlock as the cycle of
 * waiting actions). */
ms_status ms_program_check(const ms_program *program, ms_diag *diag);

/** Append the compute-only CSV (PyTorch's format: one line per rank, LF ends, cells such as 2F0, no
 * empty cells). */
void ms_program_write_csv(const ms_program *program, ms_buffer *out);

/** zlib crc32 of the compute-only CSV. */
uint32_t ms_program_crc32(const ms_program *program);

/** Abstract costs, any time unit. */
typedef struct ms_schedule_costs {
    const double *forward;     /**< [S] per virtual stage and microbatch */
    const double *input_grad;  /**< [S] */
    const double *weight_grad; /**< [S]; a fused B costs input_grad + weight_grad */
    const double *
        p2p; /**< [S-1] latency of the boundary s|s+1, both directions; 0 if both are on one rank */
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
    long messages_total;
    ms_schedule_rank *ranks; /**< [P] */
    ms_schedule_slot *slots; /**< [number of actions] */
    bool has_formula;
    double formula_makespan; /**< closed form where one holds for these costs and sizes */
} ms_schedule_result;

/** Run a program on paper: unlimited bandwidth, p2p latency delays only the consumer.
 *  *result_out: in `arena`.  Returns MS_OK; MS_E_INPUT on deadlock (reported); MS_E_RANGE for
 *  a negative or infinite cost (reported); MS_E_NOMEM.  O(actions). */
ms_status ms_schedule_evaluate(const ms_program *program, const ms_schedule_costs *costs,
                               ms_arena *arena, ms_diag *diag, ms_schedule_result *result_out);

#endif
