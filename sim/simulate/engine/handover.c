/* Flows that have to share links, handed over to SimGrid; see handover.h. */
#include "simulate/engine/handover.h"

#include <math.h>

#include "simulate/engine/simgrid_start.h"

static void keep_status(ms_handover *h, ms_status status) {
    h->status = h->status == MS_OK ? status : h->status;
}

/* A flow is SimGrid's from now on: what of it is left, over all its links. */
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
    uint64_t payload = (uint64_t)llround(fmax(1.0, flow->left));
    return ms_bridge_flow(payload, h->route.data, (int32_t)h->route.count, index);
}

/* SimGrid's clock has come to ours. */
static void start_pending(ms_handover *h) {
    for (size_t i = 0; i < h->pending.count && h->status == MS_OK; i++) {
        keep_status(h, start_flow(h, MS_AT(&h->pending, int32_t, i)));
    }
    h->pending.count = 0;
}

/* Have SimGrid wake us for what is known without it, as long as it has flows. */
static void set_tick(ms_handover *h) {
    bool goes_on = h->run->away > 0 && h->status == MS_OK;
    keep_status(h, ms_bridge_tick(goes_on ? ms_maxmin_next_s(h->run) : INFINITY));
}

static void on_tick(void *context) {
    ms_handover *h = context;
    h->run->clock_s = fmax(h->run->clock_s, ms_bridge_clock_s());
    start_pending(h);
    if (h->status == MS_OK) {
        keep_status(h, ms_maxmin_step(h->run));
    }
    set_tick(h);
}

static void on_flow(void *context, int32_t flow) {
    ms_handover *h = context;
    h->run->clock_s = fmax(h->run->clock_s, ms_bridge_clock_s());
    if (h->status == MS_OK) {
        keep_status(h, ms_maxmin_end(h->run, flow));
    }
    set_tick(h);
}

/* Hand over the flows on a link that is full, but for those that end now anyhow. */
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

/* SimGrid, at time 0. */
static ms_status start(ms_handover *h) {
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

/* Run SimGrid until it has no flows any more. */
static ms_status run_inside(ms_handover *h) {
    ms_status status = h->is_started ? MS_OK : start(h);
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
