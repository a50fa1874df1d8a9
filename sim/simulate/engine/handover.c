/* Hands flows that have to share links over to SimGrid (handover.h). Two clocks run: that of
 * maxmin.c, which knows all flows and all dates, and SimGrid's, which runs only while SimGrid has
 * flows. SimGrid calls back at the ends of its flows and at a "tick", the date of the next event
 * that maxmin.c knows. In a callback the clock of maxmin.c follows SimGrid's. */
#include "simulate/engine/handover.h"

#include <math.h>

#include "simulate/engine/simgrid_start.h"

/* Keep the first failure. */
static void keep_status(ms_handover *h, ms_status status) {
    h->status = h->status == MS_OK ? status : h->status;
}

/* Start a flow that was handed over in SimGrid, now: the payload that is left, over a route that
 * has each link as often as the flow crosses it. Returns MS_OK; MS_E_NOMEM; as ms_bridge_flow. */
static ms_status start_flow(ms_handover *h, int32_t index) {
    const ms_shared_flow *flow = ms_maxmin_flow_at(h->run, index);
    h->route.count = 0;
    for (int32_t u = flow->uses; u > 0; u = ms_maxmin_use_at(h->run, u - 1)->flow_next) {
        const ms_shared_use *use = ms_maxmin_use_at(h->run, u - 1);
        for (int32_t i = 0; i < use->weight; i++) {
            ms_vector_add(&h->route, &use->link, 1);
        }
    }
    if (h->route.failed) {
        return MS_E_NOMEM;
    }
    uint64_t payload = (uint64_t)llround(fmax(1.0, flow->left)); /* must be > 0 */
    return ms_bridge_flow(payload, h->route.data, (int32_t)h->route.count, index);
}

/* Start all pending flows in SimGrid, whose clock has reached that of maxmin.c. */
static void start_pending(ms_handover *h) {
    for (size_t i = 0; i < h->pending.count && h->status == MS_OK; i++) {
        keep_status(h, start_flow(h, MS_AT(&h->pending, int32_t, i)));
    }
    h->pending.count = 0;
}

/* Let SimGrid call on_tick at the next event that maxmin.c knows, as long as SimGrid has flows;
 * without flows it has no tick, so that ms_bridge_run ends. */
static void set_tick(ms_handover *h) {
    bool goes_on = h->run->away > 0 && h->status == MS_OK;
    keep_status(h, ms_bridge_tick(goes_on ? ms_maxmin_next_s(h->run) : INFINITY));
}

/* Called when SimGrid's clock has reached the tick: handle the events of maxmin.c that are due. */
static void on_tick(void *context) {
    ms_handover *h = context;
    h->run->clock_s = fmax(h->run->clock_s, ms_bridge_clock_s());
    start_pending(h);
    if (h->status == MS_OK) {
        keep_status(h, ms_maxmin_step(h->run));
    }
    set_tick(h);
}

/* Called when SimGrid has finished a flow. */
static void on_flow(void *context, int32_t flow) {
    ms_handover *h = context;
    h->run->clock_s = fmax(h->run->clock_s, ms_bridge_clock_s());
    if (h->status == MS_OK) {
        keep_status(h, ms_maxmin_end(h->run, flow));
    }
    set_tick(h);
}

/* Hand over the flows on a link if it is full, except flows that are over now within precision_s
 * and flows that SimGrid has already. They are started in SimGrid later (start_pending). */
static void hand_over_link(ms_handover *h, int32_t link) {
    ms_maxmin *run = h->run;
    if (!ms_maxmin_is_full(run, link)) {
        return;
    }
    for (int32_t u = run->links[link].uses; u > 0; u = ms_maxmin_use_at(run, u - 1)->link_next) {
        int32_t index = ms_maxmin_use_at(run, u - 1)->flow;
        const ms_shared_flow *flow = ms_maxmin_flow_at(run, index);
        double since_s = run->clock_s - flow->since_s;
        bool is_over = flow->left - flow->rate * since_s <= flow->rate * run->setup.precision_s;
        if (!flow->is_away && !is_over) {
            ms_maxmin_hand_over(run, index);
            ms_vector_add(&h->pending, &index, 1);
        }
    }
}

/* Start SimGrid, at time 0.  Returns as ms_simgrid_start. */
static ms_status start_simgrid(ms_handover *h) {
    const ms_maxmin_setup *setup = &h->run->setup;
    h->setup = (ms_bridge_setup){.link_bandwidths = setup->link_bandwidths,
                                 .link_count = setup->link_count,
                                 .precision_s = setup->precision_s,
                                 .context = h,
                                 .on_tick = on_tick,
                                 .on_flow = on_flow};
    h->is_started = true;
    return ms_simgrid_start(&h->setup, h->diag);
}

/* Run SimGrid until it has no flows left, starting it at the first call. If its clock is behind
 * that of maxmin.c, SimGrid first runs to that date without flows, and on_tick starts the pending
 * flows at that date. Returns MS_OK, or the first failure. */
static ms_status run_inside(ms_handover *h) {
    ms_status status = h->is_started ? MS_OK : start_simgrid(h);
    if (status != MS_OK) {
        return status;
    }
    h->is_inside = true;
    if (h->run->clock_s > ms_bridge_clock_s()) {
        keep_status(h, ms_bridge_tick(h->run->clock_s));
    } else {
        start_pending(h);
        set_tick(h);
    }
    keep_status(h, h->status == MS_OK ? ms_bridge_run() : MS_OK);
    h->is_inside = false;
    return h->status;
}

ms_status ms_handover_share(void *handover) {
    ms_handover *h = handover;
    for (size_t i = 0; i < h->run->changed.count; i++) {
        hand_over_link(h, MS_AT(&h->run->changed, int32_t, i));
    }
    h->run->changed.count = 0;
    if (h->pending.failed) {
        return MS_E_NOMEM;
    }
    if (h->is_inside) {
        start_pending(h);
        return h->status;
    }
    return h->pending.count > 0 ? run_inside(h) : MS_OK;
}

void ms_handover_init(ms_handover *handover, ms_maxmin *run, ms_diag *diag) {
    *handover = (ms_handover){.run = run, .diag = diag, .status = MS_OK};
    ms_vector_init(&handover->pending, sizeof(int32_t));
    ms_vector_init(&handover->route, sizeof(int32_t));
}

void ms_handover_release(ms_handover *handover) {
    ms_vector_release(&handover->pending);
    ms_vector_release(&handover->route);
}
