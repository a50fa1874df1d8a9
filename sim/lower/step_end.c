/* What follows the last microbatch: gradients are reduced over dp and between directions of the
 * pipeline, tied embeddings over first and last stage, all ranks learn the norm of the world's
 * gradient, the optimizer updates, and with a sharded optimizer the parameters are gathered. */
#include <math.h>

#include "lower/lowering.h"

/* A stream of a rank for what runs across pipeline ranks on an axis. */
static int32_t stream_across(ms_lowering *l, int32_t sim, ms_axis axis) {
    ms_work_key key = {.domain = MS_DOMAIN_STEP_END_STREAMS, .first = sim, .second = (int32_t)axis};
    return ms_stream_of(l, &key, -1, axis);
}

/* Make a rank a member of the newest operation: it comes after all the rank has started. */
static void join_across(ms_lowering *l, int32_t sim, const ms_dag_op *op, int32_t index) {
    ms_waits *next = &l->waiting.next[sim];
    int32_t stream = stream_across(l, sim, (ms_axis)op->axis);
    ms_waits_take(&l->waiting.pool, next, &l->waiting.update[sim]);
    ms_dag_add_member(l->dag, stream);
    ms_waits_depend(&l->waiting.pool, next, l->dag, -1);
    ms_waits_clear(&l->waiting.pool, next);
    ms_waits_add(&l->waiting.pool, next, index, stream);
}

/* An all-reduce between two pipeline ranks, rank by rank. */
static ms_status reduce_pair(ms_lowering *l, const int ends[2], ms_axis axis, double size_B) {
    ms_pair_op pair = {.kind = MS_COLL_ALL_REDUCE, .size_B = size_B, .ends = {ends[0], ends[1]}};
    for (int k = 0; k < l->ranks.simulated_per_pp; k++) {
        ms_dag_op op = MS_NO_LABELS;
        op.kind = MS_OP_ALL_REDUCE;
        op.axis = (uint8_t)axis;
        ms_status status = ms_pair_work(l, &pair, k, &op.work);
        if (status != MS_OK) {
            return status;
        }
        int32_t index = ms_dag_add_op(l->dag, &op);
        for (int end = 0; end < 2; end++) {
            join_across(l, ends[end] * l->ranks.simulated_per_pp + k, &op, index);
        }
    }
    return MS_OK;
}

static ms_status lower_group(ms_lowering *l, int p, const ms_segment *segment) {
    ms_group_op c = {.kind = segment->coll,
                     .size_B = segment->coll_B,
                     .group_axes = segment->group_axes,
                     .op = MS_NO_LABELS,
                     .ends = ms_next(l, p)};
    c.op.kind = (uint8_t)ms_op_kind_of_coll(segment->coll);
    c.op.axis = (uint8_t)segment->axis;
    if (!ms_group_runs(l, p, &c)) {
        return MS_OK;
    }
    ms_before_take(&l->waiting, ms_next(l, p));
    return ms_group_lower(l, p, &c);
}

/* The collectives of a plan from `*next` on, one after the other, up to one between directions.
 * *next: its place, or the plan's end. */
static ms_status lower_until_directions(ms_lowering *l, int p, const ms_pass_plan *plan,
                                        int *next) {
    ms_status status = MS_OK;
    for (; *next < plan->count && status == MS_OK; (*next)++) {
        const ms_segment *segment = &l->in->costs->segments[plan->first + *next];
        if (segment->is_between_directions) {
            return MS_OK;
        }
        status = lower_group(l, p, segment);
    }
    return status;
}

/* The pipeline rank that holds the same stages as `p`; `p` itself where there is one direction.
 */
static int partner_of(const ms_program *program, int p) {
    for (int stage = 0; stage < program->stages; stage++) {
        if (program->stage_rank[stage] == p) {
            return program->stage_rank[(stage + program->model_stages) % program->stages];
        }
    }
    return p;
}

/* The plans of pipeline rank `p` and its partner, which have the same collectives between each
 * other in the same order. */
static ms_status lower_plans(ms_lowering *l, int p, const ms_pass_plan *plans) {
    int ends[2] = {p, partner_of(l->in->program, p)};
    int count = ends[0] == ends[1] ? 1 : 2;
    int next[2] = {0, 0};
    if (plans == NULL || ends[1] < p) {
        return MS_OK; /* lowered with the partner's */
    }
    for (;;) {
        for (int end = 0; end < count; end++) {
            ms_status status = lower_until_directions(l, ends[end], &plans[ends[end]], &next[end]);
            if (status != MS_OK) {
                return status;
            }
        }
        bool is_done = next[0] == plans[p].count;
        bool is_partner_done = count == 1 || next[1] == plans[ends[1]].count;
        if (is_done || is_partner_done) {
            l->dag->builder.failed = l->dag->builder.failed || is_done != is_partner_done;
            return MS_OK;
        }
        const ms_segment *segment = &l->in->costs->segments[plans[p].first + next[0]];
        ms_status status = reduce_pair(l, ends, segment->axis, segment->coll_B);
        if (status != MS_OK) {
            return status;
        }
        next[0]++;
        next[1]++;
    }
}

/* The all-reduce of the word embedding's gradient between first and last stage, after all other
 * reductions.  Source: Megatron-LM, finalize_model_grads. */
static ms_status reduce_tied(ms_lowering *l) {
    const ms_program *program = l->in->program;
    double size_B = l->in->costs->stage[0].tied_B;
    int ends[2] = {program->stage_rank[0], program->stage_rank[program->model_stages - 1]};
    return size_B <= 0.0 || ends[0] == ends[1] ? MS_OK : reduce_pair(l, ends, MS_AXIS_PP, size_B);
}

/* The route of the longest latency from a rank; returns the rank at its other end. */
static int find_farthest(const ms_lowering *l, int from, ms_route *route_out) {
    int farthest = from;
    int gpu = ms_mesh_device(l->in->mesh, from);
    ms_platform_route(l->in->platform, gpu, gpu, route_out);
    for (int rank = 0; rank < l->in->mesh->ranks; rank++) {
        ms_route route;
        ms_platform_route(l->in->platform, gpu, ms_mesh_device(l->in->mesh, rank), &route);
        if (route.latency_s > route_out->latency_s) {
            *route_out = route;
            farthest = rank;
        }
    }
    return farthest;
}

/* Whether all ranks meet before they update: an update, or another step, follows. */
static bool is_synchronised(const ms_lowering *l) {
    bool has_more = l->in->steps > 1;
    for (int p = 0; p < l->ranks.pp; p++) {
        has_more = has_more || l->in->costs->optimizer_s[p] > 0.0;
    }
    return has_more && !l->in->is_validated_late && l->in->mesh->ranks > 1;
}

/* A tree of messages that hold one number: up and down again, each level as long as the longest
 * route. Without parameters there is no norm, and the ranks just wait for each other. */
static int32_t norm_work(ms_lowering *l) {
    ms_work_key key = {.domain = MS_DOMAIN_NORM};
    int32_t index = ms_works_find(&l->works, &key);
    if (index >= 0) {
        return index;
    }
    int ranks = l->in->mesh->ranks;
    double size_B = l->in->costs->parameters_total > 0.0 ? 4.0 : 0.0; /* fp32 */
    double latency_s = 0.0;
    ms_route route = {.tier = -1};
    if (size_B > 0.0) {
        /* from the end that is farthest from any rank: the longest way through a tree of switches
         * and through a torus */
        find_farthest(l, find_farthest(l, 0, &route), &route);
        latency_s = 2.0 * ceil(log2(ranks)) * route.latency_s;
    }
    ms_dag_work work = {.bytes = 2.0 * (ranks - 1) / ranks * size_B,
                        .size_B = size_B,
                        .stands_for = 1,
                        .group_size = ranks,
                        .tier = (int16_t)route.tier,
                        .coll = MS_COLL_ALL_REDUCE,
                        .algorithm = MS_ALGORITHM_TREE,
                        .is_communication = true,
                        .tag = -1};
    index = ms_dag_add_work(l->dag, &work);
    ms_dag_add_phase(l->dag, latency_s);
    ms_works_remember(&l->works, &key, index);
    return index;
}

/* All ranks learn the norm of the world's gradient, by which the update clips it. */
static void exchange_norm(ms_lowering *l) {
    ms_dag_op op = MS_NO_LABELS;
    op.kind = MS_OP_ALL_REDUCE;
    op.axis = MS_AXIS_OTHER;
    op.work = norm_work(l);
    int32_t index = ms_dag_add_op(l->dag, &op);
    for (int32_t sim = 0; sim < l->ranks.simulated; sim++) {
        join_across(l, sim, &op, index);
    }
}

/* The optimizer; where it takes no time, asynchronous collectives that nothing has waited for still
 * come before the parameters are gathered. */
static void update(ms_lowering *l, int p) {
    double time_s = l->in->costs->optimizer_s[p];
    ms_waits *before = l->waiting.update + p * l->waiting.count;
    if (time_s <= 0.0 && ms_waits_are_empty(&before[0])) {
        return;
    }
    ms_dag_work work = {.time_s = time_s,
                        .stands_for = ms_ranks_folded(&l->ranks),
                        .group_size = 1,
                        .tier = -1,
                        .tag = -1};
    ms_dag_op op = MS_NO_LABELS;
    op.kind = MS_OP_OPTIMIZER;
    op.work = ms_dag_add_work(l->dag, &work);
    ms_before_take(&l->waiting, ms_next(l, p));
    ms_before_take(&l->waiting, before);
    ms_compute_lower(l, p, &op, ms_next(l, p));
}

ms_status ms_step_end_lower(ms_lowering *l) {
    ms_status status = MS_OK;
    for (int p = 0; p < l->ranks.pp && status == MS_OK; p++) {
        status = lower_plans(l, p, l->in->costs->before_update);
    }
    status = status == MS_OK ? reduce_tied(l) : status;
    if (status == MS_OK && is_synchronised(l)) {
        exchange_norm(l);
    }
    for (int p = 0; p < l->ranks.pp && status == MS_OK; p++) {
        update(l, p);
    }
    for (int p = 0; p < l->ranks.pp && status == MS_OK; p++) {
        status = lower_plans(l, p, l->in->costs->after_update);
    }
    return status;
}
