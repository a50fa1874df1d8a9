/* What commands share that run many simulations: a store of results, shards, how many simulations
 * run at once, and how far they are. */
#ifndef MS_CLI_STUDY_OPTIONS_H
#define MS_CLI_STUDY_OPTIONS_H

#include "cli/cli.h"
#include "search/shards.h"
#include "search/store.h"

/* Rows every option table of such a command holds. */
#define MS_OPTION_STORE                                                                            \
    "store", "FILE.db",                                                                            \
        .help = "keep each result in this SQLite file as soon as it is simulated, and reuse "      \
                "those that the file holds; with --shard or --plan: a folder",                     \
        .no_stdout = "SQLite needs a file with random access"
#define MS_OPTION_FRESH "fresh", .help = "simulate again what the store holds, too, and replace it"
#define MS_OPTION_RESUME                                                                           \
    "resume", .help = "simulate only what the store lacks; --store alone does the same"
#define MS_OPTION_SHARD                                                                            \
    "shard", "I/N",                                                                                \
        .help = "simulate share I of N only, 0 <= I < N, and keep it in the folder --store; "      \
                "'meshsim merge' makes one store of all"
#define MS_OPTION_PLAN                                                                             \
    "plan", "makeflow=FILE|slurm=FILE",                                                            \
        .help = "simulate nothing, and write what makes Makeflow or Slurm run all --shards"
#define MS_OPTION_SHARDS                                                                           \
    "shards", "N",                                                                                 \
        .help = "how many shards a plan has; each should take some seconds with Makeflow, half a " \
                "minute and more with Slurm"

/* Digest of the sources that results follow from; made by the build
 * (scripts/cmake/ResultDigest.cmake). */
extern const char MS_CLI_RESULT_DIGEST[];

/* Version of the program for keys of stored results: another text where results may differ. */
const char *ms_cli_program(ms_arena *arena);

/* Where a study's results are kept. */
typedef struct ms_cli_store {
    ms_store *store;      /* NULL: nowhere */
    ms_study_shard shard; /* 0 of 1: all of the study */
    bool is_shard;        /* the study is a shard: `store` is the store of `file` */
    ms_shard_file file;
} ms_cli_store;

/* Open what --store and --shard name.  --fresh and --resume are the command's, too.  *store_out:
 * given to ms_cli_close_store, also after a failure.  MS_E_USAGE (reported), else as ms_store_open.
 */
ms_status ms_cli_open_store(const ms_invocation *call, ms_cli_store *store_out);

/* Close it; a shard gets the name of a complete one.  is_complete: all points of the study, or of
 * the shard, are there.  Returns as ms_shard_close. */
ms_status ms_cli_close_store(const ms_invocation *call, ms_cli_store *store, bool is_complete);

/* Write the plan that --plan and --shards ask for.  MS_E_USAGE (reported) for words that a plan
 * cannot hold, else as ms_cli_write_file. */
ms_status ms_cli_write_plan(const ms_invocation *call);

/* ---- simulations at once ---- */

#define MS_OPTION_JOBS(text) "jobs", "J", .fallback = "processors, at most 4", .help = (text)

/* Value of --jobs, which the command has; as many as there are processors, at most 4, without it.
 *  MS_E_USAGE (reported). */
ms_status ms_cli_jobs(const ms_invocation *call, int *jobs_out);

/* Show on a terminal how far the workers are, where they take longer than two seconds.
 *  start_s: const double *, when they began on the clock of ms_wall_s. */
void ms_cli_show_progress(void *start_s, size_t done, size_t count);

/* End the line that ms_cli_show_progress may have begun, so that a message after an interrupt
 * stands on a line of its own. */
void ms_cli_leave_progress(const double *start_s);

#endif
