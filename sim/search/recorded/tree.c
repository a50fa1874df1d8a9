/* Makes the result of `meshsim replay` as a tree (recorded.h): the figures of a study with the
 * names of the published ones, and what they mean in sentences. */
#include <stdio.h>
#include <string.h>

#include "search/recorded/study.h"

/* Add a number under a whole number as key. */
static void add_numbered(ms_value *object, int64_t key, double number) {
    char name[24];
    snprintf(name, sizeof name, "%lld", (long long)key);
    ms_value_add_double(object, name, number);
}

/* The name of a part's value: a number, or the name of its group of kinds. In a buffer of 24
 * bytes or static. */
static const char *value_name(ms_recorded_part part, int value, char text[24]) {
    if (part == MS_PART_KIND) {
        return MS_RECORDED_KINDS[value].group;
    }
    snprintf(text, 24, "%d", value);
    return text;
}

/* Add the slow-downs by a part: of the job, and of each step. */
static void add_part(const ms_recorded_findings *f, ms_recorded_part part, ms_value *root) {
    static const char *const NAMES[MS_PART_COUNT] = {"dp_rank", "stage", "kind"};
    const ms_recorded_part_findings *p = &f->parts[part];
    char key[48];
    char name[24];
    snprintf(key, sizeof key, "S_%s", NAMES[part]);
    ms_value *object = ms_value_add(root, key, MS_VALUE_OBJECT);
    for (int i = 0; i < p->count; i++) {
        ms_value_add_double(object, value_name(part, p->values[i], name), p->slowdown[i]);
    }
    snprintf(key, sizeof key, "S_%s_per_step", NAMES[part]);
    object = ms_value_add(root, key, MS_VALUE_OBJECT);
    for (int step = 0; step < f->job->step_count; step++) {
        char number[24];
        snprintf(number, sizeof number, "%d", f->job->steps[step]);
        ms_value *row = ms_value_add(object, number, MS_VALUE_OBJECT);
        for (int i = 0; i < p->count; i++) {
            size_t at = (size_t)i * (size_t)f->job->step_count + (size_t)step;
            ms_value_add_double(row, value_name(part, p->values[i], name), p->per_step[at]);
        }
    }
}

/* Add how much a set of operations explains. */
static ms_value *add_shares(const ms_recorded_shares *shares, const char *key, ms_value *root) {
    ms_value *object = ms_value_add(root, key, MS_VALUE_OBJECT);
    ms_value_add_double(object, "trem", shares->trem_s);
    ms_value_add_double(object, "tadd", shares->tadd_s);
    ms_value_add_double(object, "rem", shares->rem);
    ms_value_add_double(object, "add", shares->add);
    return object;
}

/* Add the score of every worker, and the worst of them. */
static void add_workers(const ms_recorded_findings *f, ms_value *root) {
    const ms_recorded *job = f->job;
    ms_value *list = ms_value_add(root, "S_worker", MS_VALUE_ARRAY);
    for (int d = 0; d < job->dp; d++) {
        ms_value *row = ms_value_add(list, NULL, MS_VALUE_OBJECT);
        ms_value_add_int(row, "dp_rank", d);
        ms_value *by_stage = ms_value_add(row, "stage", MS_VALUE_OBJECT);
        for (int s = 0; s < job->stages; s++) {
            add_numbered(by_stage, s, f->scores[d * job->stages + s]);
        }
    }
    add_shares(&f->last_stage, "Ms", root);
    ms_value *worst = add_shares(&f->worst_workers, "Mw", root);
    ms_value *workers = ms_value_add(worst, "workers", MS_VALUE_ARRAY);
    for (int i = 0; i < f->worst_count; i++) {
        ms_value *row = ms_value_add(workers, NULL, MS_VALUE_OBJECT);
        ms_value_add_int(row, "dp_rank", f->worst[i] / job->stages);
        ms_value_add_int(row, "stage", f->worst[i] % job->stages);
        ms_value_add_double(row, "S", f->scores[f->worst[i]]);
    }
}

/* Add the ideal time of each kind, if all stages share one. */
static void add_ideal(const ms_recorded_findings *f, ms_value *root) {
    const ms_recorded *job = f->job;
    ms_value *object = ms_value_add(root, "ideal", MS_VALUE_OBJECT);
    for (int kind = 0; kind < MS_RECORDED_KIND_COUNT; kind++) {
        int64_t ideal_ps = f->ideal_ps[kind * job->stages];
        if (ideal_ps != 0 && ms_recorded_has_rule(job, MS_RULE_POOLED)) {
            ms_value_add_double(object, MS_RECORDED_KINDS[kind].name, (double)ideal_ps / 1e12);
        }
    }
}

/* Add the times of each step: as measured, as replayed, without delays, ideal; and its slow-down.
 * They are objects by step, and rows of a table. */
static void add_step_times(const ms_recorded_findings *f, ms_value *root) {
    static const char *const NAMES[] = {"step_t_base", "step_t_replayed", "step_t_nodelay",
                                        "step_t_noblk", "S_step"};
    enum { NAME_COUNT = sizeof NAMES / sizeof NAMES[0] };
    ms_value *rows = ms_value_add(root, "rows", MS_VALUE_ARRAY);
    ms_value *objects[NAME_COUNT];
    for (int i = 0; i < NAME_COUNT; i++) {
        objects[i] = ms_value_add(root, NAMES[i], MS_VALUE_OBJECT);
    }
    for (int step = 0; step < f->job->step_count; step++) {
        const double values[NAME_COUNT] = {(double)f->job->base_ps[step] / 1e12,
                                           f->replayed_s[step], f->nodelay_s[step], f->ideal_s,
                                           f->nodelay_s[step] / f->ideal_s};
        ms_value *row = ms_value_add(rows, NULL, MS_VALUE_OBJECT);
        ms_value_add_int(row, "step", f->job->steps[step]);
        for (int i = 0; i < NAME_COUNT; i++) {
            ms_value_add_double(row, NAMES[i], values[i]);
            add_numbered(objects[i], f->job->steps[step], values[i]);
        }
    }
}

void ms_recorded_add_timeline(const ms_recorded_findings *f, ms_value *root) {
    static const char *const KEYS[] = {"measured", "ideal"};
    const ms_recorded *job = f->job;
    int dp = f->worst[0] / job->stages;
    ms_value *object = ms_value_add(root, "timeline", MS_VALUE_OBJECT);
    ms_value_add_int(object, "step", job->steps[f->timeline_step]);
    ms_value_add_int(object, "dp_rank", dp);
    for (int i = 0; i < 2; i++) {
        ms_value *list = ms_value_add(object, KEYS[i], MS_VALUE_ARRAY);
        for (int n = 0; n < job->node_count; n++) {
            const ms_recorded_node *node = &job->nodes[n];
            size_t at = (size_t)n * (size_t)job->dp + (size_t)dp;
            ms_value *row = ms_value_add(list, NULL, MS_VALUE_OBJECT);
            ms_value_add_string(row, "kind", MS_RECORDED_KINDS[node->kind].name);
            ms_value_add_int(row, "stage", node->stage);
            ms_value_add_int(row, "mc", node->mc);
            ms_value_add_int(row, "gmc", node->gmc);
            ms_value_add_int(row, "mb", node->mb);
            ms_value_add_int(row, "start_ps", f->begins_ps[i][at]);
            ms_value_add_int(row, "end_ps", f->ends_ps[i][at]);
        }
    }
}

void ms_recorded_add_study(const ms_recorded_findings *f, ms_value *root) {
    const ms_recorded *job = f->job;
    ms_value_add_string(root, "events", job->path);
    ms_value_add_int(root, "dp", job->dp);
    ms_value_add_int(root, "pp", job->stages);
    ms_value_add_int(root, "virtual_stages", job->model_stages);
    ms_value_add_int(root, "num_microbatches", job->microbatches);
    ms_value_add_int(root, "steps", job->step_count);
    ms_value_add_int(root, "operations", (int64_t)job->node_count * job->dp);
    ms_value_add_int(root, "clock_faults", job->clock_faults);
    ms_value_add_double(root, "step_time_s", f->base_s);
    ms_value_add_double(root, "T", f->measured_s);
    ms_value_add_double(root, "I", f->ideal_s);
    ms_value_add_double(root, "launch_slowdown", f->base_s / f->measured_s);
    ms_value_add_double(root, "S", f->measured_s / f->ideal_s);
    ms_value_add_double(root, "wasted_share", 1.0 - f->ideal_s / f->measured_s);
    ms_recorded_add_words(f, root);
    for (int part = 0; part < MS_PART_COUNT; part++) {
        add_part(f, (ms_recorded_part)part, root);
    }
    add_workers(f, root);
    add_ideal(f, root);
    add_step_times(f, root);
}
