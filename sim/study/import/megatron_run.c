/* What the parts of a translation share: arguments asked for, and keys set. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/import/megatron_parts.h"

/* ---- arguments ---- */

ms_megatron_argument *ms_megatron_find(ms_megatron_run *run, const char *name) {
    for (size_t i = run->arguments->items.count; i-- > 0;) {
        if (ms_megatron_is_called(ms_megatron_item(run, i)->name, name)) {
            return ms_megatron_item(run, i);
        }
    }
    return NULL;
}

ms_megatron_argument *ms_megatron_get(ms_megatron_run *run, const char *name) {
    ms_megatron_argument *argument = ms_megatron_find(run, name);
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

/* Tell of a value that is no count; of a variable how to say it. */
static void fault_count(ms_megatron_run *run, const char *name, int least, const char *value) {
    bool is_open = strchr(value, '$') != NULL || strchr(value, '`') != NULL;
    const char *variable = value + (value[0] == '$') + (strncmp(value, "${", 2) == 0);
    int length = (int)strspn(variable, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                       "0123456789_");
    bool is_name = value[0] == '$' && length > 0 && strchr("}", variable[length]) != NULL;
    if (is_open && is_name) {
        ms_megatron_fault(run, name,
                          "expected a count of %d or more, got '%s', which the file does not set: "
                          "--define %.*s=VALUE",
                          least, value, length, variable);
    } else {
        ms_megatron_fault(run, name, "expected a count of %d or more, got '%s'%s", least, value,
                          is_open ? ", which the file does not set; nothing is run" : "");
    }
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
        fault_count(run, name, least, value);
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
    static const char *const PREFIXES[] = {MS_MEGATRON_LAUNCHER, MS_MEGATRON_ENV};
    const char *name = *names;
    size_t prefix = 0;
    for (size_t i = 0; i < sizeof PREFIXES / sizeof PREFIXES[0]; i++) {
        size_t length = strlen(PREFIXES[i]);
        prefix = strncmp(name, PREFIXES[i], length) == 0 ? length : prefix;
    }
    size_t length = prefix + strcspn(name + prefix, " ");
    *names += length + (name[length] == ' ');
    const char *own = ms_arena_strndup(run->arena, name, length);
    return own == NULL ? NULL : ms_megatron_find(run, own);
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

/* Keys that no argument of Megatron-DeepSpeed says: its code and DeepSpeed's engine do, and so its
 * profile. */
static bool is_profiles(const ms_megatron_run *run, const char *key) {
    static const char *const KEYS[] = {"model.fused_accumulation",
                                       "model.separate_dropout",
                                       "data_parallel.overlap_reduce",
                                       "data_parallel.overlap_gather",
                                       "precision.gradients",
                                       "memory.libraries",
                                       "memory.buffers"};
    bool is_one = false;
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0] && run->has_zero; i++) {
        is_one = is_one || strcmp(KEYS[i], key) == 0;
    }
    return is_one;
}

static void add_setting(ms_megatron_run *run, ms_megatron_setting setting) {
    if (is_profiles(run, setting.key)) {
        return;
    }
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

/* The value that an argument gives its key; NULL: none. */
static const char *value_of_pair(ms_megatron_run *run, const ms_megatron_pair *pair) {
    if (pair->given != NULL) {
        return ms_megatron_given(run, pair->flag) ? pair->given : pair->otherwise;
    }
    int count = ms_megatron_count(run, pair->flag, pair->least, -1);
    return count < 0 ? pair->otherwise : ms_arena_printf(run->arena, "%d", count);
}

void ms_megatron_set_pairs(ms_megatron_run *run, const ms_megatron_pair *pairs) {
    for (; pairs->flag != NULL; pairs++) {
        const char *value = value_of_pair(run, pairs);
        if (value != NULL) {
            const char *from = pairs->beside == NULL ? pairs->flag
                                                     : ms_arena_printf(run->arena, "%s %s",
                                                                       pairs->flag, pairs->beside);
            ms_megatron_set(run, pairs->key, from == NULL ? pairs->flag : from, "%s", value);
        }
    }
}

void ms_megatron_require(ms_megatron_run *run, const char *key, const char *what) {
    add_setting(run, (ms_megatron_setting){.key = key, .from = what});
}

ms_status ms_megatron_fault_letter(const ms_megatron_letter *letter, const char *expected,
                                   ms_diag *diag) {
    char got[16] = "the end";
    if (*letter->at != '\0') {
        bool is_plain = *letter->at >= ' ' && *letter->at <= '~';
        snprintf(got, sizeof got, "'%c'", is_plain ? *letter->at : '?');
    }
    ms_diag_at(diag, letter->mark, letter->flag, "expected %s at character %zu of '%s', got %s",
               expected, (size_t)(letter->at - letter->text) + 1, letter->text, got);
    return MS_E_INPUT;
}
