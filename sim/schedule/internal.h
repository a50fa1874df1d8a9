/* What the schedule files share: the registration row of a schedule, the writer of a rank's list,
 * what an action waits for. */
#ifndef MS_SCHEDULE_INTERNAL_H
#define MS_SCHEDULE_INTERNAL_H

#include "schedule/schedule.h"

enum {
    /** ms_action.stage is 16 bits wide. */
    MS_STAGES_MAX = INT16_MAX,
    /** 50 million actions take 1.2 GB with their times; larger requests are typing mistakes. */
    MS_ACTIONS_MAX = 50 * 1000 * 1000,
};

/** List of one rank under construction. */
typedef struct ms_action_list {
    ms_action *actions;
    size_t count;
    size_t capacity;
    bool has_overflowed; /**< a generator wrote more than its row allows: a bug */
} ms_action_list;

/** Options a kind takes beyond P, V, M. */
enum { MS_TAKES_GROUP = 1, MS_TAKES_SLICES = 2, MS_TAKES_REORDER = 4 };

/** A schedule: one row of the registration table. Functions may be NULL where it says so. */
typedef struct ms_schedule_type {
    const char *name;
    int passes; /**< actions per (stage, microbatch) at most: 2 with a fused B, 3 with I and W */
    int directions;   /**< 2: the stages exist twice, once for each direction of the pipeline */
    int chunks;       /**< V it needs; 0: any */
    unsigned options; /**< MS_TAKES_ bits */
    /** Rules of this schedule beyond P, V, M >= 1 and the row; reports and returns MS_E_INPUT.  May
     * be NULL. */
    ms_status (*check)(const struct ms_schedule_type *type, const ms_schedule_spec *spec,
                       ms_diag *diag);
    /** Pipeline rank that owns a stage of the program. */
    int (*place)(const ms_schedule_spec *spec, int stage);
    /** Microbatches of a round.  NULL: no rounds. */
    int (*round)(const ms_schedule_spec *spec);
    /** Append the whole list of one rank. */
    void (*generate)(const ms_schedule_spec *spec, int rank, ms_action_list *list);
    /** Change or check the finished lists.  MS_OK; MS_E_INPUT, MS_E_NOMEM (reported).  May be NULL.
     */
    ms_status (*finish)(ms_program *program, ms_arena *scratch, ms_diag *diag);
    /** Closed form of the makespan; false where none holds for these sizes and costs.  May be NULL.
     */
    bool (*formula)(const ms_program *program, const ms_schedule_costs *costs,
                    double *makespan_out);
    /** Closed form of the most idle time inside a rank's span, likewise. */
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

/** Take one more row, beside those of the table, in the place of the one taken before; NULL: none.
 * For tests: a kind that ships has its row in kinds/table.c.  Returns its kind. */
ms_schedule_kind ms_schedule_add_kind(const ms_schedule_type *type);
/** Row of a kind; NULL if there is none. */
const ms_schedule_type *ms_schedule_type_of(ms_schedule_kind kind);

/** Append one action; sets `has_overflowed` instead of writing past the end. */
void ms_action_list_add(ms_action_list *list, ms_pass pass, int stage, int mb);
/** Append a forward and a backward pass that run together. */
void ms_action_list_add_pair(ms_action_list *list, const ms_action *forward,
                             const ms_action *backward);

/** Placement "loop": chunk c of rank r is stage c*P + r. */
int ms_place_loop(const ms_schedule_spec *spec, int stage);
/** Placement "v": the stages of even chunks go down the ranks, those of odd chunks up again. With
 * two directions of one stage per rank, stage s of the first direction is on rank s, and stage s of
 * the second direction, P + s in the program, on rank P-1-s. */
int ms_place_v(const ms_schedule_spec *spec, int stage);

/** Rule of schedules that need M >= P.  MS_E_INPUT (reported). */
ms_status ms_schedule_check_filled(const ms_schedule_type *type, const ms_schedule_spec *spec,
                                   ms_diag *diag);

/** Warm-up, steady 1F1B pairs, cool-down over a rank's sequence of forwards and backwards.
 *  total: passes of each kind.  warmup: forwards before the first backward, <= total.
 *  add: append the k-th forward (MS_PASS_F) or backward (any other pass) of the rank.
 */
typedef struct ms_1f1b_order {
    const ms_schedule_spec *spec;
    int rank;
    int64_t total;
    int64_t warmup;
    int group; /**< microbatches per group, for ms_interleaved_add */
    void (*add)(const struct ms_1f1b_order *order, ms_pass pass, int64_t k, ms_action_list *list);
} ms_1f1b_order;

/** The order of a rank that runs every microbatch, or every slice of it, on each of its chunks.
 *  warmup: those beyond the rank's passes do not count.  Its `add` is that of one stage per rank.
 */
ms_1f1b_order ms_1f1b_order_of(const ms_schedule_spec *spec, int rank, int64_t warmup);

void ms_generate_1f1b(const ms_1f1b_order *order, ms_action_list *list);

/** Warm-up forwards, then per step one forward (while there are any), one input gradient, and the
 * weight gradient of `lag` steps ago; the weight gradients left over at the end. */
void ms_generate_split(const ms_1f1b_order *order, int lag, ms_action_list *list);

/** `add` of the interleaved table: for each group of microbatches, for each chunk, its
 * microbatches in order; the last group keeps the remainder; backwards go through the chunks the
 * other way round. ms_1f1b_order.group says how many microbatches a group has. */
void ms_interleaved_add(const ms_1f1b_order *order, ms_pass pass, int64_t k, ms_action_list *list);
/** PyTorch's groups: M / max(1, M/P rounded down). */
int ms_torch_group(const ms_schedule_spec *spec);
/** Rule that PyTorch's rounds divide M.  MS_E_INPUT (reported). */
ms_status ms_torch_check(const ms_schedule_type *type, const ms_schedule_spec *spec, ms_diag *diag);

/** Costs that are the same for every stage and every boundary between ranks. */
typedef struct ms_even_costs {
    double forward;
    double backward;    /**< input and weight gradient */
    double p2p;         /**< 0 when no boundary lies between ranks */
    bool is_split_even; /**< input and weight gradient are each the same for every stage */
    double input_grad, weight_grad; /**< if so */
} ms_even_costs;

/** Whether all stages cost the same, and all boundaries between ranks too, and sends do not block;
 * then *even_out says what.  O(S). */
bool ms_schedule_costs_are_even(const ms_program *program, const ms_schedule_costs *costs,
                                ms_even_costs *even_out);
/** Whether costs are even as above, messages are free, and input and weight gradients are each
 * even. */
bool ms_schedule_costs_are_free(const ms_program *program, const ms_schedule_costs *costs,
                                ms_even_costs *even_out);
/** Latency between a stage and the next one: costs->p2p, 0 on one rank. */
double ms_schedule_latency(const ms_program *program, const ms_schedule_costs *costs, int stage);
/** 1F1B's closed form, which interleaved with V = 1 shares. */
double ms_formula_1f1b(int ranks, int microbatches, const ms_even_costs *even);

/** Index of the work of a stage on a microbatch in an array of [stages * mb_count]. */
static inline size_t ms_program_key(const ms_program *program, int stage, int mb) {
    return (size_t)stage * (size_t)program->mb_count + (size_t)mb;
}

/** Number of ms_program_key's indices. */
static inline size_t ms_program_keys(const ms_program *program) {
    return (size_t)program->stages * (size_t)program->mb_count;
}

/** An action whose result another action needs, apart from the order of a rank's list. */
typedef struct ms_producer {
    int stage;
    int mb;
    bool is_forward; /**< F, else the gradient (I or B) */
} ms_producer;

/** Producers of an action: F(s) <- F(s-1); I|B(s) <- (I|B)(s+1) and own F; W <- own I.
 *  producers_out: [2].  Returns how many, 0..2. */
int ms_action_producers(const ms_program *program, const ms_action *action,
                        ms_producer producers_out[2]);

/** Stage whose action needs the result of this one, -1: none. */
int ms_action_consumer(const ms_program *program, const ms_action *action);

/** Reports the faults of a program that comes from a file. */
typedef struct ms_fault_place {
    /** Report `what` of rank `rank` at action `index` of the program, -1: no action. */
    void (*report)(void *context, int rank, int64_t index, const char *what);
    /** Number from 1 of the cell that an action stands in, in the file's line rank + 1. */
    long (*cell)(void *context, int rank, size_t index);
    void *context;
} ms_fault_place;

/** Report a fault at its place in a file, or by its rank alone where `place` is NULL.
 *  index: as in ms_fault_place.report.  Returns MS_E_INPUT. */
ms_status ms_fault_report(const ms_fault_place *place, int rank, int64_t index, ms_diag *diag,
                          const char *format, ...) __attribute__((format(printf, 5, 6)));

/** ms_program_check with faults at their places in a file; NULL: without places. */
ms_status ms_program_check_at(const ms_program *program, const ms_fault_place *place,
                              ms_diag *diag);

/** Whether every action names a pass, a stage and a microbatch that exist, on the stage's rank;
 * else reported. */
bool ms_program_is_well_formed(const ms_program *program, ms_diag *diag);

#endif
