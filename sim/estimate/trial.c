/* Trials of overrides (trial.h): makes the texts of overrides, and reads and estimates the job with
 * them. */
#include "estimate/trial.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

ms_status ms_trials_init(ms_trials *trials, const ms_job_spec *spec) {
    *trials = (ms_trials){.spec = spec};
    ms_arena_init(&trials->lists);
    ms_arena_init(&trials->arena);
    ms_diag_init_mute(&trials->mute);
    trials->estimator = ms_estimator_new(&trials->arena);
    return trials->estimator == NULL ? MS_E_NOMEM : MS_OK;
}

void ms_trials_release(ms_trials *trials) {
    ms_estimator_free(trials->estimator);
    ms_arena_release(&trials->arena);
    ms_arena_release(&trials->lists);
}

void ms_trial_add(ms_trials *trials, ms_trial_sets *sets, const char *format, ...) {
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    sets->items[sets->count++] = ms_arena_strdup(&trials->lists, text);
}

void ms_trial_add_sequence_parallel(ms_trials *trials, ms_trial_sets *sets) {
    ms_trial_add(trials, sets, "tensor_parallel.sequence=true");
    if (trials->spec->choices.has_scatter_gather) {
        ms_trial_add(trials, sets, "pipeline.scatter_gather=false");
    }
}

ms_axis_sizes ms_trial_axes(const ms_job_spec *spec) {
    const ms_spec_mesh *mesh = &spec->mesh;
    return (ms_axis_sizes){.tp = ms_spec_axis_size(mesh, "tp"),
                           .pp = ms_spec_axis_size(mesh, "pp"),
                           .cp = ms_spec_axis_size(mesh, "cp"),
                           .ep = spec->experts.ep > 0 ? spec->experts.ep
                                                      : ms_spec_axis_size(mesh, "ep"),
                           .dp = ms_spec_axis_size(mesh, "dp")};
}

/* Axes from outermost to innermost, as frameworks lay them: groups that exchange most are
 * innermost. Source: Megatron-LM, parallel_state.py, the default order tp-cp-ep-dp-pp. */
static const char *const USUAL[] = {"pp", "dp", "ep", "cp", "tp"};
enum { USUAL_COUNT = sizeof USUAL / sizeof USUAL[0] };

/* Index of an axis in USUAL; -1: an axis with a name of its own, which is taken to be outermost. */
static int default_position(const char *name) {
    return ms_word_index(name, USUAL, USUAL_COUNT);
}

/* Insert an axis before the first one that is further inside in the usual order.  names: [*count]
 * with room for one more. */
static void insert_axis(const char **names, int *count, const char *name) {
    int at = 0;
    while (at < *count && default_position(names[at]) < default_position(name)) {
        at++;
    }
    memmove(&names[at + 1], &names[at], (size_t)(*count - at) * sizeof *names);
    names[at] = name;
    (*count)++;
}

/* Append the override of mesh.order if an axis that it lacks now has a size above 1.  sizes:
 * [USUAL_COUNT] of the axes of USUAL. */
static void add_order(ms_trials *trials, const int *sizes, ms_trial_sets *sets) {
    const ms_spec_mesh *mesh = &trials->spec->mesh;
    const char *names[MS_MESH_AXES_MAX + USUAL_COUNT];
    char text[128] = "";
    int count = mesh->axes;
    memcpy(names, mesh->names, (size_t)count * sizeof *names);
    for (int i = 0; i < USUAL_COUNT; i++) {
        if (sizes[i] > 1 && ms_spec_axis(mesh, USUAL[i]) < 0) {
            insert_axis(names, &count, USUAL[i]);
        }
    }
    size_t length = 0;
    for (int i = 0; i < count && count > mesh->axes && length < sizeof text; i++) {
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%s", i == 0 ? "" : ",",
                                   names[i]);
    }
    if (count > mesh->axes) {
        ms_trial_add(trials, sets, "mesh.order=[%s]", text);
    }
}

void ms_trial_add_axes(ms_trials *trials, const ms_axis_sizes *to, ms_trial_sets *sets) {
    const bool has_expert_mesh = trials->spec->experts.ep > 0;
    const ms_axis_sizes from = ms_trial_axes(trials->spec);
    /* an experts' mesh has the ep; then the job's mesh has none, and ep is no part of mesh.order */
    const int before[USUAL_COUNT] = {from.pp, from.dp, from.ep, from.cp, from.tp};
    const int after[USUAL_COUNT] = {to->pp, to->dp, has_expert_mesh ? 1 : to->ep, to->cp, to->tp};
    for (int i = 0; i < USUAL_COUNT; i++) {
        const bool is_experts = has_expert_mesh && strcmp(USUAL[i], "ep") == 0;
        const int size = is_experts ? to->ep : after[i];
        if (size != before[i]) {
            ms_trial_add(trials, sets, "%s.%s=%d", is_experts ? "expert_mesh" : "mesh", USUAL[i],
                         size);
        }
    }
    add_order(trials, after, sets);
}

/* Maximum number of specs before the estimator is replaced. It keeps 0.4 MB for each spec of
 * DeepSeek-V3 (measured), so about 50 MB at most. */
enum { READ_MAX = 128 };

/* Replace the estimator by an empty one, and free the specs that it borrowed from. */
static ms_status renew_estimator(ms_trials *trials) {
    ms_estimator_free(trials->estimator);
    ms_arena_clear(&trials->arena);
    trials->estimator = ms_estimator_new(&trials->arena);
    trials->read = 0;
    return trials->estimator == NULL ? MS_E_NOMEM : MS_OK;
}

ms_status ms_trial_read(ms_trials *trials, const ms_trial_sets *sets, ms_job_spec *spec_out) {
    ms_words words;
    ms_status status = trials->read == READ_MAX ? renew_estimator(trials) : MS_OK;
    trials->read++;
    status = status == MS_OK ? ms_trial_keep(sets, &trials->arena, &words) : status;
    return status == MS_OK ? ms_job_spec_read_again(trials->spec, &words, &trials->arena,
                                                    &trials->mute, spec_out)
                           : status;
}

ms_status ms_trial_fit(ms_trials *trials, const ms_trial_sets *sets, double *peak_B_out,
                       bool *fits_out) {
    ms_job_spec spec;
    ms_status status = ms_trial_read(trials, sets, &spec);
    return status == MS_OK
               ? ms_estimator_fit(trials->estimator, &spec, &trials->mute, peak_B_out, fits_out)
               : status;
}

ms_status ms_trial_keep(const ms_trial_sets *sets, ms_arena *arena, ms_words *words_out) {
    const char **items = MS_NEW(arena, const char *, sets->count + 1);
    for (size_t i = 0; items != NULL && i < sets->count; i++) {
        items[i] = sets->items[i] == NULL ? NULL : ms_arena_strdup(arena, sets->items[i]);
        if (items[i] == NULL) {
            return MS_E_NOMEM;
        }
    }
    *words_out = (ms_words){.items = items, .count = sets->count};
    return items == NULL ? MS_E_NOMEM : MS_OK;
}
