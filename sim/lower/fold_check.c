/* Whether a folded graph stands for all ranks exactly; the reasoning is in folding.md.
 *
 * A class is one collective in all groups of a fold class; its flows in the same place of every
 * group's plan are one strand. */
#include <stdlib.h>

#include "lower/works.h"
#include "meshsim/random.h"

/* What crosses a link of the platform. */
typedef struct link_view {
    uint64_t crossings; /* sum over strands and groups, with how often each crosses */
    uint64_t strands;   /* sum over the strands that cross it */
    uint64_t simulated; /* the same of those whose simulated group does */
    int32_t last;       /* the last strand that was counted, plus 1 */
} link_view;

/* A kind of link that simulated groups cross. */
typedef struct link_colour {
    uint64_t colour;
    bool is_complete; /* on this one all is simulated that crosses it */
} link_colour;

typedef struct fold_check {
    const ms_works *w;
    link_view *links; /* [platform links] */
    int32_t strand;   /* under way, from 1 */
} fold_check;

ms_status ms_fold_note(ms_works *w, const ms_coll_plan *plans, int groups) {
    ms_fold_class class = {.plans = plans, .groups = groups};
    if (!w->is_folded || groups == 0) {
        return MS_OK; /* nothing stands for anything else */
    }
    return ms_vector_add(&w->classes, &class, 1) == NULL ? MS_E_NOMEM : MS_OK;
}

/* Call visit(check, group, flow) for every flow of every group, strand after strand. */
static void for_each_flow(fold_check *check,
                          void (*visit)(fold_check *check, int group, const ms_flow *flow)) {
    check->strand = 0;
    for (size_t c = 0; c < check->w->classes.count; c++) {
        const ms_fold_class *class = &MS_AT(&check->w->classes, ms_fold_class, c);
        for (int p = 0; p < class->plans[0].phase_count; p++) {
            for (int f = 0; f < class->plans[0].phases[p].count; f++) {
                check->strand++;
                for (int g = 0; g < class->groups; g++) {
                    visit(check, g, &class->plans[g].phases[p].flows[f]);
                }
            }
        }
    }
}

static void count_flow(fold_check *check, int group, const ms_flow *flow) {
    uint64_t strand = ms_random_mix((uint64_t)check->strand);
    for (int i = 0; i < flow->count; i++) {
        link_view *link = &check->links[flow->links[i].link];
        link->crossings += ms_random_mix(strand + (uint64_t)flow->links[i].weight);
        link->strands += link->last == check->strand ? 0 : strand;
        link->simulated += group == 0 ? strand : 0;
        link->last = check->strand;
    }
}

/* What a link is, and what crosses it. */
static uint64_t colour_of(const fold_check *check, int link) {
    return ms_random_mix(ms_link_colour(check->w->platform, link) + check->links[link].crossings);
}

static uint64_t colours_on(const fold_check *check, const ms_flow *flow) {
    uint64_t sum = 0;
    for (int i = 0; i < flow->count; i++) {
        sum +=
            ms_random_mix(colour_of(check, flow->links[i].link) + (uint64_t)flow->links[i].weight);
    }
    return sum;
}

/* Whether all groups of a class cross the same kinds of links as often. */
static bool is_alike(const fold_check *check, const ms_fold_class *class, int p, int f) {
    uint64_t first = colours_on(check, &class->plans[0].phases[p].flows[f]);
    for (int g = 1; g < class->groups; g++) {
        if (colours_on(check, &class->plans[g].phases[p].flows[f]) != first) {
            return false;
        }
    }
    return true;
}

static bool are_all_alike(const fold_check *check) {
    for (size_t c = 0; c < check->w->classes.count; c++) {
        const ms_fold_class *class = &MS_AT(&check->w->classes, ms_fold_class, c);
        for (int p = 0; p < class->plans[0].phase_count; p++) {
            for (int f = 0; f < class->plans[0].phases[p].count; f++) {
                if (!is_alike(check, class, p, f)) {
                    return false;
                }
            }
        }
    }
    return true;
}

static int by_colour(const void *a, const void *b) {
    const link_colour *x = a;
    const link_colour *y = b;
    if (x->colour != y->colour) {
        return x->colour < y->colour ? -1 : 1;
    }
    return (int)y->is_complete - (int)x->is_complete; /* a complete one first */
}

/* Whether each kind of link in the graph has one on which all is simulated that crosses it. */
static bool are_all_complete(const fold_check *check, link_colour *colours) {
    size_t count = 0;
    for (int i = 0; i < check->w->platform->link_count; i++) {
        const link_view *link = &check->links[i];
        if (link->simulated != 0) {
            colours[count++] = (link_colour){colour_of(check, i), link->simulated == link->strands};
        }
    }
    qsort(colours, count, sizeof *colours, by_colour);
    for (size_t i = 0; i < count; i++) {
        bool is_first = i == 0 || colours[i].colour != colours[i - 1].colour;
        if (is_first && !colours[i].is_complete) {
            return false;
        }
    }
    return true;
}

ms_status ms_fold_check(ms_works *w) {
    fold_check check = {.w = w};
    if (!w->is_exact || w->classes.count == 0) {
        return MS_OK;
    }
    check.links = MS_NEW(w->arena, link_view, w->platform->link_count);
    link_colour *colours = MS_NEW(w->arena, link_colour, w->platform->link_count);
    if (check.links == NULL || colours == NULL) {
        return MS_E_NOMEM;
    }
    for_each_flow(&check, count_flow);
    w->is_exact = are_all_alike(&check) && are_all_complete(&check, colours);
    return MS_OK;
}
