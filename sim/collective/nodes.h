/* The members of a group, node by node. */
#ifndef MS_COLLECTIVE_NODES_H
#define MS_COLLECTIVE_NODES_H

#include "meshsim/platform.h"

/* The members that sit on one node, in group order. */
typedef struct ms_node_run {
    int first;
    int count;
} ms_node_run;

/* Sort members by node, keeping their order inside a node, and find the runs.
 * gpus: [members], sorted in place. runs_out: [members] at most. Returns how many nodes there are.
 * O(members) where the members come node by node, O(members^2) at worst. */
int ms_node_runs_find(const ms_platform *platform, int *gpus, int members, ms_node_run *runs_out);

#endif
