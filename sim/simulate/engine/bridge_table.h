/*
 * SimGrid's side of the bridge as one table of functions, which the other side gets by linking or
 * by loading.
 *
 * SimGrid and what it stands on take 20 ms to load, more than most commands run. So the program is
 * not linked with it: bridge.cpp is a module of its own that is opened when a run first needs it
 * (bridge_loaded.c). Whoever links the library has bridge.cpp in it (bridge_linked.c). Which of the
 * two files is linked decides; bridge.md says why.
 */
#ifndef MESHSIM_ENGINE_BRIDGE_TABLE_H
#define MESHSIM_ENGINE_BRIDGE_TABLE_H

#include <stddef.h>

#include "simulate/engine/bridge.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Changes with any change of the table or of ms_bridge_setup, so that no other build's module is
 * taken. */
enum { MS_BRIDGE_LAYOUT = 5 };

/** What bridge.cpp defines; see bridge.h, where each function is described. */
typedef struct ms_bridge_table {
    int layout; /**< MS_BRIDGE_LAYOUT */
    ms_status (*start)(const ms_bridge_setup *setup);
    ms_status (*tick)(double date_s);
    ms_status (*flow)(uint64_t payload, const int32_t *route, int32_t count, int32_t token);
    ms_status (*run)(void);
    double (*clock_s)(void);
    const char *(*error)(void);
} ms_bridge_table;

/** The table of SimGrid's side. *cause_out: [size] where there is none, why.  Returns NULL then. */
const ms_bridge_table *ms_bridge_open(char *cause_out, size_t size);

#ifdef __cplusplus
}
#endif

#endif
