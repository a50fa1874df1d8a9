/* Lists of jobs for `meshsim runs` (job_list.h): reads the list, and simulates each job in a child.
 * The parent reads a job's workload only when a child is free for it, so that one workload at a
 * time is in memory. */
#include "search/job_list.h"

#include <string.h>

#include "search/points.h"
#include "search/workers.h"
#include "simulate/run/job.h"
#include "trace/summary.h"

/* ---- the file ---- */

#define AT(member) offsetof(ms_listed_job, member)

static const ms_field JOB_FIELDS[] = {
    MS_KEY("workload", "workload file, or the name of one", STRING, AT(workload),
           .is_required = true),
    MS_KEY("text", "the workload itself, in the place of what stands in that file", STRING,
           AT(text)),
    MS_KEY("platform", "platform file, or the name of one, instead of the workload's", STRING,
           AT(platform)),
    MS_KEY("set", "overrides of this job, key.path=value", WORDS, AT(sets)),
    {.key = NULL},
};

/* Keys of the file. */
typedef struct list_text {
    const ms_node *jobs;
} list_text;

static const ms_field LIST_FIELDS[] = {
    MS_KEY("jobs", "the jobs", NODE, offsetof(list_text, jobs), .is_required = true),
    {.key = NULL},
};

/* All jobs are read, so that the faults of each are reported. */
ms_status ms_job_list_read(const char *path, ms_arena *arena, ms_diag *diag,
                           ms_job_list *list_out) {
    ms_node *root = NULL;
    list_text text = {.jobs = NULL};
    ms_status status = ms_config_load_json(path, arena, diag, &root);
    status = status == MS_OK ? ms_config_read(root, LIST_FIELDS, "", &text, arena, diag) : status;
    if (status != MS_OK) {
        return status;
    }
    if (text.jobs->type != MS_NODE_SEQUENCE) {
        return ms_config_fault(diag, text.jobs, "jobs", "expected a list of jobs");
    }
    ms_job_list list = {.items = MS_NEW(arena, ms_listed_job, text.jobs->count)};
    if (list.items == NULL) {
        return ms_diag_no_memory(diag);
    }
    for (ms_node *node = text.jobs->first; node != NULL; node = node->next) {
        ms_status one =
            ms_config_read(node, JOB_FIELDS, "jobs", &list.items[list.count++], arena, diag);
        status = status == MS_OK ? one : status;
    }
    if (status == MS_OK) {
        *list_out = list;
    }
    return status;
}

/* ---- jobs ---- */

/* The state of the study. */
typedef struct listed_run {
    const ms_job_list_study *study;
    ms_arena arena; /* of `spec` */
    size_t next;    /* index of the next job to read */
    ms_diag *diag;
    ms_job_spec spec; /* of the job that was read last */
    ms_status status; /* first failure of next_job, which returns no status; it ends the study */
} listed_run;

/* Read a job's workload with its own overrides, and after them the overrides of all jobs. of_all:
 * the overrides of all jobs. Sets run->spec. Returns as ms_job_spec_read. */
static ms_status read_job(listed_run *run, size_t index, const ms_words *of_all, ms_diag *diag) {
    const ms_listed_job *job = &run->study->list->items[index];
    const ms_job_request request = {.workload = job->workload,
                                    .text = job->text,
                                    .platform = job->platform,
                                    .data_folder = run->study->data_folder,
                                    .sets = job->sets.items,
                                    .set_count = job->sets.count};
    return ms_point_read(&request, of_all, &run->arena, diag, &run->spec);
}

/* `write` of a job's diagnostics: append a message to a buffer. */
static void keep_talk(void *context, const char *text) {
    ms_buffer_puts(context, text);
}

/* Report a job that cannot be read to the study. If the job can be read without the overrides of
 * all jobs, these overrides are to blame (blames_sets). status: of reading. said: all messages.
 * reason: the first fault. Returns the status of the study's `tell`; MS_E_NOMEM (reported). */
static ms_status report_unread(listed_run *run, size_t index, ms_status status, ms_buffer *said,
                               ms_buffer *reason) {
    static const ms_words NONE = {.count = 0};
    ms_diag mute;
    ms_diag_init_mute(&mute);
    bool is_wrong = status == MS_E_INPUT || status == MS_E_USAGE;
    bool has_sets = is_wrong && run->study->sets.count > 0;
    const ms_listed_outcome outcome = {
        .index = index,
        .status = status,
        .blames_sets = has_sets && read_job(run, index, &NONE, &mute) == MS_OK,
        .said = ms_buffer_text(said),
        .reason = reason->length > 0 ? ms_buffer_text(reason) : ms_status_name(status)};
    return said->failed || reason->failed ? ms_diag_no_memory(run->diag)
                                          : run->study->tell(run->study->context, &outcome);
}

/* Read a job into run->spec with diagnostics of its own; a job that cannot be read is reported as
 * ended. Returns whether the job can be simulated. */
static bool read_next(listed_run *run, size_t index) {
    ms_diag diag;
    ms_buffer said, reason;
    ms_buffer_init(&said);
    ms_buffer_init(&reason);
    ms_diag_init(&diag, keep_talk, &said);
    diag.reason = &reason;
    ms_arena_clear(&run->arena);
    ms_status status = read_job(run, index, &run->study->sets, &diag);
    ms_diag_finish(&diag);
    if (status != MS_OK) {
        run->status = report_unread(run, index, status, &said, &reason);
    }
    ms_buffer_release(&said);
    ms_buffer_release(&reason);
    return status == MS_OK;
}

/* `next` of ms_worker_feed: the next job that can be read. *ticket_out: its index. Returns NULL at
 * the end of the list or after a failure (run->status). */
static const ms_job_spec *next_job(void *context, size_t *ticket_out) {
    listed_run *run = context;
    while (run->status == MS_OK && run->next < run->study->list->count) {
        size_t index = run->next++;
        if (read_next(run, index)) {
            *ticket_out = index;
            return &run->spec;
        }
    }
    return NULL;
}

/* `done` of ms_worker_feed: pass a job's outcome to the study's `tell`. ticket: index of the
 * job. */
static ms_status end_job(void *context, size_t ticket, const ms_worker_outcome *outcome) {
    listed_run *run = context;
    if (outcome->status == MS_E_INTERRUPTED) {
        return MS_E_INTERRUPTED; /* the job itself has no outcome */
    }
    const ms_listed_outcome told = {.index = ticket,
                                    .status = outcome->status,
                                    .is_read = true,
                                    .said = outcome->talk,
                                    .reason = outcome->reason,
                                    .result = outcome->text};
    return run->status == MS_OK ? run->study->tell(run->study->context, &told) : run->status;
}

/* `describe` of ms_workers_options, called in a child: write what `run --json --passes` prints. */
static ms_status describe(const ms_result *result, ms_arena *arena, ms_buffer *text) {
    ms_value *summary = NULL;
    ms_status status = ms_summary_build(result, arena, &summary);
    if (status == MS_OK) {
        ms_summary_add_usage(result, summary);
        ms_summary_add_passes(result, summary);
        ms_value_write_json(summary, 0, text);
    }
    return status == MS_OK && arena->has_failed ? MS_E_NOMEM : status;
}

/* Jobs are simulated operation by operation, because the passes of the result need each operation's
 * times. */
ms_status ms_job_list_run(const ms_job_list_study *study, ms_arena *arena, ms_diag *diag) {
    listed_run run = {.study = study, .diag = diag};
    const ms_worker_feed feed = {.next = next_job, .done = end_job, .context = &run};
    const ms_workers_options options = {
        .jobs = study->jobs, .needs_operations = true, .describe = describe};
    ms_arena_init(&run.arena);
    ms_status status = ms_workers_stream(&feed, &options, arena, diag);
    ms_arena_release(&run.arena);
    return status == MS_OK ? run.status : status;
}
