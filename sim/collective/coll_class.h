/**
 * @file
 * Classes of collectives: the same collective in several groups of GPUs at once, such as the
 * tensor-parallel groups of one pipeline rank. All groups are laid out together.
 */
#ifndef MESHSIM_COLL_CLASS_H
#define MESHSIM_COLL_CLASS_H

#include "cluster/mesh/mesh.h"
#include "collective/collective.h"

/** A class, laid out. */
typedef struct ms_coll_class {
    ms_coll_plan *own;   /**< [groups] plan of each group by itself */
    ms_coll_plan *plans; /**< [groups] plans while all groups run: all groups that have a phase have
                            the same flows in it, in the same order, some perhaps empty, and the
                            load of a flow on a link counts the crossings by all groups. The same
                            array as `own` where the groups' own plans have this form already */
    int groups;
    int slowest;  /**< the group that takes longest while all run */
    bool is_even; /**< the own plans have the same flows, and all groups take equally long */
} ms_coll_class;

/** Lay out the same collective in several groups, each as ms_coll_plan_build does. A group that is
 * a shifted copy of an earlier one, with alike routes (ms_platform_moves_alike), gets the plan of
 * that original over its own links.
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

/** Resolve a job's choice of communicator for messages on a mesh. Where no communicator of the
 * chosen kind spans several nodes, NCCL's channels are those of a communicator of two ranks:
 * MS_MESSAGES_PAIR. Otherwise: MS_MESSAGES_WORLD.
 *  Returns `asked` with `messages` replaced.  O(ranks). */
ms_coll_choices ms_coll_choices_on(const ms_platform *platform, const ms_mesh *mesh,
                                   ms_coll_choices asked);

/** An all-reduce of one number per rank among all ranks of a mesh. */
typedef struct ms_world_sum {
    double time_s;               /**< with nothing else on the links [s] */
    ms_coll_algorithm algorithm; /**< of its plan, as the protocol */
    ms_protocol protocol;
    double size_B; /**< size of the number: 4, as fp32 [B] */
    double sent_B; /**< bytes that a rank sends, mean [B] */
    int tier;      /**< outermost tier crossed; -1: none */
} ms_world_sum;

/** Find the time of an all-reduce of one fp32 number among all ranks of a mesh, in the order of the
 * ranks, such as that of the norm of the gradient.
 *  asked: the job's algorithm of all-reduces and its protocol; where they do not apply to a group
 * of all ranks, MS_ALGORITHM_AUTO and MS_PROTOCOL_AUTO are taken. Returns MS_OK; MS_E_NOMEM. Cost
 * of ms_coll_plan_build for all ranks.
 *  Source: Megatron-LM, get_grad_norm_fp32 (an all-reduce of the squared norm, one fp32 element).
 */
ms_status ms_coll_world_sum(const ms_platform *platform, const ms_mesh *mesh,
                            const ms_coll_choices *asked, ms_world_sum *sum_out);

#endif
