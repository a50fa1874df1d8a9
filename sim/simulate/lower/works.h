/* Works of the graph: collectives laid out over links, for one group or for all groups of a class,
 * and a table of the works and streams made so far. */
#ifndef MS_LOWER_WORKS_H
#define MS_LOWER_WORKS_H

#include "base/memo.h"
#include "simulate/lower/lower.h"

/* The key of a work or stream. What the fields hold depends on the domain; see the functions that
 * make keys: ms_group_key, ms_pair_key. Fields that are not used are 0. */
typedef struct ms_work_key {
    double size_B;         /* full buffer [B] */
    double intra_node_B;   /* as ms_group_op.intra_node_B [B] */
    double load_imbalance; /* as ms_group_op.load_imbalance */
    int32_t kind;          /* ms_coll_kind, or another number that tells streams apart */
    int32_t domain;        /* ms_axis of a collective, or MS_DOMAIN_... */
    int32_t first;         /* works: rank of the job that leads the groups, or source of a pair, or
                              ~(pipeline rank) for all groups of a pipeline rank; streams: simulated
                              rank */
    int32_t second;        /* destination of a pair, as `first`; of a collective its set of axes */
} ms_work_key;

/* Domains of keys beside those of collectives, which are their axes. */
enum {
    MS_DOMAIN_MESSAGE_STREAMS = MS_AXIS_COUNT,
    MS_DOMAIN_GROUP_STREAMS,
    MS_DOMAIN_STEP_END_STREAMS, /* across pipeline ranks */
    MS_DOMAIN_PAIRS,            /* works between ranks with the same index on two pipeline ranks */
    MS_DOMAIN_FUSED_PASSES,     /* works inside fused passes, plus 1; 0: they have none */
    MS_DOMAIN_NORM,             /* the one work of the norm of the world's gradient */
};

/* Number of crossings by a set of flows of a link, and of the class of links that this link names.
 */
typedef struct ms_link_load {
    int64_t class_load;    /* crossings of all links of the class */
    int32_t load;          /* crossings of the link */
    int32_t crossing_load; /* crossings of the link of the class that was seen first; all links of a
                              class must have as many */
    int32_t most;          /* maximum number of crossings of one link of the class by one flow */
} ms_link_load;

/* How collectives are laid out, and the works, streams and links made so far. */
typedef struct ms_works {
    const ms_platform *platform;
    ms_arena *arena;
    ms_diag *diag;
    ms_dag *dag;
    ms_coll_choices algorithms; /* the job's algorithms by kind of collective; in no key, as they
                                   are the same for all works */
    double launch_s;            /* time a rank's host takes to launch a communication [s] */
    bool is_stepped;            /* collectives are laid out step by step (fidelity `step`) */
    ms_memo keys;               /* of int32_t, the work or stream of each ms_work_key */
    bool has_failed;            /* memory ran out for a key */
    int32_t *dag_link;          /* [platform links] index in the graph, -1 until used */
    ms_link_load *link_load;    /* [platform links] zeros between uses */
    int32_t *group_load; /* [platform links] scratch for ms_coll_class_build, NULL until used */
    const int32_t *link_class; /* [platform links] from ms_refine; NULL: nothing is folded */
    const double *max_concurrent_flows; /* [platform links] from ms_find_binding_links, for an
                                           inexact fold (bounded.c); NULL: the fold is exact */
} ms_works;

/* Fill a caller's works, none made yet; pointers are borrowed.  Returns MS_OK; MS_E_NOMEM. The
 * caller calls ms_works_release, also after a failure. */
ms_status ms_works_init(ms_works *works, const ms_platform *platform, ms_arena *arena,
                        ms_diag *diag, ms_dag *dag);
/* Free the tables. */
void ms_works_release(ms_works *works);
/* Whether memory ran out in ms_works_remember. */
bool ms_works_failed(const ms_works *works);

/* Find the number entered with a key; -1: none. */
int32_t ms_works_find(const ms_works *w, const ms_work_key *key);
/* Enter the number of a work or stream with its key. Whether memory ran out, ms_works_failed tells.
 */
void ms_works_remember(ms_works *w, const ms_work_key *key, int32_t made);

/* A copy of a request with the job's algorithm, protocol, communicator of messages and fidelity. */
ms_coll_request ms_works_choose(const ms_works *w, const ms_coll_request *request);

/* Lay a collective out in several groups as the job wants it.  request: its algorithm and protocol
 * are those of the job, its GPUs are followed by those of the other groups.  plans_out: [groups],
 * in the works' arena.  Returns MS_OK; MS_E_NOMEM; MS_E_INPUT (reported) for a collective that no
 * algorithm lays out. */
ms_status ms_works_plan(const ms_works *w, const ms_coll_request *request, int groups,
                        ms_coll_plan *plans_out);

/* Add the work of a collective in one group, which stands for no other, with its flows to the
 * graph. request: as for ms_works_plan, with one group.  is_pipelined: as in ms_dag_work.
 * *work_out: index of the work.  Returns MS_OK; MS_E_NOMEM; MS_E_INPUT as ms_works_plan. */
ms_status ms_works_make_alone(ms_works *w, const ms_coll_request *request, bool is_pipelined,
                              int32_t *work_out);

/* The index in the graph of a link of the platform, added on first use. */
int32_t ms_works_link(ms_works *w, int link);

/* Add the work of a laid-out collective, without phases.  work: the fields that neither request nor
 * plan give.  Returns its index, -1 after a failure. */
int32_t ms_works_add(ms_works *w, const ms_coll_request *request, const ms_coll_plan *plan,
                     ms_dag_work work);

/* Add a flow of a plan to the newest phase, without its crossings. A plan's slowness of 0 counts as
 * 1. Returns as ms_dag_add_flow. */
ms_dag_flow *ms_works_add_flow(ms_works *w, const ms_flow *flow);

struct ms_step_comm;
/* Add one work for a communication in all groups of a pipeline rank, whether these are alike or
 * not: that of the group that takes longest alone, with the load of all groups, and with bounds of
 * the time that any group may take.  *work_out: its index.  Returns MS_OK; MS_E_NOMEM.  O(crossings
 * of all groups). */
ms_status ms_bounded_work(ms_works *w, const struct ms_step_comm *comm, int32_t *work_out);

/* Add one work for a communication in all groups of a pipeline rank at once (for fused passes): the
 * flows of one group, with the load of all groups on the links.  *work_out: its index; -1 where
 * groups take different times or are laid out differently.  Returns MS_OK; MS_E_NOMEM; MS_E_INPUT
 * (reported) as ms_works_plan.  O(crossings of all groups). */
ms_status ms_fold_work_of_all(ms_works *w, const struct ms_step_comm *comm, int32_t *work_out);

/* Add the work of a communication in the groups that class `k` leads: the flows of one of these
 * groups, over classes of links, with the load of all of them; without folding, of the one group.
 * *work_out: its index.  Returns MS_OK; MS_E_NOMEM; MS_E_INPUT as ms_works_plan; MS_E_BUG
 * (reported) where links of one class carry different loads.  O(crossings of the groups). */
ms_status ms_fold_work(ms_works *w, const struct ms_step_comm *comm, int k, int32_t *work_out);

#endif
