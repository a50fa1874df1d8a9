#include "lower/ranks.h"

static void list_ranks(ms_ranks *ranks) {
    int next = 0;
    for (int p = 0; p < ranks->pp; p++) {
        for (int rank = 0; rank < ranks->mesh->ranks; rank++) {
            if (ms_mesh_coordinate(ranks->mesh, rank, MS_AXIS_PP) == p) {
                ranks->place[rank] = next - p * ranks->per_pp;
                ranks->listed[next++] = rank;
            }
        }
    }
}

ms_status ms_ranks_init(ms_ranks *ranks, int pp, bool no_fold, ms_arena *arena) {
    const ms_mesh *mesh = ranks->mesh;
    int per_pp = mesh->ranks / pp;
    int simulated_per_pp = no_fold ? per_pp : 1;
    *ranks = (ms_ranks){.mesh = mesh,
                        .expert_mesh = ranks->expert_mesh,
                        .pp = pp,
                        .per_pp = per_pp,
                        .simulated = pp * simulated_per_pp,
                        .simulated_per_pp = simulated_per_pp,
                        .listed = MS_NEW(arena, int, mesh->ranks),
                        .place = MS_NEW(arena, int, mesh->ranks)};
    if (ranks->listed == NULL || ranks->place == NULL) {
        return MS_E_NOMEM;
    }
    list_ranks(ranks);
    return MS_OK;
}

int ms_ranks_members(const ms_ranks *ranks, unsigned axes, int rank, int *members_out) {
    return ms_mesh_members(ms_mesh_of_axes(ranks->mesh, ranks->expert_mesh, axes), axes, rank,
                           members_out);
}

bool ms_rank_is_lead(const ms_ranks *ranks, unsigned axes, int rank) {
    return ms_mesh_is_lead(ms_mesh_of_axes(ranks->mesh, ranks->expert_mesh, axes), axes, rank);
}

int *ms_ranks_groups(const ms_ranks *ranks, int p, unsigned axes, int lead, ms_arena *arena,
                     int *groups_out) {
    int *gpus = MS_NEW(arena, int, ranks->per_pp);
    if (gpus == NULL) {
        return NULL;
    }
    int next = ms_ranks_members(ranks, axes, lead, gpus);
    int groups = 1;
    for (int k = 0; k < ranks->per_pp && ms_ranks_are_folded(ranks); k++) {
        int rank = ms_rank_at(ranks, p, k);
        if (rank != lead && ms_rank_is_lead(ranks, axes, rank)) {
            next += ms_ranks_members(ranks, axes, rank, gpus + next);
            groups++;
        }
    }
    ms_mesh_to_devices(ranks->mesh, gpus, next);
    *groups_out = groups;
    return gpus;
}

int *ms_ranks_pairs(const ms_ranks *ranks, const int ends[2], int k, ms_arena *arena,
                    int *groups_out) {
    int groups = ms_ranks_folded(ranks);
    int *gpus = MS_NEW(arena, int, 2 * groups);
    for (int g = 0; g < groups && gpus != NULL; g++) {
        gpus[2 * g] = ms_rank_at(ranks, ends[0], k + g);
        gpus[2 * g + 1] = ms_rank_at(ranks, ends[1], k + g);
    }
    ms_mesh_to_devices(ranks->mesh, gpus, gpus == NULL ? 0 : 2 * groups);
    *groups_out = groups;
    return gpus;
}
