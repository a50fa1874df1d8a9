/* Gives single ranks of a job factors on the time of their computations and of their links
 * (stragglers, slow links), and sets the summaries of the factors that readers use. */
#include <math.h>

#include "job/spec.h"

/* Whether a factor can be used: above 0 and finite. */
static bool is_factor(double factor) {
    return factor > 0.0 && isfinite(factor);
}

/* Whether all factors can be used.  *has_links_out: whether one of a rank's links is not 1. */
static bool are_factors(const ms_rank_properties *properties, int ranks, bool *has_links_out) {
    bool are_valid = true;
    *has_links_out = false;
    for (int rank = 0; rank < ranks; rank++) {
        are_valid = are_valid && is_factor(properties[rank].compute_factor) &&
                    is_factor(properties[rank].link_factor);
        *has_links_out = *has_links_out || properties[rank].link_factor != 1.0;
    }
    return are_valid;
}

/* Give a link the factor of one of its ranks; of several the largest counts. 0: it has none yet. */
static void slow_link(double *factors, int link, double factor) {
    factors[link] = fmax(factors[link], factor);
}

/* Give a factor to the links that routes from and to a GPU begin or end with. factors: [links]. */
static void slow_links(const ms_platform *platform, int gpu, double factor, double *factors) {
    int gpus = ms_platform_gpus(platform);
    for (int other = 0; other < gpus; other++) {
        ms_route there, back;
        if (other == gpu) {
            continue;
        }
        ms_platform_route(platform, gpu, other, &there);
        ms_platform_route(platform, other, gpu, &back);
        if (there.count > 0) {
            slow_link(factors, there.links[0], factor);
        }
        if (back.count > 0) {
            slow_link(factors, back.links[back.count - 1], factor);
        }
    }
}

/* Make a copy of the cluster whose links have the factors of all ranks, on top of the factors that
 * the cluster gives them. Returns MS_OK; MS_E_NOMEM. */
static ms_status make_platform(const ms_job *job, const ms_rank_properties *properties,
                               ms_arena *arena, const ms_platform **platform_out) {
    const ms_platform *cluster = job->spec.platform.cluster;
    ms_platform *platform = MS_NEW(arena, ms_platform, 1);
    double *factors = MS_NEW(arena, double, cluster->link_count);
    if (platform == NULL || factors == NULL) {
        return MS_E_NOMEM;
    }
    for (int rank = 0; rank < job->mesh.ranks; rank++) {
        if (properties[rank].link_factor != 1.0) {
            slow_links(cluster, ms_mesh_device(&job->mesh, rank), properties[rank].link_factor,
                       factors);
        }
    }
    for (int link = 0; link < cluster->link_count; link++) {
        factors[link] = factors[link] > 0.0 ? factors[link] : 1.0;
        factors[link] *= cluster->link_factors != NULL ? cluster->link_factors[link] : 1.0;
    }
    *platform = *cluster;
    platform->link_factors = factors;
    *platform_out = platform;
    return MS_OK;
}

/* Set the smallest and the largest factor on computations among the ranks of each pipeline rank.
 * ranges_out: [P]. */
static void find_ranges(const ms_job *job, const ms_rank_properties *properties,
                        ms_factor_range *ranges_out) {
    for (int p = 0; p < job->program.spec.pipeline_ranks; p++) {
        ranges_out[p] = (ms_factor_range){.least = INFINITY};
    }
    for (int rank = 0; rank < job->mesh.ranks; rank++) {
        ms_factor_range *range = &ranges_out[ms_mesh_coordinate(&job->mesh, rank, MS_AXIS_PP)];
        range->least = fmin(range->least, properties[rank].compute_factor);
        range->most = fmax(range->most, properties[rank].compute_factor);
    }
}

double ms_job_least_compute_factor(const ms_job *job) {
    double least = INFINITY;
    for (int p = 0; p < job->layout.pp; p++) {
        least = fmin(least, ms_job_compute_factors(job, p).least);
    }
    return least;
}

/* Give the ranks of a job factors on their computations and links. The job is changed only when
 * everything has been allocated. */
ms_status ms_job_set_rank_properties(ms_job *job, const ms_rank_properties *properties,
                                     ms_arena *arena) {
    bool has_links = false;
    if (!are_factors(properties, job->mesh.ranks, &has_links)) {
        return MS_E_RANGE;
    }
    const ms_platform *platform = job->spec.platform.cluster;
    ms_rank_properties *own = MS_NEW(arena, ms_rank_properties, job->mesh.ranks);
    ms_factor_range *ranges = MS_NEW(arena, ms_factor_range, job->program.spec.pipeline_ranks);
    ms_status status = own == NULL || ranges == NULL ? MS_E_NOMEM : MS_OK;
    if (status == MS_OK && has_links) {
        status = make_platform(job, properties, arena, &platform);
    }
    if (status != MS_OK) {
        return status;
    }
    for (int rank = 0; rank < job->mesh.ranks; rank++) {
        own[rank] = properties[rank];
    }
    find_ranges(job, properties, ranges);
    job->platform = platform;
    job->rank_properties = own;
    job->compute_factors = ranges;
    return MS_OK;
}
