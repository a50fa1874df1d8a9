/**
 * @file
 * A workload made from a Hugging Face config: the config gives the model, and a framework is
 * assumed, because no config names the software that trains the model.
 */
#ifndef MESHSIM_CONFIG_WORKLOAD_H
#define MESHSIM_CONFIG_WORKLOAD_H

#include "base/arena.h"
#include "base/config/config.h"
#include "base/config/source_keys.h"
#include "base/diag.h"
#include "base/status.h"

/** A workload, and the keys that it was made from. */
typedef struct ms_config_workload {
    ms_node *root;       /**< a workload's tree: `model` and assumed keys */
    ms_source_keys keys; /**< each key of the config: used, assumed, ignored or unknown */
    const char *remarks; /**< comments for the workload's file, lines that begin with '#' */
} ms_config_workload;

/** Read a Hugging Face config as a workload. Its model is not checked.
 *  path: of the config or of its folder. data_folder: as for ms_hf_load_types. *workload_out: in
 * `arena`; each node of the model has the line and column of the config's key that it follows from.
 * Returns MS_OK; MS_E_INPUT with every fault reported; MS_E_IO; MS_E_NOMEM. */
ms_status ms_config_workload_read(const char *path, const char *data_folder, ms_arena *arena,
                                  ms_diag *diag, ms_config_workload *workload_out);

/** Add the usual framework to a workload that names none: Megatron Core, with sequence parallelism
 * where the model allows it.
 *  workload: its `root` holds the model and gets the keys; its `remarks` get a comment. Returns
 * MS_OK; MS_E_NOMEM (reported). */
ms_status ms_config_workload_assume(ms_config_workload *workload, ms_arena *arena, ms_diag *diag);

#endif
