/* Files that a search writes: its rows as CSV, its winner as a workload. */
#ifndef MS_CLI_SEARCH_FILES_H
#define MS_CLI_SEARCH_FILES_H

#include "cli/show_search.h"

/* Append the rows as CSV. Lack of memory shows in the buffer or the arena. */
void ms_show_search_csv(const ms_shown_search *shown, ms_arena *arena, ms_buffer *out);

/* Append a candidate as a workload file, for any folder: paths in it are absolute. */
void ms_show_search_workload(const ms_search_row *row, ms_arena *arena, ms_buffer *out);

#endif
