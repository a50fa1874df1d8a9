/* Writes plans (--plan of `search` and `sweep`): a file with which an existing workflow engine,
 * Makeflow or Slurm, runs all shards of a study. A shard is a share of the study's simulations;
 * each writes its own file in the folder of --store, and `meshsim merge` makes one store of
 * them. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/study_options.h"

/* LETTERS: characters that have no special meaning in a shell or in a Makeflow file name. PLAIN:
 * those of words that need no quotes. */
#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+,./-"
#define PLAIN   LETTERS ":="

/* Shards of a plan without --shards. */
enum { SHARDS_DEFAULT = 16 };

/* A plan while it is written. */
typedef struct plan {
    const ms_invocation *call;
    const char *working_folder; /* the current folder, absolute */
    const char *program;        /* path of this program, absolute */
    const char *folder;         /* folder of the shards, absolute */
    const char *file;           /* path of the plan, as the user gave it */
    const char *jobs;           /* simulations at once of a shard */
    long shards;                /* number of shards */
    bool is_slurm;              /* for Slurm, else for Makeflow */
    ms_buffer command;          /* shell command of a shard, up to its number "I/N" */
    ms_buffer text;             /* of the plan */
} plan;

/* ---- words ---- */

/* Check that a word has no control character: lines of a plan end at line feeds, also in quotes and
 * in comments.  Returns MS_OK; MS_E_USAGE (reported). */
static ms_status check_word(const plan *draft, const char *word) {
    for (const char *c = word; *c != '\0'; c++) {
        if (iscntrl((unsigned char)*c)) {
            return ms_diag_usage(
                draft->call->diag,
                "a plan cannot hold '%s', which has a line feed or another control character",
                word);
        }
    }
    return MS_OK;
}

/* Append a word so that a shell reads it unchanged. Makeflow parses a command before the shell
 * does: it keeps quotes, but removes a backslash inside any quotes, and knows no other way to write
 * a single quote. */
static void add_quoted(ms_buffer *out, const char *word, bool is_makeflow) {
    if (word[0] != '\0' && strspn(word, PLAIN) == strlen(word)) {
        ms_buffer_puts(out, word);
        return;
    }
    ms_buffer_puts(out, "'");
    for (const char *c = word; *c != '\0'; c++) {
        if (*c == '\'') {
            ms_buffer_puts(out, is_makeflow ? "'\"\\'\"'" : "'\"'\"'");
        } else if (*c == '\\') {
            ms_buffer_puts(out, is_makeflow ? "\\\\" : "\\");
        } else {
            ms_buffer_add(out, c, 1);
        }
    }
    ms_buffer_puts(out, "'");
}

/* Append a blank and a word to the command of a shard. */
static ms_status add_word(plan *draft, const char *word) {
    ms_buffer_puts(&draft->command, " ");
    add_quoted(&draft->command, word, !draft->is_slurm);
    return check_word(draft, word);
}

/* A word quoted for a user's shell, who copies it from a comment of the plan.  In the call's
 * arena. */
static const char *show(const plan *draft, const char *word) {
    ms_buffer text = {0};
    add_quoted(&text, word, false);
    return ms_buffer_keep(&text, draft->call->arena);
}

/* Append an option to the command of a shard, once for each time it was given. */
static ms_status add_option(plan *draft, const ms_option *option, const ms_given *given) {
    size_t count = ms_cli_argument_count(option);
    ms_status status = MS_OK;
    for (size_t i = 0; i < given->count && status == MS_OK; i++) {
        ms_buffer_printf(&draft->command, " --%s", option->name);
        for (size_t word = 0; word < count && status == MS_OK; word++) {
            status = add_word(draft, given->values[i * count + word]);
        }
    }
    return status;
}

/* Make the command of a shard, up to its number: this command line in its folder, with --store and
 * --shard, and without the options that are the plan's own. */
static ms_status make_command(plan *draft) {
    static const char *const OWN[] = {"plan", "shards", "shard", "store", "jobs", "resume", NULL};
    const ms_invocation *call = draft->call;
    const ms_option *options = call->command->options;
    ms_status status = MS_OK;
    ms_buffer_puts(&draft->command, "cd");
    status = add_word(draft, draft->working_folder);
    ms_buffer_puts(&draft->command, " &&");
    status = status == MS_OK ? add_word(draft, draft->program) : status;
    ms_buffer_printf(&draft->command, " %s", call->command->name);
    for (size_t i = 0; i < call->positional_count && status == MS_OK; i++) {
        status = add_word(draft, call->positionals[i]);
    }
    for (size_t i = 0; options[i].name != NULL && status == MS_OK; i++) {
        status = ms_cli_is_among(options[i].name, OWN)
                     ? MS_OK
                     : add_option(draft, &options[i], &call->given[i]);
    }
    ms_buffer_printf(&draft->command, " --jobs %s --store", draft->jobs);
    status = status == MS_OK ? add_word(draft, draft->folder) : status;
    ms_buffer_puts(&draft->command, " --shard ");
    return status;
}

/* ---- the files of Makeflow and Slurm ---- */

/* Check that Makeflow can name files in the folder of the shards. It reads file names back from its
 * log, where blanks separate them.  Returns MS_OK; MS_E_USAGE (reported). */
static ms_status check_makeflow_folder(const plan *draft) {
    for (const char *c = draft->folder; *c != '\0'; c++) {
        bool is_ascii = (unsigned char)*c < 0x80;
        if (is_ascii && strchr(LETTERS, *c) == NULL) {
            return ms_diag_usage(draft->call->diag,
                                 "Makeflow cannot name files in '%s', which has a '%c': give "
                                 "'--store' another folder, with its whole path",
                                 draft->folder, *c);
        }
    }
    return MS_OK;
}

/* Write the plan for Makeflow: a rule that makes the file of each shard, and a rule that merges
 * them into study.db. */
static void write_makeflow(plan *draft) {
    ms_buffer *out = &draft->text;
    const char *file = show(draft, draft->file);
    ms_buffer_printf(out,
                     "# %ld shards of a study, and one store made of them. Here:\n"
                     "#   makeflow -R %s\n"
                     "# by Work Queue, Slurm, HTCondor and others (-T wq, slurm, condor, sge, "
                     "pbs), on machines that\n"
                     "# all see these folders:\n"
                     "#   makeflow -T wq -R --shared-fs / -p 9123 %s\n"
                     "#   work_queue_worker MANAGER 9123\n"
                     "CORES=%s\n",
                     draft->shards, file, file, draft->jobs);
    for (long shard = 0; shard < draft->shards; shard++) {
        ms_buffer_printf(out, "\n%s/shard-%ld-of-%ld.db:\n\t%s%ld/%ld\n", draft->folder, shard,
                         draft->shards, ms_buffer_text(&draft->command), shard, draft->shards);
    }
    ms_buffer_printf(out, "\n%s/study.db:", draft->folder);
    for (long shard = 0; shard < draft->shards; shard++) {
        ms_buffer_printf(out, " %s/shard-%ld-of-%ld.db", draft->folder, shard, draft->shards);
    }
    ms_buffer_puts(out, "\n\tLOCAL ");
    add_quoted(out, draft->program, true);
    ms_buffer_printf(out, " merge %s\n", draft->folder);
}

/* Check that the folder of the shards has no backslash in its name, which would make Slurm keep
 * '%a' in the name of an error file unchanged.  Returns MS_OK; MS_E_USAGE (reported). */
static ms_status check_slurm_folder(const plan *draft) {
    if (strchr(draft->folder, '\\') == NULL) {
        return MS_OK;
    }
    return ms_diag_usage(
        draft->call->diag,
        "Slurm cannot name files in '%s', which has a '\\': give '--store' another folder",
        draft->folder);
}

/* Append the file of a shard's messages as sbatch reads it behind "#SBATCH --error=". It stands in
 * quotes, since a backslash before a blank does not keep the name together; '%' in the folder is
 * doubled, as a single '%' begins a pattern.  Tried with Slurm 22.05 of Debian 12; source:
 * sbatch(1), "filename pattern". */
static void add_sbatch_errors(ms_buffer *out, const char *folder) {
    ms_buffer name = {0};
    for (const char *c = folder; *c != '\0'; c++) {
        ms_buffer_puts(&name, *c == '%' ? "%" : "");
        ms_buffer_add(&name, c, 1);
    }
    ms_buffer_puts(&name, "/shard-%a.err");
    add_quoted(out, ms_buffer_text(&name), false);
    ms_buffer_release_part(&name, out);
}

/* Write the plan for Slurm: a job array whose task number is the number of the shard. */
static void write_slurm(plan *draft) {
    ms_buffer *out = &draft->text;
    const char *file = show(draft, draft->file);
    ms_buffer_printf(out,
                     "#!/bin/sh\n"
                     "# %ld shards of a study:  sbatch %s\n"
                     "# then one store made of them:  %s merge %s\n"
                     "# which says what is missing; those alone:  sbatch --array=LIST %s\n"
                     "#SBATCH --job-name=meshsim\n"
                     "#SBATCH --array=0-%ld\n"
                     "#SBATCH --ntasks=1\n"
                     "#SBATCH --cpus-per-task=%s\n"
                     "#SBATCH --output=/dev/null\n"
                     "#SBATCH --error=",
                     draft->shards, file, show(draft, draft->program), show(draft, draft->folder),
                     file, draft->shards - 1, draft->jobs);
    add_sbatch_errors(out, draft->folder);
    ms_buffer_printf(out, "\n%s\"$SLURM_ARRAY_TASK_ID/%ld\"\n", ms_buffer_text(&draft->command),
                     draft->shards);
}

/* ---- the plan ---- */

/* Read --plan, "makeflow=FILE" or "slurm=FILE".  Returns MS_OK; MS_E_USAGE (reported). */
static ms_status read_engine(plan *draft) {
    static const char MAKEFLOW[] = "makeflow=";
    static const char SLURM[] = "slurm=";
    const char *word = ms_cli_value(draft->call, "plan", "");
    draft->is_slurm = strncmp(word, SLURM, sizeof SLURM - 1) == 0;
    bool is_makeflow = strncmp(word, MAKEFLOW, sizeof MAKEFLOW - 1) == 0;
    draft->file = strchr(word, '=') == NULL ? "" : strchr(word, '=') + 1;
    if ((!draft->is_slurm && !is_makeflow) || draft->file[0] == '\0') {
        return ms_diag_usage(draft->call->diag,
                             "option '--plan': expected makeflow=FILE or slurm=FILE, got '%s'",
                             word);
    }
    return MS_OK;
}

/* Refuse options beside --plan that ask for results, which a plan does not have, or that a plan
 * sets for each shard; require --store.  Returns MS_OK; MS_E_USAGE (reported). */
static ms_status check_options(const plan *draft) {
    static const char *const OTHERS[] = {"shard",  "fresh",  "json",     "csv",
                                         "plot",   "pareto", "html",     "explain",
                                         "whatif", "output", "markdown", NULL};
    const ms_option *options = draft->call->command->options;
    for (size_t i = 0; options[i].name != NULL; i++) {
        if (draft->call->given[i].count > 0 && ms_cli_is_among(options[i].name, OTHERS)) {
            return ms_diag_usage(draft->call->diag,
                                 "options '--plan' and '--%s' do not go together", options[i].name);
        }
    }
    if (!ms_cli_has(draft->call, "store")) {
        return ms_diag_usage(draft->call->diag, "option '--plan' needs '--store', a folder");
    }
    return MS_OK;
}

/* Find the current folder, the file of this program and the folder of the shards, all of which
 * every machine must see, and check that the engine can name them.  Returns MS_OK; MS_E_IO,
 * MS_E_NOMEM, MS_E_USAGE (reported). */
static ms_status find_paths(plan *draft) {
    ms_arena *arena = draft->call->arena;
    char path[PATH_MAX];
    const char *store = ms_cli_value(draft->call, "store", "");
    draft->working_folder = getcwd(path, sizeof path) == NULL ? NULL : ms_arena_strdup(arena, path);
    draft->program = realpath("/proc/self/exe", path) == NULL ? NULL : ms_arena_strdup(arena, path);
    if (draft->working_folder == NULL || draft->program == NULL) {
        ms_diag_error(draft->call->diag, "cannot tell the folder or the program of this command");
        return MS_E_IO;
    }
    draft->folder =
        store[0] == '/' ? store : ms_arena_printf(arena, "%s/%s", draft->working_folder, store);
    if (draft->folder == NULL) {
        return ms_diag_no_memory(draft->call->diag);
    }
    ms_status status = check_word(draft, draft->file);
    status = status == MS_OK ? check_word(draft, draft->folder) : status;
    if (status != MS_OK) {
        return status;
    }
    return draft->is_slurm ? check_slurm_folder(draft) : check_makeflow_folder(draft);
}

/* Make the folder of the shards: Slurm opens a task's error file in it before the shard could make
 * it.  Returns MS_OK; MS_E_IO (reported). */
static ms_status make_folder(const plan *draft) {
    struct stat found;
    bool is_there = mkdir(draft->folder, 0777) == 0 || errno == EEXIST;
    if (is_there && stat(draft->folder, &found) == 0 && !S_ISDIR(found.st_mode)) {
        errno = ENOTDIR;
        is_there = false;
    }
    if (!is_there) {
        ms_diag_error(draft->call->diag, "cannot make the folder '%s': %s", draft->folder,
                      strerror(errno));
    }
    return is_there ? MS_OK : MS_E_IO;
}

/* Check the options, and make the text of the plan in draft->text. */
static ms_status make_plan(plan *draft) {
    ms_status status = check_options(draft);
    status = status == MS_OK ? read_engine(draft) : status;
    status = status == MS_OK ? ms_cli_int(draft->call, "shards", SHARDS_DEFAULT, 1, MS_SHARDS_MAX,
                                          &draft->shards)
                             : status;
    status = status == MS_OK ? find_paths(draft) : status;
    status = status == MS_OK ? make_command(draft) : status;
    status = status == MS_OK ? make_folder(draft) : status;
    if (status == MS_OK) {
        (draft->is_slurm ? write_slurm : write_makeflow)(draft);
        bool has_failed =
            draft->command.failed || draft->text.failed || draft->call->arena->has_failed;
        status = has_failed ? ms_diag_no_memory(draft->call->diag) : MS_OK;
    }
    return status;
}

ms_status ms_cli_write_plan(const ms_invocation *call) {
    plan draft = {.call = call, .jobs = ms_cli_value(call, "jobs", "1")};
    ms_status status = make_plan(&draft);
    ms_buffer_release(&draft.command);
    if (status != MS_OK) {
        ms_buffer_release(&draft.text);
        return status;
    }
    return ms_cli_write_file(call, draft.file, &draft.text);
}
