/* Sorts messages into kinds (route_kinds.c) by visiting each message: for sets in which not every
 * GPU sends to every other one, and for platforms whose routes are not made of two half routes
 * (half_routes.c). A kind is a class of messages that cross the same numbers of like links and so
 * get the same rate. Each round of the sorting computes all routes anew instead of storing them. */
#include "collective/route_folding.h"

/* Add the links of one message to the folding, and raise the longest latency of the message's
 * family and the outermost tier to those of its route. context: the ms_folding. */
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

/* Find the kind of one message by the current colours, and count its crossings. context: the
 * ms_folding. */
static void count_message(void *context, const ms_message *m) {
    ms_folding *f = context;
    ms_route route;
    int32_t indices[MS_ROUTE_LINKS_MAX];
    uint64_t colours = 0;
    ms_platform_route(f->set->platform, m->source, m->destination, &route);
    for (int i = 0; i < route.count; i++) {
        /* finds the link, which note_message has added */
        indices[i] = ms_folding_note_link(f, route.links[i]);
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
