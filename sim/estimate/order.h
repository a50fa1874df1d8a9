/* A schedule's program brought into one order in which everything stands behind what it waits for,
 * with the passes that are alike named once. Knows no times: one order serves many specs. */
#ifndef MS_ESTIMATE_ORDER_H
#define MS_ESTIMATE_ORDER_H

#include "estimate/pass_map.h"
#include "schedule/schedule.h"

/* A pass of one stage on one kind of microbatch, or two that take turns. */
typedef struct ms_order_slot {
    int16_t stage, second_stage; /* of the program; second_stage: -1 for a single pass */
    int16_t slice, second_slice; /* of a sequence */
    uint8_t pass, second_pass;
    uint8_t unit, second_unit; /* MS_UNIT_ bits */
    int32_t next_pair;         /* next slot with the same first pass; -1: none */
} ms_order_slot;

/* A pass or pair, or the unsharding of a stage. */
typedef struct ms_order_op {
    int32_t rank;
    int32_t slot;      /* -1: stage `stage` is unsharded */
    int32_t inputs[2]; /* results that it needs, 2 * operation + number; -1: none */
    int32_t sends[2]; /* messages that its results leave in, 2 * stage + (1: forward); -1: they stay
                         on the rank */
    int16_t stage;
} ms_order_op;

typedef struct ms_order {
    const ms_program *program;
    ms_order_op *ops;
    int op_count;
    ms_order_slot *slots;
    int slot_count;
    int *queues; /* [2 * stages] which messages share a stream: those of one rank to another one, in
                    one direction of the pipeline */
    int queue_count;
    bool has_unshards;
    bool has_pairs;
} ms_order;

/* Pipeline rank that a message goes to; -1: no stage follows in its direction.  message: 2 * stage
 * + (1: forward), as in ms_order_op.sends. */
int ms_order_receiver(const ms_program *program, int message);

/* Bring a program into order.  scratch: for the time being.  *order_out: in `arena`, refers to the
 * program.  Returns MS_OK;
 * MS_E_INPUT for a schedule that waits for itself (reported); MS_E_NOMEM (not reported).
 * O(actions). */
ms_status ms_order_make(const ms_program *program, ms_arena *arena, ms_arena *scratch,
                        ms_diag *diag, ms_order *order_out);

#endif
