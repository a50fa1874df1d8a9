#include "dag/work_times.h"

#include <math.h>

#include "meshsim/arena.h"
#include "meshsim/fluid.h"

static ms_fluid_use use_of(const ms_dag *dag, const ms_dag_crossing *crossing, bool is_alone) {
    return (ms_fluid_use){.link = crossing->link,
                          .weight = is_alone ? crossing->own : crossing->weight,
                          .capacity_Bps = dag->links[crossing->link].capacity_Bps};
}

static double time_of_one(const ms_dag *dag, const ms_dag_flow *flow, bool is_alone) {
    double time_s = 0.0;
    for (int32_t i = flow->crossing_first; i < flow->crossing_first + flow->crossing_count; i++) {
        ms_fluid_use use = use_of(dag, &dag->crossings[i], is_alone);
        time_s = fmax(time_s, flow->bytes * use.weight / use.capacity_Bps);
    }
    return time_s;
}

/* Flows that start together share the links that several of them cross. */
static ms_status time_several(ms_dag *dag, const ms_dag_phase *phase, bool is_alone,
                              ms_arena *scratch) {
    ms_fluid_flow *flows = MS_NEW(scratch, ms_fluid_flow, phase->flow_count);
    double *end_s = MS_NEW(scratch, double, phase->flow_count);
    if (flows == NULL || end_s == NULL) {
        return MS_E_NOMEM;
    }
    for (int32_t f = 0; f < phase->flow_count; f++) {
        const ms_dag_flow *flow = &dag->flows[phase->flow_first + f];
        ms_fluid_use *uses = MS_NEW(scratch, ms_fluid_use, flow->crossing_count);
        if (uses == NULL) {
            return MS_E_NOMEM;
        }
        for (int32_t c = 0; c < flow->crossing_count; c++) {
            uses[c] = use_of(dag, &dag->crossings[flow->crossing_first + c], is_alone);
        }
        flows[f] = (ms_fluid_flow){flow->bytes, uses, flow->crossing_count};
    }
    ms_status status = ms_fluid_run(flows, phase->flow_count, end_s);
    for (int32_t f = 0; f < phase->flow_count && status == MS_OK; f++) {
        ms_dag_flow *flow = &dag->flows[phase->flow_first + f];
        *(is_alone ? &flow->alone_s : &flow->loaded_s) = end_s[f];
    }
    return status;
}

ms_status ms_dag_time_flows(ms_dag *dag) {
    ms_status status = MS_OK;
    for (int32_t p = 0; p < dag->phase_count && status == MS_OK; p++) {
        const ms_dag_phase *phase = &dag->phases[p];
        if (phase->flow_count == 1) {
            ms_dag_flow *flow = &dag->flows[phase->flow_first];
            flow->alone_s = time_of_one(dag, flow, true);
            flow->loaded_s = time_of_one(dag, flow, false);
        } else if (phase->flow_count > 1) {
            ms_arena scratch;
            ms_arena_init(&scratch);
            status = time_several(dag, phase, true, &scratch);
            status = status == MS_OK ? time_several(dag, phase, false, &scratch) : status;
            ms_arena_release(&scratch);
        }
    }
    return status;
}

double ms_dag_flow_time_s(const ms_dag *dag, int32_t flow, bool is_alone) {
    return is_alone ? dag->flows[flow].alone_s : dag->flows[flow].loaded_s;
}

double ms_dag_work_time_s(const ms_dag *dag, const ms_dag_work *work, bool is_alone,
                          double *transfer_out) {
    double time_s = work->time_s;
    double transfer_s = work->time_s;
    for (int32_t p = 0; p < work->phase_count; p++) {
        const ms_dag_phase *phase = &dag->phases[work->phase_first + p];
        double slowest_s = 0.0;
        for (int32_t f = 0; f < phase->flow_count; f++) {
            slowest_s = fmax(slowest_s, ms_dag_flow_time_s(dag, phase->flow_first + f, is_alone));
        }
        transfer_s = time_s + slowest_s;
        time_s = transfer_s + phase->latency_s;
    }
    if (transfer_out != NULL) {
        *transfer_out = transfer_s;
    }
    return time_s;
}
