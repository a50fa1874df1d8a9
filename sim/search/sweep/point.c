/* Points of a sweep (sweep.h): from a point's number to the value of each key and to the job. The
 * number is written in mixed radix with one digit per axis, the last axis running fastest. */
#include "search/sweep.h"

const char *ms_sweep_value(const ms_sweep *sweep, size_t point, size_t key) {
    size_t axis = sweep->keys[key].axis;
    for (size_t inner = sweep->axis_count; --inner > axis;) { /* drop the digits of inner axes */
        point /= sweep->counts[inner];
    }
    return sweep->keys[key].values[point % sweep->counts[axis]];
}

ms_status ms_sweep_settings(const ms_sweep *sweep, size_t point, ms_arena *arena,
                            ms_words *settings_out) {
    size_t count = sweep->key_count + sweep->fixed.count;
    const char **items = MS_NEW(arena, const char *, count);
    if (items == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < sweep->key_count; i++) {
        items[i] = ms_point_setting(sweep->keys[i].path, ms_sweep_value(sweep, point, i), arena);
        if (items[i] == NULL) {
            return MS_E_NOMEM;
        }
    }
    for (size_t i = 0; i < sweep->fixed.count; i++) {
        items[sweep->key_count + i] = sweep->fixed.items[i];
    }
    *settings_out = (ms_words){.items = items, .count = count};
    return MS_OK;
}

ms_status ms_sweep_make(void *sweep, size_t point, ms_arena *arena, ms_diag *diag,
                        ms_point *point_out) {
    const ms_sweep *own = sweep;
    ms_status status = ms_sweep_settings(own, point, arena, &point_out->settings);
    if (status != MS_OK) {
        return ms_diag_no_memory(diag);
    }
    return ms_point_read(&own->request, &point_out->settings, arena, diag, &point_out->spec);
}
