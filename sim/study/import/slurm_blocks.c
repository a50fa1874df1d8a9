/* topology/block: blocks of nodes, and the sizes in which BlockSizes groups them. */
#include <string.h>

#include "study/import/slurm_parts.h"

/* A node of two blocks. */
static ms_status check_members(const ms_slurm_file *file, size_t *count_out) {
    ms_slurm_member *members = NULL;
    ms_status status = ms_slurm_members(file, &members, count_out);
    for (size_t i = 1; i < *count_out && status == MS_OK; i++) {
        const ms_slurm_group *block = &MS_AT(&file->groups, ms_slurm_group, members[i].group);
        if (strcmp(members[i - 1].name, members[i].name) == 0) {
            status = ms_slurm_fault(file, &block->nodes_mark,
                                    "'%.80s' is in the blocks '%.80s' and '%.80s'", members[i].name,
                                    MS_AT(&file->groups, ms_slurm_group, members[i - 1].group).name,
                                    block->name);
        }
    }
    return status;
}

/* Groups of blocks: the second size over the first; a third and further are told of. */
static ms_status read_groups(ms_slurm_file *file) {
    const ms_ints *sizes = &file->sizes;
    ms_slurm_topology *out = file->out;
    out->layers = 1;
    out->leaves_per_pod = (int)file->groups.count;
    if (sizes->count == 0) {
        return MS_OK;
    }
    if (sizes->items[0] > out->nodes_per_leaf) {
        return ms_slurm_fault(file, &file->sizes_mark,
                              "blocks have %d nodes, fewer than the base size %d",
                              out->nodes_per_leaf, sizes->items[0]);
    }
    if (sizes->items[0] < out->nodes_per_leaf) {
        ms_buffer_printf(&file->remarks,
                         "# jobs are planned on %d of a block's %d nodes (BlockSizes): all of them "
                         "stand here\n",
                         sizes->items[0], out->nodes_per_leaf);
    }
    if (sizes->count == 1) {
        return MS_OK;
    }
    if (sizes->items[1] % sizes->items[0] != 0) {
        return ms_slurm_fault(file, &file->sizes_mark,
                              "expected sizes of whole blocks, got %d of blocks of %d",
                              sizes->items[1], sizes->items[0]);
    }
    out->layers = 2;
    out->leaves_per_pod = sizes->items[1] / sizes->items[0];
    out->pod_mark = file->sizes_mark;
    for (size_t i = 2; i < sizes->count; i++) {
        ms_buffer_printf(&file->remarks,
                         "# groups of %d nodes (BlockSizes) are left out: a platform has one sort "
                         "of groups above blocks\n",
                         sizes->items[i]);
    }
    return MS_OK;
}

ms_status ms_slurm_blocks(ms_slurm_file *file) {
    int *by_name = NULL;
    size_t nodes = 0, count = file->groups.count;
    int *sizes = MS_NEW(file->arena, int, count);
    if (sizes == NULL) {
        return ms_diag_no_memory(file->diag);
    }
    ms_status status = ms_slurm_sort_groups(file, &by_name);
    status = status == MS_OK ? check_members(file, &nodes) : status;
    if (status != MS_OK) {
        return status;
    }
    for (size_t i = 0; i < count; i++) {
        sizes[i] = (int)MS_AT(&file->groups, ms_slurm_group, i).nodes.count;
    }
    file->out->nodes = (int)nodes;
    file->out->nodes_per_leaf = ms_slurm_usual(file, sizes, count, "blocks", "nodes");
    return read_groups(file);
}
