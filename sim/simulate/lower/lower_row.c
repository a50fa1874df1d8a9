/* Lowers a row of collectives, one after the other on an idle platform, for studies of collectives
 * without a workload. */
#include "simulate/lower/works.h"

/* Add one rank with one communicator, and on it the collectives of the row, among GPUs 0 to members
 * - 1.  Returns MS_OK; as ms_works_make_alone. */
static ms_status lower_row(ms_works *w, const ms_collective_row *row) {
    int *gpus = MS_NEW(w->arena, int, row->members);
    if (gpus == NULL) {
        return MS_E_NOMEM;
    }
    for (int i = 0; i < row->members; i++) {
        gpus[i] = i;
    }
    int32_t rank = ms_dag_add_rank(w->dag, 0, 1, 0);
    int32_t stream = ms_dag_add_stream(w->dag, rank, -1, MS_AXIS_OTHER);
    for (int i = 0; i < row->count; i++) {
        ms_coll_request request = {
            .kind = row->kind, .gpus = gpus, .members = row->members, .size_B = row->sizes_B[i]};
        ms_dag_op op = {.mb = -1,
                        .stage = -1,
                        .chunk = -1,
                        .layer = -1,
                        .kind = (uint8_t)ms_op_kind_of_coll(row->kind),
                        .axis = MS_AXIS_OTHER};
        ms_status status = ms_works_make_alone(w, &request, false, &op.work);
        if (status != MS_OK) {
            return status;
        }
        ms_dag_add_op(w->dag, &op);
        ms_dag_add_member(w->dag, stream);
    }
    return MS_OK;
}

ms_status ms_lower_collectives(const ms_platform *platform, const ms_collective_row *row,
                               ms_diag *diag, ms_dag *dag_out) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_dag_init(dag_out);
    ms_works works;
    ms_status status = ms_works_init(&works, platform, &scratch, diag, dag_out);
    works.algorithms.of[row->kind] = row->algorithm;
    works.algorithms.protocol = row->protocol;
    works.is_stepped = row->is_stepped;
    status = status == MS_OK ? lower_row(&works, row) : status;
    if (status == MS_OK) {
        status = ms_dag_finish(dag_out, diag);
    } else if (status == MS_E_NOMEM) {
        ms_diag_error(diag, "out of memory while laying collectives out");
    }
    ms_works_release(&works);
    ms_arena_release(&scratch);
    return status;
}
