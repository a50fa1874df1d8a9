/* `meshsim import kineto`. */
#ifndef MS_CLI_IMPORT_KINETO_H
#define MS_CLI_IMPORT_KINETO_H

#include "cli/cli.h"

ms_status ms_cli_import_kineto(const ms_invocation *call);

#endif
