/* The functions of SimGrid's side of the bridge as one table, which the C side (bridge.c) gets by
 * linking or by loading.
 *
 * SimGrid and the libraries it needs take 20 ms to load, longer than most commands run. So the
 * program is not linked with it: bridge.cpp is a module that is opened when a run first needs it
 * (bridge_loaded.c). Programs that link libmeshsim contain bridge.cpp (bridge_linked.c). Which of
 * the two files is linked decides between these ways; bridge.md gives the reasons. */
#ifndef MESHSIM_ENGINE_BRIDGE_TABLE_H
#define MESHSIM_ENGINE_BRIDGE_TABLE_H

#include <stddef.h>

#include "simulate/engine/bridge.h"

/** Version of the table; to be raised with any change of ms_bridge_table or ms_bridge_setup, so
 * that a module of another build is refused. */
enum { MS_BRIDGE_LAYOUT = 5 };

/** The table that bridge.cpp defines. Each function is described in bridge.h, under ms_bridge_. */
typedef struct ms_bridge_table {
    int layout; /**< MS_BRIDGE_LAYOUT */
    ms_status (*start)(const ms_bridge_setup *setup);
    ms_status (*tick)(double date_s);
    ms_status (*flow)(uint64_t payload, const int32_t *route, int32_t count, int32_t token);
    ms_status (*run)(void);
    double (*clock_s)(void);
    const char *(*error)(void);
} ms_bridge_table;

/** Open SimGrid's side.  Returns its table; NULL where it cannot be opened.  cause_out: [size] the
 * reason in words if NULL is returned. */
const ms_bridge_table *ms_bridge_open(char *cause_out, size_t size);

#endif
