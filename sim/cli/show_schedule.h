/* Printing an evaluated schedule. */
#ifndef MS_CLI_SHOW_SCHEDULE_H
#define MS_CLI_SHOW_SCHEDULE_H

#include "cli/cli.h"
#include "meshsim/schedule.h"
#include "meshsim/schedule_search.h"
#include "meshsim/schedule_study.h"

/** All that is shown of one schedule. */
typedef struct ms_cli_shown {
    const ms_program *program;
    const ms_schedule_result *result;
    ms_schedule_gap gap;
    double period;                  /**< per microbatch, 0: unknown */
    const ms_search_result *search; /**< NULL: not found by search */
    const char *workload;           /**< whose times it has; NULL: none */
} ms_cli_shown;

/** Result tree of `schedule --json`, in the call's arena; NULL when memory runs out. */
const ms_value *ms_cli_schedule_tree(const ms_invocation *call, const ms_cli_shown *shown);

/** Tables for people, at most 80 columns, and a picture in characters as wide as the terminal. */
void ms_cli_schedule_text(const ms_cli_shown *shown, ms_buffer *out);

#endif
