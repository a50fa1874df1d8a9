/* Lists the changes that save memory of a job (memory_options.h). Each option is a trial: the job
 * with one change, read and laid out again. A change that saves no memory is left out, such as one
 * that the job has already. */
#include "estimate/memory_options.h"

#include <stdlib.h>

#include "estimate/trial.h"

/* A change that may save memory: one of add, zero and reduce is set. */
typedef struct change {
    const char *note;                                    /* its cost in words */
    void (*add)(ms_trials *trials, ms_trial_sets *sets); /* appends the overrides, or none where the
                                                            change has no meaning for the job */
    int zero;           /* the stage of ZeRO to which the job is raised */
    const char *reduce; /* the value of data_parallel.reduce, for a job with ZeRO 2 or 3 */
} change;

/* Recompute all layers; in a job that recomputes some of them, also the rest. */
static void full_recompute(ms_trials *trials, ms_trial_sets *sets) {
    ms_trial_add(trials, sets, "recompute=full");
    if (trials->spec->choices.recompute_layers > 0) {
        ms_trial_add(trials, sets, "recompute_layers=0");
    }
}

/* Recompute the attention core, in a job that recomputes nothing. */
static void selective_recompute(ms_trials *trials, ms_trial_sets *sets) {
    if (trials->spec->choices.recompute == MS_RECOMPUTE_NONE) {
        ms_trial_add(trials, sets, "recompute=selective");
    }
}

/* Recompute norms and activation functions, beside the parts that the job recomputes already. */
static void recompute_parts(ms_trials *trials, ms_trial_sets *sets) {
    const unsigned parts = trials->spec->choices.recompute_parts;
    ms_trial_add(trials, sets, "recompute_parts=[norms,activations%s%s]",
                 parts & MS_RECOMPUTE_LATENT_UP ? ",latent_up" : "",
                 parts & MS_RECOMPUTE_PRODUCTS ? ",products" : "");
}

/* Raise the job to a stage of ZeRO. From stage 2 on gradients are sharded, which saves memory if
 * they are reduced every microbatch. */
static void raise_zero(ms_trials *trials, ms_trial_sets *sets, int zero) {
    if (trials->spec->choices.zero >= zero) {
        return;
    }
    ms_trial_add(trials, sets, "data_parallel.zero=%d", zero);
    if (zero >= 2) {
        ms_trial_add(trials, sets, "data_parallel.reduce=every");
    }
}

/* Halve the microbatch; a given number of microbatches is doubled, so that the batch stays. */
static void smaller_microbatch(ms_trials *trials, ms_trial_sets *sets) {
    const ms_spec_batch *batch = &trials->spec->batch;
    if (batch->micro % 2 != 0) {
        return;
    }
    ms_trial_add(trials, sets, "batch.micro=%d", batch->micro / 2);
    if (batch->microbatches > 0) {
        ms_trial_add(trials, sets, "batch.microbatches=%d", batch->microbatches * 2);
    }
}

/* Double cp and halve dp, with twice as many microbatches per replica. */
static void more_context(ms_trials *trials, ms_trial_sets *sets) {
    ms_axis_sizes sizes = ms_trial_axes(trials->spec);
    if (sizes.dp % 2 != 0) {
        return;
    }
    sizes.cp *= 2;
    sizes.dp /= 2;
    ms_trial_add_axes(trials, &sizes, sets);
    if (trials->spec->batch.microbatches > 0) {
        ms_trial_add(trials, sets, "batch.microbatches=%d", trials->spec->batch.microbatches * 2);
    }
}

/* Keep the optimizer's state in the memory of the host. */
static void offload(ms_trials *trials, ms_trial_sets *sets) {
    ms_trial_add(trials, sets, "data_parallel.offload=true");
}

/* All changes, each tried on its own; as many as MS_MEMORY_OPTIONS_MAX. */
static const change CHANGES[] = {
    {"repeats the attention core", .add = selective_recompute},
    {"repeats every forward pass", .add = full_recompute},
    {"repeats what takes little time", .add = recompute_parts},
    {"gathers and scatters in place of all-reduces", .add = ms_trial_add_sequence_parallel},
    {"gathers parameters once a step", .zero = 1},
    {"reduces gradients every microbatch", .zero = 2},
    {"gathers parameters before every pass", .zero = 3},
    {"reduces gradients every microbatch", .reduce = "every"},
    {"reduces gradients every round of microbatches", .reduce = "round"},
    {"smaller products, more microbatches", .add = smaller_microbatch},
    {"exchanges keys and values", .add = more_context},
    {"moves gradients and parameters over the host link", .add = offload},
};

/* Comparison for qsort: largest saving first. */
static int by_saving(const void *a, const void *b) {
    double x = ((const ms_memory_option *)a)->saved_B;
    double y = ((const ms_memory_option *)b)->saved_B;
    return (x < y) - (x > y);
}

/* Try all changes of a job and list those that save memory, in the order of CHANGES.  today_B:
 * highest peak of the job as it is.  options_out: [MS_MEMORY_OPTIONS_MAX].  *count_out: options
 * listed. */
static ms_status try_changes(ms_trials *trials, double today_B, ms_arena *arena,
                             ms_memory_option *options_out, int *count_out) {
    int count = 0;
    for (size_t i = 0; i < sizeof CHANGES / sizeof CHANGES[0]; i++) {
        ms_trial_sets sets = {.count = 0};
        ms_memory_option option = {.note = CHANGES[i].note};
        if (CHANGES[i].add != NULL) {
            CHANGES[i].add(trials, &sets);
        } else if (CHANGES[i].zero > 0) {
            raise_zero(trials, &sets, CHANGES[i].zero);
        } else if (trials->spec->choices.zero >= 2) {
            ms_trial_add(trials, &sets, "data_parallel.reduce=%s", CHANGES[i].reduce);
        }
        if (sets.count == 0) {
            continue;
        }
        ms_status status = ms_trial_fit(trials, &sets, &option.peak_B, &option.fits);
        if (ms_trial_is_refused(status) || (status == MS_OK && option.peak_B >= today_B)) {
            continue;
        }
        status = status == MS_OK ? ms_trial_keep(&sets, arena, &option.sets) : status;
        if (status != MS_OK) {
            return status;
        }
        option.saved_B = today_B - option.peak_B;
        options_out[count++] = option;
    }
    *count_out = count;
    return MS_OK;
}

/* Each change is estimated by itself against the memory of today. The changes that save memory are
 * sorted by how much they save. */
ms_status ms_memory_options_find(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag,
                                 ms_memory_option *options_out, int *count_out) {
    ms_trials trials;
    double today_B = 0.0;
    bool fits = false;
    if (!spec->has_model) {
        *count_out = 0;
        return MS_OK;
    }
    ms_status status = ms_trials_init(&trials, spec);
    if (status == MS_OK) {
        status = ms_estimator_fit(trials.estimator, spec, diag, &today_B, &fits);
    }
    status =
        status == MS_OK ? try_changes(&trials, today_B, arena, options_out, count_out) : status;
    ms_trials_release(&trials);
    if (status == MS_OK) {
        qsort(options_out, (size_t)*count_out, sizeof *options_out, by_saving);
    }
    return status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
}
