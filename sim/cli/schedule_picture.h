/* A schedule drawn in characters. */
#ifndef MS_CLI_SCHEDULE_PICTURE_H
#define MS_CLI_SCHEDULE_PICTURE_H

#include "meshsim/schedule.h"

/** Append a picture of an evaluated schedule, a line per rank, at most `width` columns: each pass
 * with its microbatch where all have room, else what takes most of each column's time. Nothing when
 * the schedule takes no time.  width: >= 40. */
void ms_cli_schedule_picture(const ms_program *program, const ms_schedule_result *result, int width,
                             ms_buffer *out);

#endif
