/* From a user's own run to its job: the workload file is read as `run` reads it. */
#include "study/cases_rules.h"

/* Overrides of a run, and behind them those of the rules. */
static ms_status join_sets(ms_case_rules *rules, const ms_case *c, const ms_platform *platform,
                           ms_words *sets_out) {
    ms_words changes = {.count = 0};
    ms_status status = ms_case_spread_sets(rules, platform, &changes);
    size_t most = c->own.sets.count + rules->job_sets.count + changes.count;
    *sets_out = (ms_words){.items = MS_NEW(rules->arena, const char *, most)};
    bool has_all = status == MS_OK && sets_out->items != NULL;
    for (size_t i = 0; i < c->own.sets.count && has_all; i++) {
        sets_out->items[sets_out->count++] = c->own.sets.items[i];
    }
    for (size_t i = 0; i < rules->job_sets.count && has_all; i++) {
        sets_out->items[sets_out->count++] = rules->job_sets.items[i];
    }
    for (size_t i = 0; i < changes.count && has_all; i++) {
        const char *set = ms_arena_printf(rules->arena, "platform.%s", changes.items[i]);
        sets_out->items[sets_out->count++] = set;
        has_all = set != NULL;
    }
    return has_all ? MS_OK : ms_diag_no_memory(rules->diag);
}

static ms_status read_job(ms_case_rules *rules, const ms_case *c, const ms_words *sets,
                          ms_case_job *job_out) {
    const ms_job_request request = {.workload = c->own.workload,
                                    .platform = c->own.platform,
                                    .data_folder = rules->data_folder,
                                    .sets = sets->items,
                                    .set_count = sets->count};
    ms_job_spec spec;
    ms_status status = ms_job_spec_read(&request, rules->arena, rules->diag, &spec);
    if (status == MS_OK) {
        job_out->spec = ms_job_spec_derive(&spec);
        job_out->framework = spec.framework.name == NULL ? "none" : spec.framework.name;
    } else if (status != MS_E_NOMEM) {
        ms_diag_at(rules->diag, &c->mark, NULL, "the workload of '%s' is not sound", c->id);
    }
    return status;
}

ms_status ms_case_read_own_job(ms_case_rules *rules, const ms_case *c, ms_case_job *job_out) {
    ms_status status = read_job(rules, c, &c->own.sets, job_out);
    bool is_changed = rules->job_sets.count + rules->platform_sets.count > 0;
    if (status == MS_OK && is_changed) {
        ms_words sets;
        status = join_sets(rules, c, job_out->spec.platform.cluster, &sets);
        status = status == MS_OK ? read_job(rules, c, &sets, job_out) : status;
    }
    return status;
}
