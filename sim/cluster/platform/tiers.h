/* Tiers of links in a platform file. */
#ifndef MS_PLATFORM_TIERS_H
#define MS_PLATFORM_TIERS_H

#include "base/config/config.h"
#include "cluster/platform/platform.h"

/* A tier under its name. */
extern const ms_field MS_TIER_ROW;

/* Read the mapping of tiers, innermost first, into a platform.  Returns MS_OK; MS_E_INPUT, each
 * fault reported; MS_E_NOMEM. */
ms_status ms_tiers_read(const ms_node *tiers, ms_arena *arena, ms_diag *diag,
                        ms_platform *platform);

/* Replace a tier "*" among the overrides of a platform's document by a mapping for each tier of the
 * document. It counts after the tiers before it and before those after it.
 *  root: the document.  *overrides: a copy in `arena` where there is such a tier; may be NULL.
 * Returns MS_OK; MS_E_NOMEM (not reported). */
ms_status ms_tiers_spread(const ms_node *root, const ms_node **overrides, ms_arena *arena);

/* Refuse names among the overrides of a platform's document that are near to a tier's: a misspelt
 * one would become a new, outermost level.  root: the document.  Returns MS_OK; MS_E_INPUT, each
 * reported. */
ms_status ms_tiers_check_names(const ms_node *root, const ms_node *overrides, ms_diag *diag);

#endif
