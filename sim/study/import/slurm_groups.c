/* What trees of switches and blocks of nodes have in common: names, members, usual sizes. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/import/slurm_parts.h"

ms_status ms_slurm_fault(const ms_slurm_file *file, const ms_mark *mark, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char text[400];
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    ms_diag_at(file->diag, mark, NULL, "%s", text);
    return MS_E_INPUT;
}

static int compare_members(const void *a, const void *b) {
    const ms_slurm_member *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order != 0 ? order : (left->group > right->group) - (left->group < right->group);
}

ms_status ms_slurm_members(const ms_slurm_file *file, ms_slurm_member **members_out,
                           size_t *count_out) {
    size_t count = 0;
    for (size_t i = 0; i < file->groups.count; i++) {
        count += MS_AT(&file->groups, ms_slurm_group, i).nodes.count;
    }
    ms_slurm_member *members = MS_NEW(file->arena, ms_slurm_member, count + 1);
    if (members == NULL) {
        return ms_diag_no_memory(file->diag);
    }
    count = 0;
    for (size_t i = 0; i < file->groups.count; i++) {
        const ms_words *nodes = &MS_AT(&file->groups, ms_slurm_group, i).nodes;
        for (size_t n = 0; n < nodes->count; n++) {
            members[count++] = (ms_slurm_member){nodes->items[n], (int)i};
        }
    }
    qsort(members, count, sizeof *members, compare_members);
    ms_status status = MS_OK;
    for (size_t i = 1; i < count; i++) {
        const ms_slurm_group *group = &MS_AT(&file->groups, ms_slurm_group, members[i].group);
        if (compare_members(&members[i - 1], &members[i]) == 0) {
            status = ms_slurm_fault(file, &group->nodes_mark, "'%.80s' stands twice below '%.80s'",
                                    members[i].name, group->name);
        }
    }
    *members_out = members;
    *count_out = count;
    return status;
}

/* ---- names ---- */

/* A name with the place of its group. */
typedef struct named_group {
    const char *name;
    int group;
} named_group;

static int compare_names(const void *a, const void *b) {
    const named_group *left = a, *right = b;
    int order = strcmp(left->name, right->name);
    return order != 0 ? order : (left->group > right->group) - (left->group < right->group);
}

ms_status ms_slurm_sort_groups(const ms_slurm_file *file, int **by_name_out) {
    size_t count = file->groups.count;
    named_group *names = MS_NEW(file->arena, named_group, count);
    int *by_name = MS_NEW(file->arena, int, count);
    if (names == NULL || by_name == NULL) {
        return ms_diag_no_memory(file->diag);
    }
    for (size_t i = 0; i < count; i++) {
        names[i] = (named_group){MS_AT(&file->groups, ms_slurm_group, i).name, (int)i};
    }
    qsort(names, count, sizeof *names, compare_names);
    ms_status status = MS_OK;
    for (size_t i = 0; i < count; i++) {
        by_name[i] = names[i].group;
        if (i > 0 && strcmp(names[i - 1].name, names[i].name) == 0) {
            const ms_slurm_group *group = &MS_AT(&file->groups, ms_slurm_group, names[i].group);
            status = ms_slurm_fault(
                file, &group->mark, "'%.80s' is there already, at line %d", group->name,
                MS_AT(&file->groups, ms_slurm_group, names[i - 1].group).mark.line);
        }
    }
    *by_name_out = by_name;
    return status;
}

/* ---- sizes ---- */

static int compare_ints(const void *a, const void *b) {
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

int ms_slurm_usual(ms_slurm_file *file, int *values, size_t count, const char *groups,
                   const char *members) {
    qsort(values, count, sizeof *values, compare_ints);
    int usual = 0;
    size_t best = 0;
    for (size_t i = 0, same = 0; i < count; i++) {
        same = i > 0 && values[i] == values[i - 1] ? same + 1 : 1;
        usual = same >= best ? values[i] : usual;
        best = same > best ? same : best;
    }
    bool is_last_smaller = count - best == 1 && values[0] < usual;
    if (best < count && !is_last_smaller) {
        ms_buffer_printf(&file->remarks,
                         "# %zu %s have %d %s, %zu another number (%d to %d in all): a platform's "
                         "have one number, here %d, and the last what is left\n",
                         best, groups, usual, members, count - best, values[0], values[count - 1],
                         usual);
    }
    return usual;
}
