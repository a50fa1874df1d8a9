/* Groups that cross a slower tier than their size needs. */
#include <math.h>

#include "meshsim/advice.h"

/* Bandwidth that a tier's links give each GPU below them, one direction. */
static double share_Bps(const ms_platform *platform, int tier) {
    ms_link_info link = ms_platform_link(platform, platform->tiers[tier].first_link);
    return link.capacity_Bps * platform->tiers[tier].links / 2.0 / ms_platform_gpus(platform);
}

/* Axes whose ranks work on the same tokens, and talk in every layer. */
static bool talks_in_layers(ms_axis kind) {
    return kind == MS_AXIS_TP || kind == MS_AXIS_CP || kind == MS_AXIS_EP;
}

/* How an axis lies: what its groups need, and what stands inside them. */
typedef struct lie {
    int span;        /* ranks of its group with those of such axes inside it */
    int inner_axis;  /* an axis of replicas or stages inside it, -1: none */
    int needed_tier; /* innermost tier that `span` GPUs share */
    int crossed_tier;
} lie;

static lie find_lie(const ms_job *job, int axis) {
    const ms_mesh *mesh = &job->mesh;
    lie l = {.span = 1, .inner_axis = -1};
    for (int a = mesh->axes - 1; a >= axis; a--) {
        if (talks_in_layers(mesh->kinds[a])) {
            l.span *= mesh->sizes[a];
        } else if (mesh->sizes[a] > 1) {
            l.inner_axis = a;
        }
    }
    while (l.needed_tier + 1 < job->platform.tier_count &&
           ms_platform_domain(&job->platform, l.needed_tier) < l.span) {
        l.needed_tier++;
    }
    l.crossed_tier = ms_mesh_axis_tier(mesh, axis, &job->platform);
    return l;
}

/* Groups of an axis that cross more than a tier. */
static int count_crossing(const ms_job *job, int axis, int tier) {
    int count = 0;
    for (int i = 0; i < ms_mesh_group_count(&job->mesh, axis); i++) {
        ms_group group = ms_mesh_group_at(&job->mesh, axis, i);
        count += ms_mesh_group_tier(&job->mesh, &group, &job->platform) > tier;
    }
    return count;
}

static void warn(const ms_job *job, int axis, const lie *l, ms_diag *diag) {
    const ms_mesh *mesh = &job->mesh;
    const char *name = mesh->names[axis];
    int groups = ms_mesh_group_count(mesh, axis);
    int crossing = count_crossing(job, axis, l->needed_tier);
    int domain = ms_platform_domain(&job->platform, l->needed_tier);
    const char *needed = job->platform.tiers[l->needed_tier].name;
    const char *crossed = job->platform.tiers[l->crossed_tier].name;
    if (job->placement.gpus != NULL) {
        ms_diag_warning(diag,
                        "%d of %d %s groups of %d cross '%s' though the %d GPUs that share '%s' "
                        "have room for one: the placement spreads them",
                        crossing, groups, name, mesh->sizes[axis], crossed, domain, needed);
    } else if (l->inner_axis >= 0) {
        ms_diag_warning(diag,
                        "%d of %d %s groups of %d cross '%s' though the %d GPUs that share '%s' "
                        "have room for one: '%s' stands inside '%s' in mesh.order",
                        crossing, groups, name, mesh->sizes[axis], crossed, domain, needed,
                        mesh->names[l->inner_axis], name);
    } else {
        ms_diag_warning(diag,
                        "%d of %d %s groups of %d cross '%s' though the %d GPUs that share '%s' "
                        "have room for one: %d is no divisor of %d",
                        crossing, groups, name, mesh->sizes[axis], crossed, domain, needed, l->span,
                        domain);
    }
}

void ms_advise_placement(const ms_job *job, ms_diag *diag) {
    for (int axis = 0; axis < job->mesh.axes; axis++) {
        if (!talks_in_layers(job->mesh.kinds[axis]) || job->mesh.sizes[axis] == 1) {
            continue;
        }
        lie l = find_lie(job, axis);
        if (l.crossed_tier > l.needed_tier &&
            share_Bps(&job->platform, l.crossed_tier) < share_Bps(&job->platform, l.needed_tier)) {
            warn(job, axis, &l, diag);
        }
    }
}
