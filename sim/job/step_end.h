/**
 * @file
 * The end of a step: what follows the last microbatch, in the order in which every rank does it.
 * Gradients are reduced, inside pipeline ranks and between pipeline ranks that hold the same
 * stages; tied embeddings between first and last stage. All ranks learn the norm of the whole
 * model's gradient. They update, and with a sharded optimizer they gather the parameters.
 *
 * The estimate and the lowering both walk through it by ms_step_end_visit, so that a step ends in
 * the same way in both.
 */
#ifndef MESHSIM_STEP_END_H
#define MESHSIM_STEP_END_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/event.h"
#include "base/status.h"
#include "job/spec.h"

/** Functions that are called for the events at the end of a step, in their order. */
typedef struct ms_step_end_visitor {
    /** A collective in the groups of pipeline rank `p`. */
    ms_status (*group)(void *context, int p, const ms_segment *segment);
    /** An all-reduce between pipeline ranks ends[0] and ends[1], rank by rank. size_B: [B]. */
    ms_status (*pair)(void *context, const int ends[2], ms_axis axis, double size_B);
    /** All ranks wait for each other and learn the norm.  NULL: nothing is called. */
    ms_status (*meet)(void *context);
    /** Pipeline rank `p` updates its parameters.  NULL: nothing is called. */
    void (*update)(void *context, int p);
} ms_step_end_visitor;

/** Call a visitor for each event at the end of a job's step.  Returns MS_OK; the first other status
 * that the visitor returns, after which it is not called again; MS_E_BUG (reported) where pipeline
 * ranks that hold the same stages have not the same collectives between them.  O(segments + P *
 * stages). */
ms_status ms_step_end_visit(const ms_job *job, const ms_step_end_visitor *visitor, void *context,
                            ms_diag *diag);

/** Whether all ranks wait for each other before they update. They do not with post-validation, in a
 * job of one rank, nor where neither an update nor another step follows. */
bool ms_step_end_has_barrier(const ms_job *job);

#endif
