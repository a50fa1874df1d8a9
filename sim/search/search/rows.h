/* The rows of a search's result: the best candidates in their order, with what limits each. */
#ifndef MS_STUDY_SEARCH_ROWS_H
#define MS_STUDY_SEARCH_ROWS_H

#include "search/search.h"

/* Make the lists of a result: the best candidates in their order, and other candidates, at most
 * study->rest_max.
 *  rows: [counts[1]], of which the first counts[0] were simulated, and the rest estimated, in their
 * order. They lack settings, specs and limits, which are filled in; they are sorted, and belong to
 * the result. *result: `rows` and `rest` are set. Returns MS_OK; MS_E_NOMEM (not reported); as
 * ms_space_spec. */
ms_status ms_search_make_rows(const ms_search_study *study, ms_search_row *rows,
                              const size_t counts[2], ms_arena *arena, ms_diag *diag,
                              ms_search_findings *result);

#endif
