/* Links of an outer tier that have room for all that the links below can send into them, or take
 * from them: such a link is full only when these are. */
#include "simulate/lower/refine.h"

/* Which way feeders lie. */
enum { BEFORE, BEHIND, WAYS };

/* Arrays by link. */
typedef struct feeder_finder {
    const ms_traffic *traffic;
    const ms_platform *platform;
    int32_t *fed[WAYS];    /* the link of an outer tier that it is a feeder of, -1: none */
    double *fed_Bps[WAYS]; /* capacity of its feeders */
    bool *lacks[WAYS];     /* some flow crosses it more often than its feeders */
    int64_t *share[WAYS];  /* crossings of its feeders by the flow at hand, zeros between flows */
} feeder_finder;

static ms_status allocate(feeder_finder *f, ms_arena *scratch) {
    int links = f->platform->link_count;
    for (int way = 0; way < WAYS; way++) {
        f->fed[way] = MS_NEW(scratch, int32_t, links);
        f->fed_Bps[way] = MS_NEW(scratch, double, links);
        f->lacks[way] = MS_NEW(scratch, bool, links);
        f->share[way] = MS_NEW(scratch, int64_t, links);
        for (int i = 0; i < links && !scratch->has_failed; i++) {
            f->fed[way][i] = -1;
        }
    }
    return scratch->has_failed ? MS_E_NOMEM : MS_OK;
}

/* Guess feeders from one way of every GPU through the whole fabric: links that follow each other.
 */
static void guess_feeders(feeder_finder *f) {
    int gpus = ms_platform_gpus(f->platform);
    for (int gpu = 0; gpu < gpus; gpu++) {
        ms_route route;
        ms_platform_route(f->platform, gpu, (gpu + gpus / 2) % gpus, &route);
        for (int i = 0; i + 1 < route.count; i++) {
            int inner = ms_platform_link_tier(f->platform, route.links[i]);
            int outer = ms_platform_link_tier(f->platform, route.links[i + 1]);
            if (inner < outer) {
                f->fed[BEFORE][route.links[i]] = route.links[i + 1];
            } else if (outer < inner) {
                f->fed[BEHIND][route.links[i + 1]] = route.links[i];
            }
        }
    }
    for (int i = 0; i < f->platform->link_count; i++) {
        for (int way = 0; way < WAYS; way++) {
            if (f->fed[way][i] >= 0) {
                double capacity_Bps = ms_platform_link(f->platform, i).capacity_Bps;
                f->fed_Bps[way][f->fed[way][i]] += capacity_Bps;
            }
        }
    }
}

/* Whether a flow crosses feeders of each link as often as the link: what the guess is worth. */
static void try_flow(feeder_finder *f, const ms_flow *flow) {
    for (int way = 0; way < WAYS; way++) {
        for (int i = 0; i < flow->count; i++) {
            int32_t fed = f->fed[way][flow->links[i].link];
            if (fed >= 0) {
                f->share[way][fed] += flow->links[i].weight;
            }
        }
        for (int i = 0; i < flow->count; i++) {
            int link = flow->links[i].link;
            f->lacks[way][link] =
                f->lacks[way][link] || flow->links[i].weight > f->share[way][link];
        }
        for (int i = 0; i < flow->count; i++) {
            int32_t fed = f->fed[way][flow->links[i].link];
            if (fed >= 0) {
                f->share[way][fed] = 0;
            }
        }
    }
}

static void try_plan(feeder_finder *f, const ms_coll_plan *plan) {
    for (int p = 0; p < plan->phase_count; p++) {
        const ms_phase *phase = &plan->phases[p];
        bool is_again = ms_coll_phase_is_again(plan, p);
        for (int i = 0; i < phase->count && !is_again; i++) {
            try_flow(f, &phase->flows[i]);
        }
    }
}

ms_status ms_leave_out_fed_links(const ms_traffic *traffic, const ms_platform *platform,
                                 ms_arena *scratch, bool *can_bind) {
    feeder_finder f = {.traffic = traffic, .platform = platform};
    if (allocate(&f, scratch) != MS_OK) {
        return MS_E_NOMEM;
    }
    guess_feeders(&f);
    for (size_t c = 0; c < traffic->comms.count; c++) {
        const ms_step_comm *comm = &MS_AT(&traffic->comms, ms_step_comm, c);
        for (int g = 0; g < comm->groups->count; g++) {
            try_plan(&f, &comm->plans[g]);
        }
    }
    for (int i = 0; i < platform->link_count; i++) {
        double room_Bps = ms_platform_link(platform, i).capacity_Bps * (1.0 + MS_LINK_EXCESS);
        for (int way = 0; way < WAYS; way++) {
            bool is_fed = f.fed_Bps[way][i] > 0.0 && !f.lacks[way][i];
            can_bind[i] = can_bind[i] && !(is_fed && f.fed_Bps[way][i] <= room_Bps);
        }
    }
    return MS_OK;
}
