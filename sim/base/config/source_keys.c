/* The list of a foreign file's keys and how the import treated them (source_keys.h). */
#include "base/config/source_keys.h"

static const char *const NAMES[] = {[MS_SOURCE_USED] = "used",
                                    [MS_SOURCE_ASSUMED] = "assumed",
                                    [MS_SOURCE_IGNORED] = "ignored",
                                    [MS_SOURCE_UNKNOWN] = "unknown"};

const char *ms_source_fate_name(ms_source_fate fate) {
    return NAMES[fate];
}

ms_status ms_source_keys_add(ms_source_keys *keys, const ms_source_key *key, ms_arena *arena) {
    if (keys == NULL) {
        return MS_OK;
    }
    ms_source_key *copy = MS_NEW(arena, ms_source_key, 1);
    if (copy == NULL) {
        return MS_E_NOMEM;
    }
    *copy = *key;
    copy->next = NULL;
    if (keys->last == NULL) {
        keys->first = copy;
    } else {
        keys->last->next = copy;
    }
    keys->last = copy;
    keys->count++;
    return MS_OK;
}
