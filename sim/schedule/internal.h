/* Types and functions that the files of this folder share: the row of a schedule kind in the
 * registration table, the list of a rank under construction, the orders that kinds generate lists
 * from, the conditions of closed forms, and the producers of an action, the passes whose results it
 * needs. */
#ifndef MS_SCHEDULE_INTERNAL_H
#define MS_SCHEDULE_INTERNAL_H

#include "schedule/schedule.h"

enum {
    /** Maximum number of stages of a program, as ms_action.stage has 16 bits. */
    MS_STAGES_MAX = INT16_MAX,
    /** Maximum number of actions of a program: 50 million take 1.2 GB with their times; larger
     * requests are typing mistakes. */
    MS_ACTIONS_MAX = 50 * 1000 * 1000,
};

/** Lists of actions under construction, of one rank after the other. */
typedef struct ms_action_list {
    ms_action *actions;
    size_t count;
    size_t capacity;
    bool has_overflowed; /**< a generator wrote more actions than its row allows: a bug */
} ms_action_list;

/** Options that a kind takes besides P, V, M: N, K, is_reordered of ms_schedule_spec. */
enum { MS_TAKES_GROUP = 1, MS_TAKES_SLICES = 2, MS_TAKES_REORDER = 4 };

/** A schedule kind: one row of the registration table (kinds/table.c). */
typedef struct ms_schedule_type {
    const char *name;
    int passes; /**< maximum of actions per (stage, microbatch): 2 with a fused B, 3 with I and W */
    int directions;   /**< 2: the stages exist twice, once for each direction of the pipeline */
    int chunks;       /**< V it needs; 0: any */
    unsigned options; /**< MS_TAKES_ bits */
    /** Check the rules of this kind beyond P, V, M >= 1 and the limits of the row.  Returns MS_OK;
     * MS_E_INPUT (reported).  NULL: no further rules. */
    ms_status (*check)(const struct ms_schedule_type *type, const ms_schedule_spec *spec,
                       ms_diag *diag);
    /** Placement: the pipeline rank that owns a stage of the program. */
    int (*rank_of_stage)(const ms_schedule_spec *spec, int stage);
    /** Number of microbatches of a round (ms_program.round).  NULL: no rounds. */
    int (*round)(const ms_schedule_spec *spec);
    /** Append the whole list of one rank.  rank: 0..P-1, called in this order. */
    void (*generate)(const ms_schedule_spec *spec, int rank, ms_action_list *list);
    /** Change or check the finished lists.  Returns MS_OK; MS_E_INPUT, MS_E_NOMEM (reported). NULL:
     * nothing to do. */
    ms_status (*finish)(ms_program *program, ms_arena *scratch, ms_diag *diag);
    /** Closed form of the makespan.  Returns false where none holds for these sizes and costs.
     * NULL: none is known. */
    bool (*formula)(const ms_program *program, const ms_schedule_costs *costs,
                    double *makespan_out);
    /** Closed form of the span bubble, the most idle time inside a rank's span, likewise. */
    bool (*span_formula)(const ms_program *program, const ms_schedule_costs *costs,
                         double *bubble_out);
} ms_schedule_type;

extern const ms_schedule_type ms_schedule_gpipe;
extern const ms_schedule_type ms_schedule_1f1b;
extern const ms_schedule_type ms_schedule_interleaved;
extern const ms_schedule_type ms_schedule_interleaved_torch;
extern const ms_schedule_type ms_schedule_interleaved_flexible;
extern const ms_schedule_type ms_schedule_looped_bfs;
extern const ms_schedule_type ms_schedule_zbh1;
extern const ms_schedule_type ms_schedule_zbh2;
extern const ms_schedule_type ms_schedule_zb1p;
extern const ms_schedule_type ms_schedule_zbv;
extern const ms_schedule_type ms_schedule_vhalf;
extern const ms_schedule_type ms_schedule_vmin;
extern const ms_schedule_type ms_schedule_dualpipe;
extern const ms_schedule_type ms_schedule_dualpipev;
extern const ms_schedule_type ms_schedule_chimera;
extern const ms_schedule_type ms_schedule_seq1f1b;

/** Add one more row to those of the table, in place of the row that was added before; NULL: only
 * remove that. For tests: a kind that ships has its row in kinds/table.c.  type: borrowed.  Returns
 * the kind of the row. */
ms_schedule_kind ms_schedule_add_kind(const ms_schedule_type *type);
/** Row of a kind; NULL if there is none. */
const ms_schedule_type *ms_schedule_type_of(ms_schedule_kind kind);

/** Append one action; sets `has_overflowed` instead of writing past the end. */
void ms_action_list_add(ms_action_list *list, ms_pass pass, int stage, int mb);
/** Append a forward and a backward pass as an overlapped pair. */
void ms_action_list_add_pair(ms_action_list *list, const ms_action *forward,
                             const ms_action *backward);

/** Placement "loop": chunk c of rank r is stage c*P + r. */
int ms_stage_rank_loop(const ms_schedule_spec *spec, int stage);
/** Placement "v": the stages of even chunks go down the ranks, those of odd chunks up again. With
 * two directions of one stage per rank, stage s of the first direction is on rank s, and stage s of
 * the second direction, P + s in the program, on rank P-1-s. */
int ms_stage_rank_v(const ms_schedule_spec *spec, int stage);

/** Check M >= P, for kinds that need it.  Returns MS_OK; MS_E_INPUT (reported). */
ms_status ms_schedule_check_m_at_least_p(const ms_schedule_type *type, const ms_schedule_spec *spec,
                                         ms_diag *diag);

/** The order of a rank's list in the 1F1B family: warm-up of F, one F and one backward pass in
 * turn, cool-down of backward passes. The F of a rank, and its backward passes, are each counted by
 * k from 0, and `add` maps k to a stage and a microbatch.
 *  rank: pipeline rank.  total: number of F of the rank, and of backward passes.  warmup: number of
 * F before the first F that is followed by a backward pass, <= total.  add: append the k-th F
 * (MS_PASS_F) or backward pass (any other pass) of the rank. */
typedef struct ms_1f1b_list {
    const ms_schedule_spec *spec;
    int rank;
    int64_t total;
    int64_t warmup;
    int group; /**< N, microbatches per group, for ms_interleaved_add */
    void (*add)(const struct ms_1f1b_list *order, ms_pass pass, int64_t k, ms_action_list *list);
} ms_1f1b_list;

/** Make the order of a rank that runs every microbatch, or every slice of it, on each of its
 * chunks.
 *  warmup: reduced to the rank's number of F where it exceeds that.  Returns an order whose `add`
 * is for one stage per rank; kinds with more replace it. */
ms_1f1b_list ms_1f1b_list_of(const ms_schedule_spec *spec, int rank, int64_t warmup);

/** Append a rank's list in this order, with whole backward passes B. */
void ms_generate_1f1b(const ms_1f1b_list *order, ms_action_list *list);

/** Append a rank's list in this order, with backward passes split: warm-up of F; then, in every
 * step, one F while there are any, one I, and the W whose I ran `lag` steps before; the W left at
 * the end. */
void ms_generate_split(const ms_1f1b_list *order, int lag, ms_action_list *list);

/** `add` of interleaved kinds. The order of F is: for each group of ms_1f1b_list.group
 * microbatches, for each chunk, the microbatches of the group; the last group has the remainder.
 * Backward passes go through the chunks of a group in reverse. */
void ms_interleaved_add(const ms_1f1b_list *order, ms_pass pass, int64_t k, ms_action_list *list);
/** PyTorch's group size: M / max(1, M/P rounded down). */
int ms_torch_group(const ms_schedule_spec *spec);
/** Check that the number of PyTorch's groups divides M.  Returns MS_OK; MS_E_INPUT (reported). */
ms_status ms_torch_check(const ms_schedule_type *type, const ms_schedule_spec *spec, ms_diag *diag);

/** Costs that are the same for every stage and every boundary between ranks. */
typedef struct ms_even_costs {
    double forward;
    double backward;    /**< input and weight gradient */
    double p2p;         /**< 0 when no boundary lies between ranks */
    bool is_split_even; /**< not only their sum, but input and weight gradient are each the same for
                           every stage */
    double input_grad, weight_grad; /**< valid if is_split_even */
} ms_even_costs;

/** Whether costs are even: all stages cost the same, all boundaries between ranks have the same
 * latency, and sends do not block unless that latency is 0.
 *  even_out: these costs; not written if false is returned.  O(S). */
bool ms_schedule_costs_are_even(const ms_program *program, const ms_schedule_costs *costs,
                                ms_even_costs *even_out);
/** Whether costs are even (ms_schedule_costs_are_even), messages are free, and input and weight
 * gradients are each the same for every stage.
 *  even_out: likewise. */
bool ms_schedule_costs_are_even_and_free(const ms_program *program, const ms_schedule_costs *costs,
                                         ms_even_costs *even_out);
/** Latency of messages between a stage and the next one; 0 if both are on one rank.  stage: of the
 * program, not the last of its direction. */
double ms_schedule_latency(const ms_program *program, const ms_schedule_costs *costs, int stage);
/** Closed form of the makespan of 1F1B, also for interleaved with V = 1.  Any P >= 1, M >= 1. */
double ms_formula_1f1b(int ranks, int microbatches, const ms_even_costs *even);

/** Index of a stage and microbatch in arrays of [stages * mb_count]. */
static inline size_t ms_program_key(const ms_program *program, int stage, int mb) {
    return (size_t)stage * (size_t)program->mb_count + (size_t)mb;
}

/** Length of arrays that ms_program_key indexes: stages * mb_count. */
static inline size_t ms_program_keys(const ms_program *program) {
    return (size_t)program->stages * (size_t)program->mb_count;
}

/** A producer of an action: the pass of some stage and microbatch whose result the action needs. */
typedef struct ms_producer {
    int stage;
    int mb;
    bool is_forward; /**< F, else the gradient (I or B) */
} ms_producer;

/** Producers of an action: of F(s) F(s-1); of I(s) or B(s) the I or B of s+1, and F(s); of W(s)
 * I(s).
 *  producers_out: [2].  Returns their number, 0..2. */
int ms_action_producers(const ms_program *program, const ms_action *action,
                        ms_producer producers_out[2]);

/** Stage that needs an action's result: the next one for F, the previous one for I and B, on
 * whichever rank; -1: none. */
int ms_action_consumer(const ms_program *program, const ms_action *action);

/** Maps the actions of a program to cells of the file that it is from, to report faults. */
typedef struct ms_fault_location {
    /** Report the fault `what` of a rank.  index: of the action at fault in the program; -1: a
     * fault of the rank's line. */
    void (*report)(void *context, int rank, int64_t index, const char *what);
    /** Number, from 1, of the cell of an action in its line, rank + 1, of the file. */
    long (*cell)(void *context, int rank, size_t index);
    void *context; /**< first argument of both functions */
} ms_fault_location;

/** Report a fault at its place in the file of the program; without a file (`location` NULL) with
 * its rank only.
 *  index: as in ms_fault_location.report.  Returns MS_E_INPUT. */
ms_status ms_fault_report(const ms_fault_location *location, int rank, int64_t index, ms_diag *diag,
                          const char *format, ...) __attribute__((format(printf, 5, 6)));

/** ms_program_check that reports faults at their places in a file.  location: NULL: the program is
 * not from a file. */
ms_status ms_program_check_at(const ms_program *program, const ms_fault_location *location,
                              ms_diag *diag);

/** Whether every action names a pass, a stage and a microbatch that exist, and is in the list of
 * the rank that owns the stage, and overlapped pairs are valid. Reports the first fault. */
bool ms_program_is_well_formed(const ms_program *program, ms_diag *diag);

#endif
