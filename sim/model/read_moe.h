/*
 * Tables of `moe:` and `mla:`, and what follows from them.
 */
#ifndef MESHSIM_MODEL_READ_MOE_H
#define MESHSIM_MODEL_READ_MOE_H

#include "model/model.h"

/** `moe:` as it is read. */
typedef struct ms_moe_text {
    ms_moe moe;
    int router, dispatch, combine, kept, overlap, imbalance; /**< indices of words */
} ms_moe_text;

/** For an ms_moe_text, and an ms_mla. */
extern const ms_field MS_MOE_FIELDS[], MS_MLA_FIELDS[];

/** Move what was read into the model and fill sizes that follow from others. Comes after the
 * model's own sizes are read and before its defaults are. */
void ms_moe_defaults(const ms_moe_text *text, ms_model *model);

/** The keys that say it. */
ms_moe_text ms_moe_text_of(const ms_moe *moe);

/** Refuse what clashes.  mapping: the model's.  Returns MS_OK; MS_E_INPUT, every fault reported. */
ms_status ms_moe_read_check(const ms_node *mapping, const char *key_path, ms_diag *diag,
                            const ms_model *model);

#endif
