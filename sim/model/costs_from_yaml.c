/* Given costs (`costs:` of a workload, in place of a model): reads the times of passes and the
 * memory of stages, and lays them out in the form that a model's costs have. Every pass is one
 * compute segment of the given time. */
#include <stddef.h>

#include "model/stage_costs.h"

/* A row of the table. The maximum of 1e200 s or B keeps sums over any schedule finite. */
#define GIVEN(name_, dimension_, required_, fallback_, help_)                                      \
    MS_KEY(#name_, (help_), QUANTITIES, offsetof(ms_given_costs, name_),                           \
           .dimension = (dimension_), .is_required = (required_), .fallback = (fallback_),         \
           .maximum = 1e200)

const ms_field MS_COSTS_FIELDS[] = {
    GIVEN(forward, MS_DIM_TIME, true, NULL, "forward pass of a virtual stage and microbatch [s]"),
    GIVEN(input_gradient, MS_DIM_TIME, true, NULL, "backward pass, input gradient [s]"),
    GIVEN(weight_gradient, MS_DIM_TIME, false, "0 s", "backward pass, weight gradient [s]"),
    GIVEN(p2p, MS_DIM_BYTES, false, "0 B", "bytes between neighbouring stages per microbatch [B]"),
    GIVEN(optimizer, MS_DIM_TIME, false, "0 s", "optimizer step of a pipeline rank [s]"),
    GIVEN(states, MS_DIM_BYTES, false, "0 B", "weights, gradients, optimizer state of a stage [B]"),
    GIVEN(activations, MS_DIM_BYTES, false, "0 B", "what a microbatch keeps of a stage [B]"),
    {.key = NULL}};

/* Value `index` of a list, or the only value of a list of one. */
static double value_at(const ms_numbers *values, int index) {
    return values->items[values->count == 1 ? 0 : index];
}

/* Set the costs of a virtual stage: one segment for each pass, bytes sent to its neighbours (none
 * beyond the pipeline's ends), its memory, and the same entry for every slice. */
static void fill_stage(const ms_given_costs *given, int stage, ms_stage_costs *costs) {
    double input_s = value_at(&given->input_gradient, stage);
    double weight_s = value_at(&given->weight_gradient, stage);
    const double PASS_S[MS_PASS_COUNT] = {[MS_PASS_F] = value_at(&given->forward, stage),
                                          [MS_PASS_I] = input_s,
                                          [MS_PASS_W] = weight_s,
                                          [MS_PASS_B] = input_s + weight_s};
    ms_stage_cost out = {.memory = {.parameter_B = value_at(&given->states, stage),
                                    .activation_B = value_at(&given->activations, stage)}};
    for (int pass = 0; pass < MS_PASS_COUNT; pass++) {
        int index = stage * MS_PASS_COUNT + pass;
        costs->segments[index] = (ms_segment){.layer = -1, .time_s = PASS_S[pass]};
        out.passes[pass] = (ms_pass_plan){.first = index, .count = 1};
    }
    double p2p_B = value_at(&given->p2p, stage);
    out.send_forward_B = stage < costs->stages - 1 ? p2p_B : 0;
    out.send_backward_B = stage > 0 ? p2p_B : 0;
    for (int slice = 0; slice < costs->slices; slice++) {
        costs->stage[slice * costs->stages + stage] = out;
    }
}

/* Read the `costs:` mapping by its table. *costs_out is set on success only. */
ms_status ms_costs_read(const ms_node *mapping, const char *key_path, ms_arena *arena,
                        ms_diag *diag, ms_given_costs *costs_out) {
    ms_given_costs given = {.forward = {NULL, 0}};
    ms_status status = ms_config_read(mapping, MS_COSTS_FIELDS, key_path, &given, arena, diag);
    if (status == MS_OK) {
        *costs_out = given;
    }
    return status;
}

/* Lay out given costs as the costs of all stages. Kernels and uses are empty arrays, as given times
 * are of no kernels. */
ms_status ms_costs_build(const ms_given_costs *given, const ms_given_sizes *sizes, ms_arena *arena,
                         ms_diag *diag, ms_stage_costs *costs_out) {
    ms_stage_costs costs = {.stages = sizes->ranks * sizes->chunks,
                            .slices = sizes->slices > 1 ? sizes->slices : 1};
    costs.segment_count = costs.stages * MS_PASS_COUNT;
    costs.stage = MS_NEW(arena, ms_stage_cost, costs.slices * costs.stages);
    costs.segments = MS_NEW(arena, ms_segment, costs.segment_count);
    costs.kernels = MS_NEW(arena, ms_kernel, 0);
    costs.uses = MS_NEW(arena, ms_kernel_use, 0);
    costs.optimizer_s = MS_NEW(arena, double, sizes->ranks);
    if (!costs.stage || !costs.segments || !costs.kernels || !costs.uses || !costs.optimizer_s) {
        ms_diag_error(diag, "out of memory while laying out given costs");
        return MS_E_NOMEM;
    }
    for (int stage = 0; stage < costs.stages; stage++) {
        fill_stage(given, stage, &costs);
    }
    for (int rank = 0; rank < sizes->ranks; rank++) {
        costs.optimizer_s[rank] = value_at(&given->optimizer, rank);
    }
    *costs_out = costs;
    return MS_OK;
}

ms_status ms_costs_write(const ms_given_costs *costs, ms_arena *arena, ms_node **mapping_out) {
    return ms_config_write(MS_COSTS_FIELDS, costs, arena, mapping_out);
}

ms_status ms_costs_check(const ms_given_costs *costs, const char *key_path, const ms_node *root,
                         ms_diag *diag) {
    return ms_config_check(MS_COSTS_FIELDS, costs, key_path, root, diag);
}
