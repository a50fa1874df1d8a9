/**
 * @file
 * Slurm's topology.conf: which nodes share a switch or a block, and how many layers of switches
 * join them.
 *
 * Source: Slurm, topology.conf(5), topology/tree and topology/block.
 */
#ifndef MESHSIM_SLURM_H
#define MESHSIM_SLURM_H

#include <stdbool.h>

#include "meshsim/arena.h"
#include "meshsim/config.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/source_keys.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

/** Nodes of a file, at most. */
enum { MS_SLURM_NODES_MAX = 1 << 17 };

/** What a topology.conf says. */
typedef struct ms_slurm_topology {
    bool has_blocks;    /**< topology/block; else topology/tree */
    int nodes;          /**< of the tree, or of all blocks */
    int layers;         /**< of switches, 1 to 3; of blocks 1, and 2 where BlockSizes groups them */
    int nodes_per_leaf; /**< below a leaf switch, or of a block */
    int leaves_per_pod; /**< leaf switches below one of the second layer, or blocks of a group; of
                           one layer all */
    int rails;          /**< leaf switches side by side that have the same nodes */
    ms_mark nodes_mark; /**< the first list of nodes */
    ms_mark pod_mark;   /**< what says leaves_per_pod; without a file where there is one layer */
    const char *remarks; /**< what of it a platform cannot say, lines that begin with '#'; "" */
} ms_slurm_topology;

/** The hosts that a list of Slurm's names, such as "node[001-064,070],login1"; ranges keep their
 * leading zeros.
 *  place: where it stands; NULL: nowhere.  *hosts_out: in `arena`.  Returns MS_OK; MS_E_INPUT
 * (reported) for what is no list, or one of more than MS_SLURM_NODES_MAX; MS_E_NOMEM.  O(hosts). */
ms_status ms_slurm_hosts(const char *list, const ms_mark *place, ms_arena *arena, ms_diag *diag,
                         ms_words *hosts_out);

/** Read a topology.conf.
 *  text: its name must outlive the marks.  keys: what became of its parameters; NULL: nobody asks.
 * *topology_out: in `arena`.  Returns MS_OK; MS_E_INPUT, every fault reported; MS_E_NOMEM. */
ms_status ms_slurm_read(const ms_text *text, ms_arena *arena, ms_diag *diag, ms_source_keys *keys,
                        ms_slurm_topology *topology_out);

MS_END_DECLS

#endif
