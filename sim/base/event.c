/* Names of the shared enumerations (event.h): axes, collectives, operations, passes, and the words
 * for fidelity and granularity that users write. */
#include "base/event.h"

#include <stdbool.h>

#include "base/text.h"

static const char *const AXES[MS_AXIS_COUNT] = {"none", "tp", "cp", "ep", "pp", "dp", "other"};
static const char *const COLLECTIVES[MS_COLL_COUNT] = {"none",           "p2p",        "all_reduce",
                                                       "reduce_scatter", "all_gather", "all_to_all",
                                                       "broadcast",      "ring_shift"};
/* Operations that compute; those that communicate have the names of their collectives. */
static const char *const OPERATIONS[MS_OP_P2P] = {"forward",  "input_gradient", "weight_gradient",
                                                  "backward", "recompute",      "optimizer"};
const char *const MS_FIDELITY_WORDS[] = {"analytic", "flow", "step", NULL};
const char *const MS_GRANULARITY_WORDS[] = {"layer", "pass", NULL};
static const char *const PASSES[MS_PASS_COUNT] = {"F", "I", "W", "B"};

const char *ms_axis_name(ms_axis axis) {
    return (unsigned)axis < MS_AXIS_COUNT ? AXES[axis] : "unknown";
}

const char *ms_coll_kind_name(ms_coll_kind kind) {
    return (unsigned)kind < MS_COLL_COUNT ? COLLECTIVES[kind] : "unknown";
}

const char *ms_op_kind_name(ms_op_kind kind) {
    return (unsigned)kind < MS_OP_P2P ? OPERATIONS[kind]
                                      : ms_coll_kind_name(MS_COLL_P2P + (kind - MS_OP_P2P));
}

const char *ms_fidelity_name(ms_fidelity fidelity) {
    return (unsigned)fidelity < MS_FIDELITY_COUNT ? MS_FIDELITY_WORDS[fidelity] : "unknown";
}

const char *ms_solver_name(ms_solver solver) {
    return solver == MS_SOLVER_MAXMIN ? "maxmin" : "simgrid";
}

const char *ms_granularity_name(ms_granularity granularity) {
    return MS_GRANULARITY_WORDS[granularity == MS_GRANULARITY_PASS];
}

ms_status ms_fidelity_read(const char *name, ms_fidelity *fidelity_out) {
    int index = ms_word_index(name, MS_FIDELITY_WORDS, MS_FIDELITY_COUNT);
    if (index < 0) {
        return MS_E_RANGE;
    }
    *fidelity_out = (ms_fidelity)index;
    return MS_OK;
}

const char *ms_pass_name(ms_pass pass) {
    return (unsigned)pass < MS_PASS_COUNT ? PASSES[pass] : "?";
}

ms_axis ms_axis_from_name(const char *name) {
    int axis = ms_word_index(name, AXES, MS_AXIS_OTHER);
    return axis > MS_AXIS_NONE ? (ms_axis)axis : MS_AXIS_OTHER; /* an axis may be called none */
}

ms_op_kind ms_op_kind_of_coll(ms_coll_kind kind) {
    /* both enumerations list the collectives in the same order */
    bool is_collective = kind > MS_COLL_P2P && kind < MS_COLL_COUNT;
    return is_collective ? MS_OP_P2P + (kind - MS_COLL_P2P) : MS_OP_P2P;
}

ms_op_kind ms_op_kind_of_pass(ms_pass pass) {
    static const ms_op_kind KINDS[MS_PASS_COUNT] = {[MS_PASS_F] = MS_OP_FORWARD,
                                                    [MS_PASS_I] = MS_OP_INPUT_GRAD,
                                                    [MS_PASS_W] = MS_OP_WEIGHT_GRAD,
                                                    [MS_PASS_B] = MS_OP_BACKWARD};
    return KINDS[pass];
}
