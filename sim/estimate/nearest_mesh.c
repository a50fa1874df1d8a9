/* The legal mesh nearest to a job's own. All meshes of the platform's GPUs are visited, and one
 * that is nearer than the nearest that fits so far is tried: so what is proposed was tried, and
 * most meshes are skipped. */
#include "estimate/nearest_mesh.h"

#include <math.h>

#include "estimate/trial.h"

/* Distance from which a mesh is too far away to be what the user meant, and the weight of dp in the
 * distance: users mostly choose the other axes, and dp is what they leave. */
static const double FAR = 4.0, DP_WEIGHT = 0.25;

/* The nearest mesh so far. */
typedef struct nearest_mesh {
    ms_trials trials;
    ms_axis_sizes now;    /* of the job */
    bool has_expert_mesh; /* the experts' ep is no part of the walk, and stays */
    double distance;      /* of the nearest; FAR: none is found */
    ms_arena *arena;
    ms_words sets; /* overrides that make it, in `arena` */
} nearest_mesh;

/* Doublings or halvings between two sizes. */
static double doublings(int a, int b) {
    return fabs(log2((double)a / b));
}

/* Try a mesh if it is nearer, and keep it if it makes a job that fits. */
static ms_status try_mesh(void *context, const ms_axis_sizes *sizes) {
    nearest_mesh *nearest = context;
    const ms_axis_sizes *now = &nearest->now;
    ms_axis_sizes with = *sizes;
    with.ep = nearest->has_expert_mesh ? now->ep : sizes->ep;
    const double distance = doublings(with.tp, now->tp) + doublings(with.pp, now->pp) +
                            doublings(with.cp, now->cp) + doublings(with.ep, now->ep) +
                            DP_WEIGHT * doublings(with.dp, now->dp);
    if (distance >= nearest->distance) {
        return MS_OK;
    }
    ms_trial_sets sets = {.count = 0};
    double peak_B = 0.0;
    bool fits = false;
    ms_trial_add_axes(&nearest->trials, &with, &sets);
    ms_status status = ms_trial_fit(&nearest->trials, &sets, &peak_B, &fits);
    if (status == MS_OK && fits) {
        nearest->distance = distance;
        return ms_trial_keep(&sets, nearest->arena, &nearest->sets);
    }
    return ms_trial_is_refused(status) ? MS_OK : status;
}

ms_status ms_nearest_mesh_find(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag,
                               ms_words *sets_out, bool *is_found_out) {
    nearest_mesh nearest = {.now = ms_trial_axes(spec),
                            .has_expert_mesh = spec->experts.ep > 0,
                            .distance = FAR,
                            .arena = arena};
    const ms_axis_sizes *now = &nearest.now;
    const int ep = nearest.has_expert_mesh ? 1 : now->ep;
    const int64_t known = (int64_t)now->tp * now->pp * now->cp * now->dp * ep;
    const int64_t others = ms_spec_ranks(spec) / known; /* axes with names of their own */
    const int gpus = ms_platform_gpus(spec->platform.cluster);
    *is_found_out = false;
    *sets_out = nearest.sets;
    if (spec->placement.is_given || gpus % others != 0) {
        return MS_OK;
    }
    const int domain = ms_platform_scale_up_domain(spec->platform.cluster);
    const ms_mesh_walk walk = {.ranks = (int)(gpus / others),
                               .most = {.tp = now->tp > domain ? now->tp : domain,
                                        .pp = spec->has_model ? spec->model.layers : gpus,
                                        .cp = now->cp > 1 ? 2 * now->cp : 1,
                                        .ep = ep > 1 ? 2 * ep : 1},
                               .beside = *now};
    ms_status status = ms_trials_init(&nearest.trials, spec);
    status = status == MS_OK ? ms_mesh_walk_all(&walk, try_mesh, &nearest) : status;
    ms_trials_release(&nearest.trials);
    *is_found_out = status == MS_OK && nearest.distance < FAR;
    *sets_out = nearest.sets;
    return status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
}
