/* A workload file as its table fills it (ms_spec_text), and the tables of its parts. */
#ifndef MS_SPEC_TEXT_H
#define MS_SPEC_TEXT_H

#include "job/spec.h"

/* The spec, and members that are read further by other readers before the spec has them. */
typedef struct ms_spec_text {
    ms_job_spec spec;
    const char *schedule_kind; /* a name, or "csv:" and a path */
    const char *all_reduce;    /* name of its algorithm */
    const ms_node *platform;
    const ms_node *mesh;
    const ms_node *placement;
    const ms_node *model;
    const ms_node *costs;
} ms_spec_text;

/* Tables of its parts that lay a model out. */
extern const ms_field MS_TENSOR_FIELDS[];
extern const ms_field MS_CONTEXT_FIELDS[];
extern const ms_field MS_DATA_FIELDS[];
extern const ms_field MS_PIPELINE_FIELDS[];
extern const ms_field MS_MEMORY_FIELDS[];

#endif
