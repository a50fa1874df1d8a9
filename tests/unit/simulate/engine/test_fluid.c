/* SimGrid's sharing against a second implementation of it, written down in the plainest way:
 * progressive filling at every event. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "base/random.h"
#include "cases.h"

enum { FLOWS = 12, LINKS = 6 };

typedef struct fluid {
    double capacity_Bps[LINKS];
    int32_t weight[FLOWS][LINKS]; /* 0: the flow does not cross the link */
    double start_s[FLOWS];
    double left_B[FLOWS];
    double end_s[FLOWS]; /* < 0: not ended */
} fluid;

static double room_Bps(const fluid *f, int link, const double rate_Bps[FLOWS],
                       const bool is_fixed[FLOWS], double *weight_out) {
    double room = f->capacity_Bps[link];
    *weight_out = 0.0;
    for (int i = 0; i < FLOWS; i++) {
        if (is_fixed[i]) {
            room -= f->weight[i][link] * rate_Bps[i];
        } else {
            *weight_out += f->weight[i][link];
        }
    }
    return room;
}

/* Raise all rates together until a link is full, fix the flows on it, go on with the others. */
static void fill(const fluid *f, double now_s, double rate_Bps[FLOWS]) {
    bool is_fixed[FLOWS];
    int left = 0;
    for (int i = 0; i < FLOWS; i++) {
        is_fixed[i] = f->end_s[i] >= 0.0 || f->start_s[i] > now_s;
        rate_Bps[i] = 0.0;
        left += !is_fixed[i];
    }
    while (left > 0) {
        double level_Bps = INFINITY;
        int full = -1;
        double weight = 0.0;
        for (int link = 0; link < LINKS; link++) {
            double room = room_Bps(f, link, rate_Bps, is_fixed, &weight);
            if (weight > 0.0 && room / weight < level_Bps) {
                level_Bps = room / weight;
                full = link;
            }
        }
        cr_assert_geq(full, 0);
        for (int i = 0; i < FLOWS; i++) {
            if (!is_fixed[i] && f->weight[i][full] > 0) {
                is_fixed[i] = true;
                rate_Bps[i] = level_Bps;
                left--;
            }
        }
    }
}

static void simulate(fluid *f) {
    double now_s = 0.0;
    for (int ended = 0; ended < FLOWS;) {
        double rate_Bps[FLOWS];
        double next_s = INFINITY;
        fill(f, now_s, rate_Bps);
        for (int i = 0; i < FLOWS; i++) {
            if (f->end_s[i] < 0.0 && f->start_s[i] > now_s) {
                next_s = fmin(next_s, f->start_s[i]);
            } else if (f->end_s[i] < 0.0) {
                next_s = fmin(next_s, now_s + f->left_B[i] / rate_Bps[i]);
            }
        }
        for (int i = 0; i < FLOWS; i++) {
            if (f->end_s[i] < 0.0 && f->start_s[i] <= now_s) {
                f->left_B[i] -= rate_Bps[i] * (next_s - now_s);
                if (f->left_B[i] <= 1e-6) { /* far below the 1,000 bytes of the smallest */
                    f->end_s[i] = next_s;
                    ended++;
                }
            }
        }
        now_s = next_s;
    }
}

static void draw_fluid(fluid *f, ms_random *random) {
    *f = (fluid){0};
    for (int link = 0; link < LINKS; link++) {
        f->capacity_Bps[link] = 1e8 * (double)ms_random_range(random, 1, 100);
    }
    for (int i = 0; i < FLOWS; i++) {
        f->start_s[i] = 1e-3 * ms_random_unit(random) * (double)ms_random_range(random, 0, 1);
        f->left_B[i] = (double)ms_random_range(random, 1000, 3000000);
        f->end_s[i] = -1.0;
        for (int link = 0; link < LINKS; link++) {
            bool is_on = ms_random_range(random, 0, 2) == 0 || link == i % LINKS;
            f->weight[i][link] = is_on ? (int32_t)ms_random_range(random, 1, 4) : 0;
        }
    }
}

static void build(const fluid *f, ms_dag *dag, int32_t ops[FLOWS]) {
    case_init(dag, FLOWS);
    for (int link = 0; link < LINKS; link++) {
        ms_dag_add_link(dag, f->capacity_Bps[link], link, 0);
    }
    for (int32_t i = 0; i < FLOWS; i++) {
        int32_t delay = case_compute(dag, f->start_s[i], i, -1);
        int32_t work = case_flow_work(dag, f->left_B[i], NULL, 0, 1);
        for (int32_t link = 0; link < LINKS; link++) {
            if (f->weight[i][link] > 0) {
                ms_dag_add_crossing(dag, link, f->weight[i][link], 1);
            }
        }
        ops[i] = case_op(dag, work, case_stream(dag), delay);
    }
}

Test(fluid, random_flows_share_as_progressive_filling_says) {
    uint64_t first = case_seed(1);
    uint64_t last = getenv("MS_SEED") != NULL ? first : 60;
    for (uint64_t seed = first; seed <= last; seed++) {
        ms_random random = {seed};
        int32_t ops[FLOWS];
        fluid f;
        ms_dag dag;
        draw_fluid(&f, &random);
        build(&f, &dag, ops);
        case_run *run = case_fork(&dag, MS_FIDELITY_FLOW);
        cr_assert_eq(run->status, MS_OK, "seed %llu: %s", (unsigned long long)seed, run->message);
        simulate(&f);
        for (int i = 0; i < FLOWS; i++) {
            cr_assert_float_eq(run->timeline.end_s[ops[i]], f.end_s[i], 1e-9 * f.end_s[i],
                               "seed %llu, flow %d: %.15g, expected %.15g",
                               (unsigned long long)seed, i, run->timeline.end_s[ops[i]],
                               f.end_s[i]);
        }
        ms_dag_release(&dag);
    }
}
