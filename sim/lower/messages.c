/* Messages from a stage to its neighbour on another rank. */
#include "lower/lowering.h"

/* The stream of messages from one simulated rank to another in one direction of the pipeline. */
static int32_t message_stream(ms_lowering *l, int32_t source, int32_t destination,
                              bool is_forward) {
    ms_work_key key = {.kind = is_forward ? 1 : 2,
                       .domain = MS_DOMAIN_MESSAGE_STREAMS,
                       .first = source,
                       .second = destination};
    int32_t stream = ms_works_find(&l->works, &key);
    if (stream < 0) {
        stream = ms_dag_add_stream(l->dag, source, destination, MS_AXIS_PP);
        ms_works_remember(&l->works, &key, stream);
    }
    return stream;
}

/* The work of a message between the ranks at place `k` of two pipeline ranks. */
static ms_status message_work(ms_lowering *l, const int ends[2], int k, double size_B,
                              int32_t *work_out) {
    ms_work_key key = {.size_B = size_B,
                       .kind = MS_COLL_P2P,
                       .domain = MS_AXIS_PP,
                       .first = ms_rank_at(&l->ranks, ends[0], k),
                       .second = ms_rank_at(&l->ranks, ends[1], k)};
    *work_out = ms_works_find(&l->works, &key);
    if (*work_out >= 0) {
        return MS_OK;
    }
    ms_fold_request request = {
        .kind = MS_COLL_P2P, .size_B = size_B, .members = 2, .is_pipelined = true};
    request.gpus = ms_ranks_pairs(&l->ranks, ends, k, l->works.arena, &request.groups);
    ms_status status =
        request.gpus == NULL ? MS_E_NOMEM : ms_fold_work(&l->works, &request, work_out);
    if (status == MS_OK) {
        ms_works_remember(&l->works, &key, *work_out);
    }
    return status;
}

/* Messages from all simulated ranks of a pipeline rank to those of another. */
typedef struct message {
    int ends[2]; /* pipeline ranks */
    bool is_forward;
    ms_dag_op op;
    ms_waits *arrived; /* [k] lists that each is added to */
} message;

/* The message of the ranks at place `k`; what the sender does next does not wait for it. */
static ms_status add_message(ms_lowering *l, message *m, int k, double size_B) {
    int count = l->ranks.simulated_per_pp;
    int32_t sim = m->ends[0] * count + k;
    ms_status status = message_work(l, m->ends, k, size_B, &m->op.work);
    if (status != MS_OK) {
        return status;
    }
    int32_t stream = message_stream(l, sim, m->ends[1] * count + k, m->is_forward);
    int32_t index = ms_dag_add_op(l->dag, &m->op);
    ms_dag_add_member(l->dag, stream);
    ms_waits_depend(&l->waiting.pool, &l->waiting.next[sim], l->dag, -1);
    ms_waits_add(&l->waiting.pool, &m->arrived[k], index, stream);
    return MS_OK;
}

ms_status ms_send_lower(ms_lowering *l, int p, const ms_dag_op *from, int stage, double size_B) {
    message m = {.ends = {p, l->in->program->stage_rank[stage]},
                 .is_forward = stage > from->stage,
                 .op = *from,
                 .arrived = ms_arrived(l, stage < from->stage, stage, from->mb)};
    m.op.kind = MS_OP_P2P;
    m.op.axis = MS_AXIS_PP;
    m.op.layer = -1;
    ms_status status = MS_OK;
    for (int k = 0; k < l->ranks.simulated_per_pp && status == MS_OK; k++) {
        if (m.ends[1] == p) {
            ms_waits_merge(&l->waiting.pool, &m.arrived[k], &ms_next(l, p)[k]);
        } else {
            status = add_message(l, &m, k, size_B);
        }
    }
    return status;
}

/* Lists of the arrivals of the messages of `count` actions: [messages], [k] each.  Returns how
 * many. */
static int list_messages(const ms_lowering *l, const ms_action *actions, int count,
                         const ms_waits *messages_out[2]) {
    int messages = 0;
    for (int i = 0; i < count; i++) {
        int stage = ms_action_receiver(l->in->program, &actions[i]);
        if (stage >= 0) {
            messages_out[messages++] =
                ms_arrived(l, actions[i].pass != MS_PASS_F, stage, actions[i].mb);
        }
    }
    return messages;
}

void ms_barrier_lower(ms_lowering *l, int p, const ms_action *actions, int count) {
    const ms_waits *arrived[2];
    ms_waits *next = ms_next(l, p);
    int messages = list_messages(l, actions, count, arrived);
    if (messages == 1) { /* what the rank waited for until now ended before its message began */
        ms_lists_clear(&l->waiting, next, (size_t)l->waiting.count);
    }
    for (int i = 0; i < messages; i++) {
        for (int k = 0; k < l->waiting.count; k++) {
            ms_waits_merge(&l->waiting.pool, &next[k], &arrived[i][k]);
        }
    }
    if (messages > 1) { /* a computation without time waits for both */
        ms_dag_op op = MS_NO_LABELS;
        op.kind = ms_kind_of_pass((ms_pass)actions[count - 1].pass);
        op.work = ms_no_work(l);
        ms_before_take(&l->waiting, next);
        ms_compute_lower(l, p, &op, next);
    }
}
