/* Values of a job that text and Markdown show and --json does not print. */
#ifndef MS_CLI_SHOW_JOB_H
#define MS_CLI_SHOW_JOB_H

#include "base/value.h"
#include "simulate/run/job.h"

/** Add the object `page` to a tree: the cluster's nodes, the schedule's stages and other words that
 * --json has no keys for.  Returns it; NULL when memory runs out. */
ms_value *ms_show_add_job(const ms_job *job, ms_value *root);

#endif
