/* Reports faults at the key of the workload that they belong to. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "job/spec.h"

enum { MESSAGE_MAX = 1536 };

/* Report a fault of a spec at the place of a key in its file. A spec without a file gives no place,
 * only the key. */
ms_status ms_spec_fault(const ms_job_spec *spec, ms_diag *diag, const char *key_path,
                        const char *format, ...) {
    char message[MESSAGE_MAX];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    const ms_node *node = ms_node_at(spec->source.root, key_path, NULL);
    return ms_config_fault(diag, node, key_path, "%s", message);
}

/* Report a message of a layer that knows no keys: one that names no place goes to ms_spec_fault,
 * with the key's place. A message with a place is handed on as it is. context: an ms_key_diag. */
static void pass_on(void *context, const char *text) {
    static const char PREFIX[] = "meshsim: error: ";
    const ms_key_diag *key_diag = context;
    if (strncmp(text, PREFIX, sizeof PREFIX - 1) != 0) {
        key_diag->to->errors++; /* the inner diagnostics have counted it for themselves alone */
        key_diag->to->write(key_diag->to->context, text);
        return;
    }
    text += sizeof PREFIX - 1;
    ms_spec_fault(key_diag->spec, key_diag->to, key_diag->key_path, "%.*s",
                  (int)strcspn(text, "\n"), text);
}

void ms_key_diag_init(ms_key_diag *key_diag, const ms_job_spec *spec, const char *key_path,
                      ms_diag *to) {
    *key_diag = (ms_key_diag){.to = to, .spec = spec, .key_path = key_path};
    ms_diag_init(&key_diag->diag, pass_on, key_diag);
}
