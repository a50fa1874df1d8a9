/* Which ranks of the job there are, and which of them are simulated. */
#ifndef MS_LOWER_RANKS_H
#define MS_LOWER_RANKS_H

#include "meshsim/arena.h"
#include "meshsim/mesh.h"

/* The ranks of a job by pipeline rank. Simulated ranks are numbered through, pipeline rank by
 * pipeline rank; such a number is called `sim`, and `k` is its place within its pipeline rank. */
typedef struct ms_ranks {
    const ms_mesh *mesh;
    const ms_mesh *expert_mesh; /* the experts' own view of its ranks; NULL: `mesh` */
    int pp;                     /* pipeline ranks P */
    int per_pp;                 /* ranks of one pipeline rank, N / P */
    int simulated;              /* simulated ranks of all pipeline ranks */
    int simulated_per_pp; /* of one: all of them, or the lowest, which stands for the others */
    int *listed;          /* [N] the ranks of each pipeline rank, in order */
    int *place;           /* [N] where a rank stands among those of its pipeline rank */
} ms_ranks;

/* Fill a caller's ranks, whose meshes are set.  pp: divides the mesh's ranks.  no_fold: simulate
 * all of them.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_ranks_init(ms_ranks *ranks, int pp, bool no_fold, ms_arena *arena);

/* Whether a simulated rank stands for others. */
static inline bool ms_ranks_are_folded(const ms_ranks *ranks) {
    return ranks->simulated_per_pp < ranks->per_pp;
}

/* Ranks that each simulated one stands for, itself included. */
static inline int ms_ranks_folded(const ms_ranks *ranks) {
    return ranks->per_pp / ranks->simulated_per_pp;
}

/* Rank of the job at place `k` of pipeline rank `p`. */
static inline int ms_rank_at(const ms_ranks *ranks, int p, int k) {
    return ranks->listed[p * ranks->per_pp + k];
}

/* Ranks of the group of `rank` that spans `axes`, ascending.  members_out: as many, or NULL to
 * count only.  Returns how many. */
int ms_ranks_members(const ms_ranks *ranks, unsigned axes, int rank, int *members_out);

/* GPUs of all groups that span `axes` among the ranks of pipeline rank `p` and that the group of
 * rank `lead`, its lowest rank, stands for; its own first.  *groups_out: how many.  Returns [groups
 * * members] in `arena`; NULL when memory runs out. */
int *ms_ranks_groups(const ms_ranks *ranks, int p, unsigned axes, int lead, ms_arena *arena,
                     int *groups_out);

/* GPUs of all pairs of ranks at one place of pipeline ranks ends[0] and ends[1] that the pair at
 * place `k` stands for; its own first.  *groups_out: how many.  Returns [groups * 2] in `arena`;
 * NULL when memory runs out. */
int *ms_ranks_pairs(const ms_ranks *ranks, const int ends[2], int k, ms_arena *arena,
                    int *groups_out);

/* Whether a rank is the lowest of its group that spans `axes`. */
bool ms_rank_is_lead(const ms_ranks *ranks, unsigned axes, int rank);

#endif
