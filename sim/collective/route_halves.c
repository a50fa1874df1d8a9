/* Messages between all members of a group, counted without looking at each.
 *
 * Where routes have two halves (ms_platform_rails), the kind of a message is a sum of what the
 * links before the turn and those after it add. Take the members of a domain (a node, a unit, a
 * pod), by rail: from each child of the domain to all others, messages from one rail to another
 * cross equal halves of few values. So for each source it is enough to know how many destinations
 * outside its own child have halves of each value, and the other way round: members times rails
 * times tiers in place of members squared. */
#include <string.h>

#include "collective/route_folding.h"

/* Messages of a domain from one rail to another have at most so many values of each half: a member
 * of any child meets all values but those that only its own child has, which are half of them for
 * some child, and no more kinds than MS_ROUTE_KINDS_MAX are told apart. */
enum { VALUES_MAX = 2 * MS_ROUTE_KINDS_MAX };

/* Half of a route. */
typedef struct half {
    int32_t first; /* of its links in `places` */
    int16_t count; /* of links; -1: no message takes it */
    int16_t tier;  /* outermost tier of the whole route */
} half;

/* One end of the messages: the members of a domain that are on one rail, child after child. */
typedef struct side {
    const int *members; /* [count] */
    int count;
    int other_rail;              /* of the members at the other end */
    int end;                     /* 0: these send; 1: they receive */
    int *value;                  /* [all members] index of a member's half; -1: takes no message */
    uint64_t values[VALUES_MAX]; /* what halves add to the kind */
    int64_t totals[VALUES_MAX];  /* members of each value */
    int value_count;             /* VALUES_MAX + 1: too many */
    int tier;                    /* outermost tier of the routes */
} side;

typedef struct ms_halves {
    int rails;
    int64_t domains[MS_TIER_MAX + 1]; /* [levels + 1] GPUs in a row; the first is a GPU by itself */
    int levels;
    half *halves;     /* [members * levels * rails * 2] */
    ms_vector places; /* of int32_t: links of all halves, by their place in the folding */
    int *by_rail;     /* [members] those of the domain at hand, rail after rail */
    int *rail_first;  /* [rails + 1] */
    int level;        /* of the domain at hand */
    side sides[2];    /* senders and receivers at hand */
    int32_t *kinds;   /* [values of the senders * values of the receivers] index + 1; 0: not met */
} ms_halves;

static int rail_of(const ms_folding *f, int member) {
    return f->set->gpus[member] % f->set->platform->gpus_per_node % f->halves->rails;
}

/* The child of the domain at hand that a member is in. */
static int64_t child_of(const ms_folding *f, int member) {
    return f->halves->level == 0 ? member
                                 : f->set->gpus[member] / f->halves->domains[f->halves->level];
}

static half *half_of(const ms_folding *f, const side *s, int member) {
    const ms_halves *h = f->halves;
    size_t at = (size_t)member * (size_t)h->levels + (size_t)h->level;
    return &h->halves[(at * (size_t)h->rails + (size_t)s->other_rail) * 2 + (size_t)s->end];
}

/* Keep the half of a member's routes to the other side, found on the way to one of its members. */
static void note_half(ms_folding *f, const side *own, const side *other, int member) {
    half *found = half_of(f, own, member);
    int64_t child = child_of(f, member);
    int partner = other->members[0];
    if (child_of(f, partner) == child) { /* children come in order: the last differs if any does */
        partner = other->members[other->count - 1];
    }
    *found = (half){.count = -1};
    if (child_of(f, partner) == child) {
        return;
    }
    ms_route route;
    const int ends[2] = {own->end == 0 ? member : partner, own->end == 0 ? partner : member};
    ms_platform_route(f->set->platform, f->set->gpus[ends[0]], f->set->gpus[ends[1]], &route);
    *found = (half){.first = (int32_t)f->halves->places.count, .tier = (int16_t)route.tier};
    int end = own->end == 0 ? route.turn : route.count;
    for (int i = own->end == 0 ? 0 : route.turn; i < end; i++, found->count++) {
        int32_t place = ms_folding_note_link(f, route.links[i]);
        ms_vector_add(&f->halves->places, &place, 1);
    }
    ms_folding_note_message(f, &route, MS_FAMILY_PAIRS);
}

static void note_sides(ms_folding *f) {
    side *sides = f->halves->sides;
    for (int end = 0; end < 2; end++) {
        for (int i = 0; i < sides[end].count; i++) {
            note_half(f, &sides[end], &sides[1 - end], sides[end].members[i]);
        }
    }
}

static uint64_t value_of(const ms_folding *f, const half *h) {
    uint64_t sum = 0;
    for (int i = 0; i < h->count && !f->is_coarse; i++) {
        sum += ms_folding_colour(f, MS_AT(&f->halves->places, int32_t, h->first + i));
    }
    return sum;
}

static int find_value(side *s, uint64_t value) {
    int v = 0;
    while (v < s->value_count && s->values[v] != value) {
        v++;
    }
    if (v == VALUES_MAX) {
        s->value_count = VALUES_MAX + 1;
        return -1;
    }
    if (v == s->value_count) {
        s->values[v] = value;
        s->totals[v] = 0;
        s->value_count++;
    }
    return v;
}

/* Tell the halves of a side apart.  Returns whether they are few enough. */
static bool find_values(ms_folding *f, side *s) {
    s->value_count = 0;
    for (int i = 0; i < s->count && s->value_count <= VALUES_MAX; i++) {
        const half *h = half_of(f, s, s->members[i]);
        int v = h->count < 0 ? -1 : find_value(s, value_of(f, h));
        s->value[s->members[i]] = v;
        if (v >= 0) {
            s->totals[v]++;
            s->tier = h->tier;
        }
    }
    return s->value_count <= VALUES_MAX;
}

/* Index of the kind of messages whose halves have these values, -1: the table is full. */
static int kind_of(ms_folding *f, int sent, int received) {
    const side *sides = f->halves->sides;
    int32_t *known = &f->halves->kinds[sent * sides[1].value_count + received];
    if (*known == 0) {
        uint64_t colours = sides[0].values[sent] + sides[1].values[received];
        uint64_t kind = ms_folding_kind(sides[0].tier, MS_FAMILY_PAIRS, colours);
        *known = ms_folding_find_kind(f, kind, MS_FAMILY_PAIRS) + 1;
    }
    return *known - 1;
}

/* Count a member's messages to or from those of the other side that its own child does not have.
 * inside: [values] how many of them it has. */
static void count_member(ms_folding *f, const side *own, const side *other, int member,
                         const int64_t *inside) {
    const half *h = half_of(f, own, member);
    int value = own->value[member];
    for (int v = 0; v < other->value_count && value >= 0; v++) {
        int64_t messages = other->totals[v] - inside[v];
        int k = messages == 0 ? -1 : own->end == 0 ? kind_of(f, value, v) : kind_of(f, v, value);
        for (int i = 0; i < h->count && k >= 0; i++) {
            ms_folding_cross(f, k, MS_AT(&f->halves->places, int32_t, h->first + i), messages);
        }
    }
}

/* Add so many to the count of each value among members `from` to `end` of a side. */
static void add_values(const side *s, int from, int end, int64_t times, int64_t *inside) {
    for (int i = from; i < end; i++) {
        int value = s->value[s->members[i]];
        if (value >= 0) {
            inside[value] += times;
        }
    }
}

/* Count what all members of one side send, or receive, child after child. */
static void count_side(ms_folding *f, const side *own, const side *other) {
    int64_t inside[VALUES_MAX] = {0};
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
        add_values(other, first, end, 1, inside);
        for (; i < own->count && child_of(f, own->members[i]) == child; i++) {
            count_member(f, own, other, own->members[i], inside);
        }
        add_values(other, first, end, -1, inside);
    }
}

static void count_sides(ms_folding *f) {
    ms_halves *h = f->halves;
    if (f->table->count > MS_ROUTE_KINDS_MAX) {
        return;
    }
    if (!find_values(f, &h->sides[0]) || !find_values(f, &h->sides[1])) {
        f->table->count = MS_ROUTE_KINDS_MAX + 1;
        return;
    }
    size_t pairs = (size_t)h->sides[0].value_count * (size_t)h->sides[1].value_count;
    memset(h->kinds, 0, pairs * sizeof *h->kinds);
    count_side(f, &h->sides[0], &h->sides[1]);
    count_side(f, &h->sides[1], &h->sides[0]);
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
                side *s = &h->sides[end];
                s->members = h->by_rail + h->rail_first[rails[end]];
                s->count = h->rail_first[rails[end] + 1] - h->rail_first[rails[end]];
                s->other_rail = rails[1 - end];
            }
            if (h->sides[0].count > 0 && h->sides[1].count > 0) {
                visit(f);
            }
        }
    }
}

/* Visit all messages: those that meet inside a node, then inside a unit, and so on. */
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
    ms_vector_init(&h->places, sizeof(int32_t));
    h->rails = ms_platform_rails(platform);
    h->domains[0] = 1;
    for (int t = 0; t < platform->tier_count; t++) {
        int64_t domain = ms_platform_domain(platform, t);
        if (domain > h->domains[h->levels]) {
            h->domains[++h->levels] = domain;
        }
    }
    size_t members = (size_t)f->set->members;
    h->halves = MS_NEW(f->scratch, half, members * (size_t)h->levels * (size_t)h->rails * 2);
    h->by_rail = MS_NEW(f->scratch, int, members);
    h->rail_first = MS_NEW(f->scratch, int, h->rails + 1);
    h->kinds = MS_NEW(f->scratch, int32_t, (size_t)VALUES_MAX * VALUES_MAX);
    bool has_all =
        h->halves != NULL && h->by_rail != NULL && h->rail_first != NULL && h->kinds != NULL;
    for (int end = 0; end < 2; end++) {
        h->sides[end].end = end;
        h->sides[end].value = MS_NEW(f->scratch, int, members);
        has_all = has_all && h->sides[end].value != NULL;
    }
    return has_all ? h : NULL;
}

ms_status ms_folding_note_halves(ms_folding *f) {
    f->halves = new_halves(f);
    if (f->halves == NULL) {
        return MS_E_NOMEM;
    }
    visit_domains(f, note_sides);
    return f->failed || f->halves->places.failed ? MS_E_NOMEM : MS_OK;
}

void ms_folding_count_halves(ms_folding *f) {
    visit_domains(f, count_sides);
}

void ms_folding_release_halves(ms_folding *f) {
    if (f->halves != NULL) {
        ms_vector_release(&f->halves->places);
    }
}
