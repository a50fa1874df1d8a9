/* Reads measured steps and studies them (recorded.h). */
#include "search/recorded/recorded.h"

#include "base/text.h"
#include "search/recorded/change.h"
#include "search/recorded/study.h"
#include "search/recorded/table.h"

/* Names of the rules on the command line. */
static const char *const RULES[MS_RULE_COUNT] = {
    [MS_RULE_WAITING] = "waiting",     [MS_RULE_POOLED] = "pooled",
    [MS_RULE_MEAN] = "mean",           [MS_RULE_MEDIAN] = "median",
    [MS_RULE_EMBEDDING] = "embedding", [MS_RULE_TAIL] = "tail",
    [MS_RULE_CLIP] = "clip",           [MS_RULE_REPLICAS] = "replicas",
    [MS_RULE_ENDS] = "ends",           [MS_RULE_POSTED] = "posted",
    [MS_RULE_STREAMS] = "streams",     [MS_RULE_FIRST_BACKWARD] = "first_backward"};

const char *ms_recorded_rule_word(int rule) {
    return rule < MS_RULE_COUNT ? RULES[rule] : NULL;
}

ms_status ms_recorded_read_rules(const ms_words *words, ms_diag *diag, uint32_t *rules_out) {
    *rules_out = 0;
    for (size_t i = 0; i < words->count; i++) {
        int rule = ms_word_index(words->items[i], RULES, MS_RULE_COUNT);
        if (rule < 0) {
            ms_diag_unknown(diag, "rule", words->items[i], RULES, MS_RULE_COUNT);
            return MS_E_USAGE;
        }
        *rules_out |= 1U << rule;
    }
    return MS_OK;
}

ms_status ms_recorded_read(const char *path, uint32_t rules_off, ms_arena *arena, ms_diag *diag,
                           ms_recorded **job_out) {
    ms_recorded *job = MS_NEW(arena, ms_recorded, 1);
    ms_vector rows = {.item_B = sizeof(ms_recorded_node)};
    if (job == NULL) {
        return ms_diag_no_memory(diag);
    }
    *job = (ms_recorded){.path = path, .rules_off = rules_off};
    ms_status status = ms_recorded_rows_read(path, arena, diag, &rows);
    status = status == MS_OK ? ms_recorded_arrange(&rows, arena, diag, job) : status;
    ms_vector_release(&rows);
    if (status != MS_OK) {
        return status;
    }
    ms_recorded_graph *graph = MS_NEW(arena, ms_recorded_graph, 1);
    int64_t *scratch = MS_NEW(arena, int64_t, 2 * (size_t)job->node_count * (size_t)job->dp);
    if (graph == NULL || scratch == NULL) {
        return ms_diag_no_memory(diag);
    }
    status = ms_recorded_graph_build(job, arena, diag, graph);
    if (status == MS_OK) {
        job->graph = graph;
        ms_recorded_derive(job, scratch);
        if (job->clock_faults > 0) {
            ms_diag_warning(diag,
                            "%ld transfers or delays of -10 ms and less count as 0: clocks differ",
                            job->clock_faults);
        }
        *job_out = job;
    }
    return status;
}

ms_status ms_recorded_study(const ms_recorded *job, const ms_recorded_whatif *request,
                            ms_arena *arena, ms_diag *diag, ms_value **tree_out) {
    ms_recorded_findings findings;
    ms_status status = ms_recorded_find(job, false, arena, diag, &findings);
    if (status != MS_OK) {
        return status;
    }
    ms_value *root = ms_value_new_object(arena);
    ms_schedule_spec schedule = ms_recorded_schedule(job, arena);
    ms_value_add_string(root, "schedule",
                        schedule.kind == MS_SCHEDULE_CUSTOM ? NULL
                                                            : ms_schedule_kind_name(schedule.kind));
    ms_recorded_add_study(&findings, root);
    if (request->has_timeline) {
        ms_recorded_add_timeline(&findings, root);
    }
    status = ms_recorded_add_whatifs(&findings, request, arena, diag, root);
    *tree_out = root;
    return status == MS_OK && arena->has_failed ? ms_diag_no_memory(diag) : status;
}
