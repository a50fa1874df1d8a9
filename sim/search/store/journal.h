/* The rollback journal beside a store. */
#ifndef MESHSIM_STUDY_STORE_JOURNAL_H
#define MESHSIM_STUDY_STORE_JOURNAL_H

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"

/** Check the journal beside a store, if there is one, before SQLite opens the store: it must be one
 * that a process of this program leaves when it is killed.
 *  store: path of the store's file. Returns MS_OK; MS_E_INPUT where the journal would make SQLite
 * delete another file; MS_E_NOMEM (both reported). */
ms_status ms_store_check_journal(const char *store, ms_arena *arena, ms_diag *diag);

#endif
