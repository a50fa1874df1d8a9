/**
 * @file
 * The legal mesh nearest to one that makes no job: what a message about a wrong mesh proposes.
 */
#ifndef MESHSIM_NEAREST_MESH_H
#define MESHSIM_NEAREST_MESH_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "job/spec.h"

/** Find the mesh of all GPUs of the platform that differs least from the job's, makes a legal job
 * and fits in memory. The distance is the number of doublings and halvings of the sizes, where
 * those of dp count a quarter; it is below 4. Each mesh that could be the nearest is tried: the job
 * is read with the overrides and laid out.
 *  spec: as ms_job_spec_read left it; a `placement` finds nothing, as it may leave GPUs idle.
 * *sets_out: overrides "key.path=value" that make the mesh, in `arena`; count 0: the job's own mesh
 * does.  *is_found_out: whether there is one; else *sets_out is empty.  Returns MS_OK; MS_E_IO;
 * MS_E_NOMEM (reported).  O(meshes * (stages + passes)). */
ms_status ms_nearest_mesh_find(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag,
                               ms_words *sets_out, bool *is_found_out);

#endif
