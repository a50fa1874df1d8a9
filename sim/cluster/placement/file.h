/* Reads CSV files that give the GPU of every rank. */
#ifndef MS_PLACEMENT_FILE_H
#define MS_PLACEMENT_FILE_H

#include "cluster/placement/placement.h"

/* Read `choice->file`: a line "rank,gpu" for each of `ranks` ranks, in any order. A first line
 * "rank,gpu" is a header; empty lines and lines that begin with '#' are skipped.
 *  gpus_out: [ranks] GPU of each rank.  *text_out: the file's text, in `arena`.  Returns MS_OK;
 * MS_E_INPUT, every fault reported with its place; MS_E_IO; MS_E_NOMEM. */
ms_status ms_placement_file(const ms_rank_placement_choice *choice, const ms_platform *platform,
                            int ranks, ms_arena *arena, ms_diag *diag, int *gpus_out,
                            const char **text_out);

#endif
