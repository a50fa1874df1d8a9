/**
 * @file
 * Exporting: workloads as files of other software.
 *
 * An exporter says what it can of a job in the words of other software, and tells of every key that
 * these words leave unsaid: with the value it has in the job, the one it has there, and the reason.
 */
#ifndef MESHSIM_EXPORT_H
#define MESHSIM_EXPORT_H

#include <stddef.h>

#include "meshsim/arena.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/job.h"
#include "meshsim/status.h"

MS_BEGIN_DECLS

/** What is to be exported. All is borrowed. */
typedef struct ms_export_source {
    const ms_job *job;       /**< with a model */
    const char *path;        /**< of its file, for the comment that names it */
    const char *data_folder; /**< installed data, as in ms_job_request; may be NULL */
} ms_export_source;

/** A key that the other software has no word for. */
typedef struct ms_unsaid {
    const char *key;     /**< dotted path of the workload, or a word of the other software's that
                            stands in the file and is simulated otherwise */
    const char *value;   /**< as the workload has it */
    const char *instead; /**< as the other software has it; NULL: it has nothing of that kind */
    const char *why;
} ms_unsaid;

/** What came of it. */
typedef struct ms_exported {
    const char *text;        /**< the file */
    const ms_unsaid *unsaid; /**< [unsaid_count] in the order of a workload's keys */
    size_t unsaid_count;
} ms_exported;

/** A kind of file. Its row stands in sim/study/export/export.c. */
typedef struct ms_export_kind {
    const char *name;     /**< as the command line has it */
    const char *software; /**< whose file it is */
    const char *summary;  /**< one line */
    const char *ending;   /**< of the file's name, such as ".sh" */
    bool has_comments;    /**< the file itself says what it leaves unsaid */
    /** Returns MS_OK; MS_E_INPUT, MS_E_IO (reported); MS_E_NOMEM (reported). */
    ms_status (*write)(const ms_export_source *source, ms_arena *arena, ms_diag *diag,
                       ms_exported *out);
} ms_export_kind;

/** All kinds, NULL-terminated. */
const ms_export_kind *const *ms_export_kinds(void);

/** Find a kind by its name.  Returns NULL where there is none (reported, with the nearest name). */
const ms_export_kind *ms_export_find(const char *name, ms_diag *diag);

/** Say a job in the words of other software.
 *  *exported_out: in `arena`.  Returns MS_OK; MS_E_INPUT for a job of given costs, which has no
 * model to say (reported); MS_E_IO; MS_E_NOMEM. */
ms_status ms_export_write(const ms_export_kind *kind, const ms_export_source *source,
                          ms_arena *arena, ms_diag *diag, ms_exported *exported_out);

MS_END_DECLS

#endif
