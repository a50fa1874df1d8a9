/* Pictures of what commands print. */
#ifndef MS_CLI_DRAW_H
#define MS_CLI_DRAW_H

#include "cli/cli.h"
#include "meshsim/coll_sizes.h"
#include "meshsim/estimate.h"

/* Bus bandwidth over size: a line for each algorithm that can run, hollow where `auto` takes it;
 * of a study of one algorithm its line alone.  result: of the study. Returns as ms_sizes_simulate.
 */
ms_status ms_draw_collective(const ms_invocation *call, const ms_sizes_study *study,
                             const ms_sizes_result *result, ms_buffer *out);

/* Memory of the pipeline ranks at their peak, by what holds it.  name: of the workload.  Lack of
 * memory shows in the arena. */
void ms_draw_memory(const ms_estimate *estimate, int pipeline_ranks, const char *name,
                    ms_arena *arena, ms_buffer *out);

#endif
