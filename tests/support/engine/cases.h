/**
 * @file
 * Small graphs for the engine's tests, and runs of them in processes of their own.
 */
#ifndef MESHSIM_TEST_ENGINE_CASES_H
#define MESHSIM_TEST_ENGINE_CASES_H

#include <stdbool.h>
#include <stdint.h>

#include "simulate/engine/engine.h"
#include "simulate/graph/dag.h"

/** What the runs below share links by; a test that sets it leaves the others as they are, for each
 * has a process of its own. */
extern ms_solver case_solver;

/** The runs below are those of the oracle (simgrid_all.h), which has no solver. */
extern bool case_is_simgrid_all;

/** A graph with `ranks` ranks; rank i's compute stream is stream i. */
void case_init(ms_dag *dag, int32_t ranks);

/** A communication stream of rank 0; its index. */
int32_t case_stream(ms_dag *dag);

/** A computation of `time_s`; work index. */
int32_t case_compute_work(ms_dag *dag, double time_s);

/** A communication with one phase of one flow of `bytes` over `count` links, each `weight` times.
 */
int32_t case_flow_work(ms_dag *dag, double bytes, const int32_t *links, int32_t count,
                       int32_t weight);

/** The same with a latency, released before it when `is_pipelined`. */
int32_t case_p2p_work(ms_dag *dag, double bytes, int32_t link, double latency_s, bool is_pipelined);

/** An operation of `work` on `stream` after `dep` (-1: none). */
int32_t case_op(ms_dag *dag, int32_t work, int32_t stream, int32_t dep);

/** A computation of `time_s` on `stream` after `dep`. */
int32_t case_compute(ms_dag *dag, double time_s, int32_t stream, int32_t dep);

/** What a run gave, in memory shared with the process that ran it. */
typedef struct case_run {
    ms_status status;
    ms_timeline timeline;
    char message[4096]; /**< what was reported */
} case_run;

/** Finish the graph if needed and run it in a child process. The memory lives until the test ends.
 */
case_run *case_fork(ms_dag *dag, ms_fidelity fidelity);

/** The same, with only so many allocations left to the engine (ms_arena_fail_after). */
case_run *case_fork_failing(ms_dag *dag, ms_fidelity fidelity, long allocations);

/** Largest relative difference between ends and starts of two runs of the same graph. */
double case_difference(const case_run *a, const case_run *b);

/** Seed of a random test: MS_SEED if set, else `fallback`. */
uint64_t case_seed(uint64_t fallback);

#endif
