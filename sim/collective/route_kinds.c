/* Folds messages that run at the same time, such as those of an all-to-all, into few weighted flows
 * (ms_route_kinds_fold). Messages of one kind cross equally many links of each colour, so max-min
 * sharing gives them one rate, and one flow stands for all of them. The kinds are found by colour
 * refinement: links start with the colour of their capacity and tier; messages get kinds by the
 * colours of their links, links get new colours by the kinds of their messages, and so on, until no
 * further kind appears. See decision note route_kinds.md. */
#include "collective/route_kinds.h"

#include <stdlib.h>

#include "collective/crossings.h"
#include "collective/route_folding.h"

/* Run one round of the search: find the kinds of all messages by the current colours of links, and
 * count the crossings of each kind on each link, into `table`. */
static void count_messages(ms_folding *f, ms_kind_table *table) {
    table->count = 0;
    for (size_t i = 0; i < f->links.count; i++) {
        MS_AT(&f->links, ms_crossed_link, i).sum = 0;
    }
    f->table = table;
    if (f->halves != NULL) {
        ms_folding_count_halves(f);
    } else {
        ms_folding_count_pairs(f);
    }
}

/* Give every link a new colour, from the old one and the kinds of the messages that cross the link.
 */
static void recolour_links(ms_folding *f) {
    for (size_t i = 0; i < f->links.count; i++) {
        ms_crossed_link *link = &MS_AT(&f->links, ms_crossed_link, i);
        link->colour = ms_random_mix(link->colour + ms_random_mix(link->sum));
    }
}

/* Refine kinds and colours round by round, until a round finds no further kind, or more than
 * MS_ROUTE_KINDS_MAX. If already the first round finds too many, kinds differ by the outermost tier
 * only. *best_out: the kinds of the last round that did not find too many. */
static ms_status refine(ms_folding *f, ms_kind_table **best_out) {
    ms_kind_table *tables = MS_NEW(f->scratch, ms_kind_table, 2);
    if (tables == NULL) {
        return MS_E_NOMEM;
    }
    ms_kind_table *best = &tables[0];
    ms_kind_table *next = &tables[1];
    count_messages(f, best);
    if (best->count > MS_ROUTE_KINDS_MAX) {
        f->is_coarse = true;
        count_messages(f, best);
    }
    while (!f->is_coarse && !f->failed) {
        recolour_links(f);
        count_messages(f, next);
        bool is_finer = next->count > best->count && next->count <= MS_ROUTE_KINDS_MAX;
        if (!is_finer) {
            break;
        }
        ms_kind_table *spare = best;
        best = next;
        next = spare;
    }
    *best_out = best;
    return f->failed ? MS_E_NOMEM : MS_OK;
}

/* Make the flow of kind `k` of a table: all links that the kind crosses, weighted by the number of
 * crossings. *flow_out: its links are in `arena`. */
static ms_status make_flow(const ms_folding *f, const ms_kind_table *table, int k, ms_arena *arena,
                           ms_flow *flow_out) {
    const int32_t *crossings = table->crossings[k];
    int count = 0;
    for (size_t i = 0; i < f->links.count; i++) {
        count += crossings[i] > 0;
    }
    ms_flow_link *links = MS_NEW(arena, ms_flow_link, count);
    if (links == NULL) {
        return MS_E_NOMEM;
    }
    double slowness = f->set->slowness[table->family[k]];
    *flow_out = (ms_flow){.bytes = f->set->message_B[table->family[k]] * slowness,
                          .slowness = slowness,
                          .kind = table->kinds[k],
                          .links = links};
    for (size_t i = 0; i < f->links.count; i++) {
        if (crossings[i] > 0) {
            links[flow_out->count++] =
                (ms_flow_link){.link = MS_AT(&f->links, ms_crossed_link, i).link,
                               .weight = crossings[i],
                               .load = crossings[i]};
        }
    }
    ms_flow_links_sort(links, (size_t)count);
    return MS_OK;
}

/* Order of two flows for qsort: ascending by kind, so that groups that are laid out alike have the
 * same order. */
static int by_kind(const void *a, const void *b) {
    uint64_t x = ((const ms_flow *)a)->kind;
    uint64_t y = ((const ms_flow *)b)->kind;
    return (x > y) - (x < y);
}

/* Collect the links of all messages, by halves of routes where that is possible. */
static ms_status note_messages(ms_folding *f) {
    if (f->set->gpus != NULL && ms_platform_rails(f->set->platform) > 0) {
        return ms_folding_note_halves(f);
    }
    ms_folding_note_pairs(f);
    return f->failed ? MS_E_NOMEM : MS_OK;
}

/* Find the kinds of all messages and make their flows. The latency of the phase is that of the
 * slowest direct message, plus that of the slowest forward, which follows one. */
static ms_status fold(ms_folding *f, ms_arena *arena, ms_phase *phase_out) {
    ms_kind_table *table = NULL;
    ms_status status = note_messages(f);
    status = status == MS_OK ? refine(f, &table) : status;
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

/* Fold a set of messages into the flows of a phase. Sets up the state of the sorting, and releases
 * it. */
ms_status ms_route_kinds_fold(const ms_message_set *set, bool is_coarse, ms_arena *arena,
                              ms_phase *phase_out, int *tier_out) {
    ms_arena scratch;
    ms_folding f = {.set = set, .scratch = &scratch, .is_coarse = is_coarse, .tier = -1};
    ms_arena_init(&scratch);
    ms_vector_init(&f.links, sizeof(ms_crossed_link));
    ms_status status = fold(&f, arena, phase_out);
    if (status == MS_OK) {
        *tier_out = f.tier;
    }
    ms_folding_release_halves(&f);
    ms_vector_release(&f.links);
    ms_arena_release(&scratch);
    return status;
}
