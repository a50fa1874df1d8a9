/**
 * @file
 * Pass times: times of passes and of phases of a step, and the memory of the last pipeline rank,
 * from a step of which every operation was simulated. They are compared with published
 * measurements.
 */
#ifndef MESHSIM_PASS_TIMES_H
#define MESHSIM_PASS_TIMES_H

#include "simulate/graph/dag.h"
#include "simulate/run/job.h"

/** Phases of the time of a pipeline rank in a step, as DeepSeek-V3's authors divide it: passes that
 * run alone by their kind, pairs of a forward and a backward pass, waiting, and the step's end. */
typedef enum ms_step_phase {
    MS_STEP_FORWARD,  /**< "1F": forward passes that run alone */
    MS_STEP_BUBBLE,   /**< "bubble": between passes */
    MS_STEP_BACKWARD, /**< "1B": backward passes that run alone, of input gradients or of both */
    MS_STEP_WEIGHT,   /**< "1W": delayed weight gradients */
    MS_STEP_PAIR,     /**< "1F1B": a forward and a backward pass that run together */
    MS_STEP_END,      /**< "optimizer": after the last pass of all ranks */
    MS_STEP_PHASE_COUNT,
} ms_step_phase;

/** The figures of a run that published measurements give beside the step time. Times in seconds. */
typedef struct ms_pass_times {
    double forward_s;  /**< from the start of the step to the end of its last forward pass, with the
                          collectives that close it: the forward pass of a job of one microbatch */
    double backward_s; /**< from then to the end of the last operation of the layers' passes */
    double pass_s[MS_OP_OPTIMIZER]; /**< computing time of a pass by its ms_op_kind, the mean over
                                       passes and ranks; recomputation is a kind of its own */
    double phase_s[MS_STEP_PHASE_COUNT]; /**< of a rank's step, the mean over ranks, which sums to
                                            the step; NAN where several steps were simulated */
    double last_peak_B;                  /**< peak memory of the last pipeline rank [B] */
    double last_static_B; /**< memory of that rank that stays between steps: parameters, gradients,
                             optimizer state and what the framework holds [B] */
    double reserve_B;     /**< memory of the GPU type that no job can use [B] */
} ms_pass_times;

/** Name of a phase in results, such as "1F1B". */
const char *ms_step_phase_name(ms_step_phase phase);

/** Find the pass times of a run.
 *  result: of a run whose operations were all simulated (ms_run_choice.no_fast_forward).
 *  *times_out: its phases are NAN also where memory ran out.  O(operations). */
void ms_result_pass_times(const ms_result *result, ms_pass_times *times_out);

#endif
