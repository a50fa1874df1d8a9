/**
 * @file
 * Placement: which GPU each rank of a job sits on.
 *
 * Without one, rank r sits on GPU r and the job takes every GPU of its platform. With one it may
 * take a part of it: ranks fill the platform in order, or the nodes of a list, or sit where a file
 * puts them; nodes may be kept as spares, and what is left is idle. A placement only makes the
 * table of GPUs; the mesh carries it (ms_mesh.devices), and ms_mesh_device() is how every rank
 * becomes a GPU.
 */
#ifndef MESHSIM_PLACEMENT_H
#define MESHSIM_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/config/config.h"
#include "base/diag.h"
#include "base/status.h"
#include "cluster/platform/platform.h"

/** What a job asks for. Numbers are checked against a platform and a number of ranks by
 * ms_placement_make only, so the same choice goes with other meshes. */
typedef struct ms_rank_placement_choice {
    bool is_given;      /**< otherwise the job takes every GPU, rank r GPU r */
    bool is_cyclic;     /**< neighbouring ranks on different nodes; else on one, as long as it has
                           GPUs */
    ms_ints nodes;      /**< in the order in which they are filled; count 0: all but the spares */
    ms_ints spares;     /**< nodes kept free; count 0: none named */
    int spare_count;    /**< so many nodes kept free, the last ones without a rank; 0: none */
    const char *file;   /**< CSV file that places every rank; NULL: none */
    const char *folder; /**< where a relative file starts; NULL: the current one */
} ms_rank_placement_choice;

/** Where the ranks of a job sit. */
typedef struct ms_rank_placement {
    int ranks;
    const int *gpus;     /**< [ranks] GPU of each rank; NULL: rank r on GPU r */
    const uint8_t *uses; /**< [GPUs of the platform] ms_gpu_use of each; NULL: all are used */
    const int *spares;   /**< [spare_count] spare nodes, ascending */
    int spare_count;
    const char *text; /**< the file that placed the ranks; NULL: none did */
    int idle_gpus;    /**< GPUs without a rank that are on no spare node */
    int spare_gpus;   /**< GPUs of the spare nodes */
} ms_rank_placement;

/** The keys of `placement:` in a workload, for listings. */
extern const ms_field MS_PLACEMENT_FIELDS[];

/** Read the mapping `placement`, with the keys `nodes`, `order`, `file` and `spares`.
 *  mapping: NULL gives the choice of a job without the key.  folder: where a relative `file`
 * starts; borrowed, NULL: the current one.  *choice_out: borrows from mapping and arena.  Returns
 * MS_OK; MS_E_INPUT, every fault reported; MS_E_NOMEM. */
ms_status ms_placement_read(const ms_node *mapping, const char *folder, ms_arena *arena,
                            ms_diag *diag, ms_rank_placement_choice *choice_out);

/** The mapping that reads as a choice.  *mapping_out: in `arena`; NULL where none is given. Returns
 * MS_OK; MS_E_NOMEM. */
ms_status ms_placement_write(const ms_rank_placement_choice *choice, ms_arena *arena,
                             ms_node **mapping_out);

/** Place so many ranks.
 *  ranks: >= 1.  diag: faults have a place only if they are in a file of ranks.  *placement_out: in
 * `arena`.  Returns MS_OK; MS_E_INPUT (reported: more ranks than
 * GPUs, numbers that the platform does not have or that stand twice, a spare node with a rank, a
 * file that misses a rank); MS_E_IO; MS_E_NOMEM.  O(GPUs). */
ms_status ms_placement_make(const ms_rank_placement_choice *choice, const ms_platform *platform,
                            int ranks, ms_arena *arena, ms_diag *diag,
                            ms_rank_placement *placement_out);

#endif
