/* Cases that have their run's arguments: the job is what these say, by the translation that
 * `meshsim import megatron` takes; the row says what they leave open, and where it ran. */
#include <string.h>

#include "meshsim/megatron.h"
#include "study/cases_rules.h"

/* Sizes that stand in a profile's spec for nothing, and what of them none may be. */
static const char *const OPEN_SIZES[] = {"model.kv_heads=null", "model.head_dim=null",
                                         "model.ffn=null"};
static const char NO_EXPERTS[] = "model.moe=null";
static const char OPEN_EXPERTS[] = "model.moe.ffn=null";
static const char SLOW[] = "tensor_parallel.allow_slow=true"; /* what ran, ran */

enum { OWN_SETS = 5 };

/* One row's arguments on their way. */
typedef struct argument_job {
    ms_case_translation *t;
    ms_megatron_arguments arguments;
    ms_megatron_job job;
} argument_job;

static ms_arena *arena_of(const argument_job *a) {
    return a->t->rules->arena;
}

static bool has_experts(const argument_job *a) {
    for (size_t i = 0; i < a->job.settings.count; i++) {
        if (strcmp(MS_AT(&a->job.settings, ms_megatron_setting, i).key, "model.moe.experts") == 0) {
            return true;
        }
    }
    return false;
}

/* The keys as overrides of the profile's spec; without one that is required there is no job. */
static ms_status list_sets(const argument_job *a, ms_words *sets_out) {
    size_t count = a->job.settings.count;
    *sets_out = (ms_words){.items = MS_NEW(arena_of(a), const char *, count + OWN_SETS)};
    bool has_all = sets_out->items != NULL;
    for (size_t i = 0; i < sizeof OPEN_SIZES / sizeof OPEN_SIZES[0] && has_all; i++) {
        sets_out->items[sets_out->count++] = OPEN_SIZES[i];
    }
    if (has_all) {
        sets_out->items[sets_out->count++] = has_experts(a) ? OPEN_EXPERTS : NO_EXPERTS;
        sets_out->items[sets_out->count++] = SLOW;
    }
    for (size_t i = 0; i < count && has_all; i++) {
        const ms_megatron_setting *setting = &MS_AT(&a->job.settings, ms_megatron_setting, i);
        if (setting->value == NULL) {
            return ms_case_refuse(a->t, "%s is not published", setting->key);
        }
        sets_out->items[sets_out->count++] = setting->set;
    }
    return has_all ? MS_OK : ms_diag_no_memory(a->t->rules->diag);
}

/* Tell what is simulated otherwise, and what nobody knows. */
static void tell(const argument_job *a) {
    for (size_t i = 0; i < a->arguments.items.count; i++) {
        const ms_megatron_argument *argument = &MS_AT(&a->arguments.items, ms_megatron_argument, i);
        if (argument->use == MS_MEGATRON_DIFFERENT &&
            !ms_case_says(ms_buffer_text(&a->t->differs), argument->why)) {
            ms_case_differs(a->t, argument->why);
        } else if (argument->use == MS_MEGATRON_UNKNOWN) {
            ms_buffer_printf(&a->t->differs, "%sno rule for %s",
                             a->t->differs.length == 0 ? "" : "; ", argument->name);
        }
    }
}

/* Arguments that contradict each other are a reason for no job, and no fault of the file. */
static ms_status read_arguments(argument_job *a) {
    const ms_case *c = a->t->c;
    ms_buffer reason;
    ms_diag mute;
    const ms_megatron_facts facts = {.framework = a->t->out->framework,
                                     .data_folder = a->t->rules->data_folder,
                                     .gpus = c->gpus,
                                     .vocab = c->model.vocab,
                                     .global_batch = c->schedule.global_batch};
    ms_buffer_init(&reason);
    ms_diag_init_mute(&mute);
    mute.reason = &reason;
    ms_status status = ms_megatron_take(&c->arguments, arena_of(a), &mute, &a->arguments);
    status = status == MS_OK
                 ? ms_megatron_translate(&a->arguments, &facts, arena_of(a), &mute, &a->job)
                 : status;
    if (status == MS_E_INPUT) {
        status = ms_case_refuse(a->t, "args: %s", ms_buffer_text(&reason));
    }
    ms_buffer_release(&reason);
    return status;
}

static ms_status make_spec(const argument_job *a) {
    ms_case_rules *rules = a->t->rules;
    ms_job_spec *spec = &a->t->out->spec;
    ms_words sets;
    ms_buffer reason;
    ms_diag mute;
    ms_status status = list_sets(a, &sets);
    if (status != MS_OK) {
        return status;
    }
    ms_buffer_init(&reason);
    ms_diag_init_mute(&mute);
    mute.reason = &reason;
    status = ms_job_spec_override(spec, &sets, rules->arena, &mute, spec);
    if (status == MS_E_INPUT) {
        status = ms_case_refuse(a->t, "args: %s", ms_buffer_text(&reason));
    }
    ms_buffer_release(&reason);
    return status;
}

ms_status ms_case_translate_arguments(ms_case_translation *t) {
    argument_job a = {.t = t};
    if (t->c->gpus == 0) {
        return ms_case_refuse(t, "num_gpus is not published");
    }
    ms_megatron_arguments_init(&a.arguments);
    ms_megatron_job_init(&a.job);
    ms_status status = read_arguments(&a);
    status = status == MS_OK ? make_spec(&a) : status;
    if (status == MS_OK) {
        t->out->spec.name = t->c->id;
        t->out->spec.description = t->c->source;
        t->out->spec.model.name = t->c->id;
        tell(&a);
    }
    ms_megatron_arguments_release(&a.arguments);
    ms_megatron_job_release(&a.job);
    return status;
}
