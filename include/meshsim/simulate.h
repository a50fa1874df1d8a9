/**
 * @file
 * Simulate one job from a program of one's own, and get its figures as a JSON
 * text. */
#ifndef MESHSIM_SIMULATE_H
#define MESHSIM_SIMULATE_H

#ifdef __cplusplus
extern "C" {
#endif

/** Simulate a step of a job. A process simulates one job at a time; SimGrid runs in a child
 * process. workload: path of a workload file, or the name of an installed one such as "tiny".
 *  settings: overrides such as "mesh.tp=4" and "platform.nodes=16", which are applied in this
 * order; the list ends with NULL. NULL: there are no overrides.  data_folder: the folder that holds
 * `platforms` and `workloads` (the variable `datadir` of meshsim.pc); NULL: only paths name files.
 *  trace: path of an HDF5 file that gets every operation; NULL: no trace is written.
 *  *json_out: the object that `meshsim run --json` prints, which the caller frees with free(); NULL
 * unless 0 is returned.  Messages go to the standard error.
 * Returns 0: simulated, whether or not the job fits in memory (key `memory.fits`); 3: an input is
 * wrong; 4: I/O or memory failed; 70: a bug; 130: interrupted. */
__attribute__((visibility("default"))) int ms_simulate(const char *workload,
                                                       const char *const *settings,
                                                       const char *data_folder, const char *trace,
                                                       char **json_out);

#ifdef __cplusplus
}
#endif

#endif
