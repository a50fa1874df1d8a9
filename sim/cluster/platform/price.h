/**
 * @file
 * Cost of a step: the rent of the GPUs that a job holds, and the energy that they, their nodes,
 * network and site use.
 *
 * Both grow with the time of a step and with the time for which its GPUs compute. So lower bounds
 * of these two times give lower bounds of cost and energy.
 */
#ifndef MESHSIM_PRICE_H
#define MESHSIM_PRICE_H

#include <stdbool.h>

#include "cluster/platform/platform.h"

/** The GPUs that a job holds, and for how long they compute in a step. */
typedef struct ms_price_use {
    double gpus;       /**< GPUs with a rank [count] */
    double spare_gpus; /**< GPUs of spare nodes, which are idle all the time [count] */
    double step_s;     /**< time of a step [s] */
    double busy_s; /**< time of a step in which a GPU computes, mean over GPUs with a rank [s] */
} ms_price_use;

/** Whether the platform's file gives the rent of a GPU.  O(1). */
bool ms_price_has_rent(const ms_platform *platform);

/** Whether the platform's file gives the power of GPUs and of the rest of a node, which the energy
 * of a step needs.  O(1). */
bool ms_price_has_power(const ms_platform *platform);

/** Rent of all GPUs that a job holds, for the time of a step [USD]; 0 where the file gives no rent.
 * O(1). */
double ms_price_step_USD(const ms_platform *platform, const ms_price_use *use);

/** Energy of a step [J]; 0 where the file does not give enough power. A GPU uses its load power
 * while it computes and its idle power while it waits or communicates. Its share of the rest of
 * its node and of the network is constant. The platform's PUE multiplies the sum.  O(1). */
double ms_price_step_J(const ms_platform *platform, const ms_price_use *use);

/** The convention of ms_price_step_J in words; static storage. */
const char *ms_price_energy_convention(void);

#endif
