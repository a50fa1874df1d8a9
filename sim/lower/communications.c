/* Streams and works of communications, each made on first use. */
#include "lower/lowering.h"

int32_t ms_stream_of(ms_lowering *l, const ms_work_key *key, int32_t destination, ms_axis axis) {
    ms_last_stream *last = &l->last_streams[key->first];
    if (last->stream > 0 && last->kind == key->kind && last->domain == key->domain &&
        last->second == key->second) {
        return last->stream - 1;
    }
    int32_t stream = ms_works_find(&l->works, key);
    if (stream < 0) {
        stream = ms_dag_add_stream(l->dag, key->first, destination, axis);
        ms_works_remember(&l->works, key, stream);
    }
    *last = (ms_last_stream){
        .kind = key->kind, .domain = key->domain, .second = key->second, .stream = stream + 1};
    return stream;
}

ms_status ms_communication_make(ms_lowering *l, const ms_work_key *key,
                                const ms_fold_request *request, int32_t *work_out) {
    if (request->group.gpus == NULL) {
        return MS_E_NOMEM;
    }
    ms_status status = ms_fold_work(&l->works, request, work_out);
    if (status == MS_OK) {
        ms_works_remember(&l->works, key, *work_out);
    }
    return status;
}

ms_status ms_pair_work(ms_lowering *l, const ms_pair_op *op, int k, int32_t *work_out) {
    ms_work_key key = {.size_B = op->size_B,
                       .kind = (int32_t)op->kind,
                       .domain = MS_DOMAIN_PAIRS,
                       .first = ms_rank_at(&l->ranks, op->ends[0], k),
                       .second = ms_rank_at(&l->ranks, op->ends[1], k)};
    *work_out = ms_works_find(&l->works, &key);
    if (*work_out >= 0) {
        return MS_OK;
    }
    ms_fold_request request = {.group = {.kind = op->kind, .members = 2, .size_B = op->size_B},
                               .is_pipelined = op->kind == MS_COLL_P2P};
    request.group.gpus = ms_ranks_pairs(&l->ranks, op->ends, k, l->works.arena, &request.groups);
    return ms_communication_make(l, &key, &request, work_out);
}
