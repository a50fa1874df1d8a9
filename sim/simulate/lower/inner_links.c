/* Finds links of an outer tier that have room for all that their inner links can send into them or
 * take from them: such a link is full only when its inner links are, so it cannot bind by itself.
 * The inner links of a link are those of the next tier inwards that lead to it or away from it,
 * such as the links of a leaf switch to its GPUs for an uplink of the leaf. They are guessed from
 * routes, and the guess is tested with all flows. */
#include "simulate/lower/refine.h"

/* On which side of an outer link a flow crosses the inner links: before it or behind it. */
enum { BEFORE, BEHIND, WAYS };

/* The state of the search. Arrays are [platform links] for each side. */
typedef struct inner_link_finder {
    const ms_traffic *traffic;
    const ms_platform *platform;
    int32_t *outer[WAYS];    /* of an inner link: its outer link, -1: none */
    double *inner_Bps[WAYS]; /* of an outer link: capacity of all its inner links [B/s] */
    bool *lacks[WAYS];       /* of an outer link: some flow crosses it more often than its inner
                                links */
    int64_t *share[WAYS];    /* of an outer link: crossings of its inner links by the current flow;
                                zeros between flows */
} inner_link_finder;

/* Allocate the arrays, without inner links.  Returns MS_OK; MS_E_NOMEM. */
static ms_status allocate(inner_link_finder *finder, ms_arena *scratch) {
    int links = finder->platform->link_count;
    for (int way = 0; way < WAYS; way++) {
        finder->outer[way] = MS_NEW(scratch, int32_t, links);
        finder->inner_Bps[way] = MS_NEW(scratch, double, links);
        finder->lacks[way] = MS_NEW(scratch, bool, links);
        finder->share[way] = MS_NEW(scratch, int64_t, links);
        for (int i = 0; i < links && !scratch->has_failed; i++) {
            finder->outer[way][i] = -1;
        }
    }
    return scratch->has_failed ? MS_E_NOMEM : MS_OK;
}

/* Guess the inner links of each link from one route for every GPU through the whole fabric (to the
 * GPU half the machine away): of two links that follow each other, the one of the inner tier is an
 * inner link of the other. Also sums up the capacities of inner links. */
static void guess_inner_links(inner_link_finder *finder) {
    int gpus = ms_platform_gpus(finder->platform);
    for (int gpu = 0; gpu < gpus; gpu++) {
        ms_route route;
        ms_platform_route(finder->platform, gpu, (gpu + gpus / 2) % gpus, &route);
        for (int i = 0; i + 1 < route.count; i++) {
            int inner = ms_platform_link_tier(finder->platform, route.links[i]);
            int outer = ms_platform_link_tier(finder->platform, route.links[i + 1]);
            if (inner < outer) {
                finder->outer[BEFORE][route.links[i]] = route.links[i + 1];
            } else if (outer < inner) {
                finder->outer[BEHIND][route.links[i + 1]] = route.links[i];
            }
        }
    }
    for (int i = 0; i < finder->platform->link_count; i++) {
        for (int way = 0; way < WAYS; way++) {
            if (finder->outer[way][i] >= 0) {
                double capacity_Bps = ms_platform_link(finder->platform, i).capacity_Bps;
                finder->inner_Bps[way][finder->outer[way][i]] += capacity_Bps;
            }
        }
    }
}

/* Test the guess with a flow: `lacks` is set for each link that the flow crosses more often than
 * the link's inner links. The inner links then do not limit the load of that link. finder->share is
 * zero before and after the call. */
static void test_flow(inner_link_finder *finder, const ms_flow *flow) {
    for (int way = 0; way < WAYS; way++) {
        for (int i = 0; i < flow->count; i++) {
            int32_t outer = finder->outer[way][flow->links[i].link];
            if (outer >= 0) {
                finder->share[way][outer] += flow->links[i].weight;
            }
        }
        for (int i = 0; i < flow->count; i++) {
            int link = flow->links[i].link;
            finder->lacks[way][link] =
                finder->lacks[way][link] || flow->links[i].weight > finder->share[way][link];
        }
        for (int i = 0; i < flow->count; i++) {
            int32_t outer = finder->outer[way][flow->links[i].link];
            if (outer >= 0) {
                finder->share[way][outer] = 0;
            }
        }
    }
}

/* Test the guess with all flows of a group's plan. */
static void test_plan(inner_link_finder *finder, const ms_coll_plan *plan) {
    for (int p = 0; p < plan->phase_count; p++) {
        const ms_phase *phase = &plan->phases[p];
        bool is_again = ms_coll_phase_is_again(plan, p);
        for (int i = 0; i < phase->count && !is_again; i++) {
            test_flow(finder, &phase->flows[i]);
        }
    }
}

/* A link cannot bind if on one side its inner links have no more capacity than the link itself, and
 * no flow crosses the link more often than its inner links. */
ms_status ms_leave_out_wide_links(const ms_traffic *traffic, const ms_platform *platform,
                                  ms_arena *scratch, bool *can_bind) {
    inner_link_finder finder = {.traffic = traffic, .platform = platform};
    if (allocate(&finder, scratch) != MS_OK) {
        return MS_E_NOMEM;
    }
    guess_inner_links(&finder);
    for (size_t c = 0; c < traffic->comms.count; c++) {
        const ms_step_comm *comm = &MS_AT(&traffic->comms, ms_step_comm, c);
        for (int g = 0; g < comm->groups->count; g++) {
            test_plan(&finder, &comm->plans[g]);
        }
    }
    for (int i = 0; i < platform->link_count; i++) {
        double room_Bps = ms_platform_link(platform, i).capacity_Bps * (1.0 + MS_LINK_EXCESS);
        /* inner links on one side are enough, if they have no more capacity than the link */
        for (int way = 0; way < WAYS; way++) {
            bool has_inner = finder.inner_Bps[way][i] > 0.0 && !finder.lacks[way][i];
            can_bind[i] = can_bind[i] && !(has_inner && finder.inner_Bps[way][i] <= room_Bps);
        }
    }
    return MS_OK;
}
