/**
 * @file
 * A run that goes on in a process of its own once it needs SimGrid, whose engine runs once per
 * process.
 */
#ifndef MESHSIM_ENGINE_APART_H
#define MESHSIM_ENGINE_APART_H

#include <stdbool.h>

#include "meshsim/diag.h"
#include "meshsim/status.h"

typedef struct ms_apart {
    ms_status *status; /**< in memory that both processes see: what the other came to */
    bool is_split;     /**< the other process was started */
    bool is_other;     /**< this is the other process */
} ms_apart;

/** Before SimGrid starts: go on in another process.
 *  Returns MS_OK in that one; in this one, once the other has ended, MS_E_NO: the run is over here;
 *  MS_E_IO where the system starts no process. */
ms_status ms_apart_split(ms_apart *apart);

#endif
