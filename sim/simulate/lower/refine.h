/* Which ranks play the same role: colour refinement of ranks, groups, flows and links. See decision
 * note folding.md beside this file. */
#ifndef MS_LOWER_REFINE_H
#define MS_LOWER_REFINE_H

#include "simulate/lower/traffic.h"

/* Find the links that can hold flows back: those that all streams together can ask for more than
 * they have, and those that the flows of one phase can.  can_bind_out: [platform links].
 * max_concurrent_flows_out: [platform links] maximum number of crossings of a link by flows that
 * are under way at once; 0 where can_bind_out is false.  Returns MS_OK; MS_E_NOMEM.
 * O(crossings). */
ms_status ms_find_binding_links(const ms_traffic *traffic, const ms_platform *platform,
                                ms_arena *scratch, bool *can_bind_out,
                                double *max_concurrent_flows_out);

/* Leave out of the links that can hold flows back those with room for all that their inner links
 * hold: links of inner tiers that every flow crosses as often as them, on the way there or back.
 *  can_bind: [platform links] of ms_find_binding_links, in which such links become false.  Returns
 * MS_OK; MS_E_NOMEM.  O(GPUs + crossings). */
ms_status ms_leave_out_wide_links(const ms_traffic *traffic, const ms_platform *platform,
                                  ms_arena *scratch, bool *can_bind);

/* Put places in classes whose ranks cannot be told apart: they compute equally fast, each is in
 * equally many groups of every class of each communication, a group has equally many members of
 * every class and the same flows, flows cross equally many links of every class, and links are
 * crossed by equally many flows of every class, with equal weights. can_bind: [platform links] as
 * of ms_find_binding_links; NULL: flows do not share links. class_out: [places] numbered by their
 * lowest place. link_class_out: [platform links] links that flows of the same classes cross with
 * equal weights, named by the lowest of them; -1: crossed by none.  Returns MS_OK; MS_E_NOMEM.
 * O(rounds * (places + crossings)), a few rounds. */
ms_status ms_refine(const ms_traffic *traffic, const ms_job *job, const bool *can_bind,
                    int *class_out, int32_t *link_class_out);

#endif
