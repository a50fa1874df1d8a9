/* Lowers messages: activations and gradients that a stage sends to its neighbour stage on another
 * pipeline rank, one message for each simulated rank. */
#include "simulate/lower/lowering.h"

/* The stream of messages from one simulated rank to another in one direction of the pipeline. */
static int32_t message_stream(ms_lowering *l, int32_t source, int32_t destination,
                              bool is_forward) {
    ms_work_key key = {.kind = is_forward ? 1 : 2,
                       .domain = MS_DOMAIN_MESSAGE_STREAMS,
                       .first = source,
                       .second = destination};
    return ms_stream_of(l, &key, destination, MS_AXIS_PP);
}

/* Messages from all simulated ranks of a pipeline rank to those of another. */
typedef struct message {
    ms_pair_op pair; /* sending and receiving pipeline rank, and size */
    bool is_forward;
    ms_dag_op op;      /* labels of the operations */
    ms_waits *arrived; /* [k] lists of arrivals at the receiver, to which each message is added */
} message;

/* Emit the message from the sender's to the receiver's simulated rank of class `k`. It starts when
 * the sender's operations so far have ended; later operations of the sender do not wait for it.
 * Returns as ms_pair_work. */
static ms_status add_message(ms_lowering *l, message *m, int k) {
    int32_t source = m->pair.ends[0] * l->ranks.simulated_per_pp + k;
    int32_t destination = m->pair.ends[1] * l->ranks.simulated_per_pp + k;
    ms_status status = ms_pair_work(l, &m->pair, k, &m->op.work);
    if (status != MS_OK) {
        return status;
    }
    int32_t stream = message_stream(l, source, destination, m->is_forward);
    int32_t index = ms_dag_add_op(l->dag, &m->op);
    ms_dag_add_member(l->dag, stream);
    ms_waits_depend(&l->waiting.pool, &l->waiting.next[source], l->dag, -1);
    ms_waits_add(&l->waiting.pool, &m->arrived[k], index, stream);
    return MS_OK;
}

/* The receiver's pass waits for the lists `arrived` of its stage and microbatch, which get the end
 * of the message. */
ms_status ms_send_lower(ms_lowering *l, int p, const ms_dag_op *from, int stage, double size_B) {
    message m = {.pair = {.kind = MS_COLL_P2P,
                          .size_B = size_B,
                          .ends = {p, l->job->program.stage_rank[stage]}},
                 .is_forward = stage > from->stage,
                 .op = *from,
                 .arrived = ms_arrived(l, stage < from->stage, stage, from->mb)};
    m.op.kind = MS_OP_P2P;
    m.op.axis = MS_AXIS_PP;
    m.op.layer = -1;
    ms_status status = MS_OK;
    for (int k = 0; k < l->ranks.simulated_per_pp && status == MS_OK; k++) {
        if (m.pair.ends[1] == p) { /* both stages on one rank: no message */
            ms_waits_merge(&l->waiting.pool, &m.arrived[k], &ms_next(l, p)[k]);
        } else {
            status = add_message(l, &m, k);
        }
    }
    return status;
}

/* Find the arrivals of the messages of `count` actions.  messages_out: for each message [k] lists.
 * Returns the number of messages: actions without a receiver have none. */
static int list_messages(const ms_lowering *l, const ms_action *actions, int count,
                         const ms_waits *messages_out[2]) {
    int messages = 0;
    for (int i = 0; i < count; i++) {
        int stage = ms_action_receiver(&l->job->program, &actions[i]);
        if (stage >= 0) {
            messages_out[messages++] =
                ms_arrived(l, actions[i].pass != MS_PASS_F, stage, actions[i].mb);
        }
    }
    return messages;
}

/* With blocking sends the rank's next operation waits for the arrival of the messages that the
 * actions have sent. */
void ms_barrier_lower(ms_lowering *l, int p, const ms_action *actions, int count) {
    const ms_waits *arrived[2];
    ms_waits *next = ms_next(l, p);
    int messages = list_messages(l, actions, count, arrived);
    if (messages == 1) {
        /* the message began after everything that the rank has waited for, so waiting for it is
         * enough */
        ms_lists_clear(&l->waiting, next, (size_t)l->waiting.count);
    }
    for (int i = 0; i < messages; i++) {
        for (int k = 0; k < l->waiting.count; k++) {
            ms_waits_merge(&l->waiting.pool, &next[k], &arrived[i][k]);
        }
    }
    if (messages > 1) { /* a computation that takes no time waits for both */
        ms_dag_op op = MS_NO_LABELS;
        op.kind = (uint8_t)ms_op_kind_of_pass((ms_pass)actions[count - 1].pass);
        op.work = ms_no_work(l);
        ms_before_take(&l->waiting, next);
        ms_compute_lower(l, p, &op, next);
    }
}
