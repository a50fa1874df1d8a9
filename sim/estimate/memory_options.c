/* Each option is the job's layout with one change, laid out again; memory follows from the order of
 * passes. */
#include "meshsim/memory_options.h"

#include <math.h>
#include <stdlib.h>

#include "meshsim/estimate.h"

/* A change: makes the layout that has it, or says that there is nothing to change. */
typedef struct change {
    const char *setting; /* with %d for the number it sets, if any */
    const char *note;
    bool (*apply)(const ms_memory_options_input *in, ms_model_layout *layout, int *number_out);
} change;

static bool full_recompute(const ms_memory_options_input *in, ms_model_layout *layout,
                           int *number_out) {
    *number_out = 0;
    layout->recompute = MS_RECOMPUTE_FULL;
    layout->recompute_layers = 0;
    return in->layout->recompute != MS_RECOMPUTE_FULL || in->layout->recompute_layers > 0;
}

static bool selective_recompute(const ms_memory_options_input *in, ms_model_layout *layout,
                                int *number_out) {
    *number_out = 0;
    layout->recompute = MS_RECOMPUTE_SELECTIVE;
    return in->layout->recompute == MS_RECOMPUTE_NONE;
}

static bool recompute_parts(const ms_memory_options_input *in, ms_model_layout *layout,
                            int *number_out) {
    *number_out = 0;
    layout->recompute_parts |= MS_RECOMPUTE_NORMS | MS_RECOMPUTE_ACTIVATIONS;
    return layout->recompute_parts != in->layout->recompute_parts;
}

static bool sequence_parallel(const ms_memory_options_input *in, ms_model_layout *layout,
                              int *number_out) {
    *number_out = 0;
    layout->has_sequence_parallel = true;
    layout->has_scatter_gather = false;
    return in->layout->tp > 1 && !in->layout->has_sequence_parallel;
}

static bool more_zero(const ms_memory_options_input *in, ms_model_layout *layout, int *number_out,
                      int zero) {
    *number_out = zero;
    layout->zero = zero;
    layout->reduce = zero >= 2 ? MS_REDUCE_EVERY : MS_REDUCE_LAST;
    int replicas = in->layout->dp * in->layout->cp * in->layout->ep * in->layout->other;
    return replicas > 1 && in->layout->zero < zero;
}

static bool zero_1(const ms_memory_options_input *in, ms_model_layout *layout, int *number_out) {
    return more_zero(in, layout, number_out, 1);
}

static bool zero_2(const ms_memory_options_input *in, ms_model_layout *layout, int *number_out) {
    return more_zero(in, layout, number_out, 2);
}

static bool zero_3(const ms_memory_options_input *in, ms_model_layout *layout, int *number_out) {
    /* the places of a schedule file, which lower stages have no use for */
    layout->has_placed_unshards = in->program->shard_moves != NULL;
    return more_zero(in, layout, number_out, 3);
}

static bool reduces_more(const ms_memory_options_input *in, ms_model_layout *layout,
                         ms_reduce reduce) {
    layout->reduce = reduce;
    return in->layout->zero >= 2 && in->layout->reduce != reduce;
}

static bool reduce_every(const ms_memory_options_input *in, ms_model_layout *layout,
                         int *number_out) {
    *number_out = 0;
    return reduces_more(in, layout, MS_REDUCE_EVERY);
}

static bool reduce_round(const ms_memory_options_input *in, ms_model_layout *layout,
                         int *number_out) {
    *number_out = 0;
    return reduces_more(in, layout, MS_REDUCE_ROUND) && in->program->round > 0;
}

static bool smaller_microbatch(const ms_memory_options_input *in, ms_model_layout *layout,
                               int *number_out) {
    *number_out = in->layout->micro_batch / 2;
    layout->micro_batch = *number_out;
    return in->layout->micro_batch % 2 == 0;
}

static bool more_context(const ms_memory_options_input *in, ms_model_layout *layout,
                         int *number_out) {
    *number_out = in->layout->cp * 2;
    layout->cp = *number_out;
    layout->dp = in->layout->dp / 2;
    return in->layout->dp % 2 == 0;
}

static bool offload(const ms_memory_options_input *in, ms_model_layout *layout, int *number_out) {
    *number_out = 0;
    layout->is_offloaded = true;
    return !in->layout->is_offloaded;
}

static const change CHANGES[] = {
    {"recompute=selective", "repeats the attention core", selective_recompute},
    {"recompute=full", "repeats every forward pass", full_recompute},
    {"recompute_parts=[norms, activations]", "repeats what takes little time", recompute_parts},
    {"tensor_parallel.sequence=true", "gathers and scatters in place of all-reduces",
     sequence_parallel},
    {"data_parallel.zero=%d", "gathers parameters once a step", zero_1},
    {"data_parallel.zero=%d, reduce=every", "reduces gradients every microbatch", zero_2},
    {"data_parallel.zero=%d, reduce=every", "gathers parameters before every pass", zero_3},
    {"data_parallel.reduce=every", "reduces gradients every microbatch", reduce_every},
    {"data_parallel.reduce=round", "reduces gradients every round of microbatches", reduce_round},
    {"batch.micro=%d", "smaller products, more microbatches", smaller_microbatch},
    {"mesh.cp=%d, half the dp", "exchanges keys and values", more_context},
    {"data_parallel.offload=true", "moves gradients and parameters over the host link", offload},
};

/* Highest peak with a layout; INFINITY if the model cannot take it.  MS_E_NOMEM. */
static ms_status peak_with(const ms_memory_options_input *in, const ms_model_layout *layout,
                           double *peak_B_out) {
    ms_arena scratch;
    ms_diag silent;
    ms_arena_init(&scratch);
    ms_diag_init_mute(&silent);
    ms_stage_costs costs;
    ms_status status = ms_model_costs(in->model, layout, in->precision, &in->platform->gpu,
                                      &scratch, &silent, &costs);
    *peak_B_out = INFINITY;
    if (status == MS_OK) {
        status = ms_estimate_peak_B(in->program, &costs, &scratch, peak_B_out);
    }
    status = status == MS_E_NOMEM || scratch.has_failed ? MS_E_NOMEM : MS_OK;
    ms_arena_release(&scratch);
    return status;
}

static int by_saving(const void *a, const void *b) {
    double x = ((const ms_memory_option *)a)->saved_B;
    double y = ((const ms_memory_option *)b)->saved_B;
    return (x < y) - (x > y);
}

ms_status ms_memory_options_find(const ms_memory_options_input *in, ms_arena *arena,
                                 ms_memory_option *options_out, int *count_out) {
    double capacity_B = in->platform->gpu.hbm_B - in->platform->gpu.reserve_B;
    double today_B = 0.0;
    ms_status status = ms_estimate_peak_B(in->program, in->costs, arena, &today_B);
    if (status != MS_OK) {
        return status;
    }
    int count = 0;
    for (size_t i = 0; in->model != NULL && i < sizeof CHANGES / sizeof CHANGES[0]; i++) {
        ms_model_layout layout = *in->layout;
        int number = 0;
        double peak_B = INFINITY;
        if (CHANGES[i].apply(in, &layout, &number) &&
            peak_with(in, &layout, &peak_B) == MS_E_NOMEM) {
            return MS_E_NOMEM;
        }
        if (!(peak_B < today_B)) {
            continue;
        }
        ms_memory_option *option = &options_out[count++];
        *option = (ms_memory_option){.note = CHANGES[i].note,
                                     .peak_B = peak_B,
                                     .saved_B = today_B - peak_B,
                                     .fits = peak_B <= capacity_B};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        option->setting = ms_arena_printf(arena, CHANGES[i].setting, number);
#pragma GCC diagnostic pop
        if (option->setting == NULL) {
            return MS_E_NOMEM;
        }
    }
    qsort(options_out, (size_t)count, sizeof *options_out, by_saving);
    *count_out = count;
    return MS_OK;
}
