/* The ranks of the job by pipeline rank, and the classes of ranks that behave alike (ranks.h). */
#include "simulate/lower/ranks.h"

/* List the ranks of each pipeline rank in ascending order, and set the place of each.  listed: [pp]
 * zeros; number of ranks listed so far. */
static void list_ranks(ms_ranks *ranks, int *listed) {
    for (int rank = 0; rank < ranks->mesh->ranks; rank++) {
        int p = ms_mesh_coordinate(ranks->mesh, rank, MS_AXIS_PP);
        ranks->rank_in_stage[rank] = listed[p]++;
        ranks->listed[p * ranks->per_pp + ranks->rank_in_stage[rank]] = rank;
    }
}

ms_status ms_ranks_init(ms_ranks *ranks, const ms_job *job, ms_arena *arena) {
    const ms_mesh *mesh = &job->mesh;
    int pp = job->program.spec.pipeline_ranks, per_pp = mesh->ranks / pp;
    *ranks = (ms_ranks){.mesh = mesh,
                        .expert_mesh = job->expert_mesh,
                        .pp = pp,
                        .per_pp = per_pp,
                        .simulated = mesh->ranks,
                        .simulated_per_pp = per_pp,
                        .listed = MS_NEW(arena, int, mesh->ranks),
                        .rank_in_stage = MS_NEW(arena, int, mesh->ranks),
                        .class_of = MS_NEW(arena, int, per_pp),
                        .simulated_rank_in_stage = MS_NEW(arena, int, per_pp),
                        .multiplicity = MS_NEW(arena, int, per_pp)};
    int *listed = MS_NEW(arena, int, pp);
    if (arena->has_failed) {
        return MS_E_NOMEM;
    }
    list_ranks(ranks, listed);
    for (int rank_in_stage = 0; rank_in_stage < per_pp; rank_in_stage++) {
        ranks->class_of[rank_in_stage] = ranks->simulated_rank_in_stage[rank_in_stage] =
            rank_in_stage;
        ranks->multiplicity[rank_in_stage] = 1;
    }
    return MS_OK;
}

void ms_ranks_fold(ms_ranks *ranks, const int *class_of) {
    int count = 0;
    for (int rank_in_stage = 0; rank_in_stage < ranks->per_pp; rank_in_stage++) {
        int k = class_of[rank_in_stage];
        if (k == count) { /* the first place of a new class: its rank is simulated */
            ranks->simulated_rank_in_stage[count] = rank_in_stage;
            ranks->multiplicity[count++] = 0;
        }
        ranks->class_of[rank_in_stage] = k;
        ranks->multiplicity[k]++;
    }
    ranks->simulated_per_pp = count;
    ranks->simulated = ranks->pp * count;
}

int ms_ranks_members(const ms_ranks *ranks, unsigned axes, int rank, int *members_out) {
    return ms_mesh_members(ms_mesh_of_axes(ranks->mesh, ranks->expert_mesh, axes), axes, rank,
                           members_out);
}

bool ms_rank_is_lead(const ms_ranks *ranks, unsigned axes, int rank) {
    return ms_mesh_is_lead(ms_mesh_of_axes(ranks->mesh, ranks->expert_mesh, axes), axes, rank);
}
