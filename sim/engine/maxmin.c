/* Flows that share links max-min fairly; see maxmin.h. */
#include "engine/maxmin.h"

#include <math.h>

/* Links whose fair shares are this close become full together. */
#define SHARE_TOLERANCE 1e-12

static inline ms_shared_flow *flow_at(const ms_maxmin *s, int32_t flow) {
    return &MS_AT(&s->flows, ms_shared_flow, flow);
}

static inline ms_shared_use *use_at(const ms_maxmin *s, int32_t use) {
    return &MS_AT(&s->uses, ms_shared_use, use);
}

ms_status ms_maxmin_init(ms_maxmin *run, const ms_maxmin_setup *setup, ms_arena *scratch) {
    *run = (ms_maxmin){.setup = *setup,
                       .look_s = INFINITY,
                       .links = MS_NEW(scratch, ms_shared_link, setup->link_count)};
    ms_vector_init(&run->flows, sizeof(ms_shared_flow));
    ms_vector_init(&run->uses, sizeof(ms_shared_use));
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
    ms_vector_release(&run->changed);
    ms_vector_release(&run->met_links);
    ms_vector_release(&run->met_flows);
}

void ms_maxmin_wake(ms_maxmin *run, double date_s, int32_t token) {
    if (token == MS_MAXMIN_LOOK) {
        run->look_s = fmin(run->look_s, date_s);
    } else {
        ms_event_queue_add(&run->timers, (ms_event){.time_s = date_s, .op = token});
    }
}

/* Append a number.  Returns whether there was memory. */
static inline bool push(ms_vector *list, int32_t number) {
    int32_t *place = ms_vector_next(list);
    if (place != NULL) {
        *place = number;
    }
    return place != NULL;
}

/* A free place among the flows, -1 when memory runs out. */
static int32_t take_flow(ms_maxmin *s) {
    if (s->free_flow == 0) {
        return ms_vector_next(&s->flows) == NULL ? -1 : (int32_t)s->flows.count - 1;
    }
    int32_t flow = s->free_flow - 1;
    s->free_flow = flow_at(s, flow)->uses;
    return flow;
}

static int32_t take_use(ms_maxmin *s) {
    if (s->free_use == 0) {
        return ms_vector_next(&s->uses) == NULL ? -1 : (int32_t)s->uses.count - 1;
    }
    int32_t use = s->free_use - 1;
    s->free_use = use_at(s, use)->flow_next;
    return use;
}

/* Put a flow on a link.  Returns MS_OK; MS_E_NOMEM. */
static ms_status use_link(ms_maxmin *s, int32_t flow, int32_t link, int32_t weight) {
    int32_t index = take_use(s);
    if (index < 0 || !push(&s->changed, link)) {
        return MS_E_NOMEM;
    }
    ms_shared_link *l = &s->links[link];
    *use_at(s, index) = (ms_shared_use){.flow = flow,
                                        .link = link,
                                        .weight = weight,
                                        .flow_next = flow_at(s, flow)->uses,
                                        .link_next = l->uses};
    if (l->uses > 0) {
        use_at(s, l->uses - 1)->link_last = index + 1;
    }
    l->uses = index + 1;
    flow_at(s, flow)->uses = index + 1;
    return MS_OK;
}

ms_status ms_maxmin_flow(ms_maxmin *run, double payload, const int32_t *route, int32_t count,
                         int32_t token) {
    int32_t flow = take_flow(run);
    if (flow < 0) {
        return MS_E_NOMEM;
    }
    *flow_at(run, flow) =
        (ms_shared_flow){.left = payload, .since_s = run->clock_s, .token = token};
    ms_status status = MS_OK;
    for (int32_t i = 0, end = 0; i < count && status == MS_OK; i = end) {
        while (end < count && route[end] == route[i]) {
            end++;
        }
        status = use_link(run, flow, route[i], end - i);
    }
    return status;
}

/* Take a flow off its links, and its place is free.  Returns MS_OK; MS_E_NOMEM. */
static ms_status remove_flow(ms_maxmin *s, int32_t flow) {
    ms_shared_flow *f = flow_at(s, flow);
    int32_t next = 0;
    for (int32_t u = f->uses; u > 0; u = next) {
        ms_shared_use *use = use_at(s, u - 1);
        next = use->flow_next;
        if (use->link_next > 0) {
            use_at(s, use->link_next - 1)->link_last = use->link_last;
        }
        if (use->link_last > 0) {
            use_at(s, use->link_last - 1)->link_next = use->link_next;
        } else {
            s->links[use->link].uses = use->link_next;
        }
        if (!push(&s->changed, use->link)) {
            return MS_E_NOMEM;
        }
        use->flow_next = s->free_use;
        s->free_use = u;
    }
    f->uses = s->free_flow;
    s->free_flow = flow + 1;
    return MS_OK;
}

static bool meet_link(ms_maxmin *s, int32_t link) {
    ms_shared_link *l = &s->links[link];
    if (l->round == s->round) {
        return true;
    }
    l->round = s->round;
    l->left = s->setup.link_bandwidths[link];
    l->weight = 0.0;
    return l->uses == 0 || push(&s->met_links, link);
}

/* Meet a flow and all links that it uses. */
static bool meet_flow(ms_maxmin *s, int32_t flow) {
    ms_shared_flow *f = flow_at(s, flow);
    f->round = s->round;
    f->found = 0.0;
    bool has_room = push(&s->met_flows, flow);
    for (int32_t u = f->uses; u > 0 && has_room; u = use_at(s, u - 1)->flow_next) {
        has_room = meet_link(s, use_at(s, u - 1)->link);
    }
    return has_room;
}

/* Find all links and flows that are connected with the links on which something changed. */
static ms_status meet_connected(ms_maxmin *s) {
    s->round++;
    s->met_links.count = 0;
    s->met_flows.count = 0;
    bool has_room = true;
    for (size_t i = 0; i < s->changed.count && has_room; i++) {
        has_room = meet_link(s, MS_AT(&s->changed, int32_t, i));
    }
    s->changed.count = 0;
    for (size_t i = 0; i < s->met_links.count && has_room; i++) {
        ms_shared_link *link = &s->links[MS_AT(&s->met_links, int32_t, i)];
        for (int32_t u = link->uses; u > 0 && has_room; u = use_at(s, u - 1)->link_next) {
            const ms_shared_use *use = use_at(s, u - 1);
            link->weight += use->weight;
            has_room = flow_at(s, use->flow)->round == s->round || meet_flow(s, use->flow);
        }
    }
    return has_room ? MS_OK : MS_E_NOMEM;
}

/* The least fair share of the links that have flows without a rate; the others leave the list. */
static double least_share(ms_maxmin *s) {
    double least = INFINITY;
    int32_t *list = s->met_links.data;
    size_t count = 0;
    for (size_t i = 0; i < s->met_links.count; i++) {
        const ms_shared_link *link = &s->links[list[i]];
        if (link->weight > 0.0) {
            double share = link->left / link->weight;
            least = share < least ? share : least;
            list[count++] = list[i];
        }
    }
    s->met_links.count = count;
    return least;
}

/* Give a flow its rate, which is no longer there for others on its links. */
static void give_rate(ms_maxmin *s, ms_shared_flow *flow, double rate) {
    flow->found = rate;
    for (int32_t u = flow->uses; u > 0; u = use_at(s, u - 1)->flow_next) {
        const ms_shared_use *use = use_at(s, u - 1);
        ms_shared_link *link = &s->links[use->link];
        link->left -= rate * use->weight;
        link->weight -= use->weight;
    }
}

/* All flows of a link that is full at `rate` and have none yet get that rate. */
static void fill_link(ms_maxmin *s, const ms_shared_link *link, double rate) {
    int32_t next = 0;
    for (int32_t u = link->uses; u > 0; u = next) {
        const ms_shared_use *use = use_at(s, u - 1);
        ms_shared_flow *flow = flow_at(s, use->flow);
        next = use->link_next;
        if (flow->found == 0.0) {
            give_rate(s, flow, rate);
        }
    }
}

/* All rates grow together until a link is full, whose flows stay at that: the others grow on.
 * Source: Bertsekas and Gallager, Data Networks (1992), section 6.5.2, max-min flow control. */
static void find_rates(ms_maxmin *s) {
    for (double least = least_share(s); isfinite(least); least = least_share(s)) {
        for (size_t i = 0; i < s->met_links.count; i++) {
            const ms_shared_link *link = &s->links[MS_AT(&s->met_links, int32_t, i)];
            if (link->weight > 0.0 &&
                link->left <= link->weight * least * (1.0 + SHARE_TOLERANCE)) {
                fill_link(s, link, least);
            }
        }
    }
}

/* A flow goes on at the rate that was found for it. */
static void take_rate(ms_maxmin *s, int32_t index) {
    ms_shared_flow *flow = flow_at(s, index);
    if (flow->found == flow->rate) {
        return;
    }
    bool is_new = flow->rate == 0.0;
    flow->left = fmax(0.0, flow->left - flow->rate * (s->clock_s - flow->since_s));
    flow->since_s = s->clock_s;
    flow->rate = flow->found;
    ms_event end = {
        .time_s = s->clock_s + flow->left / flow->rate, .op = flow->token, .mover = index + 1};
    if (is_new) {
        ms_event_queue_add(&s->ends, end);
    } else {
        ms_event_queue_move(&s->ends, end);
    }
}

/* Rates and ends after all that happened at this instant. */
static ms_status share(ms_maxmin *s) {
    if (s->changed.count == 0) {
        return MS_OK;
    }
    if (meet_connected(s) != MS_OK) {
        return MS_E_NOMEM;
    }
    find_rates(s);
    s->solved += (int64_t)s->met_flows.count;
    for (size_t i = 0; i < s->met_flows.count; i++) {
        take_rate(s, MS_AT(&s->met_flows, int32_t, i));
    }
    return MS_OK;
}

static void wake(ms_maxmin *s) {
    while (ms_event_queue_first_s(&s->timers) <= s->clock_s) {
        s->setup.on_wake(s->setup.context, ms_event_queue_take(&s->timers).op);
    }
    if (s->look_s <= s->clock_s) {
        s->look_s = INFINITY;
        s->setup.on_wake(s->setup.context, MS_MAXMIN_LOOK);
    }
}

static ms_status end_flows(ms_maxmin *s) {
    while (ms_event_queue_first_s(&s->ends) <= s->clock_s + s->setup.precision_s) {
        ms_event end = ms_event_queue_take(&s->ends);
        if (remove_flow(s, end.mover - 1) != MS_OK) {
            return MS_E_NOMEM;
        }
        s->setup.on_flow(s->setup.context, end.op);
    }
    return MS_OK;
}

ms_status ms_maxmin_run(ms_maxmin *run) {
    ms_status status = share(run);
    while (status == MS_OK) {
        double flow_s = ms_event_queue_first_s(&run->ends);
        double timer_s = ms_event_queue_first_s(&run->timers);
        double next_s = fmin(flow_s, fmin(timer_s, run->look_s));
        if (!isfinite(next_s)) {
            return MS_OK;
        }
        run->clock_s = fmax(run->clock_s, next_s);
        wake(run);
        status = end_flows(run);
        status = status == MS_OK ? share(run) : status;
    }
    return status;
}
