/* Which communications a step has, before any of it is lowered: what its passes, their messages and
 * its end will ask for. */
#include <stdlib.h>

#include "job/step_end.h"
#include "simulate/lower/lowering.h"

/* Sorts of streams. */
enum { STREAM_GROUPS, STREAM_FORWARD, STREAM_BACKWARD, STREAM_ACROSS };

static uint64_t stream_number(int sort, const int ends[2], unsigned axes, unsigned axis) {
    uint64_t peer = axes == 0 ? (uint64_t)(unsigned)ends[1] : axes;
    return (uint64_t)sort << 60 | (uint64_t)(unsigned)ends[0] << 36 | peer << 8 | axis;
}

/* Note that a communication runs on a stream, and the communication itself if it is new.  key: its
 * first and second name pipeline ranks. */
static ms_status note(ms_lowering *l, const ms_step_comm *comm, uint64_t stream) {
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

static ms_status note_groups(ms_lowering *l, int p, const ms_group_op *op) {
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
    return note(l, &comm, stream_number(STREAM_GROUPS, ends, axes, op->op.axis));
}

static ms_status note_segment(void *context, int p, const ms_segment *segment) {
    ms_group_op op = ms_group_op_of(segment);
    return segment->is_collective ? note_groups(context, p, &op) : MS_OK;
}

static ms_status note_plan(ms_lowering *l, int p, const ms_pass_plan *plan) {
    ms_status status = MS_OK;
    for (int i = 0; i < plan->count && status == MS_OK; i++) {
        status = note_segment(l, p, &l->job->costs.segments[plan->first + i]);
    }
    return status;
}

static ms_status note_pair(ms_lowering *l, const ms_pair_op *op, uint64_t stream) {
    ms_step_comm comm = {.key = ms_pair_key(op, ~op->ends[0], ~op->ends[1]),
                         .groups = ms_traffic_groups(&l->traffic, op->ends, 0),
                         .request = ms_pair_request(op),
                         .is_pipelined = op->kind == MS_COLL_P2P};
    return comm.groups == NULL ? MS_E_NOMEM : note(l, &comm, stream);
}

/* The message that hands an action's result on, if any does. */
static ms_status note_message(ms_lowering *l, int p, const ms_action *action) {
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
    return note_pair(l, &op,
                     stream_number(is_forward ? STREAM_FORWARD : STREAM_BACKWARD, op.ends, 0, 0));
}

/* What the actions of all pipeline ranks send; actions of one stage, slice and pass send alike. */
static ms_status note_passes(ms_lowering *l) {
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
                status = note_plan(l, p, &ms_lowering_cost(l, action)->passes[action->pass]);
                status = status == MS_OK ? note_message(l, p, action) : status;
            }
        }
    }
    return status;
}

static ms_status note_unshards(ms_lowering *l) {
    const ms_program *program = &l->job->program;
    ms_status status = MS_OK;
    for (int p = 0; p < l->ranks.pp && program->shard_moves != NULL; p++) {
        for (size_t i = program->shard_first[p]; i < program->shard_first[p + 1]; i++) {
            const ms_shard_move *move = &program->shard_moves[i];
            int stage = ms_program_model_stage(program, move->stage);
            if (move->is_unshard && status == MS_OK) {
                status = note_plan(l, p, &l->job->costs.stage[stage].unshard);
            }
        }
    }
    return status;
}

static ms_status note_pair_at_end(void *context, const int ends[2], ms_axis axis, double size_B) {
    ms_pair_op op = {.kind = MS_COLL_ALL_REDUCE, .size_B = size_B, .ends = {ends[0], ends[1]}};
    return note_pair(context, &op, stream_number(STREAM_ACROSS, ends, 0, (unsigned)axis));
}

static ms_status note_end(ms_lowering *l) {
    static const ms_step_end_visitor VISITOR = {.group = note_segment, .pair = note_pair_at_end};
    return ms_step_end_visit(l->job, &VISITOR, l, l->works.diag);
}

static int by_stream(const void *a, const void *b) {
    const ms_comm_stream *x = a;
    const ms_comm_stream *y = b;
    if (x->stream != y->stream) {
        return x->stream < y->stream ? -1 : 1;
    }
    return (x->comm > y->comm) - (x->comm < y->comm);
}

/* Each once, those of one stream side by side. */
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

/* Plans of a communication in all its groups. */
static ms_status lay_out(ms_lowering *l, ms_step_comm *comm) {
    comm->plans = MS_NEW(l->works.arena, ms_coll_plan, comm->groups->count);
    comm->request.gpus = comm->groups->gpus;
    return comm->plans == NULL
               ? MS_E_NOMEM
               : ms_works_plan(&l->works, &comm->request, comm->groups->count, comm->plans);
}

ms_status ms_traffic_list(ms_lowering *l) {
    ms_status status = note_passes(l);
    status = status == MS_OK ? note_unshards(l) : status;
    status = status == MS_OK ? note_end(l) : status;
    if (status == MS_OK && ms_works_failed(&l->works)) {
        status = MS_E_NOMEM;
    }
    sort_streams(&l->traffic.streams);
    for (size_t i = 0; i < l->traffic.comms.count && status == MS_OK; i++) {
        status = lay_out(l, &MS_AT(&l->traffic.comms, ms_step_comm, i));
    }
    return status;
}
