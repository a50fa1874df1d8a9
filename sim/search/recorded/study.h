/* What replays of a measured job find. */
#ifndef MS_RECORDED_STUDY_H
#define MS_RECORDED_STUDY_H

#include "search/recorded/table.h"

/* By what the time lost is divided. */
typedef enum ms_recorded_part {
    MS_PART_DP,
    MS_PART_STAGE,
    MS_PART_KIND,
    MS_PART_COUNT,
    MS_PART_WORST = MS_PART_COUNT, /* the worst workers, and all others */
} ms_recorded_part;

/* How much of the time lost a set of operations explains. */
typedef struct ms_recorded_shares {
    double trem_s, tadd_s; /* mean step if the set alone is ideal; if all but the set is */
    double rem, add;       /* shares of the loss: what trem saves; what tadd costs */
} ms_recorded_shares;

/* The findings of a part, for each of its values. */
typedef struct ms_recorded_part_findings {
    int count;
    int *values;      /* [count] data-parallel ranks, stages, or a kind of each group of kinds */
    double *slowdown; /* [count] S_x: mean step with this value's operations measured and the rest
                         ideal, over the ideal step */
    double *per_step; /* [count][steps] likewise of each step */
    int worst;        /* index of the largest slow-down */
    ms_recorded_shares shares; /* of the worst */
} ms_recorded_part_findings;

/* All findings.  In the arena of ms_recorded_find. */
typedef struct ms_recorded_findings {
    const ms_recorded *job;
    int64_t *ideal_ps;  /* [kind * stages + stage] */
    double *replayed_s; /* [steps] with delays */
    double *nodelay_s;  /* [steps] without */
    double base_s;      /* mean step as measured */
    double measured_s;  /* T: mean step without delays */
    double ideal_s;     /* I: the step without delays and stragglers */
    ms_recorded_part_findings parts[MS_PART_COUNT];
    double *scores;        /* [dp * stages + stage] of workers */
    bool *is_worst;        /* [dp * stages + stage] */
    int *worst;            /* [worst_count] numbers of the worst workers, the worst first */
    int worst_count;       /* 3 % of all, rounded up */
    int timeline_step;     /* index of the longest step without delays */
    int64_t *begins_ps[2]; /* [node][dp] in it, as measured and ideal */
    int64_t *ends_ps[2];   /* likewise */
    ms_recorded_shares last_stage, worst_workers; /* Ms and Mw */
} ms_recorded_findings;

/* The mean or the median of some times; 0 of none.  times: [count], sorted for a median. */
int64_t ms_recorded_typical(int64_t *times, size_t count, bool is_mean);

/* The ideal time of each kind of operation on each stage [ps]: the mean or the median of its
 * measured times.  Returns [kind * stages + stage], in the arena; NULL: memory ran out. */
int64_t *ms_recorded_ideal(const ms_recorded *job, ms_arena *arena);

/* Replay a job and find what its stragglers cost.  is_brief: only the means of steps and the ideal
 * times, not the parts.  Returns MS_OK; MS_E_NOMEM (reported).
 * O(replays * rows). */
ms_status ms_recorded_find(const ms_recorded *job, bool is_brief, ms_arena *arena, ms_diag *diag,
                           ms_recorded_findings *out);

/* Add the figures of a study, with the names of the published ones, and its sentences.  A lack of
 * memory shows in the tree's arena. */
void ms_recorded_add_study(const ms_recorded_findings *f, ms_value *root);

/* Add the object `timeline`: when the operations of the worst data-parallel rank run in the longest
 * step, as measured and ideal, without launch delays. */
void ms_recorded_add_timeline(const ms_recorded_findings *f, ms_value *root);

/* Add the list `in_words`: sentences that say who is slow and what it costs. */
void ms_recorded_add_words(const ms_recorded_findings *f, ms_value *root);

#endif
