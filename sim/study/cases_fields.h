/* The keys of a case, and what they are read into. */
#ifndef MS_CASES_FIELDS_H
#define MS_CASES_FIELDS_H

#include <stddef.h>

#include "meshsim/cases.h"

/* What the keys say as they are written; `unread` is what nothing here looks at. */
typedef struct ms_case_system_text {
    ms_case_system system;
    int nodes;
    double nvlink_gb_s, nic_gbit_s;
    const ms_node *unread;
} ms_case_system_text;

typedef struct ms_case_model_text {
    ms_case_model model;
    const char *norm, *positions;
    const ms_node *unread;
} ms_case_model_text;

typedef struct ms_case_parallel_text {
    ms_case_parallel parallel;
    int instances;
} ms_case_parallel_text;

typedef struct ms_case_text {
    ms_case row;
    const ms_node *system, *model, *parallel, *measured;
    const ms_node *url, *recompute; /* read where they are texts */
    double score_s, score_B;
    ms_words flags;
    ms_ints stage_layers;
    const ms_node *unread;
} ms_case_text;

extern const ms_field MS_CASE_SYSTEM_FIELDS[];
extern const ms_field MS_CASE_MODEL_FIELDS[];
extern const ms_field MS_CASE_PARALLEL_FIELDS[];
extern const ms_field MS_CASE_FIELDS[];

#endif
