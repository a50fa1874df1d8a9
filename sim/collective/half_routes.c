/* Counts the messages between all members of a group, such as those of an all-to-all, without
 * visiting every pair of members.
 *
 * Where a route has two halves (ms_platform_rails), the kind of a message is the sum of the colours
 * of the links before the route's turn and of those behind it. Take the members of a domain (a
 * node, a unit, a pod), rail by rail, and the children that the domain consists of. The messages
 * from one rail to another between different children take half routes of few kinds. So for each
 * source it suffices to count how many destinations outside the source's child have half routes of
 * each kind, and for each destination the sources in the same way. That costs members * rails *
 * tiers in place of members squared. */
#include <string.h>

#include "collective/route_folding.h"

/* The most kinds of half routes that the messages of a domain from one rail to another take. A
 * member of any child meets all kinds but those that occur in its own child alone, which are half
 * of all kinds for some child; and no more than MS_ROUTE_KINDS_MAX kinds of messages are told
 * apart. */
enum { HALF_KINDS_MAX = 2 * MS_ROUTE_KINDS_MAX };

/* One half of a route: its links up to the turn, or its links behind the turn. */
typedef struct half_route {
    int32_t first; /* index of the half's first link in `link_indices` */
    int16_t count; /* number of links; -1: no message takes this half */
    int16_t tier;  /* outermost tier of the whole route */
} half_route;

/* One end of the messages: the members of a domain that are on one rail, child after child. */
typedef struct route_end {
    const int *members; /* [count] */
    int count;
    int other_rail; /* rail of the members at the other end of the messages */
    int end;        /* 0: the members at this end send; 1: they receive */
    int *half_kind; /* [all members] index of the kind of a member's half route; -1: no message
                       takes it */
    uint64_t half_kinds[HALF_KINDS_MAX]; /* sum of the link colours of a half route, by kind */
    int64_t totals[HALF_KINDS_MAX];      /* members of each kind */
    int kind_count; /* number of kinds; HALF_KINDS_MAX + 1: there are too many */
    int tier;       /* outermost tier of the routes */
} route_end;

typedef struct ms_halves {
    int rails;
    int64_t domains[MS_TIER_MAX + 1]; /* [levels + 1] GPUs in a row; the first is a GPU by itself */
    int levels;
    half_route *halves;     /* [members * levels * rails * 2] */
    ms_vector link_indices; /* of int32_t: links of all halves, by their index in the folding */
    int *by_rail;           /* [members] those of the domain at hand, rail after rail */
    int *rail_first;        /* [rails + 1] */
    int level;              /* of the domain at hand */
    route_end ends[2];      /* senders and receivers at hand */
    int32_t *kinds; /* [kinds of the senders * kinds of the receivers] index + 1; 0: not met */
} ms_halves;

static int rail_of(const ms_folding *f, int member) {
    return f->set->gpus[member] % f->set->platform->gpus_per_node % f->halves->rails;
}

/* The child of the domain at hand that a member is in. */
static int64_t child_of(const ms_folding *f, int member) {
    return f->halves->level == 0 ? member
                                 : f->set->gpus[member] / f->halves->domains[f->halves->level];
}

static half_route *half_of(const ms_folding *f, const route_end *s, int member) {
    const ms_halves *h = f->halves;
    size_t at = (size_t)member * (size_t)h->levels + (size_t)h->level;
    return &h->halves[(at * (size_t)h->rails + (size_t)s->other_rail) * 2 + (size_t)s->end];
}

/* Keep the half route of a member to the members at the other end: the one on the route to any of
 * them that is in another child. */
static void note_half(ms_folding *f, const route_end *own, const route_end *other, int member) {
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

static void note_ends(ms_folding *f) {
    route_end *ends = f->halves->ends;
    for (int end = 0; end < 2; end++) {
        for (int i = 0; i < ends[end].count; i++) {
            note_half(f, &ends[end], &ends[1 - end], ends[end].members[i]);
        }
    }
}

static uint64_t colours_of(const ms_folding *f, const half_route *h) {
    uint64_t sum = 0;
    for (int i = 0; i < h->count && !f->is_coarse; i++) {
        sum += ms_folding_colour(f, MS_AT(&f->halves->link_indices, int32_t, h->first + i));
    }
    return sum;
}

static int find_half_kind(route_end *s, uint64_t colours) {
    int v = 0;
    while (v < s->kind_count && s->half_kinds[v] != colours) {
        v++;
    }
    if (v == HALF_KINDS_MAX) {
        s->kind_count = HALF_KINDS_MAX + 1;
        return -1;
    }
    if (v == s->kind_count) {
        s->half_kinds[v] = colours;
        s->totals[v] = 0;
        s->kind_count++;
    }
    return v;
}

/* Find the kind of each member's half route.  Returns whether the kinds are few enough. */
static bool find_half_kinds(ms_folding *f, route_end *s) {
    s->kind_count = 0;
    for (int i = 0; i < s->count && s->kind_count <= HALF_KINDS_MAX; i++) {
        const half_route *h = half_of(f, s, s->members[i]);
        int v = h->count < 0 ? -1 : find_half_kind(s, colours_of(f, h));
        s->half_kind[s->members[i]] = v;
        if (v >= 0) {
            s->totals[v]++;
            s->tier = h->tier;
        }
    }
    return s->kind_count <= HALF_KINDS_MAX;
}

/* Index of the kind of the messages whose half routes have these kinds, by their indices; -1: the
 * table is full. */
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

/* Count a member's messages to, or from, the members at the other end that are in another child.
 * inside: [kinds] members at the other end that are in the member's own child. */
static void count_member(ms_folding *f, const route_end *own, const route_end *other, int member,
                         const int64_t *inside) {
    const half_route *h = half_of(f, own, member);
    int kind = own->half_kind[member];
    for (int v = 0; v < other->kind_count && kind >= 0; v++) {
        int64_t messages = other->totals[v] - inside[v];
        int k = messages == 0 ? -1 : own->end == 0 ? kind_of(f, kind, v) : kind_of(f, v, kind);
        for (int i = 0; i < h->count && k >= 0; i++) {
            ms_folding_cross(f, k, MS_AT(&f->halves->link_indices, int32_t, h->first + i),
                             messages);
        }
    }
}

/* Add `times` to the count of each kind among the members `from` to `end` - 1 of one end. */
static void add_half_kinds(const route_end *s, int from, int end, int64_t times, int64_t *inside) {
    for (int i = from; i < end; i++) {
        int kind = s->half_kind[s->members[i]];
        if (kind >= 0) {
            inside[kind] += times;
        }
    }
}

/* Count the messages that all members of one end send, or receive, child after child. */
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

/* Put the members of a domain in order of their rails. */
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
    memmove(h->rail_first + 1, h->rail_first, (size_t)h->rails * sizeof *h->rail_first);
    h->rail_first[0] = 0;
}

/* Visit the messages between all rails of a domain whose members are in order of them. */
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

/* Visit all messages level by level: first those inside a node, then those inside a unit of leaf
 * switches, and so on. */
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

ms_status ms_folding_note_halves(ms_folding *f) {
    f->halves = new_halves(f);
    if (f->halves == NULL) {
        return MS_E_NOMEM;
    }
    visit_domains(f, note_ends);
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
