#include "estimate/sharing.h"

#include <math.h>

/* Share of its bytes below which a flow has ended: what rounding leaves. */
static const double REST = 1e-12;

/* Share of a link by which more is asked of it than it has, so that rounding is not taken for it.
 */
static const double EXCESS = 1e-9;

/* A phase of a plan with the links of its flows. */
typedef struct placed_phase {
    double latency_s;
    ms_fluid_flow *flows; /* [count] for MS_CLASS_REFERENCE_B bytes */
    int count;
} placed_phase;

typedef struct placed_plan {
    placed_phase *phases; /* [count] */
    int count;
} placed_plan;

/* A class laid out on the links: the plan of its slowest group, or the plans of all groups. */
typedef struct placed_class {
    ms_class_key key;
    placed_plan *plans; /* [count] */
    int count;
} placed_class;

/* A plan under way. */
typedef struct shared_plan {
    const placed_plan *plan;
    int chain;
    int phase;
    int live;       /* flows of the phase under way */
    double until_s; /* its latency passes; INFINITY while flows are under way */
} shared_plan;

/* A flow under way. */
typedef struct shared_flow {
    ms_fluid_flow flow; /* bytes: what is left */
    double bytes;       /* all of it */
    int plan;           /* index of shared_plan */
} shared_flow;

/* Where a chain is. */
typedef struct chain_state {
    int next;       /* collective that runs, or starts next */
    int live;       /* plans of it that have not ended */
    double start_s; /* of the next one; INFINITY: one is under way, or none is left */
} chain_state;

/* Chains while they run. */
typedef struct sharing_run {
    ms_sharing *sharing;
    const ms_chain *chains;
    chain_state *states; /* [count] */
    int count;
    double now_s;
    ms_vector plans; /* of shared_plan; those that have ended stay */
    ms_vector flows; /* of shared_flow under way */
    ms_vector fluid; /* of ms_fluid_flow, beside flows */
    ms_vector rates; /* of double, beside flows */
} sharing_run;

ms_status ms_sharing_init(ms_sharing *sharing, const ms_comm_classes *comm, ms_plan_space *space,
                          ms_arena *arena) {
    *sharing = (ms_sharing){.comm = comm, .space = space, .arena = arena};
    ms_vector_init(&sharing->placed, sizeof(placed_class));
    sharing->asked = MS_NEW(arena, double, comm->platform->link_count);
    return sharing->asked == NULL ? MS_E_NOMEM : MS_OK;
}

void ms_sharing_release(ms_sharing *sharing) {
    ms_vector_release(&sharing->placed);
}

/* A flow with its links; is_own: without the other groups' load. */
static ms_status place_flow(ms_sharing *sharing, const ms_flow *flow, ms_fluid_flow *out) {
    bool is_own = sharing->comm->is_unfolded;
    ms_fluid_use *uses = MS_NEW(sharing->arena, ms_fluid_use, flow->count);
    for (int i = 0; i < flow->count && uses != NULL; i++) {
        const ms_flow_link *link = &flow->links[i];
        double capacity_Bps = ms_platform_link(sharing->comm->platform, link->link).capacity_Bps;
        uses[i] = (ms_fluid_use){.link = link->link,
                                 .weight = is_own ? link->weight : link->load,
                                 .capacity_Bps = capacity_Bps};
    }
    *out = (ms_fluid_flow){.bytes = flow->bytes, .uses = uses, .count = flow->count};
    return uses == NULL ? MS_E_NOMEM : MS_OK;
}

static ms_status place_plan(ms_sharing *sharing, const ms_coll_plan *plan, placed_plan *out) {
    *out = (placed_plan){.phases = MS_NEW(sharing->arena, placed_phase, plan->phase_count),
                         .count = plan->phase_count};
    ms_status status = out->phases == NULL ? MS_E_NOMEM : MS_OK;
    for (int p = 0; p < plan->phase_count && status == MS_OK; p++) {
        const ms_phase *phase = &plan->phases[p];
        ms_fluid_flow *flows = MS_NEW(sharing->arena, ms_fluid_flow, phase->count);
        status = flows == NULL ? MS_E_NOMEM : MS_OK;
        for (int f = 0; f < phase->count && status == MS_OK; f++) {
            status = place_flow(sharing, &phase->flows[f], &flows[f]);
        }
        out->phases[p] = (placed_phase){phase->latency_s, flows, phase->count};
    }
    return status;
}

/* The slowest group's plan with the load of all, or where every rank is simulated each group's own.
 */
static ms_status place_plans(ms_sharing *sharing, const ms_coll_class *class,
                             placed_class *placed) {
    bool is_folded = !sharing->comm->is_unfolded;
    placed->count = is_folded && class->groups > 0 ? 1 : class->groups;
    placed->plans = MS_NEW(sharing->arena, placed_plan, placed->count);
    ms_status status = placed->plans == NULL ? MS_E_NOMEM : MS_OK;
    for (int g = 0; g < placed->count && status == MS_OK; g++) {
        const ms_coll_plan *plan = is_folded ? &class->plans[class->slowest] : &class->own[g];
        status = place_plan(sharing, plan, &placed->plans[g]);
    }
    return status;
}

/* The laid out class of a key, which is laid out on first use.  *placed_out: until the next call.
 */
static ms_status find_placed(ms_sharing *sharing, const ms_class_key *key,
                             const placed_class **placed_out) {
    placed_class placed = {.key = ms_class_as_chosen(sharing->comm, key)};
    for (size_t i = 0; i < sharing->placed.count; i++) {
        *placed_out = &MS_AT(&sharing->placed, placed_class, i);
        if (ms_class_is_same(&(*placed_out)->key, &placed.key)) {
            return MS_OK;
        }
    }
    ms_coll_class class;
    ms_status status = ms_comm_class_build(sharing->comm, sharing->space, &placed.key, &class);
    status = status == MS_OK ? place_plans(sharing, &class, &placed) : status;
    ms_arena_clear(&sharing->space->scratch);
    *placed_out = status == MS_OK ? ms_vector_add(&sharing->placed, &placed, 1) : NULL;
    return status == MS_OK && *placed_out == NULL ? MS_E_NOMEM : status;
}

/* Most that a flow can run at [B/s]. */
static double rate_alone(const ms_fluid_flow *flow) {
    double rate_Bps = INFINITY;
    for (int i = 0; i < flow->count; i++) {
        rate_Bps = fmin(rate_Bps, flow->uses[i].capacity_Bps / flow->uses[i].weight);
    }
    return rate_Bps;
}

/* Call visit(sharing, flow) on all flows of a class. */
static void for_each_flow(ms_sharing *sharing, const placed_class *placed,
                          void (*visit)(ms_sharing *sharing, const ms_fluid_flow *flow)) {
    for (int g = 0; g < placed->count; g++) {
        for (int p = 0; p < placed->plans[g].count; p++) {
            const placed_phase *phase = &placed->plans[g].phases[p];
            for (int f = 0; f < phase->count; f++) {
                visit(sharing, &phase->flows[f]);
            }
        }
    }
}

/* Add the share of each link that a flow asks for. */
static void ask(ms_sharing *sharing, const ms_fluid_flow *flow) {
    double rate_Bps = rate_alone(flow);
    for (int i = 0; i < flow->count; i++) {
        const ms_fluid_use *use = &flow->uses[i];
        double share = rate_Bps * use->weight / use->capacity_Bps;
        double *asked = &sharing->asked[use->link];
        *asked += share;
        sharing->is_short =
            sharing->is_short || (*asked > share * (1.0 + EXCESS) && *asked > 1.0 + EXCESS);
    }
}

static void forget(ms_sharing *sharing, const ms_fluid_flow *flow) {
    for (int i = 0; i < flow->count; i++) {
        sharing->asked[flow->uses[i].link] = 0.0;
    }
}

/* Visit the flows of all chains, each class of a chain once. */
static ms_status visit_chains(ms_sharing *sharing, const ms_chain *chains, int count,
                              void (*visit)(ms_sharing *sharing, const ms_fluid_flow *flow)) {
    for (int c = 0; c < count; c++) {
        for (int i = 0; i < chains[c].count; i++) {
            const ms_class_key key = ms_class_as_chosen(sharing->comm, &chains[c].ops[i].key);
            bool is_known = false;
            for (int k = 0; k < i && !is_known; k++) {
                const ms_class_key before =
                    ms_class_as_chosen(sharing->comm, &chains[c].ops[k].key);
                is_known = ms_class_is_same(&before, &key);
            }
            const placed_class *placed = NULL;
            ms_status status = is_known ? MS_OK : find_placed(sharing, &key, &placed);
            if (status != MS_OK) {
                return status;
            }
            if (!is_known) {
                for_each_flow(sharing, placed, visit);
            }
        }
    }
    return MS_OK;
}

static ms_status visit_class(ms_sharing *sharing, const ms_class_key *key,
                             void (*visit)(ms_sharing *sharing, const ms_fluid_flow *flow)) {
    const placed_class *placed = NULL;
    ms_status status = find_placed(sharing, key, &placed);
    if (status == MS_OK) {
        for_each_flow(sharing, placed, visit);
    }
    return status;
}

ms_status ms_sharing_ask(ms_sharing *sharing, const ms_class_key *key) {
    return visit_class(sharing, key, ask);
}

ms_status ms_sharing_forget(ms_sharing *sharing, const ms_class_key *key) {
    return visit_class(sharing, key, forget);
}

static void find_short_share(ms_sharing *sharing, const ms_fluid_flow *flow) {
    double rate_Bps = rate_alone(flow);
    for (int i = 0; i < flow->count; i++) {
        const ms_fluid_use *use = &flow->uses[i];
        double all = sharing->asked[use->link] + rate_Bps * use->weight / use->capacity_Bps;
        sharing->short_share = fmax(sharing->short_share, all > 1.0 + EXCESS ? all - 1.0 : 0.0);
    }
}

ms_status ms_sharing_short_share(ms_sharing *sharing, const ms_class_key *key, double *share_out) {
    sharing->short_share = 0.0;
    ms_status status = visit_class(sharing, key, find_short_share);
    *share_out = fmin(sharing->short_share, 1.0);
    return status;
}

/* The flows of a plan's phase begin. */
static void begin_phase(sharing_run *run, int index) {
    shared_plan *plan = &MS_AT(&run->plans, shared_plan, index);
    const placed_phase *phase = &plan->plan->phases[plan->phase];
    const ms_chain *chain = &run->chains[plan->chain];
    double share = chain->ops[run->states[plan->chain].next].bytes / MS_CLASS_REFERENCE_B;
    plan->live = 0;
    for (int f = 0; f < phase->count; f++) {
        shared_flow flow = {.flow = phase->flows[f], .plan = index};
        flow.bytes = flow.flow.bytes *= share;
        if (flow.bytes > 0.0 && flow.flow.count > 0) {
            ms_vector_add(&run->flows, &flow, 1);
            plan->live++;
        }
    }
    plan->until_s = plan->live > 0 ? INFINITY : run->now_s + phase->latency_s;
}

/* A chain's next collective begins. */
static ms_status begin_op(sharing_run *run, int c) {
    chain_state *state = &run->states[c];
    const placed_class *placed = NULL;
    ms_status status = find_placed(run->sharing, &run->chains[c].ops[state->next].key, &placed);
    state->start_s = INFINITY;
    state->live = status == MS_OK ? placed->count : 0;
    for (int g = 0; g < state->live; g++) {
        shared_plan plan = {.plan = &placed->plans[g], .chain = c};
        if (ms_vector_add(&run->plans, &plan, 1) == NULL) {
            return MS_E_NOMEM;
        }
        begin_phase(run, (int)run->plans.count - 1);
    }
    return status;
}

/* When a chain can begin with a collective. */
static double ready_s(const ms_chain *chain, const ms_chained *op) {
    return fmax(fmax(*chain->rank_s, *op->stream_s), op->launched_s);
}

/* When the next collective of a chain can begin. */
static void look_ahead(sharing_run *run, int c) {
    const ms_chain *chain = &run->chains[c];
    chain_state *state = &run->states[c];
    if (state->next < chain->count) {
        state->start_s = ready_s(chain, &chain->ops[state->next]);
    }
}

/* A plan's latency has passed: its next phase begins, or it has ended. */
static void end_phase(sharing_run *run, int index) {
    shared_plan *plan = &MS_AT(&run->plans, shared_plan, index);
    int c = plan->chain;
    const ms_chain *chain = &run->chains[c];
    chain_state *state = &run->states[c];
    plan->until_s = INFINITY;
    if (++plan->phase < plan->plan->count) {
        begin_phase(run, index);
    } else if (--state->live == 0) {
        *chain->rank_s = *chain->ops[state->next++].stream_s = run->now_s;
        look_ahead(run, c);
    }
}

/* Rates of the flows under way. */
static ms_status find_rates(sharing_run *run) {
    size_t count = run->flows.count;
    run->fluid.count = run->rates.count = 0;
    if (count == 0) {
        return MS_OK; /* an empty list may have no storage to point into */
    }
    ms_fluid_flow *fluid = ms_vector_add(&run->fluid, NULL, count);
    double *rates = ms_vector_add(&run->rates, NULL, count);
    if (fluid == NULL || rates == NULL) {
        return MS_E_NOMEM;
    }
    for (size_t f = 0; f < count; f++) {
        fluid[f] = MS_AT(&run->flows, shared_flow, f).flow;
    }
    return ms_fluid_rates(fluid, (int)count, rates);
}

/* When something happens next. */
static double next_event_s(const sharing_run *run) {
    double next_s = INFINITY;
    for (int c = 0; c < run->count; c++) {
        next_s = fmin(next_s, run->states[c].start_s);
    }
    for (size_t i = 0; i < run->plans.count; i++) {
        next_s = fmin(next_s, MS_AT(&run->plans, shared_plan, i).until_s);
    }
    for (size_t f = 0; f < run->flows.count; f++) {
        double left_s =
            MS_AT(&run->flows, shared_flow, f).flow.bytes / MS_AT(&run->rates, double, f);
        next_s = fmin(next_s, run->now_s + left_s);
    }
    return next_s;
}

/* Let flows run for a time; those that end leave the list. */
static void pass_time(sharing_run *run, double step_s) {
    size_t kept = 0;
    for (size_t f = 0; f < run->flows.count; f++) {
        shared_flow *flow = &MS_AT(&run->flows, shared_flow, f);
        double rate_Bps = MS_AT(&run->rates, double, f);
        flow->flow.bytes -= step_s * rate_Bps;
        bool is_rest = flow->flow.bytes <= REST * flow->bytes ||
                       run->now_s + flow->flow.bytes / rate_Bps <= run->now_s;
        if (!is_rest) {
            MS_AT(&run->flows, shared_flow, kept++) = *flow;
            continue;
        }
        shared_plan *plan = &MS_AT(&run->plans, shared_plan, flow->plan);
        if (--plan->live == 0) {
            plan->until_s = run->now_s + plan->plan->phases[plan->phase].latency_s;
        }
    }
    run->flows.count = kept;
}

/* Handle the events of now: phases whose latency has passed end, and collectives begin. */
static ms_status happen(sharing_run *run) {
    for (size_t i = 0; i < run->plans.count; i++) {
        if (MS_AT(&run->plans, shared_plan, i).until_s <= run->now_s) {
            end_phase(run, (int)i);
        }
    }
    ms_status status = MS_OK;
    for (int c = 0; c < run->count && status == MS_OK; c++) {
        status = run->states[c].start_s <= run->now_s ? begin_op(run, c) : MS_OK;
    }
    return status;
}

static ms_status run_events(sharing_run *run) {
    for (int c = 0; c < run->count; c++) {
        run->states[c].start_s = INFINITY;
        look_ahead(run, c);
    }
    for (;;) {
        ms_status status = find_rates(run);
        double next_s = status == MS_OK ? next_event_s(run) : INFINITY;
        if (!isfinite(next_s)) {
            return status;
        }
        double step_s = next_s - run->now_s;
        run->now_s = next_s;
        pass_time(run, step_s);
        status = happen(run);
        if (status != MS_OK || run->flows.failed) {
            return status == MS_OK ? MS_E_NOMEM : status;
        }
    }
}

/* One after the other on every rank, as where no link is short. */
static void run_apart(const ms_chain *chains, int count) {
    for (int c = 0; c < count; c++) {
        for (int i = 0; i < chains[c].count; i++) {
            const ms_chained *op = &chains[c].ops[i];
            *chains[c].rank_s = ready_s(&chains[c], op) + op->time_s;
            *op->stream_s = *chains[c].rank_s;
        }
    }
}

static ms_status run_together(ms_sharing *sharing, const ms_chain *chains, int count) {
    sharing_run run = {.sharing = sharing, .chains = chains, .count = count};
    run.states = MS_NEW(sharing->arena, chain_state, count);
    ms_vector_init(&run.plans, sizeof(shared_plan));
    ms_vector_init(&run.flows, sizeof(shared_flow));
    ms_vector_init(&run.fluid, sizeof(ms_fluid_flow));
    ms_vector_init(&run.rates, sizeof(double));
    ms_status status = run.states == NULL ? MS_E_NOMEM : run_events(&run);
    ms_vector_release(&run.plans);
    ms_vector_release(&run.flows);
    ms_vector_release(&run.fluid);
    ms_vector_release(&run.rates);
    return status;
}

ms_status ms_sharing_run(ms_sharing *sharing, const ms_chain *chains, int count,
                         bool *has_met_out) {
    sharing->is_short = false;
    ms_status status = visit_chains(sharing, chains, count, ask);
    status = status == MS_OK ? visit_chains(sharing, chains, count, forget) : status;
    *has_met_out = status == MS_OK && sharing->is_short;
    if (status == MS_OK && sharing->is_short) {
        return run_together(sharing, chains, count);
    }
    if (status == MS_OK) {
        run_apart(chains, count);
    }
    return status;
}
