/* The state of a search, and its first two steps: every candidate is bounded, and those that may be
 * among the best are estimated. A candidate is known by its number in the space (`index`). */
#ifndef MS_STUDY_SEARCH_BOUNDING_H
#define MS_STUDY_SEARCH_BOUNDING_H

#include "search/search.h"
#include "search/search/best.h"
#include "search/search/reasons.h"
#include "search/search/visits.h"

/* A candidate that is not estimated yet. */
typedef struct ms_open_candidate {
    int64_t index;
    ms_search_score bound; /* bound of the candidate, from its computations alone */
} ms_open_candidate;

/* A candidate that fits in memory. */
typedef struct ms_feasible {
    int64_t index;
    double estimate_s, bound_s;      /* estimate and lower bound of its step [s] */
    double peak_B;                   /* memory of the rank that needs most [B] */
    ms_search_score estimate, bound; /* candidates are sorted by estimates, pruned by bounds */
    bool is_settled;                 /* its result was found in the store */
    bool is_over;                    /* it was simulated or refused */
    char key[MS_SHA256_HEX];         /* its key in the store, set before the store is searched */
} ms_feasible;

/* A search while it runs. */
typedef struct ms_search_state {
    const ms_search_study *study;
    ms_arena *arena;
    ms_diag *diag;
    ms_search_findings *out;
    ms_visitors visitors; /* threads that bound and estimate candidates */
    ms_vector open;       /* of ms_open_candidate, lowest bounds first */
    ms_vector feasible;   /* of ms_feasible; those from `next` on are sorted by their estimates */
    ms_vector simulated;  /* of ms_search_row: candidates that were simulated and fit */
    size_t settled;       /* number of `simulated` that are on the disk, where there is a store */
    ms_reasons illegal, failed; /* why candidates are illegal, why simulations failed */
    ms_search_best *best;       /* [groups] the best results of simulations of each group */
    ms_search_best *expected;   /* [groups] the best estimates of each group */
    size_t groups; /* of candidates whose best are wanted: one for each platform, or a single one */
    size_t next;   /* index into `feasible`; entries before it were handed out or pruned */
    ms_job_spec spec;      /* the job that is simulated next */
    ms_shared_best shared; /* of a shard: the best results of all shards */
    ms_status status;      /* first fault of next_job, which returns no status */
} ms_search_state;

/* Count a candidate beyond the goal's limits, and keep its miss if it is the least so far.
 *  values: [MS_SEEK_COUNT] of the candidate. */
void ms_search_record_miss(ms_search_state *r, const double *values);

/* Report the progress of a search to its caller. done: candidates that the phase has handled.
 * count: all candidates of the phase. */
void ms_search_report_progress(const ms_search_state *r, ms_search_phase phase, int64_t done,
                               int64_t count);

/* The group of a candidate, an index into r->best.  index: of the candidate in the space. */
size_t ms_search_group(const ms_search_state *r, int64_t index);

/* Whether the bound of a candidate is beyond the best results of its group so far, so that the
 * candidate cannot be among the best. Always false in an exhaustive search. */
bool ms_search_is_hopeless(ms_search_state *r, int64_t index, const ms_search_score *bound);

/* Bound all candidates. r->open gets the legal ones, lowest bounds first. Returns MS_OK;
 * MS_E_INTERRUPTED; MS_E_INPUT (reported) as ms_search_goal_check; MS_E_NOMEM, and others as
 * ms_space_spec (reported). */
ms_status ms_search_bound_all(ms_search_state *r);

/* Estimate the candidates of r->open that may be among the best, lowest bounds first. They leave
 * r->open; r->feasible gets those that fit in memory.
 *  until_expected: also leave a candidate in r->open if its bound is beyond the best estimates so
 * far, since the simulations that come next are likely to beat it. Returns as
 * ms_search_bound_all. */
ms_status ms_search_estimate_open(ms_search_state *r, bool until_expected);

#endif
