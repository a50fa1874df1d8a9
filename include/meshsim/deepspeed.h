/**
 * @file
 * DeepSpeed's JSON configuration, said again as keys of a workload.
 */
#ifndef MESHSIM_DEEPSPEED_H
#define MESHSIM_DEEPSPEED_H

#include <stddef.h>

#include "meshsim/arena.h"
#include "meshsim/buffer.h"
#include "meshsim/config.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/source_keys.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

/** A key of a workload. */
typedef struct ms_deepspeed_setting {
    const char *key; /**< dotted path */
    const char
        *value; /**< YAML flow text; NULL: the configuration does not say it, it is required */
    const char *what; /**< of one that is required: what it follows from; else NULL */
    ms_mark mark;     /**< of what decided it; file NULL: a default */
} ms_deepspeed_setting;

/** A job in keys of a workload. */
typedef struct ms_deepspeed_job {
    ms_vector settings;  /**< ms_deepspeed_setting */
    ms_source_keys keys; /**< what became of each key of the configuration */
    ms_buffer remarks;   /**< lines of comments: what is simulated otherwise, what is not known */
} ms_deepspeed_job;

/** Start with none; nothing is allocated. */
void ms_deepspeed_job_init(ms_deepspeed_job *job);
/** Free lists and texts of a job; what settings point at is in the arena. */
void ms_deepspeed_job_release(ms_deepspeed_job *job);

/** Say a configuration as keys of a workload, DeepSpeed's own defaults where it leaves something
 * out. Values "auto" are those that a trainer (Transformers, Accelerate) fills in: what it fills in
 * from its own arguments is required.
 *  config: a mapping, as ms_config_load_json gives it.  hidden: size of the model, by which
 * Transformers fills in buckets; 0: not known.  *job: added to; its texts live in `arena`.
 *  Returns MS_OK; MS_E_INPUT where values are wrong or contradict each other, every fault reported
 * with its place; MS_E_NOMEM.  O(keys).
 *  Source: deepspeedai/DeepSpeed, its page "DeepSpeed Configuration JSON";
 * deepspeed.runtime.config, deepspeed.runtime.zero.config, deepspeed.runtime.engine
 * (get_data_types). */
ms_status ms_deepspeed_translate(const ms_node *config, int hidden, ms_arena *arena, ms_diag *diag,
                                 ms_deepspeed_job *job);

MS_END_DECLS

#endif
