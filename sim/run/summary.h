/* The result tree of `run --json`: every key of the contract. */
#ifndef MS_RUN_SUMMARY_H
#define MS_RUN_SUMMARY_H

#include "meshsim/job.h"

/* Build the tree of a finished result in `arena`. Returns MS_OK or MS_E_NOMEM. */
ms_status ms_summary_build(const ms_result *result, ms_arena *arena, ms_value **summary_out);

#endif
