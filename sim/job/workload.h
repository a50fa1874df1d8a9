/* The workload file as it is read, before anything is laid out. */
#ifndef MS_JOB_WORKLOAD_H
#define MS_JOB_WORKLOAD_H

#include "meshsim/job.h"

/* Values of schedule.overlap, schedule.sends and schedule.step_end. */
enum { MS_OVERLAP_FUSED, MS_OVERLAP_SERIAL };
enum { MS_SENDS_ASYNC, MS_SENDS_BLOCKING };
/* Values of schedule.deal. */
enum { MS_DEAL_EVEN, MS_DEAL_BALANCED };
enum { MS_STEP_END_SYNCHRONOUS, MS_STEP_END_POST_VALIDATION };

typedef struct ms_workload_schedule {
    const char *kind; /* of a schedule, or "csv:" and a path */
    int chunks;       /* 0: the schedule's own; < 0: given, but wrong (reported) */
    int group;
    int splits;
    bool is_reordered;
    int overlap;
    int sends;
    int step_end;
    int deal;
    int first_stage_layers; /* 0: not given */
    int last_stage_layers;  /* 0: not given */
    ms_ints stage_layers;   /* count 0: not given */
} ms_workload_schedule;

/* Sequences per step at most: far above any run, and a count that fits into an int. */
enum { MS_BATCH_MAX = 100000000 };

typedef struct ms_workload_batch {
    int global;       /* sequences per step; 0: not given */
    int micro;        /* sequences per microbatch and replica */
    int microbatches; /* 0: not given */
} ms_workload_batch;

typedef struct ms_workload_precision {
    int parameters; /* index into ms_dtype_words */
    int gradients;
    double optimizer_B; /* per parameter */
} ms_workload_precision;

typedef struct ms_workload {
    const char *name;
    const char *description;
    const ms_node *root;
    const ms_node *platform;
    const ms_node *mesh;
    const ms_node *model;
    const ms_node *costs;
    ms_workload_schedule schedule;
    ms_workload_batch batch;
    ms_workload_precision precision;
    ms_model_layout layout;   /* choices; the degrees come from the mesh */
    bool allows_slow_tp;      /* more tp ranks than the scale-up domain has GPUs */
    ms_words recompute_parts; /* names of parts of layers; count 0: none */
    ms_words shard;    /* names of the axes that state is sharded over; count 0: all replicas */
    int gather_stages; /* whole stages gathered at a time; 0: the schedule does not say */
    int steps;         /* 0: given, but wrong (reported) */
    int fidelity;
    int seed;
} ms_workload;

/* Load the file, apply the request's overrides, read the keys. Returns MS_OK, or MS_E_INPUT with
 * every fault of this level reported; then *workload_out holds what could be read, so that deeper
 * levels can report theirs (root is NULL if nothing could be). */
ms_status ms_workload_read(const ms_job_request *request, ms_arena *arena, ms_diag *diag,
                           ms_workload *workload_out);

/* The table of the file's keys, for `check --effective`. */
extern const ms_field MS_WORKLOAD_FIELDS[];

/* Tables of its parts that lay a model out. */
extern const ms_field MS_TENSOR_FIELDS[];
extern const ms_field MS_CONTEXT_FIELDS[];
extern const ms_field MS_DATA_FIELDS[];
extern const ms_field MS_PIPELINE_FIELDS[];
extern const ms_field MS_MEMORY_FIELDS[];

/* Values of precision.parameters and precision.gradients. */
enum { MS_DTYPE_BF16, MS_DTYPE_FP16, MS_DTYPE_FP32 };
/* Bytes per element of a dtype word. */
double ms_dtype_B(int dtype);

#endif
