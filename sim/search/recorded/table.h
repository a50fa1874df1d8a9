/* A measured job in memory, its graph, and the replay of both.
 *
 * Nouns of this room:
 * - worker: the recorded rank of a data-parallel rank and a pipeline stage. `stage` is the pipeline
 *   rank; a virtual stage of the model is called `gmc`, as in the table.
 * - node: an operation of a worker of data-parallel rank 0 in the first step. It stands for the
 *   same operation in every step and on every data-parallel rank; its times are arrays over these.
 *   In base and cluster a node is something else.
 * - unit: the nodes of a meeting, or one node that meets nobody.
 * - meeting: operations that end after all of them have begun, such as the two ends of a message.
 * - own time: the duration of an operation that meets nobody; else its transfer, from the latest
 *   begin of the meeting to its own end.
 * - delay: from the end of the last operation that an operation waits for to its begin.
 * Times are whole picoseconds. Arrays of times are [step][node][dp]. */
#ifndef MS_RECORDED_TABLE_H
#define MS_RECORDED_TABLE_H

#include "search/recorded/recorded.h"

/* Kinds of operations: first the passes, then the ends of messages. */
typedef enum ms_recorded_kind {
    MS_RECORDED_FORWARD,
    MS_RECORDED_BACKWARD,
    MS_RECORDED_INPUT_GRAD,
    MS_RECORDED_WEIGHT_GRAD,
    MS_RECORDED_FORWARD_SEND,
    MS_RECORDED_FORWARD_RECV,
    MS_RECORDED_BACKWARD_SEND,
    MS_RECORDED_BACKWARD_RECV,
    MS_RECORDED_PARAMS,
    MS_RECORDED_GC,
    MS_RECORDED_LAYERNORM,
    MS_RECORDED_EMBEDDING,
    MS_RECORDED_SEPARATE,
    MS_RECORDED_GRADS,
    MS_RECORDED_CLIP,
    MS_RECORDED_OPTIMIZER,
    MS_RECORDED_KIND_COUNT
} ms_recorded_kind;

/* What the room knows of a kind. */
typedef struct ms_recorded_kind_row {
    const char *name;  /* in the table */
    const char *group; /* its name among the parts of S */
    uint8_t first;     /* first kind of its group: both ends of a message are one */
    bool is_lonely;    /* it meets nobody */
    bool is_across_dp; /* it meets its like on all data-parallel ranks */
    bool has_mean;     /* its ideal time is the mean, not the median */
} ms_recorded_kind_row;

extern const ms_recorded_kind_row MS_RECORDED_KINDS[MS_RECORDED_KIND_COUNT];

/* Rules of the graph and of the quantities that a user can leave out, to see what each is worth.
 * Source: the table in section 1 of "Replay of measured steps". */
typedef enum ms_recorded_rule {
    MS_RULE_WAITING,        /* waiting for a meeting is no part of its transfers */
    MS_RULE_POOLED,         /* one ideal time for all stages */
    MS_RULE_MEAN,           /* the ideal pass is the mean */
    MS_RULE_MEDIAN,         /* the ideal transfer is the median */
    MS_RULE_EMBEDDING,      /* first and last stage meet for the embedding's gradients */
    MS_RULE_TAIL,           /* gradients are reduced after those of norms and embedding */
    MS_RULE_CLIP,           /* all stages meet for the norm of the gradient */
    MS_RULE_REPLICAS,       /* data-parallel ranks meet */
    MS_RULE_ENDS,           /* the two ends of a message have a time each */
    MS_RULE_POSTED,         /* a receive is posted after the pass before */
    MS_RULE_STREAMS,        /* the ends of messages run in streams */
    MS_RULE_FIRST_BACKWARD, /* the first backward messages wait for an earlier pass */
    MS_RULE_COUNT,
} ms_recorded_rule;

/* An operation: a row of the table, or a node, which is the row of data-parallel rank 0 in the
 * first step. */
typedef struct ms_recorded_node {
    int64_t start_ps, length_ps;
    int32_t step, dp;
    int32_t stage; /* of the worker */
    int32_t seq;   /* number among the operations of its kind on the worker; -1: none */
    int32_t mc;    /* model chunk in the worker; -1: none, likewise below */
    int32_t gmc;   /* virtual stage of the model */
    int32_t mb;    /* microbatch */
    int32_t pair;  /* number of its overlapped pair of passes */
    int32_t row;   /* of a node: index of its row among those of a step and data-parallel rank */
    uint32_t line; /* of the table, from 1; 0: none */
    uint8_t kind;  /* ms_recorded_kind */
} ms_recorded_node;

struct ms_recorded {
    const char *path;        /* of the table, for messages */
    int dp, stages;          /* workers: data-parallel ranks times pipeline stages */
    int model_stages;        /* virtual stages of the model, in both directions together */
    int microbatches;        /* forward passes of a virtual stage */
    int step_count;          /* steps in the table */
    const int32_t *steps;    /* [step_count] their numbers, ascending */
    ms_recorded_node *nodes; /* [node_count] by stage, then by start */
    int node_count;
    int *first;         /* [stages + 1] index of a stage's first node */
    bool has_labels;    /* messages name their pass by gmc and mb, and need this pass alone */
    bool is_serial;     /* the passes of a pair follow each other, and send behind the second */
    int64_t *delay_ps;  /* [step][node][dp] */
    int64_t *own_ps;    /* [step][node][dp] */
    int64_t *base_ps;   /* [step] as measured: latest end - earliest start */
    uint32_t rules_off; /* bit of each ms_recorded_rule that is left out */
    long clock_faults;  /* transfers and delays of -10 ms and less, which became 0 */
    const struct ms_recorded_graph *graph; /* what waits for what, and who meets whom */
};

/* Nodes that meet, or one node that meets nobody. */
typedef struct ms_recorded_unit {
    int first, count;  /* its nodes are `members` from index `first` on */
    bool is_meeting;   /* its nodes meet */
    bool is_across_dp; /* and those of all data-parallel ranks together */
} ms_recorded_unit;

/* The graph of a measured job. */
typedef struct ms_recorded_graph {
    int32_t *next_first;     /* [nodes + 1] */
    int *nexts;              /* nexts[next_first[n]] ... before next_first[n + 1] wait for node n */
    int *members;            /* [nodes] nodes by unit */
    ms_recorded_unit *units; /* [unit_count] each behind all units that it waits for */
    int unit_count;
} ms_recorded_graph;

/* One replay: which times are ideal, and whether there are delays. */
typedef struct ms_recorded_replay {
    const ms_recorded *job;
    const int64_t *ideal_ps; /* [kind * stages + stage] */
    const uint8_t *is_ideal; /* [node][dp] its time is the ideal one; NULL: no time is */
    const uint8_t *delays;   /* [node][dp] it has its measured delay; NULL: none has */
    int64_t *ends_ps;        /* [node][dp] room for the ends of a step */
    int64_t *begins_ps;      /* [node][dp] likewise for the begins */
} ms_recorded_replay;

/* Whether a rule is in force. */
static inline bool ms_recorded_has_rule(const ms_recorded *job, ms_recorded_rule rule) {
    return (job->rules_off >> rule & 1U) == 0;
}

/* Whether a kind is a pass; whether it is one end of a message. */
static inline bool ms_recorded_is_pass(int kind) {
    return kind <= MS_RECORDED_WEIGHT_GRAD;
}
static inline bool ms_recorded_is_message(int kind) {
    return kind >= MS_RECORDED_FORWARD_SEND && kind <= MS_RECORDED_BACKWARD_RECV;
}

/* Read the rows of a file.  *rows_out: of ms_recorded_node, released by the caller; empty after a
 * fault.  Returns MS_OK; MS_E_INPUT, MS_E_IO, MS_E_NOMEM (reported). */
ms_status ms_recorded_rows_read(const char *path, ms_arena *arena, ms_diag *diag,
                                ms_vector *rows_out);

/* Make a job of the rows: check that all steps and data-parallel ranks have the same operations,
 * and put their times beside each other.  rows: sorted here.  job: `path` is set; the rest is
 * written, with starts in delay_ps and durations in own_ps.  Returns MS_OK; MS_E_INPUT (reported
 * with the line); MS_E_NOMEM (reported).  O(rows log rows). */
ms_status ms_recorded_arrange(ms_vector *rows, ms_arena *arena, ms_diag *diag, ms_recorded *job);

/* Build the graph of a job.  *graph_out: in `arena`.  Returns MS_OK; MS_E_INPUT (reported) where
 * messages lack a partner or operations wait for each other in a circle; MS_E_NOMEM (reported).
 * O(nodes log nodes). */
ms_status ms_recorded_graph_build(const ms_recorded *job, ms_arena *arena, ms_diag *diag,
                                  ms_recorded_graph *graph_out);

/* Turn starts and durations into delays and own times, in place.  job: with its graph; delay_ps
 * holds starts, own_ps durations.  scratch: [2 * nodes * dp].  O(rows). */
void ms_recorded_derive(ms_recorded *job, int64_t *scratch);

/* Replay a step.  Returns its time [ps]: latest end - earliest begin.  O(nodes * dp). */
int64_t ms_recorded_replay_step(const ms_recorded_replay *replay, int step);

#endif
