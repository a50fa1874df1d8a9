/* The rules by which cases become jobs: what they hold, and how they tell what they leave. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "study/cases_rules.h"

bool ms_case_says(const char *text, const char *word) {
    return text != NULL && strstr(text, word) != NULL;
}

bool ms_case_mentions(const char *text, const char *word) {
    size_t length = strlen(word);
    for (; text != NULL && *text != '\0'; text++) {
        if (strncasecmp(text, word, length) == 0) {
            return true;
        }
    }
    return false;
}

ms_case_rules *ms_case_rules_new(const char *data_folder, ms_arena *arena, ms_diag *diag) {
    ms_case_rules *rules = MS_NEW(arena, ms_case_rules, 1);
    if (rules == NULL) {
        ms_diag_no_memory(diag);
        return NULL;
    }
    rules->data_folder = data_folder;
    rules->arena = arena;
    rules->diag = diag;
    return rules;
}

static const char PLATFORM_PREFIX[] = "platform.";
enum { PLATFORM_PREFIX_LENGTH = sizeof PLATFORM_PREFIX - 1 };

ms_status ms_case_rules_override(ms_case_rules *rules, const ms_words *sets) {
    rules->platform_sets.items = MS_NEW(rules->arena, const char *, sets->count);
    rules->job_sets.items = MS_NEW(rules->arena, const char *, sets->count);
    if (rules->platform_sets.items == NULL || rules->job_sets.items == NULL) {
        return ms_diag_no_memory(rules->diag);
    }
    for (size_t i = 0; i < sets->count; i++) {
        const char *set = sets->items[i];
        bool is_platforms = strncmp(set, PLATFORM_PREFIX, PLATFORM_PREFIX_LENGTH) == 0;
        ms_words *list = is_platforms ? &rules->platform_sets : &rules->job_sets;
        list->items[list->count++] = is_platforms ? set + PLATFORM_PREFIX_LENGTH : set;
    }
    return MS_OK;
}

void ms_case_differs(ms_case_translation *t, const char *what) {
    ms_buffer_printf(&t->differs, "%s%s", t->differs.length == 0 ? "" : "; ", what);
}

ms_status ms_case_refuse(ms_case_translation *t, const char *format, ...) {
    char why[256];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    t->out->reason = ms_arena_strdup(t->rules->arena, why);
    return t->out->reason == NULL ? ms_diag_no_memory(t->rules->diag) : MS_E_NO;
}
