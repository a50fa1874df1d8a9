/* Messages from a stage to its neighbour on another rank. */
#include "lower/passes.h"

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

/* The work of a message between simulated ranks `k` of two pipeline ranks. */
static int32_t message_work(ms_lowering *l, int from, int to, int k, double size_B) {
    const int *sources = l->stage_ranks + (size_t)from * (size_t)l->group_ranks;
    const int *targets = l->stage_ranks + (size_t)to * (size_t)l->group_ranks;
    ms_work_key key = {.size_B = size_B,
                       .kind = MS_COLL_P2P,
                       .domain = MS_AXIS_PP,
                       .first = sources[k],
                       .second = targets[k]};
    int32_t work = ms_works_find(&l->works, &key);
    if (work >= 0) {
        return work;
    }
    int groups = l->works.is_folded ? l->group_ranks : 1;
    int *gpus = MS_NEW(l->arena, int, 2 * groups);
    if (gpus == NULL) {
        return -1;
    }
    for (int g = 0; g < groups; g++) {
        gpus[2 * g] = sources[k + g];
        gpus[2 * g + 1] = targets[k + g];
    }
    ms_fold_request request = {.kind = MS_COLL_P2P,
                               .size_B = size_B,
                               .gpus = gpus,
                               .groups = groups,
                               .members = 2,
                               .is_pipelined = true};
    if (ms_fold_work(&l->works, &request, &work) != MS_OK) {
        return -1;
    }
    ms_works_remember(&l->works, &key, work);
    return work;
}

ms_status ms_send_lower(ms_lowering *l, int p, const ms_dag_op *from, int stage, double size_B) {
    bool is_forward = stage > from->stage;
    int to = l->in->program->stage_rank[stage];
    int32_t *arrivals =
        (is_forward ? l->forward_in : l->backward_in) + ms_input_index(l, stage, from->mb);
    ms_dag_op op = *from;
    op.kind = MS_OP_P2P;
    op.axis = MS_AXIS_PP;
    op.layer = -1;
    for (int k = 0; k < l->sims; k++) {
        int32_t sim = p * l->sims + k;
        arrivals[k] = l->tail[sim];
        if (to != p) {
            op.work = message_work(l, p, to, k, size_B);
            if (op.work < 0) {
                return MS_E_NOMEM;
            }
            int32_t stream = message_stream(l, sim, to * l->sims + k, is_forward);
            arrivals[k] = ms_dag_add_op(l->dag, &op);
            ms_dag_add_member(l->dag, stream);
            ms_dag_add_dep(l->dag, l->tail[sim]);
        }
    }
    return MS_OK;
}

void ms_hold_for_messages(ms_lowering *l, int p, const ms_action *actions, int count) {
    ms_pass_state after = ms_pass_begin(l, p, &actions[count - 1]);
    int messages = 0;
    after.inputs[0] = after.inputs[1] = NULL;
    for (int i = 0; i < count; i++) {
        int stage = ms_action_receiver(l->in->program, &actions[i]);
        const int32_t *arrivals = actions[i].pass == MS_PASS_F ? l->forward_in : l->backward_in;
        if (stage >= 0) {
            after.inputs[messages++] = arrivals + ms_input_index(l, stage, actions[i].mb);
        }
    }
    for (int k = 0; k < l->sims && messages == 1; k++) {
        l->tail[p * l->sims + k] = after.inputs[0][k];
        l->tail_communicates[p * l->sims + k] = true;
    }
    if (messages == 2) {
        ms_pass_lower_hold(l, &after);
    }
}
