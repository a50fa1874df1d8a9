/* Options that commands share which run many simulations: a store of results, shards, how many
 * simulations run at once, and a line of progress. */
#ifndef MS_CLI_STUDY_OPTIONS_H
#define MS_CLI_STUDY_OPTIONS_H

#include "cli/cli.h"
#include "cli/progress.h"
#include "search/shards.h"
#include "search/store.h"

/* Rows for the option tables of such commands. */
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

/* Digest of the sources that determine results; made by the build
 * (scripts/cmake/ResultDigest.cmake). */
extern const char MS_CLI_RESULT_DIGEST[];

/* Version of the program for the keys of stored results: two builds have the same text only if
 * their results are the same.  Returns a pointer into `arena`; NULL when memory runs out. */
const char *ms_cli_program(ms_arena *arena);

/* The store of a study's results. */
typedef struct ms_cli_store {
    ms_store *store;      /* NULL: results are not kept */
    ms_study_shard shard; /* index 0 of 1 where the whole study is simulated */
    bool is_shard;        /* one shard is simulated: `store` is that of `file` */
    ms_shard_file file;   /* of the shard; lock_file < 0: not open */
} ms_cli_store;

/* Open the store that --store and --shard name; --fresh and --resume are read, too.  *store_out: to
 * be passed to ms_cli_close_store, also after a failure; without --store it holds no store. Returns
 * MS_OK; MS_E_USAGE (reported), else as ms_store_open or ms_shard_open. */
ms_status ms_cli_open_store(const ms_invocation *call, ms_cli_store *store_out);

/* Close a store; without an open store nothing is done.  is_complete: all points of the study, or
 * of the shard, are in the store; the file of a shard is then renamed to that of a complete one.
 * Returns as ms_shard_close. */
ms_status ms_cli_close_store(const ms_invocation *call, ms_cli_store *store, bool is_complete);

/* Write the plan of --plan and --shards, a file for Makeflow or Slurm.  Returns MS_OK; MS_E_USAGE
 * (reported) for options or words that a plan cannot hold; MS_E_IO; MS_E_NOMEM. */
ms_status ms_cli_write_plan(const ms_invocation *call);

/* ---- simulations at once ---- */

/* Row of --jobs.  text: its help. */
#define MS_OPTION_JOBS(text) "jobs", "J", .fallback = "processors, at most 4", .help = (text)

/* Read --jobs, which the command has: simulations at once. The default is the number of processors,
 * at most 4.  Returns MS_OK; MS_E_USAGE (reported). */
ms_status ms_cli_jobs(const ms_invocation *call, int *jobs_out);

/* The line of progress of a study. */
typedef struct ms_cli_line {
    double start_s; /* when the simulations began, on the clock of ms_wall_s [s] */
    ms_cli_rate rate;
} ms_cli_line;

/* Show on the standard error, if that is a terminal, how many simulations have ended; only where
 * they take longer than two seconds. `progress` of studies.  line: ms_cli_line *. */
void ms_cli_show_progress(void *line, size_t done, size_t count);

/* End the line that ms_cli_show_progress may have written, so that a message after an interrupt
 * begins on a new line. */
void ms_cli_leave_progress(const ms_cli_line *line);

#endif
