/* Printing an evaluated schedule. */
#ifndef MS_CLI_SHOW_SCHEDULE_H
#define MS_CLI_SHOW_SCHEDULE_H

#include "cli/cli.h"
#include "meshsim/schedule.h"

/** Result tree of `schedule --json`, in the call's arena; NULL when memory runs out. */
const ms_value *ms_cli_schedule_tree(const ms_invocation *call, const ms_program *program,
                                     const ms_schedule_result *result);

/** Tables for people, at most 80 columns, with a picture in characters where it fits. */
void ms_cli_schedule_text(const ms_program *program, const ms_schedule_result *result,
                          ms_buffer *out);

#endif
