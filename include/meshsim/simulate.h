/**
 * @file
 * Simulates one job for a program in C or C++, and returns its figures as a JSON text.
 */
#ifndef MESHSIM_SIMULATE_H
#define MESHSIM_SIMULATE_H

#ifdef __cplusplus
extern "C" {
#endif

/** Simulate a training step of a job. A process simulates one job at a time; SimGrid runs in a
 * child process. Messages are written to the standard error.
 *
 * workload: path of a workload file, or the name of an installed workload such as "tiny".
 * settings: overrides such as "mesh.tp=4" and "platform.nodes=16", which are applied in the order
 * of the list; NULL behind the last; NULL: no overrides.  data_folder: the folder that holds
 * `platforms` and `workloads` (the variable `datadir` of meshsim.pc); NULL: files are found by
 * their paths only. trace: path of an HDF5 file to which every operation is written; NULL: no trace
 * is written. *json_out: the object that `meshsim run --json` prints, NUL-terminated, which the
 * caller frees with free(); NULL unless 0 is returned.
 *
 * Returns 0: simulated, whether or not the job fits in memory (key `memory.fits`); 3: an input is
 * wrong; 4: I/O failed or memory ran out; 70: a bug; 130: interrupted. */
__attribute__((visibility("default"))) int ms_simulate(const char *workload,
                                                       const char *const *settings,
                                                       const char *data_folder, const char *trace,
                                                       char **json_out);

#ifdef __cplusplus
}
#endif

#endif
