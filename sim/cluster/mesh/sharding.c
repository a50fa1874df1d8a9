/* Sharding specs (sharding.h): the local shape of a tensor, and the plan of collectives that
 * redistributes it. The plan is found greedily: each step is the first move, in the order of
 * move_kind, that some axis can make, until every axis has its target. */
#include "cluster/mesh/sharding.h"

#include <stdio.h>
#include <string.h>

char *ms_tensor_placement_text(ms_tensor_placement placement, char *text_out, size_t size) {
    if (placement.kind == MS_SHARD) {
        snprintf(text_out, size, "shard%d", placement.dimension);
    } else {
        snprintf(text_out, size, "%s", placement.kind == MS_PARTIAL ? "partial" : "replicate");
    }
    return text_out;
}

/* An axis whose size does not divide the part of a dimension that the axes outside it leave. */
typedef struct uneven_cut {
    int dimension, axis;
    int64_t left; /* size of that part [elements] */
} uneven_cut;

/* Report an uneven cut. If outer axes have already divided the dimension, the message also names
 * the size that they leave. Returns MS_E_INPUT. */
static ms_status report_uneven(const ms_mesh *mesh, const ms_tensor *tensor, const uneven_cut *cut,
                               ms_diag *diag) {
    long long whole = tensor->shape[cut->dimension];
    const char *name = mesh->names[cut->axis];
    int size = mesh->sizes[cut->axis];
    if (cut->left == whole) {
        return ms_diag_error(diag,
                             "dimension %d of size %lld does not divide by axis '%s' of size %d",
                             cut->dimension, whole, name, size);
    }
    return ms_diag_error(
        diag,
        "dimension %d of size %lld, of which axes outside '%s' leave %lld, does not "
        "divide by axis '%s' of size %d",
        cut->dimension, whole, name, (long long)cut->left, name, size);
}

/* Each axis that shards a dimension divides what the axes outside it have left of the dimension. */
ms_status ms_spec_local_shape(const ms_mesh *mesh, const ms_spec *spec, const ms_tensor *tensor,
                              ms_diag *diag, int64_t *local_out) {
    int64_t local[MS_TENSOR_DIMENSIONS_MAX];
    memcpy(local, tensor->shape, sizeof local);
    for (int axis = 0; axis < mesh->axes; axis++) {
        int d = spec->on[axis].dimension;
        if (spec->on[axis].kind != MS_SHARD) {
            continue;
        }
        if (d < 0 || d >= tensor->dimensions) {
            return ms_diag_error(diag, "axis '%s' shards dimension %d, the tensor has 0 to %d",
                                 mesh->names[axis], d, tensor->dimensions - 1);
        }
        if (local[d] % mesh->sizes[axis] != 0) {
            const uneven_cut cut = {.dimension = d, .left = local[d], .axis = axis};
            return report_uneven(mesh, tensor, &cut, diag);
        }
        local[d] /= mesh->sizes[axis];
    }
    memcpy(local_out, local, (size_t)tensor->dimensions * sizeof *local);
    return MS_OK;
}

double ms_tensor_bytes(const ms_tensor *tensor, const int64_t *shape) {
    double bytes = tensor->element_B;
    for (int d = 0; d < tensor->dimensions; d++) {
        bytes *= (double)shape[d];
    }
    return bytes;
}

/* The state of a redistribution while its steps are found. */
typedef struct reshard_state {
    const ms_mesh *mesh;
    ms_spec target;
    ms_spec now;                       /* after the steps so far */
    double local_B;                    /* bytes that a rank has now [B] */
    bool must_leave[MS_MESH_AXES_MAX]; /* [axes] the axis must stop sharding its dimension */
    ms_reshard_plan plan;
} reshard_state;

/* Whether an axis shards a dimension. */
static bool shards(const ms_spec *spec, int axis, int dimension) {
    return spec->on[axis].kind == MS_SHARD && spec->on[axis].dimension == dimension;
}

/* Whether two placements are equal. */
static bool is_same(ms_tensor_placement a, ms_tensor_placement b) {
    return a.kind == b.kind && (a.kind != MS_SHARD || a.dimension == b.dimension);
}

/* Mark the axes that must stop sharding their dimension. Of the axes that shard a dimension,
 * outermost first, those may stay that come before the first axis on which the specs differ: a part
 * that is cut inside another axis's part changes when the outer cut is undone. */
static void mark_leaving(reshard_state *state) {
    for (int axis = 0; axis < state->mesh->axes; axis++) {
        if (state->now.on[axis].kind != MS_SHARD) {
            continue;
        }
        int dimension = state->now.on[axis].dimension;
        bool leaves = false;
        for (int outer = 0; outer <= axis; outer++) {
            leaves = leaves || shards(&state->now, outer, dimension) !=
                                   shards(&state->target, outer, dimension);
        }
        state->must_leave[axis] = leaves;
    }
}

/* Whether an axis must stop sharding its dimension and can now: no axis inside it shards that
 * dimension. */
static bool may_leave(const reshard_state *state, int axis) {
    if (state->now.on[axis].kind != MS_SHARD || !state->must_leave[axis]) {
        return false;
    }
    for (int inner = axis + 1; inner < state->mesh->axes; inner++) {
        if (shards(&state->now, inner, state->now.on[axis].dimension)) {
            return false;
        }
    }
    return true;
}

/* Whether an axis can now begin to shard its target dimension: exactly the axes outside it that
 * shard this dimension in the target shard it already, and no other axis does. */
static bool may_enter(const reshard_state *state, int axis) {
    ms_tensor_placement to = state->target.on[axis];
    if (to.kind != MS_SHARD || is_same(state->now.on[axis], to)) {
        return false;
    }
    for (int other = 0; other < state->mesh->axes; other++) {
        bool is_there = shards(&state->now, other, to.dimension);
        bool belongs = other < axis && shards(&state->target, other, to.dimension);
        if (other != axis && is_there != belongs) {
            return false;
        }
    }
    return true;
}

/* Kinds of steps, the preferred first: those that shrink the parts come before those that need a
 * larger buffer. */
typedef enum move_kind {
    MOVE_CUT,            /* replicate to shard: no traffic, and all later steps are smaller */
    MOVE_REDUCE_SCATTER, /* partial to shard */
    MOVE_ALL_TO_ALL,     /* shard to shard of another dimension */
    MOVE_ALL_REDUCE,     /* partial to replicate */
    MOVE_ALL_GATHER,     /* shard to replicate, for good */
    MOVE_STEP_ASIDE,     /* shard to replicate where the axis shards a dimension again later */
    MOVE_COUNT,
} move_kind;

/* Whether an axis can make a move now. */
static bool is_possible(const reshard_state *state, move_kind move, int axis) {
    ms_tensor_placement now = state->now.on[axis];
    ms_tensor_placement to = state->target.on[axis];
    switch (move) {
    case MOVE_CUT:
        return now.kind == MS_REPLICATE && may_enter(state, axis);
    case MOVE_REDUCE_SCATTER:
        return now.kind == MS_PARTIAL && may_enter(state, axis);
    case MOVE_ALL_TO_ALL:
        return may_leave(state, axis) && may_enter(state, axis);
    case MOVE_ALL_REDUCE:
        return now.kind == MS_PARTIAL && to.kind == MS_REPLICATE;
    case MOVE_ALL_GATHER:
        return may_leave(state, axis) && to.kind == MS_REPLICATE;
    case MOVE_STEP_ASIDE:
    case MOVE_COUNT:
        break;
    }
    return may_leave(state, axis);
}

/* Append the step of a move to the plan, and update placement and bytes. Bytes that a rank sends:
 * (n-1)/n of the buffer, twice that for an all-reduce, none for a cut (see ms_reshard). */
static void make_move(reshard_state *state, move_kind move, int axis) {
    static const ms_coll_kind KINDS[MOVE_COUNT] = {MS_COLL_NONE,       MS_COLL_REDUCE_SCATTER,
                                                   MS_COLL_ALL_TO_ALL, MS_COLL_ALL_REDUCE,
                                                   MS_COLL_ALL_GATHER, MS_COLL_ALL_GATHER};
    double members = state->mesh->sizes[axis];
    bool is_gather = KINDS[move] == MS_COLL_ALL_GATHER;
    ms_reshard_step step = {.kind = KINDS[move],
                            .axis = axis,
                            .from = state->now.on[axis],
                            .to = is_gather ? (ms_tensor_placement){.kind = MS_REPLICATE}
                                            : state->target.on[axis],
                            .size_B = state->local_B * (is_gather ? members : 1.0)};
    if (move == MOVE_CUT || move == MOVE_REDUCE_SCATTER) {
        state->local_B /= members;
    } else if (is_gather) {
        state->local_B *= members;
    }
    double sent_parts =
        move == MOVE_CUT ? 0.0 : (members - 1.0) * (move == MOVE_ALL_REDUCE ? 2.0 : 1.0);
    step.sent_B = sent_parts / members * step.size_B;
    state->plan.sent_B += step.sent_B;
    state->must_leave[axis] = false;
    state->now.on[axis] = step.to;
    state->plan.steps[state->plan.count++] = step;
}

/* Make the first move that is possible: moves in order of preference, for each the innermost axes
 * first.  Returns false when no move is left. */
static bool make_next_move(reshard_state *state) {
    for (move_kind move = 0; move < MOVE_COUNT; move++) {
        for (int axis = state->mesh->axes - 1; axis >= 0; axis--) {
            if (is_possible(state, move, axis)) {
                make_move(state, move, axis);
                return true;
            }
        }
    }
    return false;
}

/* Refuse a target in which an axis is partial that is not partial in `from`.  Returns MS_OK;
 * MS_E_INPUT (reported). */
static ms_status refuse_partial(const ms_mesh *mesh, const ms_spec *from, const ms_spec *to,
                                ms_diag *diag) {
    for (int axis = 0; axis < mesh->axes; axis++) {
        if (to->on[axis].kind == MS_PARTIAL && from->on[axis].kind != MS_PARTIAL) {
            return ms_diag_error(diag, "axis '%s' cannot become partial: sums are made, not unmade",
                                 mesh->names[axis]);
        }
    }
    return MS_OK;
}

/* Both local shapes are computed first, as a check; that of `from` gives the bytes at the start. */
ms_status ms_reshard(const ms_mesh *mesh, const ms_tensor *tensor, const ms_spec *from,
                     const ms_spec *to, ms_diag *diag, ms_reshard_plan *plan_out) {
    int64_t local[MS_TENSOR_DIMENSIONS_MAX];
    ms_status status = ms_spec_local_shape(mesh, to, tensor, diag, local);
    status = status == MS_OK ? ms_spec_local_shape(mesh, from, tensor, diag, local) : status;
    status = status == MS_OK ? refuse_partial(mesh, from, to, diag) : status;
    if (status != MS_OK) {
        return status;
    }
    reshard_state state = {.mesh = mesh, .target = *to, .now = *from};
    for (int axis = 0; axis < mesh->axes; axis++) {
        if (mesh->sizes[axis] == 1) { /* a single rank has the whole in any placement */
            state.now.on[axis] = state.target.on[axis] =
                (ms_tensor_placement){.kind = MS_REPLICATE};
        }
    }
    state.local_B = ms_tensor_bytes(tensor, local);
    mark_leaving(&state);
    while (make_next_move(&state)) {
    }
    *plan_out = state.plan;
    return MS_OK;
}
