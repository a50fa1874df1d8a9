/* Max-min fair sharing of links by flows (ms_fluid_run), by progressive filling: the link that
 * leaves its flows the lowest rate (the bottleneck) fixes the rate of all its flows; their share is
 * subtracted from all links that they cross; and so on, until every flow has a rate. When a flow
 * ends, rates are found anew. A use is the crossing of one link by one flow, with a weight: the
 * capacity that a rate of 1 takes.  Source: Bertsekas, Gallager, Data Networks, 2nd ed., section
 * 6.5.2. */
#include "collective/fluid.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/arena.h"

/* A flow with at most this share of its bytes left has ended; the rest is rounding. */
#define REST 1e-13

/* A link while rates are found. */
typedef struct fluid_link {
    double capacity_Bps;
    double left_Bps; /* capacity not taken by flows whose rate is known */
    double weight;   /* sum over the running flows whose rate is not known */
    int flows;       /* number of flows that cross the link */
} fluid_link;

/* A run of the fluid model. */
typedef struct fluid_state {
    const ms_fluid_flow *flows;
    int count;
    double *left_B; /* [count] bytes left of each flow; 0: it has ended */
    double *rate;   /* [count] rate of each flow; below 0: not known yet */
    int32_t *at;    /* [uses] index into `links` of each use, flow after flow */
    int *first;     /* [count] index into `at` of each flow's first use */
    fluid_link *links;
    int link_count;
} fluid_state;

/* A use: the number that the caller gives its link, and the index of the use. */
typedef struct named_use {
    int32_t link;
    int32_t use;
} named_use;

/* Order of two uses for qsort: ascending by link. */
static int by_link(const void *a, const void *b) {
    int32_t x = ((const named_use *)a)->link;
    int32_t y = ((const named_use *)b)->link;
    return (x > y) - (x < y);
}

/* Number the links in use from 0, and fill in `first`, `at` and link_count. named: [uses] scratch.
 */
static void number_links(fluid_state *s, named_use *named) {
    size_t next = 0;
    for (int f = 0; f < s->count; f++) {
        s->first[f] = (int)next;
        for (int u = 0; u < s->flows[f].count; u++) {
            named[next] = (named_use){s->flows[f].uses[u].link, (int32_t)next};
            next++;
        }
    }
    qsort(named, next, sizeof *named, by_link);
    for (size_t i = 0; i < next; i++) {
        s->link_count += i == 0 || named[i].link != named[i - 1].link;
        s->at[named[i].use] = s->link_count - 1;
    }
}

/* Allocate and fill in the state: all flows at their start, rates not known. Returns MS_OK;
 * MS_E_NOMEM. */
static ms_status prepare(fluid_state *s, ms_arena *scratch) {
    int uses = 0;
    for (int f = 0; f < s->count; f++) {
        uses += s->flows[f].count;
    }
    named_use *named = MS_NEW(scratch, named_use, uses);
    s->left_B = MS_NEW(scratch, double, s->count);
    s->rate = MS_NEW(scratch, double, s->count);
    s->first = MS_NEW(scratch, int, s->count);
    s->at = MS_NEW(scratch, int32_t, uses);
    s->links = MS_NEW(scratch, fluid_link, uses);
    if (named == NULL || s->left_B == NULL || s->rate == NULL || s->first == NULL ||
        s->at == NULL || s->links == NULL) {
        return MS_E_NOMEM;
    }
    number_links(s, named);
    for (int f = 0; f < s->count; f++) {
        const ms_fluid_flow *flow = &s->flows[f];
        s->left_B[f] = flow->count > 0 ? flow->bytes : 0.0;
        for (int u = 0; u < flow->count; u++) {
            fluid_link *link = &s->links[s->at[s->first[f] + u]];
            link->capacity_Bps = flow->uses[u].capacity_Bps;
            link->flows++;
        }
    }
    return MS_OK;
}

/* Time of a flow that has its links for itself [s]. */
static double time_alone(const ms_fluid_flow *flow) {
    double time_s = 0.0;
    for (int u = 0; u < flow->count; u++) {
        time_s = fmax(time_s, ms_fluid_use_time_s(flow->bytes, &flow->uses[u]));
    }
    return time_s;
}

/* End all flows that share no link, at their time alone. This gives such a flow exactly the time
 * that it has as the only flow of a phase. Sets the ends of all other flows to 0. */
static void end_private_flows(fluid_state *s, double *end_s_out) {
    for (int f = 0; f < s->count; f++) {
        bool is_private = true;
        for (int u = 0; u < s->flows[f].count; u++) {
            is_private = is_private && s->links[s->at[s->first[f] + u]].flows == 1;
        }
        end_s_out[f] = 0.0;
        if (is_private) {
            end_s_out[f] = time_alone(&s->flows[f]);
            s->left_B[f] = 0.0;
        }
    }
}

/* Begin progressive filling: no rate is known (-1), all links have their full capacity, and the
 * weight of a link is the sum over the running flows that cross it. */
static void begin_sharing(fluid_state *s) {
    for (int i = 0; i < s->link_count; i++) {
        s->links[i].left_Bps = s->links[i].capacity_Bps;
        s->links[i].weight = 0.0;
    }
    for (int f = 0; f < s->count; f++) {
        s->rate[f] = -1.0;
        for (int u = 0; u < s->flows[f].count && s->left_B[f] > 0.0; u++) {
            s->links[s->at[s->first[f] + u]].weight += s->flows[f].uses[u].weight;
        }
    }
}

/* Find the bottleneck: the link that leaves the lowest rate to its flows of unknown rate. *share:
 * at the call the rate of the bottleneck before; becomes the rate of the new one. In exact
 * arithmetic the rate never falls from one bottleneck to the next, so rounding is not allowed to
 * lower it. Returns the link; -1: no flow has an unknown rate. */
static int find_bottleneck(const fluid_state *s, double *share) {
    double least = INFINITY;
    int narrowest = -1;
    for (int i = 0; i < s->link_count; i++) {
        /* weights are whole numbers, so nothing but 0 is below a half */
        if (s->links[i].weight < 0.5) {
            continue;
        }
        double left_Bps = s->links[i].left_Bps / s->links[i].weight;
        if (left_Bps < least) {
            narrowest = i;
            least = left_Bps;
        }
    }
    *share = fmax(*share, least);
    return narrowest;
}

/* Set the rate of every running flow that crosses link `link` and has no rate yet. On each link
 * that the flow crosses, the rate is subtracted from the capacity left, and the flow's weight from
 * the sum of weights. */
static void fix_rates(fluid_state *s, int link, double rate) {
    for (int f = 0; f < s->count; f++) {
        const ms_fluid_flow *flow = &s->flows[f];
        bool crosses = false;
        for (int u = 0; u < flow->count && s->left_B[f] > 0.0 && s->rate[f] < 0.0; u++) {
            crosses = crosses || s->at[s->first[f] + u] == link;
        }
        if (!crosses) {
            continue;
        }
        s->rate[f] = rate;
        for (int u = 0; u < flow->count; u++) {
            fluid_link *crossed = &s->links[s->at[s->first[f] + u]];
            crossed->left_Bps -= rate * flow->uses[u].weight;
            crossed->weight -= flow->uses[u].weight;
        }
    }
}

/* Find the rates of all running flows. */
static void share_links(fluid_state *s) {
    double rate = 0.0;
    begin_sharing(s);
    for (int link = find_bottleneck(s, &rate); link >= 0; link = find_bottleneck(s, &rate)) {
        fix_rates(s, link, rate);
    }
}

/* Advance time to the end of the next flow, or of several at once. Returns false if no flow is
 * running. */
static bool advance_to_next_end(fluid_state *s, double *now_s, double *end_s_out) {
    double step_s = INFINITY;
    for (int f = 0; f < s->count; f++) {
        if (s->left_B[f] > 0.0) {
            step_s = fmin(step_s, s->left_B[f] / s->rate[f]);
        }
    }
    if (!isfinite(step_s)) {
        return false;
    }
    *now_s += step_s;
    for (int f = 0; f < s->count; f++) {
        if (s->left_B[f] > 0.0) {
            s->left_B[f] -= s->rate[f] * step_s;
            if (s->left_B[f] <= REST * s->flows[f].bytes) {
                s->left_B[f] = 0.0;
                end_s_out[f] = *now_s;
            }
        }
    }
    return true;
}

/* Find the ends of flows that all start at 0 and share links by max-min fairness. After each end of
 * a flow, the rates of the others are found anew. */
ms_status ms_fluid_run(const ms_fluid_flow *flows, int count, double *end_s_out) {
    if (count == 1) {
        end_s_out[0] = time_alone(flows);
        return MS_OK;
    }
    ms_arena scratch;
    fluid_state s = {.flows = flows, .count = count};
    ms_arena_init(&scratch);
    ms_status status = prepare(&s, &scratch);
    if (status == MS_OK) {
        end_private_flows(&s, end_s_out);
    }
    double now_s = 0.0;
    bool is_running = status == MS_OK;
    while (is_running) {
        share_links(&s);
        is_running = advance_to_next_end(&s, &now_s, end_s_out);
    }
    ms_arena_release(&scratch);
    return status;
}

/* Find the max-min fair rates of flows while all of them run. */
ms_status ms_fluid_rates(const ms_fluid_flow *flows, int count, double *rate_Bps_out) {
    ms_arena scratch;
    fluid_state s = {.flows = flows, .count = count};
    ms_arena_init(&scratch);
    ms_status status = prepare(&s, &scratch);
    if (status == MS_OK) {
        share_links(&s);
    }
    for (int f = 0; f < count && status == MS_OK; f++) {
        rate_Bps_out[f] = flows[f].count > 0 ? s.rate[f] : INFINITY;
    }
    ms_arena_release(&scratch);
    return status;
}
