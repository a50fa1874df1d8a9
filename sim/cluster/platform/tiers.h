/* Reads the tiers of links in a platform file. */
#ifndef MS_PLATFORM_TIERS_H
#define MS_PLATFORM_TIERS_H

#include "base/config/config.h"
#include "cluster/platform/platform.h"

/* The row of a tier, whose key is a name that the user chose. */
extern const ms_field MS_TIER_ROW;

/* Read the mapping of tiers, innermost first, into platform->tiers.  Returns MS_OK; MS_E_INPUT,
 * each fault reported; MS_E_NOMEM. */
ms_status ms_tiers_read(const ms_node *tiers, ms_arena *arena, ms_diag *diag,
                        ms_platform *platform);

/* Replace a tier "*" among the overrides of a platform's document by a mapping for each tier of the
 * document. Overrides keep their order: those behind "*" win over it, and it wins over those
 * before.
 *  root: the document.  *overrides: becomes a copy in `arena` if there is such a tier; may be NULL.
 * Returns MS_OK; MS_E_NOMEM (not reported). */
ms_status ms_tiers_spread(const ms_node *root, const ms_node **overrides, ms_arena *arena);

/* Refuse tiers among the overrides of a platform's document whose name is misspelt: the document
 * lacks it but has a similar one. Otherwise the override would add a new, outermost tier.  root:
 * the document.  Returns MS_OK; MS_E_INPUT, each reported. */
ms_status ms_tiers_check_names(const ms_node *root, const ms_node *overrides, ms_diag *diag);

#endif
