/**
 * @file
 * SimGrid for the tests' own engine (simgrid_all.h): hosts that compute at a speed that may change,
 * transfers over links, and timers. A process has one simulation; a failure of SimGrid ends it.
 */
#ifndef MESHSIM_TESTS_ACTIVITIES_H
#define MESHSIM_TESTS_ACTIVITIES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What a simulation is made of, and the functions that are called when something ends. */
typedef struct activities_setup {
    const double *link_bandwidths; /**< [link_count] payload units per second */
    int32_t link_count;
    int32_t host_count;
    const double *speeds; /**< [speed_count] 1: a second of work takes a second; hosts start with
                             the first */
    int32_t speed_count;
    double precision_s; /**< events closer than that may count as simultaneous */
    void *context;      /**< first argument of the functions */
    void (*on_timer)(void *context, int32_t token);
    void (*on_flow)(void *context, int32_t token);
    void (*on_computed)(void *context, int32_t token);
} activities_setup;

/** Begin the process's simulation, at time 0. setup: kept. */
void activities_start(const activities_setup *setup);

/** Call on_timer(token) once the clock reaches `date_s`. */
void activities_timer(double date_s, int32_t token);

/** Start a transfer now; on_flow(token) at its end. route: [count] links; a link that stands there
 * k times is used k times over. */
void activities_flow(uint64_t payload, const int32_t *route, int32_t count, int32_t token);

/** Start a computation of `work_s` at speed 1 on a host; on_computed(token) at its end. */
void activities_compute(double work_s, int32_t host, int32_t token);

/** From now on a host runs at speeds[speed]. */
void activities_set_speed(int32_t host, int32_t speed);

/** Run until nothing happens any more. */
void activities_run(void);

double activities_clock_s(void);

#ifdef __cplusplus
}
#endif

#endif
