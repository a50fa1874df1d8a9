/**
 * @file
 * Estimates of a job without a simulation: the time of its step from the clocks of its pipeline
 * ranks, a lower bound of the step of every simulation, and the memory of every pipeline rank.
 *
 * No graph is built and no engine runs. Each communication takes the time that it has when only
 * communication of its own class (below) uses the links; contention between different classes is
 * left to the simulation, but for the two exceptions of estimate.md.
 *
 * Nouns of sim/estimate, and what the same word means elsewhere:
 * - class (ms_class_key): the same collective in all groups of a pipeline rank at once, such as the
 *   all-reduce of all its tensor-parallel groups. In simulate/lower a class is a set of ranks, or
 *   of links, that no figure tells apart.
 * - slot (ms_order_slot): a pass of one stage on one kind of microbatch; all passes that are alike
 *   share a slot. In a hash table a slot is a place for a key.
 * - unit bits (MS_UNIT_): whether a microbatch is the first or the last of a step, or closes a
 *   round. A unit of a tier is one node, rack or pod; a unit of sharding (MS_UNITS_ in
 *   model/model.h) is the parameters that are gathered at a time.
 * - pass map (ms_pass_map): the max-plus map from the clocks of a pipeline rank before a pass to
 *   those after it.
 * - carried communicator: a communicator whose collectives outlive the pass that starts them.
 * - queue: the stream of messages from one pipeline rank to another in one direction.
 * - moment (ms_memory_moments): the contents of a pipeline rank's memory between two actions of its
 *   list.
 * - partition: how many layers each virtual stage has. Sharing (ms_sharing) is about links.
 * - trial: a job that is read once more with overrides, to find the effect of a change.
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

/** The estimate of one pipeline rank. */
typedef struct ms_rank_estimate {
    int layers;       /**< transformer layers of all its virtual stages */
    double compute_s; /**< computation in a step: passes of all microbatches and the update [s] */
    ms_held_memory held; /**< its memory at the peak, by use */
    double peak_B;       /**< held.total_B [B] */
} ms_rank_estimate;

/** The estimate of a whole job. */
typedef struct ms_estimate {
    double step_s;        /**< expected time of a step [s] */
    double lower_bound_s; /**< lower bound of a step in a simulation of any fidelity [s] */
    double busy_s; /**< lower bound of the computation per GPU and step in a simulation, mean over
                      GPUs: it bounds the energy (price.h) [s] */
    double ideal_bubble_fraction; /**< bubble: idle share of the pipeline ranks, 0..1, with the
                                     job's computations, free communication and no update; all
                                     slices of a sequence take their mean time */
    ms_rank_estimate *ranks;      /**< [P] */
    int peak_rank;                /**< pipeline rank with the highest peak */
    double capacity_B;            /**< HBM of a GPU minus the platform's reserve [B] */
    bool fits;                    /**< the highest peak is at most the capacity */
} ms_estimate;

/** Estimate a job: step, bound and memory.
 *  job: with its costs (ms_job_build).  *estimate_out: in `arena`.  Returns MS_OK; MS_E_NOMEM
 * (reported); MS_E_INPUT (reported) if the schedule deadlocks or no algorithm lays a collective
 * out.  O(actions + segments + ranks * links of a route). */
ms_status ms_job_estimate(const ms_job *job, ms_arena *arena, ms_diag *diag,
                          ms_estimate *estimate_out);

/** Times of a job's passes for ms_schedule_evaluate: computation alone on the slowest rank of each
 * pipeline rank; where sequences are cut into slices, the mean over the slices.
 *  job: with its costs.  *times_out: lists [model_stages] in `arena` [s]; messages take no time.
 * Returns MS_OK; MS_E_NOMEM (not reported).  O(stages * segments of a pass). */
ms_status ms_estimate_pass_times(const ms_job *job, ms_arena *arena, ms_schedule_costs *times_out);

/** The estimate of a spec. */
typedef struct ms_spec_estimate {
    double step_s;        /**< expected time of a step [s] */
    double lower_bound_s; /**< as in ms_estimate, or up to 0.5 % lower [s] */
    ms_price_use least;   /**< the GPUs, and bounds of the step and of its computations, from which
                             bounds of the step's cost and energy follow (price.h) */
    double peak_B;        /**< highest peak of memory of any pipeline rank [B] */
    bool fits;            /**< that peak is at most the capacity of a GPU */
} ms_spec_estimate;

/** An estimator of many specs: results that several specs have in common, such as the order of
 * passes or the times of communication, are computed once and kept, up to 160 MiB of them.
 * Several threads may work at once, each with an estimator of its own. Unlike ms_job_estimate it
 * neglects all contention between classes of collectives on shared links. */
typedef struct ms_estimator ms_estimator;

/** Make an estimator.  arena: holds the estimator, which has an arena of its own for the rest.
 * Specs that it gets may share lists and texts with their owner (ms_job_spec); these have to stay
 * as long as the estimator is used.  Returns NULL when memory runs out; the caller frees the
 * estimator with ms_estimator_free, before `arena`. */
ms_estimator *ms_estimator_new(ms_arena *arena);
/** Free an estimator; NULL: nothing happens. */
void ms_estimator_free(ms_estimator *estimator);

/** Check a spec and estimate its step and memory, with one group of each class for all its groups
 * (as where a simulation is folded).  Returns MS_OK; MS_E_INPUT for a spec that ms_job_lay_out or
 * ms_job_estimate refuses (reported the first time); MS_E_IO; MS_E_NOMEM (reported), after which
 * the estimator can only be freed. No allocation where the mesh, the order of passes and the costs
 * of the spec are those of earlier specs. */
ms_status ms_estimator_run(ms_estimator *estimator, const ms_job_spec *spec, ms_diag *diag,
                           ms_spec_estimate *estimate_out);

/** Check a spec as ms_estimator_run does and find its memory, without its step, which is two thirds
 * of the work: for specs whose step is not needed, but only whether they are possible.
 *  *peak_B_out, *fits_out: as in ms_spec_estimate.  Returns as ms_estimator_run, but accepts specs
 * with collectives that no algorithm lays out. */
ms_status ms_estimator_fit(ms_estimator *estimator, const ms_job_spec *spec, ms_diag *diag,
                           double *peak_B_out, bool *fits_out);

/** Bound a spec from its computations alone, before its order of passes, its memory and its
 * communication are known. A search bounds all candidates so, and estimates only those whose bound
 * is better than the best candidate so far. Only specs that ms_job_shape or ms_job_check_layers
 * refuses are refused: ms_estimator_run refuses more.
 *  *least_out: step_s and busy_s are never above those of any simulation, nor above `least` of
 * ms_estimator_run. Both are 0 for a spec with given costs; step_s is also 0 for several steps, and
 * for ranks that update without waiting for each other.  Returns as ms_estimator_run.  O(axes), and
 * O(segments of a layer) where a microbatch's work is new. */
ms_status ms_estimator_bound(ms_estimator *estimator, const ms_job_spec *spec, ms_diag *diag,
                             ms_price_use *least_out);

#endif
