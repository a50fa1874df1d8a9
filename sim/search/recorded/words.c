/* Says in sentences who is slow in a measured job, and what it costs. */
#include "search/recorded/study.h"

#include <stdarg.h>
#include <stdio.h>

/* Least slow-down that counts as a straggler; least share of the loss by which a part explains it;
 * least change of a step that is worth a word. */
static const double LEAST_SLOWDOWN = 1.01;
static const double LEAST_SHARE = 0.5;
static const double LEAST_CHANGE = 0.005;

/* Add a sentence to a list. */
__attribute__((format(printf, 2, 3))) static void say(ms_value *list, const char *format, ...) {
    char sentence[320];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    ms_value_add_string(list, NULL, sentence);
}

/* Say what the step would be if a set of operations took as long as its kind usually does. */
static void say_cost(const ms_recorded_findings *f, const char *who,
                     const ms_recorded_shares *shares, ms_value *list) {
    say(list,
        "%s costs %.1f %% of every step: with its operations as long as the others' the step would "
        "take %.4g s, which is %.0f %% of the loss.",
        who, 100.0 * (1.0 - shares->trem_s / f->measured_s), shares->trem_s, 100.0 * shares->rem);
}

/* Say who is slow: workers, a stage or a data-parallel rank that explains half of the loss. A
 * worker goes before the stage and the rank that it is a part of. */
static void say_who(const ms_recorded_findings *f, ms_value *list) {
    const ms_recorded *job = f->job;
    const ms_recorded_part_findings *stages = &f->parts[MS_PART_STAGE];
    const ms_recorded_part_findings *ranks = &f->parts[MS_PART_DP];
    const ms_recorded_part_findings *kinds = &f->parts[MS_PART_KIND];
    int dp = f->worst[0] / job->stages;
    char who[64];
    if (f->worst_workers.rem >= LEAST_SHARE && job->dp > 1) {
        snprintf(who, sizeof who, "Worker dp %d, stage %d%s", dp, f->worst[0] % job->stages,
                 f->worst_count > 1 ? " with the other worst ones" : "");
        say_cost(f, who, &f->worst_workers, list);
    } else if (stages->shares.rem >= LEAST_SHARE && job->stages > 1) {
        snprintf(who, sizeof who, "Stage %d", stages->values[stages->worst]);
        say_cost(f, who, &stages->shares, list);
        if (job->dp > 1) {
            say(list,
                "Its worst worker, dp %d, explains only %.0f %% of the loss: the whole stage is "
                "slow, as with an uneven split of layers.",
                dp, 100.0 * f->worst_workers.rem);
        }
    } else if (ranks->shares.rem >= LEAST_SHARE && job->dp > 1) {
        snprintf(who, sizeof who, "Data-parallel rank %d", ranks->values[ranks->worst]);
        say_cost(f, who, &ranks->shares, list);
    } else {
        say(list,
            "No worker, stage or data-parallel rank explains half of the loss; of the kinds of "
            "operations %s costs most (S %.4g alone).",
            MS_RECORDED_KINDS[kinds->values[kinds->worst]].group, kinds->slowdown[kinds->worst]);
    }
}

void ms_recorded_add_words(const ms_recorded_findings *f, ms_value *root) {
    ms_value *list = ms_value_add(root, "in_words", MS_VALUE_ARRAY);
    if (f->base_s - f->measured_s >= LEAST_CHANGE * f->base_s) {
        say(list,
            "Launch delays take %.1f %% of the step: without them it would take %.4g s instead of "
            "%.4g s.",
            100.0 * (1.0 - f->measured_s / f->base_s), f->measured_s, f->base_s);
    }
    bool is_slow = f->measured_s >= LEAST_SLOWDOWN * f->ideal_s;
    say(list,
        "%s %.1f %% of the step (S %.4g): if all operations of a kind took equally long, it "
        "would take %.4g s.",
        is_slow ? "Stragglers waste" : "Nobody is slow: stragglers waste",
        100.0 * (1.0 - f->ideal_s / f->measured_s), f->measured_s / f->ideal_s, f->ideal_s);
    if (is_slow) {
        say_who(f, list);
    }
}
