/* Results that a command printed with --json, read back to be shown. */
#ifndef MS_CLI_RESULT_FILE_H
#define MS_CLI_RESULT_FILE_H

#include "base/config/config.h"
#include "cli/cli.h"

/* A file of results. Who wrote it may have added what a page says beside them, under "page". */
typedef struct ms_cli_result_file {
    const ms_value *tree; /* the results, without "page" */
    const char *title;    /* what they are about; NULL: not said, and so the next two */
    const char *subject;
    const char *command; /* the command line, as a shell reads it */
    ms_words files;      /* that were read */
} ms_cli_result_file;

/* Whether a path is one of results, by its ending. */
bool ms_cli_is_result_file(const char *path);

/* Read what `validate --json` prints.  *file_out: in the call's arena.  Returns MS_OK; MS_E_INPUT
 * (reported), also for results of other commands; MS_E_IO; MS_E_NOMEM. */
ms_status ms_cli_read_result_file(const ms_invocation *call, const char *path,
                                  ms_cli_result_file *file_out);

#endif
