/* From Megatron-LM's arguments to keys of a workload: what becomes of each, and the parts of a
 * translation in their order. */
#include <string.h>

#include "meshsim/spec.h"
#include "study/import/megatron_parts.h"

/* Software that is taken where nobody says which it was. */
static const char USUAL_FRAMEWORK[] = "megatron-core";
/* Arguments of before sequence parallelism, of 2021 and 2022, and whose they are.
 * Source: Megatron-LM 2.x and 3.0, megatron.arguments (they were renamed later). */
static const char OLD_FRAMEWORK[] = "megatron-lm-2021";
static const char *const OLD_ARGUMENTS[] = {"--checkpoint-activations",
                                            "--activations-checkpoint-method", "--DDP-impl"};

void ms_megatron_job_init(ms_megatron_job *job) {
    job->framework = NULL;
    job->gpus = 0;
    ms_vector_init(&job->settings, sizeof(ms_megatron_setting));
}

void ms_megatron_job_release(ms_megatron_job *job) {
    ms_vector_release(&job->settings);
}

/* ---- what is known of each ---- */

/* With "1" a launch of a kernel waits for its end. Source: CUDA C++ programming guide. */
static const char LAUNCH_BLOCKING[] = MS_MEGATRON_ENV "CUDA_LAUNCH_BLOCKING";

/* Tell of each argument what it can be at most; what a part of the translation asks for is used. */
static void classify(ms_megatron_run *run) {
    for (size_t i = 0; i < run->arguments->items.count; i++) {
        ms_megatron_argument *argument = ms_megatron_item(run, i);
        ms_megatron_flag flag;
        argument->use = MS_MEGATRON_UNKNOWN;
        argument->why = NULL;
        bool is_env = strncmp(argument->name, MS_MEGATRON_ENV, 4) == 0;
        bool is_launcher = strncmp(argument->name, MS_MEGATRON_LAUNCHER, 9) == 0;
        bool is_callers = strcmp(argument->name, "$@") == 0 || strcmp(argument->name, "$*") == 0 ||
                          strncmp(argument->name, "${@", 3) == 0;
        if (is_launcher || strcmp(argument->name, LAUNCH_BLOCKING) == 0) {
            argument->use = MS_MEGATRON_IGNORED;
        } else if (is_env) {
            argument->use = MS_MEGATRON_IGNORED;
            argument->why = "kernels, libraries and their algorithms are the profile's and the "
                            "platform's";
        } else if (is_callers) {
            argument->use = MS_MEGATRON_IGNORED;
            argument->why = "what is added to a script where it is run is not in its file";
        } else if (ms_megatron_find_flag(argument->name, &flag)) {
            argument->use = flag.is_different ? MS_MEGATRON_DIFFERENT : MS_MEGATRON_IGNORED;
            argument->why = flag.why;
        }
    }
}

/* Tell of arguments that are given again. O(n^2), of some hundred at most but for a text that is
 * made for it, of which there is a bound in the reader. */
static void pass_over(ms_megatron_run *run) {
    for (size_t i = 0; i < run->arguments->items.count; i++) {
        ms_megatron_argument *argument = ms_megatron_item(run, i);
        if (argument->use != MS_MEGATRON_UNKNOWN &&
            ms_megatron_find(run, argument->name) != argument) {
            argument->use = MS_MEGATRON_IGNORED;
            argument->why = "it is given again behind";
        }
    }
}

/* What nobody asked for, or what says what holds without it. */
static void close_uses(ms_megatron_run *run) {
    for (size_t i = 0; i < run->arguments->items.count; i++) {
        ms_megatron_argument *argument = ms_megatron_item(run, i);
        if (argument->use == MS_MEGATRON_IGNORED && argument->why == NULL) {
            argument->why = "it changes nothing in this job";
        } else if (argument->use == MS_MEGATRON_DIFFERENT && argument->why == NULL) {
            argument->use = MS_MEGATRON_IGNORED;
            argument->why = "it is simulated so in any case";
        }
    }
}

/* Values that say more than the argument alone. */
static void tell_values(ms_megatron_run *run) {
    static const struct {
        const char *name, *value, *why;
    } VALUES[] = {
        {"--moe-flex-dispatcher-backend", "hybridep", "the dispatcher's buffers hold no memory"},
        {"--moe-flex-dispatcher-backend", "deepep", "tokens go by plain all-to-alls"},
        {"--moe-token-dispatcher-type", "allgather", "tokens go by all-to-alls, not by gathers"},
        {"--position-embedding-type", "none", "queries and keys are rotated"},
        {"--position-embedding-type", "relative", "queries and keys are rotated, without a bias"},
    };
    for (size_t i = 0; i < sizeof VALUES / sizeof VALUES[0]; i++) {
        if (ms_megatron_says(run, VALUES[i].name, VALUES[i].value)) {
            ms_megatron_differs(run, VALUES[i].name, VALUES[i].why);
        }
    }
}

/* What the environment says of the host. */
static void set_host(ms_megatron_run *run) {
    if (ms_megatron_says(run, LAUNCH_BLOCKING, "1")) {
        ms_megatron_set(run, "host.sync", LAUNCH_BLOCKING, "[kernels]");
    }
}

/* ---- all ---- */

/* The fork that trains with DeepSpeed's engine: what that does is its profile's, by the type that
 * it trains in. */
static const char *choose_deepspeed(ms_megatron_run *run) {
    run->has_zero = ms_megatron_given(run, "--deepspeed");
    return !run->has_zero                     ? NULL
           : ms_megatron_given(run, "--fp16") ? "megatron-deepspeed-fp16"
                                              : "megatron-deepspeed";
}

static const char *choose_framework(ms_megatron_run *run) {
    const char *forks = choose_deepspeed(run);
    if (run->facts->framework != NULL || forks != NULL) {
        return run->facts->framework != NULL ? run->facts->framework : forks;
    }
    for (size_t i = 0; i < sizeof OLD_ARGUMENTS / sizeof OLD_ARGUMENTS[0]; i++) {
        if (ms_megatron_given(run, OLD_ARGUMENTS[i])) {
            return OLD_FRAMEWORK;
        }
    }
    return USUAL_FRAMEWORK;
}

/* What of the profile the arguments part: buffers that it has, of which a run has some. */
static ms_status read_framework(ms_megatron_run *run) {
    ms_job_spec spec;
    ms_status status = ms_job_spec_of_framework(run->job->framework, run->facts->data_folder,
                                                run->arena, run->diag, &spec);
    if (status == MS_OK) {
        run->buffers = spec.framework_memory.buffers;
        run->is_old = spec.framework_memory.libraries == MS_LIBRARIES_NONE;
    }
    return status;
}

ms_status ms_megatron_translate(ms_megatron_arguments *arguments, const ms_megatron_facts *facts,
                                ms_arena *arena, ms_diag *diag, ms_megatron_job *job) {
    static void (*const PARTS[])(ms_megatron_run *) = {
        ms_megatron_set_model,     ms_megatron_set_experts,
        ms_megatron_set_mesh,      ms_megatron_set_schedule,
        ms_megatron_set_batch,     ms_megatron_set_precision,
        ms_megatron_set_data,      ms_megatron_set_memory,
        ms_megatron_set_recompute, set_host,
    };
    ms_megatron_run run = {
        .arguments = arguments, .facts = facts, .arena = arena, .diag = diag, .job = job};
    classify(&run);
    pass_over(&run);
    job->framework = choose_framework(&run);
    ms_status status = read_framework(&run);
    if (status != MS_OK) {
        return status;
    }
    for (size_t i = 0; i < sizeof PARTS / sizeof PARTS[0]; i++) {
        PARTS[i](&run);
    }
    tell_values(&run);
    close_uses(&run);
    return run.status;
}
