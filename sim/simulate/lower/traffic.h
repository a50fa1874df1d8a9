/* What a step sends: every communication of it, and the groups that each runs in. */
#ifndef MS_LOWER_TRAFFIC_H
#define MS_LOWER_TRAFFIC_H

#include "simulate/lower/ranks.h"
#include "simulate/lower/works.h"

/* The groups of a set of axes among the ranks of one pipeline rank, or the pairs of ranks at one
 * place of two. Their classes: groups whose members are of the same classes of places. */
typedef struct ms_comm_groups {
    int ends[2];      /* pipeline ranks; ends[1]: -1 for groups inside ends[0] */
    unsigned axes;    /* that a group spans; 0: pairs */
    int count;        /* groups, in the order of their lowest places */
    int members;      /* of a group */
    int places_each;  /* members, or 1 for a pair, whose ranks stand at one place */
    int *gpus;        /* [count * members] */
    int *places;      /* [count * places_each] */
    int *lead;        /* [classes] the lowest class in the group that members of this one are in */
    int *class_first; /* [classes + 1] into member_classes: of the groups led by class k */
    int *member_classes;         /* each class of a group once, ascending */
    int *group_first;            /* [classes + 1] into led: of class k */
    int *led;                    /* [count] groups, those of one class side by side */
    struct ms_comm_groups *next; /* others of ends[0] */
} ms_comm_groups;

/* A communication: the same collective in all its groups at once. */
typedef struct ms_step_comm {
    ms_work_key key;         /* its `first`, and of pairs its `second`, is ~pipeline rank */
    ms_coll_request request; /* without GPUs */
    const ms_comm_groups *groups;
    bool is_pipelined;
    ms_coll_plan *plans; /* [groups] */
} ms_step_comm;

/* That a communication runs on a stream of its members. */
typedef struct ms_comm_stream {
    uint64_t stream; /* what tells streams of one group apart */
    int32_t comm;
} ms_comm_stream;

/* All of a step; `comms` and `streams` are filled only where ranks are to be folded. */
typedef struct ms_traffic {
    const ms_ranks *ranks;
    ms_arena *arena;
    bool has_classes;        /* ranks are folded, or never will be: groups know their classes */
    ms_comm_groups **groups; /* [pp] lists of what has been made, by ends[0]; NULL: nothing has */
    ms_vector comms;         /* of ms_step_comm */
    ms_vector streams;       /* of ms_comm_stream, sorted, each once */
} ms_traffic;

/* Fill a caller's traffic, nothing in it.  Released with ms_traffic_release. */
void ms_traffic_init(ms_traffic *traffic, const ms_ranks *ranks, ms_arena *arena);
void ms_traffic_release(ms_traffic *traffic);

/* The groups of pipeline rank ends[0] that span `axes`, or with axes 0 the pairs of both, made on
 * first use; without their classes before ms_traffic_fold.  Returns NULL when memory runs out. */
ms_comm_groups *ms_traffic_groups(ms_traffic *traffic, const int ends[2], unsigned axes);

/* Find the classes of all groups made so far, and of others as they are made: ranks are folded as
 * far as they will be.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_traffic_fold(ms_traffic *traffic);

#endif
