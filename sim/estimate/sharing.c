/* Contention between collectives (sharing.h): a fluid simulation of the chains of all pipeline
 * ranks, with events at which collectives begin, flows end and latencies of phases have passed.
 * Before it, the asked shares of all links tell whether any link can be short. Here a class is
 * placed once its plans are laid out on the links; a plan is a list of phases, and a phase some
 * flows that start together, then a latency. */
#include "estimate/sharing.h"

#include <math.h>

/* Share of a flow's bytes below which the flow has ended, since rounding leaves a rest. */
static const double REST = 1e-12;

/* Smallest excess of an asked share over 1 that counts, so that rounding does not. */
static const double EXCESS = 1e-9;

/* A phase of a plan with the links of its flows. */
typedef struct placed_phase {
    double latency_s;     /* passes after all flows have ended */
    ms_fluid_flow *flows; /* [count] for a collective of MS_CLASS_REFERENCE_B bytes */
    int count;
} placed_phase;

/* A plan of a group, or of one that stands for all groups of a class. */
typedef struct placed_plan {
    placed_phase *phases; /* [count] */
    int count;
} placed_plan;

/* A class that is laid out on the links: the plan of its slowest group with the load of all groups
 * on its links or, if groups do not stand for others (is_unfolded), the plans of all groups. */
typedef struct placed_class {
    ms_class_key key;
    placed_plan *plans; /* [count] */
    int count;
} placed_class;

/* A plan under way. */
typedef struct shared_plan {
    const placed_plan *plan;
    int chain;      /* index of its chain */
    int phase;      /* index of the phase under way */
    int live;       /* flows of this phase that have not ended */
    double until_s; /* when the latency of this phase has passed [s]; INFINITY while flows are under
                       way, and after the last phase */
} shared_plan;

/* A flow under way. */
typedef struct shared_flow {
    ms_fluid_flow flow; /* its bytes are those that are left */
    double bytes;       /* bytes at its start [B] */
    int plan;           /* index of its plan in sharing_run.plans */
} shared_flow;

/* The state of a chain. */
typedef struct chain_state {
    int next;       /* index of the collective that runs or starts next */
    int live;       /* plans of the running collective that have not ended */
    double start_s; /* when collective `next` starts [s]; INFINITY: it runs, or none is left */
} chain_state;

/* The state of the fluid simulation. */
typedef struct sharing_run {
    ms_sharing *sharing;
    const ms_chain *chains;
    chain_state *states; /* [count] */
    int count;
    double now_s;
    ms_vector plans; /* of shared_plan; plans that have ended stay in it */
    ms_vector flows; /* of shared_flow that are under way */
    ms_vector fluid; /* of ms_fluid_flow: the flows as ms_fluid_rates needs them */
    ms_vector rates; /* of double: rate of each flow [B/s] */
} sharing_run;

ms_status ms_sharing_init(ms_sharing *sharing, const ms_comm_classes *comm,
                          ms_layout_storage *space, ms_arena *arena) {
    *sharing = (ms_sharing){.comm = comm, .space = space, .arena = arena};
    ms_vector_init(&sharing->placed, sizeof(placed_class));
    sharing->asked = MS_NEW(arena, double, comm->platform->link_count);
    return sharing->asked == NULL ? MS_E_NOMEM : MS_OK;
}

void ms_sharing_release(ms_sharing *sharing) {
    ms_vector_release(&sharing->placed);
}

/* Copy a flow with the links that it uses to the arena.  *out: weights are the crossings by this
 * flow or, where its group stands for all groups, by the flows of all groups (ms_flow_link.load).
 */
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

/* Copy a plan with its phases and flows to the arena. */
static ms_status place_plan(ms_sharing *sharing, const ms_coll_plan *plan, placed_plan *out) {
    *out = (placed_plan){.phases = MS_NEW(sharing->arena, placed_phase, plan->phase_count),
                         .count = plan->phase_count};
    ms_status status = out->phases == NULL ? MS_E_NOMEM : MS_OK;
    for (int i = 0; i < plan->phase_count && status == MS_OK; i++) {
        const ms_phase *phase = &plan->phases[i];
        ms_fluid_flow *flows = MS_NEW(sharing->arena, ms_fluid_flow, phase->count);
        status = flows == NULL ? MS_E_NOMEM : MS_OK;
        for (int f = 0; f < phase->count && status == MS_OK; f++) {
            status = place_flow(sharing, &phase->flows[f], &flows[f]);
        }
        out->phases[i] = (placed_phase){phase->latency_s, flows, phase->count};
    }
    return status;
}

/* Place the plans of a class that is laid out, as placed_class describes. */
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

/* Find the placed class of a key, which is laid out and placed on first use. Keys that differ only
 * in bytes share one where no library chooses by them.  *placed_out: valid until the next call. */
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

/* The rate of a flow with nothing else on its links [B/s]. */
static double rate_alone(const ms_fluid_flow *flow) {
    double rate_Bps = INFINITY;
    for (int i = 0; i < flow->count; i++) {
        rate_Bps = fmin(rate_Bps, flow->uses[i].capacity_Bps / flow->uses[i].weight);
    }
    return rate_Bps;
}

/* Call visit(sharing, flow) on all flows of a class, of all phases. */
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

/* Visitor: add the shares that a flow asks for to the asked shares of its links. A link is short
 * only through several flows: one flow alone never asks for more than 1, up to rounding. */
static void add_asked_shares(ms_sharing *sharing, const ms_fluid_flow *flow) {
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

/* Visitor: set the asked shares of a flow's links back to 0. */
static void clear_asked_shares(ms_sharing *sharing, const ms_fluid_flow *flow) {
    for (int i = 0; i < flow->count; i++) {
        sharing->asked[flow->uses[i].link] = 0.0;
    }
}

/* Visit the flows of all chains. A class that a chain runs several times is visited once, as its
 * collectives run one after the other; different classes of a chain are all visited, as if they ran
 * at once. */
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

/* Visit the flows of the class of a key. */
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
    return visit_class(sharing, key, add_asked_shares);
}

ms_status ms_sharing_forget(ms_sharing *sharing, const ms_class_key *key) {
    return visit_class(sharing, key, clear_asked_shares);
}

/* Visitor: raise sharing->short_share to the largest excess over 1 of the asked shares of a flow's
 * links, with the flow added. */
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

/* Begin the phase of a plan that is next: its flows come under way, scaled to the bytes of the
 * collective. Without flows only the latency passes.  index: of the plan in run->plans. */
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

/* Begin the next collective of chain `c`: the first phase of all its plans. */
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

/* When a chain can begin a collective: its rank and communicator are free, and it is launched [s].
 */
static double ready_s(const ms_chain *chain, const ms_chained *op) {
    return fmax(fmax(*chain->rank_s, *op->stream_s), op->launched_s);
}

/* Set when the next collective of chain `c` starts, if one is left. */
static void set_next_start(sharing_run *run, int c) {
    const ms_chain *chain = &run->chains[c];
    chain_state *state = &run->states[c];
    if (state->next < chain->count) {
        state->start_s = ready_s(chain, &chain->ops[state->next]);
    }
}

/* End a phase of a plan whose latency has passed: begin the next phase. After the last phase of the
 * last plan the collective has ended, and the chain goes on.  index: of the plan in run->plans. */
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
        set_next_start(run, c);
    }
}

/* Find the rates of all flows under way, by max-min fairness. */
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

/* The time of the next event: a collective starts, a latency has passed or a flow ends [s];
 * INFINITY: no event is left. */
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

/* Let the flows run for `step_s` until now_s; the flows that have ended leave the list. A flow also
 * ends when the time for its rest is below the resolution of now_s, as time would not advance
 * otherwise. The last flow of a phase starts the latency of the phase. */
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

/* Handle the events at now_s: phases whose latency has passed end, and collectives begin. */
static ms_status handle_events(sharing_run *run) {
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

/* Run all chains from event to event. */
static ms_status run_events(sharing_run *run) {
    for (int c = 0; c < run->count; c++) {
        run->states[c].start_s = INFINITY;
        set_next_start(run, c);
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
        status = handle_events(run);
        if (status != MS_OK || run->flows.failed) {
            return status == MS_OK ? MS_E_NOMEM : status;
        }
    }
}

/* Run the collectives of each chain one after the other, each for its time_s. */
static void run_apart(const ms_chain *chains, int count) {
    for (int c = 0; c < count; c++) {
        for (int i = 0; i < chains[c].count; i++) {
            const ms_chained *op = &chains[c].ops[i];
            *chains[c].rank_s = ready_s(&chains[c], op) + op->time_s;
            *op->stream_s = *chains[c].rank_s;
        }
    }
}

/* Run all chains in the fluid simulation, in which their flows share links. */
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
    ms_status status = visit_chains(sharing, chains, count, add_asked_shares);
    status = status == MS_OK ? visit_chains(sharing, chains, count, clear_asked_shares) : status;
    *has_met_out = status == MS_OK && sharing->is_short;
    if (status == MS_OK && sharing->is_short) {
        return run_together(sharing, chains, count);
    }
    if (status == MS_OK) {
        run_apart(chains, count);
    }
    return status;
}
