/* Which ranks play the same role, so that one can stand for the others: finds the links that can
 * bind, and refines the colours of ranks, groups, flows and links. See decision note folding.md
 * beside this file. */
#ifndef MS_LOWER_REFINE_H
#define MS_LOWER_REFINE_H

#include "simulate/lower/traffic.h"

/* Find the links that can hold flows back: those whose capacity all streams together can exceed,
 * and those whose capacity the flows of one phase can exceed.  can_bind_out: [platform links].
 * max_concurrent_flows_out: [platform links] maximum number of crossings of a link by flows that
 * are under way at once; 0 where can_bind_out is false.  Returns MS_OK; MS_E_NOMEM.
 * O(crossings). */
ms_status ms_find_binding_links(const ms_traffic *traffic, const ms_platform *platform,
                                ms_arena *scratch, bool *can_bind_out,
                                double *max_concurrent_flows_out);

/* Remove links from those that can hold flows back: links of an outer tier with at least the
 * capacity of all their inner links together, where every flow crosses the inner links at least as
 * often as the outer one, on the way to it or behind it. The inner links are then full first.
 *  can_bind: [platform links] from ms_find_binding_links; such links become false.  Returns MS_OK;
 * MS_E_NOMEM.  O(GPUs + crossings). */
ms_status ms_leave_out_wide_links(const ms_traffic *traffic, const ms_platform *platform,
                                  ms_arena *scratch, bool *can_bind);

/* Divide ranks into classes whose ranks behave alike: within a class, ranks compute equally fast,
 * and each rank is in equally many groups of every class; within a class of groups, each has
 * equally many members of every class and the same flows; flows cross equally many links of every
 * class, and links are crossed by equally many flows of every class, with equal weights. can_bind:
 * [platform links] from ms_find_binding_links; NULL: flows do not share links. class_out: [per_pp]
 * class of each index in the stage (ranks.h); classes are numbered in the order of their lowest
 * indices. link_class_out: [platform links] class of each link: links that flows of the same
 * classes cross with equal weights, named by the lowest of these links; -1: no flow crosses it.
 * Returns MS_OK; MS_E_NOMEM. O(rounds * (ranks + crossings)), a few rounds. */
ms_status ms_refine(const ms_traffic *traffic, const ms_job *job, const bool *can_bind,
                    int *class_out, int32_t *link_class_out);

#endif
