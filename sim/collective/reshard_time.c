/* Time of one step of a redistribution of a tensor: a collective in all groups of a mesh axis at
 * the same time (ms_reshard_step_time). The bytes of all groups are added up on every link, phase
 * by phase; the busiest link gives the time of the phase. A class (coll_class.h) is not used, as it
 * adds up only flows at the same index in the plans of all groups, and groups have different flows
 * where an axis divides nodes unevenly. */
#include "collective/reshard_time.h"

#include <math.h>
#include <string.h>

#include "collective/collective.h"

/* The groups of one axis, with the same collective in each. */
typedef struct chorus {
    const ms_platform *platform;
    const ms_mesh *mesh;
    const ms_reshard_step *step;
    ms_diag *diag;
    int *gpus;       /* [members] of the current group */
    double *loads_B; /* [links] bytes that cross each link in the current phase [B] */
    ms_reshard_time time;
    int phases; /* largest number of phases of any group's plan */
} chorus;

/* Lay out the collective of group `index` of the axis. Returns MS_E_RANGE, reported, if no
 * algorithm lays it out. */
static ms_status plan_group(chorus *c, int index, ms_arena *arena, ms_coll_plan *plan_out) {
    ms_group group = ms_mesh_group_at(c->mesh, c->step->axis, index);
    for (int m = 0; m < group.size; m++) {
        c->gpus[m] = group.first + m * group.stride;
    }
    ms_mesh_to_devices(c->mesh, c->gpus, group.size);
    const ms_coll_request request = {.kind = c->step->kind,
                                     .algorithm = MS_ALGORITHM_AUTO,
                                     .gpus = c->gpus,
                                     .members = group.size,
                                     .size_B = c->step->size_B};
    ms_status status = ms_coll_plan_build(c->platform, &request, arena, plan_out);
    if (status == MS_E_RANGE) {
        ms_coll_report_refusal(&request, c->diag);
    }
    return status;
}

/* Add the bytes of a phase to the loads of its links. */
static void load_links(chorus *c, const ms_phase *phase) {
    for (int f = 0; f < phase->count; f++) {
        const ms_flow *flow = &phase->flows[f];
        for (int i = 0; i < flow->count; i++) {
            c->loads_B[flow->links[i].link] += flow->bytes * flow->links[i].weight;
        }
    }
}

/* Lay out one group again for a phase, and add the bytes of this phase to the links. *latency_s:
 * raised to the phase's latency [s]. In phase 0, also find the time of the group alone, and the
 * numbers of tiers and phases. */
static ms_status add_group(chorus *c, int index, int phase, double *latency_s) {
    ms_arena scratch;
    ms_coll_plan plan;
    ms_arena_init(&scratch);
    ms_status status = plan_group(c, index, &scratch, &plan);
    if (status == MS_OK && phase < plan.phase_count) {
        load_links(c, &plan.phases[phase]);
        *latency_s = fmax(*latency_s, plan.phases[phase].latency_s);
    }
    double alone_s = 0.0;
    if (status == MS_OK && phase == 0) {
        status = ms_coll_plan_time(c->platform, &plan, &alone_s);
    }
    if (status == MS_OK && phase == 0) {
        c->time.alone_s = fmax(c->time.alone_s, alone_s);
        c->time.tier = plan.tier > c->time.tier ? plan.tier : c->time.tier;
        c->phases = plan.phase_count > c->phases ? plan.phase_count : c->phases;
    }
    ms_arena_release(&scratch);
    return status;
}

/* Find the time of one phase of all groups, that of the busiest link plus the longest latency, and
 * add it to the total. */
static ms_status time_phase(chorus *c, int phase) {
    int groups = ms_mesh_group_count(c->mesh, c->step->axis);
    double latency_s = 0;
    double slowest_s = 0;
    memset(c->loads_B, 0, (size_t)c->platform->link_count * sizeof *c->loads_B);
    ms_status status = MS_OK;
    for (int i = 0; i < groups && status == MS_OK; i++) {
        status = add_group(c, i, phase, &latency_s);
    }
    for (int link = 0; link < c->platform->link_count && status == MS_OK; link++) {
        if (c->loads_B[link] > 0) {
            double capacity_Bps = ms_platform_link(c->platform, link).capacity_Bps;
            slowest_s = fmax(slowest_s, c->loads_B[link] / capacity_Bps);
        }
    }
    c->time.together_s += latency_s + slowest_s;
    return status;
}

/* Find the time of all phases. The number of phases is known after phase 0. */
static ms_status time_phases(chorus *c, ms_arena *arena) {
    c->gpus = MS_NEW(arena, int, c->mesh->sizes[c->step->axis]);
    c->loads_B = MS_NEW(arena, double, c->platform->link_count);
    ms_status status = c->gpus == NULL || c->loads_B == NULL ? MS_E_NOMEM : time_phase(c, 0);
    for (int phase = 1; phase < c->phases && status == MS_OK; phase++) {
        status = time_phase(c, phase);
    }
    return status;
}

/* Find the times of a step of a redistribution: of its slowest group alone, and of all groups
 * together. */
ms_status ms_reshard_step_time(const ms_platform *platform, const ms_mesh *mesh,
                               const ms_reshard_step *step, ms_diag *diag,
                               ms_reshard_time *time_out) {
    chorus c = {
        .platform = platform, .mesh = mesh, .step = step, .diag = diag, .time = {.tier = -1}};
    ms_arena scratch;
    ms_arena_init(&scratch);
    ms_status status = step->kind == MS_COLL_NONE ? MS_OK : time_phases(&c, &scratch);
    ms_arena_release(&scratch);
    if (status == MS_OK) {
        *time_out = c.time;
    }
    return status;
}
