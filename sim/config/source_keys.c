/* Keys of foreign files and what became of them. */
#include "meshsim/source_keys.h"

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

size_t ms_source_keys_count(const ms_source_keys *keys, ms_source_fate fate) {
    size_t count = 0;
    for (const ms_source_key *key = keys->first; key != NULL; key = key->next) {
        count += key->fate == fate;
    }
    return count;
}

void ms_source_keys_tell(const ms_source_keys *keys, ms_diag *diag) {
    for (const ms_source_key *key = keys->first; key != NULL; key = key->next) {
        ms_diag_note(diag, &key->mark, key->key, "%s%s%s%s%s", NAMES[key->fate],
                     key->fate == MS_SOURCE_ASSUMED ? ": " : "",
                     key->fate == MS_SOURCE_ASSUMED && key->value != NULL ? key->value : "",
                     key->why == NULL                 ? ""
                     : key->fate == MS_SOURCE_USED    ? " for "
                     : key->fate == MS_SOURCE_ASSUMED ? ", "
                                                      : ": ",
                     key->why == NULL ? "" : key->why);
    }
}
