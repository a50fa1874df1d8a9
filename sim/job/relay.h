/* Faults of layers that know of no files, at the key they belong to. */
#ifndef MS_JOB_RELAY_H
#define MS_JOB_RELAY_H

#include "meshsim/config.h"

typedef struct ms_relay {
    ms_diag *diag;
    const ms_node *node;
    const char *path;
} ms_relay;

/* A sink that hands messages without a place on to `relay`, and those with one as they are.
 *  relay: filled by the caller, outlives the sink. */
void ms_relay_init(ms_diag *placed, ms_relay *relay);

/* The ending of a counted noun in a message. */
static inline const char *ms_plural(int count) {
    return count == 1 ? "" : "s";
}

#endif
