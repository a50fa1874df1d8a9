/* A mesh to begin with: the fastest by the estimate of those that a rule of thumb proposes. */
#ifndef MS_CLI_NEW_MESH_H
#define MS_CLI_NEW_MESH_H

#include "cli/cli.h"
#include "cluster/platform/platform.h"
#include "estimate/estimate.h"
#include "job/spec.h"

/** A job whose mesh is open. */
typedef struct ms_new_job {
    ms_job_request base; /**< its sets say all but mesh, recompute and data_parallel */
    int gpus, gpus_per_node;
    int batch; /**< sequences of a step */
} ms_new_job;

/** What was chosen for it. */
typedef struct ms_new_mesh {
    ms_words sets; /**< overrides of mesh, recompute, data_parallel and schedule.partition */
    ms_spec_estimate estimate;
} ms_new_mesh;

/** Choose it: every tp of a power of two within a node, every pp and ep that divide what is left,
 * with and without recomputation, optimizer states sharded, parameters too where nothing else fits.
 *  *mesh_out: in call->arena; of those that fit in memory the one with the shortest estimated step,
 * where none does the one that needs least.  Returns MS_OK; MS_E_INPUT (reported, why the first was
 * refused) when no mesh makes a job; MS_E_NOMEM.  O(candidates). */
ms_status ms_cli_new_mesh(const ms_invocation *call, const ms_new_job *job, ms_new_mesh *mesh_out);

#endif
