/**
 * @file
 * Pass times: what a step that was simulated operation by operation says about its passes.
 *
 * Published measurements give times of passes, of phases of a step and of memory on the last
 * pipeline rank; this is what they are compared with.
 */
#ifndef MESHSIM_PASS_TIMES_H
#define MESHSIM_PASS_TIMES_H

#include "simulate/graph/dag.h"
#include "simulate/run/job.h"

/** What a pipeline rank's time in a step goes to, as DeepSeek-V3's authors divide it: passes that
 * run alone by their kind, pairs of a forward and a backward pass, the step's end, and waiting. */
typedef enum ms_step_phase {
    MS_STEP_FORWARD,  /**< "1F": forward passes that run alone */
    MS_STEP_BUBBLE,   /**< "bubble": between passes */
    MS_STEP_BACKWARD, /**< "1B": backward passes that run alone, of input gradients or of both */
    MS_STEP_WEIGHT,   /**< "1W": delayed weight gradients */
    MS_STEP_PAIR,     /**< "1F1B": a forward and a backward pass that run together */
    MS_STEP_END,      /**< "optimizer": after the last pass of all ranks */
    MS_STEP_PHASE_COUNT,
} ms_step_phase;

/** What a run is compared by beside its step time: times of passes and phases of the step, and the
 * memory of the last pipeline rank. */
typedef struct ms_pass_times {
    double forward_s;  /**< first forward pass of the first rank, with its communication */
    double backward_s; /**< from there to the end of its last backward pass, likewise */
    double pass_s[MS_OP_OPTIMIZER]; /**< computing time of a pass by its ms_op_kind, the mean over
                                       passes and ranks; recomputation is a kind of its own */
    double phase_s[MS_STEP_PHASE_COUNT]; /**< of a rank's step, the mean over ranks, which sums to
                                            the step; NAN where several steps were simulated */
    double last_peak_B;                  /**< peak memory of the last pipeline rank */
    double last_static_B; /**< of it parameters, gradients and optimizer state, which stay between
                             steps */
    double reserve_B;     /**< memory of the GPU type that no job can use */
} ms_pass_times;

/** Name of a phase in results, such as "1F1B". */
const char *ms_step_phase_name(ms_step_phase phase);

/** Find the pass times of a run.
 *  result: of a run whose operations were all simulated (ms_run_choice.no_fast_forward).
 *  *times_out: its phases are NAN also where memory ran out.  O(operations). */
void ms_result_pass_times(const ms_result *result, ms_pass_times *times_out);

#endif
