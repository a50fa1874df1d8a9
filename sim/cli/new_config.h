/* What a Hugging Face config gives a workload, for `import hf`. */
#ifndef MS_CLI_NEW_CONFIG_H
#define MS_CLI_NEW_CONFIG_H

#include "cli/cli.h"

/** Print the keys that the config of --model gives a workload, with their places, and what became
 * of each of the config's own keys, as one JSON object. The model is not checked: a key that it
 * lacks may be given later.  Returns MS_OK; MS_E_INPUT, every fault reported; MS_E_IO; MS_E_NOMEM.
 */
ms_status ms_cli_print_config(const ms_invocation *call);

#endif
