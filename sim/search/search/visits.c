/* Threads that bound and estimate candidates (visits.h). Each thread has an estimator of its own,
 * which keeps what it computes, so candidates that are alike go to the same thread. The space is
 * only read meanwhile: templates are read before the threads start. Where the system starts no
 * thread, the caller does the visits alone. */
#include "search/search/visits.h"

#include <pthread.h>

#include "base/failure.h"
#include "base/interrupt.h"
#include "base/random.h"

/* Visits of a window for each thread, so many that threads have equally much to do, and estimates
 * among them, some of which turn out to be unnecessary. */
enum { WINDOW = 2048, ESTIMATES = 256 };

/* A thread. */
typedef struct visiting_thread {
    ms_visitors *visitors;
    size_t count;  /* of visits in the window */
    size_t number; /* of the thread */
    pthread_t id;
    bool is_started;
} visiting_thread;

/* Call the function of the estimator that a visit's kind names. A failure of the system during the
 * call, such as a lack of memory, replaces the status: it must not pass for an illegal
 * candidate. */
static void visit_one(ms_space *space, ms_estimator *estimator, ms_visit *visit) {
    size_t failures = ms_failure_count();
    ms_spec_estimate *found = &visit->found;
    ms_job_spec spec;
    ms_diag mute;
    ms_diag_init_mute(&mute);
    mute.reason = &visit->reason;
    ms_status status = ms_space_spec(space, visit->index, &mute, &spec);
    if (status == MS_OK && visit->kind == MS_VISIT_BOUND) {
        status = ms_estimator_bound(estimator, &spec, &mute, &found->least);
    } else if (status == MS_OK && visit->kind == MS_VISIT_FIT) {
        status = ms_estimator_fit(estimator, &spec, &mute, &found->peak_B, &found->fits);
    } else if (status == MS_OK) {
        status = ms_estimator_run(estimator, &spec, &mute, found);
    }
    visit->status = ms_failure_since(failures, status);
}

/* Main function of a thread: do its own visits. After an interrupt they are only marked. context: a
 * visiting_thread. */
static void *visit_window(void *context) {
    const visiting_thread *thread = context;
    const ms_visitors *visitors = thread->visitors;
    for (size_t i = 0; i < thread->count; i++) {
        ms_visit *visit = &visitors->window[i];
        bool is_own = visit->likeness % (uint64_t)visitors->threads == thread->number;
        if (!is_own || visit->status != MS_OK || visit->kind == MS_VISIT_NONE) {
            continue;
        }
        if (ms_interrupt_pending_signal() != 0) {
            visit->status = MS_E_INTERRUPTED;
        } else {
            visit_one(visitors->space, visitors->estimators[thread->number], visit);
        }
    }
    return NULL;
}

/* A number that is equal for specs with equal orders of passes, whose making takes the longest. */
static uint64_t likeness_of(const ms_job_spec *spec) {
    int64_t inner = ms_spec_axis_size(&spec->mesh, "tp") * ms_spec_axis_size(&spec->mesh, "cp");
    uint64_t sizes = (uint64_t)(ms_spec_ranks(spec) / inner) << 16 |
                     (uint64_t)ms_spec_axis_size(&spec->mesh, "pp");
    uint64_t batch = (uint64_t)spec->batch.global << 16 | (uint64_t)spec->batch.micro;
    uint64_t schedule = (uint64_t)spec->schedule.kind << 16 | (uint64_t)spec->schedule.chunks;
    return ms_random_mix(ms_random_mix(ms_random_mix(sizes) + batch) + schedule);
}

/* Prepare a visit: read the template of its candidate, and find which thread should do it. */
static void prepare_visit(ms_visitors *visitors, ms_visit *visit) {
    size_t failures = ms_failure_count();
    ms_job_spec spec;
    ms_diag mute;
    ms_diag_init_mute(&mute);
    visit->reason.length = 0;
    mute.reason = &visit->reason;
    visit->found = (ms_spec_estimate){0};
    visit->status = MS_OK;
    if (visit->kind == MS_VISIT_NONE || visitors->threads == 1) {
        return;
    }
    ms_status status = ms_space_spec(visitors->space, visit->index, &mute, &spec);
    visit->likeness = (uint64_t)visit->index / 8; /* neighbours have the same computations */
    if (status == MS_OK && visit->kind != MS_VISIT_BOUND) {
        visit->likeness = likeness_of(&spec);
    }
    visit->status = ms_failure_since(failures, status);
}

ms_status ms_visitors_init(ms_visitors *visitors, ms_space *space, int threads, ms_arena *arena) {
    threads = threads < MS_VISIT_THREADS_MAX ? threads : MS_VISIT_THREADS_MAX;
    *visitors = (ms_visitors){.space = space,
                              .size = threads > 1 ? (size_t)threads * WINDOW : 1,
                              .estimates_max = (size_t)threads * ESTIMATES};
    visitors->estimators = MS_NEW(arena, ms_estimator *, threads);
    visitors->window = MS_NEW(arena, ms_visit, visitors->size);
    if (visitors->estimators == NULL || visitors->window == NULL) {
        visitors->size = 0;
        return MS_E_NOMEM;
    }
    for (; visitors->threads < threads; visitors->threads++) {
        visitors->estimators[visitors->threads] = ms_estimator_new(arena);
        if (visitors->estimators[visitors->threads] == NULL) {
            return MS_E_NOMEM;
        }
    }
    return MS_OK;
}

void ms_visitors_release(ms_visitors *visitors) {
    for (size_t i = 0; i < visitors->size; i++) {
        ms_buffer_release(&visitors->window[i].reason);
    }
    for (int i = 0; i < visitors->threads; i++) {
        ms_estimator_free(visitors->estimators[i]);
    }
}

/* The caller is the first thread, and does the visits of those that the system does not start. */
void ms_visitors_run(ms_visitors *visitors, size_t count) {
    visiting_thread threads[MS_VISIT_THREADS_MAX];
    for (size_t i = 0; i < count; i++) {
        prepare_visit(visitors, &visitors->window[i]);
    }
    for (size_t i = 0; i < (size_t)visitors->threads; i++) {
        threads[i] = (visiting_thread){.visitors = visitors, .count = count, .number = i};
        threads[i].is_started =
            i > 0 && pthread_create(&threads[i].id, NULL, visit_window, &threads[i]) == 0;
    }
    visit_window(&threads[0]);
    for (int i = 1; i < visitors->threads; i++) {
        if (threads[i].is_started) {
            pthread_join(threads[i].id, NULL);
        } else {
            visit_window(&threads[i]);
        }
    }
}
