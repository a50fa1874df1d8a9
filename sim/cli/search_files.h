/* The file that a search writes of its best candidate, as a workload. */
#ifndef MS_CLI_SEARCH_FILES_H
#define MS_CLI_SEARCH_FILES_H

#include "cli/show_search.h"

/* Append a candidate as a workload file, for any folder: paths in it are absolute. */
void ms_show_search_workload(const ms_search_row *row, ms_arena *arena, ms_buffer *out);

#endif
