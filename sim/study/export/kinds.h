/* What the kinds of exports share. */
#ifndef MS_EXPORT_KINDS_H
#define MS_EXPORT_KINDS_H

#include "meshsim/export.h"

extern const ms_export_kind ms_export_megatron;
extern const ms_export_kind ms_export_deepspeed;
extern const ms_export_kind ms_export_torchtitan;

/* Why a key, or all keys of a mapping, cannot be said. */
typedef struct ms_export_reason {
    const char *key; /* dotted path; NULL: ends the list */
    const char *why;
} ms_export_reason;

/* What a kind knows of the keys that it leaves unsaid. */
typedef struct ms_export_reasons {
    const ms_export_reason *of_keys; /* the first that fits counts */
    const char *usual;               /* of the others */
} ms_export_reasons;

/* Two jobs, of which the second is what the other software makes of the file. */
typedef struct ms_export_pair {
    ms_job_spec mine, theirs;
} ms_export_pair;

/* A copy of a job's spec that says the same job in one way: stages with the layers of each, experts
 * on a mesh of their own, sizes of 1 left out. *spec_out: in `arena`.  Returns MS_OK; MS_E_NOMEM
 * (reported). */
ms_status ms_export_settle(const ms_job *job, ms_arena *arena, ms_diag *diag,
                           ms_job_spec *spec_out);

/* The same of a spec that was read back and is not laid out.  spec: changed in place. */
ms_status ms_export_settle_spec(ms_job_spec *spec, ms_arena *arena, ms_diag *diag);

/* A key that a file says, as an override of a spec has it; NULL: no memory. */
const char *ms_export_override(ms_arena *arena, const char *key, const char *value);

/* Software, and what a file tells it. */
typedef struct ms_export_software {
    const char *framework;   /* its profile */
    const char *data_folder; /* may be NULL */
    const ms_words *sets;    /* keys of the file, as overrides of the profile's spec */
    bool has_model;          /* the file says the model; else that is code of the user's own, and
                                the software brings its kernels */
} ms_export_software;

/* Find what the software makes of a file on the job's own cluster.  pair: with `mine`; `theirs` is
 * set.  Returns as ms_job_spec_override. */
ms_status ms_export_adopt(const ms_export_software *software, ms_arena *arena, ms_diag *diag,
                          ms_export_pair *pair);

/* Find the keys in which the two differ.  unsaid: ms_unsaid, appended to, in `arena`.  Returns
 * MS_OK; MS_E_NOMEM (reported). */
ms_status ms_export_compare(ms_export_pair *pair, const ms_export_reasons *reasons, ms_arena *arena,
                            ms_diag *diag, ms_vector *unsaid);

/* A spec as the tree of its workload, which lacks keys that have their default.  *root_out: in
 * `arena`.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_export_tree(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag,
                         ms_node **root_out);

/* Every key with its default, a line each, for ms_export_default; NULL: no memory. */
const char *ms_export_defaults(ms_arena *arena);

/* The default of a key as a user would type it, "none" without one; NULL: no memory. */
const char *ms_export_default(const char *defaults, const char *path, ms_arena *arena);

/* Copy what is unsaid to `arena`.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_export_keep(const ms_vector *unsaid, ms_arena *arena, ms_diag *diag, ms_exported *out);

/* Append a line, and as a comment the workload's path and name. */
void ms_export_name(const ms_export_source *source, const char *line, ms_buffer *out);

/* Append what is unsaid as lines of comments, each of one line whatever its texts hold. */
void ms_export_comment(const ms_vector *unsaid, const char *software, ms_buffer *out);

#endif
