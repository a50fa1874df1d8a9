/* Lowers the end of a step, after the last microbatch: gradient reduction, the norm of the
 * gradient, the update and the gathering of parameters, in the order in which ms_step_end_visit
 * calls the functions below. `sim` is the number of a simulated rank. */
#include "collective/coll_class.h"
#include "simulate/lower/lowering.h"

/* The stream of a simulated rank for the collectives of an axis across pipeline ranks, made on
 * first use. */
static int32_t stream_across(ms_lowering *l, int32_t sim, ms_axis axis) {
    ms_work_key key = {.domain = MS_DOMAIN_STEP_END_STREAMS, .first = sim, .second = (int32_t)axis};
    return ms_stream_of(l, &key, -1, axis);
}

/* Make a rank a member of the newest operation `index`. The rank takes part when everything that it
 * has started has ended, asynchronous collectives included, and goes on after the operation. */
static void join_across(ms_lowering *l, int32_t sim, const ms_dag_op *op, int32_t index) {
    ms_waits *next = &l->waiting.next[sim];
    int32_t stream = stream_across(l, sim, (ms_axis)op->axis);
    ms_waits_take(&l->waiting.pool, next, &l->waiting.update[sim]);
    ms_dag_add_member(l->dag, stream);
    ms_waits_depend(&l->waiting.pool, next, l->dag, -1);
    ms_waits_clear(&l->waiting.pool, next);
    ms_waits_add(&l->waiting.pool, next, index, stream);
}

/* ms_step_end_visitor.pair: emit an all-reduce between two pipeline ranks, one for each class of
 * ranks. */
static ms_status lower_pair(void *context, const int ends[2], ms_axis axis, double size_B) {
    ms_lowering *l = context;
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

/* ms_step_end_visitor.group: emit a blocking collective in the groups of pipeline rank `p`. */
static ms_status lower_group(void *context, int p, const ms_segment *segment) {
    ms_lowering *l = context;
    ms_group_op c = ms_group_op_of(segment);
    c.ends = ms_next(l, p);
    if (!ms_group_runs(l, p, &c)) {
        return MS_OK;
    }
    ms_before_take(&l->waiting, ms_next(l, p));
    return ms_group_lower(l, p, &c);
}

/* Find the work of the all-reduce of the gradient's norm over all ranks, made on first use. Its
 * time is a latency without flows, as 4 bytes need hardly any bandwidth. Without parameters there
 * is no norm, and the operation takes no time: the ranks just wait for each other.  Returns MS_OK;
 * as ms_coll_world_sum. */
static ms_status norm_work(ms_lowering *l, int32_t *work_out) {
    ms_work_key key = {.domain = MS_DOMAIN_NORM};
    *work_out = ms_works_find(&l->works, &key);
    if (*work_out >= 0) {
        return MS_OK;
    }
    ms_world_sum sum = {.algorithm = MS_ALGORITHM_TREE, .tier = -1};
    if (l->job->costs.parameters_total > 0.0) {
        ms_status status =
            ms_coll_world_sum(l->job->platform, &l->job->mesh, &l->works.algorithms, &sum);
        if (status != MS_OK) {
            return status;
        }
    }
    ms_dag_work work = {.host_s = l->job->host.launch_s,
                        .bytes = sum.sent_B,
                        .size_B = sum.size_B,
                        .stands_for = 1,
                        .group_size = l->job->mesh.ranks,
                        .tier = (int16_t)sum.tier,
                        .coll = MS_COLL_ALL_REDUCE,
                        .algorithm = (uint8_t)sum.algorithm,
                        .protocol = (uint8_t)sum.protocol,
                        .is_communication = true,
                        .tag = -1};
    *work_out = ms_dag_add_work(l->dag, &work);
    ms_dag_add_phase(l->dag, sum.time_s);
    ms_works_remember(&l->works, &key, *work_out);
    return MS_OK;
}

/* ms_step_end_visitor.meet: emit the all-reduce of the norm, by which the update clips gradients,
 * as one operation of all simulated ranks. */
static ms_status exchange_norm(void *context) {
    ms_lowering *l = context;
    ms_dag_op op = MS_NO_LABELS;
    op.kind = MS_OP_ALL_REDUCE;
    op.axis = MS_AXIS_OTHER;
    ms_status status = norm_work(l, &op.work);
    if (status != MS_OK) {
        return status;
    }
    int32_t index = ms_dag_add_op(l->dag, &op);
    for (int32_t sim = 0; sim < l->ranks.simulated; sim++) {
        join_across(l, sim, &op, index);
    }
    return MS_OK;
}

/* ms_step_end_visitor.update: emit the optimizer on the ranks of pipeline rank `p`. It also waits
 * for the asynchronous collectives of the step that no segment has waited for. So it is emitted
 * even if it takes no time, unless there is no such collective. With MS_SYNC_NORM the host waits
 * for the norm before it launches the optimizer; with post-validation it does not. */
static void update(void *context, int p) {
    ms_lowering *l = context;
    double time_s = l->job->costs.optimizer_s[p];
    ms_waits *before = l->waiting.update + p * l->waiting.count;
    if (time_s <= 0.0 && ms_waits_are_empty(&before[0])) {
        return;
    }
    ms_dag_work work = {.time_s = time_s,
                        .host_s = l->job->costs.optimizer_launches * l->job->host.launch_s,
                        .is_synchronising = (l->job->host.syncs & MS_SYNC_NORM) &&
                                            !ms_job_is_validated_late(l->job),
                        .stands_for = 1,
                        .group_size = 1,
                        .tier = -1,
                        .tag = -1};
    ms_dag_op op = MS_NO_LABELS;
    op.kind = MS_OP_OPTIMIZER;
    op.work = ms_computation_add(l, &work);
    ms_before_take(&l->waiting, ms_next(l, p));
    ms_before_take(&l->waiting, before);
    ms_compute_lower(l, p, &op, ms_next(l, p));
}

ms_status ms_step_end_lower(ms_lowering *l) {
    static const ms_step_end_visitor VISITOR = {lower_group, lower_pair, exchange_norm, update};
    return ms_step_end_visit(l->job, &VISITOR, l, l->works.diag);
}
