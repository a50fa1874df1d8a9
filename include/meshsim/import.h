/**
 * @file
 * Importing: files of other software as workloads and tables, as far as no module of the Python
 * package reads them (scripts/python/meshsim/tools/importers).
 *
 * An importer reads one kind of source and tells of each of the source's keys what became of it.
 * What it makes is the tree of a workload, which may lack what the source does not say, or a table
 * of measurements, which lacks nothing.
 */
#ifndef MESHSIM_IMPORT_H
#define MESHSIM_IMPORT_H

#include <stdbool.h>
#include <stddef.h>

#include "meshsim/arena.h"
#include "meshsim/buffer.h"
#include "meshsim/config.h"
#include "meshsim/decls.h"
#include "meshsim/diag.h"
#include "meshsim/model.h"
#include "meshsim/source_keys.h"
#include "meshsim/spec.h"
#include "meshsim/status.h"
#include "meshsim/table.h"

MS_BEGIN_DECLS

/** What an importer makes. */
typedef enum ms_import_product {
    MS_IMPORT_WORKLOAD, /**< a workload file; what it lacks stands there as comments */
    MS_IMPORT_TABLE,    /**< rows of measurements, as CSV */
} ms_import_product;

/** What is to be imported. All strings are borrowed. */
typedef struct ms_import_source {
    const char *const *files; /**< [file_count] paths */
    size_t file_count;
    const char *const *sets; /**< [set_count] "key.path=value", laid over what the source says; a
                                table has no keys, and 0 of them */
    size_t set_count;
    const char *const *fills; /**< [fill_count] "key=value" of top-level keys, for those that the
                                 source leaves out */
    size_t fill_count;
    int gpus;                /**< of the job, where the user says them; 0: the source may */
    const char *data_folder; /**< installed data, as in ms_job_request; may be NULL */
} ms_import_source;

/** Keys that an imported workload may still need, at most. */
enum { MS_IMPORT_MISSING_MAX = 16 };

/** Value of a key inside a mapping that the source leaves open: no key takes it, so that `check`
 * names the place. */
#define MS_IMPORT_REQUIRED "required"

/** A key that the source leaves open: required until an override says it. */
typedef struct ms_import_open {
    const char *key; /**< dotted path */
    const char *why; /**< what would say it, for the file's comment */
    struct ms_import_open *next;
} ms_import_open;

/** What came of it. */
typedef struct ms_imported {
    ms_import_product product;
    const char *about;   /**< one line on where it comes from, for the file's first comment */
    const char *summary; /**< lines of a page, each a word and what is to say of it; NULL: none */
    const char *remarks; /**< further comments, lines that begin with '#'; NULL: none */
    ms_import_open *first_open, *last_open; /**< keys that are MS_IMPORT_REQUIRED unless an override
                                               says them, in the order of the file; NULL: none */
    ms_node *root;       /**< the workload's tree, which may lack keys; NULL: a table */
    ms_table table;      /**< of MS_IMPORT_TABLE; else without columns */
    ms_source_keys keys; /**< those of the source */
    int gpus;            /**< of the job, as the source or the user says; 0: not known */
    bool has_model;
    ms_model model;                             /**< as its `model:` says it */
    const char *missing[MS_IMPORT_MISSING_MAX]; /**< [missing_count] keys that it still needs */
    int missing_count;
} ms_imported;

/** A kind of source. Its row stands in sim/study/import/import.c. */
typedef struct ms_import_kind {
    const char *name; /**< as the command line has it */
    ms_import_product product;
    /** Read a source into `about`, `keys`, and `root` or `table`; the rest is done for all kinds.
     * Nodes of a tree have the places of what they were made of, so that faults point there.
     * Returns MS_OK; MS_E_INPUT, MS_E_IO (reported); MS_E_NOMEM (reported).  NULL: Python reads
     * it. */
    ms_status (*read)(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                      ms_imported *out);
} ms_import_kind;

/** The kind of that name.  Returns NULL (reported, with all that there are) if there is none. */
const ms_import_kind *ms_import_find_kind(const char *name, ms_diag *diag);

/** Read a source; lay `sets` over a workload, and check the model that it gives. A workload has as
 * many nodes of its platform as its GPUs fill, unless `sets` say how many. kind: by its name.
 * *imported_out: in `arena`.  Returns MS_OK; MS_E_USAGE for a kind that there is not, or an
 * override that is none; MS_E_INPUT, every fault reported; MS_E_IO; MS_E_NOMEM. */
ms_status ms_import_read(const char *kind, const ms_import_source *source, ms_arena *arena,
                         ms_diag *diag, ms_imported *imported_out);

/** Read a Hugging Face config, or that in a folder, without checking the model that it gives.
 *  *imported_out: its `about`, `remarks`, `keys` and `root`, with the model and the framework that
 * is assumed; in `arena`.  Returns MS_OK; MS_E_INPUT, every fault reported; MS_E_IO; MS_E_NOMEM. */
ms_status ms_import_config(const char *path, ms_arena *arena, ms_diag *diag,
                           ms_imported *imported_out);

/** Add the usual framework to a workload whose source names none: Megatron Core, with sequence
 * parallelism where the model can have it, unless `sets` of the source name a framework.
 *  out: its `root` holds the model and gets the keys; the assumptions and a remark on them are
 * added.  Returns MS_OK; MS_E_NOMEM (reported). */
ms_status ms_import_assume_software(const ms_import_source *source, ms_arena *arena, ms_diag *diag,
                                    ms_imported *out);

/** Append what was imported as a file: a workload, in which what it lacks stands as comments, or
 * a table as CSV. */
void ms_import_write(const ms_imported *imported, ms_buffer *out);

MS_END_DECLS

#endif
