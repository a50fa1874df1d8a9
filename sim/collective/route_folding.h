/* Messages told apart by the links they cross, and links by the messages across them; what counts
 * them, message by message or half by half, stands in route_pairs.c and half_routes.c. */
#ifndef MS_COLLECTIVE_ROUTE_FOLDING_H
#define MS_COLLECTIVE_ROUTE_FOLDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/random.h"
#include "collective/route_kinds.h"

/* A link that messages cross. */
typedef struct ms_crossed_link {
    int32_t link;
    uint64_t colour; /* links of equal colour are not told apart so far */
    uint64_t sum;    /* sum of the hashed kinds of the messages that cross the link */
} ms_crossed_link;

/* The kinds of messages that are told apart so far. */
typedef struct ms_kind_table {
    uint64_t kinds[MS_ROUTE_KINDS_MAX];
    int family[MS_ROUTE_KINDS_MAX];
    int count; /* number of kinds; MS_ROUTE_KINDS_MAX + 1: there are too many */
    int32_t *crossings[MS_ROUTE_KINDS_MAX]; /* [links] of each kind's messages; NULL: never used */
} ms_kind_table;

typedef struct ms_folding {
    const ms_message_set *set;
    ms_arena *scratch;
    bool is_coarse;
    bool failed;              /* memory ran out */
    ms_vector links;          /* of ms_crossed_link */
    int32_t *slots;           /* [slot_count] open hash over links, -1 free */
    size_t slot_count;        /* a power of two */
    ms_kind_table *table;     /* filled by the round under way */
    struct ms_halves *halves; /* of the routes; NULL: messages are counted one by one */
    double latency_s[MS_FAMILY_COUNT];
    int tier;
} ms_folding;

/* Take note of a message's latency and outermost tier. */
void ms_folding_note_message(ms_folding *f, const ms_route *route, int family);

/* Add a link to the folding, if it is not there yet. Returns the link's index in the folding. */
int32_t ms_folding_note_link(ms_folding *f, int32_t link);

/* A link's colour: what the link adds to the kind of the messages that cross it. */
static inline uint64_t ms_folding_colour(const ms_folding *f, int32_t index) {
    return ms_random_mix(MS_AT(&f->links, ms_crossed_link, index).colour);
}

/* The kind of messages from the outermost tier they cross, which keeps routes apart whose limited
 * links are the same, their family, and the colours of the links they cross. */
static inline uint64_t ms_folding_kind(int tier, int family, uint64_t colours) {
    return ms_random_mix((uint64_t)(tier + 1) * MS_FAMILY_COUNT + (uint64_t)family + colours);
}

/* Index of a kind in the table, -1 if it is full. */
int ms_folding_find_kind(ms_folding *f, uint64_t kind, int family);

/* Count `messages` messages of a kind across a link. kind: index in the table. index: of the link
 * in the folding. */
static inline void ms_folding_cross(ms_folding *f, int kind, int32_t index, int64_t messages) {
    MS_AT(&f->links, ms_crossed_link, index).sum +=
        (uint64_t)messages * ms_random_mix(f->table->kinds[kind]);
    f->table->crossings[kind][index] += (int32_t)messages;
}

/* Note links and latency of every message, and count the messages of each kind: one by one. */
void ms_folding_note_pairs(ms_folding *f);
void ms_folding_count_pairs(ms_folding *f);

/* Note and count the messages half route by half route, where every GPU of the set sends to every
 * other GPU and the platform has rails. Returns MS_OK; MS_E_NOMEM. O(members * rails * tiers). */
ms_status ms_folding_note_halves(ms_folding *f);
void ms_folding_count_halves(ms_folding *f);
void ms_folding_release_halves(ms_folding *f);

#endif
