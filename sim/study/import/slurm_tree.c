/* topology/tree: layers of switches. Switches with the same children stand side by side, as rails
 * and spines do, and count as one of their layer. */
#include <stdlib.h>
#include <string.h>

#include "study/import/slurm_parts.h"

enum { LAYERS_MAX = 64, PLATFORM_LAYERS = 3 };

/* A switch, or several side by side. */
typedef struct tree_switch {
    int layer;   /* 1: a leaf; 0: not known yet */
    int same_as; /* the first of those side by side, itself for most */
    int beside;  /* how many stand side by side; of the first */
    int parent;  /* of the first; -1: none */
    int *
        children; /* [child_count] sorted: switches that are the first, or places of nodes' names */
    size_t child_count;
    int nodes; /* below it */
} tree_switch;

/* A tree while it is made. */
typedef struct tree_builder {
    ms_slurm_file *file;
    tree_switch *switches; /* [count] as the groups */
    size_t count;
    int *by_name;
    int *order; /* [count] switches by layer and children */
    int layers;
} tree_builder;

static const ms_slurm_group *group_of(const tree_builder *t, int index) {
    return &MS_AT(&t->file->groups, ms_slurm_group, index);
}

static int compare_ints(const void *a, const void *b) {
    int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* ---- children ---- */

/* The switch of that name; -1 (reported): there is none. */
static int find_switch(const tree_builder *t, const char *name, const ms_mark *mark) {
    size_t low = 0, high = t->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(name, group_of(t, t->by_name[middle])->name);
        if (order == 0) {
            return t->by_name[middle];
        }
        low = order > 0 ? middle + 1 : low;
        high = order > 0 ? high : middle;
    }
    ms_slurm_fault(t->file, mark, "no line names a switch '%.80s'", name);
    return -1;
}

static ms_status link_switches(const tree_builder *t) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < t->count; i++) {
        const ms_slurm_group *group = group_of(t, (int)i);
        tree_switch *s = &t->switches[i];
        s->parent = -1;
        s->same_as = (int)i;
        s->beside = 1;
        s->child_count = group->nodes.count + group->switches.count;
        s->children = MS_NEW(t->file->arena, int, s->child_count);
        if (s->children == NULL) {
            return ms_diag_no_memory(t->file->diag);
        }
        for (size_t c = 0; c < group->switches.count; c++) {
            s->children[c] = find_switch(t, group->switches.items[c], &group->switches_mark);
            status = s->children[c] < 0 ? MS_E_INPUT : status;
        }
    }
    return status;
}

/* Nodes by numbers that are the same where their names are. */
static ms_status number_nodes(const tree_builder *t) {
    ms_slurm_member *members = NULL;
    size_t count = 0;
    ms_status status = ms_slurm_members(t->file, &members, &count);
    size_t *filled = MS_NEW(t->file->arena, size_t, t->count);
    if (status != MS_OK || filled == NULL) {
        return status == MS_OK ? ms_diag_no_memory(t->file->diag) : status;
    }
    int number = 0;
    for (size_t i = 0; i < count; i++) {
        number += i > 0 && strcmp(members[i - 1].name, members[i].name) != 0;
        tree_switch *leaf = &t->switches[members[i].group];
        leaf->children[filled[members[i].group]++] = number;
    }
    return MS_OK;
}

/* ---- layers ---- */

/* One more than the highest layer below a switch; 0: one of them is not known yet. */
static int layer_above(const tree_builder *t, const tree_switch *s, const ms_slurm_group *group) {
    int layer = 1;
    for (size_t c = 0; c < group->switches.count; c++) {
        int below = t->switches[s->children[c]].layer;
        if (below == 0) {
            return 0;
        }
        layer = below >= layer ? below + 1 : layer;
    }
    return layer;
}

static ms_status find_layers(tree_builder *t) {
    size_t known = 0, before;
    do { /* a layer each time, so that what stays open is in a circle or above one */
        before = known;
        for (size_t i = 0; i < t->count; i++) {
            tree_switch *s = &t->switches[i];
            int layer = s->layer == 0 ? layer_above(t, s, group_of(t, (int)i)) : 0;
            s->layer = layer > 0 ? layer : s->layer;
            known += layer > 0;
            t->layers = layer > t->layers ? layer : t->layers;
        }
    } while (known > before && t->layers < LAYERS_MAX);
    for (size_t i = 0; i < t->count && known < t->count; i++) {
        if (t->switches[i].layer == 0) {
            return ms_slurm_fault(
                t->file, &group_of(t, (int)i)->switches_mark,
                "a circle of switches at or below '%.80s', or more than %d layers",
                group_of(t, (int)i)->name, (int)LAYERS_MAX);
        }
    }
    return MS_OK;
}

/* ---- side by side ---- */

static const tree_builder *ordering; /* of qsort, which takes no context */

static int compare_children(const void *a, const void *b) {
    const tree_switch *left = &ordering->switches[*(const int *)a];
    const tree_switch *right = &ordering->switches[*(const int *)b];
    if (left->child_count != right->child_count) {
        return left->child_count > right->child_count ? 1 : -1;
    }
    for (size_t i = 0; i < left->child_count; i++) {
        if (left->children[i] != right->children[i]) {
            return left->children[i] > right->children[i] ? 1 : -1;
        }
    }
    return compare_ints(a, b);
}

static bool has_same_children(const tree_switch *a, const tree_switch *b) {
    return a->child_count == b->child_count && a->child_count > 0 &&
           memcmp(a->children, b->children, a->child_count * sizeof *a->children) == 0;
}

/* Children by the first of those side by side, each once, in order. */
static void settle_children(const tree_builder *t, tree_switch *s) {
    size_t kept = 0;
    for (size_t c = 0; c < s->child_count && s->layer > 1; c++) {
        s->children[c] = t->switches[s->children[c]].same_as;
    }
    qsort(s->children, s->child_count, sizeof *s->children, compare_ints);
    for (size_t c = 0; c < s->child_count; c++) {
        if (kept == 0 || s->children[kept - 1] != s->children[c]) {
            s->children[kept++] = s->children[c];
        }
    }
    s->child_count = kept;
}

/* Join those of a layer that have the same children; those of the layers below are joined. */
static void join_layer(tree_builder *t, int layer) {
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++) {
        if (t->switches[i].layer == layer) {
            settle_children(t, &t->switches[i]);
            t->order[count++] = (int)i;
        }
    }
    ordering = t;
    qsort(t->order, count, sizeof *t->order, compare_children);
    for (size_t i = 1; i < count; i++) {
        tree_switch *s = &t->switches[t->order[i]];
        const tree_switch *before = &t->switches[t->order[i - 1]];
        if (has_same_children(before, s)) {
            s->same_as = before->same_as;
            t->switches[s->same_as].beside++;
        }
    }
}

/* ---- parents ---- */

static bool is_first(const tree_builder *t, size_t index) {
    return t->switches[index].same_as == (int)index;
}

static ms_status find_parents(const tree_builder *t) {
    ms_status status = MS_OK;
    for (size_t i = 0; i < t->count; i++) {
        const tree_switch *s = &t->switches[i];
        for (size_t c = 0; c < s->child_count && s->layer > 1 && is_first(t, i); c++) {
            tree_switch *child = &t->switches[s->children[c]];
            if (child->parent >= 0) {
                status = ms_slurm_fault(
                    t->file, &group_of(t, (int)i)->switches_mark,
                    "'%.80s' is below '%.80s' and '%.80s', which do not have the same switches",
                    group_of(t, s->children[c])->name, group_of(t, child->parent)->name,
                    group_of(t, (int)i)->name);
            }
            child->parent = (int)i;
        }
    }
    return status;
}

/* A node below two leaf switches that do not have the same nodes. */
static ms_status check_nodes(const tree_builder *t) {
    ms_slurm_member *members = NULL;
    size_t count = 0;
    ms_status status = ms_slurm_members(t->file, &members, &count);
    for (size_t i = 1; i < count && status == MS_OK; i++) {
        int a = t->switches[members[i - 1].group].same_as;
        int b = t->switches[members[i].group].same_as;
        if (strcmp(members[i - 1].name, members[i].name) == 0 && a != b) {
            status = ms_slurm_fault(
                t->file, &group_of(t, members[i].group)->nodes_mark,
                "'%.80s' is below '%.80s' and '%.80s', which do not have the same nodes",
                members[i].name, group_of(t, members[i - 1].group)->name,
                group_of(t, members[i].group)->name);
        }
    }
    return status;
}

static void count_nodes(const tree_builder *t) {
    for (int layer = 1; layer <= t->layers; layer++) {
        for (size_t i = 0; i < t->count; i++) {
            tree_switch *s = &t->switches[i];
            if (s->layer == layer && is_first(t, i)) {
                s->nodes += layer == 1 ? (int)s->child_count : 0;
                if (s->parent >= 0) {
                    t->switches[s->parent].nodes += s->nodes;
                }
            }
        }
    }
}

/* ---- what a platform takes of it ---- */

static int root_of(const tree_builder *t, int index) {
    while (t->switches[index].parent >= 0) {
        index = t->switches[index].parent;
    }
    return index;
}

/* The switch on top with the most nodes; the others' nodes are told to be left out. */
static int choose_root(const tree_builder *t) {
    int best = -1;
    for (size_t i = 0; i < t->count; i++) {
        const tree_switch *s = &t->switches[i];
        bool is_root = is_first(t, i) && s->parent < 0;
        best = is_root && (best < 0 || s->nodes > t->switches[best].nodes) ? (int)i : best;
    }
    for (size_t i = 0; i < t->count; i++) {
        const tree_switch *s = &t->switches[i];
        if (is_first(t, i) && s->parent < 0 && (int)i != best) {
            ms_buffer_printf(&t->file->remarks,
                             "# switch '%.80s' with %d nodes is left out: nothing joins it to "
                             "'%.80s', which has more\n",
                             group_of(t, (int)i)->name, s->nodes, group_of(t, best)->name);
        }
    }
    return best;
}

/* Sizes of the switches of a layer below the root: nodes of leaves, leaves of pods.  Returns how
 * many; values: [t->count]. */
static size_t list_sizes(const tree_builder *t, int layer, int root, int *values) {
    size_t count = 0;
    for (size_t i = 0; i < t->count; i++) {
        const tree_switch *s = &t->switches[i];
        if (s->layer == layer && is_first(t, i) && root_of(t, (int)i) == root) {
            values[count++] = (int)s->child_count;
        }
    }
    return count;
}

/* Leaf switches right below a layer that is not the second: a platform has none such. */
static void remark_depths(const tree_builder *t, int root) {
    int odd = 0;
    const char *name = "";
    for (size_t i = 0; i < t->count; i++) {
        const tree_switch *s = &t->switches[i];
        bool is_odd = is_first(t, i) && s->parent >= 0 && root_of(t, (int)i) == root &&
                      t->switches[s->parent].layer != s->layer + 1;
        name = is_odd && odd == 0 ? group_of(t, (int)i)->name : name;
        odd += is_odd;
    }
    if (odd > 0) {
        ms_buffer_printf(&t->file->remarks,
                         "# switches more than one layer below the next (%d, such as '%.80s') are "
                         "taken as the others\n",
                         odd, name);
    }
    if (t->switches[root].layer > PLATFORM_LAYERS) {
        ms_buffer_printf(&t->file->remarks,
                         "# %d layers of switches: a platform has three, and those above the "
                         "second are taken as one\n",
                         t->switches[root].layer);
    }
}

/* How many leaf switches stand side by side, where it is the same everywhere. */
static int find_rails(const tree_builder *t, int root) {
    int rails = 0;
    for (size_t i = 0; i < t->count; i++) {
        const tree_switch *s = &t->switches[i];
        if (s->layer == 1 && is_first(t, i) && root_of(t, (int)i) == root) {
            rails = rails == 0 || rails == s->beside ? s->beside : 1;
        }
    }
    return rails;
}

static ms_status sum_up(const tree_builder *t) {
    ms_slurm_topology *out = t->file->out;
    int *sizes = MS_NEW(t->file->arena, int, t->count);
    if (sizes == NULL) {
        return ms_diag_no_memory(t->file->diag);
    }
    count_nodes(t);
    int root = choose_root(t);
    int layers = t->switches[root].layer;
    out->layers = layers < PLATFORM_LAYERS ? layers : PLATFORM_LAYERS;
    out->nodes = t->switches[root].nodes;
    out->rails = find_rails(t, root);
    size_t leaves = list_sizes(t, 1, root, sizes);
    out->nodes_per_leaf = ms_slurm_usual(t->file, sizes, leaves, "leaf switches", "nodes");
    out->leaves_per_pod = (int)leaves;
    if (layers > 2) {
        size_t pods = list_sizes(t, 2, root, sizes);
        out->leaves_per_pod =
            ms_slurm_usual(t->file, sizes, pods, "switches of the second layer", "leaf switches");
    }
    if (layers > 1) {
        out->pod_mark = group_of(t, root)->switches_mark;
    }
    remark_depths(t, root);
    return MS_OK;
}

ms_status ms_slurm_tree(ms_slurm_file *file) {
    tree_builder t = {.file = file, .count = file->groups.count};
    t.switches = MS_NEW(file->arena, tree_switch, t.count);
    t.order = MS_NEW(file->arena, int, t.count);
    if (t.switches == NULL || t.order == NULL) {
        return ms_diag_no_memory(file->diag);
    }
    ms_status status = ms_slurm_sort_groups(file, &t.by_name);
    status = status == MS_OK ? link_switches(&t) : status;
    status = status == MS_OK ? number_nodes(&t) : status;
    status = status == MS_OK ? find_layers(&t) : status;
    for (int layer = 1; layer <= t.layers && status == MS_OK; layer++) {
        join_layer(&t, layer);
    }
    status = status == MS_OK ? find_parents(&t) : status;
    status = status == MS_OK ? check_nodes(&t) : status;
    return status == MS_OK ? sum_up(&t) : status;
}
