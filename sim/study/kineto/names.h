/* Texts with numbers, from 0 in the order in which they came. */
#ifndef MS_KINETO_NAMES_H
#define MS_KINETO_NAMES_H

#include <stdint.h>

#include "meshsim/arena.h"
#include "meshsim/buffer.h"

typedef struct ms_names {
    ms_arena *arena; /* of the texts */
    ms_vector texts; /* const char * */
    ms_vector slots; /* int32_t: number + 1; 0: free */
} ms_names;

/* Empty; the caller releases it. */
void ms_names_init(ms_names *names, ms_arena *arena);
void ms_names_release(ms_names *names);

/* Number of a text, which it has from now on.  *is_new_out: it had none.  Returns < 0: no memory.
 * O(length). */
int32_t ms_names_add(ms_names *names, const char *text, bool *is_new_out);

#endif
