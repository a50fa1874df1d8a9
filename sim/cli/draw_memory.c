/* A workload's memory by pipeline rank. */
#include "cli/draw.h"
#include "meshsim/bars.h"

static const char *const PARTS[] = {"parameters",  "gradients", "optimizer state",
                                    "activations", "buffers",   "other"};

/* As on the page of a trace (page.css): of Okabe and Ito's colours, and grey for the rest. */
static const char *const COLOURS[] = {"#0072b2", "#e69f00", "#009e73",
                                      "#56b4e9", "#cc79a7", "#999999"};

enum { PART_COUNT = sizeof PARTS / sizeof PARTS[0] };

static void take_parts(const ms_held_memory *held, double *parts_out) {
    const double parts[PART_COUNT] = {held->parameter_B,  held->gradient_B, held->optimizer_B,
                                      held->activation_B, held->buffer_B,   held->other_B};
    for (int i = 0; i < PART_COUNT; i++) {
        parts_out[i] = parts[i];
    }
}

void ms_draw_memory(const ms_estimate *estimate, int pipeline_ranks, const char *name,
                    ms_arena *arena, ms_buffer *out) {
    size_t count = (size_t)pipeline_ranks;
    const char **names = MS_NEW(arena, const char *, count);
    double *values = MS_NEW(arena, double, count *PART_COUNT);
    for (int p = 0; p < pipeline_ranks && names != NULL && values != NULL; p++) {
        names[p] = ms_arena_printf(arena, "%d", p);
        take_parts(&estimate->ranks[p].held, &values[p * PART_COUNT]);
    }
    if (arena->has_failed) {
        return;
    }
    const ms_bars bars = {.title = ms_arena_printf(arena, "%s: memory at its peak", name),
                          .x_label = "pipeline rank",
                          .y_label = "memory of a GPU",
                          .names = names,
                          .count = count,
                          .parts = PARTS,
                          .colours = COLOURS,
                          .part_count = PART_COUNT,
                          .values = values,
                          .dim = MS_DIM_BYTES,
                          .limit = estimate->capacity_B,
                          .limit_name = "capacity",
                          .over_note = "does not fit"};
    if (!arena->has_failed) {
        ms_bars_write(&bars, out);
    }
}
