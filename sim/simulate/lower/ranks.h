/* Which ranks of the job there are, and which of them are simulated. */
#ifndef MS_LOWER_RANKS_H
#define MS_LOWER_RANKS_H

#include "base/arena.h"
#include "job/spec.h"

/* The ranks of a job by pipeline rank. A rank's place is its number among those of its pipeline
 * rank. Places are in classes, the same for all pipeline ranks, and one rank of each class is
 * simulated: it stands for the others of its pipeline rank. Simulated ranks are numbered through,
 * pipeline rank by pipeline rank; such a number is called `sim`, and `k` is the class within its
 * pipeline rank. Classes are numbered by their lowest place. */
typedef struct ms_ranks {
    const ms_mesh *mesh;
    const ms_mesh *expert_mesh; /* the experts' own view of its ranks; NULL: `mesh` */
    int pp;                     /* pipeline ranks P */
    int per_pp;                 /* ranks of one pipeline rank, N / P */
    int simulated;              /* simulated ranks of all pipeline ranks */
    int simulated_per_pp;       /* of one: the classes of its places */
    int *listed;                /* [N] the ranks of each pipeline rank, in order */
    int *place;                 /* [N] where a rank stands among those of its pipeline rank */
    int *class_of;              /* [per_pp] by place */
    int *simulated_place;       /* [simulated_per_pp] the lowest place of a class */
    int *multiplicity;          /* [simulated_per_pp] places of a class */
} ms_ranks;

/* Fill a caller's ranks with those of a job, whose meshes are borrowed; every place is a class of
 * its own.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_ranks_init(ms_ranks *ranks, const ms_job *job, ms_arena *arena);

/* Put places in classes.  class_of: [per_pp] numbered by their lowest place; copied. */
void ms_ranks_fold(ms_ranks *ranks, const int *class_of);

/* Whether a simulated rank stands for others. */
static inline bool ms_ranks_are_folded(const ms_ranks *ranks) {
    return ranks->simulated_per_pp < ranks->per_pp;
}

/* Rank of the job at a place of pipeline rank `p`. */
static inline int ms_rank_at(const ms_ranks *ranks, int p, int place) {
    return ranks->listed[p * ranks->per_pp + place];
}

/* Rank of the job that is simulated for class `k` of pipeline rank `p`. */
static inline int ms_rank_simulated(const ms_ranks *ranks, int p, int k) {
    return ms_rank_at(ranks, p, ranks->simulated_place[k]);
}

/* Ranks of the group of `rank` that spans `axes`, ascending.  members_out: as many, or NULL to
 * count only.  Returns how many. */
int ms_ranks_members(const ms_ranks *ranks, unsigned axes, int rank, int *members_out);

/* Whether a rank is the lowest of its group that spans `axes`. */
bool ms_rank_is_lead(const ms_ranks *ranks, unsigned axes, int rank);

#endif
