/**
 * @file
 * Time and memory that this process has used so far, and the folder of its program file. Nothing
 * that is simulated depends on them.
 */
#ifndef MESHSIM_USAGE_H
#define MESHSIM_USAGE_H

#include <stdbool.h>
#include <stddef.h>

/** Time since some moment that is the same for the whole process, on a clock that is never set [s].
 *  The difference of two calls is the time between them. */
double ms_wall_s(void);

/** Most memory that the process has had resident so far [B]. */
double ms_peak_rss_B(void);

/** Folder of the running program's file.
 *  folder_out: [size] bytes.  Returns false where the system does not report it, or where there is
 * not enough room. */
bool ms_program_folder(char *folder_out, size_t size);

#endif
