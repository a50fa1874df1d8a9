/* A collective by each of its algorithms. */
#ifndef MS_CLI_LINES_OF_COLLECTIVE_H
#define MS_CLI_LINES_OF_COLLECTIVE_H

#include "cli/cli.h"
#include "search/coll_sizes.h"

/* Add to a result tree the rows of a study by each algorithm that can run, and why the others
 * cannot, which is told, too: what a picture of the study shows. A study of one algorithm has these
 * rows already, and nothing is added.  Returns as ms_sizes_simulate; lack of memory shows in the
 * call's arena. */
ms_status ms_add_algorithms(const ms_invocation *call, const ms_sizes_study *study, ms_value *root);

#endif
