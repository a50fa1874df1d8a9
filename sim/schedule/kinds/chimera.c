/* Chimera with two pipelines in opposite directions over the same ranks: of every group of P
 * microbatches, half run from rank 0 to P-1 and half from rank P-1 to 0. Every rank has one stage
 * of each direction. The order comes from a grid of ticks, on which all passes take one tick. In
 * the program, stages 0 to P-1 are the first direction, and stages P to 2P-1 are the same model
 * stages in the second one. Source: Li and Hoefler, "Chimera", SC'21. */
#include <stdio.h>

#include "schedule/internal.h"

/* The passes of one kind (F or B) and one direction on a rank, in ascending order of ticks. */
typedef struct sequence {
    ms_pass pass;
    int stage;      /* in the program */
    int64_t offset; /* tick of the first pass */
    int next;       /* next microbatch of the direction */
} sequence;

/* Check that P is even and that M is a multiple of P. */
static ms_status check(const ms_schedule_type *type, const ms_schedule_spec *spec, ms_diag *diag) {
    (void)type; /* the only kind with these rules */
    int ranks = spec->pipeline_ranks;
    if (ranks % 2 != 0) {
        return ms_diag_error(diag,
                             "chimera needs an even number of pipeline ranks, got P = '%d'; "
                             "nearest legal P: %lld",
                             ranks, ranks + 1LL);
    }
    if (spec->microbatches % ranks != 0) {
        long long below = spec->microbatches / ranks * (long long)ranks;
        char lower[32] = "";
        if (below > 0) {
            snprintf(lower, sizeof lower, "%lld or ", below);
        }
        return ms_diag_error(
            diag,
            "chimera runs groups of P = %d microbatches, got M = '%d'; nearest legal M: "
            "%s%lld",
            ranks, spec->microbatches, lower, below + ranks);
    }
    return MS_OK;
}

/* Tick of the next pass of a sequence. Microbatch i of group g (P/2 per group and direction) runs
 * on stage s of its direction F at tick 2Pg + 2i + s and B at tick 2Pg + 2i + 2P-1 - s; the offset
 * is the part of this with s. */
static int64_t tick(const ms_schedule_spec *spec, const sequence *passes) {
    int64_t ranks = spec->pipeline_ranks;
    int64_t per_group = ranks / 2;
    return passes->offset + 2 * ranks * (passes->next / per_group) + 2 * (passes->next % per_group);
}

/* Append a rank's list: the passes of its four sequences, merged by their ticks. */
static void generate(const ms_schedule_spec *spec, int rank, ms_action_list *list) {
    int ranks = spec->pipeline_ranks;
    int mirror = ranks - 1 - rank;
    sequence sequences[] = {
        {.pass = MS_PASS_F, .stage = rank, .offset = rank},
        {.pass = MS_PASS_F, .stage = ranks + mirror, .offset = mirror},
        {.pass = MS_PASS_B, .stage = rank, .offset = 2 * ranks - 1 - rank},
        {.pass = MS_PASS_B, .stage = ranks + mirror, .offset = 2 * ranks - 1 - mirror},
    };
    int each = spec->microbatches / 2;
    for (int64_t left = 4LL * each; left > 0; left--) {
        sequence *earliest = NULL;
        for (int i = 0; i < 4; i++) {
            sequence *candidate = &sequences[i];
            if (candidate->next < each &&
                (earliest == NULL || tick(spec, candidate) < tick(spec, earliest))) {
                earliest = candidate;
            }
        }
        ms_action_list_add(list, earliest->pass, earliest->stage, earliest->next++);
    }
}

/* Closed form of the makespan: (2M+P-2)F, where a backward pass takes as long as a forward pass F
 * and messages are free. Otherwise bubbles appear between the groups, and no form is known. Source:
 * derived by exhaustive evaluation, swept in tests/unit/schedule. */
static bool formula(const ms_program *program, const ms_schedule_costs *costs,
                    double *makespan_out) {
    ms_even_costs even;
    if (!ms_schedule_costs_are_even(program, costs, &even) || even.p2p != 0 ||
        even.forward != even.backward) {
        return false;
    }
    *makespan_out =
        (2.0 * program->spec.microbatches + program->spec.pipeline_ranks - 2) * even.forward;
    return true;
}

const ms_schedule_type ms_schedule_chimera = {
    .name = "chimera",
    .passes = 2,
    .directions = 2,
    .chunks = 1,
    .check = check,
    .rank_of_stage = ms_stage_rank_v,
    .generate = generate,
    .formula = formula,
};
