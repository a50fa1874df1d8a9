/* The legal mesh nearest to a job's own. All meshes of the platform's GPUs are listed, sorted by
 * their distance, and tried in this order until one fits: so what is proposed was tried, and few
 * meshes are tried where many GPUs have thousands. */
#include "estimate/nearest_mesh.h"

#include <math.h>
#include <stdlib.h>

#include "estimate/trial.h"

/* Maximum number of meshes that are tried. */
enum { TRIES_MAX = 64 };

/* Weight of dp in the distance: users mostly choose the other axes, and dp is what they leave. */
static const double DP_WEIGHT = 0.25;

/* A mesh and how far it is from the job's. */
typedef struct near_mesh {
    ms_axis_sizes sizes;
    double distance;
    size_t index; /* in the order of the walk, which decides between equal distances */
} near_mesh;

/* A list of meshes in the making. */
typedef struct near_list {
    ms_vector meshes; /* of near_mesh */
    ms_axis_sizes now;
    bool has_expert_mesh; /* the experts' ep is no part of the walk, and stays */
} near_list;

/* Doublings or halvings between two sizes. */
static double doublings(int a, int b) {
    return fabs(log2((double)a / b));
}

static ms_status list_mesh(void *context, const ms_axis_sizes *sizes) {
    near_list *list = context;
    const ms_axis_sizes *now = &list->now;
    near_mesh mesh = {.sizes = *sizes, .index = list->meshes.count};
    mesh.sizes.ep = list->has_expert_mesh ? now->ep : sizes->ep;
    mesh.distance = doublings(sizes->tp, now->tp) + doublings(sizes->pp, now->pp) +
                    doublings(sizes->cp, now->cp) + doublings(mesh.sizes.ep, now->ep) +
                    DP_WEIGHT * doublings(sizes->dp, now->dp);
    return ms_vector_add(&list->meshes, &mesh, 1) == NULL ? MS_E_NOMEM : MS_OK;
}

static int by_distance(const void *left, const void *right) {
    const near_mesh *a = left, *b = right;
    if (a->distance != b->distance) {
        return a->distance < b->distance ? -1 : 1;
    }
    return a->index < b->index ? -1 : 1;
}

/* List the meshes of `ranks` ranks, the nearest first. An axis of size 1 but tp, pp and dp stays.
 */
static ms_status list_meshes(const ms_job_spec *spec, int ranks, near_list *list) {
    const ms_axis_sizes *now = &list->now;
    const int domain = ms_platform_scale_up_domain(spec->platform.cluster);
    const ms_mesh_walk walk = {
        .ranks = ranks,
        .most = {.tp = now->tp > domain ? now->tp : domain,
                 .pp = spec->has_model ? spec->model.layers : ranks,
                 .cp = now->cp > 1 ? 2 * now->cp : 1,
                 .ep = now->ep > 1 && !list->has_expert_mesh ? 2 * now->ep : 1},
        .beside = *now};
    ms_status status = ms_mesh_walk_all(&walk, list_mesh, list);
    if (status == MS_OK && list->meshes.count > 0) {
        qsort(list->meshes.data, list->meshes.count, sizeof(near_mesh), by_distance);
    }
    return status;
}

/* Try the meshes in turn until one fits. */
static ms_status try_meshes(ms_trials *trials, const near_list *list, ms_arena *arena,
                            ms_words *sets_out, bool *is_found_out) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < list->meshes.count && i < TRIES_MAX && status == MS_OK; i++) {
        ms_trial_sets sets = {.count = 0};
        double peak_B = 0.0;
        bool fits = false;
        ms_trial_add_axes(trials, &MS_AT(&list->meshes, near_mesh, i).sizes, &sets);
        status = ms_trial_fit(trials, &sets, &peak_B, &fits);
        if (status == MS_OK && fits) {
            *is_found_out = true;
            return ms_trial_keep(&sets, arena, sets_out);
        }
        status = ms_trial_is_refused(status) ? MS_OK : status;
    }
    return status;
}

ms_status ms_nearest_mesh_find(const ms_job_spec *spec, ms_arena *arena, ms_diag *diag,
                               ms_words *sets_out, bool *is_found_out) {
    near_list list = {.now = ms_trial_axes(spec), .has_expert_mesh = spec->experts.ep > 0};
    const ms_axis_sizes *now = &list.now;
    const int64_t known =
        (int64_t)now->tp * now->pp * now->cp * now->dp * (list.has_expert_mesh ? 1 : now->ep);
    const int64_t others = ms_spec_ranks(spec) / known; /* axes with names of their own */
    const int gpus = ms_platform_gpus(spec->platform.cluster);
    *is_found_out = false;
    if (spec->placement.is_given || gpus % others != 0) {
        return MS_OK;
    }
    ms_trials trials;
    ms_vector_init(&list.meshes, sizeof(near_mesh));
    ms_status status = ms_trials_init(&trials, spec);
    status = status == MS_OK ? list_meshes(spec, (int)(gpus / others), &list) : status;
    status = status == MS_OK ? try_meshes(&trials, &list, arena, sets_out, is_found_out) : status;
    ms_vector_release(&list.meshes);
    ms_trials_release(&trials);
    return status == MS_E_NOMEM ? ms_diag_no_memory(diag) : status;
}
