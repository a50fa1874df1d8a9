/* Tables of the sorting of messages into kinds (route_kinds.c): the links that messages cross,
 * found by a hash table, and the kinds of messages with their numbers of crossings per link. */
#include "collective/route_folding.h"

#include <math.h>
#include <string.h>

/* Slot of the hash table that has a link, or the free slot where the link belongs. Open addressing
 * with linear probing. */
static size_t find_slot(const ms_folding *f, int32_t link) {
    size_t slot = (size_t)ms_random_mix((uint64_t)link) & (f->slot_count - 1);
    while (f->slots[slot] >= 0 && MS_AT(&f->links, ms_crossed_link, f->slots[slot]).link != link) {
        slot = (slot + 1) & (f->slot_count - 1);
    }
    return slot;
}

/* Double the hash table, 256 slots at first, and enter all links anew. Returns false if memory runs
 * out. */
static bool grow_slots(ms_folding *f) {
    f->slot_count = f->slot_count == 0 ? 256 : 2 * f->slot_count;
    f->slots = MS_NEW(f->scratch, int32_t, f->slot_count);
    if (f->slots == NULL) {
        return false;
    }
    /* bytes of -1: free */
    memset(f->slots, 0xFF, f->slot_count * sizeof *f->slots);
    for (size_t i = 0; i < f->links.count; i++) {
        f->slots[find_slot(f, MS_AT(&f->links, ms_crossed_link, i).link)] = (int32_t)i;
    }
    return true;
}

/* Find the index of a link in the folding; add the link if it is new. The hash table grows when it
 * is half full. If memory runs out, `failed` is set and 0 returned. */
int32_t ms_folding_note_link(ms_folding *f, int32_t link) {
    size_t slot = f->slot_count > 0 ? find_slot(f, link) : 0;
    if (f->slot_count > 0 && f->slots[slot] >= 0) {
        return f->slots[slot];
    }
    if (2 * f->links.count >= f->slot_count) { /* at most half full, so that probes are short */
        if (f->failed || !grow_slots(f)) {
            f->failed = true;
            return 0;
        }
        slot = find_slot(f, link);
    }
    ms_crossed_link fresh = {.link = link, .colour = ms_link_colour(f->set->platform, link)};
    f->failed = f->failed || ms_vector_add(&f->links, &fresh, 1) == NULL;
    if (!f->failed) {
        f->slots[slot] = (int32_t)f->links.count - 1;
    }
    return (int32_t)f->links.count - 1;
}

void ms_folding_note_message(ms_folding *f, const ms_route *route, int family) {
    f->latency_s[family] = fmax(f->latency_s[family], route->latency_s);
    f->tier = route->tier > f->tier ? route->tier : f->tier;
}

/* Set the crossings of a new kind to 0 on all links. */
static void clear_crossings(ms_folding *f, int kind) {
    int32_t **crossings = &f->table->crossings[kind];
    if (*crossings == NULL) {
        *crossings = MS_NEW(f->scratch, int32_t, f->links.count);
    } else {
        memset(*crossings, 0, f->links.count * sizeof **crossings);
    }
    f->failed = f->failed || *crossings == NULL;
}

/* Find the index of a kind in the current table; add the kind if it is new. The kinds are few, so
 * they are searched one by one. Once there are too many, the count stays at MS_ROUTE_KINDS_MAX + 1
 * for the rest of the round. */
int ms_folding_find_kind(ms_folding *f, uint64_t kind, int family) {
    ms_kind_table *table = f->table;
    int k = 0;
    while (k < table->count && table->count <= MS_ROUTE_KINDS_MAX && table->kinds[k] != kind) {
        k++;
    }
    if (table->count > MS_ROUTE_KINDS_MAX || k == MS_ROUTE_KINDS_MAX) {
        table->count = MS_ROUTE_KINDS_MAX + 1;
        return -1;
    }
    if (k == table->count) {
        clear_crossings(f, k);
        table->kinds[k] = kind;
        table->family[k] = family;
        table->count += !f->failed;
    }
    return f->failed ? -1 : k;
}
