/* The search over memory caps (ms_search_levels), from the given cap down. Each cap that is
 * searched is a level. Under it, four families of schedules are made: fixed patterns and their
 * orders (ZB-H1, ZB-V, ...), the zero-bubble heuristic, list scheduling by many rules (list.c), and
 * periodic building blocks. The best of each family, its start, is then improved by single moves
 * (improve.c).
 *
 * The result of a level does not depend on the cap asked for. A level is left out only if the lower
 * bound (bound.c) proves that no schedule under it is better than the best one known. So a larger
 * cap never gives a longer span, unless the search is cut short. */
#include <math.h>
#include <string.h>

#include "schedule/search/search.h"

/* Orders of priority among the F and I whose inputs have arrived. In this order of rows: F and I in
 * turn; by age, as they would run in a steady pipeline; F one period ahead of its age; every I
 * before every F; every F before every I. */
static const struct {
    bool alternates;
    double bias; /* periods by which an I comes before an F of the same age */
} MANNERS[] = {{true, 0}, {false, 0}, {false, -1}, {false, 1e6}, {false, -1e6}};

static const double OVERRUNS[] = {0, 0.5, 1}; /* see ms_list_rule */

/* Limits of the microbatches between F and I of chunk 0 on a rank (limit_of). In this order of
 * rows: chunk 0's share of the cap, in proportion to the time that a microbatch is held on it; one
 * more; as many as keep the rank busy; 1.4 times as many. */
static const struct {
    double offset; /* added to chunk 0's share of the cap; only where slack is 0 */
    double slack;  /* > 0: factor of the number that keeps the rank busy */
} LIMITS[] = {{0, 0}, {1, 0}, {0, 1}, {0, 1.4}};

enum {
    MANNER_COUNT = sizeof MANNERS / sizeof MANNERS[0],
    OVERRUN_COUNT = sizeof OVERRUNS / sizeof OVERRUNS[0],
    LIMIT_COUNT = sizeof LIMITS / sizeof LIMITS[0],
    VARIANTS = MANNER_COUNT * OVERRUN_COUNT * LIMIT_COUNT,
    ORDER_RULES = 2 * OVERRUN_COUNT, /* rules by which an order is followed, see run_orders */
    BLOCK_LENGTHS = 4,
    BLOCKS = 2 * BLOCK_LENGTHS, /* building blocks: even starts or not, of each length */
    V_BLOCKS = 16,              /* building blocks in a V that use a cap well, about */
};

/* Pairs of slopes of building blocks in a V, see ms_v_block. */
static const int SLOPES[][2] = {{1, 1}, {3, 1}, {3, 3}, {5, 1}, {5, 3}, {5, 5}};

/* Fixed patterns: schedule kinds that are tried as they are, and whose order others follow. */
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

/* Limits of the work, in passes to place and evaluate; a million passes take about a tenth of a
 * second. LEVEL_WORK is for all rules of one level: beyond it, only one rule in several is tried.
 * SEARCH_WORK is for the whole search: beyond it, no further level is begun. */
static const double LEVEL_WORK = 1.6e7;
static const double SEARCH_WORK = 1.2e8;

/* A family is not improved if its best span is longer by more than this share than the best one of
 * the level. */
static const double FAR_BEHIND = 0.3;

/* Where a schedule comes from, for the result (ms_search_result.start and .variant). */
typedef struct origin {
    const char *name;
    int variant; /* -1: a fixed pattern as it is */
} origin;

/* The best schedule of one family under one cap. */
typedef struct family {
    ms_program program;
    ms_score score;
    double start_span; /* before the improvement */
    origin from;
    bool has_best;
} family;

/* A search over levels. */
typedef struct climber {
    ms_search_run *search; /* spec.memory_cap is the cap of the current level */
    ms_search_result *result;
    ms_score *best;                     /* score of the result */
    bool has_best;                      /* whether the result has a schedule */
    family family;                      /* the current one */
    double level_span;                  /* shortest span under the cap so far */
    ms_program patterns[PATTERN_COUNT]; /* those for the V of the search */
    int pattern_count;
    int peaks[PATTERN_COUNT]; /* activations that each pattern holds at most */
    ms_program trial;         /* the schedule that a rule makes */
    ms_schedule_slot *slots;  /* [actions] scratch: times of a schedule to follow */
    double *urgency[2];       /* [S * M], see ms_list_rule */
    int *limit;               /* [P], see ms_list_rule */
    ms_rank_durations *ways;  /* [P] */
    double period;            /* work of the busiest rank per microbatch */
    int stride;               /* one rule in `stride` is tried, see takes_next_rule */
    int rule;                 /* number of rules of the family so far, tried or not */
} climber;

/* Number of passes of a schedule. */
static size_t count_actions(const climber *c) {
    return c->trial.first[c->trial.spec.pipeline_ranks];
}

/* Difference of spans that is taken for the rounding of sums of times. */
static double dust_of(double span) {
    return 1e-9 * (1 + span);
}

/* Evaluate a schedule and keep it if it is the best of the current family so far. */
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

/* Keep the best schedule of the current family as the result if it is the best of all so far. */
static void keep_best_family(climber *c) {
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

/* Count a rule, and return whether it is to be tried: the first of a family, and of the others
 * about one in `stride`. A hash of the number of the rule chooses, since every n-th rule would be
 * alike, as rules are numbered in nested loops. */
static bool takes_next_rule(climber *c) {
    uint32_t mixed = (uint32_t)c->rule++ * 2654435761U; /* Knuth's multiplicative hash */
    return (mixed >> 16) % (uint32_t)c->stride == 0;
}

/* Make a schedule by list scheduling with a rule and the urgencies and limits in `c`. Evaluate it
 * only if its span, which the scheduling returns, is not longer than the family's best. Returns
 * MS_OK or MS_E_NOMEM. */
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

/* Make schedules that follow an order of F and I, given by the urgencies in `c`, with W placed
 * anew: strictly in this order, or with passes ahead of it whose inputs have arrived earlier; and
 * with each overrun of W. */
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

/* Make schedules that follow the order of F and I of a program, `guide`: the start times of its F
 * and I become the urgencies (the least runs first), and W are placed anew. A guide that deadlocks
 * gives no schedules. name: origin of the schedules, for the result. */
static ms_status follow_order(climber *c, const ms_program *guide, const char *name) {
    /* the guide may exceed the cap of the level, so it is evaluated under one that none exceeds */
    ms_search_run any = *c->search;
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

/* Make schedules that follow the order of the current family's best one. */
static ms_status follow_best(climber *c) {
    return c->family.has_best ? follow_order(c, &c->family.program, c->family.from.name) : MS_OK;
}

/* Set the urgency of every F and I to the time at which it would run in a steady pipeline:
 * microbatch 0 as if it ran alone, each further microbatch one period later. bias: periods by which
 * I come earlier than that. */
static void set_urgency(climber *c, double bias) {
    const ms_program *program = &c->trial;
    const ms_schedule_costs *costs = c->search->costs;
    double start = 0; /* start of F of microbatch 0 on the stage */
    for (int stage = 0; stage < program->stages; stage++) {
        const ms_rank_durations *rank_way = &c->ways[program->stage_rank[stage]];
        double way = costs->forward[stage] + rank_way->turn; /* from the start of F to that of I */
        if (program->stage_chunk[stage] == 0) {
            way += rank_way->down + rank_way->forward[1] + rank_way->input[1] + rank_way->up;
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

/* Maximum of microbatches between F and I of chunk 0 of a rank, by a row of LIMITS. At least 1, and
 * no more than the cap leaves when chunk 1, if there is one, holds an activation. */
static int limit_of(const climber *c, const ms_rank_durations *rank_way, int row) {
    int cap = c->search->spec.memory_cap;
    int chunks = c->search->spec.chunks;
    double turn = rank_way->forward[1] + rank_way->turn + rank_way->input[1];
    double way = rank_way->forward[0] + rank_way->down + turn + rank_way->up + rank_way->input[0];
    double held = way + rank_way->weight[0];
    double both = held + (chunks == 2 ? turn + rank_way->weight[1] : 0);
    double share = both > 0 ? cap * held / both : cap;
    double least = c->period > 0 ? ceil(LIMITS[row].slack * way / c->period) : 1;
    double limit = LIMITS[row].slack > 0 ? least : floor(share + LIMITS[row].offset + 0.5);
    return (int)fmax(1, fmin(limit, cap - (chunks - 1)));
}

/* Try the family of list scheduling: all combinations of MANNERS, OVERRUNS and LIMITS, and then the
 * order of the best one. */
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

/* Try the family of the zero-bubble heuristic, which is defined for one stage per rank only. */
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

/* Set the urgencies to the slots of a building block, for one stage per rank: `cap` microbatches
 * start in every `length` slots. A slot is long enough for F and I of one microbatch on a stage,
 * and their messages (slot_length). Each rank counts its slots from its first F on. A microbatch
 * that starts in slot t has its F on rank r in the first half of slot t. Its way to the last rank
 * and back takes P-1-r slots, so its I is in the second half of slot t + P-1-r. So with equal
 * stages no two passes meet. is_even: the microbatches of a block start at even distances; else in
 * consecutive slots, before a pause. */
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

/* Length of a slot of a building block: F and I of the slowest stage, and two latencies of the
 * slowest boundary. */
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

/* Try the family of building blocks, for one stage per rank: the shortest block in which a rank can
 * do the work of its `cap` microbatches, and three longer ones; then the order of the best one. */
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

/* Try the building blocks in a V that use the cap well. */
static ms_status run_v_blocks(climber *c) {
    int ranks = c->trial.spec.pipeline_ranks;
    ms_status status = MS_OK;
    int number = 0;
    for (size_t i = 0; i < sizeof SLOPES / sizeof SLOPES[0]; i++) {
        bool is_straight = SLOPES[i][0] == SLOPES[i][1]; /* one block, whatever fast_ranks */
        for (int fast = is_straight ? ranks : 1; status == MS_OK && fast <= ranks; fast++) {
            const ms_v_block block = {SLOPES[i][0], SLOPES[i][1], fast};
            if (ms_search_v_block(&c->search->spec, &block, &c->trial, c->urgency)) {
                status = run_orders(c, (origin){"block", number++});
            }
        }
    }
    return status;
}

/* Evaluate the patterns that fit the cap, as they are. */
static void offer_patterns(climber *c) {
    for (int i = 0; i < c->pattern_count; i++) {
        if (c->peaks[i] <= c->search->spec.memory_cap) {
            offer(c, &c->patterns[i], (origin){c->patterns[i].name, -1});
        }
    }
}

/* Try the family of fixed patterns: the patterns as they are, and their orders with W placed anew,
 * where the cap differs from the pattern's own peak by a factor of 2 at most; with two stages per
 * rank also building blocks for the cap, as V-Half and V-Min are blocks, too. */
static ms_status run_patterns(climber *c) {
    int cap = c->search->spec.memory_cap;
    ms_status status = MS_OK;
    offer_patterns(c);
    for (int i = 0; status == MS_OK && i < c->pattern_count; i++) {
        if (c->peaks[i] <= 2 * cap && cap <= 2 * c->peaks[i]) {
            status = follow_order(c, &c->patterns[i], c->patterns[i].name);
        }
    }
    return status == MS_OK && c->trial.spec.chunks == 2 ? run_v_blocks(c) : status;
}

/* Lower bound of the longest span of a rank, for all schedules under a cap. */
static double bound_under(const climber *c, int cap) {
    ms_search_spec spec = c->search->spec;
    spec.memory_cap = cap;
    double bound = 0;
    for (int rank = 0; rank < spec.pipeline_ranks; rank++) {
        bound = fmax(bound, ms_search_rank_bound(&spec, &c->ways[rank]));
    }
    return bound;
}

/* Whether no schedule under a cap can have a shorter span than `span`. */
static bool is_proven(const climber *c, int cap, double span) {
    double bound = bound_under(c, cap);
    return span <= bound + dust_of(bound);
}

/* Improve the best schedule of the current family, unless it is optimal or far behind the best one
 * of the level. */
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

/* Search one level: all families under its cap, until the best schedule is proven optimal under
 * this cap. effort: maximum number of evaluations for the improvement of each family. */
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
            keep_best_family(c);
        }
        if (is_proven(c, c->search->spec.memory_cap, c->level_span)) {
            break;
        }
    }
    return status;
}

/* Allocate the arrays of a search; false if memory runs out. */
static bool allocate(climber *c) {
    ms_arena *arena = c->search->arena;
    size_t keys = ms_program_keys(&c->trial);
    c->trial.actions = MS_NEW(arena, ms_action, count_actions(c));
    c->family.program.actions = MS_NEW(arena, ms_action, count_actions(c));
    c->slots = MS_NEW(arena, ms_schedule_slot, count_actions(c));
    c->urgency[0] = MS_NEW(arena, double, keys);
    c->urgency[1] = MS_NEW(arena, double, keys);
    c->limit = MS_NEW(arena, int, c->trial.spec.pipeline_ranks);
    c->ways = MS_NEW(arena, ms_rank_durations, c->trial.spec.pipeline_ranks);
    return c->trial.actions != NULL && c->family.program.actions != NULL && c->slots != NULL &&
           c->urgency[0] != NULL && c->urgency[1] != NULL && c->limit != NULL && c->ways != NULL;
}

/* Build the fixed patterns that have the V of the search, and find the maximum of activations that
 * each of them holds. */
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

/* Set what is the same for all levels: the ways and the period, the stride of rules, and the
 * patterns. */
static ms_status prepare(climber *c) {
    if (!allocate(c)) {
        return ms_diag_no_memory(c->search->diag);
    }
    for (int rank = 0; rank < c->trial.spec.pipeline_ranks; rank++) {
        ms_rank_durations rank_way = ms_search_rank_way(&c->search->spec, c->search->costs, rank);
        c->ways[rank] = rank_way;
        c->period =
            fmax(c->period, rank_way.forward[0] + rank_way.forward[1] + rank_way.input[0] +
                                rank_way.input[1] + rank_way.weight[0] + rank_way.weight[1]);
    }
    /* rules that LEVEL_WORK allows, and all that a level has */
    double rules = fmax(1, floor(LEVEL_WORK / ms_search_list_work(&c->trial)));
    int all = c->trial.spec.chunks == 1
                  ? MS_SEARCH_VARIANTS + VARIANTS + (BLOCKS + PATTERN_COUNT) * ORDER_RULES
                  : VARIANTS + (V_BLOCKS + PATTERN_COUNT) * ORDER_RULES;
    c->stride = (int)ceil(all / rules);
    return build_patterns(c);
}

/* The level above `cap`. Levels do not depend on the cap asked for: every cap up to 2P, the peak of
 * ZB-V and about that of ZB-H2, and at least up to 8; then steps of an eighth, and last the cap
 * that no schedule exceeds. most: this last cap, V M. */
static int next_level(int cap, int ranks, int most) {
    int step = cap < 2 * ranks || cap < 8 ? 1 : cap / 8;
    return cap < most && cap + step > most ? most : cap + step;
}

/* The highest level that is at most `cap`; the lowest one is V. */
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

/* Search level after level, and keep the best schedule. First the patterns that fit the cap, as
 * they are; then level after level from the highest one under the cap, leaving out those that the
 * bound proves useless. */
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
        keep_best_family(&c);
    }
    bool is_cut = false;
    int cap = level_up_to(&c, spec.memory_cap);
    while (status == MS_OK && cap >= spec.chunks && !is_cut) {
        if (!c.has_best || !is_proven(&c, cap, score->span)) {
            is_cut = c.has_best && search->work > SEARCH_WORK;
            search->spec.memory_cap = cap;
            status = is_cut ? status : search_level(&c, spec.effort);
        }
        cap = cap == spec.chunks ? 0 : level_up_to(&c, cap - 1); /* 0 ends the loop */
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
