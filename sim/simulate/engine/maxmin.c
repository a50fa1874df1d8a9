/* Flows that share links, and dated wake-ups (maxmin.h). While every link of a flow has room, the
 * flow runs at its own rate. When a link becomes too narrow, the rates of all flows connected with
 * it are found by max-min fairness, or the flows are handed over to SimGrid. Links hold lists of
 * their flows and flows lists of their links; an entry of both is a "use". Numbers of uses and
 * flows are stored plus 1, so that 0 means none. */
#include "simulate/engine/maxmin.h"

#include <math.h>

#include "simulate/graph/dag.h"

/* Links whose fair shares differ by at most this relative amount become full in the same round: the
 * difference is rounding. */
#define SHARE_TOLERANCE 1e-12

ms_status ms_maxmin_init(ms_maxmin *run, const ms_maxmin_setup *setup, ms_arena *scratch) {
    *run = (ms_maxmin){.setup = *setup,
                       .look_s = INFINITY,
                       .links = MS_NEW(scratch, ms_shared_link, setup->link_count)};
    ms_vector_init(&run->flows, sizeof(ms_shared_flow));
    ms_vector_init(&run->uses, sizeof(ms_shared_use));
    ms_vector_init(&run->fresh, sizeof(int32_t));
    ms_vector_init(&run->changed, sizeof(int32_t));
    ms_vector_init(&run->met_links, sizeof(int32_t));
    ms_vector_init(&run->met_flows, sizeof(int32_t));
    if (run->links == NULL || setup->flows >= INT32_MAX ||
        ms_event_queue_init(&run->timers, setup->timers, 0, scratch) != MS_OK) {
        return MS_E_NOMEM;
    }
    return ms_event_queue_init(&run->ends, setup->flows, (int32_t)setup->flows, scratch);
}

void ms_maxmin_release(ms_maxmin *run) {
    ms_vector_release(&run->flows);
    ms_vector_release(&run->uses);
    ms_vector_release(&run->fresh);
    ms_vector_release(&run->changed);
    ms_vector_release(&run->met_links);
    ms_vector_release(&run->met_flows);
}

void ms_maxmin_wake_at(ms_maxmin *run, double date_s, int32_t token) {
    if (token == MS_MAXMIN_LOOK) {
        run->look_s = fmin(run->look_s, date_s);
    } else {
        ms_event_queue_add(&run->timers, (ms_event){.time_s = date_s, .op = token});
    }
}

/* Append a number to a list of numbers (int32_t).  Returns false when memory runs out. */
static inline bool push(ms_vector *list, int32_t number) {
    int32_t *slot = ms_vector_next(list);
    if (slot != NULL) {
        *slot = number;
    }
    return slot != NULL;
}

/* A slot for a new flow: a free one, or one appended to the array. Returns its number; -1 when
 * memory runs out. is_queued of the slot stays valid: see ms_shared_flow. */
static int32_t new_flow(ms_maxmin *run) {
    if (run->free_flow == 0) {
        ms_shared_flow *slot = ms_vector_next(&run->flows);
        if (slot != NULL) {
            slot->is_queued = false;
        }
        return slot == NULL ? -1 : (int32_t)run->flows.count - 1;
    }
    int32_t flow = run->free_flow - 1;
    run->free_flow = ms_maxmin_flow_at(run, flow)->uses;
    return flow;
}

/* A slot for a new use: a free one, or one appended to the array. Returns its number; -1 when
 * memory runs out. */
static int32_t new_use(ms_maxmin *run) {
    if (run->free_use == 0) {
        return ms_vector_next(&run->uses) == NULL ? -1 : (int32_t)run->uses.count - 1;
    }
    int32_t use = run->free_use - 1;
    run->free_use = ms_maxmin_use_at(run, use)->flow_next;
    return use;
}

/* Put a flow on a link: the new use becomes the first in the list of the link and in that of the
 * flow. weight: how often the flow crosses the link.  Returns MS_OK; MS_E_NOMEM. */
static ms_status use_link(ms_maxmin *run, int32_t flow, int32_t link, int32_t weight) {
    int32_t index = new_use(run);
    if (index < 0) {
        return MS_E_NOMEM;
    }
    ms_shared_link *l = &run->links[link];
    *ms_maxmin_use_at(run, index) = (ms_shared_use){.flow = flow,
                                                    .link = link,
                                                    .weight = weight,
                                                    .flow_next = ms_maxmin_flow_at(run, flow)->uses,
                                                    .link_next = l->uses};
    if (l->uses > 0) {
        ms_maxmin_use_at(run, l->uses - 1)->link_last = index + 1;
    }
    l->uses = index + 1;
    ms_maxmin_flow_at(run, flow)->uses = index + 1;
    return MS_OK;
}

/* Set the rate that a flow has with its links to itself, that of its narrowest link, and add it to
 * the demand (`asked`) on each of its links. */
static void ask_links(ms_maxmin *run, ms_shared_flow *flow) {
    flow->alone = INFINITY;
    for (int32_t u = flow->uses; u > 0; u = ms_maxmin_use_at(run, u - 1)->flow_next) {
        const ms_shared_use *use = ms_maxmin_use_at(run, u - 1);
        double rate = run->setup.link_bandwidths[use->link] / use->weight;
        flow->alone = rate < flow->alone ? rate : flow->alone;
    }
    for (int32_t u = flow->uses; u > 0; u = ms_maxmin_use_at(run, u - 1)->flow_next) {
        const ms_shared_use *use = ms_maxmin_use_at(run, u - 1);
        run->links[use->link].asked += flow->alone * use->weight;
    }
}

/* The flow is entered on its links now, and gets its first rate when all flows of this instant are
 * known (start_fresh). A slot that is used again may still have an entry in the queue, so is_queued
 * is kept. */
ms_status ms_maxmin_flow(ms_maxmin *run, double payload, const int32_t *route, int32_t count,
                         int32_t token) {
    int32_t flow = new_flow(run);
    if (flow < 0 || !push(&run->fresh, flow)) {
        return MS_E_NOMEM;
    }
    ms_shared_flow *f = ms_maxmin_flow_at(run, flow);
    *f = (ms_shared_flow){
        .left = payload, .since_s = run->clock_s, .token = token, .is_queued = f->is_queued};
    ms_status status = MS_OK;
    /* a link that is listed k times in a row is one use of weight k */
    for (int32_t i = 0, end = 0; i < count && status == MS_OK; i = end) {
        while (end < count && route[end] == route[i]) {
            end++;
        }
        status = use_link(run, flow, route[i], end - i);
    }
    if (status == MS_OK) {
        ask_links(run, f);
    }
    return status;
}

bool ms_maxmin_is_full(const ms_maxmin *run, int32_t link) {
    double room = run->setup.link_bandwidths[link] * (1.0 + MS_LINK_EXCESS);
    return run->links[link].asked > room;
}

/* Take the demand of a flow off a link. A link that was full is entered in `changed`, as its other
 * flows may speed up. The demand on a link without flows is set to 0, so that no rounding error is
 * left. Returns false when memory runs out. */
static bool leave_link(ms_maxmin *run, const ms_shared_flow *flow, const ms_shared_use *use) {
    bool has_memory = !ms_maxmin_is_full(run, use->link) || push(&run->changed, use->link);
    ms_shared_link *link = &run->links[use->link];
    link->asked = link->uses == 0 ? 0.0 : link->asked - flow->alone * use->weight;
    return has_memory;
}

/* Take a flow off its links and enter its slot and its uses in the lists of free ones.  Returns
 * MS_OK; MS_E_NOMEM. */
static ms_status remove_flow(ms_maxmin *run, int32_t flow) {
    ms_shared_flow *f = ms_maxmin_flow_at(run, flow);
    int32_t next = 0;
    for (int32_t u = f->uses; u > 0; u = next) {
        ms_shared_use *use = ms_maxmin_use_at(run, u - 1);
        next = use->flow_next;
        if (use->link_next > 0) {
            ms_maxmin_use_at(run, use->link_next - 1)->link_last = use->link_last;
        }
        if (use->link_last > 0) {
            ms_maxmin_use_at(run, use->link_last - 1)->link_next = use->link_next;
        } else {
            run->links[use->link].uses = use->link_next;
        }
        if (!leave_link(run, f, use)) {
            return MS_E_NOMEM;
        }
        use->flow_next = run->free_use;
        run->free_use = u;
    }
    f->uses = run->free_flow;
    run->free_flow = flow + 1;
    return MS_OK;
}

/* Take a link into the current search for rates, unless the search has it already (`round`). None
 * of its bandwidth is assigned to a flow yet. A link without flows is not listed.  Returns false
 * when memory runs out. */
static bool collect_link(ms_maxmin *run, int32_t link) {
    ms_shared_link *l = &run->links[link];
    if (l->round == run->round) {
        return true;
    }
    l->round = run->round;
    l->left = run->setup.link_bandwidths[link];
    l->weight = 0.0;
    return l->uses == 0 || push(&run->met_links, link);
}

/* Take a flow, and all links that it uses, into the current search for rates; it has no rate yet.
 * Returns false when memory runs out. */
static bool collect_flow(ms_maxmin *run, int32_t flow) {
    ms_shared_flow *f = ms_maxmin_flow_at(run, flow);
    f->round = run->round;
    f->found = 0.0;
    bool has_memory = push(&run->met_flows, flow);
    for (int32_t u = f->uses; u > 0 && has_memory; u = ms_maxmin_use_at(run, u - 1)->flow_next) {
        has_memory = collect_link(run, ms_maxmin_use_at(run, u - 1)->link);
    }
    return has_memory;
}

/* Find all links and flows connected with the links in `changed`, whose list is then empty:
 * breadth-first search from link to flow to link. Also sets `weight` of each link to the sum over
 * its flows.  Returns MS_OK; MS_E_NOMEM. */
static ms_status collect_connected(ms_maxmin *run) {
    run->round++;
    run->met_links.count = 0;
    run->met_flows.count = 0;
    bool has_memory = true;
    for (size_t i = 0; i < run->changed.count && has_memory; i++) {
        has_memory = collect_link(run, MS_AT(&run->changed, int32_t, i));
    }
    run->changed.count = 0;
    for (size_t i = 0; i < run->met_links.count && has_memory; i++) {
        ms_shared_link *link = &run->links[MS_AT(&run->met_links, int32_t, i)];
        for (int32_t u = link->uses; u > 0 && has_memory;
             u = ms_maxmin_use_at(run, u - 1)->link_next) {
            const ms_shared_use *use = ms_maxmin_use_at(run, u - 1);
            link->weight += use->weight;
            has_memory = ms_maxmin_flow_at(run, use->flow)->round == run->round ||
                         collect_flow(run, use->flow);
        }
    }
    return has_memory ? MS_OK : MS_E_NOMEM;
}

/* The smallest fair share of any link: unassigned bandwidth by the weight of its flows without a
 * rate [payload units per second]; INFINITY if all flows have a rate. Links whose flows all have a
 * rate leave the list. */
static double least_share(ms_maxmin *run) {
    double least = INFINITY;
    int32_t *list = run->met_links.data;
    size_t count = 0;
    for (size_t i = 0; i < run->met_links.count; i++) {
        const ms_shared_link *link = &run->links[list[i]];
        if (link->weight > 0.0) {
            double share = link->left / link->weight;
            least = share < least ? share : least;
            list[count++] = list[i];
        }
    }
    run->met_links.count = count;
    return least;
}

/* Give a flow its rate, and take that rate off the unassigned bandwidth of its links. */
static void give_rate(ms_maxmin *run, ms_shared_flow *flow, double rate) {
    flow->found = rate;
    for (int32_t u = flow->uses; u > 0; u = ms_maxmin_use_at(run, u - 1)->flow_next) {
        const ms_shared_use *use = ms_maxmin_use_at(run, u - 1);
        ms_shared_link *link = &run->links[use->link];
        link->left -= rate * use->weight;
        link->weight -= use->weight;
    }
}

/* Give `rate` to all flows of a full link that have no rate yet. */
static void fill_link(ms_maxmin *run, const ms_shared_link *link, double rate) {
    int32_t next = 0;
    for (int32_t u = link->uses; u > 0; u = next) {
        const ms_shared_use *use = ms_maxmin_use_at(run, u - 1);
        ms_shared_flow *flow = ms_maxmin_flow_at(run, use->flow);
        next = use->link_next;
        if (flow->found == 0.0) {
            give_rate(run, flow, rate);
        }
    }
}

/* Progressive filling: the rates of all flows rise together until a link is full. The flows of that
 * link keep this rate, and the others rise on. Source: Bertsekas and Gallager, Data Networks
 * (1992), section 6.5.2, max-min flow control. */
static void find_rates(ms_maxmin *run) {
    for (double least = least_share(run); isfinite(least); least = least_share(run)) {
        for (size_t i = 0; i < run->met_links.count; i++) {
            const ms_shared_link *link = &run->links[MS_AT(&run->met_links, int32_t, i)];
            if (link->weight > 0.0 &&
                link->left <= link->weight * least * (1.0 + SHARE_TOLERANCE)) {
                fill_link(run, link, least);
            }
        }
    }
}

/* Set the date at which a flow ends in the queue of ends; INFINITY: a date that is known
 * elsewhere. */
static void set_end(ms_maxmin *run, int32_t index, double date_s) {
    ms_shared_flow *flow = ms_maxmin_flow_at(run, index);
    ms_event end = {.time_s = date_s, .op = flow->token, .mover = index + 1};
    if (flow->is_queued) {
        ms_event_queue_move(&run->ends, end);
    } else {
        ms_event_queue_add(&run->ends, end);
    }
    flow->is_queued = true;
}

/* Reduce the payload left of a flow by the payload sent since its rate last changed. Rounding may
 * make the difference negative. */
static void update_left(ms_maxmin *run, ms_shared_flow *flow) {
    flow->left = fmax(0.0, flow->left - flow->rate * (run->clock_s - flow->since_s));
    flow->since_s = run->clock_s;
}

/* Let a flow go on at the rate found for it (`found`), and set its new end. Nothing changes if the
 * rate is the same, so that its end is not rounded again. */
static void apply_rate(ms_maxmin *run, int32_t index) {
    ms_shared_flow *flow = ms_maxmin_flow_at(run, index);
    if (flow->found == flow->rate) {
        return;
    }
    update_left(run, flow);
    flow->rate = flow->found;
    set_end(run, index, run->clock_s + flow->left / flow->rate);
}

void ms_maxmin_hand_over(ms_maxmin *run, int32_t flow) {
    ms_shared_flow *f = ms_maxmin_flow_at(run, flow);
    update_left(run, f);
    f->is_away = true;
    run->away++;
    if (f->is_queued) {
        set_end(run, flow, INFINITY);
    }
}

/* Start the flows that were added at this instant. A flow whose links all have room runs at its own
 * rate. Otherwise its full links are entered in `changed`, and the flow waits for `share`. Returns
 * MS_OK; MS_E_NOMEM. */
static ms_status start_fresh(ms_maxmin *run) {
    bool has_memory = true;
    for (size_t i = 0; i < run->fresh.count; i++) {
        int32_t index = MS_AT(&run->fresh, int32_t, i);
        ms_shared_flow *flow = ms_maxmin_flow_at(run, index);
        bool has_room = true;
        for (int32_t u = flow->uses; u > 0; u = ms_maxmin_use_at(run, u - 1)->flow_next) {
            int32_t link = ms_maxmin_use_at(run, u - 1)->link;
            if (ms_maxmin_is_full(run, link)) {
                has_room = false;
                has_memory = push(&run->changed, link) && has_memory;
            }
        }
        if (has_room) {
            flow->found = flow->alone;
            apply_rate(run, index);
        }
    }
    run->fresh.count = 0;
    return has_memory ? MS_OK : MS_E_NOMEM;
}

/* Find the rates of all flows on the links in `changed` and of the flows connected with them.
 * Returns MS_OK; MS_E_NOMEM. */
static ms_status solve(ms_maxmin *run) {
    if (collect_connected(run) != MS_OK) {
        return MS_E_NOMEM;
    }
    find_rates(run);
    run->solved += (int64_t)run->met_flows.count;
    for (size_t i = 0; i < run->met_flows.count; i++) {
        apply_rate(run, MS_AT(&run->met_flows, int32_t, i));
    }
    return MS_OK;
}

/* Set rates and ends once everything at this instant has happened: flows that start and end
 * together then cost one solution.  Returns MS_OK; MS_E_NOMEM; what setup.share returns. */
static ms_status share(ms_maxmin *run) {
    if (start_fresh(run) != MS_OK) {
        return MS_E_NOMEM;
    }
    if (run->changed.count == 0) {
        return MS_OK;
    }
    run->has_shared = true;
    return run->setup.share != NULL ? run->setup.share(run->setup.share_context) : solve(run);
}

/* Call on_wake for all wake-ups whose date has come. MS_MAXMIN_LOOK comes last, and its date is
 * cleared first, because on_wake may set the next one. */
static void wake(ms_maxmin *run) {
    while (ms_event_queue_first_s(&run->timers) <= run->clock_s) {
        run->setup.on_wake(run->setup.context, ms_event_queue_take(&run->timers).op);
    }
    if (run->look_s <= run->clock_s) {
        run->look_s = INFINITY;
        run->setup.on_wake(run->setup.context, MS_MAXMIN_LOOK);
    }
}

ms_status ms_maxmin_end(ms_maxmin *run, int32_t flow) {
    const ms_shared_flow *f = ms_maxmin_flow_at(run, flow);
    int32_t token = f->token;
    run->away -= f->is_away;
    ms_status status = remove_flow(run, flow);
    if (status == MS_OK) {
        run->setup.on_flow(run->setup.context, token);
    }
    return status;
}

/* End all flows whose end lies within precision_s of now.  Returns MS_OK; MS_E_NOMEM. */
static ms_status end_flows(ms_maxmin *run) {
    ms_status status = MS_OK;
    while (status == MS_OK &&
           ms_event_queue_first_s(&run->ends) <= run->clock_s + run->setup.precision_s) {
        int32_t flow = ms_event_queue_take(&run->ends).mover - 1;
        ms_maxmin_flow_at(run, flow)->is_queued = false;
        status = ms_maxmin_end(run, flow);
    }
    return status;
}

double ms_maxmin_next_s(ms_maxmin *run) {
    if (run->fresh.count > 0 || run->changed.count > 0) {
        return run->clock_s;
    }
    double flow_s = ms_event_queue_first_s(&run->ends);
    double timer_s = ms_event_queue_first_s(&run->timers);
    return fmin(flow_s, fmin(timer_s, run->look_s));
}

double ms_maxmin_quiet_until_s(ms_maxmin *run) {
    if (run->fresh.count > 0 || run->changed.count > 0 || run->away > 0) {
        return run->clock_s;
    }
    double flow_s = ms_event_queue_first_s(&run->ends) - run->setup.precision_s;
    double timer_s = ms_event_queue_first_s(&run->timers);
    return flow_s < timer_s ? flow_s : timer_s;
}

ms_status ms_maxmin_step(ms_maxmin *run) {
    wake(run);
    ms_status status = end_flows(run);
    return status == MS_OK ? share(run) : status;
}

ms_status ms_maxmin_run(ms_maxmin *run) {
    ms_status status = ms_maxmin_step(run);
    double next_s = ms_maxmin_next_s(run);
    for (; status == MS_OK && isfinite(next_s); next_s = ms_maxmin_next_s(run)) {
        run->clock_s = fmax(run->clock_s, next_s);
        status = ms_maxmin_step(run);
    }
    return status;
}
