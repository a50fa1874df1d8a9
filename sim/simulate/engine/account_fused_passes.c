/* Adds the communications inside fused passes to the account of the links, and counts how often
 * each work is carried out. A fused pass (sim/simulate/lower/fused_passes.md) is one operation that
 * contains collectives; these were not simulated as transfers, so account.c has no records of them.
 * Their loads are those of the works that the fused pass consists of. */
#include <math.h>

#include "simulate/engine/replay.h"

/* How one phase of a communication uses a link. */
typedef struct phase_use {
    double busy_s; /* time of the slowest flow on the link */
    double share;  /* share of the capacity in use while all its flows run */
} phase_use;

/* The state of the account. */
typedef struct fused_account {
    ms_replay *replay;
    phase_use *uses; /* [links] all zero between two phases */
} fused_account;

/* Set a->uses of the links of a phase from its flows, and add the bytes that these links carry if
 * the phase runs `count` times inside fused passes. */
static void enter_phase(fused_account *a, const ms_dag_phase *phase, double count) {
    const ms_dag *dag = a->replay->dag;
    for (int32_t f = phase->flow_first; f < phase->flow_first + phase->flow_count; f++) {
        const ms_dag_flow *flow = &dag->network.flows[f];
        double time_s = ms_dag_flow_time_s(dag, f, a->replay->is_alone);
        for (int32_t c = 0; c < flow->crossing_count; c++) {
            const ms_dag_crossing *crossing = &dag->network.crossings[flow->crossing_first + c];
            double bytes = flow->bytes * crossing->weight;
            phase_use *use = &a->uses[crossing->link];
            a->replay->timeline.link_bytes[crossing->link] +=
                count * ms_dag_flow_payload_B(flow) * crossing->weight;
            use->busy_s = fmax(use->busy_s, time_s);
            use->share += time_s > 0.0
                              ? bytes / time_s / dag->network.links[crossing->link].capacity_Bps
                              : 0.0;
        }
    }
}

/* Add a->uses of a phase that runs `count` times to the busy times and peaks of its links, and
 * reset a->uses for the next phase. Busy time is at most the length of the run; a link that several
 * flows of the phase cross is reset at the first of them. */
static void leave_phase(fused_account *a, const ms_dag_phase *phase, double count) {
    const ms_dag *dag = a->replay->dag;
    ms_timeline *timeline = &a->replay->timeline;
    for (int32_t f = phase->flow_first; f < phase->flow_first + phase->flow_count; f++) {
        const ms_dag_flow *flow = &dag->network.flows[f];
        for (int32_t c = 0; c < flow->crossing_count; c++) {
            int32_t link = dag->network.crossings[flow->crossing_first + c].link;
            double busy_s = timeline->link_busy_s[link] + count * a->uses[link].busy_s;
            timeline->link_busy_s[link] =
                fmin(busy_s, ms_steady_date_s(&timeline->steady, timeline->makespan_s));
            timeline->link_peak[link] =
                fmin(1.0, fmax(timeline->link_peak[link], a->uses[link].share));
            a->uses[link] = (phase_use){0.0, 0.0};
        }
    }
}

/* Number of the job's ranks on each pipeline rank. */
static double ranks_per_pp(const ms_dag *dag) {
    double ranks = 0.0;
    int32_t pipeline_ranks = 1;
    for (int32_t r = 0; r < dag->rank_count; r++) {
        ranks += dag->ranks[r].multiplicity;
        pipeline_ranks = dag->ranks[r].pp >= pipeline_ranks ? dag->ranks[r].pp + 1 : pipeline_ranks;
    }
    return ranks / pipeline_ranks;
}

/* Number of the job's ranks that the members of an operation stand for. */
static double ranks_of(const ms_dag *dag, int32_t op) {
    double ranks = 0.0;
    for (int32_t m = dag->member_first[op]; m < dag->member_first[op + 1]; m++) {
        ranks += dag->ranks[dag->streams[dag->member_stream[m]].rank].multiplicity;
    }
    return ranks;
}

void ms_timeline_count_works(const ms_dag *dag, const ms_timeline *timeline, double *counts_out) {
    double all = ranks_per_pp(dag);
    for (int32_t op = 0; op < dag->op_count; op++) {
        int32_t work = dag->ops[op].work;
        double times = ms_steady_count(&timeline->steady, timeline->start_s[op]);
        counts_out[work] += dag->works[work].fused > 0 ? times * ranks_of(dag, op) / all : times;
    }
    for (int32_t w = 0; w < dag->work_count; w++) {
        const ms_fused_pass *fused = ms_fused_pass_of(dag, &dag->works[w]);
        for (int32_t p = 0; fused != NULL && p < fused->part_count; p++) {
            counts_out[dag->network.fused.parts[fused->part_first + p].work] += counts_out[w];
        }
    }
}

/* Subtract the communications that are operations from the counts of works: the rest are those
 * inside fused passes. */
static void subtract_operations(const ms_dag *dag, const ms_timeline *timeline, double *counts) {
    for (int32_t op = 0; op < dag->op_count; op++) {
        if (!ms_dag_is_compute(dag, op)) {
            counts[dag->ops[op].work] -= ms_steady_count(&timeline->steady, timeline->start_s[op]);
        }
    }
}

/* The communications inside fused passes are all communications less those that are operations.
 * Each phase is entered and left by itself, so peaks are those of one phase. */
ms_status ms_account_fused_passes(ms_replay *replay, ms_arena *scratch, ms_diag *diag) {
    const ms_dag *dag = replay->dag;
    if (dag->network.fused.count == 0) {
        return MS_OK;
    }
    /* how often each work is carried out inside fused passes */
    double *counts = MS_NEW(scratch, double, dag->work_count);
    fused_account a = {.replay = replay,
                       .uses = MS_NEW(scratch, phase_use, dag->network.link_count)};
    if (counts == NULL || a.uses == NULL) {
        return ms_engine_no_memory(diag);
    }
    ms_timeline_count_works(dag, &replay->timeline, counts);
    subtract_operations(dag, &replay->timeline, counts);
    for (int32_t w = 0; w < dag->work_count; w++) {
        const ms_dag_work *work = &dag->works[w];
        for (int32_t p = 0; p < work->phase_count && counts[w] > 0.0; p++) {
            const ms_dag_phase *phase = &dag->network.phases[work->phase_first + p];
            enter_phase(&a, phase, counts[w]);
            leave_phase(&a, phase, counts[w]);
        }
    }
    return MS_OK;
}
