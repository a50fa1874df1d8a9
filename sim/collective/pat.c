/* PAT, NCCL's parallel aggregated trees, for all-gather and reduce-scatter among nodes of one
 * member each: log2(n) rounds. In the first round, every member sends one n-th part of the buffer
 * to the member at the largest distance, a power of two; in each further round, twice as many parts
 * over half the distance. Source: S. Jeaugey, PAT: a new algorithm for all-gather and
 * reduce-scatter operations at scale (2025), section on the reversed Bruck algorithm. */
#include "collective/algorithms.h"
#include "collective/library_tuning.h"
#include "collective/step_fidelity.h"

/* The rounds of a group. */
typedef struct pat_rounds {
    int first_distance; /* distance of the first round, in members; halved in each further round */
    int count;
} pat_rounds;

/* The rounds of a group of n >= 2 members: log2(n), rounded up; the first distance is the largest
 * power of two below n. */
static pat_rounds rounds_of(int members) {
    pat_rounds rounds = {.first_distance = 1, .count = 1};
    for (; 2 * rounds.first_distance < members; rounds.first_distance *= 2) {
        rounds.count++;
    }
    return rounds;
}

/* Number of parts that every member sends in a round (from 0): 2^round, and in the last round all
 * that are left of n - 1. */
static int parts_in(int members, int round, const pat_rounds *rounds) {
    int parts = 1 << round;
    int left = members - parts; /* 2^round - 1 are sent before it */
    return round == rounds->count - 1 || parts > left ? left : parts;
}

/* Add the routes of a round, in which every member sends `parts` parts to the member that is
 * `distance` further in the group. */
static void add_round(const ms_coll_request *request, int distance, int parts,
                      ms_crossings *crossings) {
    int n = request->members;
    for (int i = 0; i < n; i++) {
        ms_crossings_add_weighted(crossings, request->gpus[i], request->gpus[(i + distance) % n],
                                  parts);
    }
}

/* Plan every round as a phase by itself, for fidelity `step`. all: has one message per member and
 * round, round after round. part_B: bytes of a part. latency_s: of all rounds. */
static ms_status plan_rounds(const ms_crossings *all, const ms_coll_request *request, double part_B,
                             double latency_s, ms_arena *arena, ms_coll_plan *plan) {
    pat_rounds rounds = rounds_of(request->members);
    ms_phase *phases = MS_NEW(arena, ms_phase, rounds.count);
    ms_status status = phases == NULL || all->messages.failed ? MS_E_NOMEM : MS_OK;
    for (int round = 0; round < rounds.count && status == MS_OK; round++) {
        int first = round * request->members;
        const ms_step_messages messages = {
            .messages = &MS_AT(&all->messages, ms_message, first),
            .count = request->members,
            .message_B = {part_B * parts_in(request->members, round, &rounds)},
            .slowness = {all->slowness}};
        ms_coll_plan one = {.tier = -1};
        status =
            ms_steps_repeat(all->platform, &messages, 1, latency_s / rounds.count, arena, &one);
        if (status == MS_OK) {
            phases[round] = one.phases[0];
        }
    }
    plan->tier = all->tier;
    plan->phases = phases;
    plan->phase_count = rounds.count;
    return status;
}

/* Lay out an all-gather or reduce-scatter by PAT. All rounds as one phase, in which a route counts
 * once per part that it carries; or each round as a phase in fidelity `step`. The latency is that
 * of the slowest route in every round. */
ms_status ms_pat_plan(const ms_platform *platform, const ms_coll_request *request, ms_arena *arena,
                      ms_coll_plan *plan) {
    int n = request->members;
    pat_rounds rounds = rounds_of(n);
    ms_crossings crossings;
    ms_tuned tuned;
    ms_status status = ms_tuned_find(platform, request, &crossings, &tuned);
    for (int round = 0; round < rounds.count && status == MS_OK; round++) {
        add_round(request, rounds.first_distance >> round, parts_in(n, round, &rounds), &crossings);
    }
    plan->sent_B = (n - 1.0) / n * request->size_B;
    if (status == MS_OK) {
        double part_B = request->size_B / n;
        double latency_s = ms_tuned_latency_s(&tuned, rounds.count * crossings.latency_max_s);
        status = request->is_stepped && !request->is_coarse
                     ? plan_rounds(&crossings, request, part_B, latency_s, arena, plan)
                     : ms_crossings_plan(&crossings, part_B, latency_s, arena, plan);
    }
    ms_crossings_release(&crossings);
    return status;
}
