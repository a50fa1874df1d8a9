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

/** Refuse sizes and choices of `moe:` and `mla:` that exclude each other. mapping: of the model,
 * for the places of keys; may be NULL. Returns MS_OK; MS_E_INPUT, every fault reported. */
ms_status ms_moe_read_check(const ms_node *mapping, const char *key_path, ms_diag *diag,
                            const ms_model *model);

#endif
