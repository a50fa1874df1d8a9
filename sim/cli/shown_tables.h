/* Which tables of their trees the commands print. */
#ifndef MS_CLI_SHOWN_TABLES_H
#define MS_CLI_SHOWN_TABLES_H

#include "cli/render.h"

extern const ms_shown_table MS_RUN_TABLES[];
extern const ms_shown_table MS_CHECK_TABLES[];
extern const ms_shown_table MS_SEARCH_TABLES[];
extern const ms_shown_table MS_VALIDATE_TABLES[];
extern const ms_shown_table MS_SCHEDULE_TABLES[];           /* of one */
extern const ms_shown_table MS_SCHEDULES_TABLES[];          /* of many on paper */
extern const ms_shown_table MS_SIMULATED_SCHEDULE_TABLES[]; /* of many in a workload */
extern const ms_shown_table MS_COLLECTIVE_TABLES[];
extern const ms_shown_table MS_PLATFORM_TABLES[];
extern const ms_shown_table MS_TEXTBOOK_TABLES[];
extern const ms_shown_table MS_MERGE_TABLES[];
extern const ms_shown_table MS_COMPARE_TABLES[];
extern const ms_shown_table MS_MESH_TABLES[];
extern const ms_shown_table MS_SWEEP_TABLES[];
extern const ms_shown_table MS_TIMES_TABLES[];

#endif
