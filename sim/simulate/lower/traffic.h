/* The communications of a step, and the groups that each runs in. */
#ifndef MS_LOWER_TRAFFIC_H
#define MS_LOWER_TRAFFIC_H

#include "simulate/lower/ranks.h"
#include "simulate/lower/works.h"

/* The groups of a set of axes among the ranks of one pipeline rank; or the pairs of ranks with the
 * same index in the stage on two pipeline ranks. Indices whose ranks behave alike are one class
 * (ranks.h). The lowest class in a group leads the group. */
typedef struct ms_comm_groups {
    int ends[2];    /* pipeline ranks; ends[1]: -1 for groups inside ends[0] */
    unsigned axes;  /* axes that a group spans (MS_AXIS_BIT); 0: pairs */
    int count;      /* number of groups; they are in the order of their lowest ranks */
    int members;    /* number of members of a group */
    int ranks_each; /* indices in the stage of a group: as many as members, but 1 for a pair, whose
                       two ranks have the same index */
    int *gpus;      /* [count * members] GPUs of the members */
    int *ranks_in_stage; /* [count * ranks_each] indices in the stage of the members */
    int *lead;           /* [classes] the class that leads the group with a member of this class */
    int *class_first; /* [classes + 1] into member_classes: classes in the groups that class k leads
                       */
    int *member_classes;         /* ascending for each leading class, each class once */
    int *group_first;            /* [classes + 1] into led: groups that class k leads */
    int *led;                    /* [count] groups, those of one leading class side by side */
    struct ms_comm_groups *next; /* list of the groups with the same ends[0] */
} ms_comm_groups;

/* A communication: the same collective in all its groups at once. */
typedef struct ms_step_comm {
    ms_work_key key; /* `first`, and `second` of pairs, are ~(pipeline rank): no simulated rank */
    ms_coll_request request; /* without GPUs */
    const ms_comm_groups *groups;
    bool is_pipelined;   /* as in ms_dag_work */
    ms_coll_plan *plans; /* [groups->count] how it is laid out in each group */
} ms_step_comm;

/* An entry: a communication runs on a stream of its groups. */
typedef struct ms_comm_stream {
    uint64_t stream; /* identifies the stream among those of its groups */
    int32_t comm;    /* index into ms_traffic.comms */
} ms_comm_stream;

/* The traffic of a step. `comms` and `streams` are filled only where ranks are to be folded. */
typedef struct ms_traffic {
    const ms_ranks *ranks;
    ms_arena *arena;
    bool has_classes; /* the classes of ranks are final, so new groups get theirs when made */
    ms_comm_groups **groups; /* [pp] lists of the groups made so far, by ends[0]; NULL: none yet */
    ms_vector comms;         /* of ms_step_comm */
    ms_vector streams;       /* of ms_comm_stream, sorted by stream, each entry once */
} ms_traffic;

/* Fill a caller's traffic, empty. The caller releases it with ms_traffic_release. */
void ms_traffic_init(ms_traffic *traffic, const ms_ranks *ranks, ms_arena *arena);
/* Free the vectors. */
void ms_traffic_release(ms_traffic *traffic);

/* Find the groups of pipeline rank ends[0] that span `axes`, or for axes 0 the pairs of both
 * pipeline ranks; made on first use. Their classes are set after ms_traffic_fold only.  Returns
 * NULL when memory runs out. */
ms_comm_groups *ms_traffic_groups(ms_traffic *traffic, const int ends[2], unsigned axes);

/* Set the classes of all groups made so far; groups made later get theirs at once. To be called
 * when the classes of ranks are final.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_traffic_fold(ms_traffic *traffic);

#endif
