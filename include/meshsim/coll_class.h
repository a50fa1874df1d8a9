/**
 * @file
 * Classes of collectives: the same collective in several groups of GPUs at once, such as the
 * tensor-parallel groups of one pipeline rank. All groups are laid out together.
 */
#ifndef MESHSIM_COLL_CLASS_H
#define MESHSIM_COLL_CLASS_H

#include "meshsim/collective.h"
#include "meshsim/mesh.h"

MS_BEGIN_DECLS

/** A class that is laid out. */
typedef struct ms_coll_class {
    ms_coll_plan *own;   /**< [groups] how each would be laid out by itself */
    ms_coll_plan *plans; /**< [groups] as they are together: those of one algorithm have the same
                            flows in the same places, which may be empty; every flow has the load of
                            all groups.  The same as `own` where that is so already */
    int groups;
    int slowest;  /**< the group that takes longest while all run */
    bool is_even; /**< all groups are laid out in the same flows and take equally long */
} ms_coll_class;

/** Lay out the same collective in several groups, as ms_coll_plan_build does each. A group that is
 * another one moved to where routes are alike (ms_platform_moves_alike) gets that one's plan, with
 * its own links.
 *  first: the request of the first group; its GPUs are followed by those of the others, group after
 * group: [groups * members].  plans_out: [groups], in `arena`.  Returns as ms_coll_plan_build.
 *  O(groups * members * links of a route), but routes for few of the groups only. */
ms_status ms_coll_plans_build(const ms_platform *platform, const ms_coll_request *first, int groups,
                              ms_arena *arena, ms_coll_plan *plans_out);

/** Lay a class out.
 *  first: the request of the first group; its GPUs are followed by those of the others, group after
 * group: [groups * members].  link_load: [platform links] zeros, and zeros again afterwards.
 *  *class_out: in `arena`.  Returns MS_OK; MS_E_INPUT (reported) for what no row lays out;
 * MS_E_RANGE as ms_coll_plan_build; MS_E_NOMEM.  As ms_coll_plans_build. */
ms_status ms_coll_class_build(const ms_platform *platform, const ms_coll_request *first, int groups,
                              int32_t *link_load, ms_arena *arena, ms_diag *diag,
                              ms_coll_class *class_out);

/** Choices as they are on a mesh: messages whose communicator leaves no node travel as in one of
 * two ranks, any others have MS_MESSAGES_WORLD.  O(ranks) where there is a choice. */
ms_coll_choices ms_coll_choices_on(const ms_platform *platform, const ms_mesh *mesh,
                                   ms_coll_choices asked);

/** Time in which all ranks of a mesh learn the sum of one number of each, such as the norm of the
 * world's gradient: up a binary tree and down again, each level as long as the longest way between
 * any two [s].  *tier_out: outermost that this way crosses, -1: none.  O(ranks) routes. */
double ms_coll_world_sum_s(const ms_platform *platform, const ms_mesh *mesh, int *tier_out);

MS_END_DECLS

#endif
