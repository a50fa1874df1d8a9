/* Sorting and printing the table of `schedule --compare`. */
#ifndef MS_CLI_SHOW_COMPARE_H
#define MS_CLI_SHOW_COMPARE_H

#include "cli/cli.h"
#include "meshsim/schedule_study.h"

/** One schedule of the table. */
typedef struct ms_compared {
    const char *name;
    const char *reason; /**< why it is left out; NULL: it is in the table */
    int chunks;
    double makespan, bubble_fraction, max_span, max_span_bubble;
    double peak; /**< in flight, in units of one rank's share of the model */
    int parameter_replicas;
    long messages;
    bool has_formula;
    double formula;
    double period; /**< per microbatch */
    ms_schedule_gap gap;
} ms_compared;

/** The table. */
typedef struct ms_comparison {
    int ranks, microbatches;
    double cap; /**< 0: none */
    int column; /**< to sort by */
    ms_compared *rows;
    int count;
} ms_comparison;

/** Column of --sort.  MS_E_USAGE (reported, with the nearest name). */
ms_status ms_compare_column(const ms_invocation *call, int *column_out);

/** Rows that are in the table, not left out. */
int ms_compare_rows(const ms_comparison *table);

/** Sort and print, as text or with --json. */
ms_status ms_compare_print(const ms_invocation *call, ms_comparison *table);

#endif
