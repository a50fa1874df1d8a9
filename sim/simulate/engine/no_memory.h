/* The engine's error message when memory runs out. */
#ifndef MESHSIM_ENGINE_NO_MEMORY_H
#define MESHSIM_ENGINE_NO_MEMORY_H

#include "base/diag.h"
#include "base/status.h"

/** Report that memory ran out.  Returns MS_E_NOMEM. */
static inline ms_status ms_engine_no_memory(ms_diag *diag) {
    ms_diag_error(diag, "out of memory while running the operation graph");
    return MS_E_NOMEM;
}

#endif
