/* How long communication takes between the GPUs that a mesh's groups lie on: a line over the bytes
 * for every kind of group, laid out once. See decision note estimate.md. */
#ifndef MS_ESTIMATE_COMM_CLASSES_H
#define MS_ESTIMATE_COMM_CLASSES_H

#include "base/buffer.h"
#include "base/memo.h"
#include "collective/coll_class.h"
#include "collective/nccl.h"
#include "job/spec.h"

/* Storage that estimates need again and again, above all to lay communication out; one serves many
 * placements on one platform. */
typedef struct ms_plan_space {
    ms_diag *diag; /* where refusals go */
    ms_arena scratch;
    ms_arena kept;
    int32_t *link_load; /* [links] zeros between uses */
    int links;
    ms_vector arrivals; /* of double, for ms_clocks_new */
} ms_plan_space;

/* The same communication in all groups of a pipeline rank at once. */
typedef struct ms_class_key {
    ms_coll_kind kind;
    unsigned axes; /* that a group spans; 0: a group is one rank of `from` and its peer of `to` */
    int from, to;  /* pipeline ranks; to: -1 for groups inside `from` */
    double intra_node_share; /* all-to-all: bytes of the one inside each node, per byte */
    double load_imbalance;   /* all-to-all: of the busiest member; 0: 1 */
    double bytes;            /* that an algorithm is chosen for, where a library does so */
    uint64_t ways;           /* of its groups, as the library chooses them; 0: it does not */
} ms_class_key;

/* time = latency_s + bytes * per_B_s, and its ramp */
typedef struct ms_time_line {
    double latency_s, per_B_s;
    ms_library_ramp ramp;
} ms_time_line;

/* The classes' groups run side by side, each or one for all as they are simulated; the slowest one
 * counts, which depends on the bytes where one has the longest latency and another the least
 * bandwidth. */
typedef struct ms_class_times {
    ms_class_key key;
    ms_time_line narrowest; /* with the group of the least bandwidth */
    ms_time_line farthest;  /* with the group of the longest latency */
    ms_time_line alone;     /* never above any group's time, whatever else runs */
    bool is_refused;        /* no algorithm lays it out, which was reported */
} ms_class_times;

/* The sorts of communicators that a class's groups are. */
enum { MS_CLASS_COMMS_MAX = 4 };
typedef struct ms_class_comms {
    ms_nccl_comm comms[MS_CLASS_COMMS_MAX];
    int count; /* MS_CLASS_COMMS_MAX + 1: more than there is room for */
} ms_class_comms;

/* Classes of a mesh on a platform. */
typedef struct ms_comm_classes {
    const ms_platform *platform;
    ms_mesh mesh;
    const ms_mesh *expert_mesh; /* the experts' own view of its ranks, borrowed; NULL: `mesh` */
    ms_coll_choices algorithms; /* all zero: the usual ones */
    int pp, group_ranks;        /* pipeline ranks; ranks of one */
    int *alike;                 /* [pp] the first pipeline rank whose ranks lie as this one's do */
    int *boundary_alike;        /* [pp] the first p whose ranks lie to those of p + 1 as here */
    bool is_alone;              /* groups do not load each other's links */
    bool is_unfolded;           /* every group is simulated, not one that stands for all */
    double norm_s;              /* of ms_comm_norm_find; < 0: not known yet */
    ms_memo keys;               /* numbers in `ways` (int) by ms_class_key with bytes, no ways */
    ms_memo ways;               /* ms_class_times by ms_class_key with ways, no bytes */
    ms_memo groups;             /* ms_class_comms by ms_class_key without both */
} ms_comm_classes;

void ms_plan_space_init(ms_plan_space *space, ms_diag *diag);
void ms_plan_space_release(ms_plan_space *space);

/* Compare where the pipeline ranks of a job lie.  *comm_out: arrays in `arena`; borrows the job's
 * platform, devices and expert_mesh; the caller releases it with ms_comm_classes_release, also
 * after a failure.  Returns MS_OK; MS_E_NOMEM.  O(pp^2 * tiers). */
ms_status ms_comm_classes_init(ms_comm_classes *comm_out, const ms_job *job, ms_arena *arena);
void ms_comm_classes_release(ms_comm_classes *comm);

/* Times of a class, laid out on first use: where a library chooses, for all sizes that it chooses
 * alike for.  *times_out: until the next call.  Returns MS_OK; MS_E_NOMEM; MS_E_INPUT (reported)
 * for what no algorithm lays out.  O(ranks of a pipeline rank * links of a route), O(1) from the
 * second time on. */
ms_status ms_comm_classes_find(ms_comm_classes *comm, ms_plan_space *space, const ms_class_key *key,
                               const ms_class_times **times_out);

/* Bytes that classes are laid out with; their times are lines through this point. */
#define MS_CLASS_REFERENCE_B 1073741824.0

/* Lay a class of MS_CLASS_REFERENCE_B bytes out among the ranks that its key names, not among the
 * first ones that lie alike.  *class_out: in the space's scratch; no groups where a group is one
 * rank.  Returns and takes as ms_comm_classes_find. */
ms_status ms_comm_class_build(const ms_comm_classes *comm, ms_plan_space *space,
                              const ms_class_key *key, ms_coll_class *class_out);

/* Time in which all ranks learn the norm of the gradient [s].  Returns MS_OK; MS_E_NOMEM.  As
 * ms_coll_world_sum on first use, O(1) from the second time on. */
ms_status ms_comm_norm_find(ms_comm_classes *comm, double *norm_s_out);

/* The mesh whose axes a group spans. */
static inline const ms_mesh *ms_comm_mesh(const ms_comm_classes *comm, unsigned axes) {
    return ms_mesh_of_axes(&comm->mesh, comm->expert_mesh, axes);
}

/* A key without the bytes where no library chooses by them. */
ms_class_key ms_class_as_chosen(const ms_comm_classes *comm, const ms_class_key *key);

bool ms_class_is_same(const ms_class_key *a, const ms_class_key *b);

/* The class of a segment's collective on pipeline rank `p`. */
ms_class_key ms_class_of_segment(const ms_segment *segment, int p);

/* Time of `bytes` in all groups of a class at once [s]. */
double ms_class_time_s(const ms_class_times *times, double bytes);
/* A time that no group takes less than, whatever else runs [s]. */
double ms_class_bound_s(const ms_class_times *times, double bytes);

#endif
