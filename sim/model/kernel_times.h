/**
 * @file
 * Times of single kernels on a GPU type by the cost model, without a job: for the command `times`
 * and for comparison with measured tables.
 */
#ifndef MESHSIM_KERNEL_TIMES_H
#define MESHSIM_KERNEL_TIMES_H

#include <stdbool.h>

#include "cluster/platform/platform.h"

/** A matrix product C[m,n] = A[m,k] B[k,n], `batch` independent ones in one kernel. */
typedef struct ms_gemm_shape {
    double m, n, k, batch; /**< [elements], [count] */
} ms_gemm_shape;

/** Time of a matrix product on a GPU type [s], launch included.
 *  element_B: bytes per element of operands and result.
 *  Source: roofline, with tile and wave quantisation and a depth ramp k / (k + gemm_depth_half);
 *  the constants' fit is described in sim/model/kernels.c. */
double ms_gemm_time_s(const ms_gpu_type *gpu, ms_gemm_shape shape, double element_B);

/** Time of fused attention over whole causal sequences of 16 bits an element on a GPU type [s],
 * launch included, by the figures of the type's own kernel (MS_ATTENTION_FUSED). sizes: [6] batch,
 * sequence, heads of queries and of keys, sizes of a query and of a value, as a
 * MS_MEASURED_ATTENTION row has them.  is_backward: the pass that gives gradients. */
double ms_attention_time_s(const ms_gpu_type *gpu, const double *sizes, bool is_backward);

/** Time of a kernel that only reads and writes memory on a GPU type [s], launch included.
 *  bytes: read and written [B]. */
double ms_memory_time_s(const ms_gpu_type *gpu, double bytes);

#endif
