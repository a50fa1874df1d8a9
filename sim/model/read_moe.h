/* Tables of `moe:` and `mla:`, sizes that follow from their keys, and checks. */
#ifndef MESHSIM_MODEL_READ_MOE_H
#define MESHSIM_MODEL_READ_MOE_H

#include "model/model.h"

/** `moe:` as its table fills it. */
typedef struct ms_moe_text {
    ms_moe moe;
    int router, dispatch, combine, kept, overlap, imbalance; /**< indices of words */
} ms_moe_text;

/** Tables of `moe:`, for an ms_moe_text, and of `mla:`, for an ms_mla. */
extern const ms_field MS_MOE_FIELDS[], MS_MLA_FIELDS[];

/** Move what was read into the model, and fill in the sizes of experts that follow from others.
 * Called after the model's own sizes are read and before their defaults are set. */
void ms_moe_defaults(const ms_moe_text *text, ms_model *model);

/** The keys that ms_moe_defaults makes `moe` of, with its sizes as given. */
ms_moe_text ms_moe_text_of(const ms_moe *moe);

/** Where faults of a model's keys are reported. */
typedef struct ms_model_keys {
    const ms_node *mapping; /**< of the model, for the places of keys; NULL: no places are known */
    const char *key_path;   /**< of that mapping, such as "model"; "": the keys stand alone */
    ms_diag *diag;
} ms_model_keys;

/** Report a fault of a key, at the key's place in the file, or else that of the mapping that lacks
 * it. key: such as "heads" or "moe.top_k".  Returns MS_E_INPUT. */
ms_status ms_model_fault(const ms_model_keys *keys, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/** Refuse sizes and choices of `moe:` and `mla:` that exclude each other.  Returns MS_OK;
 * MS_E_INPUT, every fault reported. */
ms_status ms_moe_read_check(const ms_model_keys *keys, const ms_model *model);

#endif
