/* Work on single candidates that no other candidate changes: bounds, memory and estimates. Several
 * threads do it for a window of candidates; the search then judges the window in its order, so that
 * its result does not depend on the number of threads. */
#ifndef MS_STUDY_SEARCH_VISITS_H
#define MS_STUDY_SEARCH_VISITS_H

#include "base/buffer.h"
#include "estimate/estimate.h"
#include "search/space.h"

/* What a visit computes; MS_VISIT_NONE: nothing. */
typedef enum ms_visit_kind {
    MS_VISIT_NONE,
    MS_VISIT_BOUND,
    MS_VISIT_FIT,
    MS_VISIT_ESTIMATE,
} ms_visit_kind;

/* A visit of a candidate. */
typedef struct ms_visit {
    int64_t index; /* of the candidate in the space */
    ms_visit_kind kind;
    ms_status status;  /* as ms_space_spec and the function of the estimator; MS_E_INTERRUPTED: an
                          interrupt came first */
    uint64_t likeness; /* equal for candidates whose estimates have much in common */
    ms_buffer reason;  /* the first fault in one line; "": none was reported */
    ms_spec_estimate found; /* of a bound only `least`, of a fit only `peak_B` and `fits` */
} ms_visit;

/* Most threads of a search. */
enum { MS_VISIT_THREADS_MAX = 64 };

/* The visitors of a search. */
typedef struct ms_visitors {
    ms_space *space;
    ms_estimator **estimators; /* [threads] one for each thread */
    int threads;
    ms_visit *window;           /* [size] the caller sets `index` and `kind` */
    size_t size, estimates_max; /* most visits, and most estimates, of a window */
} ms_visitors;

/* Begin with `threads` threads, >= 1 and at most MS_VISIT_THREADS_MAX of them, one of which is the
 * caller's.  space: borrowed.  arena: holds the lists.  ms_visitors_release frees the rest, also
 * after a failure.  Returns MS_OK; MS_E_NOMEM. */
ms_status ms_visitors_init(ms_visitors *visitors, ms_space *space, int threads, ms_arena *arena);
void ms_visitors_release(ms_visitors *visitors);

/* Do the first `count` visits of the window, at most `size`. */
void ms_visitors_run(ms_visitors *visitors, size_t count);

#endif
