#include "job/relay.h"

#include <string.h>

static void relay_fault(void *context, const char *text) {
    static const char PREFIX[] = "meshsim: error: ";
    const ms_relay *to = context;
    if (strncmp(text, PREFIX, sizeof PREFIX - 1) != 0) {
        to->diag->write(to->diag->context, text);
        return;
    }
    text += sizeof PREFIX - 1;
    ms_config_fault(to->diag, to->node, to->path, "%.*s", (int)strcspn(text, "\n"), text);
}

void ms_relay_init(ms_diag *placed, ms_relay *relay) {
    ms_diag_init(placed, relay_fault, relay);
}
