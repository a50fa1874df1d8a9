/* All-to-alls among random members, with a message beside them, against every message of theirs on
 * its own: rates by progressive filling, written down plainly and without folding. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "cases.h"
#include "plan_fixture.h"

enum { LAYOUTS = 20, MEMBERS_MAX = 16, FLOWS_MAX = MEMBERS_MAX * MEMBERS_MAX + 1 };

/* One message, or one flow. */
typedef struct message {
    ms_route route;
    double left_B;
    double rate_Bps; /* < 0: not known yet */
    double end_s;
} message;

typedef struct network {
    const ms_platform *platform;
    message messages[FLOWS_MAX];
    int count;
} network;

static void add_message(network *n, int source, int destination, double bytes) {
    message *m = &n->messages[n->count++];
    *m = (message){.left_B = bytes};
    ms_platform_route(n->platform, source, destination, &m->route);
}

static bool crosses(const message *m, int link) {
    for (int i = 0; i < m->route.count; i++) {
        if (m->route.links[i] == link) {
            return true;
        }
    }
    return false;
}

/* What a link can still give to each of its messages without a rate; INFINITY: it has none. */
static double share_of(const network *n, int link) {
    double room_Bps = ms_platform_link(n->platform, link).capacity_Bps;
    int waiting = 0;
    for (int i = 0; i < n->count; i++) {
        const message *m = &n->messages[i];
        if (m->left_B > 0.0 && crosses(m, link)) {
            room_Bps -= m->rate_Bps > 0.0 ? m->rate_Bps : 0.0;
            waiting += m->rate_Bps < 0.0;
        }
    }
    return waiting > 0 ? room_Bps / waiting : INFINITY;
}

/* Find rates: the link that gives least decides for its messages, and so on. */
static void fill(network *n) {
    for (int i = 0; i < n->count; i++) {
        n->messages[i].rate_Bps = -1.0;
    }
    for (;;) {
        double least_Bps = INFINITY;
        int narrowest = -1;
        for (int link = 0; link < n->platform->link_count; link++) {
            double share_Bps = share_of(n, link);
            if (share_Bps < least_Bps) {
                least_Bps = share_Bps;
                narrowest = link;
            }
        }
        if (narrowest < 0) {
            return;
        }
        for (int i = 0; i < n->count; i++) {
            message *m = &n->messages[i];
            if (m->left_B > 0.0 && m->rate_Bps < 0.0 && crosses(m, narrowest)) {
                m->rate_Bps = least_Bps;
            }
        }
    }
}

static void simulate(network *n) {
    double now_s = 0.0;
    for (int left = n->count; left > 0;) {
        double step_s = INFINITY;
        fill(n);
        for (int i = 0; i < n->count; i++) {
            message *m = &n->messages[i];
            step_s = m->left_B > 0.0 ? fmin(step_s, m->left_B / m->rate_Bps) : step_s;
        }
        now_s += step_s;
        for (int i = 0; i < n->count; i++) {
            message *m = &n->messages[i];
            if (m->left_B > 0.0) {
                m->left_B -= m->rate_Bps * step_s;
                if (m->left_B < 1e-3) { /* of megabytes */
                    m->left_B = 0.0;
                    m->end_s = now_s;
                    left--;
                }
            }
        }
    }
}

/* A layout: some GPUs of a few nodes, and a message between two GPUs of the platform. */
typedef struct layout {
    platform_fixture f;
    int gpus[MEMBERS_MAX];
    int members;
    int ends[2];
    double size_B, beside_B;
} layout;

static void draw_layout(layout *l, uint64_t seed) {
    static const char *const PLATFORMS[] = {"dgx-h100", "dgx-a100", "hypothetical-two-tier",
                                            "flat"};
    static const char *const SIZES[] = {"{nodes: 3}", "{nodes: 4}", "{nodes: 3}", "{nodes: 20}"};
    ms_random random = {seed};
    int which = (int)ms_random_range(&random, 0, 3);
    fixture_platform(&l->f, PLATFORMS[which], SIZES[which]);
    int gpus = ms_platform_gpus(&l->f.platform);
    int wanted = (int)ms_random_range(&random, 3, MEMBERS_MAX);
    l->members = 0;
    for (int gpu = 0; gpu < gpus; gpu++) { /* each set of that size is as likely */
        if (ms_random_range(&random, 0, gpus - gpu - 1) < wanted - l->members) {
            l->gpus[l->members++] = gpu;
        }
    }
    l->size_B = 1e6 * (double)ms_random_range(&random, 50, 500);
    l->beside_B = 1e6 * (double)ms_random_range(&random, 1, 100);
    l->ends[0] = l->gpus[ms_random_range(&random, 0, l->members - 1)];
    do {
        l->ends[1] = (int)ms_random_range(&random, 0, gpus - 1);
    } while (l->ends[1] == l->ends[0]);
}

/* An operation of a plan on a stream of its own; every plan's links are the platform's. */
static int32_t add_plan(ms_dag *dag, layout *l, const ms_coll_request *request) {
    ms_coll_plan plan;
    cr_assert_eq(ms_coll_plan_build(&l->f.platform, request, &l->f.arena, &plan), MS_OK);
    int32_t work = case_flow_work(dag, plan.phases[0].flows[0].bytes, NULL, 0, 1);
    for (int i = 0; i < plan.phases[0].count; i++) {
        const ms_flow *flow = &plan.phases[0].flows[i];
        if (i > 0) {
            ms_dag_add_flow(dag, flow->bytes);
        }
        for (int k = 0; k < flow->count; k++) {
            ms_dag_add_crossing(dag, flow->links[k].link, flow->links[k].weight,
                                flow->links[k].weight);
        }
    }
    return case_op(dag, work, case_stream(dag), -1);
}

static int32_t add_all_to_all(ms_dag *dag, layout *l) {
    return add_plan(dag, l,
                    &(ms_coll_request){.kind = MS_COLL_ALL_TO_ALL,
                                       .gpus = l->gpus,
                                       .members = l->members,
                                       .size_B = l->size_B});
}

static int32_t add_beside(ms_dag *dag, layout *l) {
    return add_plan(dag, l,
                    &(ms_coll_request){
                        .kind = MS_COLL_P2P, .gpus = l->ends, .members = 2, .size_B = l->beside_B});
}

static void check_layout(uint64_t seed, bool has_beside) {
    layout l;
    ms_dag dag;
    static network n;
    draw_layout(&l, seed);
    n = (network){.platform = &l.f.platform};
    for (int i = 0; i < l.members; i++) {
        for (int k = 0; k < l.members; k++) {
            if (i != k) {
                add_message(&n, l.gpus[i], l.gpus[k], l.size_B / l.members);
            }
        }
    }
    if (has_beside) {
        add_message(&n, l.ends[0], l.ends[1], l.beside_B);
    }
    simulate(&n);
    double all_s = 0.0;
    for (int i = 0; i < l.members * (l.members - 1); i++) {
        all_s = fmax(all_s, n.messages[i].end_s);
    }
    case_init(&dag, 1);
    for (int link = 0; link < l.f.platform.link_count; link++) {
        ms_dag_add_link(&dag, ms_platform_link(&l.f.platform, link).capacity_Bps, link, 0);
    }
    int32_t op = add_all_to_all(&dag, &l);
    int32_t beside = has_beside ? add_beside(&dag, &l) : -1;
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    cr_expect_lt(fabs(run->timeline.end_s[op] / all_s - 1), 0.02, "seed %d, %s: %g, expected %g",
                 (int)seed, l.f.platform.name, run->timeline.end_s[op], all_s);
    if (has_beside) {
        double beside_s = n.messages[n.count - 1].end_s;
        cr_expect_lt(fabs(run->timeline.end_s[beside] / beside_s - 1), 0.02,
                     "seed %d, %s: the message beside it %g, expected %g", (int)seed,
                     l.f.platform.name, run->timeline.end_s[beside], beside_s);
    }
    ms_dag_release(&dag);
    fixture_release(&l.f);
}

Test(exchange, takes_as_long_as_its_messages) {
    uint64_t first = case_seed(1);
    for (uint64_t seed = first; seed < first + LAYOUTS; seed++) {
        check_layout(seed, false);
    }
}

Test(exchange, shares_with_a_message_beside_it_as_its_messages_do) {
    uint64_t first = case_seed(1);
    for (uint64_t seed = first; seed < first + LAYOUTS; seed++) {
        check_layout(seed, true);
    }
}

/* A message that leaves by a port which three of an all-to-all leave by gets a quarter of it. */
Test(exchange, weighs_as_many_as_it_sends) {
    layout l = {
        .gpus = {0, 1, 2, 3}, .members = 4, .ends = {0, 5}, .size_B = 4e9, .beside_B = 0.5e9};
    ms_dag dag;
    fixture_platform(&l.f, "flat", "{nodes: 8}");
    case_init(&dag, 1);
    for (int link = 0; link < l.f.platform.link_count; link++) {
        ms_dag_add_link(&dag, 25e9, link, 0);
    }
    int32_t all = add_all_to_all(&dag, &l);
    int32_t beside = add_beside(&dag, &l);
    case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
    cr_assert_eq(run->status, MS_OK, "%s", run->message);
    cr_assert_float_eq(run->timeline.end_s[beside], 4 * 0.5e9 / 25e9, 1e-9);
    cr_assert_float_eq(run->timeline.end_s[all], 3.5e9 / 25e9, 1e-9);
    ms_dag_release(&dag);
    fixture_release(&l.f);
}
