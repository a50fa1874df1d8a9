/* The table of `schedule --compare --workload`: schedules simulated on a platform. */
#ifndef MS_CLI_SHOW_PLATFORM_H
#define MS_CLI_SHOW_PLATFORM_H

#include "cli/cli.h"
#include "meshsim/job.h"

/** One schedule. */
typedef struct ms_simulated {
    const char *name;
    const char *reason; /**< why it is left out; NULL: it is in the table */
    ms_status status;   /**< of its simulation; MS_OK too where only the cap leaves it out */
    int chunks, parameter_replicas;
    bool is_dealt_anew;      /**< its stages are not the workload's, and got layers of their own */
    const ms_value *summary; /**< tree of `run --json`; NULL when it was not simulated */
    const char *trace;       /**< file that was asked for; NULL: none */
} ms_simulated;

/** The table. */
typedef struct ms_simulated_table {
    const ms_job *job; /**< the workload with its own schedule */
    double capacity_B;
    double cap_B; /**< 0: none */
    int column;   /**< to sort by */
    ms_simulated *rows;
    int count;
} ms_simulated_table;

/** Column of --sort.  MS_E_USAGE (reported, with the known ones). */
ms_status ms_simulated_column(const ms_invocation *call, int *column_out);

/** Put the rows in order; those left out come last. */
void ms_simulated_sort(ms_simulated_table *table);

/** Print a sorted table, as text or with --json. */
ms_status ms_simulated_print(const ms_invocation *call, const ms_simulated_table *table);

/** Most memory of a rank [B]. */
double ms_simulated_peak_B(const ms_simulated *row);
/** Whether it was simulated, is in the table, and fits in memory. */
bool ms_simulated_fits(const ms_simulated *row);

#endif
