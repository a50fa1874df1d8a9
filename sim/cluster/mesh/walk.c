/* Visits all meshes of a number of ranks (ms_mesh_walk_all), for commands that choose one: `new`
 * for a job without a mesh, `check` for a job that does not fit in memory. The loops over tp, pp,
 * cp and ep are nested; dp is the rest. */
#include "cluster/mesh/mesh.h"

/* Whether the walk visits a size of an axis: powers of two, because the sizes of nodes mostly are,
 * and the size `beside`. */
static bool is_visited(int size, int beside) {
    return (size & (size - 1)) == 0 || size == beside;
}

/* Visit each ep.  sizes: tp, pp and cp are set.  rest: ranks divided by their product. */
static ms_status visit_experts(const ms_mesh_walk *walk, ms_axis_sizes sizes, int rest,
                               ms_status (*visit)(void *, const ms_axis_sizes *), void *context) {
    ms_status status = MS_OK;
    for (int ep = 1; ep <= rest && ep <= walk->most.ep && status == MS_OK; ep++) {
        if (rest % ep == 0 && is_visited(ep, walk->beside.ep)) {
            sizes.ep = ep;
            sizes.dp = rest / ep;
            status = visit(context, &sizes);
        }
    }
    return status;
}

/* Visit each cp, and each ep in it.  sizes: tp and pp are set.  rest: ranks divided by their
 * product. */
static ms_status visit_contexts(const ms_mesh_walk *walk, ms_axis_sizes sizes, int rest,
                                ms_status (*visit)(void *, const ms_axis_sizes *), void *context) {
    ms_status status = MS_OK;
    for (int cp = 1; cp <= rest && cp <= walk->most.cp && status == MS_OK; cp++) {
        if (rest % cp == 0 && is_visited(cp, walk->beside.cp)) {
            sizes.cp = cp;
            status = visit_experts(walk, sizes, rest / cp, visit, context);
        }
    }
    return status;
}

/* This function has the loops over tp and pp; visit_contexts has the loops over cp and ep. */
ms_status ms_mesh_walk_all(const ms_mesh_walk *walk,
                           ms_status (*visit)(void *, const ms_axis_sizes *), void *context) {
    ms_status status = MS_OK;
    for (int tp = 1; tp <= walk->ranks && tp <= walk->most.tp && status == MS_OK; tp++) {
        if (walk->ranks % tp != 0 || !is_visited(tp, walk->beside.tp)) {
            continue;
        }
        int rest = walk->ranks / tp;
        for (int pp = 1; pp <= rest && pp <= walk->most.pp && status == MS_OK; pp++) {
            if (rest % pp == 0) {
                const ms_axis_sizes sizes = {.tp = tp, .pp = pp};
                status = visit_contexts(walk, sizes, rest / pp, visit, context);
            }
        }
    }
    return status;
}
