/* From Megatron-LM's arguments to keys of a workload: what its parts share, and their order. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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
    ms_vector_init(&job->settings, sizeof(ms_megatron_setting));
}

void ms_megatron_job_release(ms_megatron_job *job) {
    ms_vector_release(&job->settings);
}

/* ---- arguments ---- */

static ms_megatron_argument *item(ms_megatron_run *run, size_t i) {
    return &MS_AT(&run->arguments->items, ms_megatron_argument, i);
}

/* The last argument of a name counts. */
static ms_megatron_argument *find(ms_megatron_run *run, const char *name) {
    for (size_t i = run->arguments->items.count; i-- > 0;) {
        if (strcmp(item(run, i)->name, name) == 0) {
            return item(run, i);
        }
    }
    return NULL;
}

ms_megatron_argument *ms_megatron_get(ms_megatron_run *run, const char *name) {
    ms_megatron_argument *argument = find(run, name);
    if (argument != NULL && argument->use == MS_MEGATRON_IGNORED && argument->why == NULL) {
        argument->use = MS_MEGATRON_USED;
    }
    return argument;
}

bool ms_megatron_given(ms_megatron_run *run, const char *name) {
    return ms_megatron_get(run, name) != NULL;
}

const char *ms_megatron_value(ms_megatron_run *run, const char *name) {
    const ms_megatron_argument *argument = ms_megatron_get(run, name);
    return argument == NULL ? NULL : argument->value;
}

bool ms_megatron_says(ms_megatron_run *run, const char *name, const char *value) {
    const char *given = ms_megatron_value(run, name);
    return given != NULL && strcmp(given, value) == 0;
}

bool ms_megatron_lists(ms_megatron_run *run, const char *name, const char *value) {
    const char *given = ms_megatron_value(run, name);
    size_t length = strlen(value);
    while (given != NULL && *given != '\0') {
        size_t word = strcspn(given, " ");
        if (word == length && strncmp(given, value, length) == 0) {
            return true;
        }
        given += word;
        given += *given == ' ';
    }
    return false;
}

static void note(ms_megatron_run *run, ms_status status) {
    run->status = run->status == MS_OK ? status : run->status;
}

void ms_megatron_fault(ms_megatron_run *run, const char *name, const char *format, ...) {
    char message[512];
    const ms_megatron_argument *argument = name == NULL ? NULL : ms_megatron_get(run, name);
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    ms_diag_at(run->diag, argument == NULL ? NULL : &argument->mark, name, "%s", message);
    note(run, MS_E_INPUT);
}

int ms_megatron_count(ms_megatron_run *run, const char *name, int least, int fallback) {
    const char *value = ms_megatron_value(run, name);
    if (value == NULL) {
        return fallback;
    }
    char *end = NULL;
    errno = 0;
    long number = strtol(value, &end, 10);
    bool is_count = value[0] >= '0' && value[0] <= '9' && *end == '\0' && errno == 0;
    if (!is_count || number < least || number > 1000000000) {
        bool is_open = strchr(value, '$') != NULL || strchr(value, '`') != NULL;
        ms_megatron_fault(run, name, "expected a count of %d or more, got '%s'%s", least, value,
                          is_open ? ", which the file does not set; nothing is run" : "");
        return fallback;
    }
    return (int)number;
}

double ms_megatron_number(ms_megatron_run *run, const char *name, double fallback) {
    const char *value = ms_megatron_value(run, name);
    if (value == NULL) {
        return fallback;
    }
    char *end = NULL;
    double number = strtod(value, &end);
    if (end == value || *end != '\0' || !(number >= 0) || isinf(number)) {
        ms_megatron_fault(run, name, "expected a number of 0 or more, got '%s'", value);
        return fallback;
    }
    return number;
}

void ms_megatron_differs(ms_megatron_run *run, const char *name, const char *why) {
    ms_megatron_argument *argument = ms_megatron_get(run, name);
    if (argument != NULL) {
        argument->use = MS_MEGATRON_DIFFERENT;
        argument->why = why;
    }
}

/* ---- settings ---- */

/* The argument that a list of names goes on with; *names: behind its name. */
static ms_megatron_argument *next_of(ms_megatron_run *run, const char **names) {
    const char *name = *names;
    bool is_launcher = strncmp(name, MS_MEGATRON_LAUNCHER, 9) == 0;
    size_t length = (is_launcher ? 9 : 0) + strcspn(name + (is_launcher ? 9 : 0), " ");
    *names += length + (name[length] == ' ');
    for (size_t i = run->arguments->items.count; i-- > 0;) {
        ms_megatron_argument *argument = item(run, i);
        if (strlen(argument->name) == length && strncmp(argument->name, name, length) == 0) {
            return argument;
        }
    }
    return NULL;
}

/* Add a key to those that arguments give.  Returns where the first of them stands. */
static ms_mark add_key(ms_megatron_run *run, const char *names, const char *key) {
    ms_mark mark = {.file = NULL};
    while (*names != '\0') {
        ms_megatron_argument *argument = next_of(run, &names);
        if (argument != NULL && argument->use == MS_MEGATRON_USED) {
            argument->why = argument->why == NULL
                                ? key
                                : ms_arena_printf(run->arena, "%s, %s", argument->why, key);
        }
        if (argument != NULL && mark.file == NULL) {
            mark = argument->mark;
        }
    }
    return mark;
}

static void add_setting(ms_megatron_run *run, ms_megatron_setting setting) {
    if (setting.value != NULL) {
        setting.set = ms_arena_printf(run->arena, "%s=%s", setting.key, setting.value);
    }
    bool has_all = setting.value == NULL || setting.set != NULL;
    if (!has_all || ms_vector_add(&run->job->settings, &setting, 1) == NULL) {
        note(run, ms_diag_no_memory(run->diag));
    }
}

void ms_megatron_set(ms_megatron_run *run, const char *key, const char *from, const char *format,
                     ...) {
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    char *value = MS_NEW(run->arena, char, length + 1);
    if (value == NULL) {
        note(run, ms_diag_no_memory(run->diag));
    } else {
        vsnprintf(value, (size_t)length + 1, format, again);
        add_setting(run,
                    (ms_megatron_setting){
                        .key = key, .value = value, .from = from, .mark = add_key(run, from, key)});
    }
    va_end(again);
    va_end(args);
}

void ms_megatron_set_bool(ms_megatron_run *run, const char *key, const char *from, bool value) {
    ms_megatron_set(run, key, from, "%s", value ? "true" : "false");
}

void ms_megatron_require(ms_megatron_run *run, const char *key, const char *what) {
    add_setting(run, (ms_megatron_setting){.key = key, .from = what});
}

/* ---- what is known of each ---- */

/* Tell of each argument what it can be at most; what a part of the translation asks for is used. */
static void classify(ms_megatron_run *run) {
    for (size_t i = 0; i < run->arguments->items.count; i++) {
        ms_megatron_argument *argument = item(run, i);
        ms_megatron_flag flag;
        argument->use = MS_MEGATRON_UNKNOWN;
        argument->why = NULL;
        bool is_env = strncmp(argument->name, MS_MEGATRON_ENV, 4) == 0;
        bool is_launcher = strncmp(argument->name, MS_MEGATRON_LAUNCHER, 9) == 0;
        if (is_env) {
            argument->use = MS_MEGATRON_IGNORED;
            argument->why = "kernels, libraries and their algorithms are the profile's and the "
                            "platform's";
        } else if (is_launcher) {
            argument->use = MS_MEGATRON_IGNORED;
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
        ms_megatron_argument *argument = item(run, i);
        if (argument->use != MS_MEGATRON_UNKNOWN && find(run, argument->name) != argument) {
            argument->use = MS_MEGATRON_IGNORED;
            argument->why = "it is given again behind";
        }
    }
}

/* What nobody asked for, or what says what holds without it. */
static void close_uses(ms_megatron_run *run) {
    for (size_t i = 0; i < run->arguments->items.count; i++) {
        ms_megatron_argument *argument = item(run, i);
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

/* ---- all ---- */

static const char *choose_framework(ms_megatron_run *run) {
    if (run->facts->framework != NULL) {
        return run->facts->framework;
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
        ms_megatron_set_model,    ms_megatron_set_experts, ms_megatron_set_mesh,
        ms_megatron_set_schedule, ms_megatron_set_batch,   ms_megatron_set_precision,
        ms_megatron_set_data,     ms_megatron_set_memory,  ms_megatron_set_recompute,
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
