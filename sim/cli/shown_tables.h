/* The tables that each command prints of its result tree (render.h); a row without a title ends
 * each list. */
#ifndef MS_CLI_SHOWN_TABLES_H
#define MS_CLI_SHOWN_TABLES_H

#include "cli/render.h"

extern const ms_shown_table MS_RUN_TABLES[];
extern const ms_shown_table MS_CHECK_TABLES[];
extern const ms_shown_table MS_SEARCH_TABLES[];
extern const ms_shown_table MS_VALIDATE_TABLES[];
extern const ms_shown_table MS_SCHEDULE_TABLES[];           /* one schedule */
extern const ms_shown_table MS_SCHEDULES_TABLES[];          /* many on paper */
extern const ms_shown_table MS_SIMULATED_SCHEDULE_TABLES[]; /* many in a workload */
extern const ms_shown_table MS_COLLECTIVE_TABLES[];
extern const ms_shown_table MS_PLATFORM_TABLES[];
extern const ms_shown_table MS_TEXTBOOK_TABLES[];
extern const ms_shown_table MS_MERGE_TABLES[];
extern const ms_shown_table MS_COMPARE_TABLES[];
extern const ms_shown_table MS_MESH_TABLES[];
extern const ms_shown_table MS_SWEEP_TABLES[];
extern const ms_shown_table MS_TIMES_TABLES[];
extern const ms_shown_table MS_REPLAY_TABLES[]; /* shown_replay_tables.c */

#endif
