/* The C side of the bridge to SimGrid (bridge.h): every call is passed on to the table of functions
 * of SimGrid's side, which the first call of ms_bridge_load opens. */
#include "simulate/engine/bridge.h"

#include "simulate/engine/bridge_table.h"

static const ms_bridge_table *the_table = NULL; /* SimGrid's side; NULL: not opened */
static char cause[512] = "";                    /* why it could not be opened */

ms_status ms_bridge_load(void) {
    the_table = the_table == NULL ? ms_bridge_open(cause, sizeof cause) : the_table;
    return the_table == NULL ? MS_E_IO : MS_OK;
}

ms_status ms_bridge_start(const ms_bridge_setup *setup) {
    ms_status status = ms_bridge_load();
    return status == MS_OK ? the_table->start(setup) : status;
}

ms_status ms_bridge_tick(double date_s) {
    return the_table->tick(date_s);
}

ms_status ms_bridge_flow(uint64_t payload, const int32_t *route, int32_t count, int32_t token) {
    return the_table->flow(payload, route, count, token);
}

ms_status ms_bridge_run(void) {
    return the_table->run();
}

double ms_bridge_clock_s(void) {
    return the_table == NULL ? 0.0 : the_table->clock_s(); /* 0 before SimGrid is started */
}

const char *ms_bridge_error(void) {
    return the_table == NULL ? cause : the_table->error();
}
