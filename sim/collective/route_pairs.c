/* Messages that are counted one by one. */
#include "collective/route_folding.h"

static void note_message(void *context, const ms_message *m) {
    ms_folding *f = context;
    ms_route route;
    ms_platform_route(f->set->platform, m->source, m->destination, &route);
    for (int i = 0; i < route.count; i++) {
        ms_folding_note_link(f, route.links[i]);
    }
    ms_folding_note_message(f, &route, m->family);
}

void ms_folding_note_pairs(ms_folding *f) {
    f->set->visit(f->set->source, note_message, f);
}

static void count_message(void *context, const ms_message *m) {
    ms_folding *f = context;
    ms_route route;
    int32_t indices[MS_ROUTE_LINKS_MAX];
    uint64_t colours = 0;
    ms_platform_route(f->set->platform, m->source, m->destination, &route);
    for (int i = 0; i < route.count; i++) {
        indices[i] = ms_folding_note_link(f, route.links[i]); /* where it was noted before */
        colours += f->is_coarse ? 0 : ms_folding_colour(f, indices[i]);
    }
    uint64_t kind = ms_folding_kind(route.tier, m->family, colours);
    int k = ms_folding_find_kind(f, kind, m->family);
    for (int i = 0; i < route.count && k >= 0; i++) {
        ms_folding_cross(f, k, indices[i], 1);
    }
}

void ms_folding_count_pairs(ms_folding *f) {
    f->set->visit(f->set->source, count_message, f);
}
