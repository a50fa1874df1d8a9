/**
 * @file
 * Placement: the GPU on which each rank of a job runs.
 *
 * Without a placement, rank r runs on GPU r and the job takes every GPU of its platform. With one,
 * the job may take a part of the platform: ranks fill its nodes in order, or the nodes of a list,
 * or run where a file puts them. Nodes may be kept free as spares, and GPUs that remain are idle. A
 * placement only makes the table with the GPU of each rank; the mesh has the table
 * (ms_mesh.devices), and ms_mesh_device() converts every rank to its GPU.
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

/** The placement that a user asks for. Its numbers are checked by ms_placement_make, for one
 * platform and number of ranks, so that the same choice can be tried with other meshes. */
typedef struct ms_rank_placement_choice {
    bool is_given;      /**< otherwise the job takes every GPU, rank r GPU r */
    bool is_cyclic;     /**< the next rank is on the next node; else a node is filled first */
    ms_ints nodes;      /**< nodes in the order in which they are filled; count 0: all but spares */
    ms_ints spares;     /**< nodes that are kept free; count 0: none are named */
    int spare_count;    /**< so many of the last nodes without a rank are kept free; 0: none */
    const char *file;   /**< CSV file that places every rank; NULL: none */
    const char *folder; /**< to which a relative `file` refers; NULL: the current one */
} ms_rank_placement_choice;

/** The GPU of each rank of a job, and what the job uses each GPU for. */
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
 *  mapping: NULL gives the choice of a job without the key.  folder: to which a relative `file`
 * refers; borrowed, NULL: the current one.  *choice_out: borrows from mapping and arena.  Returns
 * MS_OK; MS_E_INPUT, every fault reported; MS_E_NOMEM. */
ms_status ms_placement_read(const ms_node *mapping, const char *folder, ms_arena *arena,
                            ms_diag *diag, ms_rank_placement_choice *choice_out);

/** Write a choice as the mapping that ms_placement_read reads back.  *mapping_out: in `arena`; NULL
 * where the choice is not given.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_placement_write(const ms_rank_placement_choice *choice, ms_arena *arena,
                             ms_node **mapping_out);

/** Place the ranks of a job on a platform.
 *  ranks: number of ranks, >= 1.  diag: faults have a place only if they are in a file of ranks.
 * *placement_out: in `arena`.  Returns MS_OK; MS_E_INPUT (reported: more ranks than GPUs, numbers
 * that the platform does not have or that are named twice, a spare node with a rank, a file that
 * lacks a rank); MS_E_IO; MS_E_NOMEM.  O(GPUs). */
ms_status ms_placement_make(const ms_rank_placement_choice *choice, const ms_platform *platform,
                            int ranks, ms_arena *arena, ms_diag *diag,
                            ms_rank_placement *placement_out);

#endif
