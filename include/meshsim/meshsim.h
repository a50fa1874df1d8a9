/**
 * @file
 * The library in reading order; every header builds on those above it. No code here.
 *
 * | header            | what it holds                                                      |
 * |-------------------|--------------------------------------------------------------------|
 * | decls.h           | C linkage and visibility of all that follows                       |
 * | status.h          | status codes and the exit code of each                             |
 * | arena.h           | memory, one arena per lifetime                                     |
 * | text.h            | characters of UTF-8 texts, and which of them are visible           |
 * | buffer.h          | growing text and vectors                                           |
 * | diag.h            | diagnostics with place, source line and caret                      |
 * | units.h           | numbers with units                                                 |
 * | checksum.h        | checksums of texts                                                 |
 * | random.h          | random numbers that are the same everywhere                        |
 * | memo.h            | numbers for keys, so that a result is computed once for each key   |
 * | number.h          | the larger and the smaller of two numbers                          |
 * | event.h           | words shared by all: axes, collective and operation kinds, passes  |
 * | value.h           | result trees and JSON                                              |
 * | interrupt.h       | SIGINT and SIGTERM without leftovers                               |
 * | failure.h         | failures of the operating system                                   |
 * | target.h          | files that appear whole or not at all                              |
 * | progress.h        | how far a long run has come                                        |
 * | child.h           | work with a foreign library in a process of its own                |
 * | usage.h           | time and memory that the process has taken                         |
 * | config.h          | YAML documents, field tables, overrides                            |
 * | source_keys.h     | keys of a foreign file, and what became of each                    |
 * | find.h            | YAML files found by a name in several folders                      |
 * | input.h           | kinds of input files, told apart                                   |
 * | cells.h           | CSV texts, cell by cell                                            |
 * | ranges.h          | lists of numbers such as 0-7,12                                    |
 * | library.h         | what communication libraries choose and time by                    |
 * | platform.h        | GPUs, links, tiers and routes                                      |
 * | price.h           | what a step costs in money and energy                              |
 * | mesh.h            | named axes over ranks, groups, meshes from meshes                  |
 * | placement.h       | which GPU each rank sits on; idle and spare GPUs                   |
 * | sharding.h        | how tensors lie over a mesh, and what moving them takes            |
 * | model.h           | what a transformer is, and how it is laid out over GPUs            |
 * | hf.h              | Hugging Face configs as models                                     |
 * | stage_costs.h     | what each pass of a virtual stage computes, sends and keeps        |
 * | kernel_times.h    | times of single kernels on a GPU type                              |
 * | schedule.h        | pipeline schedules, on paper                                       |
 * | schedule_csv.h    | schedules as PyTorch's CSV files                                   |
 * | schedule_study.h  | what a makespan consists of, time per microbatch                   |
 * | schedule_search.h | search for a schedule under a memory cap                           |
 * | fluid.h           | transfers that start together and share links                      |
 * | collective.h      | collectives as phases of flows                                     |
 * | nccl.h            | which algorithm and protocol NCCL takes, and its latencies         |
 * | coll_class.h      | the same collective in several groups at once                      |
 * | slowdown.h        | how communication slows down the computations that run beside it   |
 * | reshard_time.h    | how long moving a tensor takes on a platform                       |
 * | spec.h            | what job is simulated, as one value: read, checked, laid out       |
 * | step_end.h        | what follows the last microbatch, told to a visitor                |
 * | estimate.h        | step, bound and memory of a job, without simulating                |
 * | layer_times.h     | what layers and a model's ends take, for sharing them among stages |
 * | layer_partition.h | layers shared among stages by those times                          |
 * | rank_memory.h     | what a pipeline rank holds while its actions run                   |
 * | memory_options.h  | what would save memory, and how much                               |
 * | advice.h          | warnings about where groups lie and what latency costs             |
 * | dag.h             | the operation graph                                                |
 * | lower.h           | from schedule, costs, mesh and platform to that graph              |
 * | engine.h          | running it: closed form, or SimGrid                                |
 * | metrics.h         | where the time went, memory                                        |
 * | job.h             | a workload file from reading to result                             |
 * | pass_times.h      | times of passes and phases, memory of the last pipeline rank       |
 * | summary.h         | the tree of a run's figures, for JSON and traces                   |
 * | trace.h           | the HDF5 file                                                      |
 * | workers.h         | many jobs, each in a process of its own                            |
 * | table.h           | result tables: one list of columns for pages, CSV and JSON         |
 * | store.h           | files that keep what simulations found, a row per job              |
 * | points.h          | many jobs of one study, with a store beside them                   |
 * | shards.h          | a study shared among processes that share a folder                 |
 * | sweep.h           | a workload in which some keys take several values each             |
 * | space.h           | a workload with values of some keys, on all meshes of some clusters |
 * | search.h          | the best candidates of a space, most of them not simulated         |
 * | search_goal.h     | what a search looks for, what bounds it, and limits                |
 * | textbook.h        | device meshes in closed form, as a textbook has them               |
 * | whatif.h          | what one better thing each would buy a job                         |
 * | schedules.h       | many schedules in one table, on paper and in a workload            |
 * | coll_sizes.h      | one collective at many sizes                                       |
 * | compare.h         | what differs between two results, and what a guard lets pass       |
 * | job_list.h        | many workloads, each simulated as a run                            |
 * | times.h           | many kernels and collectives, each timed alone                     |
 * | whatif.h          | what one better thing would buy a job                              |
 * | config_workload.h | what a Hugging Face config gives a workload                       |
 * | schema.h          | JSON Schemas of input files, for editors                           |
 * | report.h          | pictures and trace-viewer files                                    |
 */
#ifndef MESHSIM_MESHSIM_H
#define MESHSIM_MESHSIM_H

#endif
