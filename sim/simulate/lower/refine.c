/* Finds which ranks play the same role, by colour refinement (folding.md). The ranks of one
 * pipeline rank, groups, flows and links each have a colour, a hash; ranks of different pipeline
 * ranks with the same index (rank_in_stage) have one colour. In each round every colour is combined
 * with those of the neighbours: a flow's with those of its group and links, a link's with those of
 * its flows, a group's with those of its members and flows, a rank's with those of its groups. When
 * a round makes no new colours, equal colours mean equal roles: the ranks of one colour form a
 * class. */
#include "simulate/lower/refine.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/random.h"

/* A group of a communication. */
typedef struct group_view {
    uint64_t own;    /* hash of the communication and of how it is laid out, without the members */
    uint64_t colour; /* groups of equal colour have not been told apart so far */
} group_view;

/* A flow of a group. */
typedef struct flow_view {
    uint64_t own; /* hash of its phase and number in the plan, bytes and rate alone, without its
                     links */
    uint64_t colour;
    size_t first;  /* into crossings: its crossings of links that can bind */
    int32_t count; /* number of these crossings */
    int32_t group; /* index into groups */
} flow_view;

/* A flow's crossing of a link that can bind. */
typedef struct link_crossing {
    int32_t link;
    int32_t weight; /* how often the flow crosses the link */
} link_crossing;

/* A link of the platform. */
typedef struct link_view {
    uint64_t own; /* hash of its properties, without its flows */
    uint64_t colour;
    uint64_t sum; /* sum of the hashes of the flows across it; 0 between rounds */
} link_view;

/* The state of the refinement. */
typedef struct refinement {
    const ms_traffic *traffic;
    const ms_job *job;
    const ms_platform *platform; /* the job's */
    const bool *can_bind;        /* [links]; NULL: none can */
    ms_arena scratch;
    ms_vector groups;       /* of group_view, communication by communication */
    ms_vector flows;        /* of flow_view, group by group */
    ms_vector crossings;    /* of link_crossing */
    link_view *links;       /* [links] */
    uint64_t *rank_colours; /* [per_pp] colour of each index in the stage */
    uint64_t *sums; /* [per_pp] sums of the hashes of the groups that each index in the stage is in;
                       0 between rounds */
    uint64_t *table;    /* [table_slots] hash table of colours, open addressing, 0: free */
    int32_t *numbers;   /* [table_slots] the number of each colour in the table */
    size_t table_slots; /* a power of two */
} refinement;

/* A number's bits for hashing, rounded from 53 to 40 bits of mantissa, so that values that differ
 * only by rounding nearly always give the same. */
static uint64_t bits_of(double value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return (bits + (1U << 12)) >> 13;
}

/* Hash of a hash and a further value; the order counts. The factor 2^64 / golden ratio spreads
 * small values over all bits. */
static uint64_t join(uint64_t hash, uint64_t value) {
    return ms_random_mix(hash + (value + 1) * 0x9E3779B97F4A7C15U);
}

/* The communication with an index. */
static const ms_step_comm *comm_at(const refinement *state, size_t index) {
    return &MS_AT(&state->traffic->comms, ms_step_comm, index);
}

/* The rate of a flow that is alone on its links [B/s]; INFINITY without links. */
static double rate_alone(const refinement *state, const ms_flow *flow) {
    double rate_Bps = INFINITY;
    for (int i = 0; i < flow->count; i++) {
        const ms_flow_link *crossing = &flow->links[i];
        double capacity_Bps = ms_platform_link(state->platform, crossing->link).capacity_Bps;
        rate_Bps = ms_min(rate_Bps, capacity_Bps / crossing->weight);
    }
    return rate_Bps;
}

/* Enter a flow, with its crossings of links that can bind. All other links only limit its rate
 * alone, which is part of its hash.  own: hash of its phase and number in the plan. */
static void add_flow(refinement *state, const ms_flow *flow, uint64_t own) {
    flow_view view = {.first = state->crossings.count, .group = (int32_t)state->groups.count};
    view.own = join(join(own, bits_of(flow->bytes)), bits_of(rate_alone(state, flow)));
    for (int i = 0; i < flow->count && state->can_bind != NULL && flow->bytes > 0.0; i++) {
        const ms_flow_link *crossing = &flow->links[i];
        if (state->can_bind[crossing->link]) {
            link_crossing *kept = ms_vector_next(&state->crossings);
            if (kept != NULL) {
                *kept = (link_crossing){crossing->link, crossing->weight};
                view.count++;
            }
        }
    }
    flow_view *slot = ms_vector_next(&state->flows);
    if (slot != NULL) {
        *slot = view;
    }
}

/* Enter the flows of a phase. Where links are not simulated (can_bind is NULL), flows of a phase
 * share links only with each other; their times are then part of their hashes.  own: hash of the
 * communication and the phase. */
static ms_status add_flows(refinement *state, const ms_phase *phase, uint64_t own) {
    bool shares = state->can_bind == NULL && phase->count > 1;
    double *alone_s = shares ? MS_NEW(&state->scratch, double, phase->count) : NULL;
    if (shares &&
        (alone_s == NULL ||
         ms_coll_phase_times_alone(state->platform, phase, &state->scratch, alone_s) != MS_OK)) {
        return MS_E_NOMEM;
    }
    for (int f = 0; f < phase->count; f++) {
        uint64_t flow = join(own, (uint64_t)f);
        add_flow(state, &phase->flows[f], shares ? join(flow, bits_of(alone_s[f])) : flow);
    }
    return MS_OK;
}

/* Enter a group of communication `comm`, laid out as `plan`, with its flows. A phase that repeats
 * an earlier one (ms_coll_phase_is_again) has the same flows, which are entered once. */
static ms_status add_group(refinement *state, size_t comm, const ms_coll_plan *plan) {
    group_view view = {.own = join(comm, (uint64_t)plan->tier + 1)};
    view.own = join(view.own, (uint64_t)plan->algorithm << 16 | (uint64_t)plan->protocol);
    view.own = join(view.own, bits_of(plan->sent_B));
    for (int p = 0; p < plan->phase_count; p++) {
        const ms_phase *phase = &plan->phases[p];
        view.own = join(view.own, bits_of(phase->latency_s));
        if (ms_coll_phase_is_again(plan, p)) {
            continue;
        }
        if (add_flows(state, phase, join(comm, (uint64_t)p)) != MS_OK) {
            return MS_E_NOMEM;
        }
    }
    return ms_vector_add(&state->groups, &view, 1) == NULL ? MS_E_NOMEM : MS_OK;
}

/* Enter all groups of all communications.  Returns MS_OK; MS_E_NOMEM. */
static ms_status add_all(refinement *state) {
    ms_status status = MS_OK;
    for (size_t c = 0; c < state->traffic->comms.count; c++) {
        const ms_step_comm *comm = comm_at(state, c);
        for (int g = 0; g < comm->groups->count && status == MS_OK; g++) {
            status = add_group(state, c, &comm->plans[g]);
        }
    }
    return state->flows.failed || state->crossings.failed ? MS_E_NOMEM : status;
}

/* Refine the colours of flows by those of their groups and links, then the colours of links by
 * those of their flows. Sums of hashes do not depend on the order of the flows and links. */
static void colour_flows(refinement *state) {
    for (size_t i = 0; i < state->flows.count; i++) {
        flow_view *flow = &MS_AT(&state->flows, flow_view, i);
        uint64_t sum = 0;
        for (size_t c = flow->first; c < flow->first + (size_t)flow->count; c++) {
            const link_crossing *crossing = &MS_AT(&state->crossings, link_crossing, c);
            sum += join(state->links[crossing->link].colour, (uint64_t)crossing->weight);
        }
        uint64_t group = MS_AT(&state->groups, group_view, flow->group).colour;
        flow->colour = join(join(flow->own, group), sum);
        for (size_t c = flow->first; c < flow->first + (size_t)flow->count; c++) {
            const link_crossing *crossing = &MS_AT(&state->crossings, link_crossing, c);
            state->links[crossing->link].sum += join(flow->colour, (uint64_t)crossing->weight);
        }
    }
    for (int i = 0; i < state->platform->link_count; i++) {
        if (state->links[i].sum != 0) {
            state->links[i].colour = join(state->links[i].colour, state->links[i].sum);
            state->links[i].sum = 0;
        }
    }
}

/* Refine the colours of groups by those of their members and flows, then the colours of ranks by
 * those of their groups. Members count as a set, flows in the order of the plan. Groups and flows
 * are visited in the order in which add_all has entered them. */
static void colour_groups(refinement *state) {
    size_t i = 0;
    size_t f = 0;
    for (size_t c = 0; c < state->traffic->comms.count; c++) {
        const ms_comm_groups *groups = comm_at(state, c)->groups;
        const int *ranks_in_stage = groups->ranks_in_stage;
        for (int g = 0; g < groups->count; g++, i++, ranks_in_stage += groups->ranks_each) {
            group_view *group = &MS_AT(&state->groups, group_view, i);
            uint64_t sum = 0;
            for (int m = 0; m < groups->ranks_each; m++) {
                sum += join(state->rank_colours[ranks_in_stage[m]], 0);
            }
            group->colour = join(join(group->colour, group->own), sum);
            for (; f < state->flows.count && MS_AT(&state->flows, flow_view, f).group == (int32_t)i;
                 f++) {
                group->colour = join(group->colour, MS_AT(&state->flows, flow_view, f).colour);
            }
            for (int m = 0; m < groups->ranks_each; m++) {
                state->sums[ranks_in_stage[m]] += join(group->colour, 1);
            }
        }
    }
    for (int rank_in_stage = 0; rank_in_stage < state->traffic->ranks->per_pp; rank_in_stage++) {
        state->rank_colours[rank_in_stage] =
            join(state->rank_colours[rank_in_stage], state->sums[rank_in_stage]);
        state->sums[rank_in_stage] = 0;
    }
}

/* The slot of a colour in the table, or the free slot where it is to be entered. */
static size_t slot_of(const refinement *state, uint64_t colour) {
    size_t slot = (size_t)colour & (state->table_slots - 1);
    while (state->table[slot] != 0 && state->table[slot] != colour) {
        slot = (slot + 1) & (state->table_slots - 1);
    }
    return slot;
}

/* Enter a colour in the table. Returns whether it is new. */
static bool enter(refinement *state, uint64_t colour) {
    size_t slot = slot_of(state, colour);
    bool is_new = state->table[slot] == 0;
    state->table[slot] = colour;
    return is_new;
}

/* Number of different colours of ranks, groups and links that can bind. */
static size_t count_colours(refinement *state) {
    size_t count = 0;
    memset(state->table, 0, state->table_slots * sizeof *state->table);
    for (int rank_in_stage = 0; rank_in_stage < state->traffic->ranks->per_pp; rank_in_stage++) {
        count += enter(state, state->rank_colours[rank_in_stage]);
    }
    for (size_t i = 0; i < state->groups.count; i++) {
        count += enter(state, MS_AT(&state->groups, group_view, i).colour);
    }
    for (int i = 0; i < state->platform->link_count && state->can_bind != NULL; i++) {
        count += state->can_bind[i] && enter(state, state->links[i].colour);
    }
    return count;
}

/* The number of a colour in the table; if it is new, it is entered with `number`. */
static int32_t number_of(refinement *state, uint64_t colour, int32_t number) {
    size_t slot = slot_of(state, colour);
    state->numbers[slot] = state->table[slot] == 0 ? number : state->numbers[slot];
    state->table[slot] = colour;
    return state->numbers[slot];
}

/* Name the classes of links: links that flows of the same colours cross with equal weights are one
 * class, named by its lowest link. Here all links count, also those that cannot bind, as bytes are
 * summed up by class. Flows are visited in the order in which add_all has entered them.
 * link_class_out: as for ms_refine. */
static void name_links(refinement *state, int32_t *link_class_out) {
    size_t f = 0;
    for (size_t c = 0; c < state->traffic->comms.count; c++) {
        const ms_step_comm *comm = comm_at(state, c);
        for (int g = 0; g < comm->groups->count; g++) {
            const ms_coll_plan *plan = &comm->plans[g];
            for (int p = 0; p < plan->phase_count; p++) {
                const ms_phase *phase = &plan->phases[p];
                bool is_again = ms_coll_phase_is_again(plan, p);
                for (int i = 0; i < phase->count && !is_again; i++, f++) {
                    uint64_t colour = MS_AT(&state->flows, flow_view, f).colour;
                    for (int k = 0; k < phase->flows[i].count; k++) {
                        const ms_flow_link *crossing = &phase->flows[i].links[k];
                        state->links[crossing->link].sum +=
                            join(colour, (uint64_t)crossing->weight);
                    }
                }
            }
        }
    }
    memset(state->table, 0, state->table_slots * sizeof *state->table);
    for (int i = 0; i < state->platform->link_count; i++) {
        uint64_t colour = join(state->links[i].own, state->links[i].sum);
        link_class_out[i] = state->links[i].sum == 0 ? -1 : number_of(state, colour, i);
    }
}

/* Number the classes of ranks in the order of their lowest ranks. */
static void number_classes(refinement *state, int *class_out) {
    int count = 0;
    memset(state->table, 0, state->table_slots * sizeof *state->table);
    for (int rank_in_stage = 0; rank_in_stage < state->traffic->ranks->per_pp; rank_in_stage++) {
        class_out[rank_in_stage] = number_of(state, state->rank_colours[rank_in_stage], count);
        count += class_out[rank_in_stage] == count;
    }
}

/* Allocate colours and sums, and set the first colours of links.  Returns MS_OK; MS_E_NOMEM. */
static ms_status allocate(refinement *state) {
    size_t links = (size_t)state->platform->link_count;
    size_t ranks = (size_t)state->traffic->ranks->per_pp;
    state->links = MS_NEW(&state->scratch, link_view, links);
    state->rank_colours = MS_NEW(&state->scratch, uint64_t, ranks);
    state->sums = MS_NEW(&state->scratch, uint64_t, ranks);
    bool has_all = state->links != NULL && state->rank_colours != NULL && state->sums != NULL;
    for (size_t i = 0; i < links && has_all; i++) {
        state->links[i].colour = state->links[i].own = ms_link_colour(state->platform, (int)i);
    }
    return has_all ? MS_OK : MS_E_NOMEM;
}

/* Set the first colours of ranks: two indices in a stage get different colours if their ranks
 * compute at different speeds on any pipeline rank. */
static void colour_ranks(refinement *state) {
    const ms_ranks *ranks = state->traffic->ranks;
    for (int p = 0; p < ranks->pp && state->job->rank_properties != NULL; p++) {
        for (int rank_in_stage = 0; rank_in_stage < ranks->per_pp; rank_in_stage++) {
            double factor = ms_job_compute_factor(state->job, ms_rank_at(ranks, p, rank_in_stage));
            state->rank_colours[rank_in_stage] =
                join(state->rank_colours[rank_in_stage], bits_of(factor));
        }
    }
}

/* Allocate the hash table, at most half full with all colours that are counted or named at once.
 * Returns MS_OK; MS_E_NOMEM. */
static ms_status make_table(refinement *state) {
    size_t links = (size_t)state->platform->link_count;
    size_t binding = 0;
    for (size_t i = 0; i < links && state->can_bind != NULL; i++) {
        binding += state->can_bind[i];
    }
    size_t counted = (size_t)state->traffic->ranks->per_pp + state->groups.count + binding;
    size_t most = counted > links ? counted : links; /* name_links enters all links */
    state->table_slots = 64;
    while (state->table_slots < 2 * most) {
        state->table_slots *= 2;
    }
    state->table = MS_NEW(&state->scratch, uint64_t, state->table_slots);
    state->numbers = MS_NEW(&state->scratch, int32_t, state->table_slots);
    return state->table == NULL || state->numbers == NULL ? MS_E_NOMEM : MS_OK;
}

/* Refine the colours round by round until a round makes no new ones.  Returns MS_OK; MS_E_NOMEM. */
static ms_status refine(refinement *state) {
    ms_status status = allocate(state);
    status = status == MS_OK ? add_all(state) : status;
    status = status == MS_OK ? make_table(state) : status;
    size_t colours = 0;
    if (status == MS_OK) {
        colour_ranks(state);
    }
    for (size_t before = SIZE_MAX; status == MS_OK && colours != before;) {
        before = colours;
        colour_flows(state);
        colour_groups(state);
        colours = count_colours(state);
    }
    return status;
}

ms_status ms_refine(const ms_traffic *traffic, const ms_job *job, const bool *can_bind,
                    int *class_out, int32_t *link_class_out) {
    refinement state = {
        .traffic = traffic, .job = job, .platform = job->platform, .can_bind = can_bind};
    ms_arena_init(&state.scratch);
    ms_vector_init(&state.groups, sizeof(group_view));
    ms_vector_init(&state.flows, sizeof(flow_view));
    ms_vector_init(&state.crossings, sizeof(link_crossing));
    ms_status status = refine(&state);
    if (status == MS_OK) {
        name_links(&state, link_class_out);
        number_classes(&state, class_out);
    }
    ms_vector_release(&state.groups);
    ms_vector_release(&state.flows);
    ms_vector_release(&state.crossings);
    ms_arena_release(&state.scratch);
    return status;
}
