/* Tables of communication times by class (comm_classes.h). A class of pipeline rank p is replaced
 * by that of the first pipeline rank that lies alike on the platform's tiers. If NCCL chooses
 * algorithms, sizes for which it chooses the same share one class. class_layout.c lays classes out.
 */
#include "estimate/comm_classes.h"

#include <math.h>
#include <string.h>

#include "estimate/class_layout.h"

/* Positions of the pipeline ranks on the GPUs of a mesh without a placement. Pipeline rank p has
 * rows of up to `shift` consecutive GPUs that begin at p * shift, p * shift + cell, and so on. */
typedef struct pipeline_grid {
    int shift; /* stride of the axis pp */
    int cell;  /* GPUs of one row of every pipeline rank: shift * pp */
    int span;  /* GPUs from the first to the last rank of one pipeline rank */
} pipeline_grid;

/* The grid of a mesh; without an axis pp all ranks are one row. */
static pipeline_grid grid_of(const ms_mesh *mesh) {
    pipeline_grid grid = {.shift = mesh->ranks, .cell = mesh->ranks, .span = 1};
    for (int a = 0; a < mesh->axes; a++) {
        if (mesh->kinds[a] == MS_AXIS_PP) {
            grid.shift = mesh->strides[a];
            grid.cell = mesh->strides[a] * mesh->sizes[a];
        } else {
            grid.span += (mesh->sizes[a] - 1) * mesh->strides[a];
        }
    }
    return grid;
}

/* Whether two rows of `count` consecutive GPUs are cut alike by the borders of a tier's units, such
 * as nodes: they begin at the same offset into a unit, or each lies inside one unit.  unit: GPUs of
 * a unit.  first_a, first_b: first GPU of each row. */
static bool is_row_alike(int unit, int first_a, int first_b, int count) {
    int into_a = first_a % unit, into_b = first_b % unit;
    return into_a == into_b || (into_a + count <= unit && into_b + count <= unit);
}

/* Whether pipeline ranks p and q, each with `step` successors (0 or 1), lie alike among the units
 * of a tier.  unit: GPUs of a unit. If a unit consists of whole cells, or a row of whole units, the
 * borders are the same for all pipeline ranks. If a unit holds several whole rows of a cell, a rank
 * lies inside units, and a pair of ranks may straddle a border. Otherwise all GPUs from the first
 * to the last rank are compared. */
static bool is_alike_in(int unit, const pipeline_grid *grid, int p, int q, int step) {
    int shift = grid->shift;
    bool is_nested = unit % grid->cell == 0 || (grid->cell % unit == 0 && shift % unit == 0);
    bool holds_several = grid->cell % unit == 0 && unit % shift == 0;
    if (is_nested || (holds_several && step == 0)) {
        return true;
    }
    if (holds_several) {
        return is_row_alike(unit, p * shift, q * shift, 2 * shift);
    }
    return is_row_alike(unit, p * shift, q * shift, grid->span + step * shift);
}

/* The first pipeline rank that lies as `p` does on all tiers, by itself (step 0) or together with
 * its successor (step 1); `p` if none does, or if ranks are placed one by one or links differ. The
 * outermost tier has only one unit. */
static int first_alike(const ms_comm_classes *comm, const pipeline_grid *grid, int p, int step) {
    const ms_platform *platform = comm->platform;
    bool is_regular = comm->mesh.devices == NULL && platform->link_factors == NULL;
    for (int q = 0; q < p && is_regular && p + step < comm->pp; q++) {
        bool is_same = true;
        for (int t = 0; t + 1 < platform->tier_count && is_same; t++) {
            is_same = is_alike_in(ms_platform_domain(platform, t), grid, p, q, step);
        }
        if (is_same) {
            return q;
        }
    }
    return p;
}

ms_status ms_comm_norm_time(ms_comm_classes *comm, double *norm_s_out) {
    ms_status status = MS_OK;
    if (comm->norm_s < 0.0) {
        ms_world_sum sum;
        status = ms_coll_world_sum(comm->platform, &comm->mesh, &comm->algorithms, &sum);
        comm->norm_s = status == MS_OK ? sum.time_s : comm->norm_s;
    }
    *norm_s_out = comm->norm_s;
    return status;
}

/* For each pipeline rank the first one whose groups lie alike is found (first_alike), so that
 * classes are laid out for the first ones only: `alike` for collectives, `boundary_alike` for
 * messages to the next rank. */
ms_status ms_comm_classes_init(ms_comm_classes *comm_out, const ms_job *job, ms_arena *arena) {
    const ms_mesh *mesh = &job->mesh;
    int pp = ms_mesh_size(mesh, MS_AXIS_PP);
    *comm_out = (ms_comm_classes){.platform = job->platform,
                                  .mesh = *mesh,
                                  .expert_mesh = job->expert_mesh,
                                  .algorithms =
                                      ms_coll_choices_on(job->platform, mesh, job->spec.algorithms),
                                  .pp = pp,
                                  .group_ranks = mesh->ranks / pp,
                                  .is_alone = ms_job_is_alone(job),
                                  .is_unfolded = job->run.no_fold,
                                  .norm_s = -1.0};
    ms_memo_init(&comm_out->keys, sizeof(ms_class_key), sizeof(int));
    ms_memo_init(&comm_out->ways, sizeof(ms_class_key), sizeof(ms_class_times));
    ms_memo_init(&comm_out->groups, sizeof(ms_class_key), sizeof(ms_class_comms));
    comm_out->alike = MS_NEW(arena, int, pp);
    comm_out->boundary_alike = MS_NEW(arena, int, pp);
    if (comm_out->alike == NULL || comm_out->boundary_alike == NULL) {
        return MS_E_NOMEM;
    }
    pipeline_grid grid = grid_of(mesh);
    for (int p = 0; p < pp; p++) {
        comm_out->alike[p] = first_alike(comm_out, &grid, p, 0);
        comm_out->boundary_alike[p] = first_alike(comm_out, &grid, p, 1);
    }
    return MS_OK;
}

void ms_comm_classes_release(ms_comm_classes *comm) {
    ms_memo_release(&comm->keys);
    ms_memo_release(&comm->ways);
    ms_memo_release(&comm->groups);
}

ms_class_key ms_class_of_segment(const ms_segment *segment, int p) {
    unsigned axes = segment->group_axes;
    return (ms_class_key){.kind = segment->coll,
                          .bytes = segment->coll_B,
                          .axes = axes != 0 ? axes : MS_AXIS_BIT(segment->axis),
                          .from = p,
                          .to = -1,
                          .intra_node_share = segment->coll_intra_node_B > 0.0
                                                  ? segment->coll_intra_node_B / segment->coll_B
                                                  : 0.0,
                          .load_imbalance = segment->coll_load_imbalance};
}

/* The time of `bytes` on a line [s]. */
static double on_line(const ms_time_line *line, double bytes) {
    return line->latency_s + bytes * line->per_B_s + ms_library_ramp_s(&line->ramp, bytes);
}

double ms_class_time_s(const ms_class_times *times, double bytes) {
    return fmax(on_line(&times->narrowest, bytes), on_line(&times->farthest, bytes));
}

double ms_class_bound_s(const ms_class_times *times, double bytes) {
    return on_line(&times->alone, bytes);
}

ms_class_key ms_class_as_chosen(const ms_comm_classes *comm, const ms_class_key *key) {
    ms_class_key chosen = *key;
    chosen.bytes = ms_nccl_applies(comm->platform, key->kind) ? key->bytes : 0.0;
    return chosen;
}

/* Replace the pipeline ranks of a key by the first ones that lie alike. Messages are covered
 * between neighbours, with pp - 1 and 0 as neighbours; others keep their ranks. */
static void use_first_ranks(const ms_comm_classes *comm, ms_class_key *key) {
    int pp = comm->pp;
    if (key->to < 0) {
        key->from = comm->alike[key->from];
    } else if (key->to == (key->from + 1) % pp) {
        key->from = comm->boundary_alike[key->from];
        key->to = (key->from + 1) % pp;
    } else if (key->from == (key->to + 1) % pp) {
        key->to = comm->boundary_alike[key->to];
        key->from = (key->to + 1) % pp;
    }
}

bool ms_class_is_same(const ms_class_key *a, const ms_class_key *b) {
    return a->from == b->from && a->to == b->to && a->kind == b->kind && a->axes == b->axes &&
           a->bytes == b->bytes && a->intra_node_share == b->intra_node_share &&
           a->load_imbalance == b->load_imbalance;
}

/* Find ms_class_key.ways: the library's choices for the communicators of a class at a size, packed
 * into 12 bits each behind a leading 1, which keeps the number above 0.  key: without bytes. */
static ms_status find_ways(ms_comm_classes *comm, ms_layout_storage *space, const ms_class_key *key,
                           double bytes, uint64_t *ways_out) {
    int number = 0;
    bool is_new = false;
    ms_status status = ms_memo_find_or_add(&comm->groups, key, &number, &is_new);
    if (status != MS_OK) {
        return status;
    }
    ms_class_comms *all = MS_MEMO_VALUE(&comm->groups, ms_class_comms, number);
    status = is_new ? ms_class_comms_list(comm, space, key, all) : MS_OK;
    if (status != MS_OK) {
        return status;
    }
    const ms_coll_request request = {.kind = key->kind,
                                     .algorithm = comm->algorithms.of[key->kind],
                                     .protocol = comm->algorithms.protocol};
    uint64_t ways = 1;
    for (int i = 0; i < all->count && i < MS_CLASS_COMMS_MAX; i++) {
        ways = ways << 12 | ms_nccl_choice_key(comm->platform, &all->comms[i], &request, bytes);
    }
    if (all->count > MS_CLASS_COMMS_MAX) {
        memcpy(&ways, &bytes,
               sizeof ways); /* too many to pack: each size has a number of its own */
    }
    *ways_out = ways;
    return MS_OK;
}

/* Find the number in `ways` of the class with a key, which is laid out if it is new.  key: with
 * ways, without bytes.  bytes: a size with these choices. */
static ms_status find_class(ms_comm_classes *comm, ms_layout_storage *space,
                            const ms_class_key *key, double bytes, int *number_out) {
    bool is_new = false;
    ms_status status = ms_memo_find_or_add(&comm->ways, key, number_out, &is_new);
    return status == MS_OK && is_new
               ? ms_class_times_find(comm, space, key, bytes,
                                     MS_MEMO_VALUE(&comm->ways, ms_class_times, *number_out))
               : status;
}

/* Find the class of a key that is new in `keys`.  sized: the key with its bytes, 0 where no library
 * chooses.  *class_out: number in `ways`. */
static ms_status find_new_class(ms_comm_classes *comm, ms_layout_storage *space,
                                const ms_class_key *sized, int *class_out) {
    ms_class_key by_way = *sized;
    ms_status status = MS_OK;
    by_way.bytes = 0.0;
    if (sized->bytes > 0.0) {
        status = find_ways(comm, space, &by_way, sized->bytes, &by_way.ways);
    }
    return status == MS_OK ? find_class(comm, space, &by_way, sized->bytes, class_out) : status;
}

/* The first table maps the key to a number in the table of times. A class that was refused before
 * is refused again. */
ms_status ms_comm_classes_find(ms_comm_classes *comm, ms_layout_storage *space,
                               const ms_class_key *key, const ms_class_times **times_out) {
    ms_class_key sized = ms_class_as_chosen(comm, key);
    int number = 0;
    bool is_new = false;
    use_first_ranks(comm, &sized);
    ms_status status = ms_memo_find_or_add(&comm->keys, &sized, &number, &is_new);
    if (status == MS_OK && is_new) {
        status = find_new_class(comm, space, &sized, MS_MEMO_VALUE(&comm->keys, int, number));
    }
    if (status == MS_OK) {
        int class = *MS_MEMO_VALUE(&comm->keys, int, number);
        *times_out = MS_MEMO_VALUE(&comm->ways, ms_class_times, class);
        status = (*times_out)->is_refused ? MS_E_INPUT : MS_OK;
    }
    return status;
}
