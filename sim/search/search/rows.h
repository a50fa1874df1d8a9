/* The best candidates, in order, and what is said of them. */
#ifndef MS_STUDY_SEARCH_ROWS_H
#define MS_STUDY_SEARCH_ROWS_H

#include "search/search.h"

/* Make the lists of what was found: the best ones in their order, and the others up to as many as
 * the study wants to know of.
 *  rows: [counts[1]] of which the first counts[0] were simulated, without settings, specs and what
 * limits them; they are brought into order, and belong to the result.  Returns MS_OK; MS_E_NOMEM,
 * not reported. */
ms_status ms_search_make_rows(const ms_search_study *study, ms_search_row *rows,
                              const size_t counts[2], ms_arena *arena, ms_diag *diag,
                              ms_search_findings *result);

#endif
