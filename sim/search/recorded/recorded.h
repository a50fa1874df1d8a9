/**
 * @file
 * Measured steps of a training job: read from a table of operations, replayed through the graph of
 * the step, and attributed to those who are slow. workloads/events.md describes the table, the
 * graph and the quantities.
 */
#ifndef MESHSIM_RECORDED_H
#define MESHSIM_RECORDED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "base/value.h"

/** A measured job (sim/search/recorded/table.h). */
typedef struct ms_recorded ms_recorded;

/** The name of a rule that can be left out of a replay, by its number; NULL behind the last. */
const char *ms_recorded_rule_word(int rule);

/** Read a table of operations, row by row; a table may be compressed with gzip.
 *  path: of the file; borrowed.  rules_off: bit i for each rule i that the replay leaves out.
 *  *job_out: in `arena`.  Returns MS_OK; MS_E_INPUT (reported with the line) for a table that is no
 * measured job; MS_E_IO; MS_E_NOMEM (reported).  O(rows log rows). */
ms_status ms_recorded_read(const char *path, uint32_t rules_off, ms_arena *arena, ms_diag *diag,
                           ms_recorded **job_out);

/** Replay a job as measured, without launch delays and without stragglers, and attribute the time
 * lost.
 *  *tree_out: the object that `replay --json` prints, in `arena`.  Returns MS_OK; MS_E_INPUT
 * (reported) where the operations wait for each other in a circle; MS_E_NOMEM (reported).
 * O(replays * rows), with a replay for each data-parallel rank, stage and kind, and some more. */
ms_status ms_recorded_study(const ms_recorded *job, ms_arena *arena, ms_diag *diag,
                            ms_value **tree_out);

#endif
