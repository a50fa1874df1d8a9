/* Makes a placement (placement.h): lists the nodes to be filled, or reads a file, and stores the
 * GPU of each rank; then marks every GPU of the platform as used, idle or spare. */
#include <string.h>

#include "cluster/placement/file.h"

/* The state of making a placement. */
typedef struct placement_state {
    const ms_rank_placement_choice *choice;
    const ms_platform *platform;
    int ranks;
    int *gpus;      /* [ranks] GPU of each rank */
    uint8_t *uses;  /* [GPUs of the platform] ms_gpu_use */
    bool *has_rank; /* [nodes of the platform] */
    bool *is_spare; /* [nodes of the platform] */
    int *nodes;     /* [node_count] nodes to fill, in order */
    int node_count;
    ms_arena *arena;
    ms_diag *diag;
} placement_state;

/* ---- nodes ---- */

/* Mark the spare nodes that the user names.  Returns MS_OK; MS_E_INPUT (reported). */
static ms_status mark_named_spares(placement_state *state) {
    const ms_ints *spares = &state->choice->spares;
    for (size_t i = 0; i < spares->count; i++) {
        int node = spares->items[i];
        if (node >= state->platform->nodes) {
            return ms_diag_error(state->diag, "no spare node %d: the platform '%s' has 0 to %d",
                                 node, state->platform->name, state->platform->nodes - 1);
        }
        if (state->is_spare[node]) {
            return ms_diag_error(state->diag, "spare node %d stands twice", node);
        }
        state->is_spare[node] = true;
    }
    return MS_OK;
}

/* List all nodes but the spares as nodes to fill. Where only the number of spares is given, the
 * last nodes are left out. */
static void list_free_nodes(placement_state *state) {
    for (int node = 0; node < state->platform->nodes - state->choice->spare_count; node++) {
        if (!state->is_spare[node]) {
            state->nodes[state->node_count++] = node;
        }
    }
}

/* List the nodes that the user names as nodes to fill.  Returns MS_OK; MS_E_INPUT (reported) for a
 * node that does not exist, is named twice or is a spare; MS_E_NOMEM. */
static ms_status list_named_nodes(placement_state *state) {
    const ms_ints *nodes = &state->choice->nodes;
    bool *is_listed = MS_NEW(state->arena, bool, state->platform->nodes);
    if (is_listed == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < nodes->count; i++) {
        int node = nodes->items[i];
        if (node >= state->platform->nodes) {
            return ms_diag_error(state->diag, "no node %d: the platform '%s' has 0 to %d", node,
                                 state->platform->name, state->platform->nodes - 1);
        }
        if (is_listed[node]) {
            return ms_diag_error(state->diag, "node %d stands twice", node);
        }
        if (state->is_spare[node]) {
            return ms_diag_error(state->diag, "node %d is a spare", node);
        }
        is_listed[node] = true;
        state->nodes[state->node_count++] = node;
    }
    return MS_OK;
}

/* Place rank after rank on the nodes of the list: a node is filled before the next, or with
 * is_cyclic the next rank is on the next node. */
static ms_status fill_nodes(placement_state *state) {
    int per_node = state->platform->gpus_per_node;
    int64_t room = (int64_t)state->node_count * per_node;
    if (state->ranks > room) {
        bool has_spares = state->choice->spare_count > 0 || state->choice->spares.count > 0;
        return ms_diag_error(
            state->diag, "%d rank%s not fit on %d node%s of %d GPUs%s", state->ranks,
            state->ranks == 1 ? " does" : "s do", state->node_count, ms_plural(state->node_count),
            per_node,
            state->choice->nodes.count == 0 && has_spares ? ", the others are spares" : "");
    }
    for (int rank = 0; rank < state->ranks; rank++) {
        int node = state->choice->is_cyclic ? rank % state->node_count : rank / per_node;
        int slot = state->choice->is_cyclic ? rank / state->node_count : rank % per_node;
        state->gpus[rank] = state->nodes[node] * per_node + slot;
    }
    return MS_OK;
}

/* Place the ranks on nodes, all or those of a list, without a file. */
static ms_status place_by_nodes(placement_state *state) {
    ms_status status = MS_OK;
    state->nodes = MS_NEW(state->arena, int, state->platform->nodes);
    if (state->nodes == NULL) {
        return MS_E_NOMEM;
    }
    if (state->choice->nodes.count > 0) {
        status = list_named_nodes(state);
    } else {
        list_free_nodes(state);
    }
    return status == MS_OK ? fill_nodes(state) : status;
}

/* ---- spare and idle GPUs ---- */

/* Mark GPUs and nodes with a rank. */
static void mark_used(placement_state *state) {
    memset(state->uses, MS_GPU_IDLE, (size_t)ms_platform_gpus(state->platform));
    for (int rank = 0; rank < state->ranks; rank++) {
        state->uses[state->gpus[rank]] = MS_GPU_USED;
        state->has_rank[ms_platform_node(state->platform, state->gpus[rank])] = true;
    }
}

/* Mark spares of which only the number is given: the last nodes without a rank. */
static ms_status mark_last_nodes(placement_state *state) {
    int wanted = state->choice->spare_count;
    int found = 0;
    for (int node = state->platform->nodes - 1; node >= 0 && found < wanted; node--) {
        if (!state->has_rank[node]) {
            state->is_spare[node] = true;
            found++;
        }
    }
    return found == wanted
               ? MS_OK
               : ms_diag_error(state->diag, "%d spare nodes, but %d rank%s leave %d of %d free",
                               wanted, state->ranks, ms_plural(state->ranks), found,
                               state->platform->nodes);
}

/* Check that no rank is on a named spare node. Only a file can put one there, because the nodes to
 * fill exclude the spares. */
static ms_status check_spares(placement_state *state) {
    for (int rank = 0; rank < state->ranks; rank++) {
        int node = ms_platform_node(state->platform, state->gpus[rank]);
        if (state->is_spare[node]) {
            return ms_diag_error(state->diag, "node %d is a spare, but '%s' puts rank %d on it",
                                 node, state->choice->file, rank);
        }
    }
    return MS_OK;
}

/* List the spare nodes, mark their GPUs, and count spare and idle GPUs. */
static ms_status list_spares(placement_state *state, ms_rank_placement *out) {
    int per_node = state->platform->gpus_per_node;
    int *spares = MS_NEW(state->arena, int, state->platform->nodes);
    if (spares == NULL) {
        return MS_E_NOMEM;
    }
    for (int node = 0; node < state->platform->nodes; node++) {
        if (state->is_spare[node]) {
            spares[out->spare_count++] = node;
            memset(state->uses + (size_t)node * (size_t)per_node, MS_GPU_SPARE, (size_t)per_node);
        }
    }
    out->spares = spares;
    out->spare_gpus = out->spare_count * per_node;
    out->idle_gpus = ms_platform_gpus(state->platform) - state->ranks - out->spare_gpus;
    return MS_OK;
}

/* Mark all GPUs by their use, once the ranks are placed. */
static ms_status mark_rest(placement_state *state, ms_rank_placement *out) {
    mark_used(state);
    ms_status status =
        state->choice->spare_count > 0 ? mark_last_nodes(state) : check_spares(state);
    return status == MS_OK ? list_spares(state, out) : status;
}

/* Named spares are marked before the ranks are placed, counted ones after, when it is known which
 * nodes have no rank. */
ms_status ms_placement_make(const ms_rank_placement_choice *choice, const ms_platform *platform,
                            int ranks, ms_arena *arena, ms_diag *diag,
                            ms_rank_placement *placement_out) {
    placement_state state = {
        .choice = choice, .platform = platform, .ranks = ranks, .arena = arena, .diag = diag};
    ms_rank_placement placement = {.ranks = ranks};
    if (!choice->is_given) {
        *placement_out = placement;
        return MS_OK;
    }
    state.gpus = MS_NEW(arena, int, ranks);
    state.uses = MS_NEW(arena, uint8_t, ms_platform_gpus(platform));
    state.has_rank = MS_NEW(arena, bool, platform->nodes);
    state.is_spare = MS_NEW(arena, bool, platform->nodes);
    if (state.gpus == NULL || state.uses == NULL || state.has_rank == NULL ||
        state.is_spare == NULL) {
        return MS_E_NOMEM;
    }
    ms_status status = mark_named_spares(&state);
    if (status == MS_OK) {
        status = choice->file != NULL ? ms_placement_file(choice, platform, ranks, arena, diag,
                                                          state.gpus, &placement.text)
                                      : place_by_nodes(&state);
    }
    status = status == MS_OK ? mark_rest(&state, &placement) : status;
    if (status == MS_OK) {
        placement.gpus = state.gpus;
        placement.uses = state.uses;
        *placement_out = placement;
    }
    return status;
}
