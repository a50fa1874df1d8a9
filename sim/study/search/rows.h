/* The best candidates, in order, and what is said of them. */
#ifndef MS_STUDY_SEARCH_ROWS_H
#define MS_STUDY_SEARCH_ROWS_H

#include "meshsim/search.h"

/* Sort rows by their steps, equal ones by their settings, which are filled in.  Returns MS_OK;
 * MS_E_NOMEM. */
ms_status ms_search_sort(const ms_space *space, ms_search_row *rows, size_t count, ms_arena *arena);

/* Of sorted rows keep those that no other is better than by both of its values, in their order.
 *  Returns how many these are. */
size_t ms_search_keep_front(ms_search_row *rows, size_t count);

/* Fill in a row's spec and what limits it.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_search_describe(ms_space *space, ms_search_row *row, ms_arena *arena, ms_diag *diag);

#endif
