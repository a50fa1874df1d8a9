/* Streams and works of communications, each made on first use and found again by its key
 * (ms_work_key). */
#include "simulate/lower/lowering.h"

int32_t ms_stream_of(ms_lowering *l, const ms_work_key *key, int32_t destination, ms_axis axis) {
    int32_t stream = ms_works_find(&l->works, key);
    if (stream < 0) {
        stream = ms_dag_add_stream(l->dag, key->first, destination, axis);
        ms_works_remember(&l->works, key, stream);
    }
    return stream;
}

/* The communication that is listed in the traffic under the key of `comm`, with its plans; `comm`
 * itself where nothing is listed (without folding). */
static const ms_step_comm *listed(const ms_lowering *l, const ms_step_comm *comm) {
    int32_t index = ms_works_find(&l->works, &comm->key);
    return index < 0 ? comm : &MS_AT(&l->traffic.comms, ms_step_comm, index);
}

ms_status ms_communication_make(ms_lowering *l, const ms_work_key *key, ms_step_comm *comm, int k,
                                int32_t *work_out) {
    if (comm->groups == NULL) {
        return MS_E_NOMEM;
    }
    ms_status status = ms_fold_work(&l->works, listed(l, comm), k, work_out);
    if (status == MS_OK) {
        ms_works_remember(&l->works, key, *work_out);
    }
    return status;
}

ms_work_key ms_pair_key(const ms_pair_op *op, int first, int second) {
    return (ms_work_key){.size_B = op->size_B,
                         .kind = (int32_t)op->kind,
                         .domain = MS_DOMAIN_PAIRS,
                         .first = first,
                         .second = second};
}

ms_coll_request ms_pair_request(const ms_pair_op *op) {
    return (ms_coll_request){.kind = op->kind, .members = 2, .size_B = op->size_B};
}

/* The work's key names the two ranks. The key of the step's traffic has ~(pipeline rank) in their
 * place, for all pairs of the two pipeline ranks. */
ms_status ms_pair_work(ms_lowering *l, const ms_pair_op *op, int k, int32_t *work_out) {
    ms_work_key key = ms_pair_key(op, ms_rank_simulated(&l->ranks, op->ends[0], k),
                                  ms_rank_simulated(&l->ranks, op->ends[1], k));
    *work_out = ms_works_find(&l->works, &key);
    if (*work_out >= 0) {
        return MS_OK;
    }
    ms_step_comm comm = {.key = ms_pair_key(op, ~op->ends[0], ~op->ends[1]),
                         .request = ms_pair_request(op),
                         .groups = ms_traffic_groups(&l->traffic, op->ends, 0),
                         .is_pipelined = op->kind == MS_COLL_P2P};
    return ms_communication_make(l, &key, &comm, k, work_out);
}
