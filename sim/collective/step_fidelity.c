/* Plans of fidelity `step`, in which every step of an algorithm is a phase by itself, instead of
 * one flow for the whole collective. The steps made here send the same messages, so they share one
 * list of flows. See decision note steps.md. */
#include "collective/step_fidelity.h"

#include <math.h>

#include "collective/route_kinds.h"

/* Bytes that a channel of NCCL's Simple protocol sends at a time: one of the 8 slots of its buffer
 * of 4 MiB. Source: NVIDIA/nccl, NCCL_STEPS and DEFAULT_BUFFSIZE. */
static const double CHUNK_B = 512.0 * 1024;

/* Number of chunks of a collective: bytes per channel, in slots of NCCL's buffer. */
int ms_steps_of_chunks(const ms_platform *platform, double size_B) {
    const ms_library *library = platform->library;
    double channels =
        library == NULL ? 1.0 : library->generations[platform->gpu.generation].channels;
    return (int)fmin(MS_STEPS_MAX, fmax(1.0, ceil(size_B / channels / CHUNK_B)));
}

/* Visit the messages of a step (ms_message_set.visit). source: an ms_step_messages. */
static void visit(const void *source, ms_message_visit *each, void *context) {
    const ms_step_messages *all = source;
    for (int i = 0; i < all->count; i++) {
        each(context, &all->messages[i]);
    }
}

/* Give a plan `steps` phases that are all copies of `step` and share its flows. */
static ms_status fill_phases(const ms_phase *step, int steps, ms_arena *arena, ms_coll_plan *plan) {
    plan->phases = MS_NEW(arena, ms_phase, steps);
    plan->phase_count = plan->phases == NULL ? 0 : steps;
    for (int s = 0; s < plan->phase_count; s++) {
        plan->phases[s] = *step;
    }
    return plan->phases == NULL ? MS_E_NOMEM : MS_OK;
}

/* Plan messages in `steps` equal phases: folds a `steps`-th part of them into flows once, and
 * repeats this phase. */
ms_status ms_steps_repeat(const ms_platform *platform, const ms_step_messages *messages, int steps,
                          double latency_s, ms_arena *arena, ms_coll_plan *plan) {
    ms_message_set set = {.platform = platform, .visit = visit, .source = messages};
    for (int family = 0; family < MS_FAMILY_COUNT; family++) {
        set.message_B[family] = messages->message_B[family] / steps;
        set.slowness[family] = messages->slowness[family];
    }
    ms_phase step = {.latency_s = 0.0};
    ms_status status = ms_route_kinds_fold(&set, false, arena, &step, &plan->tier);
    step.latency_s = latency_s / steps;
    return status == MS_OK ? fill_phases(&step, steps, arena, plan) : status;
}

/* Split the one phase of a plan into `steps` equal phases over the same flows. */
ms_status ms_steps_split(int steps, ms_arena *arena, ms_coll_plan *plan) {
    ms_phase step = plan->phases[0];
    step.latency_s /= steps;
    for (int f = 0; f < step.count; f++) {
        step.flows[f].bytes /= steps;
    }
    return fill_phases(&step, steps, arena, plan);
}

/* Plan the routes collected, in the fidelity asked for. Fidelity `flow`: one phase. Fidelity
 * `step`: all messages in every phase, or, if coarse, the one flow in every phase. */
ms_status ms_steps_plan(ms_crossings *crossings, double crossing_B, double latency_s, int steps,
                        ms_arena *arena, ms_coll_plan *plan) {
    if (!crossings->is_stepped || crossings->is_coarse) {
        ms_status status = ms_crossings_plan(crossings, crossing_B, latency_s, arena, plan);
        bool is_split = status == MS_OK && crossings->is_stepped;
        return is_split ? ms_steps_split(steps, arena, plan) : status;
    }
    if (crossings->messages.failed) {
        return MS_E_NOMEM;
    }
    const ms_step_messages messages = {.messages = crossings->messages.data,
                                       .count = (int)crossings->messages.count,
                                       .message_B = {crossing_B},
                                       .slowness = {crossings->slowness}};
    return ms_steps_repeat(crossings->platform, &messages, steps, latency_s, arena, plan);
}
