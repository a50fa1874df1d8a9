/* Makes a placement (placement.h): lists the nodes to be filled, or reads a file, and stores the
 * GPU of each rank; then marks every GPU of the platform as used, idle or spare. */
#include <string.h>

#include "cluster/placement/file.h"

/* The state of making a placement. */
typedef struct making {
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
} making;

/* ---- nodes ---- */

/* Mark the spare nodes that the user names.  Returns MS_OK; MS_E_INPUT (reported). */
static ms_status mark_named_spares(making *m) {
    const ms_ints *spares = &m->choice->spares;
    for (size_t i = 0; i < spares->count; i++) {
        int node = spares->items[i];
        if (node >= m->platform->nodes) {
            return ms_diag_error(m->diag, "no spare node %d: the platform '%s' has 0 to %d", node,
                                 m->platform->name, m->platform->nodes - 1);
        }
        if (m->is_spare[node]) {
            return ms_diag_error(m->diag, "spare node %d stands twice", node);
        }
        m->is_spare[node] = true;
    }
    return MS_OK;
}

/* List all nodes but the spares as nodes to fill. Where only the number of spares is given, the
 * last nodes are left out. */
static void list_free_nodes(making *m) {
    for (int node = 0; node < m->platform->nodes - m->choice->spare_count; node++) {
        if (!m->is_spare[node]) {
            m->nodes[m->node_count++] = node;
        }
    }
}

/* List the nodes that the user names as nodes to fill.  Returns MS_OK; MS_E_INPUT (reported) for a
 * node that does not exist, is named twice or is a spare; MS_E_NOMEM. */
static ms_status list_named_nodes(making *m) {
    const ms_ints *nodes = &m->choice->nodes;
    bool *is_listed = MS_NEW(m->arena, bool, m->platform->nodes);
    if (is_listed == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < nodes->count; i++) {
        int node = nodes->items[i];
        if (node >= m->platform->nodes) {
            return ms_diag_error(m->diag, "no node %d: the platform '%s' has 0 to %d", node,
                                 m->platform->name, m->platform->nodes - 1);
        }
        if (is_listed[node]) {
            return ms_diag_error(m->diag, "node %d stands twice", node);
        }
        if (m->is_spare[node]) {
            return ms_diag_error(m->diag, "node %d is a spare", node);
        }
        is_listed[node] = true;
        m->nodes[m->node_count++] = node;
    }
    return MS_OK;
}

/* Place rank after rank on the nodes of the list: a node is filled before the next, or with
 * is_cyclic the next rank is on the next node. */
static ms_status fill_nodes(making *m) {
    int per_node = m->platform->gpus_per_node;
    int64_t room = (int64_t)m->node_count * per_node;
    if (m->ranks > room) {
        bool has_spares = m->choice->spare_count > 0 || m->choice->spares.count > 0;
        return ms_diag_error(
            m->diag, "%d rank%s not fit on %d node%s of %d GPUs%s", m->ranks,
            m->ranks == 1 ? " does" : "s do", m->node_count, ms_plural(m->node_count), per_node,
            m->choice->nodes.count == 0 && has_spares ? ", the others are spares" : "");
    }
    for (int rank = 0; rank < m->ranks; rank++) {
        int node = m->choice->is_cyclic ? rank % m->node_count : rank / per_node;
        int slot = m->choice->is_cyclic ? rank / m->node_count : rank % per_node;
        m->gpus[rank] = m->nodes[node] * per_node + slot;
    }
    return MS_OK;
}

/* Place the ranks on nodes, all or those of a list, without a file. */
static ms_status place_by_nodes(making *m) {
    ms_status status = MS_OK;
    m->nodes = MS_NEW(m->arena, int, m->platform->nodes);
    if (m->nodes == NULL) {
        return MS_E_NOMEM;
    }
    if (m->choice->nodes.count > 0) {
        status = list_named_nodes(m);
    } else {
        list_free_nodes(m);
    }
    return status == MS_OK ? fill_nodes(m) : status;
}

/* ---- spare and idle GPUs ---- */

/* Mark GPUs and nodes with a rank. */
static void mark_used(making *m) {
    memset(m->uses, MS_GPU_IDLE, (size_t)ms_platform_gpus(m->platform));
    for (int rank = 0; rank < m->ranks; rank++) {
        m->uses[m->gpus[rank]] = MS_GPU_USED;
        m->has_rank[ms_platform_node(m->platform, m->gpus[rank])] = true;
    }
}

/* Mark spares of which only the number is given: the last nodes without a rank. */
static ms_status mark_last_nodes(making *m) {
    int wanted = m->choice->spare_count;
    int found = 0;
    for (int node = m->platform->nodes - 1; node >= 0 && found < wanted; node--) {
        if (!m->has_rank[node]) {
            m->is_spare[node] = true;
            found++;
        }
    }
    return found == wanted
               ? MS_OK
               : ms_diag_error(m->diag, "%d spare nodes, but %d rank%s leave %d of %d free", wanted,
                               m->ranks, ms_plural(m->ranks), found, m->platform->nodes);
}

/* Check that no rank is on a named spare node. Only a file can put one there, because the nodes to
 * fill exclude the spares. */
static ms_status check_spares(making *m) {
    for (int rank = 0; rank < m->ranks; rank++) {
        int node = ms_platform_node(m->platform, m->gpus[rank]);
        if (m->is_spare[node]) {
            return ms_diag_error(m->diag, "node %d is a spare, but '%s' puts rank %d on it", node,
                                 m->choice->file, rank);
        }
    }
    return MS_OK;
}

/* List the spare nodes, mark their GPUs, and count spare and idle GPUs. */
static ms_status list_spares(making *m, ms_rank_placement *out) {
    int per_node = m->platform->gpus_per_node;
    int *spares = MS_NEW(m->arena, int, m->platform->nodes);
    if (spares == NULL) {
        return MS_E_NOMEM;
    }
    for (int node = 0; node < m->platform->nodes; node++) {
        if (m->is_spare[node]) {
            spares[out->spare_count++] = node;
            memset(m->uses + (size_t)node * (size_t)per_node, MS_GPU_SPARE, (size_t)per_node);
        }
    }
    out->spares = spares;
    out->spare_gpus = out->spare_count * per_node;
    out->idle_gpus = ms_platform_gpus(m->platform) - m->ranks - out->spare_gpus;
    return MS_OK;
}

/* Mark all GPUs by their use, once the ranks are placed. */
static ms_status mark_rest(making *m, ms_rank_placement *out) {
    mark_used(m);
    ms_status status = m->choice->spare_count > 0 ? mark_last_nodes(m) : check_spares(m);
    return status == MS_OK ? list_spares(m, out) : status;
}

ms_status ms_placement_make(const ms_rank_placement_choice *choice, const ms_platform *platform,
                            int ranks, ms_arena *arena, ms_diag *diag,
                            ms_rank_placement *placement_out) {
    making m = {
        .choice = choice, .platform = platform, .ranks = ranks, .arena = arena, .diag = diag};
    ms_rank_placement placement = {.ranks = ranks};
    if (!choice->is_given) {
        *placement_out = placement;
        return MS_OK;
    }
    m.gpus = MS_NEW(arena, int, ranks);
    m.uses = MS_NEW(arena, uint8_t, ms_platform_gpus(platform));
    m.has_rank = MS_NEW(arena, bool, platform->nodes);
    m.is_spare = MS_NEW(arena, bool, platform->nodes);
    if (m.gpus == NULL || m.uses == NULL || m.has_rank == NULL || m.is_spare == NULL) {
        return MS_E_NOMEM;
    }
    ms_status status = mark_named_spares(&m);
    if (status == MS_OK) {
        status = choice->file != NULL ? ms_placement_file(choice, platform, ranks, arena, diag,
                                                          m.gpus, &placement.text)
                                      : place_by_nodes(&m);
    }
    status = status == MS_OK ? mark_rest(&m, &placement) : status;
    if (status == MS_OK) {
        placement.gpus = m.gpus;
        placement.uses = m.uses;
        *placement_out = placement;
    }
    return status;
}
