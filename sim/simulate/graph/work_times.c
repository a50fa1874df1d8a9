/* Times of flows, phases and works when no other communication is on the links. A phase is a set of
 * flows of one communication that start together; they share links among themselves by max-min
 * fairness. A flow has two times. `alone`: the phase of one group has the links to itself.
 * `loaded`: the phases of all groups that the work stands for are on the links together. */
#include "simulate/graph/work_times.h"

#include <math.h>

#include "base/arena.h"
#include "collective/fluid.h"

/* Storage for the flows of one phase, used again for every phase. */
typedef struct phase_flows {
    ms_fluid_flow *flows; /* [maximum number of flows in a phase] */
    double *end_s;        /* [as flows] when each ends [s] */
    ms_fluid_use *uses;   /* [maximum number of crossings in a phase] */
} phase_flows;

/* The number of crossings of all flows of a phase. */
static int32_t count_crossings(const ms_dag *dag, const ms_dag_phase *phase) {
    int32_t count = 0;
    for (int32_t f = 0; f < phase->flow_count; f++) {
        count += dag->network.flows[phase->flow_first + f].crossing_count;
    }
    return count;
}

/* Allocate storage for the largest phase of the graph. Returns MS_OK; MS_E_NOMEM. */
static ms_status allocate(const ms_dag *dag, ms_arena *scratch, phase_flows *all) {
    int32_t flows = 0;
    int32_t uses = 0;
    for (int32_t p = 0; p < dag->network.phase_count; p++) {
        int32_t crossings = count_crossings(dag, &dag->network.phases[p]);
        flows =
            dag->network.phases[p].flow_count > flows ? dag->network.phases[p].flow_count : flows;
        uses = crossings > uses ? crossings : uses;
    }
    all->flows = MS_NEW(scratch, ms_fluid_flow, flows);
    all->end_s = MS_NEW(scratch, double, flows);
    all->uses = MS_NEW(scratch, ms_fluid_use, uses);
    return all->flows == NULL || all->end_s == NULL || all->uses == NULL ? MS_E_NOMEM : MS_OK;
}

/* Set alone_s (is_alone) or loaded_s of all flows of a phase. A crossing weighs `own` if alone: the
 * flow of one group; else `weight`: the flows of all groups that it stands for. An alone_s that the
 * builder's caller has set (>= 0) is kept. Returns MS_OK; MS_E_NOMEM. */
static ms_status time_phase(ms_dag *dag, const ms_dag_phase *phase, bool is_alone,
                            phase_flows *all) {
    ms_fluid_use *next = all->uses;
    for (int32_t f = 0; f < phase->flow_count; f++) {
        const ms_dag_flow *flow = &dag->network.flows[phase->flow_first + f];
        all->flows[f] = (ms_fluid_flow){flow->bytes, next, flow->crossing_count};
        for (int32_t c = 0; c < flow->crossing_count; c++) {
            const ms_dag_crossing *crossing = &dag->network.crossings[flow->crossing_first + c];
            *next++ =
                (ms_fluid_use){.link = crossing->link,
                               .weight = is_alone ? crossing->own : crossing->weight,
                               .capacity_Bps = dag->network.links[crossing->link].capacity_Bps};
        }
    }
    ms_status status = ms_fluid_run(all->flows, phase->flow_count, all->end_s);
    for (int32_t f = 0; f < phase->flow_count && status == MS_OK; f++) {
        ms_dag_flow *flow = &dag->network.flows[phase->flow_first + f];
        if (!is_alone) {
            flow->loaded_s = all->end_s[f];
        } else if (flow->alone_s < 0.0) {
            flow->alone_s = all->end_s[f];
        }
    }
    return status;
}

ms_status ms_dag_time_flows(ms_dag *dag) {
    ms_arena scratch;
    phase_flows all;
    ms_arena_init(&scratch);
    ms_status status = allocate(dag, &scratch, &all);
    for (int32_t p = 0; p < dag->network.phase_count && status == MS_OK; p++) {
        status = time_phase(dag, &dag->network.phases[p], true, &all);
        status = status == MS_OK ? time_phase(dag, &dag->network.phases[p], false, &all) : status;
    }
    ms_arena_release(&scratch);
    return status;
}

double ms_dag_flow_time_s(const ms_dag *dag, int32_t flow, bool is_alone) {
    return is_alone ? dag->network.flows[flow].alone_s : dag->network.flows[flow].loaded_s;
}

double ms_dag_phase_time_s(const ms_dag *dag, const ms_dag_phase *phase, bool is_alone,
                           double *flows_out) {
    *flows_out = 0.0;
    for (int32_t f = 0; f < phase->flow_count; f++) {
        *flows_out = fmax(*flows_out, ms_dag_flow_time_s(dag, phase->flow_first + f, is_alone));
    }
    return *flows_out + phase->latency_s;
}

double ms_dag_work_time_s(const ms_dag *dag, const ms_dag_work *work, bool is_alone,
                          double *transfer_out) {
    double time_s = work->time_s;
    double transfer_s = work->time_s;
    for (int32_t p = 0; p < work->phase_count; p++) {
        double flows_s = 0.0;
        double phase_s = ms_dag_phase_time_s(dag, &dag->network.phases[work->phase_first + p],
                                             is_alone, &flows_s);
        transfer_s = time_s + flows_s;
        time_s += phase_s;
    }
    if (transfer_out != NULL) {
        *transfer_out = transfer_s;
    }
    return time_s;
}

double ms_dag_work_latency_s(const ms_dag *dag, const ms_dag_work *work) {
    double latency_s = 0.0;
    for (int32_t p = 0; p < work->phase_count; p++) {
        latency_s += dag->network.phases[work->phase_first + p].latency_s;
    }
    return latency_s;
}
