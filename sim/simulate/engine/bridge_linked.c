/* SimGrid's side of the bridge where it is linked: in the library libmeshsim, and so in programs
 * that link the library. The program meshsim has bridge_loaded.c in its place. */
#include "simulate/engine/bridge_table.h"

extern const ms_bridge_table ms_bridge_simgrid; /* bridge.cpp */

// NOLINTNEXTLINE(readability-non-const-parameter): the other side of this function writes there
const ms_bridge_table *ms_bridge_open(char *cause_out, size_t size) {
    (void)cause_out;
    (void)size;
    return &ms_bridge_simgrid;
}
