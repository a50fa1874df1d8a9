/* Counts the messages between all members of a group by their kinds (route_kinds.c), such as those
 * of an all-to-all, without visiting every pair of members: by halves of routes. A half is the
 * links of a route up to its turn, the topmost switch, or the links after it.
 *
 * Where a route has two halves (ms_platform_rails), the kind of a message is the sum of the colours
 * of the links before the route's turn and of those behind it. A domain of a tier is a set of GPUs
 * below one switch level (a node, a unit of leaf switches, a pod), and its children are the domains
 * of the next inner tier in it. All messages from one rail of a domain to another rail, between
 * different children, have half routes of few kinds. So for each source it suffices to count how
 * many destinations outside the source's child have half routes of each kind, and for each
 * destination the sources in the same way. That costs members * rails * tiers in place of members
 * squared. */
#include <string.h>

#include "collective/route_folding.h"

/* Maximum number of kinds of half routes at one end of the messages of a domain from one rail to
 * another. A member of some child meets all kinds but those that occur only in this child. For at
 * least one child these are at most half of all kinds. So more than 2 MS_ROUTE_KINDS_MAX kinds of
 * half routes would make more than MS_ROUTE_KINDS_MAX kinds of messages, which are not told apart.
 */
enum { HALF_KINDS_MAX = 2 * MS_ROUTE_KINDS_MAX };

/* One half of a route: its links up to the turn, or its links behind the turn. */
typedef struct half_route {
    int32_t first; /* index of the half's first link in `link_indices` */
    int16_t count; /* number of links; -1: no message takes this half */
    int16_t tier;  /* outermost tier of the whole route */
} half_route;

/* One end (senders or receivers) of the messages of the current domain between two rails: the
 * domain's members on one rail, child after child. */
typedef struct route_end {
    const int *members; /* [count] */
    int count;
    int other_rail; /* rail of the members at the other end of the messages */
    int end;        /* 0: the members at this end send; 1: they receive */
    int *half_kind; /* [all members] index of the kind of a member's half route; -1: no message
                       takes it */
    uint64_t half_kinds[HALF_KINDS_MAX]; /* sum of the link colours of a half route, by kind */
    int64_t totals[HALF_KINDS_MAX];      /* number of members of each kind */
    int kind_count; /* number of kinds; HALF_KINDS_MAX + 1: there are too many */
    int tier;       /* outermost tier of the routes */
} route_end;

/* All half routes of a set of messages, and the position in the walk over domains and rails. */
typedef struct ms_halves {
    int rails;
    int64_t domains[MS_TIER_MAX + 1]; /* [levels + 1] number of GPUs of a domain of each level; at
                                         index 0 that of a single GPU, 1 */
    int levels;
    half_route *halves;     /* [members][levels][rails of the other end][end] */
    ms_vector link_indices; /* of int32_t: links of all halves, by their index in the folding */
    int *by_rail;           /* [members] members of the current domain, rail after rail */
    int *rail_first;        /* [rails + 1] index into by_rail of the first member of each rail */
    int level;              /* of the current domain, from 0 */
    route_end ends[2];      /* current senders and receivers */
    int32_t *kinds; /* [kinds of the senders * kinds of the receivers] index + 1 in the table of the
                       kind of a message; 0: not known yet */
} ms_halves;

/* Rail of a member (ms_platform_rails). member: index in the set's gpus. */
static int rail_of(const ms_folding *f, int member) {
    return f->set->gpus[member] % f->set->platform->gpus_per_node % f->halves->rails;
}

/* Number of the child of the current domain that a member is in; at level 0, where children are
 * single GPUs, the member itself. */
static int64_t child_of(const ms_folding *f, int member) {
    return f->halves->level == 0 ? member
                                 : f->set->gpus[member] / f->halves->domains[f->halves->level];
}

/* The half route of a member at one end (s), for the current level and the rail at the other end.
 */
static half_route *half_of(const ms_folding *f, const route_end *s, int member) {
    const ms_halves *h = f->halves;
    size_t at = (size_t)member * (size_t)h->levels + (size_t)h->level;
    return &h->halves[(at * (size_t)h->rails + (size_t)s->other_rail) * 2 + (size_t)s->end];
}

/* Store the half route of a member: its half of the route to, or from, any member at the other end
 * that is in another child. All these routes have the same half (ms_platform_rails). A count of -1
 * is stored if all members at the other end are in the same child. */
static void store_half(ms_folding *f, const route_end *own, const route_end *other, int member) {
    half_route *found = half_of(f, own, member);
    int64_t child = child_of(f, member);
    int partner = other->members[0];
    if (child_of(f, partner) == child) { /* children come in order: the last differs if any does */
        partner = other->members[other->count - 1];
    }
    *found = (half_route){.count = -1};
    if (child_of(f, partner) == child) {
        return;
    }
    ms_route route;
    const int ends[2] = {own->end == 0 ? member : partner, own->end == 0 ? partner : member};
    ms_platform_route(f->set->platform, f->set->gpus[ends[0]], f->set->gpus[ends[1]], &route);
    *found =
        (half_route){.first = (int32_t)f->halves->link_indices.count, .tier = (int16_t)route.tier};
    int end = own->end == 0 ? route.turn : route.count;
    for (int i = own->end == 0 ? 0 : route.turn; i < end; i++, found->count++) {
        int32_t index = ms_folding_note_link(f, route.links[i]);
        ms_vector_add(&f->halves->link_indices, &index, 1);
    }
    ms_folding_note_message(f, &route, MS_FAMILY_PAIRS);
}

/* Store the half routes of all members at both ends. */
static void store_ends(ms_folding *f) {
    route_end *ends = f->halves->ends;
    for (int end = 0; end < 2; end++) {
        for (int i = 0; i < ends[end].count; i++) {
            store_half(f, &ends[end], &ends[1 - end], ends[end].members[i]);
        }
    }
}

/* Sum of the colours of a half route's links; 0 if kinds are coarse. */
static uint64_t colours_of(const ms_folding *f, const half_route *h) {
    uint64_t sum = 0;
    for (int i = 0; i < h->count && !f->is_coarse; i++) {
        sum += ms_folding_colour(f, MS_AT(&f->halves->link_indices, int32_t, h->first + i));
    }
    return sum;
}

/* Find a kind of half routes by the sum of colours, or add it. Returns its index; -1: there are too
 * many kinds. */
static int find_half_kind(route_end *s, uint64_t colours) {
    int kind_index = 0;
    while (kind_index < s->kind_count && s->half_kinds[kind_index] != colours) {
        kind_index++;
    }
    if (kind_index == HALF_KINDS_MAX) {
        s->kind_count = HALF_KINDS_MAX + 1;
        return -1;
    }
    if (kind_index == s->kind_count) {
        s->half_kinds[kind_index] = colours;
        s->totals[kind_index] = 0;
        s->kind_count++;
    }
    return kind_index;
}

/* Find the kind of every member's half route at one end, and the number of members of each kind.
 * Returns false if there are too many kinds. */
static bool find_half_kinds(ms_folding *f, route_end *s) {
    s->kind_count = 0;
    for (int i = 0; i < s->count && s->kind_count <= HALF_KINDS_MAX; i++) {
        const half_route *h = half_of(f, s, s->members[i]);
        int kind_index = h->count < 0 ? -1 : find_half_kind(s, colours_of(f, h));
        s->half_kind[s->members[i]] = kind_index;
        if (kind_index >= 0) {
            s->totals[kind_index]++;
            s->tier = h->tier;
        }
    }
    return s->kind_count <= HALF_KINDS_MAX;
}

/* Index, in the table of kinds, of the messages whose half routes have two kinds; -1: there are too
 * many kinds. sent, received: indices of the kinds of the halves at the two ends. */
static int kind_of(ms_folding *f, int sent, int received) {
    const route_end *ends = f->halves->ends;
    int32_t *known = &f->halves->kinds[sent * ends[1].kind_count + received];
    if (*known == 0) {
        uint64_t colours = ends[0].half_kinds[sent] + ends[1].half_kinds[received];
        uint64_t kind = ms_folding_kind(ends[0].tier, MS_FAMILY_PAIRS, colours);
        *known = ms_folding_find_kind(f, kind, MS_FAMILY_PAIRS) + 1;
    }
    return *known - 1;
}

/* Count the crossings of a member's own half route by its messages to, or from, the members at the
 * other end in other children. The other halves are counted by the members at the other end.
 * inside: [kinds] number of members at the other end in the member's own child, by the kind of
 * their half route. */
static void count_member(ms_folding *f, const route_end *own, const route_end *other, int member,
                         const int64_t *inside) {
    const half_route *h = half_of(f, own, member);
    int kind = own->half_kind[member];
    for (int kind_index = 0; kind_index < other->kind_count && kind >= 0; kind_index++) {
        int64_t messages = other->totals[kind_index] - inside[kind_index];
        /* index of the messages' kind; -1: no message, or too many kinds */
        int k = messages == 0   ? -1
                : own->end == 0 ? kind_of(f, kind, kind_index)
                                : kind_of(f, kind_index, kind);
        for (int i = 0; i < h->count && k >= 0; i++) {
            ms_folding_cross(f, k, MS_AT(&f->halves->link_indices, int32_t, h->first + i),
                             messages);
        }
    }
}

/* Add `times` (1 or -1) to inside[kind] for each of the members with index `from` to `end` - 1 at
 * one end, by the kind of its half route. */
static void add_half_kinds(const route_end *s, int from, int end, int64_t times, int64_t *inside) {
    for (int i = from; i < end; i++) {
        int kind = s->half_kind[s->members[i]];
        if (kind >= 0) {
            inside[kind] += times;
        }
    }
}

/* Count the crossings of the half routes of all members at one end, child after child. Both ends
 * list their members in the order of children, so the members of the same child at the other end
 * are found by moving on in both lists. */
static void count_end(ms_folding *f, const route_end *own, const route_end *other) {
    int64_t inside[HALF_KINDS_MAX] = {0};
    int first = 0;
    for (int i = 0; i < own->count;) {
        int64_t child = child_of(f, own->members[i]);
        while (first < other->count && child_of(f, other->members[first]) < child) {
            first++;
        }
        int end = first;
        while (end < other->count && child_of(f, other->members[end]) == child) {
            end++;
        }
        add_half_kinds(other, first, end, 1, inside);
        for (; i < own->count && child_of(f, own->members[i]) == child; i++) {
            count_member(f, own, other, own->members[i], inside);
        }
        add_half_kinds(other, first, end, -1, inside);
    }
}

/* Count all messages between two rails of a domain. If there are too many kinds, only set the
 * table's count so. */
static void count_ends(ms_folding *f) {
    ms_halves *h = f->halves;
    if (f->table->count > MS_ROUTE_KINDS_MAX) {
        return;
    }
    if (!find_half_kinds(f, &h->ends[0]) || !find_half_kinds(f, &h->ends[1])) {
        f->table->count = MS_ROUTE_KINDS_MAX + 1;
        return;
    }
    size_t pairs = (size_t)h->ends[0].kind_count * (size_t)h->ends[1].kind_count;
    memset(h->kinds, 0, pairs * sizeof *h->kinds);
    count_end(f, &h->ends[0], &h->ends[1]);
    count_end(f, &h->ends[1], &h->ends[0]);
}

/* Sort the members of a domain by rail, in the order of the group on each rail (counting sort).
 * first, end: indices of its members in the group. */
static void sort_by_rail(ms_folding *f, int first, int end) {
    ms_halves *h = f->halves;
    memset(h->rail_first, 0, (size_t)(h->rails + 1) * sizeof *h->rail_first);
    for (int i = first; i < end; i++) {
        h->rail_first[rail_of(f, i) + 1]++;
    }
    for (int r = 0; r < h->rails; r++) {
        h->rail_first[r + 1] += h->rail_first[r];
    }
    for (int i = first; i < end; i++) {
        h->by_rail[h->rail_first[rail_of(f, i)]++] = i;
    }
    /* the sort has moved rail_first[r] on to the end of rail r, which is the start of rail r + 1 */
    memmove(h->rail_first + 1, h->rail_first, (size_t)h->rails * sizeof *h->rail_first);
    h->rail_first[0] = 0;
}

/* Call `visit` for each pair of rails of a domain that have members, with the two ends set. */
static void visit_rails(ms_folding *f, void (*visit)(ms_folding *f)) {
    ms_halves *h = f->halves;
    for (int from = 0; from < h->rails; from++) {
        for (int to = 0; to < h->rails; to++) {
            const int rails[2] = {from, to};
            for (int end = 0; end < 2; end++) {
                route_end *s = &h->ends[end];
                s->members = h->by_rail + h->rail_first[rails[end]];
                s->count = h->rail_first[rails[end] + 1] - h->rail_first[rails[end]];
                s->other_rail = rails[1 - end];
            }
            if (h->ends[0].count > 0 && h->ends[1].count > 0) {
                visit(f);
            }
        }
    }
}

/* Call `visit` for the messages of all domains, level by level: first those inside nodes, then
 * those between nodes of a unit of leaf switches, and so on. Each message is visited at the
 * innermost level whose domain has both of its GPUs. */
static void visit_domains(ms_folding *f, void (*visit)(ms_folding *f)) {
    ms_halves *h = f->halves;
    const int *gpus = f->set->gpus;
    int members = f->set->members;
    for (h->level = 0; h->level < h->levels; h->level++) {
        int64_t domain = h->domains[h->level + 1];
        int end = 0;
        for (int first = 0; first < members; first = end) {
            while (end < members && gpus[end] / domain == gpus[first] / domain) {
                end++;
            }
            sort_by_rail(f, first, end);
            visit_rails(f, visit);
        }
    }
}

/* Allocate the half routes of a set; NULL: out of memory. Levels are the tiers whose domains differ
 * in size. */
static ms_halves *new_halves(const ms_folding *f) {
    const ms_platform *platform = f->set->platform;
    ms_halves *h = MS_NEW(f->scratch, ms_halves, 1);
    if (h == NULL) {
        return NULL;
    }
    ms_vector_init(&h->link_indices, sizeof(int32_t));
    h->rails = ms_platform_rails(platform);
    h->domains[0] = 1;
    for (int t = 0; t < platform->tier_count; t++) {
        int64_t domain = ms_platform_domain(platform, t);
        if (domain > h->domains[h->levels]) {
            h->domains[++h->levels] = domain;
        }
    }
    size_t members = (size_t)f->set->members;
    h->halves = MS_NEW(f->scratch, half_route, members * (size_t)h->levels * (size_t)h->rails * 2);
    h->by_rail = MS_NEW(f->scratch, int, members);
    h->rail_first = MS_NEW(f->scratch, int, h->rails + 1);
    h->kinds = MS_NEW(f->scratch, int32_t, (size_t)HALF_KINDS_MAX * HALF_KINDS_MAX);
    bool has_all =
        h->halves != NULL && h->by_rail != NULL && h->rail_first != NULL && h->kinds != NULL;
    for (int end = 0; end < 2; end++) {
        h->ends[end].end = end;
        h->ends[end].half_kind = MS_NEW(f->scratch, int, members);
        has_all = has_all && h->ends[end].half_kind != NULL;
    }
    return has_all ? h : NULL;
}

/* Store the half routes of all members, and collect the links and latencies of their routes. */
ms_status ms_folding_note_halves(ms_folding *f) {
    f->halves = new_halves(f);
    if (f->halves == NULL) {
        return MS_E_NOMEM;
    }
    visit_domains(f, store_ends);
    return f->failed || f->halves->link_indices.failed ? MS_E_NOMEM : MS_OK;
}

void ms_folding_count_halves(ms_folding *f) {
    visit_domains(f, count_ends);
}

void ms_folding_release_halves(ms_folding *f) {
    if (f->halves != NULL) {
        ms_vector_release(&f->halves->link_indices);
    }
}
