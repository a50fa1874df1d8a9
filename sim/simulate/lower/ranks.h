/* Which ranks of the job there are, and which of them are simulated. */
#ifndef MS_LOWER_RANKS_H
#define MS_LOWER_RANKS_H

#include "base/arena.h"
#include "job/spec.h"

/* The ranks of a job by pipeline rank. The index in the stage of a rank (`rank_in_stage`) is its
 * index among the ranks of its pipeline rank, 0..per_pp-1. These indices are divided into classes,
 * the same for all pipeline ranks. One rank of each class is simulated and stands for the other
 * ranks of the class on its pipeline rank. `k` is the number of a class; classes are numbered in
 * the order of their lowest ranks. `sim` is the number of a simulated rank: pipeline rank *
 * simulated_per_pp + k. */
typedef struct ms_ranks {
    const ms_mesh *mesh;
    const ms_mesh *expert_mesh;   /* the experts' own view of its ranks; NULL: `mesh` */
    int pp;                       /* pipeline ranks P */
    int per_pp;                   /* ranks of one pipeline rank, N / P */
    int simulated;                /* simulated ranks of all pipeline ranks */
    int simulated_per_pp;         /* simulated ranks of one pipeline rank: number of classes */
    int *listed;                  /* [pp][per_pp] the ranks of each pipeline rank, ascending */
    int *rank_in_stage;           /* [N] index in its stage of each rank of the job */
    int *class_of;                /* [per_pp] class of each index in the stage */
    int *simulated_rank_in_stage; /* [simulated_per_pp] the lowest index of each class */
    int *multiplicity;            /* [simulated_per_pp] number of ranks in each class */
} ms_ranks;

/* Fill a caller's ranks with those of a job, whose meshes are borrowed. Every index in the stage is
 * a class of its own, so every rank is simulated.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_ranks_init(ms_ranks *ranks, const ms_job *job, ms_arena *arena);

/* Divide the ranks into classes.  class_of: [per_pp] class of each index in the stage; classes are
 * numbered in the order of their lowest indices. Copied. */
void ms_ranks_fold(ms_ranks *ranks, const int *class_of);

/* Whether a simulated rank stands for others. */
static inline bool ms_ranks_are_folded(const ms_ranks *ranks) {
    return ranks->simulated_per_pp < ranks->per_pp;
}

/* Rank of the job that has an index in the stage on pipeline rank `p`. */
static inline int ms_rank_at(const ms_ranks *ranks, int p, int rank_in_stage) {
    return ranks->listed[p * ranks->per_pp + rank_in_stage];
}

/* Rank of the job that is simulated for class `k` of pipeline rank `p`. */
static inline int ms_rank_simulated(const ms_ranks *ranks, int p, int k) {
    return ms_rank_at(ranks, p, ranks->simulated_rank_in_stage[k]);
}

/* List the ranks of the group of `rank` that spans `axes`, ascending.  members_out: room for all,
 * or NULL to count only.  Returns their number. */
int ms_ranks_members(const ms_ranks *ranks, unsigned axes, int rank, int *members_out);

/* Whether a rank is the lowest of its group that spans `axes`. */
bool ms_rank_is_lead(const ms_ranks *ranks, unsigned axes, int rank);

#endif
