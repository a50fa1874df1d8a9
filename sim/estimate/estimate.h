/**
 * @file
 * Estimates: what can be said of a job without simulating it. Its step by the clocks of its
 * pipeline ranks, a bound that no simulation is below, and memory of every pipeline rank.
 *
 * No graph is built and no engine runs. Each communication takes the time that it has when only
 * communication of its own kind uses the links; traffic of different kinds that shares links is
 * left to the simulation.
 *
 * Nouns of this room, and what the same word means elsewhere:
 * - class (ms_class_key): the same communication in all groups of a pipeline rank at once. In
 *   simulate/lower a class is a set of ranks, or of links, that no figure tells apart.
 * - slot (ms_order_slot): a pass of one stage on one kind of microbatch; all passes that are alike
 *   share a slot. In a hash table a slot is a place for a key.
 * - unit bits (MS_UNIT_): whether a microbatch is the first or the last of a step, or closes a
 *   round. A unit of a tier is one node, rack or pod; a unit of sharding (MS_UNITS_ in
 *   model/model.h) is the parameters that are gathered at a time.
 * - pass map (ms_pass_map): what a pass does to the clocks of its pipeline rank.
 * - carried communicator: a communicator whose collectives outlive the pass that starts them.
 * - queue: the stream of messages from one pipeline rank to another in one direction.
 * - moment (ms_memory_moments): what a pipeline rank keeps between two actions of its list.
 * - partition: how many layers each virtual stage has. Sharing (ms_sharing) is about links.
 * - trial: a job that is read once more with overrides, to find what a change would save.
 * - step: an optimizer step. In collective/step_fidelity.h it is a step of an algorithm.
 */
#ifndef MESHSIM_ESTIMATE_H
#define MESHSIM_ESTIMATE_H

#include <stdbool.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"
#include "cluster/platform/price.h"
#include "estimate/rank_memory.h"
#include "job/spec.h"
#include "schedule/schedule.h"

/** One pipeline rank. Memory at its peak. */
typedef struct ms_rank_estimate {
    int layers;          /**< transformer layers of all its virtual stages */
    double compute_s;    /**< passes of all microbatches, and the optimizer */
    ms_held_memory held; /**< when memory peaks, by class */
    double peak_B;       /**< sum of the three and of what the allocator loses */
} ms_rank_estimate;

/** A whole job. */
typedef struct ms_estimate {
    double step_s;        /**< expected time of a step */
    double lower_bound_s; /**< no simulation of the job, in any fidelity, takes less */
    double busy_s; /**< no simulation of the job computes less per GPU and step, mean over GPUs: its
                      bound of energy (price.h) */
    double ideal_bubble_fraction; /**< idle share of the schedule with the job's computations and
                                     free communication, without the optimizer; slices of a sequence
                                     count alike */
    ms_rank_estimate *ranks;      /**< [P] */
    int peak_rank;                /**< pipeline rank with the highest peak */
    double capacity_B;            /**< HBM minus the stated reserve */
    bool fits;
} ms_estimate;

/** Estimate a job: step, bound and memory, nothing simulated.
 *  *estimate_out: in `arena`.  Returns MS_OK; MS_E_NOMEM (reported); MS_E_INPUT (reported) if the
 * schedule deadlocks or no algorithm lays a collective out.  O(actions + segments + ranks * links
 * of a route). */
ms_status ms_job_estimate(const ms_job *job, ms_arena *arena, ms_diag *diag,
                          ms_estimate *estimate_out);

/** Times of a job's passes on paper: computation alone, for slices of a sequence their mean.
 *  *times_out: [model_stages] lists in `arena` [s], messages free.  Returns MS_OK; MS_E_NOMEM (not
 * reported).  O(stages * segments of a pass). */
ms_status ms_estimate_pass_times(const ms_job *job, ms_arena *arena, ms_schedule_costs *times_out);

/** The estimate of a spec. */
typedef struct ms_spec_estimate {
    double step_s;
    double lower_bound_s; /**< as in ms_estimate, or up to 0.5 % lower */
    ms_price_use least;   /**< the GPUs, and bounds of the step and of its computations, from which
                             bounds of the step's cost and energy follow (price.h) */
    double peak_B;        /**< of the pipeline rank with the highest one */
    bool fits;
} ms_spec_estimate;

/** Estimates of many specs: what several have in common is worked out once and kept. They leave out
 * what classes of collectives take from each other on shared links, which ms_job_estimate
 * counts. */
typedef struct ms_estimator ms_estimator;

/** An estimator.  What specs borrow has to stay while it is used.  Returns NULL when memory runs
 * out; the caller frees it with ms_estimator_free, before `arena`. */
ms_estimator *ms_estimator_new(ms_arena *arena);
void ms_estimator_free(ms_estimator *estimator);

/** Check and estimate a spec, folded.  Returns MS_OK; MS_E_INPUT for what ms_job_lay_out and
 * ms_job_estimate refuse (reported the first time); MS_E_IO; MS_E_NOMEM (reported), after which
 * it can only be freed. No allocation where its mesh, its order of passes and its costs are those
 * of specs before. */
ms_status ms_estimator_run(ms_estimator *estimator, const ms_job_spec *spec, ms_diag *diag,
                           ms_spec_estimate *estimate_out);

/** Check a spec as ms_estimator_run does and find its memory, but not its step, which is two thirds
 * of the work: for those of which nobody asks it any more, but whether they are possible.
 *  *peak_B_out, *fits_out: as in ms_spec_estimate.  Returns as ms_estimator_run, but for
 * collectives that no algorithm lays out. */
ms_status ms_estimator_fit(ms_estimator *estimator, const ms_job_spec *spec, ms_diag *diag,
                           double *peak_B_out, bool *fits_out);

/** Bound a spec from its computations alone, before its passes are in order and anything is known
 * of its memory and its communication: a search asks this of all candidates, and estimates those
 * that it leaves a hope. Refuses what ms_job_shape and ms_job_check_layers refuse, which is less
 * than ms_estimator_run does.
 *  *least_out: step_s and busy_s are never above those of any simulation, nor above `least` of
 * ms_estimator_run; 0 where computations say nothing (given costs; of step_s several steps, and
 * ranks that update without waiting for each other).  Returns as ms_estimator_run.  O(axes), and
 * O(segments of a layer) where a microbatch's work is new. */
ms_status ms_estimator_bound(ms_estimator *estimator, const ms_job_spec *spec, ms_diag *diag,
                             ms_price_use *least_out);

#endif
