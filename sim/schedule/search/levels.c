/* The search from the given cap down: under each cap schedules by many rules and after known
 * patterns, the best of them improved. What one cap gives does not depend on the cap asked for, and
 * caps are left out only if no schedule under them is better than what is known: so a larger cap
 * never gives a longer span, unless the search is cut short. */
#include <math.h>
#include <string.h>

#include "schedule/search/search.h"

/* Who goes first of those that have arrived: forward passes and gradients by turns; the oldest as
 * they would come in a steady pipeline; forward passes a period early; gradients before all;
 * forward passes before all. */
static const struct {
    bool alternates;
    double bias; /* periods by which gradients come before forward passes as old */
} MANNERS[] = {{true, 0}, {false, 0}, {false, -1}, {false, 1e6}, {false, -1e6}};

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
    ORDER_RULES = 2 * OVERRUN_COUNT,
    BLOCK_LENGTHS = 4,
    BLOCKS = 2 * BLOCK_LENGTHS,
};

/* Known schedules that are starts, and whose order others follow. */
static const struct {
    ms_schedule_kind kind;
    int chunks;
    bool is_reordered;
} PATTERNS[] = {
    {MS_SCHEDULE_ZBH1, 1, false},  {MS_SCHEDULE_ZBH2, 1, false}, {MS_SCHEDULE_ZBV, 2, false},
    {MS_SCHEDULE_VHALF, 2, false}, {MS_SCHEDULE_VHALF, 2, true}, {MS_SCHEDULE_VMIN, 2, false},
    {MS_SCHEDULE_VMIN, 2, true},
};
enum { PATTERN_COUNT = sizeof PATTERNS / sizeof PATTERNS[0] };

/* Passes to place and evaluate; a million take about a tenth of a second. */
static const double LEVEL_WORK = 1.6e7;  /* by rules under one cap: of more, every n-th rule */
static const double SEARCH_WORK = 1.2e8; /* before the last cap is begun */

/* A family whose best start is longer by this share is not improved. */
static const double FAR_BEHIND = 0.3;

/* The origin of a start. */
typedef struct origin {
    const char *name;
    int variant;
} origin;

/* The best schedule of one family of starts under one cap. */
typedef struct family {
    ms_program program;
    ms_score score;
    double start_span; /* before the improvement */
    origin from;
    bool has_best;
} family;

typedef struct climber {
    ms_search_run *search; /* the memory cap that the search works with is that of the level */
    ms_search_result *result;
    ms_score *best; /* score of the result */
    bool has_best;
    family family;
    double level_span; /* the shortest schedule under the cap so far */
    ms_program patterns[PATTERN_COUNT];
    int pattern_count;
    int peaks[PATTERN_COUNT];
    ms_program trial;
    ms_schedule_slot *slots; /* [actions] */
    double *urgency[2];      /* [S * M], see ms_list_rule */
    int *limit;              /* [P], see ms_list_rule */
    ms_rank_way *ways;       /* [P] */
    double period;           /* work of the busiest rank per microbatch */
    int stride;              /* every `stride`-th rule is tried */
    int rule;                /* number of rules of the family so far */
} climber;

static size_t count_actions(const climber *c) {
    return c->trial.first[c->trial.spec.pipeline_ranks];
}

static double dust_of(double span) {
    return 1e-9 * (1 + span);
}

/* Keep a start if it is the best of its family so far. */
static void offer(climber *c, const ms_program *program, origin from) {
    family *now = &c->family;
    ms_score score;
    if (ms_search_score(c->search, program, NULL, &score) &&
        (!now->has_best || ms_score_is_better(&score, &now->score))) {
        memcpy(now->program.actions, program->actions, count_actions(c) * sizeof(ms_action));
        now->score = score;
        now->start_span = score.span;
        now->from = from;
        now->has_best = true;
    }
}

/* Keep what a family gave if it is the best of all. */
static void keep(climber *c) {
    const family *now = &c->family;
    if (!now->has_best || (c->has_best && !ms_score_is_better(&now->score, c->best))) {
        return;
    }
    ms_search_result *result = c->result;
    memcpy(result->program.actions, now->program.actions, count_actions(c) * sizeof(ms_action));
    result->heuristic_span = now->start_span;
    result->start = now->from.name;
    result->variant = now->from.variant;
    *c->best = now->score;
    c->has_best = true;
}

/* Whether the next rule is among those tried: the first of a family, and about one in `stride` with
 * no regard to what it is. */
static bool takes_next_rule(climber *c) {
    uint32_t mixed = (uint32_t)c->rule++ * 2654435761U; /* Knuth's multiplicative hash */
    return (mixed >> 16) % (uint32_t)c->stride == 0;
}

/* Schedule by a rule, with the urgencies and limits set before. */
static ms_status run_rule(climber *c, ms_list_rule rule, origin from) {
    if (!takes_next_rule(c)) {
        return MS_OK;
    }
    rule.urgency[0] = c->urgency[0];
    rule.urgency[1] = c->urgency[1];
    rule.limit = c->limit;
    double span = 0;
    ms_status status = ms_search_list(c->search, &rule, &c->trial, &span);
    if (status == MS_OK &&
        (!c->family.has_best || span <= c->family.score.span + dust_of(c->family.score.span))) {
        offer(c, &c->trial, from);
    }
    return status == MS_E_NO ? MS_OK : status;
}

/* Forward passes and input gradients by the urgencies set before, or about so, with the weight
 * gradients placed anew. */
static ms_status run_orders(climber *c, origin from) {
    for (int rank = 0; rank < c->trial.spec.pipeline_ranks; rank++) {
        c->limit[rank] = c->trial.mb_count;
    }
    ms_status status = MS_OK;
    for (int i = 0; status == MS_OK && i < ORDER_RULES; i++) {
        ms_list_rule rule = {.overrun = OVERRUNS[i / 2], .is_strict = i % 2 == 1};
        status = run_rule(c, rule, (origin){from.name, from.variant * ORDER_RULES + i});
    }
    return status;
}

/* The order of a program by its times. */
static ms_status follow(climber *c, const ms_program *guide, const char *name) {
    ms_search_run any = *c->search; /* the guide may exceed the cap */
    any.spec.memory_cap = c->trial.spec.chunks * c->trial.mb_count;
    ms_score score;
    if (!ms_search_score(&any, guide, c->slots, &score)) {
        return MS_OK;
    }
    c->search->evaluations++;
    for (size_t i = 0; i < count_actions(c); i++) {
        const ms_action *action = &guide->actions[i];
        size_t key = ms_program_key(&c->trial, action->stage, action->mb);
        if (action->pass != MS_PASS_W) {
            c->urgency[action->pass == MS_PASS_I][key] = c->slots[i].start;
        }
    }
    return run_orders(c, (origin){name, 0});
}

/* The order of the best of a family so far. */
static ms_status follow_best(climber *c) {
    return c->family.has_best ? follow(c, &c->family.program, c->family.from.name) : MS_OK;
}

/* Set the urgency of every pass: microbatch 0 as if it ran alone, every further microbatch one
 * period behind the one before. */
static void set_urgency(climber *c, double bias) {
    const ms_program *program = &c->trial;
    const ms_schedule_costs *costs = c->search->costs;
    double start = 0; /* of F of microbatch 0 on the stage */
    for (int stage = 0; stage < program->stages; stage++) {
        const ms_rank_way *r = &c->ways[program->stage_rank[stage]];
        double way = costs->forward[stage] + r->turn; /* to the start of I */
        if (program->stage_chunk[stage] == 0) {
            way += r->down + r->forward[1] + r->input[1] + r->up;
        }
        for (int mb = 0; mb < program->mb_count; mb++) {
            size_t key = ms_program_key(program, stage, mb);
            c->urgency[0][key] = start + mb * c->period;
            c->urgency[1][key] = start + way + (mb - bias) * c->period;
        }
        if (stage + 1 < program->stages) {
            start += costs->forward[stage] + ms_schedule_latency(program, costs, stage);
        }
    }
}

/* Microbatches between F and I of chunk 0 of a rank, by a row of LIMITS. */
static int limit_of(const climber *c, const ms_rank_way *r, int row) {
    int cap = c->search->spec.memory_cap;
    int chunks = c->search->spec.chunks;
    double turn = r->forward[1] + r->turn + r->input[1];
    double way = r->forward[0] + r->down + turn + r->up + r->input[0];
    double held = way + r->weight[0];
    double both = held + (chunks == 2 ? turn + r->weight[1] : 0);
    double share = both > 0 ? cap * held / both : cap;
    double least = c->period > 0 ? ceil(LIMITS[row].slack * way / c->period) : 1;
    double limit = LIMITS[row].slack > 0 ? least : floor(share + LIMITS[row].offset + 0.5);
    return (int)fmax(1, fmin(limit, cap - (chunks - 1)));
}

static ms_status run_variants(climber *c) {
    ms_status status = MS_OK;
    for (int i = 0; status == MS_OK && i < VARIANTS; i++) {
        int manner = i % MANNER_COUNT;
        ms_list_rule rule = {.alternates = MANNERS[manner].alternates,
                             .overrun = OVERRUNS[i / MANNER_COUNT % OVERRUN_COUNT]};
        set_urgency(c, MANNERS[manner].bias);
        for (int rank = 0; rank < c->trial.spec.pipeline_ranks; rank++) {
            c->limit[rank] = limit_of(c, &c->ways[rank], i / (MANNER_COUNT * OVERRUN_COUNT));
        }
        status = run_rule(c, rule, (origin){"list", i});
    }
    return status == MS_OK ? follow_best(c) : status;
}

/* The published heuristic; it knows one stage per rank. */
static ms_status run_heuristic(climber *c) {
    ms_status status = MS_OK;
    for (int i = 0; c->trial.spec.chunks == 1 && status == MS_OK && i < MS_SEARCH_VARIANTS; i++) {
        if (takes_next_rule(c)) {
            status = ms_search_heuristic(c->search, i, &c->trial);
            if (status == MS_OK) {
                offer(c, &c->trial, (origin){"heuristic", i});
            }
            status = status == MS_E_NO ? MS_OK : status;
        }
    }
    return status;
}

/* Building blocks for one stage per rank: `cap` microbatches in every `length` slots, each slot as
 * long as a stage takes a microbatch there and back. A microbatch that starts in slot t has its F
 * on rank r in slot t + r and its I at the end of slot t + 2P-1 - r, so with equal stages no two of
 * them meet. The microbatches start evenly, or one after the other before a pause. */
static void set_block(climber *c, int length, bool is_even) {
    int cap = c->search->spec.memory_cap;
    for (int stage = 0; stage < c->trial.stages; stage++) {
        for (int mb = 0; mb < c->trial.mb_count; mb++) {
            size_t key = ms_program_key(&c->trial, stage, mb);
            int64_t at = (int64_t)(mb / cap) * length;
            at += is_even ? (int64_t)(mb % cap) * length / cap : mb % cap;
            c->urgency[0][key] = (double)at;
            c->urgency[1][key] = (double)at + c->trial.stages - 1 - stage + 0.5;
        }
    }
}

static double slot_length(const climber *c) {
    const ms_schedule_costs *costs = c->search->costs;
    double forward = 0;
    double input = 0;
    double latency = 0;
    for (int stage = 0; stage < c->trial.stages; stage++) {
        forward = fmax(forward, costs->forward[stage]);
        input = fmax(input, costs->input_grad[stage]);
        latency = fmax(latency, stage > 0 ? costs->p2p[stage - 1] : 0);
    }
    return forward + input + 2 * latency;
}

/* From the shortest block that the cap and the work of a rank allow to somewhat longer ones. */
static ms_status run_blocks(climber *c) {
    double slot = slot_length(c);
    ms_status status = MS_OK;
    if (c->trial.spec.chunks != 1 || slot <= 0) {
        return status;
    }
    double least = ceil(c->search->spec.memory_cap * c->period / slot * (1 - 1e-9));
    int shortest = (int)fmin(fmax(least, c->trial.spec.pipeline_ranks), INT32_MAX / 2);
    for (int i = 0; status == MS_OK && i < BLOCKS; i++) {
        set_block(c, shortest + i / 2, i % 2 == 0);
        status = run_orders(c, (origin){"block", i});
    }
    return status == MS_OK ? follow_best(c) : status;
}

static void offer_patterns(climber *c) {
    for (int i = 0; i < c->pattern_count; i++) {
        if (c->peaks[i] <= c->search->spec.memory_cap) {
            offer(c, &c->patterns[i], (origin){c->patterns[i].name, -1});
        }
    }
}

/* The patterns, and their order under caps that do not differ too much from their own. */
static ms_status run_patterns(climber *c) {
    int cap = c->search->spec.memory_cap;
    ms_status status = MS_OK;
    offer_patterns(c);
    for (int i = 0; status == MS_OK && i < c->pattern_count; i++) {
        if (c->peaks[i] <= 2 * cap && cap <= 2 * c->peaks[i]) {
            status = follow(c, &c->patterns[i], c->patterns[i].name);
        }
    }
    return status;
}

/* The shortest span that any schedule under a cap can have. */
static double bound_under(const climber *c, int cap) {
    ms_search_spec spec = c->search->spec;
    spec.memory_cap = cap;
    double bound = 0;
    for (int rank = 0; rank < spec.pipeline_ranks; rank++) {
        bound = fmax(bound, ms_search_rank_bound(&spec, &c->ways[rank]));
    }
    return bound;
}

/* Whether nothing under a cap can be better than a span. */
static bool is_proven(const climber *c, int cap, double span) {
    double bound = bound_under(c, cap);
    return span <= bound + dust_of(bound);
}

/* The best start of a family, improved unless it is far behind. */
static ms_status improve_family(climber *c, long effort) {
    int cap = c->search->spec.memory_cap;
    family *now = &c->family;
    ms_status status = MS_OK;
    if (!is_proven(c, cap, now->score.span) &&
        now->score.span <= (1 + FAR_BEHIND) * c->level_span) {
        status = ms_search_improve(c->search, effort, &now->program, &now->score);
    }
    c->level_span = fmin(c->level_span, now->score.span);
    return status;
}

/* All families under one cap, until one of them cannot be beaten. */
static ms_status search_level(climber *c, long effort) {
    static ms_status (*const FAMILIES[])(climber *) = {run_patterns, run_heuristic, run_variants,
                                                       run_blocks};
    c->level_span = INFINITY;
    ms_status status = MS_OK;
    for (size_t i = 0; status == MS_OK && i < sizeof FAMILIES / sizeof FAMILIES[0]; i++) {
        c->family.has_best = false;
        c->rule = 0;
        status = FAMILIES[i](c);
        if (status == MS_OK && c->family.has_best) {
            status = improve_family(c, effort);
            keep(c);
        }
        if (is_proven(c, c->search->spec.memory_cap, c->level_span)) {
            break;
        }
    }
    return status;
}

static bool allocate(climber *c) {
    ms_arena *arena = c->search->arena;
    size_t keys = ms_program_keys(&c->trial);
    c->trial.actions = MS_NEW(arena, ms_action, count_actions(c));
    c->family.program.actions = MS_NEW(arena, ms_action, count_actions(c));
    c->slots = MS_NEW(arena, ms_schedule_slot, count_actions(c));
    c->urgency[0] = MS_NEW(arena, double, keys);
    c->urgency[1] = MS_NEW(arena, double, keys);
    c->limit = MS_NEW(arena, int, c->trial.spec.pipeline_ranks);
    c->ways = MS_NEW(arena, ms_rank_way, c->trial.spec.pipeline_ranks);
    return c->trial.actions != NULL && c->family.program.actions != NULL && c->slots != NULL &&
           c->urgency[0] != NULL && c->urgency[1] != NULL && c->limit != NULL && c->ways != NULL;
}

static ms_status build_patterns(climber *c) {
    ms_status status = MS_OK;
    for (size_t i = 0; status == MS_OK && i < PATTERN_COUNT; i++) {
        ms_schedule_spec spec = {.kind = PATTERNS[i].kind,
                                 .pipeline_ranks = c->trial.spec.pipeline_ranks,
                                 .microbatches = c->trial.mb_count,
                                 .is_reordered = PATTERNS[i].is_reordered};
        if (PATTERNS[i].chunks == c->trial.spec.chunks) {
            ms_program *pattern = &c->patterns[c->pattern_count];
            status = ms_schedule_build(&spec, c->search->arena, c->search->diag, pattern);
            c->peaks[c->pattern_count++] = status == MS_OK ? ms_search_peak(pattern) : 0;
        }
    }
    return status;
}

static ms_status prepare(climber *c) {
    if (!allocate(c)) {
        return ms_diag_no_memory(c->search->diag);
    }
    for (int rank = 0; rank < c->trial.spec.pipeline_ranks; rank++) {
        ms_rank_way r = ms_search_rank_way(&c->search->spec, c->search->costs, rank);
        c->ways[rank] = r;
        c->period = fmax(c->period, r.forward[0] + r.forward[1] + r.input[0] + r.input[1] +
                                        r.weight[0] + r.weight[1]);
    }
    double rules = fmax(1, floor(LEVEL_WORK / ms_search_list_work(&c->trial)));
    int all = c->trial.spec.chunks == 1
                  ? MS_SEARCH_VARIANTS + VARIANTS + (BLOCKS + PATTERN_COUNT) * ORDER_RULES
                  : VARIANTS + PATTERN_COUNT * ORDER_RULES;
    c->stride = (int)ceil(all / rules);
    return build_patterns(c);
}

/* The caps that are searched do not depend on the one given: all up to ZB-V's and ZB-H2's, then in
 * steps of an eighth, and the one that no schedule exceeds. */
static int next_level(int cap, int ranks, int most) {
    int step = cap < 2 * ranks || cap < 8 ? 1 : cap / 8;
    return cap < most && cap + step > most ? most : cap + step;
}

/* The largest of those caps that is at most `cap`. */
static int level_up_to(const climber *c, int cap) {
    int chunks = c->trial.spec.chunks;
    int found = chunks;
    int next = found;
    while (next <= cap) {
        found = next;
        next = next_level(found, c->trial.spec.pipeline_ranks, chunks * c->trial.mb_count);
    }
    return found;
}

ms_status ms_search_levels(ms_search_run *search, ms_search_result *result, ms_score *score) {
    climber c = {.search = search,
                 .result = result,
                 .trial = result->program,
                 .family.program = result->program,
                 .best = score};
    const ms_search_spec spec = search->spec;
    ms_status status = prepare(&c);
    if (status == MS_OK) {
        offer_patterns(&c); /* under the cap itself, which may lie between two levels */
        keep(&c);
    }
    bool is_cut = false;
    int cap = level_up_to(&c, spec.memory_cap);
    while (status == MS_OK && cap >= spec.chunks && !is_cut) {
        if (!c.has_best || !is_proven(&c, cap, score->span)) {
            is_cut = c.has_best && search->work > SEARCH_WORK;
            search->spec.memory_cap = cap;
            status = is_cut ? status : search_level(&c, spec.effort);
        }
        cap = cap == spec.chunks ? 0 : level_up_to(&c, cap - 1);
    }
    search->spec = spec;
    if (status == MS_OK && !c.has_best) {
        ms_diag_error(search->diag, "no schedule found for P = %d and M = %d under a cap of %d",
                      spec.pipeline_ranks, spec.microbatches, spec.memory_cap);
        return MS_E_NO;
    }
    result->is_cut_short = (is_cut || c.stride > 1) && !is_proven(&c, spec.memory_cap, score->span);
    return status;
}
