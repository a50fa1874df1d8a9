/* From Slurm's topology and NCCL's view of a node to the keys of a platform. */
#ifndef MS_SLURM_PLATFORM_H
#define MS_SLURM_PLATFORM_H

#include "meshsim/import.h"
#include "meshsim/nccl_topo.h"
#include "meshsim/slurm.h"

/* Fill root, open keys, remarks, summary and the assumed ones of `keys`.
 *  machine: NULL: not known.  Returns MS_OK; MS_E_INPUT (reported); MS_E_NOMEM (reported). */
ms_status ms_slurm_platform(const ms_slurm_topology *topology, const ms_nccl_machine *machine,
                            ms_arena *arena, ms_diag *diag, ms_imported *out);

#endif
