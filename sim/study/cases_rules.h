/* What the files that turn cases into jobs share. */
#ifndef MS_CASES_RULES_H
#define MS_CASES_RULES_H

#include "meshsim/cases.h"

enum { MS_CASE_CLUSTERS_MAX = 256 };

/* A framework that has been read. */
typedef struct ms_case_framework {
    const char *name;
    ms_job_spec spec;
    struct ms_case_framework *next; /* read before it */
} ms_case_framework;

/* A platform that has been loaded. */
typedef struct ms_case_cluster {
    const struct ms_cluster_row *row; /* which file, with which GPU type */
    ms_words sets; /* what its source publishes otherwise, and what the user overrides */
    int nodes;
    ms_spec_platform platform;
} ms_case_cluster;

struct ms_case_rules {
    const char *data_folder;
    ms_words platform_sets; /* overrides of platforms, without "platform." */
    ms_words job_sets;      /* of everything else */
    ms_arena *arena;
    ms_diag *diag;
    ms_case_framework *frameworks; /* the last that was read; NULL: none yet */
    ms_case_cluster clusters[MS_CASE_CLUSTERS_MAX];
    int cluster_count;
};

/* One translation. */
typedef struct ms_case_translation {
    ms_case_rules *rules;
    const ms_case *c;
    ms_case_job *out;
    ms_buffer differs;
} ms_case_translation;

/* The framework of a case's software.  *framework_out: kept by the rules.  Returns as
 * ms_case_translate. */
ms_status ms_case_find_framework(ms_case_rules *rules, const ms_case *c,
                                 const ms_case_framework **framework_out);

/* Put a job on the cluster that a source's words name, with the nodes and rates that it publishes,
 * of at least so many GPUs; MS_E_NO where none goes by them.  Returns as ms_case_translate. */
ms_status ms_case_set_cluster(ms_case_rules *rules, const ms_case_system *system, int gpus,
                              ms_job_spec *spec);

/* Whether a source publishes another rate of the network than a platform has. */
bool ms_case_has_other_network(const ms_case_system *system, const ms_platform *platform);

/* The overrides of platforms, without "platform.": one of any tier is one of each tier that
 * `platform` has.  *sets_out: in the rules' arena.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_case_spread_sets(const ms_case_rules *rules, const ms_platform *platform,
                              ms_words *sets_out);

/* The job of a user's own run: its workload, with its overrides and then those of the rules.
 *  Returns as ms_case_translate. */
ms_status ms_case_read_own_job(ms_case_rules *rules, const ms_case *c, ms_case_job *job_out);

/* Note what is simulated otherwise than it was. */
void ms_case_differs(ms_case_translation *t, const char *what);

/* Leave a case without a job.  Returns MS_E_NO; MS_E_NOMEM (reported). */
ms_status ms_case_refuse(ms_case_translation *t, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Whether a text holds a word; a text that is not given holds none. */
bool ms_case_says(const char *text, const char *word);

/* The same, large letters or small: for words of prose, not for names of what was measured. */
bool ms_case_mentions(const char *text, const char *word);

/* The model of a case, with the choices of its framework's model, into the job's spec.  Returns
 * MS_OK; MS_E_NO (refused); MS_E_NOMEM (reported). */
ms_status ms_case_set_model(ms_case_translation *t);

/* The job that the arguments of a case's run say, without its cluster.  Returns MS_OK; MS_E_NO
 * (refused); MS_E_NOMEM. */
ms_status ms_case_translate_arguments(ms_case_translation *t);

/* Its pipeline schedule and which stage has which layers.  Returns likewise. */
ms_status ms_case_set_schedule(ms_case_translation *t);

#endif
