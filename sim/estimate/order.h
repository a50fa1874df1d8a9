/* All passes of a schedule's program in one order, in which every operation comes after those that
 * it depends on (a topological order). Passes that are alike share a slot, so that later steps
 * compute one pass map for all of them. The order knows no times: one order serves many specs. */
#ifndef MS_ESTIMATE_ORDER_H
#define MS_ESTIMATE_ORDER_H

#include "estimate/pass_map.h"
#include "schedule/schedule.h"

/* A slot: a pass of one stage on one kind of microbatch, or two such passes that run as an
 * overlapped pair. All operations with equal fields share a slot. */
typedef struct ms_order_slot {
    int16_t stage, second_stage; /* stages of the program; second_stage: -1 for a single pass */
    int16_t slice, second_slice; /* slices of a sequence, from 0 on */
    uint8_t pass, second_pass;   /* ms_pass */
    uint8_t unit, second_unit;   /* MS_UNIT_ bits of the microbatches */
    int32_t next_pair;           /* next slot of a pair with the same first pass; -1: none */
} ms_order_slot;

/* An operation of a pipeline rank: a pass, an overlapped pair, or the unshard of a stage (the
 * all-gather of its sharded parameters). */
typedef struct ms_order_op {
    int32_t rank;      /* pipeline rank */
    int32_t slot;      /* index into slots; -1: the operation unshards `stage` */
    int32_t inputs[2]; /* for each pass of the operation the result that it needs, as 2 * operation
                          + (0: its first pass, 1: its second pass); -1: none */
    int32_t sends[2];  /* for each pass the message with its result, as 2 * stage + (1: forward);
                          -1: the result stays on the rank */
    int16_t stage;     /* stage of the first pass, or the one that is unsharded */
} ms_order_op;

/* An order of all passes of a program. */
typedef struct ms_order {
    const ms_program *program;
    ms_order_op *ops; /* [op_count] in order */
    int op_count;
    ms_order_slot *slots; /* [slot_count] */
    int slot_count;
    int *queues; /* [2 * stages] queue of each message, indexed as ms_order_op.sends: all messages
                    of one rank to another one in one direction of the pipeline share a queue */
    int queue_count;
    bool has_unshards; /* some operations unshard stages */
    bool has_pairs;    /* some operations are overlapped pairs */
} ms_order;

/* Pipeline rank that receives a message; -1: no stage follows in its direction.  message: 2 * stage
 * + (1: forward), as in ms_order_op.sends. */
int ms_order_receiver(const ms_program *program, int message);

/* Make the order of a program.  scratch: storage that is not needed after the call.  *order_out: in
 * `arena`, borrows the program.  Returns MS_OK; MS_E_INPUT for a schedule that deadlocks
 * (reported); MS_E_NOMEM (not reported).  O(actions). */
ms_status ms_order_make(const ms_program *program, ms_arena *arena, ms_arena *scratch,
                        ms_diag *diag, ms_order *order_out);

#endif
