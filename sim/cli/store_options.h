/* What commands share that keep results in a store. */
#ifndef MS_CLI_STORE_OPTIONS_H
#define MS_CLI_STORE_OPTIONS_H

#include "cli/cli.h"
#include "meshsim/store.h"

/* Rows every option table of such a command holds. */
#define MS_OPTION_STORE                                                                            \
    {                                                                                              \
        .name = "store", .argument = "FILE.db", .arguments = 1,                                    \
        .help = "keep every result in this SQLite file as soon as it is there, and simulate none " \
                "that it has already"                                                              \
    }
#define MS_OPTION_FRESH                                                                            \
    { .name = "fresh", .help = "simulate anew what the store has, too, and replace it" }
#define MS_OPTION_RESUME                                                                           \
    { .name = "resume", .help = "go on with what the store lacks, which is what happens anyway" }

/* Digest of the sources that results follow from; made by the build
 * (scripts/cmake/ResultDigest.cmake).
 */
extern const char MS_CLI_RESULT_DIGEST[];

/* Version of the program for keys of stored results: another text where results may differ. */
const char *ms_cli_program(ms_arena *arena);

/* Open the store that --store names; NULL without the option.  --fresh and --resume are the
 * command's, too.  MS_E_USAGE (reported), else as ms_store_open. */
ms_status ms_cli_open_store(const ms_invocation *call, ms_store **store_out);

#endif
