#include "collective/route_kinds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collective/crossings.h"
#include "meshsim/random.h"

/* A link that messages cross. */
typedef struct crossed_link {
    int32_t link;
    uint64_t colour; /* equal: not told apart so far */
    uint64_t sum;    /* of the mixed kinds of the messages across it */
} crossed_link;

/* Messages told apart so far. */
typedef struct kind_table {
    uint64_t kinds[MS_ROUTE_KINDS_MAX];
    int family[MS_ROUTE_KINDS_MAX];
    int count;          /* MS_ROUTE_KINDS_MAX + 1: too many */
    int32_t *crossings; /* [MS_ROUTE_KINDS_MAX * links] of each kind's messages */
} kind_table;

typedef struct folding {
    const ms_message_set *set;
    ms_arena *scratch;
    bool is_coarse;
    ms_vector links;   /* of crossed_link */
    int32_t *slots;    /* [slot_count] open hash over links, -1 free */
    size_t slot_count; /* a power of two */
    kind_table *table; /* filled by the round under way */
    double latency_s[MS_FAMILY_COUNT];
    int tier;
} folding;

static size_t find_slot(const folding *f, int32_t link) {
    size_t slot = (size_t)ms_random_mix((uint64_t)link) & (f->slot_count - 1);
    while (f->slots[slot] >= 0 && MS_AT(&f->links, crossed_link, f->slots[slot]).link != link) {
        slot = (slot + 1) & (f->slot_count - 1);
    }
    return slot;
}

static bool grow_slots(folding *f) {
    f->slot_count = f->slot_count == 0 ? 256 : 2 * f->slot_count;
    f->slots = MS_NEW(f->scratch, int32_t, f->slot_count);
    if (f->slots == NULL) {
        return false;
    }
    memset(f->slots, 0xFF, f->slot_count * sizeof *f->slots);
    for (size_t i = 0; i < f->links.count; i++) {
        f->slots[find_slot(f, MS_AT(&f->links, crossed_link, i).link)] = (int32_t)i;
    }
    return true;
}

static void note_link(folding *f, int32_t link) {
    if (f->links.failed || (2 * f->links.count >= f->slot_count && !grow_slots(f))) {
        f->links.failed = true;
        return;
    }
    size_t slot = find_slot(f, link);
    if (f->slots[slot] >= 0) {
        return;
    }
    crossed_link fresh = {.link = link, .colour = ms_link_colour(f->set->platform, link)};
    f->slots[slot] = (int32_t)f->links.count;
    ms_vector_add(&f->links, &fresh, 1);
}

static void note_message(void *context, const ms_message *m) {
    folding *f = context;
    ms_route route;
    ms_platform_route(f->set->platform, m->source, m->destination, &route);
    for (int i = 0; i < route.count; i++) {
        note_link(f, route.links[i]);
    }
    f->latency_s[m->family] = fmax(f->latency_s[m->family], route.latency_s);
    f->tier = route.tier > f->tier ? route.tier : f->tier;
}

/* The kind of a message by the links it crosses, as far as those are told apart; the outermost tier
 * keeps routes apart whose limited links are the same. */
static uint64_t kind_of(const folding *f, const ms_message *m, const ms_route *route,
                        const int32_t *places) {
    uint64_t sum = (uint64_t)(route->tier + 1) * MS_FAMILY_COUNT + (uint64_t)m->family;
    for (int i = 0; i < route->count && !f->is_coarse; i++) {
        sum += ms_random_mix(MS_AT(&f->links, crossed_link, places[i]).colour);
    }
    return ms_random_mix(sum);
}

/* Index of a kind in the table, -1 if it is full. */
static int find_kind(kind_table *table, uint64_t kind, int family) {
    int k = 0;
    while (k < table->count && table->count <= MS_ROUTE_KINDS_MAX && table->kinds[k] != kind) {
        k++;
    }
    if (table->count > MS_ROUTE_KINDS_MAX || k == MS_ROUTE_KINDS_MAX) {
        table->count = MS_ROUTE_KINDS_MAX + 1;
        return -1;
    }
    if (k == table->count) {
        table->kinds[table->count] = kind;
        table->family[table->count++] = family;
    }
    return k;
}

static void count_message(void *context, const ms_message *m) {
    folding *f = context;
    ms_route route;
    int32_t places[MS_ROUTE_LINKS_MAX];
    ms_platform_route(f->set->platform, m->source, m->destination, &route);
    for (int i = 0; i < route.count; i++) {
        places[i] = f->slots[find_slot(f, route.links[i])];
    }
    uint64_t kind = kind_of(f, m, &route, places);
    int k = find_kind(f->table, kind, m->family);
    for (int i = 0; i < route.count && k >= 0; i++) {
        MS_AT(&f->links, crossed_link, places[i]).sum += ms_random_mix(kind);
        f->table->crossings[(size_t)k * f->links.count + (size_t)places[i]]++;
    }
}

/* Count the messages of each kind, as links are told apart now. */
static void count_messages(folding *f, kind_table *table) {
    table->count = 0;
    memset(table->crossings, 0, MS_ROUTE_KINDS_MAX * f->links.count * sizeof *table->crossings);
    for (size_t i = 0; i < f->links.count; i++) {
        MS_AT(&f->links, crossed_link, i).sum = 0;
    }
    f->table = table;
    f->set->visit(f->set->source, count_message, f);
}

static void tell_links_apart(folding *f) {
    for (size_t i = 0; i < f->links.count; i++) {
        crossed_link *link = &MS_AT(&f->links, crossed_link, i);
        link->colour = ms_random_mix(link->colour + ms_random_mix(link->sum));
    }
}

/* Tell messages apart by the links they cross, and links by the messages across them, until that
 * tells no more of them apart or too many. *best_out: the last count that was not too many. */
static ms_status refine(folding *f, kind_table **best_out) {
    kind_table *tables = MS_NEW(f->scratch, kind_table, 2);
    for (int i = 0; i < 2; i++) {
        if (tables != NULL) {
            tables[i].crossings = MS_NEW(f->scratch, int32_t, MS_ROUTE_KINDS_MAX * f->links.count);
        }
        if (tables == NULL || tables[i].crossings == NULL) {
            return MS_E_NOMEM;
        }
    }
    kind_table *best = &tables[0];
    kind_table *next = &tables[1];
    count_messages(f, best);
    if (best->count > MS_ROUTE_KINDS_MAX) {
        f->is_coarse = true;
        count_messages(f, best);
    }
    while (!f->is_coarse) {
        tell_links_apart(f);
        count_messages(f, next);
        bool is_finer = next->count > best->count && next->count <= MS_ROUTE_KINDS_MAX;
        if (!is_finer) {
            break;
        }
        kind_table *spare = best;
        best = next;
        next = spare;
    }
    *best_out = best;
    return MS_OK;
}

static ms_status make_flow(const folding *f, const kind_table *table, int k, ms_arena *arena,
                           ms_flow *flow_out) {
    const int32_t *crossings = &table->crossings[(size_t)k * f->links.count];
    int count = 0;
    for (size_t i = 0; i < f->links.count; i++) {
        count += crossings[i] > 0;
    }
    ms_flow_link *links = MS_NEW(arena, ms_flow_link, count);
    if (links == NULL) {
        return MS_E_NOMEM;
    }
    *flow_out = (ms_flow){
        .bytes = f->set->message_B[table->family[k]], .kind = table->kinds[k], .links = links};
    for (size_t i = 0; i < f->links.count; i++) {
        if (crossings[i] > 0) {
            links[flow_out->count++] =
                (ms_flow_link){.link = MS_AT(&f->links, crossed_link, i).link,
                               .weight = crossings[i],
                               .load = crossings[i]};
        }
    }
    ms_flow_links_sort(links, (size_t)count);
    return MS_OK;
}

static int by_kind(const void *a, const void *b) {
    uint64_t x = ((const ms_flow *)a)->kind;
    uint64_t y = ((const ms_flow *)b)->kind;
    return (x > y) - (x < y);
}

static ms_status fold(folding *f, ms_arena *arena, ms_phase *phase_out) {
    kind_table *table = NULL;
    f->set->visit(f->set->source, note_message, f);
    ms_status status = f->links.failed ? MS_E_NOMEM : refine(f, &table);
    if (status != MS_OK) {
        return status;
    }
    ms_phase phase = {.latency_s = f->latency_s[MS_FAMILY_PAIRS] + f->latency_s[MS_FAMILY_FORWARDS],
                      .flows = MS_NEW(arena, ms_flow, table->count),
                      .count = table->count};
    status = phase.flows == NULL ? MS_E_NOMEM : MS_OK;
    for (int k = 0; k < table->count && status == MS_OK; k++) {
        status = make_flow(f, table, k, arena, &phase.flows[k]);
    }
    if (status == MS_OK) {
        qsort(phase.flows, (size_t)phase.count, sizeof *phase.flows, by_kind);
        *phase_out = phase;
    }
    return status;
}

ms_status ms_route_kinds_fold(const ms_message_set *set, bool is_coarse, ms_arena *arena,
                              ms_phase *phase_out, int *tier_out) {
    ms_arena scratch;
    folding f = {.set = set, .scratch = &scratch, .is_coarse = is_coarse, .tier = -1};
    ms_arena_init(&scratch);
    ms_vector_init(&f.links, sizeof(crossed_link));
    ms_status status = fold(&f, arena, phase_out);
    if (status == MS_OK) {
        *tier_out = f.tier;
    }
    ms_vector_release(&f.links);
    ms_arena_release(&scratch);
    return status;
}
