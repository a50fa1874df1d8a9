/* Scores of schedules for the search: evaluates a program on paper, and compares two scores
 * (ms_score). A schedule is better if its longest span of a rank is shorter; ties are broken by the
 * sum of spans, the makespan, and the ends of gradients. */
#include <math.h>
#include <string.h>

#include "schedule/search/search.h"

/* Whether score `a` is better than score `b`: compares the fields one after the other, and takes
 * small differences as equal. */
bool ms_score_is_better(const ms_score *a, const ms_score *b) {
    double dust = 1e-9 * (1 + b->makespan); /* smaller differences are rounding of sums */
    if (fabs(a->span - b->span) > dust) {
        return a->span < b->span;
    }
    if (fabs(a->spans - b->spans) > dust) {
        return a->spans < b->spans;
    }
    if (fabs(a->makespan - b->makespan) > dust) {
        return a->makespan < b->makespan;
    }
    return a->flow < b->flow - dust;
}

/* The sum of all ranks' spans, which tells apart schedules with the same longest span: where
 * several ranks have it, one move shortens the span of only one of them. */
static double sum_of_spans(const ms_program *program, const ms_schedule_result *result) {
    double sum = 0;
    for (int rank = 0; rank < program->spec.pipeline_ranks; rank++) {
        sum += result->ranks[rank].span;
    }
    return sum;
}

/* The sum of the ends of all input gradients: the smaller it is, the earlier other ranks get what
 * they wait for. */
static double sum_of_gradients(const ms_program *program, const ms_schedule_slot *slots) {
    double sum = 0;
    for (size_t i = 0; i < program->first[program->spec.pipeline_ranks]; i++) {
        sum += program->actions[i].pass == MS_PASS_I ? slots[i].end : 0;
    }
    return sum;
}

/* Evaluate a program and find its score. Counts the evaluation and its work, also if the program
 * deadlocks or exceeds the cap. */
bool ms_search_score(ms_search_run *search, const ms_program *program, ms_schedule_slot *slots_out,
                     ms_score *score_out) {
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_diag mute;
    ms_diag_init_mute(&mute);
    ms_schedule_result result;
    search->evaluations++;
    search->work += (double)program->first[program->spec.pipeline_ranks];
    bool runs = ms_schedule_evaluate(program, search->costs, &scratch, &mute, &result) == MS_OK;
    for (int rank = 0; runs && rank < program->spec.pipeline_ranks; rank++) {
        runs = result.ranks[rank].peak_inflight <= search->spec.memory_cap;
    }
    if (runs) {
        *score_out = (ms_score){.span = result.max_span,
                                .spans = sum_of_spans(program, &result),
                                .makespan = result.makespan,
                                .flow = sum_of_gradients(program, result.slots)};
        if (slots_out != NULL) {
            memcpy(slots_out, result.slots,
                   program->first[program->spec.pipeline_ranks] * sizeof *slots_out);
        }
    }
    ms_arena_release(&scratch);
    return runs;
}

/* Maximum of activations that any rank holds, from F to W. */
int ms_search_peak(const ms_program *program) {
    int peak = 0;
    for (int rank = 0; rank < program->spec.pipeline_ranks; rank++) {
        int held = 0;
        for (size_t i = program->first[rank]; i < program->first[rank + 1]; i++) {
            held += program->actions[i].pass == MS_PASS_F;
            peak = held > peak ? held : peak;
            held -= program->actions[i].pass == MS_PASS_W;
        }
    }
    return peak;
}
