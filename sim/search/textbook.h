/**
 * @file
 * The textbook's cost model of a device mesh: every ordered factorization of the devices into data,
 * pipeline and tensor parallelism, its memory and its time in closed form, without latency,
 * contention or a schedule.
 *
 * This model is a planner's calculation on paper, kept as an example beside the simulation. It
 * knows no sizes of layers: tensor parallelism moves 16 bytes per parameter of a layer, data
 * parallelism 16 bytes per parameter of a GPU's share, whatever the batch.
 */
#ifndef MESHSIM_TEXTBOOK_H
#define MESHSIM_TEXTBOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/status.h"

/** The textbook's description of a model and a cluster. */
typedef struct ms_textbook {
    int devices;         /**< D, >= 1 */
    double parameters;   /**< P [count] */
    double state_B;      /**< of parameters, gradients and optimizer, per parameter; sharded over
                              all devices */
    int layers;          /**< L: pipeline stages at most */
    double activation_B; /**< of the whole model; divided by pipeline and tensor parallelism */
    double device_B;     /**< memory of a device */
    int node_devices;    /**< devices of a node, which share the fast links */
    int microbatches;    /**< per step */
    double stage_s;      /**< time of a stage for a microbatch */
    double node_Bps;     /**< bandwidth inside a node */
    double network_Bps;  /**< bandwidth between nodes */
    double rack_Bps;     /**< W, across racks, for data parallelism */
} ms_textbook;

/** A mesh, its memory and its time. */
typedef struct ms_textbook_mesh {
    int dp, pp, tp;
    double memory_B; /**< per device */
    bool fits;       /**< in a device's memory, and no more stages than layers */
    double tensor_s; /**< (tp-1)/tp * state of a layer / bandwidth; each 0 where its degree is 1 */
    double pipeline_s; /**< (pp-1)/pp * activations / network */
    double bubble_s;   /**< (pp-1)/microbatches * stage */
    double data_s;     /**< (dp-1)/dp * state of a pipeline and tensor rank / rack */
    double cost_s;     /**< sum of the four */
} ms_textbook_mesh;

/** The textbook's own numbers, for a number of devices and of parameters: 16 bytes of state per
 * parameter, 80 layers, 3 GB of activations, 80 GB per device, 8 devices per node, 16 microbatches
 * of 8 ms, and 600, 100 and 25 GB/s inside a node, between nodes and across racks. O(1). */
ms_textbook ms_textbook_usual(int devices, double parameters);

/** All ordered factorizations of the devices into dp * pp * tp: first those that fit in memory; by
 * cost, then by smaller dp, pp, tp.
 *  *meshes_out: [*count_out] in `arena`. *fitting_out: number of meshes that fit. Returns MS_OK;
 * MS_E_INPUT (reported) for a count below 1 or a time, size or bandwidth that is not above 0;
 * MS_E_NOMEM (reported). O(sqrt(devices) + count log count). */
ms_status ms_textbook_search(const ms_textbook *input, ms_arena *arena, ms_diag *diag,
                             ms_textbook_mesh **meshes_out, size_t *count_out, size_t *fitting_out);

/** The best mesh that fits and uses all three kinds of parallelism; NULL: there is none. meshes:
 * [count], sorted as by ms_textbook_search. */
const ms_textbook_mesh *ms_textbook_first_of_three(const ms_textbook_mesh *meshes, size_t count);

#endif
