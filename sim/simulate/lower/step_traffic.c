/* Lists all communications of a step before any operation is emitted: those of its passes, messages
 * and end, with the streams that they run on. Folding (refine.c) needs them to find which ranks
 * behave alike. Every communication is listed once, whatever the number of microbatches, and is
 * laid out in all its groups. */
#include <stdlib.h>

#include "job/step_end.h"
#include "simulate/lower/lowering.h"

/* Kinds of streams: collectives within a pipeline rank, forward and backward messages, and
 * all-reduces between pipeline ranks at the end of a step. */
enum { STREAM_GROUPS, STREAM_FORWARD, STREAM_BACKWARD, STREAM_ACROSS };

/* A number that identifies a stream: kind (4 bits), pipeline rank ends[0] (24), axes of its groups
 * or for pairs pipeline rank ends[1] (28), axis (8). */
static uint64_t stream_number(int sort, const int ends[2], unsigned axes, unsigned axis) {
    uint64_t peer = axes == 0 ? (uint64_t)(unsigned)ends[1] : axes;
    return (uint64_t)sort << 60 | (uint64_t)(unsigned)ends[0] << 36 | peer << 8 | axis;
}

/* Enter that a communication runs on a stream, and the communication itself if its key is new.
 * Returns MS_OK; MS_E_NOMEM. */
static ms_status add_comm(ms_lowering *l, const ms_step_comm *comm, uint64_t stream) {
    int32_t index = ms_works_find(&l->works, &comm->key);
    if (index < 0) {
        index = (int32_t)l->traffic.comms.count;
        if (ms_vector_add(&l->traffic.comms, comm, 1) == NULL) {
            return MS_E_NOMEM;
        }
        ms_works_remember(&l->works, &comm->key, index);
    }
    ms_comm_stream entry = {.stream = stream, .comm = index};
    return ms_vector_add(&l->traffic.streams, &entry, 1) == NULL ? MS_E_NOMEM : MS_OK;
}

/* Enter a collective in the groups of pipeline rank `p`, if there is anything to do. */
static ms_status add_groups(ms_lowering *l, int p, const ms_group_op *op) {
    const int ends[2] = {p, -1};
    unsigned axes = ms_group_axes(op);
    if (!ms_group_runs(l, p, op)) {
        return MS_OK;
    }
    ms_step_comm comm = {.key = ms_group_key(op, ~p),
                         .groups = ms_traffic_groups(&l->traffic, ends, axes)};
    if (comm.groups == NULL) {
        return MS_E_NOMEM;
    }
    comm.request = ms_group_request(op, comm.groups->members);
    return add_comm(l, &comm, stream_number(STREAM_GROUPS, ends, axes, op->op.axis));
}

/* Enter a segment if it is a collective, on whichever microbatches it runs. context: ms_lowering.
 */
static ms_status add_segment(void *context, int p, const ms_segment *segment) {
    ms_group_op op = ms_group_op_of(segment);
    return segment->is_collective ? add_groups(context, p, &op) : MS_OK;
}

/* Enter the collectives of a pass's plan. */
static ms_status add_plan(ms_lowering *l, int p, const ms_pass_plan *plan) {
    ms_status status = MS_OK;
    for (int i = 0; i < plan->count && status == MS_OK; i++) {
        status = add_segment(l, p, &l->job->costs.segments[plan->first + i]);
    }
    return status;
}

/* Enter a communication between two pipeline ranks. */
static ms_status add_pair(ms_lowering *l, const ms_pair_op *op, uint64_t stream) {
    ms_step_comm comm = {.key = ms_pair_key(op, ~op->ends[0], ~op->ends[1]),
                         .groups = ms_traffic_groups(&l->traffic, op->ends, 0),
                         .request = ms_pair_request(op),
                         .is_pipelined = op->kind == MS_COLL_P2P};
    return comm.groups == NULL ? MS_E_NOMEM : add_comm(l, &comm, stream);
}

/* Enter the message with an action's result, if it has a receiver on another pipeline rank. */
static ms_status add_message(ms_lowering *l, int p, const ms_action *action) {
    const ms_program *program = &l->job->program;
    const ms_stage_cost *cost = ms_lowering_cost(l, action);
    int receiver = ms_action_receiver(program, action);
    if (receiver < 0 || program->stage_rank[receiver] == p) {
        return MS_OK;
    }
    bool is_forward = receiver > action->stage;
    ms_pair_op op = {.kind = MS_COLL_P2P,
                     .size_B = is_forward ? cost->send_forward_B : cost->send_backward_B,
                     .ends = {p, program->stage_rank[receiver]}};
    return add_pair(l, &op,
                    stream_number(is_forward ? STREAM_FORWARD : STREAM_BACKWARD, op.ends, 0, 0));
}

/* Enter the collectives and messages of all passes. Actions of the same stage, slice and pass have
 * the same communications, so only the first is entered.  Returns MS_OK; MS_E_NOMEM. */
static ms_status add_passes(ms_lowering *l) {
    const ms_program *program = &l->job->program;
    int slices = l->job->costs.slices > 1 ? l->job->costs.slices : 1;
    bool *is_known =
        MS_NEW(l->works.arena, bool, (size_t)program->stages *(size_t)slices *MS_PASS_COUNT);
    ms_status status = is_known == NULL ? MS_E_NOMEM : MS_OK;
    for (int p = 0; p < l->ranks.pp; p++) {
        for (size_t i = program->first[p]; i < program->first[p + 1] && status == MS_OK; i++) {
            const ms_action *action = &program->actions[i];
            bool *known = &is_known[(action->stage * slices + action->mb % slices) * MS_PASS_COUNT +
                                    action->pass];
            if (!*known) {
                *known = true;
                status = add_plan(l, p, &ms_lowering_cost(l, action)->passes[action->pass]);
                status = status == MS_OK ? add_message(l, p, action) : status;
            }
        }
    }
    return status;
}

/* Enter the collectives that gather the parameters of stages where the program says so. */
static ms_status add_unshards(ms_lowering *l) {
    const ms_program *program = &l->job->program;
    ms_status status = MS_OK;
    for (int p = 0; p < l->ranks.pp && program->shard_moves != NULL; p++) {
        for (size_t i = program->shard_first[p]; i < program->shard_first[p + 1]; i++) {
            const ms_shard_move *move = &program->shard_moves[i];
            int stage = ms_program_model_stage(program, move->stage);
            if (move->is_unshard && status == MS_OK) {
                status = add_plan(l, p, &l->job->costs.stage[stage].unshard);
            }
        }
    }
    return status;
}

/* Enter an all-reduce between two pipeline ranks at the end of a step (ms_step_end_visitor). */
static ms_status add_pair_at_end(void *context, const int ends[2], ms_axis axis, double size_B) {
    ms_pair_op op = {.kind = MS_COLL_ALL_REDUCE, .size_B = size_B, .ends = {ends[0], ends[1]}};
    return add_pair(context, &op, stream_number(STREAM_ACROSS, ends, 0, (unsigned)axis));
}

/* Enter the communications at the end of a step. The norm is none of them: its work has no flows.
 */
static ms_status add_step_end(ms_lowering *l) {
    static const ms_step_end_visitor VISITOR = {.group = add_segment, .pair = add_pair_at_end};
    return ms_step_end_visit(l->job, &VISITOR, l, l->works.diag);
}

/* Order of ms_comm_stream for qsort: by stream, then by communication. */
static int by_stream(const void *a, const void *b) {
    const ms_comm_stream *x = a;
    const ms_comm_stream *y = b;
    if (x->stream != y->stream) {
        return x->stream < y->stream ? -1 : 1;
    }
    return (x->comm > y->comm) - (x->comm < y->comm);
}

/* Sort the entries by stream and remove repeated ones. */
static void sort_streams(ms_vector *streams) {
    size_t kept = 0;
    if (streams->count == 0) {
        return;
    }
    qsort(streams->data, streams->count, sizeof(ms_comm_stream), by_stream);
    for (size_t i = 0; i < streams->count; i++) {
        const ms_comm_stream *entry = &MS_AT(streams, ms_comm_stream, i);
        if (i == 0 || by_stream(entry, &MS_AT(streams, ms_comm_stream, kept - 1)) != 0) {
            MS_AT(streams, ms_comm_stream, kept++) = *entry;
        }
    }
    streams->count = kept;
}

/* Lay a communication out in all its groups.  Returns MS_OK; MS_E_NOMEM; MS_E_INPUT as
 * ms_works_plan. */
static ms_status lay_out(ms_lowering *l, ms_step_comm *comm) {
    comm->plans = MS_NEW(l->works.arena, ms_coll_plan, comm->groups->count);
    comm->request.gpus = comm->groups->gpus;
    return comm->plans == NULL
               ? MS_E_NOMEM
               : ms_works_plan(&l->works, &comm->request, comm->groups->count, comm->plans);
}

ms_status ms_traffic_list(ms_lowering *l) {
    ms_status status = add_passes(l);
    status = status == MS_OK ? add_unshards(l) : status;
    status = status == MS_OK ? add_step_end(l) : status;
    if (status == MS_OK && ms_works_failed(&l->works)) {
        status = MS_E_NOMEM;
    }
    sort_streams(&l->traffic.streams);
    for (size_t i = 0; i < l->traffic.comms.count && status == MS_OK; i++) {
        status = lay_out(l, &MS_AT(&l->traffic.comms, ms_step_comm, i));
    }
    return status;
}
