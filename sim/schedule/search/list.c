/* List scheduling (ms_search_list), with one stage per rank or two in a V: makes the lists of all
 * ranks in the order of time. Whenever a rank is free, it runs the most urgent F or I whose inputs
 * have arrived; or a weight gradient W, where no inputs have arrived or where an F needs memory.
 * The caller gives the urgencies (ms_list_rule). The memory cap limits the activations that a rank
 * holds, each of one microbatch on one stage (chunk), from F to W.
 *
 * Unless the rule is strict, the method cannot get stuck. Passes of a kind and chunk keep the order
 * of microbatches. An F of chunk 0 may take the last activation under the cap only if the rank has
 * run the F of its last chunk for the oldest microbatch that it holds (has_room). Let m be the
 * oldest microbatch that is not done on all ranks. A rank that still lacks an F of m has run no F
 * of its last chunk for m or later ones, so by that rule it has an activation left for this F (two
 * in a V if it holds nothing; the cap is at least one per chunk). Hence all F of m run in the end,
 * and then its I and W, which need no memory. */
#include <math.h>

#include "schedule/search/search.h"

/* One rank under construction. */
typedef struct list_rank {
    ms_action *out;
    int done[MS_PASS_COUNT][2]; /* passes of each kind and chunk so far */
    ms_pass last;               /* F or I, whichever ran last */
    double begun_at;            /* start of the first pass */
    double free_at;             /* end of the last pass */
    double next;                /* start of its next pass; infinite: none is known to be next */
} list_rank;

/* A schedule under construction. */
typedef struct lister {
    const ms_search_run *search;
    const ms_program *program;
    const ms_list_rule *rule;
    list_rank *ranks;    /* [P] */
    double *forward_end; /* [S * M] end of F, by stage and microbatch; infinite: not yet known */
    double *input_end;   /* [S * M] end of I, likewise */
} lister;

/* A pass that a rank may run. */
typedef struct candidate {
    ms_pass pass;
    int chunk;
    double arrival; /* of its inputs; infinite: not known, or none left */
    bool has_turn; /* the last F or I of the rank was of the other kind; true without alternation */
    double urgency; /* less goes first */
} candidate;

/* Stage of a chunk of a rank, in a V. */
static int stage_of(const lister *l, int rank, int chunk) {
    return chunk == 0 ? rank : l->program->stages - 1 - rank;
}

/* Number of activations that a rank holds. */
static int held(const list_rank *state) {
    return state->done[MS_PASS_F][0] + state->done[MS_PASS_F][1] - state->done[MS_PASS_W][0] -
           state->done[MS_PASS_W][1];
}

/* Latency between stages `boundary` and `boundary` + 1. */
static double latency(const lister *l, int boundary) {
    return ms_schedule_latency(l->program, l->search->costs, boundary);
}

/* Time at which the inputs of a rank's next pass of a kind and chunk arrive; infinite: not yet
 * known, or no such pass is left. */
static double arrival(const lister *l, int rank, ms_pass pass, int chunk) {
    int mb = l->ranks[rank].done[pass][chunk];
    int stage = stage_of(l, rank, chunk);
    if (mb == l->program->mb_count) {
        return INFINITY;
    }
    if (pass == MS_PASS_F) {
        return stage == 0 ? 0
                          : l->forward_end[ms_program_key(l->program, stage - 1, mb)] +
                                latency(l, stage - 1);
    }
    double own = l->forward_end[ms_program_key(l->program, stage, mb)];
    return stage + 1 == l->program->stages
               ? own
               : fmax(own,
                      l->input_end[ms_program_key(l->program, stage + 1, mb)] + latency(l, stage));
}

/* Whether the cap allows an F of a chunk now. The last activation under the cap is kept for the
 * last chunk, unless the rank has run the F of its last chunk for the oldest microbatch that it
 * holds (see the top of the file). */
static bool has_room(const lister *l, const list_rank *state, int chunk) {
    int after = held(state) + 1;
    const int *weights = state->done[MS_PASS_W];
    int oldest = weights[0] < weights[1] ? weights[0] : weights[1];
    return after < l->search->spec.memory_cap ||
           (after == l->search->spec.memory_cap &&
            (chunk == l->program->spec.chunks - 1 || state->done[MS_PASS_F][1] > oldest));
}

/* Whether the rule's limit of microbatches between F and I of chunk 0 allows a rank one more F of
 * chunk 0. */
static bool is_let_in(const lister *l, int rank) {
    const list_rank *state = &l->ranks[rank];
    return state->done[MS_PASS_F][0] - state->done[MS_PASS_I][0] < l->rule->limit[rank];
}

/* Whether a rank has an I of a chunk without its W. */
static bool has_weight(const list_rank *state, int chunk) {
    return state->done[MS_PASS_W][chunk] < state->done[MS_PASS_I][chunk];
}

/* The chunk of a rank's W that could run for the longest time, as its I ended first; -1: no W can
 * run. */
static int oldest_weight(const lister *l, int rank) {
    const list_rank *state = &l->ranks[rank];
    double since[2] = {INFINITY, INFINITY};
    for (int chunk = 0; chunk < 2; chunk++) {
        if (has_weight(state, chunk)) {
            since[chunk] = l->input_end[ms_program_key(l->program, stage_of(l, rank, chunk),
                                                       state->done[MS_PASS_W][chunk])];
        }
    }
    if (!has_weight(state, 0) && !has_weight(state, 1)) {
        return -1;
    }
    return since[0] < since[1] ? 0 : 1;
}

/* List the F and I that may be a rank's next pass, without regard to memory: the next of each kind
 * and chunk, if the rule and its limit allow it. A strict rule allows only the most urgent of them,
 * even if the arrival of its inputs is not known yet. Returns their number. */
static int list_candidates(const lister *l, int rank, candidate out[4]) {
    static const ms_pass PASSES[] = {MS_PASS_F, MS_PASS_I};
    const list_rank *state = &l->ranks[rank];
    int count = 0;
    for (int i = 0; i < 2 * l->program->spec.chunks; i++) {
        candidate next = {.pass = PASSES[i % 2], .chunk = i / 2};
        int mb = state->done[next.pass][next.chunk];
        next.arrival = arrival(l, rank, next.pass, next.chunk);
        bool is_held_back = next.pass == MS_PASS_F && next.chunk == 0 && !is_let_in(l, rank);
        if (mb == l->program->mb_count || is_held_back ||
            (isinf(next.arrival) && !l->rule->is_strict)) {
            continue;
        }
        next.urgency =
            l->rule->urgency[i % 2][ms_program_key(l->program, stage_of(l, rank, next.chunk), mb)];
        next.has_turn = !l->rule->alternates || state->last != next.pass;
        if (l->rule->is_strict && count == 1) {
            out[0] = next.urgency < out[0].urgency ? next : out[0];
        } else {
            out[count++] = next;
        }
    }
    return count;
}

/* Whether candidate `a` runs before `b` if the inputs of both have arrived. */
static bool is_before(const candidate *a, const candidate *b) {
    return a->has_turn == b->has_turn ? a->urgency < b->urgency : a->has_turn;
}

/* Whether the cap allows a candidate now. */
static bool fits(const lister *l, int rank, const candidate *next) {
    return next->pass != MS_PASS_F || has_room(l, &l->ranks[rank], next->chunk);
}

/* Earliest start of any candidate that the cap allows; infinite: not known. */
static double earliest(const lister *l, int rank, const candidate *candidates, int count) {
    double start = INFINITY;
    for (int i = 0; i < count; i++) {
        if (fits(l, rank, &candidates[i])) {
            start = fmin(start, fmax(l->ranks[rank].free_at, candidates[i].arrival));
        }
    }
    return start;
}

/* Whether a W runs before the pass chosen. It does if the pass needs its activation, or if it fits
 * into the time before the pass starts, but for the share `overrun` of it. chunk: of the W. chosen:
 * NULL: no pass is known to be next. start: of the chosen pass. */
static bool goes_first(const lister *l, int rank, int chunk, const candidate *chosen,
                       double start) {
    double free_at = l->ranks[rank].free_at;
    double cost = l->search->costs->weight_grad[stage_of(l, rank, chunk)];
    double fitting = (1 - l->rule->overrun) * cost * (1 - 1e-9); /* 1e-9: rounding of times */
    return chosen == NULL || !fits(l, rank, chosen) ||
           (start > free_at && start >= free_at + fitting);
}

/* Choose the next pass of a rank and its start: the best of the candidates whose inputs have
 * arrived at the earliest start of any of them, or a W. Returns false while no pass is known to be
 * next. */
static bool choose(const lister *l, int rank, candidate *next_out, double *start_out) {
    candidate candidates[4];
    int count = list_candidates(l, rank, candidates);
    int weight = oldest_weight(l, rank);
    double start = earliest(l, rank, candidates, count);
    const candidate *best = NULL; /* among the passes whose inputs have arrived by then */
    for (int i = 0; i < count; i++) {
        /* one that the cap forbids counts only where a W can run first and free an activation */
        bool counts =
            candidates[i].arrival <= start && (weight >= 0 || fits(l, rank, &candidates[i]));
        if (counts && (best == NULL || is_before(&candidates[i], best))) {
            best = &candidates[i];
        }
    }
    if (weight >= 0 && goes_first(l, rank, weight, best, start)) {
        *next_out = (candidate){.pass = MS_PASS_W, .chunk = weight};
        *start_out = l->ranks[rank].free_at;
        return true;
    }
    if (best == NULL || isinf(start)) {
        return false;
    }
    *next_out = *best;
    *start_out = start;
    return true;
}

/* Set the start of a rank's next pass (`next`) after something has changed for it. */
static void update_start(lister *l, int rank) {
    candidate ignored;
    if (!choose(l, rank, &ignored, &l->ranks[rank].next)) {
        l->ranks[rank].next = INFINITY;
    }
}

/* After a pass has been added, update the rank whose next pass may depend on it: that of the next
 * stage for F, that of the previous stage for I. */
static void update_dependent(lister *l, int stage, ms_pass pass) {
    int other = pass == MS_PASS_F ? stage + 1 : stage - 1;
    if (pass != MS_PASS_W && other >= 0 && other < l->program->stages) {
        update_start(l, l->program->stage_rank[other]);
    }
}

/* Append the next pass of a rank to its list, and update all that depends on it. */
static void add_next_pass(lister *l, int rank) {
    list_rank *state = &l->ranks[rank];
    const ms_schedule_costs *costs = l->search->costs;
    candidate next;
    double start = 0;
    if (!choose(l, rank, &next, &start)) {
        return;
    }
    int stage = stage_of(l, rank, next.chunk);
    int mb = state->done[next.pass][next.chunk]++;
    const double *cost = next.pass == MS_PASS_F   ? costs->forward
                         : next.pass == MS_PASS_I ? costs->input_grad
                                                  : costs->weight_grad;
    if (next.pass == MS_PASS_F && next.chunk == 0 && mb == 0) {
        state->begun_at = start;
    }
    state->free_at = start + cost[stage];
    state->last = next.pass == MS_PASS_W ? state->last : next.pass;
    if (next.pass == MS_PASS_F) {
        l->forward_end[ms_program_key(l->program, stage, mb)] = state->free_at;
    } else if (next.pass == MS_PASS_I) {
        l->input_end[ms_program_key(l->program, stage, mb)] = state->free_at;
    }
    *state->out++ = (ms_action){.pass = (uint8_t)next.pass, .stage = (int16_t)stage, .mb = mb};
    update_start(l, rank);
    update_dependent(l, stage, next.pass);
}

/* The rank that starts its next pass first; -1: none can go on. */
static int first_rank(const lister *l) {
    int first = -1;
    double at = INFINITY;
    for (int rank = 0; rank < l->program->spec.pipeline_ranks; rank++) {
        if (l->ranks[rank].next < at) {
            at = l->ranks[rank].next;
            first = rank;
        }
    }
    return first;
}

/* Make all lists: always add the pass that starts first. Returns false if a strict rule is stuck.
 */
static bool run(lister *l) {
    size_t left = l->program->first[l->program->spec.pipeline_ranks];
    for (int rank = 0; rank < l->program->spec.pipeline_ranks; rank++) {
        l->ranks[rank].out = &l->program->actions[l->program->first[rank]];
        update_start(l, rank);
    }
    while (left-- > 0) {
        int rank = first_rank(l);
        if (rank < 0) {
            return false;
        }
        add_next_pass(l, rank);
    }
    return true;
}

/* Longest time from the start of a rank's first pass to the end of its last one. */
static double longest_span(const lister *l) {
    double longest = 0;
    for (int rank = 0; rank < l->program->spec.pipeline_ranks; rank++) {
        longest = fmax(longest, l->ranks[rank].free_at - l->ranks[rank].begun_at);
    }
    return longest;
}

/* For each pass, all ranks are looked through (first_rank). This takes as long as the rest of a
 * pass for about 256 ranks. */
double ms_search_list_work(const ms_program *program) {
    int ranks = program->spec.pipeline_ranks;
    return (double)program->first[ranks] * (1 + ranks / 256.0);
}

/* Make a schedule by list scheduling with a rule. Sets up the state of a schedule in which no pass
 * has run, with the lists written in place. */
ms_status ms_search_list(ms_search_run *search, const ms_list_rule *rule, ms_program *program,
                         double *span_out) {
    size_t keys = ms_program_keys(program);
    ms_arena scratch;
    ms_arena_init(&scratch);
    lister l = {.search = search,
                .program = program,
                .rule = rule,
                .ranks = MS_NEW(&scratch, list_rank, program->spec.pipeline_ranks),
                .forward_end = MS_NEW(&scratch, double, keys),
                .input_end = MS_NEW(&scratch, double, keys)};
    ms_status status = MS_OK;
    if (l.ranks == NULL || l.forward_end == NULL || l.input_end == NULL) {
        status = ms_diag_no_memory(search->diag);
    } else {
        for (size_t i = 0; i < keys; i++) {
            l.forward_end[i] = INFINITY;
            l.input_end[i] = INFINITY;
        }
        status = run(&l) ? MS_OK : MS_E_NO;
        *span_out = longest_span(&l);
    }
    ms_arena_release(&scratch);
    search->work += ms_search_list_work(program);
    return status;
}
