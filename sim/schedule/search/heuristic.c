/* The zero-bubble heuristic: warm-up forwards up to the cap and the arrival of the first gradient,
 * fewer on later ranks; then one forward and one input gradient per rank and round, with weight
 * gradients where memory, idle time or fairness between the ranks ask for them.
 * Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR'24, section on automatic scheduling,
 * and the authors' implementation (eight variants). */
#include <math.h>

#include "schedule/search/search.h"

/* Choices in which the variants of the heuristic differ. */
typedef struct variant_rule {
    bool allows_wait;       /* warm-up forwards may delay the first gradient */
    bool puts_inputs_first; /* an input gradient before the forward pass of a round */
    bool is_greedy; /* weight gradients in gaps only if the gap would be the worst of all ranks */
} variant_rule;

static const variant_rule VARIANTS[MS_SEARCH_VARIANTS] = {
    {false, false, false}, {false, false, true}, {false, true, false}, {false, true, true},
    {true, false, false},  {true, false, true},  {true, true, false},  {true, true, true},
};

/* One rank under construction. */
typedef struct rank_state {
    ms_action *out;
    int done[MS_PASS_COUNT]; /* passes of each kind so far */
    double end;              /* of the last pass */
    double bubble;           /* idle since the first pass */
} rank_state;

typedef struct heuristic {
    const ms_search_run *search;
    rank_state *ranks;   /* [P] */
    double *forward_end; /* [P * M] */
    double *input_end;   /* [P * M] */
    int *warmup;         /* [P] forwards before the first gradient */
    variant_rule rule;
} heuristic;

static int held(const rank_state *state) {
    return state->done[MS_PASS_F] - state->done[MS_PASS_W];
}

static double p2p(const heuristic *h, int boundary) {
    return h->search->costs->p2p[boundary];
}

/* When the inputs of the next pass of a rank are there. */
static double arrival(const heuristic *h, int rank, ms_pass pass) {
    size_t mb_count = (size_t)h->search->spec.microbatches;
    size_t mb = (size_t)h->ranks[rank].done[pass];
    if (pass == MS_PASS_F) {
        return rank == 0 ? 0
                         : h->forward_end[(size_t)(rank - 1) * mb_count + mb] + p2p(h, rank - 1);
    }
    double own = h->forward_end[(size_t)rank * mb_count + mb];
    if (rank + 1 == h->search->spec.pipeline_ranks) {
        return own;
    }
    return fmax(own, h->input_end[(size_t)(rank + 1) * mb_count + mb] + p2p(h, rank));
}

static void put(heuristic *h, int rank, ms_pass pass) {
    rank_state *state = &h->ranks[rank];
    const ms_schedule_costs *costs = h->search->costs;
    const double *cost = pass == MS_PASS_F   ? costs->forward
                         : pass == MS_PASS_I ? costs->input_grad
                                             : costs->weight_grad;
    double start = pass == MS_PASS_W ? state->end : fmax(state->end, arrival(h, rank, pass));
    if (state->done[MS_PASS_F] > 0) {
        state->bubble += start - state->end;
    }
    state->end = start + cost[rank];
    int mb = state->done[pass]++;
    size_t key = (size_t)rank * (size_t)h->search->spec.microbatches + (size_t)mb;
    if (pass == MS_PASS_F) {
        h->forward_end[key] = state->end;
    } else if (pass == MS_PASS_I) {
        h->input_end[key] = state->end;
    }
    *state->out++ = (ms_action){.pass = (uint8_t)pass, .stage = (int16_t)rank, .mb = mb};
}

static bool has_weight(const rank_state *state) {
    return state->done[MS_PASS_W] < state->done[MS_PASS_I];
}

static double worst_bubble(const heuristic *h) {
    double worst = 0;
    for (int rank = 0; rank < h->search->spec.pipeline_ranks; rank++) {
        worst = fmax(worst, h->ranks[rank].bubble);
    }
    return worst;
}

/* Weight gradients before a pass that arrives at `at`: whole ones that fit, and one that does not
 * if the gap left would make this rank the worst. */
static void fill_gap(heuristic *h, int rank, double at) {
    rank_state *state = &h->ranks[rank];
    double cost = h->search->costs->weight_grad[rank];
    double dust = 1e-12 * (1 + at);
    while (has_weight(state) && state->end + cost <= at + dust) {
        put(h, rank, MS_PASS_W);
    }
    bool has_gap = has_weight(state) && at > state->end + dust;
    if (has_gap &&
        (!h->rule.is_greedy || state->bubble + at - state->end > worst_bubble(h) + dust)) {
        put(h, rank, MS_PASS_W);
    }
}

/* Forwards of each rank before its first gradient. */
static void plan_warmup(heuristic *h) {
    const ms_search_spec *spec = &h->search->spec;
    const ms_schedule_costs *costs = h->search->costs;
    int last = spec->pipeline_ranks - 1;
    int most = spec->memory_cap < spec->microbatches ? spec->memory_cap : spec->microbatches;
    double gradient = h->forward_end[(size_t)last * (size_t)spec->microbatches];
    for (int rank = last; rank >= 0; rank--) {
        double end = h->ranks[rank].end;
        int least = rank == last ? 1 : h->warmup[rank + 1] + 1;
        int count = 1;
        while (count < most) {
            bool fits = end + costs->forward[rank] <= gradient * (1 + 1e-12);
            bool may_wait = h->rule.allows_wait && end < gradient * (1 - 1e-12);
            if (count >= least && !fits && !may_wait) {
                break;
            }
            count++;
            end += costs->forward[rank];
        }
        h->warmup[rank] = count;
        gradient += costs->input_grad[rank] + (rank > 0 ? p2p(h, rank - 1) : 0);
    }
    for (int rank = 1; rank <= last; rank++) {
        int limit = h->warmup[rank - 1] - 1;
        limit = limit < 1 ? 1 : limit;
        h->warmup[rank] = h->warmup[rank] < limit ? h->warmup[rank] : limit;
    }
}

static void warm_up(heuristic *h) {
    int ranks = h->search->spec.pipeline_ranks;
    for (int rank = 0; rank < ranks; rank++) {
        put(h, rank, MS_PASS_F);
    }
    plan_warmup(h);
    for (int rank = 0; rank < ranks; rank++) {
        while (h->ranks[rank].done[MS_PASS_F] < h->warmup[rank]) {
            put(h, rank, MS_PASS_F);
        }
    }
    for (int rank = ranks - 1; rank >= 0; rank--) {
        put(h, rank, MS_PASS_I);
    }
}

/* One forward of a rank if one is left, has arrived from the rank before and fits the cap. */
static bool run_forward(heuristic *h, int rank) {
    const ms_search_spec *spec = &h->search->spec;
    rank_state *state = &h->ranks[rank];
    int next = state->done[MS_PASS_F];
    if (next == spec->microbatches || (rank > 0 && next >= h->ranks[rank - 1].done[MS_PASS_F])) {
        return false;
    }
    while (held(state) + 1 > spec->memory_cap && has_weight(state)) {
        put(h, rank, MS_PASS_W);
    }
    if (held(state) + 1 > spec->memory_cap) {
        return false;
    }
    fill_gap(h, rank, arrival(h, rank, MS_PASS_F));
    put(h, rank, MS_PASS_F);
    return true;
}

/* One input gradient of every rank, from the last to the first; false if one has no forward pass.
 */
static bool run_inputs(heuristic *h) {
    for (int rank = h->search->spec.pipeline_ranks - 1; rank >= 0; rank--) {
        rank_state *state = &h->ranks[rank];
        if (state->done[MS_PASS_I] >= state->done[MS_PASS_F]) {
            return false;
        }
        fill_gap(h, rank, arrival(h, rank, MS_PASS_I));
        put(h, rank, MS_PASS_I);
    }
    rank_state *first = &h->ranks[0];
    while (first->done[MS_PASS_F] == h->search->spec.microbatches && has_weight(first)) {
        put(h, 0, MS_PASS_W);
    }
    return true;
}

/* One forward at most and one input gradient per rank.  With the gradients first, a rank runs its
 * forward before them only if it could not go on otherwise. */
static bool run_round(heuristic *h) {
    int ranks = h->search->spec.pipeline_ranks;
    for (int rank = 0; rank < ranks; rank++) {
        const rank_state *state = &h->ranks[rank];
        h->warmup[rank] = 0; /* from here on: whether the rank had its forward in this round */
        if (!h->rule.puts_inputs_first || state->done[MS_PASS_I] == state->done[MS_PASS_F]) {
            h->warmup[rank] = run_forward(h, rank);
        }
    }
    if (!run_inputs(h)) {
        return false;
    }
    for (int rank = 0; h->rule.puts_inputs_first && rank < ranks; rank++) {
        if (h->warmup[rank] == 0) {
            run_forward(h, rank);
        }
    }
    return true;
}

static bool run(heuristic *h) {
    const ms_search_spec *spec = &h->search->spec;
    warm_up(h);
    for (int round = 1; round < spec->microbatches; round++) {
        if (!run_round(h)) {
            return false;
        }
    }
    for (int rank = 0; rank < spec->pipeline_ranks; rank++) {
        while (has_weight(&h->ranks[rank])) {
            put(h, rank, MS_PASS_W);
        }
    }
    return true;
}

ms_status ms_search_heuristic(ms_search_run *search, int variant, ms_program *program) {
    int ranks = search->spec.pipeline_ranks;
    size_t keys = (size_t)ranks * (size_t)search->spec.microbatches;
    ms_arena scratch;
    ms_arena_init(&scratch);
    heuristic h = {.search = search,
                   .ranks = MS_NEW(&scratch, rank_state, ranks),
                   .forward_end = MS_NEW(&scratch, double, keys),
                   .input_end = MS_NEW(&scratch, double, keys),
                   .warmup = MS_NEW(&scratch, int, ranks),
                   .rule = VARIANTS[variant]};
    ms_status status = MS_OK;
    if (h.ranks == NULL || h.forward_end == NULL || h.input_end == NULL || h.warmup == NULL) {
        status = ms_diag_no_memory(search->diag);
    } else {
        for (int rank = 0; rank < ranks; rank++) {
            h.ranks[rank].out = &program->actions[program->first[rank]];
        }
        status = run(&h) ? MS_OK : MS_E_NO;
    }
    ms_arena_release(&scratch);
    return status;
}
