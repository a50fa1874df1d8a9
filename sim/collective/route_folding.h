/* State of the sorting of messages into kinds by colour refinement (route_kinds.c): messages get a
 * kind by the colours of the links that they cross, and links get a colour by the kinds of the
 * messages that cross them. The messages are counted one by one (route_pairs.c), or by halves of
 * routes (half_routes.c). */
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

/* A sorting under way. */
typedef struct ms_folding {
    const ms_message_set *set;
    ms_arena *scratch;
    bool is_coarse;           /* kinds differ by the outermost tier only */
    bool failed;              /* memory ran out */
    ms_vector links;          /* of ms_crossed_link; "index in the folding" is one in this list */
    int32_t *slots;           /* [slot_count] open hash over links, -1 free */
    size_t slot_count;        /* a power of two */
    ms_kind_table *table;     /* filled by the current round */
    struct ms_halves *halves; /* the halves of routes; NULL: messages are counted one by one */
    double latency_s[MS_FAMILY_COUNT]; /* longest latency of a message, by family [s] */
    int tier;                          /* outermost tier crossed */
} ms_folding;

/* Raise the longest latency of a family, and the outermost tier, to those of a message's route. */
void ms_folding_note_message(ms_folding *f, const ms_route *route, int family);

/* Add a link to the folding, if it is not there yet. Returns the link's index in the folding. */
int32_t ms_folding_note_link(ms_folding *f, int32_t link);

/* Hashed colour of a link: the summand of the link in the kind of the messages that cross it. */
static inline uint64_t ms_folding_colour(const ms_folding *f, int32_t index) {
    return ms_random_mix(MS_AT(&f->links, ms_crossed_link, index).colour);
}

/* Kind of a message: a hash of its outermost tier, its family, and `colours`, the sum of the hashed
 * colours of its links. The tier keeps messages apart that cross the same limited links. */
static inline uint64_t ms_folding_kind(int tier, int family, uint64_t colours) {
    return ms_random_mix((uint64_t)(tier + 1) * MS_FAMILY_COUNT + (uint64_t)family + colours);
}

/* Find a kind in the table, or add it. Returns its index; -1 if there are too many kinds, or memory
 * ran out. */
int ms_folding_find_kind(ms_folding *f, uint64_t kind, int family);

/* Count `messages` messages of a kind across a link. kind: index in the table. index: of the link
 * in the folding. */
static inline void ms_folding_cross(ms_folding *f, int kind, int32_t index, int64_t messages) {
    MS_AT(&f->links, ms_crossed_link, index).sum +=
        (uint64_t)messages * ms_random_mix(f->table->kinds[kind]);
    f->table->crossings[kind][index] += (int32_t)messages;
}

/* Collect links and latency of all messages (note), and count the messages of each kind with the
 * current colours (count), message by message. */
void ms_folding_note_pairs(ms_folding *f);
void ms_folding_count_pairs(ms_folding *f);

/* The same by halves of routes, where every GPU of the set sends to every other GPU and the
 * platform has rails (ms_platform_rails). Returns MS_OK; MS_E_NOMEM. O(members * rails * tiers). */
ms_status ms_folding_note_halves(ms_folding *f);
void ms_folding_count_halves(ms_folding *f);
void ms_folding_release_halves(ms_folding *f);

#endif
