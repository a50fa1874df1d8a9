/* Runs SimGrid in a child process (simgrid_process.h). Parent and child share a block of memory, in
 * which the child leaves the timeline, or the message of its first error. */
#include "simulate/engine/simgrid_process.h"

#include <stdio.h>
#include <string.h>

#include "base/child.h"

/* Memory that both processes share. */
typedef struct shared_run {
    ms_timeline timeline; /* its arrays follow this struct */
    char message[2048];   /* the first fault */
} shared_run;

/* What the child process works on; the parent's memory, copied when the child is forked. */
typedef struct child_run {
    ms_replay_work *work;
    ms_replay *replay;
    ms_arena *scratch;
    shared_run *shared;
} child_run;

/* Size of the shared memory for a run of `dag`: the struct and the timeline's arrays [B]. */
static size_t shared_B(const ms_dag *dag) {
    return sizeof(shared_run) + ms_timeline_arrays_B(dag);
}

/* Copy the timeline `from` to `to`. The contents of the arrays are copied, too, into the arrays of
 * `to`, which stay where they are. Both timelines have their arrays in one block. */
static void copy_timeline(const ms_dag *dag, const ms_timeline *from, ms_timeline *to) {
    void *block = to->start_s;
    memcpy(block, from->start_s, ms_timeline_arrays_B(dag));
    *to = *from;
    ms_timeline_set_arrays(to, dag, block);
}

/* Receiver of the child's messages (ms_diag): keeps the text of the first one, without the prefix
 * that ms_diag_error puts in front and without the newline, as the parent reports the text
 * again. */
static void keep_message(void *context, const char *text) {
    static const char HEAD[] = "meshsim: error: ";
    shared_run *shared = context;
    size_t head_B = strncmp(text, HEAD, sizeof HEAD - 1) == 0 ? sizeof HEAD - 1 : 0;
    if (shared->message[0] == '\0') {
        snprintf(shared->message, sizeof shared->message, "%.*s", (int)(strlen(text) - head_B - 1),
                 text + head_B);
    }
}

/* The child's work (ms_child_work): run, and copy the timeline to the shared memory. */
static ms_status run_in_child(void *context, char cause_out[MS_CHILD_CAUSE_B]) {
    child_run *run = context;
    ms_diag diag;
    ms_diag_init(&diag, keep_message, run->shared);
    ms_status status = run->work(run->replay, run->scratch, &diag);
    if (status == MS_OK) {
        copy_timeline(run->replay->dag, &run->replay->timeline, &run->shared->timeline);
    }
    cause_out[0] = '\0'; /* shared->message has the cause */
    return status;
}

/* The child writes its timeline into memory that both processes share; it is copied after the child
 * has ended. */
ms_status ms_simgrid_run_apart(ms_replay_work *work, ms_replay *replay, ms_arena *scratch,
                               ms_diag *diag) {
    static const ms_child_options SIMGRID = {.library = "SimGrid"};
    char cause[MS_CHILD_CAUSE_B] = "";
    size_t size_B = shared_B(replay->dag);
    child_run run = {work, replay, scratch, ms_child_share(size_B)};
    if (run.shared == NULL) {
        return ms_engine_no_memory(diag);
    }
    ms_timeline_set_arrays(&run.shared->timeline, replay->dag, run.shared + 1);
    ms_status status = ms_child_run(run_in_child, &run, &SIMGRID, cause);
    if (status == MS_OK) {
        copy_timeline(replay->dag, &run.shared->timeline, &replay->timeline);
    } else {
        ms_diag_error(diag, "%s", run.shared->message[0] != '\0' ? run.shared->message : cause);
    }
    ms_child_unshare(run.shared, size_B);
    return status;
}
