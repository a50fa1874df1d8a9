/* Finds what stragglers cost: replays of a measured job in which the times of some operations are
 * ideal, and the shares that follow. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/recorded/study.h"

/* Share of the workers that are the worst.  Source: as graph.c. */
static const double WORST_SHARE = 0.03;
/* Compare two times for qsort. */
static int compare_times(const void *a, const void *b) {
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

/* ---- ideal times ---- */

int64_t ms_recorded_typical(int64_t *times, size_t count, bool is_mean) {
    long double sum = 0;
    if (count == 0) {
        return 0;
    }
    if (!is_mean) {
        qsort(times, count, sizeof *times, compare_times);
        int64_t low = times[(count - 1) / 2];
        return low + (times[count / 2] - low) / 2;
    }
    for (size_t i = 0; i < count; i++) {
        sum += (long double)times[i];
    }
    return (int64_t)llroundl(sum / (long double)count);
}

/* Set the ideal time of each kind: of all stages together, or of each alone.  pool: room for all
 * times of a kind. */
static void set_ideal(const ms_recorded *job, int64_t *pool, int64_t *ideal_out) {
    bool is_pooled = ms_recorded_has_rule(job, MS_RULE_POOLED);
    size_t dp = (size_t)job->dp;
    for (int i = 0; i < MS_RECORDED_KIND_COUNT * job->stages; i++) {
        int kind = i / job->stages;
        int stage = i % job->stages;
        bool has_mean = MS_RECORDED_KINDS[kind].has_mean
                            ? ms_recorded_has_rule(job, MS_RULE_MEAN)
                            : !ms_recorded_has_rule(job, MS_RULE_MEDIAN);
        size_t count = 0;
        if (is_pooled && stage > 0) {
            ideal_out[i] = ideal_out[i - stage];
            continue;
        }
        for (int step = 0; step < job->step_count; step++) {
            const int64_t *own = job->own_ps + (size_t)step * (size_t)job->node_count * dp;
            for (int n = 0; n < job->node_count; n++) {
                if (job->nodes[n].kind == kind && (is_pooled || job->nodes[n].stage == stage)) {
                    memcpy(pool + count, own + (size_t)n * dp, dp * sizeof *pool);
                    count += dp;
                }
            }
        }
        ideal_out[i] = ms_recorded_typical(pool, count, has_mean);
    }
}

/* The number of times of the most frequent kind. */
static size_t largest_pool(const ms_recorded *job) {
    size_t counts[MS_RECORDED_KIND_COUNT] = {0};
    size_t most = 0;
    for (int n = 0; n < job->node_count; n++) {
        size_t count = ++counts[job->nodes[n].kind];
        most = count > most ? count : most;
    }
    return most * (size_t)job->dp * (size_t)job->step_count;
}

int64_t *ms_recorded_ideal(const ms_recorded *job, ms_arena *arena) {
    int64_t *ideal = MS_NEW(arena, int64_t, MS_RECORDED_KIND_COUNT * (size_t)job->stages);
    int64_t *pool = MS_NEW(arena, int64_t, largest_pool(job));
    if (ideal == NULL || pool == NULL) {
        return NULL;
    }
    set_ideal(job, pool, ideal);
    return ideal;
}

/* ---- replays ---- */

/* Replay all steps.  times_out: [steps] in seconds; NULL: not wanted.  Returns their mean. */
static double replay_all(const ms_recorded_replay *replay, double *times_out) {
    double sum = 0.0;
    for (int step = 0; step < replay->job->step_count; step++) {
        double time_s = (double)ms_recorded_replay_step(replay, step) / 1e12;
        sum += time_s;
        if (times_out != NULL) {
            times_out[step] = time_s;
        }
    }
    return sum / replay->job->step_count;
}

/* The value of a part that an operation belongs to: its data-parallel rank, its stage, the first
 * kind of its group, or whether its worker is among the worst. */
static int value_of(const ms_recorded_findings *f, ms_recorded_part part, int node, int dp) {
    const ms_recorded_node *facts = &f->job->nodes[node];
    return part == MS_PART_DP      ? dp
           : part == MS_PART_STAGE ? facts->stage
           : part == MS_PART_KIND  ? MS_RECORDED_KINDS[facts->kind].first
                                   : f->is_worst[dp * f->job->stages + facts->stage];
}

/* Mark the operations of a value of a part with `inside`, and the others with its opposite. */
static void mark(const ms_recorded_findings *f, ms_recorded_part part, int value, bool inside,
                 uint8_t *marks) {
    for (int n = 0; n < f->job->node_count; n++) {
        for (int d = 0; d < f->job->dp; d++) {
            *marks++ = (value_of(f, part, n, d) == value) == inside;
        }
    }
}

/* Replay with the operations of a value of a part ideal (trem), and with all others ideal (tadd),
 * and find the shares of the loss. */
static ms_recorded_shares find_shares(const ms_recorded_findings *f, ms_recorded_part part,
                                      int value, ms_recorded_replay *replay, uint8_t *marks) {
    ms_recorded_shares shares;
    double loss_s = f->measured_s - f->ideal_s;
    replay->is_ideal = marks;
    mark(f, part, value, true, marks);
    shares.trem_s = replay_all(replay, NULL);
    mark(f, part, value, false, marks);
    shares.tadd_s = replay_all(replay, NULL);
    shares.rem = loss_s == 0.0 ? 0.0 : (f->measured_s - shares.trem_s) / loss_s;
    shares.add = loss_s == 0.0 ? 0.0 : (shares.tadd_s - f->ideal_s) / loss_s;
    return shares;
}

/* Find the slow-down by each value of a part: its operations as measured, all others ideal. */
static void find_part(ms_recorded_findings *f, ms_recorded_part part, ms_recorded_replay *replay,
                      uint8_t *marks) {
    ms_recorded_part_findings *out = &f->parts[part];
    int steps = f->job->step_count;
    for (int i = 0; i < out->count; i++) {
        double *times = out->per_step + (size_t)i * (size_t)steps;
        mark(f, part, out->values[i], false, marks);
        replay->is_ideal = marks;
        out->slowdown[i] = replay_all(replay, times) / f->ideal_s;
        for (int step = 0; step < steps; step++) {
            times[step] /= f->ideal_s;
        }
    }
}

/* ---- workers ---- */

/* Score each worker: the least of the slow-downs by its data-parallel rank and by its stage. Choose
 * those with the highest scores; of equal ones those of the lower data-parallel rank, then stage.
 */
static void score_workers(ms_recorded_findings *f) {
    int stages = f->job->stages;
    int count = f->job->dp * stages;
    for (int w = 0; w < count; w++) {
        double by_dp = f->parts[MS_PART_DP].slowdown[w / stages];
        double by_stage = f->parts[MS_PART_STAGE].slowdown[w % stages];
        f->scores[w] = by_dp < by_stage ? by_dp : by_stage;
    }
    for (; f->worst_count < (int)ceil(WORST_SHARE * count); f->worst_count++) {
        int best = -1;
        for (int w = 0; w < count; w++) {
            if (!f->is_worst[w] && (best < 0 || f->scores[w] > f->scores[best])) {
                best = w;
            }
        }
        f->is_worst[best] = true;
        f->worst[f->worst_count] = best;
    }
}

/* ---- all ---- */

/* List the values that a part has.  limit: above all of them. */
static int list_values(const ms_recorded_findings *f, ms_recorded_part part, int limit,
                       int *values) {
    int count = 0;
    for (int value = 0; value < limit; value++) {
        bool is_there = part == MS_PART_DP;
        for (int n = 0; n < f->job->node_count && !is_there; n++) {
            is_there = value_of(f, part, n, 0) == value;
        }
        values[count] = value;
        count += is_there;
    }
    return count;
}

/* Make room for all findings. */
static bool make_room(ms_recorded_findings *f, ms_arena *arena) {
    const ms_recorded *job = f->job;
    size_t steps = (size_t)job->step_count;
    size_t workers = (size_t)job->dp * (size_t)job->stages;
    for (int part = 0; part < MS_PART_COUNT; part++) {
        ms_recorded_part_findings *p = &f->parts[part];
        const int limits[MS_PART_COUNT] = {job->dp, job->stages, MS_RECORDED_KIND_COUNT};
        size_t most = (size_t)limits[part];
        p->values = MS_NEW(arena, int, most);
        p->slowdown = MS_NEW(arena, double, most);
        p->per_step = MS_NEW(arena, double, most *steps);
        if (p->values != NULL) {
            p->count = list_values(f, (ms_recorded_part)part, limits[part], p->values);
        }
    }
    f->replayed_s = MS_NEW(arena, double, steps);
    f->nodelay_s = MS_NEW(arena, double, steps);
    f->ideal_ps = ms_recorded_ideal(job, arena);
    f->scores = MS_NEW(arena, double, workers);
    f->is_worst = MS_NEW(arena, bool, workers);
    f->worst = MS_NEW(arena, int, workers);
    return !arena->has_failed;
}

/* Replay as measured, without delays and ideally. */
static void find_means(ms_recorded_findings *f, ms_recorded_replay *replay, uint8_t *marks) {
    const ms_recorded *job = f->job;
    memset(marks, 1, (size_t)job->node_count * (size_t)job->dp);
    replay->delays = job->delay_ps == NULL ? NULL : marks;
    replay_all(replay, f->replayed_s);
    replay->delays = NULL;
    f->measured_s = replay_all(replay, f->nodelay_s);
    replay->is_ideal = marks;
    f->ideal_s = (double)ms_recorded_replay_step(replay, 0) / 1e12; /* equal in all steps */
    double sum = 0.0;
    for (int step = 0; step < job->step_count; step++) {
        sum += (double)job->base_ps[step] / 1e12;
    }
    f->base_s = sum / job->step_count;
}

ms_status ms_recorded_find(const ms_recorded *job, bool is_brief, ms_arena *arena, ms_diag *diag,
                           ms_recorded_findings *out) {
    size_t count = (size_t)job->node_count * (size_t)job->dp;
    ms_recorded_findings f = {.job = job};
    ms_recorded_replay replay = {.job = job,
                                 .ends_ps = MS_NEW(arena, int64_t, count),
                                 .begins_ps = MS_NEW(arena, int64_t, count)};
    uint8_t *marks = MS_NEW(arena, uint8_t, count);
    if (!make_room(&f, arena)) {
        return ms_diag_no_memory(diag);
    }
    replay.ideal_ps = f.ideal_ps;
    find_means(&f, &replay, marks);
    *out = f;
    if (is_brief) {
        return MS_OK;
    }
    for (int part = 0; part < MS_PART_COUNT; part++) {
        find_part(&f, (ms_recorded_part)part, &replay, marks);
    }
    score_workers(&f);
    f.last_stage = find_shares(&f, MS_PART_STAGE, job->stages - 1, &replay, marks);
    f.worst_workers = find_shares(&f, MS_PART_WORST, 1, &replay, marks);
    for (int part = 0; part < MS_PART_COUNT; part++) {
        ms_recorded_part_findings *p = &f.parts[part];
        for (int i = 1; i < p->count; i++) {
            p->worst = p->slowdown[i] > p->slowdown[p->worst] ? i : p->worst;
        }
        p->shares = find_shares(&f, (ms_recorded_part)part, p->values[p->worst], &replay, marks);
    }
    for (int step = 1; step < job->step_count; step++) {
        f.timeline_step = f.nodelay_s[step] > f.nodelay_s[f.timeline_step] ? step : f.timeline_step;
    }
    memset(marks, 1, count);
    for (int i = 0; i < 2; i++) { /* as measured, ideal */
        f.begins_ps[i] = replay.begins_ps = MS_NEW(arena, int64_t, count);
        f.ends_ps[i] = replay.ends_ps = MS_NEW(arena, int64_t, count);
        replay.is_ideal = i == 0 ? NULL : marks;
        if (arena->has_failed) {
            return ms_diag_no_memory(diag);
        }
        (void)ms_recorded_replay_step(&replay, f.timeline_step);
    }
    *out = f;
    return MS_OK;
}
