/* The rollback journal beside a store. */
#ifndef MESHSIM_STUDY_STORE_JOURNAL_H
#define MESHSIM_STUDY_STORE_JOURNAL_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"

/** Check, before SQLite opens a store, that the journal beside it, if there is one, is such as a
 * store's process leaves.  store: path of the store's file.
 *  Returns MS_OK; MS_E_INPUT where the journal makes SQLite delete another file; MS_E_NOMEM (both
 * reported). */
ms_status ms_store_check_journal(const char *store, ms_arena *arena, ms_diag *diag);

#endif
