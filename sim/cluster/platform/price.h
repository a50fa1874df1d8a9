/**
 * @file
 * What a step costs: money for the GPUs that a job holds, energy that they and what is around them
 * take.
 *
 * Both grow with the time of a step and with the time its GPUs compute, so lower bounds of these
 * two give lower bounds of cost and energy.
 */
#ifndef MESHSIM_PRICE_H
#define MESHSIM_PRICE_H

#include <stdbool.h>

#include "cluster/platform/platform.h"

/** What a job holds of a platform, and what it does with it in a step. */
typedef struct ms_price_use {
    double gpus;       /**< with a rank [count] */
    double spare_gpus; /**< kept for the job on spare nodes, idle all the time [count] */
    double step_s;     /**< time of a step */
    double busy_s;     /**< of it, in which a GPU with a rank computes: mean over them */
} ms_price_use;

/** Whether the platform's file says what a GPU is rented for.  O(1). */
bool ms_price_has_rent(const ms_platform *platform);

/** Whether it says enough of power for the energy of a step: that of its GPUs, computing and
 * waiting, and of the rest of a node.  O(1). */
bool ms_price_has_power(const ms_platform *platform);

/** Rent of all GPUs that a job holds, for the time of a step [USD]; 0 where the file does not say
 * what it is.  O(1). */
double ms_price_step_USD(const ms_platform *platform, const ms_price_use *use);

/** Energy of a step [J]; 0 where the file does not say enough of power. A GPU takes its load power
 * while it computes and its idle power while it waits or communicates; its share of the rest of its
 * node and of the network is constant; the platform's PUE multiplies the sum.  O(1). */
double ms_price_step_J(const ms_platform *platform, const ms_price_use *use);

/** What ms_price_step_J does, in words; static storage. */
const char *ms_price_energy_convention(void);

#endif
