/* A row of collectives on an idle platform, for studies without a workload. */
#include <string.h>

#include "lower/lowering.h"

static ms_status allocate(ms_lowering *l, int members, int **gpus_out) {
    size_t links = (size_t)l->in->platform->link_count;
    l->dag_link = MS_NEW(l->arena, int32_t, links);
    l->link_load = MS_NEW(l->arena, int32_t, links);
    int *gpus = MS_NEW(l->arena, int, members);
    if (l->dag_link == NULL || l->link_load == NULL || gpus == NULL) {
        return MS_E_NOMEM;
    }
    memset(l->dag_link, 0xFF, links * sizeof *l->dag_link);
    for (int i = 0; i < members; i++) {
        gpus[i] = i;
    }
    *gpus_out = gpus;
    return MS_OK;
}

static ms_status lower_row(ms_lowering *l, const ms_collective_row *row) {
    int *gpus = NULL;
    ms_status status = allocate(l, row->members, &gpus);
    if (status != MS_OK) {
        return status;
    }
    int32_t rank = ms_dag_add_rank(l->dag, 0, 1, 0);
    int32_t stream = ms_dag_add_stream(l->dag, rank, -1, MS_AXIS_OTHER);
    for (int i = 0; i < row->count; i++) {
        ms_fold_request request = {.kind = row->kind,
                                   .size_B = row->sizes_B[i],
                                   .gpus = gpus,
                                   .groups = 1,
                                   .members = row->members};
        ms_dag_op op = {.mb = -1,
                        .stage = -1,
                        .chunk = -1,
                        .layer = -1,
                        .kind = (uint8_t)ms_op_kind_of_coll(row->kind),
                        .axis = MS_AXIS_OTHER};
        status = ms_fold_work(l, &request, &op.work);
        if (status != MS_OK) {
            return status;
        }
        ms_dag_add_op(l->dag, &op);
        ms_dag_add_member(l->dag, stream);
    }
    return MS_OK;
}

ms_status ms_lower_collectives(const ms_platform *platform, const ms_collective_row *row,
                               ms_diag *diag, ms_dag *dag_out) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_dag_init(dag_out);
    ms_lower_input input = {.platform = platform};
    ms_lowering l = {
        .in = &input, .diag = diag, .arena = &scratch, .dag = dag_out, .is_exact = true};
    ms_status status = lower_row(&l, row);
    if (status == MS_OK) {
        status = ms_dag_finish(dag_out, diag);
    } else if (status == MS_E_NOMEM) {
        ms_diag_error(diag, "out of memory while laying collectives out");
    }
    ms_arena_release(&scratch);
    return status;
}
