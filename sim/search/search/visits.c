/* Threads that bound and estimate candidates (visits.h). Each thread takes the next few visits of
 * the window until none is left, and has an estimator of its own. The space is only read meanwhile:
 * templates are read before the threads start. Where the system starts no thread, the caller does
 * the visits alone. */
#include "search/search/visits.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/failure.h"
#include "base/interrupt.h"

/* Candidates in the window for each thread, and how many of them a thread takes at a time:
 * neighbours often have the same costs or the same order of passes, which one estimator has then
 * computed already. */
enum { WINDOW = 128, AT_ONCE = 8 };

/* The window while threads work on it. */
typedef struct window_work {
    ms_visitors *visitors;
    size_t count;       /* of visits */
    atomic_size_t next; /* first visit that no thread has taken */
} window_work;

/* A thread: its work and its estimator. */
typedef struct visiting_thread {
    window_work *work;
    ms_estimator *estimator;
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
        status = ms_estimator_run_fitting(estimator, &spec, &mute, found);
    }
    visit->status = ms_failure_since(failures, status);
}

/* Main function of a thread: do visits until all are taken. After an interrupt the rest is only
 * marked. context: a visiting_thread. */
static void *visit_until_end(void *context) {
    const visiting_thread *thread = context;
    window_work *work = thread->work;
    size_t first;
    while ((first = atomic_fetch_add(&work->next, AT_ONCE)) < work->count) {
        for (size_t i = first; i < first + AT_ONCE && i < work->count; i++) {
            ms_visit *visit = &work->visitors->window[i];
            if (visit->status == MS_OK && ms_interrupt_pending_signal() != 0) {
                visit->status = MS_E_INTERRUPTED;
            } else if (visit->status == MS_OK && visit->kind != MS_VISIT_NONE) {
                visit_one(work->visitors->space, thread->estimator, visit);
            }
        }
    }
    return NULL;
}

ms_status ms_visitors_init(ms_visitors *visitors, ms_space *space, int threads, ms_arena *arena) {
    threads = threads < MS_VISIT_THREADS_MAX ? threads : MS_VISIT_THREADS_MAX;
    *visitors = (ms_visitors){.space = space, .size = threads > 1 ? (size_t)threads * WINDOW : 1};
    visitors->estimators = MS_NEW(arena, ms_estimator *, threads);
    visitors->window = MS_NEW(arena, ms_visit, visitors->size);
    if (visitors->estimators == NULL || visitors->window == NULL) {
        visitors->size = 0;
        return MS_E_NOMEM;
    }
    for (size_t i = 0; i < visitors->size; i++) {
        ms_buffer_init(&visitors->window[i].reason);
    }
    for (; visitors->threads < threads; visitors->threads++) {
        visitors->estimators[visitors->threads] = ms_estimator_new(arena, threads);
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

/* A thread is started only where it has visits to do. */
void ms_visitors_run(ms_visitors *visitors, size_t count) {
    window_work work = {.visitors = visitors, .count = count};
    visiting_thread threads[MS_VISIT_THREADS_MAX];
    size_t wanted = 0;
    for (size_t i = 0; i < count; i++) {
        ms_visit *visit = &visitors->window[i];
        size_t failures = ms_failure_count();
        ms_diag mute;
        ms_diag_init_mute(&mute);
        visit->reason.length = 0;
        mute.reason = &visit->reason;
        visit->found = (ms_spec_estimate){0};
        visit->status = MS_OK;
        if (visit->kind != MS_VISIT_NONE) {
            visit->status =
                ms_failure_since(failures, ms_space_prepare(visitors->space, visit->index, &mute));
            wanted++;
        }
    }
    for (int i = 0; i < visitors->threads; i++) {
        threads[i] = (visiting_thread){.work = &work, .estimator = visitors->estimators[i]};
        threads[i].is_started =
            i > 0 && wanted > (size_t)i * AT_ONCE &&
            pthread_create(&threads[i].id, NULL, visit_until_end, &threads[i]) == 0;
    }
    visit_until_end(&threads[0]);
    for (int i = 1; i < visitors->threads; i++) {
        if (threads[i].is_started) {
            pthread_join(threads[i].id, NULL);
        }
    }
}
