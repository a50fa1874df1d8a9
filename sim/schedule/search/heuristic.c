/* The zero-bubble heuristic for one stage per rank: makes the lists of all ranks under a memory
 * cap, and computes the time of every pass as it is added. First comes a warm-up of forward passes
 * F, as many as the cap allows and as fit before the first gradient arrives, fewer on later ranks.
 * Then, in rounds, each rank runs one F and one input gradient I. Weight gradients W are added
 * before them where F needs memory or where the rank would idle. Eight variants differ in three
 * choices (variant_rule). Source: Qi et al., "Zero Bubble Pipeline Parallelism", ICLR'24, section
 * on automatic scheduling, and the authors' implementation (eight variants). */
#include <math.h>

#include "schedule/search/search.h"

/* The choices in which the variants of the heuristic differ. */
typedef struct variant_rule {
    bool allows_wait;       /* warm-up forwards may delay the first gradient */
    bool puts_inputs_first; /* an input gradient before the forward pass of a round */
    bool is_greedy; /* a W longer than a gap goes into it only if the gap would make the rank the
                       one with the most idle time; else it always does */
} variant_rule;

static const variant_rule VARIANTS[MS_SEARCH_VARIANTS] = {
    {false, false, false}, {false, false, true}, {false, true, false}, {false, true, true},
    {true, false, false},  {true, false, true},  {true, true, false},  {true, true, true},
};

/* One rank under construction. */
typedef struct rank_state {
    ms_action *out;
    int done[MS_PASS_COUNT]; /* passes of each kind so far */
    double end;              /* end of the last pass */
    double bubble;           /* idle time since the first pass */
} rank_state;

/* A run of one variant. */
typedef struct heuristic {
    const ms_search_run *search;
    rank_state *ranks;   /* [P] */
    double *forward_end; /* [P * M] end of F, by rank and microbatch */
    double *input_end;   /* [P * M] end of I */
    int *warmup;         /* [P] number of F before the first I; during the rounds 1 if the rank had
                            its F in this round, else 0 */
    variant_rule rule;
} heuristic;

/* Number of activations that a rank holds: from F to W. */
static int held(const rank_state *state) {
    return state->done[MS_PASS_F] - state->done[MS_PASS_W];
}

/* Latency between ranks `boundary` and `boundary` + 1. */
static double p2p(const heuristic *h, int boundary) {
    return h->search->costs->p2p[boundary];
}

/* Time at which the inputs of a rank's next F or I arrive. The passes that produce them have been
 * added. */
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

/* Append a rank's next pass of a kind to its list, as early as its inputs and the rank allow. */
static void add_pass(heuristic *h, int rank, ms_pass pass) {
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

/* Whether a rank has an I without its W. */
static bool has_weight(const rank_state *state) {
    return state->done[MS_PASS_W] < state->done[MS_PASS_I];
}

/* Largest idle time of a rank so far. */
static double worst_bubble(const heuristic *h) {
    double worst = 0;
    for (int rank = 0; rank < h->search->spec.pipeline_ranks; rank++) {
        worst = fmax(worst, h->ranks[rank].bubble);
    }
    return worst;
}

/* Fill the time of a rank before a pass whose inputs arrive at `at` with weight gradients: all that
 * end by then, and one more into a gap that is left. With is_greedy, this last one runs only if the
 * rank would else have the most idle time of all. */
static void fill_gap(heuristic *h, int rank, double at) {
    rank_state *state = &h->ranks[rank];
    double cost = h->search->costs->weight_grad[rank];
    double dust = 1e-12 * (1 + at); /* rounding of sums of times */
    while (has_weight(state) && state->end + cost <= at + dust) {
        add_pass(h, rank, MS_PASS_W);
    }
    bool has_gap = has_weight(state) && at > state->end + dust;
    if (has_gap &&
        (!h->rule.is_greedy || state->bubble + at - state->end > worst_bubble(h) + dust)) {
        add_pass(h, rank, MS_PASS_W);
    }
}

/* Set the number of forward passes of each rank before its first I (`warmup`), from the last rank
 * to the first, each having run one F. A rank takes more F as long as they end before its first
 * gradient arrives, and at least one more than the next rank. With allows_wait, one F may end after
 * the gradient arrives. The cap and M limit all of them. */
static void plan_warmup(heuristic *h) {
    const ms_search_spec *spec = &h->search->spec;
    const ms_schedule_costs *costs = h->search->costs;
    int last = spec->pipeline_ranks - 1;
    int most = spec->memory_cap < spec->microbatches ? spec->memory_cap : spec->microbatches;
    /* arrival of the first gradient at the rank, if every later rank runs its I at once */
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
    /* where the cap has cut a rank's number, each later rank has at least one F fewer still */
    for (int rank = 1; rank <= last; rank++) {
        int limit = h->warmup[rank - 1] - 1;
        limit = limit < 1 ? 1 : limit;
        h->warmup[rank] = h->warmup[rank] < limit ? h->warmup[rank] : limit;
    }
}

/* Append the passes of the warm-up: one F on every rank, the further F of each, and then the first
 * I of every rank. */
static void warm_up(heuristic *h) {
    int ranks = h->search->spec.pipeline_ranks;
    for (int rank = 0; rank < ranks; rank++) {
        add_pass(h, rank, MS_PASS_F);
    }
    plan_warmup(h);
    for (int rank = 0; rank < ranks; rank++) {
        while (h->ranks[rank].done[MS_PASS_F] < h->warmup[rank]) {
            add_pass(h, rank, MS_PASS_F);
        }
    }
    for (int rank = ranks - 1; rank >= 0; rank--) {
        add_pass(h, rank, MS_PASS_I);
    }
}

/* Append an F of a rank, if one is left, its input has been produced, and the cap allows it, if
 * need be after some W. Returns whether it was appended. */
static bool run_forward(heuristic *h, int rank) {
    const ms_search_spec *spec = &h->search->spec;
    rank_state *state = &h->ranks[rank];
    int next = state->done[MS_PASS_F];
    if (next == spec->microbatches || (rank > 0 && next >= h->ranks[rank - 1].done[MS_PASS_F])) {
        return false;
    }
    while (held(state) + 1 > spec->memory_cap && has_weight(state)) {
        add_pass(h, rank, MS_PASS_W);
    }
    if (held(state) + 1 > spec->memory_cap) {
        return false;
    }
    fill_gap(h, rank, arrival(h, rank, MS_PASS_F));
    add_pass(h, rank, MS_PASS_F);
    return true;
}

/* Append one I on every rank, from the last to the first. Returns false if a rank has no F to go
 * with it: the variant is stuck. */
static bool run_inputs(heuristic *h) {
    for (int rank = h->search->spec.pipeline_ranks - 1; rank >= 0; rank--) {
        rank_state *state = &h->ranks[rank];
        if (state->done[MS_PASS_I] >= state->done[MS_PASS_F]) {
            return false;
        }
        fill_gap(h, rank, arrival(h, rank, MS_PASS_I));
        add_pass(h, rank, MS_PASS_I);
    }
    /* after its last F, no other rank waits for rank 0, so its W may run at once */
    rank_state *first = &h->ranks[0];
    while (first->done[MS_PASS_F] == h->search->spec.microbatches && has_weight(first)) {
        add_pass(h, 0, MS_PASS_W);
    }
    return true;
}

/* Append the passes of one round: at most one F and exactly one I of every rank. With
 * puts_inputs_first, a rank runs its F after the I, unless all its F have had their I. h->warmup is
 * used to mark the ranks that have run their F in this round. Returns false if the variant is
 * stuck. */
static bool run_round(heuristic *h) {
    int ranks = h->search->spec.pipeline_ranks;
    for (int rank = 0; rank < ranks; rank++) {
        const rank_state *state = &h->ranks[rank];
        h->warmup[rank] = 0;
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

/* Make the lists of all ranks: the warm-up, which has the first I of every rank; a round for each
 * further microbatch; and the W left. Returns false if the variant is stuck. */
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
            add_pass(h, rank, MS_PASS_W);
        }
    }
    return true;
}

/* Make a schedule by a variant of the zero-bubble heuristic. Sets up the state of a run, with the
 * lists written in place. */
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
