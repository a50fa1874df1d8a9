/* Chooses a mesh to begin with, for `meshsim new`: of the meshes that a rule of thumb proposes, the
 * one with the shortest estimated step. */
#ifndef MS_CLI_NEW_MESH_H
#define MS_CLI_NEW_MESH_H

#include "cli/cli.h"
#include "cluster/platform/platform.h"
#include "estimate/estimate.h"
#include "job/spec.h"

/** A job whose mesh is not chosen yet. */
typedef struct ms_new_job {
    ms_job_request base; /**< its sets give all keys but mesh, recompute, data_parallel and
                              schedule.partition */
    int gpus;            /**< of the job: ranks of the mesh */
    int gpus_per_node;   /**< largest tp that is tried */
    int batch;           /**< sequences of a step; data-parallel degrees divide it */
} ms_new_job;

/** The mesh that was chosen. */
typedef struct ms_new_mesh {
    ms_words sets; /**< overrides of mesh, recompute, data_parallel and schedule.partition */
    ms_spec_estimate estimate; /**< of the job with these overrides */
} ms_new_mesh;

/** Choose a mesh. Candidates have every tp that is a power of two within a node, every pp that
 * divides the GPUs, every ep that is a power of two up to 64, and dp for the rest, each with and
 * without recomputation. Optimizer states are sharded (ZeRO 1); parameters too (ZeRO 3, without a
 * pipeline) where nothing else fits in memory.
 *
 * *mesh_out: in call->arena. Of the candidates that fit in memory it is the one with the shortest
 * estimated step; where none fits, the one with the smallest peak. Returns MS_OK; MS_E_INPUT
 * (reported, with the reason of the plainest mesh) when no candidate makes a job; MS_E_NOMEM
 * (reported); MS_E_IO. O(candidates). */
ms_status ms_cli_new_mesh(const ms_invocation *call, const ms_new_job *job, ms_new_mesh *mesh_out);

#endif
