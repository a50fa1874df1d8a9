/* What the readers of Slurm's topology.conf share. */
#ifndef MS_SLURM_PARTS_H
#define MS_SLURM_PARTS_H

#include "meshsim/buffer.h"
#include "meshsim/slurm.h"

/* A line that names a switch or a block. */
typedef struct ms_slurm_group {
    const char *name;
    ms_words nodes, switches;
    ms_mark mark, nodes_mark, switches_mark; /* of the values */
} ms_slurm_group;

/* A file while it is read. */
typedef struct ms_slurm_file {
    ms_vector groups; /* ms_slurm_group, all switches or all blocks */
    ms_ints sizes;    /* of BlockSizes */
    ms_mark sizes_mark;
    ms_arena *arena;
    ms_diag *diag;
    ms_slurm_topology *out;
    ms_buffer remarks;
} ms_slurm_file;

/* A node below a group. */
typedef struct ms_slurm_member {
    const char *name;
    int group;
} ms_slurm_member;

/* All nodes of all groups, by name; the nodes of a group twice are a fault.  *members_out: in
 * `arena`.  Returns MS_OK; MS_E_INPUT (reported); MS_E_NOMEM (reported). */
ms_status ms_slurm_members(const ms_slurm_file *file, ms_slurm_member **members_out,
                           size_t *count_out);

/* Refuse names that stand twice.  *by_name_out: indices of groups in the order of their names. */
ms_status ms_slurm_sort_groups(const ms_slurm_file *file, int **by_name_out);

/* The number that most of `count` values are, of several the largest, with a remark on the others
 * unless they are one that is smaller, as the last unit of a platform may be.  values: sorted here.
 * what: such as "leaf switches have N nodes", of which the first word ends at a blank. */
int ms_slurm_usual(ms_slurm_file *file, int *values, size_t count, const char *groups,
                   const char *members);

/* Find the layers of a tree of switches, or the groups of blocks.  Returns as ms_slurm_read. */
ms_status ms_slurm_tree(ms_slurm_file *file);
ms_status ms_slurm_blocks(ms_slurm_file *file);

/* Report a fault, with a word in quotes.  Returns MS_E_INPUT. */
ms_status ms_slurm_fault(const ms_slurm_file *file, const ms_mark *mark, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
