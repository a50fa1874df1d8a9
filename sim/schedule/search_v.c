/* The search with two stages per rank in a V: under every cap from the smallest to the given one,
 * schedules by many rules and after known patterns; the best of them, and what smaller caps gave,
 * improved. So a larger cap never gives a longer span. */
#include <math.h>
#include <string.h>

#include "schedule/search.h"

/* Who goes first of those that have arrived: forward passes and gradients by turns; the oldest as
 * they would come in a steady pipeline; forward passes a period early; gradients before all. */
static const struct {
    bool alternates;
    double bias; /* periods by which gradients come before forward passes as old */
} MANNERS[] = {{true, 0}, {false, 0}, {false, -1}, {false, 1e6}};

static const double OVERRUNS[] = {0, 0.5, 1}; /* see ms_list_rule */

/* Microbatches in flight on chunk 0: as its share of the time that a microbatch is held, or one
 * more; as many as keep a rank busy, or some more. */
static const struct {
    double offset; /* to chunk 0's share of the cap */
    double slack;  /* > 0: times the least that keep a rank busy */
} LIMITS[] = {{0, 0}, {1, 0}, {0, 1}, {0, 1.4}};

enum {
    MANNER_COUNT = sizeof MANNERS / sizeof MANNERS[0],
    OVERRUN_COUNT = sizeof OVERRUNS / sizeof OVERRUNS[0],
    LIMIT_COUNT = sizeof LIMITS / sizeof LIMITS[0],
    VARIANTS = MANNER_COUNT * OVERRUN_COUNT * LIMIT_COUNT,
};

/* Known schedules that are starts, and whose order others follow. */
static const struct {
    ms_schedule_kind kind;
    bool is_reordered;
} PATTERNS[] = {
    {MS_SCHEDULE_ZBV, false},  {MS_SCHEDULE_VHALF, false}, {MS_SCHEDULE_VHALF, true},
    {MS_SCHEDULE_VMIN, false}, {MS_SCHEDULE_VMIN, true},
};
enum { PATTERN_COUNT = sizeof PATTERNS / sizeof PATTERNS[0] };

/* What a start came from. */
typedef struct origin {
    const char *name;
    int variant;
} origin;

typedef struct v_search {
    ms_search *search;
    ms_search_result *result;
    ms_score *best; /* of result->program */
    bool has_best;
    ms_program patterns[PATTERN_COUNT];
    int peaks[PATTERN_COUNT];
    ms_program trial;
    ms_schedule_slot *slots; /* [actions] */
    double *urgency[2];      /* [S * M], see ms_list_rule */
    int *limit;              /* [P], likewise */
    ms_v_rank *ranks;        /* [P] */
    double period;           /* work of the busiest rank per microbatch */
} v_search;

static size_t count_actions(const v_search *v) {
    return v->trial.first[v->trial.spec.pipeline_ranks];
}

/* Keep a start if it is the best so far. */
static void offer(v_search *v, const ms_program *program, origin from) {
    ms_search_result *result = v->result;
    ms_score score;
    if (!ms_search_score(v->search, program, NULL, &score)) {
        return;
    }
    if (result->start == NULL || score.span < result->heuristic_span * (1 - 1e-9)) {
        result->heuristic_span = score.span;
        result->variant = from.variant;
        result->start = from.name;
    }
    if (!v->has_best || ms_score_is_better(&score, v->best)) {
        memcpy(result->program.actions, program->actions,
               count_actions(v) * sizeof *program->actions);
        *v->best = score;
        v->has_best = true;
    }
}

/* Microbatch 0 as if it were alone, the others one period after the other. */
static void set_urgency(v_search *v, double bias) {
    const ms_program *program = &v->trial;
    const ms_schedule_costs *costs = v->search->costs;
    double start = 0; /* of F of microbatch 0 on the stage */
    for (int stage = 0; stage < program->stages; stage++) {
        const ms_v_rank *r = &v->ranks[program->stage_rank[stage]];
        double way = costs->forward[stage] + r->turn; /* to the start of I */
        if (program->stage_chunk[stage] == 0) {
            way += r->down + r->forward[1] + r->input[1] + r->up;
        }
        for (int mb = 0; mb < program->units; mb++) {
            size_t key = (size_t)stage * (size_t)program->units + (size_t)mb;
            v->urgency[0][key] = start + mb * v->period;
            v->urgency[1][key] = start + way + (mb - bias) * v->period;
        }
        if (stage + 1 < program->stages) {
            start += costs->forward[stage] + ms_schedule_latency(program, costs, stage);
        }
    }
}

/* Microbatches between F and I of chunk 0 of a rank, by a row of LIMITS. */
static int limit_of(const v_search *v, const ms_v_rank *r, int row) {
    int cap = v->search->spec.memory_cap;
    double turn = r->forward[1] + r->turn + r->input[1];
    double way = r->forward[0] + r->down + turn + r->up + r->input[0];
    double held[2] = {way + r->weight[0], turn + r->weight[1]};
    double both = held[0] + held[1];
    double share = both > 0 ? cap * held[0] / both : cap;
    double least = v->period > 0 ? ceil(LIMITS[row].slack * way / v->period) : 1;
    double limit = LIMITS[row].slack > 0 ? least : floor(share + LIMITS[row].offset + 0.5);
    return (int)fmax(1, fmin(limit, cap - 1));
}

/* Schedule by a rule, with the urgencies and limits set before. */
static ms_status run_rule(v_search *v, ms_list_rule rule, origin from) {
    rule.urgency[0] = v->urgency[0];
    rule.urgency[1] = v->urgency[1];
    rule.limit = v->limit;
    double span = 0;
    ms_status status = ms_search_list(v->search, &rule, &v->trial, &span);
    if (status == MS_OK && (!v->has_best || span <= v->best->span * (1 + 1e-9))) {
        offer(v, &v->trial, from);
    }
    return status == MS_E_NO ? MS_OK : status;
}

static ms_status run_variants(v_search *v) {
    ms_status status = MS_OK;
    for (int i = 0; status == MS_OK && i < VARIANTS; i++) {
        int manner = i % MANNER_COUNT;
        ms_list_rule rule = {.alternates = MANNERS[manner].alternates,
                             .overrun = OVERRUNS[i / MANNER_COUNT % OVERRUN_COUNT]};
        set_urgency(v, MANNERS[manner].bias);
        for (int rank = 0; rank < v->trial.spec.pipeline_ranks; rank++) {
            v->limit[rank] = limit_of(v, &v->ranks[rank], i / (MANNER_COUNT * OVERRUN_COUNT));
        }
        status = run_rule(v, rule, (origin){"list", i});
    }
    return status;
}

/* Forward passes and input gradients in the order of a program, or about so, with the weight
 * gradients placed anew. */
static ms_status follow(v_search *v, const ms_program *guide, const char *name) {
    ms_search any = *v->search; /* the guide may exceed the cap */
    any.spec.memory_cap = 2 * v->trial.units;
    ms_score score;
    if (!ms_search_score(&any, guide, v->slots, &score)) {
        return MS_OK;
    }
    v->search->evaluations++;
    for (size_t i = 0; i < count_actions(v); i++) {
        const ms_action *action = &guide->actions[i];
        size_t key = (size_t)action->stage * (size_t)v->trial.units + (size_t)action->mb;
        if (action->pass != MS_PASS_W) {
            v->urgency[action->pass == MS_PASS_I][key] = v->slots[i].start;
        }
    }
    for (int rank = 0; rank < v->trial.spec.pipeline_ranks; rank++) {
        v->limit[rank] = v->trial.units;
    }
    ms_status status = MS_OK;
    for (int i = 0; status == MS_OK && i < 2 * OVERRUN_COUNT; i++) {
        ms_list_rule rule = {.overrun = OVERRUNS[i / 2], .is_strict = i % 2 == 1};
        status = run_rule(v, rule, (origin){name, i});
    }
    return status;
}

/* The patterns, each as it is under the first cap that it fits, and its order under caps that do
 * not differ too much. */
static ms_status run_patterns(v_search *v) {
    int cap = v->search->spec.memory_cap;
    ms_status status = MS_OK;
    for (int i = 0; status == MS_OK && i < PATTERN_COUNT; i++) {
        if (v->peaks[i] == cap) {
            offer(v, &v->patterns[i], (origin){v->patterns[i].name, -1});
        }
        if (v->peaks[i] <= 2 * cap && cap <= 2 * v->peaks[i]) {
            status = follow(v, &v->patterns[i], v->patterns[i].name);
        }
    }
    return status;
}

static bool is_bound_reached(const v_search *v, const ms_search_spec *spec) {
    int rank = 0;
    double bound = ms_schedule_span_bound(spec, v->search->costs, &rank);
    return v->has_best && v->best->span <= bound + 1e-9 * (1 + bound);
}

/* Starts under one cap, and the best of them and of smaller caps improved. */
static ms_status search_level(v_search *v, long effort) {
    if (is_bound_reached(v, &v->search->spec)) {
        return MS_OK;
    }
    ms_status status = run_variants(v);
    if (status == MS_OK) {
        status = run_patterns(v);
    }
    if (status == MS_OK) {
        status = follow(v, &v->result->program, "list");
    }
    if (status == MS_OK && !is_bound_reached(v, &v->search->spec)) {
        v->search->spec.effort = v->search->evaluations + effort;
        status = ms_search_improve(v->search, &v->result->program, v->best);
    }
    return status;
}

static bool allocate(v_search *v) {
    ms_arena *arena = v->search->arena;
    size_t keys = (size_t)v->trial.stages * (size_t)v->trial.units;
    v->trial.actions = MS_NEW(arena, ms_action, count_actions(v));
    v->slots = MS_NEW(arena, ms_schedule_slot, count_actions(v));
    v->urgency[0] = MS_NEW(arena, double, keys);
    v->urgency[1] = MS_NEW(arena, double, keys);
    v->limit = MS_NEW(arena, int, v->trial.spec.pipeline_ranks);
    v->ranks = MS_NEW(arena, ms_v_rank, v->trial.spec.pipeline_ranks);
    return v->trial.actions != NULL && v->slots != NULL && v->urgency[0] != NULL &&
           v->urgency[1] != NULL && v->limit != NULL && v->ranks != NULL;
}

static ms_status prepare(v_search *v) {
    if (!allocate(v)) {
        ms_diag_error(v->search->diag, "out of memory");
        return MS_E_NOMEM;
    }
    int ranks = v->trial.spec.pipeline_ranks;
    for (int rank = 0; rank < ranks; rank++) {
        ms_v_rank r = ms_search_v_rank(ranks, v->search->costs, rank);
        v->ranks[rank] = r;
        v->period = fmax(v->period, r.forward[0] + r.forward[1] + r.input[0] + r.input[1] +
                                        r.weight[0] + r.weight[1]);
    }
    ms_status status = MS_OK;
    for (int i = 0; status == MS_OK && i < PATTERN_COUNT; i++) {
        ms_schedule_spec spec = {.kind = PATTERNS[i].kind,
                                 .pipeline_ranks = ranks,
                                 .microbatches = v->trial.units,
                                 .is_reordered = PATTERNS[i].is_reordered};
        status = ms_schedule_build(&spec, v->search->arena, v->search->diag, &v->patterns[i]);
        v->peaks[i] = status == MS_OK ? ms_search_peak(&v->patterns[i]) : 0;
    }
    return status;
}

/* The caps that are searched do not depend on the one given: all up to ZB-V's, then in steps of an
 * eighth, and the one that no schedule exceeds. */
static int next_level(int cap, int ranks, int most) {
    int step = cap < 2 * ranks || cap < 8 ? 1 : cap / 8;
    return cap < most && cap + step > most ? most : cap + step;
}

ms_status ms_search_v(ms_search *search, ms_search_result *result, ms_score *score) {
    v_search v = {.search = search, .result = result, .trial = result->program, .best = score};
    const ms_search_spec spec = search->spec;
    ms_status status = prepare(&v);
    long effort = spec.effort / (2L * spec.pipeline_ranks) + 1;
    int cap = 2;
    while (status == MS_OK && cap <= spec.memory_cap && !is_bound_reached(&v, &spec)) {
        search->spec.memory_cap = cap;
        status = search_level(&v, effort);
        cap = next_level(cap, spec.pipeline_ranks, 2 * v.trial.units);
    }
    search->spec = spec;
    return status;
}
