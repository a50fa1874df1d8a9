/* Warns of groups that cross a slower tier of links than their size needs (ms_advise_placement).
 * Tiers are those of a platform: nodes, racks, pods; a tier's domain is the GPUs that reach each
 * other over it. */
#include <stdio.h>

#include "estimate/advice.h"

/* Bandwidth of a tier's links per GPU of the platform, in one direction [B/s]. */
static double share_Bps(const ms_platform *platform, int tier) {
    const ms_tier *links = &platform->tiers[tier];
    return ms_tier_capacity_Bps(links) * links->links / 2.0 / ms_platform_gpus(platform);
}

/* Whether ranks that differ on an axis communicate in every layer: tp, cp and ep. */
static bool talks_in_layers(ms_axis kind) {
    return kind == MS_AXIS_TP || kind == MS_AXIS_CP || kind == MS_AXIS_EP;
}

/* The tier that groups along an axis need, and the one that they cross. */
typedef struct tier_need {
    int span;         /* GPUs of a group together with the axes of tp, cp and ep further inside */
    int inner_axis;   /* an axis of replicas or stages further inside; -1: none */
    int needed_tier;  /* innermost tier whose domain has room for `span` GPUs */
    int crossed_tier; /* outermost tier that any group along the axis crosses */
} tier_need;

/* Find two tiers of the groups along an axis: the innermost one whose domain has room for a group
 * together with the axes inside it that communicate in layers (needed_tier), and the outermost one
 * that the groups cross (crossed_tier). inner_axis: an axis inside it that does not communicate in
 * layers; -1: none. */
static tier_need find_need(const ms_mesh *mesh, const ms_platform *platform, int axis) {
    tier_need need = {.span = 1, .inner_axis = -1};
    for (int a = mesh->axes - 1; a >= axis; a--) {
        if (talks_in_layers(mesh->kinds[a])) {
            need.span *= mesh->sizes[a];
        } else if (mesh->sizes[a] > 1) {
            need.inner_axis = a;
        }
    }
    while (need.needed_tier + 1 < platform->tier_count &&
           ms_platform_domain(platform, need.needed_tier) < need.span) {
        need.needed_tier++;
    }
    need.crossed_tier = ms_mesh_axis_tier(mesh, axis, platform);
    return need;
}

/* Number of groups along an axis that cross a tier further outside than `tier`. */
static int count_groups_above(const ms_mesh *mesh, const ms_platform *platform, int axis,
                              int tier) {
    int count = 0;
    for (int i = 0; i < ms_mesh_group_count(mesh, axis); i++) {
        ms_group group = ms_mesh_group_at(mesh, axis, i);
        count += ms_mesh_group_tier(mesh, &group, platform) > tier;
    }
    return count;
}

/* Warn of the groups along an axis, with the reason: the placement, an axis inside the groups'
 * axis, or a span that does not divide the domain of the needed tier. */
static void warn(const ms_mesh *mesh, const ms_platform *platform, int axis, const tier_need *need,
                 ms_diag *diag) {
    const char *name = mesh->names[axis];
    int groups = ms_mesh_group_count(mesh, axis);
    int crossing = count_groups_above(mesh, platform, axis, need->needed_tier);
    int domain = ms_platform_domain(platform, need->needed_tier);
    const char *needed = platform->tiers[need->needed_tier].name;
    const char *crossed = platform->tiers[need->crossed_tier].name;
    char why[128];
    if (mesh->devices != NULL) {
        snprintf(why, sizeof why, "the placement spreads them");
    } else if (need->inner_axis >= 0) {
        snprintf(why, sizeof why, "'%s' stands inside '%s' in mesh.order",
                 mesh->names[need->inner_axis], name);
    } else {
        snprintf(why, sizeof why, "%d is no divisor of %d", need->span, domain);
    }
    ms_diag_warning(diag,
                    "%d of %d %s groups of %d cross '%s' though the %d GPUs that share '%s' have "
                    "room for one: %s",
                    crossing, groups, name, mesh->sizes[axis], crossed, domain, needed, why);
}

void ms_advise_placement(const ms_mesh *mesh, const ms_platform *platform, ms_diag *diag) {
    for (int axis = 0; axis < mesh->axes; axis++) {
        if (!talks_in_layers(mesh->kinds[axis]) || mesh->sizes[axis] == 1) {
            continue;
        }
        tier_need need = find_need(mesh, platform, axis);
        if (need.crossed_tier > need.needed_tier &&
            share_Bps(platform, need.crossed_tier) < share_Bps(platform, need.needed_tier)) {
            warn(mesh, platform, axis, &need, diag);
        }
    }
}
