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
#include "base/config/config.h"
#include "base/diag.h"
#include "base/status.h"
#include "base/value.h"

/** A measured job (sim/search/recorded/table.h). */
typedef struct ms_recorded ms_recorded;

/** The name of a rule that can be left out of a replay, by its number; NULL behind the last. */
const char *ms_recorded_rule_word(int rule);

/** Read the names of rules that a replay leaves out.  *rules_out: bit i for each rule i among them.
 * Returns MS_OK; MS_E_USAGE (reported) for an unknown name. */
ms_status ms_recorded_read_rules(const ms_words *words, ms_diag *diag, uint32_t *rules_out);

/** Read a table of the operations of measured steps (workloads/events.md), one row after the other;
 * the file may be compressed with gzip.
 *  path: of the file; borrowed.  rules_off: as ms_recorded_read_rules gives it.
 *  *job_out: in `arena`.  Returns MS_OK; MS_E_INPUT (reported with the line) for a table that is no
 * measured job; MS_E_IO; MS_E_NOMEM (reported).  O(rows log rows). */
ms_status ms_recorded_read(const char *path, uint32_t rules_off, ms_arena *arena, ms_diag *diag,
                           ms_recorded **job_out);

/** The what-ifs of a call. All is borrowed. */
typedef struct ms_recorded_whatif {
    const char *workload;    /**< file or name of the job's workload; NULL: none */
    const char *data_folder; /**< installed data, for the workload */
    ms_words sets;           /**< "key.path=value": another schedule, or other layers of stages */
    const char *name;        /**< these overrides, for people */
    const char *const *left_out; /**< [left_out_count] "dp=1" or "dp=1,stage=3" */
    size_t left_out_count;
    double transfer_factor; /**< of all times of transfers; < 0: not wanted */
    int replicas;           /**< more replicas; 0: not wanted */
    uint64_t seed;          /**< of the draws of replicas */
    bool has_timeline;      /**< the tree has the object `timeline` */
} ms_recorded_whatif;

/** Replay a job as measured, without launch delays and without stragglers, and attribute the time
 * lost; then do the same with changes.
 *  request: the changes; without any, some of interest.  *tree_out: the object that `replay --json`
 * prints, in `arena`.  Returns MS_OK; MS_E_INPUT (reported) where a change fits neither the job nor
 * its workload; MS_E_USAGE, MS_E_IO, MS_E_NOMEM (reported). O(replays * rows), with a replay for
 * each data-parallel rank, stage and kind, and some more. */
ms_status ms_recorded_study(const ms_recorded *job, const ms_recorded_whatif *request,
                            ms_arena *arena, ms_diag *diag, ms_value **tree_out);

#endif
