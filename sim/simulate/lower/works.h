/* The works of the graph: computations, and collectives laid out over links for a whole fold
 * class, each made once. */
#ifndef MS_LOWER_WORKS_H
#define MS_LOWER_WORKS_H

#include "base/memo.h"
#include "simulate/lower/lower.h"

/* A work or stream already made, by what identifies it. */
typedef struct ms_work_key {
    double size_B;
    double intra_node_B;
    double load_imbalance;
    int32_t kind;
    int32_t domain; /* what the caller distinguishes: axis, place */
    int32_t first;  /* lowest GPU of the simulated group, or source of a p2p */
    int32_t second; /* destination of a p2p, else 0 */
} ms_work_key;

/* Domains of the key table beside the axes: what else is kept in it. */
enum {
    MS_DOMAIN_MESSAGE_STREAMS = MS_AXIS_COUNT,
    MS_DOMAIN_GROUP_STREAMS,
    MS_DOMAIN_STEP_END_STREAMS, /* across pipeline ranks */
    MS_DOMAIN_PAIRS,            /* works between the ranks at one place of two pipeline ranks */
    MS_DOMAIN_PIECES,           /* works inside pieces, plus 1; 0: they have none */
    MS_DOMAIN_NORM,             /* the one work of the norm of the world's gradient */
};

/* What the flows at hand put on a link, and on the class of links that is named by it. */
typedef struct ms_link_load {
    int64_t class_load; /* on all links of the class */
    int32_t load;
    int32_t crossing_load; /* on each of the class, as far as is known */
    int32_t most;          /* crossings of one flow, on one of the class */
} ms_link_load;

/* What has been made so far. */
typedef struct ms_works {
    const ms_platform *platform;
    ms_arena *arena;
    ms_diag *diag;
    ms_dag *dag;
    ms_coll_choices
        algorithms;     /* asked for, by kind; part of no key, as they are those of all works */
    double launch_s;    /* time a rank's host takes to launch a communication */
    bool is_stepped;    /* collectives are laid out step by step */
    ms_memo keys;       /* of ms_work_key */
    ms_vector key_made; /* of int32_t, beside keys: the works and streams */
    int32_t *dag_link;  /* [platform links] index in the graph, -1 until used */
    ms_link_load *link_load;   /* [platform links] zeros between uses */
    int32_t *group_load;       /* the same for ms_coll_class_build, NULL until used */
    const int32_t *link_class; /* [platform links] as of ms_refine; NULL: nothing is folded */
    const double *max_concurrent_flows; /* [platform links] most that all flows at once cross it;
                            NULL: groups that stand for each other are alike */
} ms_works;

/* Fill a caller's works, none made yet; the rest is borrowed.  Returns MS_OK; MS_E_NOMEM.  Released
 * with ms_works_release, also after a failure. */
ms_status ms_works_init(ms_works *works, const ms_platform *platform, ms_arena *arena,
                        ms_diag *diag, ms_dag *dag);
void ms_works_release(ms_works *works);
/* Whether memory ran out for a key. */
bool ms_works_failed(const ms_works *works);

/* Find a work or stream by key, or -1. */
int32_t ms_works_find(const ms_works *w, const ms_work_key *key);
/* Remember a work or stream. Memory failures show up in ms_works_failed. */
void ms_works_remember(ms_works *w, const ms_work_key *key, int32_t made);

/* A request with the algorithm and protocol that the job wants, and as finely laid out. */
ms_coll_request ms_works_choose(const ms_works *w, const ms_coll_request *request);

/* Lay a collective out in several groups as the job wants it.  request: its algorithm and protocol
 * are those of the job, its GPUs are followed by those of the other groups.  plans_out: [groups],
 * in the works' arena.  Returns MS_OK; MS_E_NOMEM; MS_E_INPUT (reported) for a collective that no
 * algorithm lays out. */
ms_status ms_works_plan(const ms_works *w, const ms_coll_request *request, int groups,
                        ms_coll_plan *plans_out);

/* Add the work of a collective that stands for itself to the graph.  request: as of ms_works_plan.
 * is_pipelined: as in ms_dag_work.  *work_out: index of the work.  Returns MS_OK; MS_E_NOMEM;
 * MS_E_INPUT as ms_works_plan. */
ms_status ms_works_make_alone(ms_works *w, const ms_coll_request *request, bool is_pipelined,
                              int32_t *work_out);

/* A platform's link in the graph, added on first use. */
int32_t ms_works_link(ms_works *w, int link);

/* Add a work without phases for what a plan does.  work: what the plan does not tell.  Returns its
 * index, -1 after a failure. */
int32_t ms_works_add(ms_works *w, const ms_coll_request *request, const ms_coll_plan *plan,
                     ms_dag_work work);

/* Add a flow of a plan to the newest phase, without its crossings. */
void ms_works_add_flow(ms_works *w, const ms_flow *flow);

struct ms_step_comm;
/* Add one work for a communication in all groups of a pipeline rank, alike or not: that of the
 * group that takes longest, and the least and most that any of them takes.  *work_out: its index.
 * Returns MS_OK; MS_E_NOMEM.  O(crossings of all groups). */
ms_status ms_bounded_work(ms_works *w, const struct ms_step_comm *comm, int32_t *work_out);

/* Add one work for a communication in all its groups at once, which cross links with the load of
 * all.  *work_out: its index; -1 where groups differ in how long they take or are laid out
 * otherwise.  Returns MS_OK; MS_E_NOMEM; MS_E_INPUT (reported) as ms_works_plan.  O(crossings of
 * all groups). */
ms_status ms_fold_work_of_all(ms_works *w, const struct ms_step_comm *comm, int32_t *work_out);

/* Add the work of a communication in the groups that class `k` leads to the graph: what one of them
 * sends, over classes of links, with the load of all.  *work_out: its index.  Returns MS_OK;
 * MS_E_NOMEM; MS_E_INPUT as ms_works_plan; MS_E_BUG (reported) where the classes are not alike.
 * O(crossings of the groups). */
ms_status ms_fold_work(ms_works *w, const struct ms_step_comm *comm, int k, int32_t *work_out);

#endif
