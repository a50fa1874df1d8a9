/* Times of communication in the groups of a mesh on a platform. Groups are timed by class: a class
 * is one collective in all groups of one pipeline rank at once, such as the all-reduce of all its
 * tensor-parallel groups, or all messages from one pipeline rank to another. Each class is laid out
 * on the links once; its time is a linear function of the bytes, called its line. See estimate.md.
 */
#ifndef MS_ESTIMATE_COMM_CLASSES_H
#define MS_ESTIMATE_COMM_CLASSES_H

#include "base/buffer.h"
#include "base/memo.h"
#include "collective/coll_class.h"
#include "collective/nccl.h"
#include "job/spec.h"

/* Storage that estimates reuse, above all to lay collectives out; one serves many meshes on one
 * platform. */
typedef struct ms_layout_storage {
    ms_diag *diag;      /* where refusals are reported */
    ms_arena scratch;   /* cleared after each layout */
    ms_arena kept;      /* released with the space */
    int32_t *link_load; /* [links] scratch of ms_coll_class_build: zeros between uses */
    int links;          /* links that link_load has room for; -1: not allocated */
    ms_vector arrivals; /* of double, for ms_clocks_new */
} ms_layout_storage;

/* A class of communication. */
typedef struct ms_class_key {
    ms_coll_kind kind;
    unsigned axes; /* MS_AXIS_BIT of the axes that a group spans; 0: each group is a rank of `from`
                      and its peer of `to` */
    int from, to;  /* pipeline ranks; to: -1 for groups inside `from` */
    double intra_node_share; /* all-to-all in two levels: bytes that are exchanged inside each node,
                                per byte between nodes; 0: one level */
    double load_imbalance;   /* all-to-all: bytes of the busiest member over the mean; 0: 1 */
    double bytes;            /* full buffer, for which a library (NCCL) chooses an algorithm and a
                                protocol [B]; 0: no library chooses by size */
    uint64_t ways; /* number of the library's choices for the class's groups: equal for two sizes
                      with equal choices; 0: no library chooses */
} ms_class_key;

/* The time of a group as a function of the bytes: latency_s + bytes * per_B_s, and a library's ramp
 * of the bytes. */
typedef struct ms_time_line {
    double latency_s, per_B_s; /* [s], [s/B] */
    ms_library_ramp ramp;
} ms_time_line;

/* Times of a class. Its groups run side by side, and the slowest one counts. Which group is the
 * slowest depends on the bytes where one has the longest latency and another the least bandwidth,
 * so that two lines are kept. */
typedef struct ms_class_times {
    ms_class_key key;
    ms_time_line narrowest; /* of the group with the least bandwidth, while all groups run */
    ms_time_line farthest;  /* of the group with the longest latency, while all groups run */
    ms_time_line alone;     /* never above the time of any group, whatever else uses the links */
    bool is_refused;        /* no algorithm lays the class out, which was reported */
} ms_class_times;

/* Maximum number of different communicators of a class that are kept. */
enum { MS_CLASS_COMMS_MAX = 4 };

/* The communicators of a class's groups that differ in what a library's choice depends on. */
typedef struct ms_class_comms {
    ms_nccl_comm comms[MS_CLASS_COMMS_MAX];
    int count; /* MS_CLASS_COMMS_MAX + 1: more than there is room for */
} ms_class_comms;

/* The classes of a mesh on a platform. */
typedef struct ms_comm_classes {
    const ms_platform *platform;
    ms_mesh mesh;
    const ms_mesh *expert_mesh; /* the experts' mesh of the same ranks, borrowed; NULL: `mesh` */
    ms_coll_choices algorithms; /* all zero: the default ones */
    int pp, group_ranks;        /* pipeline ranks; ranks of each pipeline rank */
    int *alike;          /* [pp] the first pipeline rank whose ranks lie on the tiers of links as
                            those of p do, so that all its classes take equally long */
    int *boundary_alike; /* [pp] the first q such that ranks of q and q + 1 lie as those of p and
                            p + 1 do */
    bool is_alone;       /* groups do not load each other's links (fidelity analytic) */
    bool is_unfolded;    /* every group counts by itself, not one that stands for all */
    double norm_s;       /* result of ms_comm_norm_time [s]; < 0: not known yet */
    /* Three tables in a row, so that a class is laid out once for all sizes with equal choices: */
    ms_memo keys;   /* by ms_class_key with bytes and without ways: number in `ways` (int) */
    ms_memo ways;   /* by ms_class_key with ways and without bytes: ms_class_times */
    ms_memo groups; /* by ms_class_key without both: ms_class_comms */
} ms_comm_classes;

/* Make a caller's space empty.  diag: borrowed; may be NULL until the space is used. */
void ms_layout_storage_init(ms_layout_storage *space, ms_diag *diag);
/* Free the storage of a space. */
void ms_layout_storage_release(ms_layout_storage *space);

/* Make the empty tables of a job's classes, and find the pipeline ranks that lie alike.  *comm_out:
 * arrays in `arena`; borrows the job's platform, devices and expert_mesh; the caller releases it
 * with ms_comm_classes_release, also after a failure.  Returns MS_OK; MS_E_NOMEM.  O(pp^2 * tiers).
 */
ms_status ms_comm_classes_init(ms_comm_classes *comm_out, const ms_job *job, ms_arena *arena);
void ms_comm_classes_release(ms_comm_classes *comm);

/* Find the times of a class, which is laid out on first use; where a library chooses, once for all
 * sizes with equal choices.  key: its ways are not read.  *times_out: valid until the next call.
 * Returns MS_OK; MS_E_NOMEM; MS_E_INPUT (reported) for what no algorithm lays out.  O(ranks of a
 * pipeline rank * links of a route), O(1) from the second time on. */
ms_status ms_comm_classes_find(ms_comm_classes *comm, ms_layout_storage *space,
                               const ms_class_key *key, const ms_class_times **times_out);

/* Bytes that classes are laid out with [B]: the slope of a line is the time of this size without
 * the latency, divided by it. */
#define MS_CLASS_REFERENCE_B 1073741824.0

/* Lay a class of MS_CLASS_REFERENCE_B bytes out among the ranks that its key names, not among the
 * first ones that lie alike, as the caller needs the links.  *class_out: in the space's scratch; no
 * groups where a group is one rank.  Returns and costs as ms_comm_classes_find. */
ms_status ms_comm_class_build(const ms_comm_classes *comm, ms_layout_storage *space,
                              const ms_class_key *key, ms_coll_class *class_out);

/* Find the time of the all-reduce of the gradient's norm among all ranks [s].  Returns MS_OK;
 * MS_E_NOMEM.  As ms_coll_world_sum on first use, O(1) from the second time on. */
ms_status ms_comm_norm_time(ms_comm_classes *comm, double *norm_s_out);

/* The mesh of a group that spans `axes`: the experts' one for axes with MS_AXES_OF_EXPERTS. */
static inline const ms_mesh *ms_comm_mesh(const ms_comm_classes *comm, unsigned axes) {
    return ms_mesh_of_axes(&comm->mesh, comm->expert_mesh, axes);
}

/* A copy of `key`, with bytes 0 where no library chooses by them. */
ms_class_key ms_class_as_chosen(const ms_comm_classes *comm, const ms_class_key *key);

/* Whether two keys are equal, but for their ways. */
bool ms_class_is_same(const ms_class_key *a, const ms_class_key *b);

/* The key of a segment's collective in the groups of pipeline rank `p`. */
ms_class_key ms_class_of_segment(const ms_segment *segment, int p);

/* Time of `bytes` in all groups of a class at once [s]. */
double ms_class_time_s(const ms_class_times *times, double bytes);
/* Lower bound of the time of `bytes` in any group of a class, whatever else uses the links [s]. */
double ms_class_bound_s(const ms_class_times *times, double bytes);

#endif
