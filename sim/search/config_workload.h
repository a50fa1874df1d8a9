/**
 * @file
 * What a Hugging Face config gives a workload: the model, and a framework that no config names.
 */
#ifndef MESHSIM_CONFIG_WORKLOAD_H
#define MESHSIM_CONFIG_WORKLOAD_H

#include "base/arena.h"
#include "base/config/config.h"
#include "base/config/source_keys.h"
#include "base/diag.h"
#include "base/status.h"

/** Keys of a workload, and what they come from. */
typedef struct ms_config_workload {
    ms_node *root;       /**< a workload's tree with `model` and what is assumed beside it */
    ms_source_keys keys; /**< the keys of the config, and what became of each */
    const char *remarks; /**< comments for the workload's file, lines that begin with '#' */
} ms_config_workload;

/** Read a Hugging Face config. The model that it gives is not checked.
 *  path: of the config or of its folder.  data_folder: as for ms_hf_load_types.  *workload_out: in
 * `arena`; each node of its tree has the line and column of the key of the config that it follows
 * from.  Returns MS_OK; MS_E_INPUT, every fault reported; MS_E_IO; MS_E_NOMEM. */
ms_status ms_config_workload_read(const char *path, const char *data_folder, ms_arena *arena,
                                  ms_diag *diag, ms_config_workload *workload_out);

/** Add the usual framework to a workload that names none: Megatron Core, with sequence parallelism
 * where the model can have it.
 *  workload: its `root` holds the model and gets the keys.  Returns MS_OK; MS_E_NOMEM
 * (reported). */
ms_status ms_config_workload_assume(ms_config_workload *workload, ms_arena *arena, ms_diag *diag);

#endif
