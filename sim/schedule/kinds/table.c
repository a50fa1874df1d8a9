/* The registration table of schedule kinds: the row of each kind (ms_schedule_type) has its name,
 * its limits and the functions that build its program. All look-ups of kinds, by number or by name,
 * go through this table. */
#include <string.h>

#include "schedule/internal.h"

/* [ms_schedule_kind] */
static const ms_schedule_type *const TYPES[MS_SCHEDULE_KIND_COUNT] = {
    [MS_SCHEDULE_GPIPE] = &ms_schedule_gpipe,
    [MS_SCHEDULE_1F1B] = &ms_schedule_1f1b,
    [MS_SCHEDULE_INTERLEAVED] = &ms_schedule_interleaved,
    [MS_SCHEDULE_INTERLEAVED_TORCH] = &ms_schedule_interleaved_torch,
    [MS_SCHEDULE_INTERLEAVED_FLEXIBLE] = &ms_schedule_interleaved_flexible,
    [MS_SCHEDULE_LOOPED_BFS] = &ms_schedule_looped_bfs,
    [MS_SCHEDULE_ZBH1] = &ms_schedule_zbh1,
    [MS_SCHEDULE_ZBH2] = &ms_schedule_zbh2,
    [MS_SCHEDULE_ZB1P] = &ms_schedule_zb1p,
    [MS_SCHEDULE_ZBV] = &ms_schedule_zbv,
    [MS_SCHEDULE_VHALF] = &ms_schedule_vhalf,
    [MS_SCHEDULE_VMIN] = &ms_schedule_vmin,
    [MS_SCHEDULE_DUALPIPE] = &ms_schedule_dualpipe,
    [MS_SCHEDULE_DUALPIPEV] = &ms_schedule_dualpipev,
    [MS_SCHEDULE_CHIMERA] = &ms_schedule_chimera,
    [MS_SCHEDULE_SEQ1F1B] = &ms_schedule_seq1f1b,
};

/* One further row, which tests add; NULL: none. Its kind is MS_SCHEDULE_KIND_COUNT. */
static const ms_schedule_type *added_type = NULL;

ms_schedule_kind ms_schedule_add_kind(const ms_schedule_type *type) {
    added_type = type;
    return MS_SCHEDULE_KIND_COUNT;
}

const ms_schedule_type *ms_schedule_type_of(ms_schedule_kind kind) {
    if (kind == MS_SCHEDULE_KIND_COUNT) {
        return added_type;
    }
    return (unsigned)kind < MS_SCHEDULE_KIND_COUNT ? TYPES[kind] : NULL;
}

/* Find the kind with a name, also among added rows. */
ms_status ms_schedule_kind_from_name(const char *name, ms_schedule_kind *kind_out) {
    for (int kind = 0; kind <= MS_SCHEDULE_KIND_COUNT; kind++) {
        const ms_schedule_type *type = ms_schedule_type_of((ms_schedule_kind)kind);
        if (type != NULL && strcmp(type->name, name) == 0) {
            *kind_out = (ms_schedule_kind)kind;
            return MS_OK;
        }
    }
    return MS_E_RANGE;
}

const char *ms_schedule_kind_name(ms_schedule_kind kind) {
    const ms_schedule_type *type = ms_schedule_type_of(kind);
    return type == NULL ? "unknown" : type->name;
}

ms_schedule_traits ms_schedule_kind_traits(ms_schedule_kind kind) {
    const ms_schedule_type *type = ms_schedule_type_of(kind);
    return (ms_schedule_traits){.chunks = type->chunks,
                                .takes_group = (type->options & MS_TAKES_GROUP) != 0,
                                .takes_slices = (type->options & MS_TAKES_SLICES) != 0,
                                .takes_reorder = (type->options & MS_TAKES_REORDER) != 0};
}

/* Names of all kinds and of the added one, NULL-terminated. */
const char *const *ms_schedule_kind_names(void) {
    static const char *names[MS_SCHEDULE_KIND_COUNT + 2]; /* an added one, and the end */
    for (int kind = 0; kind < MS_SCHEDULE_KIND_COUNT; kind++) {
        names[kind] = TYPES[kind]->name;
    }
    names[MS_SCHEDULE_KIND_COUNT] = added_type == NULL ? NULL : added_type->name;
    return names;
}
