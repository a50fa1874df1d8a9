/* The works of the graph: computations, and collectives laid out over links for a whole fold
 * class, each made once. */
#ifndef MS_LOWER_WORKS_H
#define MS_LOWER_WORKS_H

#include "meshsim/lower.h"

/* A communication of one fold class: the same collective in every group of the class. */
typedef struct ms_fold_request {
    ms_coll_request group; /* gpus: [groups * members], group after group, the simulated one first;
                              its algorithm is that of the job */
    int groups;
    bool is_pipelined;
} ms_fold_request;

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

/* A fold class whose groups are laid out. */
typedef struct ms_fold_class {
    const ms_coll_plan *plans; /* [groups] the simulated group first, all with the same flows */
    int groups;
} ms_fold_class;

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
    bool is_folded;     /* one simulated group stands for others */
    bool is_exact;      /* it does so exactly, as far as is known */
    ms_vector keys;     /* of ms_work_key */
    ms_vector key_made; /* of int32_t, beside keys: the works and streams */
    int32_t *key_table; /* open hash over keys, -1 free */
    size_t key_slots;
    ms_vector classes;  /* of ms_fold_class */
    int32_t *dag_link;  /* [platform links] index in the graph, -1 until used */
    int32_t *link_load; /* [platform links] crossings by the class at hand */
} ms_works;

/* Fill a caller's works, none made yet; the rest is borrowed.  is_folded: groups stand for others.
 * Returns MS_OK; MS_E_NOMEM.  Released with ms_works_release, also after a failure. */
ms_status ms_works_init(ms_works *works, const ms_platform *platform, bool is_folded,
                        ms_arena *arena, ms_diag *diag, ms_dag *dag);
void ms_works_release(ms_works *works);
/* Whether memory ran out for a key. */
bool ms_works_failed(const ms_works *works);

/* Find a work or stream by key, or -1. */
int32_t ms_works_find(const ms_works *w, const ms_work_key *key);
/* Remember a work or stream. Memory failures show up in ms_works_failed. */
void ms_works_remember(ms_works *w, const ms_work_key *key, int32_t made);

/* Remember the plans of a class for ms_fold_check.  plans: borrowed until then.  Returns MS_OK;
 * MS_E_NOMEM. */
ms_status ms_fold_note(ms_works *w, const ms_coll_plan *plans, int groups);

/* Find out, once all works are made, whether the folded graph stands for all ranks exactly: sets
 * w->is_exact to false if that is not certain.  Returns MS_OK; MS_E_NOMEM.  O(links of all groups
 * of all classes). */
ms_status ms_fold_check(ms_works *w);

/* Add the work of a class to the graph: the simulated group's links with the load of the whole
 * class; if groups differ, the latency and the outer links of the slowest. *work_out: its index.
 * Returns MS_OK; MS_E_NOMEM; MS_E_INPUT (reported) for a collective that no algorithm lays out.
 * O(groups * members * links of a route). */
ms_status ms_fold_work(ms_works *w, const ms_fold_request *request, int32_t *work_out);

#endif
