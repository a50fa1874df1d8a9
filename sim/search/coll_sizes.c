/* Simulates one collective at many sizes on an otherwise idle platform, as nccl-tests times it
 * (coll_sizes.h): one operation per size, one after the other on one communicator. */
#include "search/coll_sizes.h"

#include <math.h>

#include "base/usage.h"
#include "estimate/advice.h"
#include "simulate/lower/lower.h"

#define FIELD(member) offsetof(ms_size_row, member)
const ms_table_column MS_SIZE_COLUMNS[] = {
    {"size_B", MS_COLUMN_NUMBER, FIELD(size_B), .sort = MS_SORT_NEVER},
    {"time_s", MS_COLUMN_NUMBER, FIELD(time_s), .sort = MS_SORT_NEVER},
    {"algbw_Bps", MS_COLUMN_NUMBER, FIELD(algbw_Bps), .sort = MS_SORT_NEVER},
    {"busbw_Bps", MS_COLUMN_NUMBER, FIELD(busbw_Bps), .sort = MS_SORT_NEVER},
    {"algorithm", MS_COLUMN_TEXT, FIELD(algorithm_name), .sort = MS_SORT_NEVER},
    {"protocol", MS_COLUMN_TEXT, FIELD(protocol), .sort = MS_SORT_NEVER},
    {0},
};

ms_status ms_sizes_set(ms_sizes_study *study, double begin_B, double end_B, double factor) {
    int count = 0;
    study->count = 0;
    for (double size_B = begin_B; size_B <= end_B; size_B *= factor) {
        if (count == MS_SIZES_MAX) {
            return MS_E_RANGE;
        }
        study->sizes_B[count++] = floor(size_B);
    }
    study->count = count;
    return MS_OK;
}

/* The row of a size. index: of the size, which is also the index of its operation in the graph.
 * Bandwidths stay INFINITY where the collective takes no time. */
static ms_size_row row_of(const ms_sizes_study *study, const ms_dag *dag,
                          const ms_timeline *timeline, int index) {
    const ms_dag_work *work = &dag->works[dag->ops[index].work];
    double size_B = study->sizes_B[index];
    double time_s = timeline->end_s[index] - timeline->start_s[index];
    ms_size_row row = {.size_B = size_B,
                       .time_s = time_s,
                       .latency_s = ms_dag_work_latency_s(dag, work),
                       .algbw_Bps = INFINITY,
                       .busbw_Bps = INFINITY,
                       .algorithm = (ms_coll_algorithm)work->algorithm,
                       .algorithm_name = ms_coll_algorithm_name((ms_coll_algorithm)work->algorithm),
                       .protocol = ms_protocol_name((ms_protocol)work->protocol),
                       .is_by_links = work->protocol == MS_PROTOCOL_AUTO};
    if (time_s > 0.0) {
        row.algbw_Bps = size_B / time_s;
        row.busbw_Bps = ms_coll_busbw_Bps(study->kind, study->ranks, size_B, time_s);
    }
    return row;
}

/* Make the rows of a simulation, and set the algorithm of all rows to AUTO where they differ.
 * Returns MS_OK; MS_E_NOMEM (not reported). */
static ms_status fill_rows(const ms_sizes_study *study, const ms_dag *dag,
                           const ms_timeline *timeline, ms_arena *arena, ms_diag *diag,
                           ms_sizes_result *result) {
    result->rows = MS_NEW(arena, ms_size_row, study->count);
    if (result->rows == NULL) {
        return ms_diag_no_memory(diag);
    }
    for (int i = 0; i < study->count; i++) {
        ms_coll_algorithm before = i == 0 ? MS_ALGORITHM_AUTO : result->algorithm;
        result->rows[i] = row_of(study, dag, timeline, i);
        ms_coll_algorithm own = result->rows[i].algorithm;
        result->algorithm = i == 0 || own == before ? own : MS_ALGORITHM_AUTO;
    }
    result->ops = dag->op_count;
    result->flows = timeline->flows;
    result->simulated_ranks = dag->rank_count;
    return MS_OK;
}

/* Lay out one operation per size in a graph, run the graph, and read each operation's time from the
 * timeline. */
ms_status ms_sizes_simulate(const ms_sizes_study *study, ms_arena *arena, ms_diag *diag,
                            ms_sizes_result *result_out) {
    ms_collective_row row = {.kind = study->kind,
                             .algorithm = study->algorithm,
                             .protocol = study->protocol,
                             .members = study->ranks,
                             .sizes_B = study->sizes_B,
                             .count = study->count,
                             .is_stepped = study->fidelity == MS_FIDELITY_STEP};
    double start_s = ms_wall_s();
    ms_dag dag;
    ms_timeline timeline;
    ms_sizes_result result = {.rows = NULL};
    ms_status status = ms_lower_collectives(study->platform, &row, diag, &dag);
    status = status == MS_OK
                 ? ms_engine_run(&dag, study->fidelity, MS_SOLVER_SIMGRID, arena, diag, &timeline)
                 : status;
    if (status == MS_OK) {
        result.wall_s = ms_wall_s() - start_s;
        status = fill_rows(study, &dag, &timeline, arena, diag, &result);
    }
    ms_dag_release(&dag);
    if (status == MS_OK) {
        *result_out = result;
    }
    return status;
}

/* Warns only of rings without a library. With a library, the library chooses the algorithm and its
 * latency. */
void ms_sizes_advise(const ms_sizes_study *study, const ms_sizes_result *result, ms_diag *diag) {
    int last = -1; /* index of the largest size at which a ring's latency dominates */
    for (int i = 0; i < study->count; i++) {
        const ms_size_row *row = &result->rows[i];
        bool is_ring = row->is_by_links && row->algorithm == MS_ALGORITHM_RING;
        last = is_ring && row->latency_s > MS_LATENCY_DOMINATES * row->time_s ? i : last;
    }
    if (study->ranks <= 2 || last < 0) {
        return;
    }
    const ms_size_row *first = &result->rows[0];
    char small[32];
    char large[32];
    char time[32];
    ms_diag_warning(diag,
                    "latency is most of the ring's time up to %s (%.0f %% of %s for %s among "
                    "%d); " MS_AUTO_IS_RING,
                    ms_unit_format(result->rows[last].size_B, MS_DIM_BYTES, large, sizeof large),
                    100.0 * first->latency_s / first->time_s,
                    ms_unit_format(first->time_s, MS_DIM_TIME, time, sizeof time),
                    ms_unit_format(first->size_B, MS_DIM_BYTES, small, sizeof small), study->ranks);
}
