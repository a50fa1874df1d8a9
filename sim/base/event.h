/**
 * @file
 * Enumerations that several layers share: mesh axes, kinds of collectives and operations, passes.
 *
 * Their integer values are written to trace files, so new values are added at the end and old ones
 * are never changed.
 *
 * Nouns of the room `base`, and what the same words mean elsewhere:
 * - node: a value in a tree of YAML or JSON (ms_node). In cluster: a computer with GPUs.
 * - place: the line and column of a value in a file (ms_mark). A GPU has a slot in its node, a link
 *   has an address (cluster); an item of a list has an index.
 * - field: a row of a table of keys (ms_field): key, type, default, range.
 * - unit: of a quantity, such as GB/s (units.h). In model: an FSDP unit. In cluster: some nodes.
 * - target: a file that is written whole or not at all (target.h).
 * - memo: a table of keys that have been seen, each with a number and a value, so that what depends
 *   on the key alone is computed once for each key (memo.h).
 * - pass: the forward or backward computation of one microbatch on one virtual stage.
 * - step: an optimizer step. In collective: one round of messages of an algorithm.
 */
#ifndef MESHSIM_EVENT_H
#define MESHSIM_EVENT_H

#include <stddef.h>

#include "base/status.h"

/** Mesh axis that a communication belongs to. An axis with a name of the user's own is
 * MS_AXIS_OTHER. */
typedef enum ms_axis {
    MS_AXIS_NONE = 0, /**< not a communication */
    MS_AXIS_TP = 1,
    MS_AXIS_CP = 2,
    MS_AXIS_EP = 3,
    MS_AXIS_PP = 4,
    MS_AXIS_DP = 5,
    MS_AXIS_OTHER = 6, /**< the whole world, or a user's own axis */
    MS_AXIS_COUNT,
} ms_axis;

/** The bit that stands for an axis in a set of axes. */
#define MS_AXIS_BIT(axis) (1U << (unsigned)(axis))
/** Remove the axis of the lowest number from a set of axes, and return that axis.  axes: the set,
 * not empty. */
static inline ms_axis ms_axes_take(unsigned *axes) {
    ms_axis axis = (ms_axis)__builtin_ctz(*axes);
    *axes &= *axes - 1;
    return axis;
}
/** In a set of axes: its axes are those of the experts' own mesh, a second mesh over the same ranks
 * (expert_mesh in the workload), not those of the job's mesh. */
#define MS_AXES_OF_EXPERTS (1U << 15)
/** Axes along which ranks share the work of a layer or the tokens of a microbatch. The ranks of a
 * group along these axes run the same pass at the same time. */
#define MS_AXES_WITHIN_PASSES                                                                      \
    (MS_AXIS_BIT(MS_AXIS_TP) | MS_AXIS_BIT(MS_AXIS_CP) | MS_AXIS_BIT(MS_AXIS_EP))

/** Communication patterns. */
typedef enum ms_coll_kind {
    MS_COLL_NONE = 0,
    MS_COLL_P2P = 1,
    MS_COLL_ALL_REDUCE = 2,
    MS_COLL_REDUCE_SCATTER = 3,
    MS_COLL_ALL_GATHER = 4,
    MS_COLL_ALL_TO_ALL = 5,
    MS_COLL_BROADCAST = 6,
    MS_COLL_RING_SHIFT = 7, /**< every member sends its buffer to the next one of the ring */
    MS_COLL_COUNT,
} ms_coll_kind;

/** What an operation of the timeline does. */
typedef enum ms_op_kind {
    MS_OP_FORWARD = 0,
    MS_OP_INPUT_GRAD = 1,
    MS_OP_WEIGHT_GRAD = 2,
    MS_OP_BACKWARD = 3, /**< input and weight gradient fused */
    MS_OP_RECOMPUTE = 4,
    MS_OP_OPTIMIZER = 5,
    MS_OP_P2P = 6,
    MS_OP_ALL_REDUCE = 7,
    MS_OP_REDUCE_SCATTER = 8,
    MS_OP_ALL_GATHER = 9,
    MS_OP_ALL_TO_ALL = 10,
    MS_OP_BROADCAST = 11,
    MS_OP_RING_SHIFT = 12,
    MS_OP_KIND_COUNT,
} ms_op_kind;

/** Pass of one virtual stage over one microbatch, as schedules order them (PyTorch's letters). */
typedef enum ms_pass {
    MS_PASS_F = 0, /**< forward */
    MS_PASS_I = 1, /**< input gradient */
    MS_PASS_W = 2, /**< weight gradient */
    MS_PASS_B = 3, /**< I and W fused */
    MS_PASS_COUNT,
} ms_pass;

/** How closely an engine models transfers. Analytic: each transfer alone on its route. Flow:
 * transfers share the bandwidth of links. Step: as flow, and every step of a collective's
 * algorithm is a transfer of its own (sim/collective/steps.md). */
typedef enum ms_fidelity {
    MS_FIDELITY_ANALYTIC,
    MS_FIDELITY_FLOW,
    MS_FIDELITY_STEP,
    MS_FIDELITY_COUNT,
} ms_fidelity;

/** The solver that finds how transfers share links: SimGrid's, or meshsim's own max-min solver,
 * which is tested to find the same and costs less where millions of flows run
 * (sim/simulate/engine/README.md). */
typedef enum ms_solver {
    MS_SOLVER_SIMGRID,
    MS_SOLVER_MAXMIN,
    MS_SOLVER_COUNT,
} ms_solver;

/** How much of a pass is one operation of the graph. Layer: each computation and each collective of
 * each layer. Pass: the longest parts of the pass that all members of its collectives run
 * together. */
typedef enum ms_granularity {
    MS_GRANULARITY_LAYER,
    MS_GRANULARITY_PASS,
    MS_GRANULARITY_COUNT,
} ms_granularity;

/** Words of ms_fidelity and ms_granularity in their order, NULL behind the last. */
extern const char *const MS_FIDELITY_WORDS[];
extern const char *const MS_GRANULARITY_WORDS[];

/** Lower-case names as in files and output ("tp", "all_reduce", "forward", "F"); never NULL. */
const char *ms_axis_name(ms_axis axis);
const char *ms_coll_kind_name(ms_coll_kind kind);
const char *ms_op_kind_name(ms_op_kind kind);
const char *ms_fidelity_name(ms_fidelity fidelity);
const char *ms_solver_name(ms_solver solver);
const char *ms_granularity_name(ms_granularity granularity);
const char *ms_pass_name(ms_pass pass);

/** The fidelity that a word names: analytic, flow or step.  Returns MS_OK; MS_E_RANGE for any other
 * word, *fidelity_out is then unchanged. */
ms_status ms_fidelity_read(const char *name, ms_fidelity *fidelity_out);

/** Axis of a name; MS_AXIS_OTHER for any name that is not a known axis. */
ms_axis ms_axis_from_name(const char *name);

/** The operation kind that carries out a collective kind. */
ms_op_kind ms_op_kind_of_coll(ms_coll_kind kind);
/** The operation kind of a pass's computations. */
ms_op_kind ms_op_kind_of_pass(ms_pass pass);

#endif
