/* Builds the graph of a measured job: what each operation of a worker waits for, and who meets
 * whom. The numbers of rules are those of workloads/events.md.
 * Source: "Understanding Stragglers in Large Model Training Using What-if Analysis", OSDI 2025, and
 * its public artifact. */
#include "base/firsts.h"
#include "base/memo.h"
#include "search/recorded/table.h"

/* By how much a send may end before the first pass of its direction, where clocks differ [ps]. */
static const int64_t SEND_TOLERANCE_PS = 50000000;

/* Sets of kinds. */
#define BIT(kind) (1U << (unsigned)(kind))
enum {
    PASSES = BIT(MS_RECORDED_WEIGHT_GRAD + 1) - 1,
    BACKWARD = BIT(MS_RECORDED_BACKWARD) | BIT(MS_RECORDED_INPUT_GRAD),
};

/* The graph while it is built. */
typedef struct building {
    const ms_recorded *job;
    ms_arena *arena;
    ms_diag *diag;
    ms_vector edges;  /* of int[2]: the second node waits for the first */
    int *partners;    /* [nodes] next node of the same meeting, in a ring; itself: none */
    ms_memo keys;     /* of message_key: nodes */
    ms_status status; /* the first fault */
} building;

/* Nodes of a worker in the order of their starts. */
typedef struct node_list {
    int *nodes;
    int count;
} node_list;

/* What a message is for: the pass of a virtual stage that needs it. A pass itself has one, too. */
typedef struct message_key {
    int32_t is_pass, is_forward;
    int32_t gmc;
    int32_t number; /* of the microbatch; without labels, of the pass among those of its gmc */
} message_key;

/* Report a fault of the structure at a node. */
static void refuse(building *b, int node, const char *what) {
    const ms_recorded_node *at = &b->job->nodes[node];
    const ms_mark mark = {.file = b->job->path, .line = (int)at->line};
    if (b->status == MS_OK) {
        b->status = ms_diag_at(b->diag, &mark, NULL, "stage %d: %s %d %s", at->stage,
                               MS_RECORDED_KINDS[at->kind].name, at->seq, what);
    }
}

/* Let a node wait for another; nothing where either is missing (-1). */
static void wait_for(building *b, int node, int before) {
    const int edge[2] = {before, node};
    if (node >= 0 && before >= 0) {
        ms_vector_add(&b->edges, edge, 1);
    }
}

/* Let two nodes meet, with all that either of them meets. */
static void meet(building *b, int node, int other) {
    int next = b->partners[node];
    b->partners[node] = b->partners[other];
    b->partners[other] = next;
}

/* List the nodes of a stage whose kinds are in a set. */
static node_list list_kinds(building *b, int stage, uint32_t kinds) {
    int first = b->job->first[stage];
    int end = b->job->first[stage + 1];
    node_list found = {MS_NEW(b->arena, int, end - first), 0};
    for (int n = first; found.nodes != NULL && n < end; n++) {
        if (kinds >> b->job->nodes[n].kind & 1U) {
            found.nodes[found.count++] = n;
        }
    }
    return found;
}

/* The first and last node of a list; -1: it is empty. */
static int first_of(node_list list) {
    return list.count > 0 ? list.nodes[0] : -1;
}
static int last_of(node_list list) {
    return list.count > 0 ? list.nodes[list.count - 1] : -1;
}

/* Let the nodes of a list follow each other behind a node.  before: -1: none.  Returns the last of
 * the list; `before` where it is empty. */
static int append(building *b, node_list list, int before) {
    for (int i = 0; i < list.count; i++) {
        wait_for(b, list.nodes[i], before);
        before = list.nodes[i];
    }
    return before;
}

/* Chain the passes of a stage (rule 1). Both passes of an overlapped pair wait for the pass before
 * the pair, and the next pass for both. */
static void chain_passes(building *b, node_list passes) {
    int from = 0; /* what the next passes wait for begins there */
    for (int start = 0, end = 1; start < passes.count; from = start, start = end, end++) {
        int pair = b->job->nodes[passes.nodes[start]].pair;
        while (pair >= 0 && !b->job->is_serial && end < passes.count &&
               b->job->nodes[passes.nodes[end]].pair == pair) {
            end++;
        }
        for (int i = start; i < end; i++) {
            for (int k = from; k < start; k++) {
                wait_for(b, passes.nodes[i], passes.nodes[k]);
            }
        }
    }
}

/* ---- messages ---- */

/* Number a key, and remember its node. */
static void remember(building *b, message_key key, int node) {
    int number = 0;
    bool is_new = false;
    if (ms_memo_find_or_add(&b->keys, &key, &number, &is_new) != MS_OK) {
        b->status = ms_diag_no_memory(b->diag);
        return;
    }
    *MS_MEMO_VALUE(&b->keys, int, number) = node;
    if (!is_new) {
        refuse(b, node, "is of a microbatch and virtual stage (gmc) that another one has");
    }
}

/* The node of a key; -1: there is none. */
static int find(const building *b, message_key key) {
    int number = ms_memo_find(&b->keys, &key);
    return number < 0 ? -1 : *MS_MEMO_VALUE(&b->keys, int, number);
}

/* Remember the passes of a direction by their keys.  keys_out: [nodes] theirs. */
static void remember_passes(building *b, node_list passes, message_key *keys_out) {
    int *counts = MS_NEW(b->arena, int, b->job->model_stages);
    for (int i = 0; counts != NULL && i < passes.count; i++) {
        const ms_recorded_node *pass = &b->job->nodes[passes.nodes[i]];
        message_key key = {1, pass->kind == MS_RECORDED_FORWARD, pass->gmc, pass->mb};
        key.number = b->job->has_labels ? pass->mb : counts[pass->gmc]++;
        keys_out[passes.nodes[i]] = key;
        remember(b, key, passes.nodes[i]);
    }
}

/* Remove the messages that were never launched: receives that start after the last pass of their
 * direction has started, and sends that end before the first one's end. */
static void drop_unlaunched(const building *b, node_list passes, node_list *messages,
                            bool is_send) {
    const ms_recorded_node *nodes = b->job->nodes;
    const ms_recorded_node *first = &nodes[first_of(passes)];
    int count = 0;
    for (int i = 0; i < messages->count; i++) {
        const ms_recorded_node *message = &nodes[messages->nodes[i]];
        if (is_send ? message->start_ps + message->length_ps + SEND_TOLERANCE_PS >=
                          first->start_ps + first->length_ps
                    : message->start_ps <= nodes[last_of(passes)].start_ps) {
            messages->nodes[count++] = messages->nodes[i];
        }
    }
    messages->count = count;
}

/* Find the pass of each message without a label by its order: there is a message for every pass, or
 * for every pass that has one, or, of receives, for all but the first pass.  pass_of: [nodes] gets
 * the pass; -1: the message has no partner. */
static void match_passes(building *b, node_list passes, node_list messages, bool is_send,
                         int *pass_of) {
    bool is_forward = b->job->nodes[first_of(passes)].kind == MS_RECORDED_FORWARD;
    int end = is_forward == is_send ? b->job->model_stages - 1 : 0; /* no message leads beyond it */
    int partners = 0;
    int next = 0;
    for (int i = 0; i < passes.count; i++) {
        partners += b->job->nodes[passes.nodes[i]].gmc != end;
    }
    bool is_all = messages.count == passes.count;
    bool is_short = !is_send && !is_all && messages.count == passes.count - 1;
    if (!is_all && !is_short && messages.count != partners) {
        refuse(b, messages.count > 0 ? first_of(messages) : first_of(passes),
               "and its like are not as many as the passes: messages are missing");
        return;
    }
    for (int i = is_short ? 1 : 0; i < passes.count; i++) {
        bool has_partner = b->job->nodes[passes.nodes[i]].gmc != end;
        if (is_all || is_short || has_partner) {
            pass_of[messages.nodes[next++]] = has_partner ? passes.nodes[i] : -1;
        }
    }
}

/* Add the waits of messages that name no pass (rules 2 to 5), but for those between a message and
 * its pass. */
static void order_messages(building *b, int stage, bool is_forward, int *pass_of) {
    node_list all = list_kinds(b, stage, PASSES);
    node_list passes = list_kinds(b, stage, is_forward ? BIT(MS_RECORDED_FORWARD) : BACKWARD);
    int send = is_forward ? MS_RECORDED_FORWARD_SEND : MS_RECORDED_BACKWARD_SEND;
    node_list messages[2] = {list_kinds(b, stage, BIT(send + 1)), list_kinds(b, stage, BIT(send))};
    for (int is_send = 0; is_send < 2 && !b->arena->has_failed; is_send++) {
        if (ms_recorded_has_rule(b->job, MS_RULE_STREAMS)) {
            append(b, messages[is_send], -1);
        }
        drop_unlaunched(b, passes, &messages[is_send], is_send);
        match_passes(b, passes, messages[is_send], is_send, pass_of);
        int early = 0; /* the pass two before the first backward pass */
        while (early < all.count && b->job->nodes[all.nodes[early]].kind == MS_RECORDED_FORWARD) {
            early++;
        }
        if (!is_forward && early >= 2 && ms_recorded_has_rule(b->job, MS_RULE_FIRST_BACKWARD)) {
            wait_for(b, first_of(messages[is_send]), all.nodes[early - 2]);
        }
    }
    for (int i = 0, k = 0; i < messages[0].count && b->status == MS_OK && !b->arena->has_failed;
         i++) {
        int recv = messages[0].nodes[i];
        for (; pass_of[recv] >= 0 && passes.nodes[k] != pass_of[recv]; k++) {
        }
        if (pass_of[recv] >= 0 && k > 0 && ms_recorded_has_rule(b->job, MS_RULE_POSTED)) {
            wait_for(b, recv, passes.nodes[k - 1]);
        }
    }
}

/* The last pass of the pair that a pass belongs to; the pass itself without a pair. */
static int second_of_pair(const ms_recorded *job, int pass) {
    int found = pass;
    for (int n = pass; n < job->first[job->nodes[pass].stage + 1]; n++) {
        bool is_same = job->nodes[n].pair >= 0 && job->nodes[n].pair == job->nodes[pass].pair;
        found = is_same && ms_recorded_is_pass(job->nodes[n].kind) ? n : found;
    }
    return found;
}

/* Add the waits and meetings of all messages: a send goes behind its pass, a pass behind its
 * receive, and a send meets the receive of the pass that needs its result. */
static void add_messages(building *b) {
    const ms_recorded *job = b->job;
    int *pass_of = MS_NEW(b->arena, int, job->node_count);
    message_key *keys = MS_NEW(b->arena, message_key, job->node_count);
    for (int n = 0; pass_of != NULL && n < job->node_count; n++) {
        pass_of[n] = -1;
    }
    for (int i = 0; i < 2 * job->stages && !b->arena->has_failed && b->status == MS_OK; i++) {
        uint32_t kinds = i < job->stages ? BIT(MS_RECORDED_FORWARD) : BACKWARD;
        remember_passes(b, list_kinds(b, i % job->stages, kinds), keys);
        if (!job->has_labels && job->stages > 1) {
            order_messages(b, i % job->stages, i < job->stages, pass_of);
        }
    }
    enum { RECEIVES, SENDS, CHECK, ROUNDS };
    for (int i = 0; i < ROUNDS * job->node_count && b->status == MS_OK && !b->arena->has_failed;
         i++) {
        int round = i / job->node_count;
        int n = i % job->node_count;
        const ms_recorded_node *node = &job->nodes[n];
        bool is_send = (node->kind - MS_RECORDED_FORWARD_SEND) % 2 == 0;
        if (!ms_recorded_is_message(node->kind) || is_send != (round == SENDS)) {
            continue;
        }
        if (job->has_labels) {
            bool is_forward = node->kind <= MS_RECORDED_FORWARD_RECV;
            pass_of[n] = find(b, (message_key){1, is_forward, node->gmc, node->mb});
        }
        if (pass_of[n] < 0) {
            if (job->has_labels) {
                refuse(b, n, "has no pass of its microbatch and virtual stage (gmc)");
            }
            continue;
        }
        message_key key = keys[pass_of[n]];
        key.is_pass = 0;
        key.gmc += !is_send ? 0 : key.is_forward ? 1 : -1;
        if (round == RECEIVES) {
            remember(b, key, n);
            wait_for(b, pass_of[n], n);
        } else if (round == SENDS && find(b, key) >= 0) {
            wait_for(b, n, job->is_serial ? second_of_pair(job, pass_of[n]) : pass_of[n]);
            meet(b, n, find(b, key));
        } else if (b->partners[n] == n) {
            refuse(b, n, "has no other end: operations are missing");
        }
    }
}

/* ---- head and tail of a step ---- */

/* The pass of a chunk that ends last, forward passes apart; of all passes where mc < 0. */
static int last_pass(const building *b, node_list passes, int mc) {
    const ms_recorded_node *nodes = b->job->nodes;
    int found = -1;
    for (int i = 0; i < passes.count; i++) {
        const ms_recorded_node *pass = &nodes[passes.nodes[i]];
        if ((mc < 0 || (pass->mc == mc && pass->kind != MS_RECORDED_FORWARD)) &&
            (found < 0 ||
             pass->start_ps + pass->length_ps >= nodes[found].start_ps + nodes[found].length_ps)) {
            found = passes.nodes[i];
        }
    }
    return found;
}

/* Add what follows the passes of a stage (rule 7), in the order of the kinds. Where gradients are
 * reduced beside the passes (there are separate ones), each waits for its chunk alone. */
static int add_tail(building *b, int stage, node_list passes) {
    node_list grads = list_kinds(b, stage, BIT(MS_RECORDED_GRADS));
    node_list separate = list_kinds(b, stage, BIT(MS_RECORDED_SEPARATE));
    node_list norms = list_kinds(b, stage, BIT(MS_RECORDED_LAYERNORM));
    bool is_last = separate.count == 0 && ms_recorded_has_rule(b->job, MS_RULE_TAIL);
    int at = append(b, list_kinds(b, stage, BIT(MS_RECORDED_GC)), last_pass(b, passes, -1));
    for (int i = 0; i < grads.count && separate.count > 0; i++) {
        int mc = b->job->nodes[grads.nodes[i]].mc;
        wait_for(b, grads.nodes[i], last_pass(b, passes, mc < 0 ? 0 : mc));
        wait_for(b, norms.count > 0 ? first_of(norms) : first_of(separate), grads.nodes[i]);
    }
    at = separate.count == 0 && !is_last ? append(b, grads, at) : at;
    for (int kind = MS_RECORDED_LAYERNORM; kind < MS_RECORDED_KIND_COUNT; kind++) {
        if (kind != MS_RECORDED_GRADS || is_last) {
            at = append(b, list_kinds(b, stage, BIT(kind)), at);
        }
    }
    return at;
}

/* Add the waits inside the workers of a stage, messages apart. A gathering of parameters precedes
 * the first forward pass of its chunk (rule 6); behind the last pass it belongs to the tail. */
static void add_stage(building *b, int stage) {
    const ms_recorded_node *nodes = b->job->nodes;
    node_list passes = list_kinds(b, stage, PASSES);
    node_list gathers = list_kinds(b, stage, BIT(MS_RECORDED_PARAMS));
    if (b->arena->has_failed || passes.count == 0) {
        const ms_mark mark = {.file = b->job->path};
        b->status = b->arena->has_failed
                        ? MS_E_NOMEM
                        : ms_diag_at(b->diag, &mark, NULL, "stage %d has no passes", stage);
        return;
    }
    int last = last_of(passes);
    chain_passes(b, passes);
    append(b, list_kinds(b, stage, BIT(MS_RECORDED_PARAMS) | BIT(MS_RECORDED_GRADS)), -1);
    for (int k = 0; k < passes.count; k++) { /* the first forward pass of each chunk */
        const ms_recorded_node *pass = &nodes[passes.nodes[k]];
        bool is_first = pass->kind == MS_RECORDED_FORWARD;
        for (int i = 0; i < k && is_first; i++) {
            is_first = nodes[passes.nodes[i]].mc != pass->mc;
        }
        for (int i = gathers.count - 1; i >= 0 && is_first; i--) {
            int mc = nodes[gathers.nodes[i]].mc;
            if ((mc < 0 ? 0 : mc) == pass->mc && gathers.nodes[i] < last) {
                wait_for(b, passes.nodes[k], gathers.nodes[i]);
                break;
            }
        }
    }
    int at = add_tail(b, stage, passes);
    for (int i = 0; i < gathers.count; i++) {
        wait_for(b, gathers.nodes[i], gathers.nodes[i] > last ? at : -1);
    }
}

/* Let the operations of a kind on two stages meet in their order. */
static void meet_stages(building *b, int kind, int stage, int other) {
    node_list own = list_kinds(b, stage, BIT(kind));
    node_list its = list_kinds(b, other, BIT(kind));
    for (int i = 0; i < own.count && i < its.count; i++) {
        meet(b, own.nodes[i], its.nodes[i]);
    }
    if (own.count != its.count) {
        refuse(b, own.count > its.count ? last_of(own) : last_of(its),
               "has no partner on the other stage");
    }
}

/* Let collectives meet across stages: of the embedding on the first and last one, likewise of any
 * two stages that hold the same parameters, and of the norm on all. */
static void meet_collectives(building *b) {
    int last = b->job->stages - 1;
    for (int s = 0; 2 * s < last && ms_recorded_has_rule(b->job, MS_RULE_EMBEDDING); s++) {
        meet_stages(b, MS_RECORDED_EMBEDDING, s, last - s);
    }
    for (int s = 1; s <= last && ms_recorded_has_rule(b->job, MS_RULE_CLIP); s++) {
        meet_stages(b, MS_RECORDED_CLIP, 0, s);
    }
}

/* ---- order ---- */

/* List the nodes that wait for each node: count, sum and distribute (base/firsts.h). */
static void list_nexts(const building *b, ms_recorded_graph *graph) {
    const int(*edges)[2] = b->edges.data;
    for (size_t i = 0; i < b->edges.count; i++) {
        graph->next_first[edges[i][0] + 1]++;
    }
    ms_firsts_make(graph->next_first, b->job->node_count);
    for (size_t i = 0; i < b->edges.count; i++) {
        graph->nexts[graph->next_first[edges[i][0]]++] = edges[i][1];
    }
    ms_firsts_rewind(graph->next_first, b->job->node_count);
}

/* Put the units into an order in which each follows all that it waits for.  waits: [nodes] how many
 * waits the nodes of a unit have that are not yet placed, at its first node.  first_of_unit:
 * [nodes]. */
static void sort_units(building *b, ms_recorded_graph *graph, int *waits, int *first_of_unit) {
    const ms_recorded *job = b->job;
    int *queue = graph->members; /* holds the first nodes of units from `queued` down */
    int queued = job->node_count;
    int placed = 0;
    for (int n = 0; n < job->node_count; n++) {
        for (int k = n; first_of_unit[k] == 0; k = b->partners[k]) {
            first_of_unit[k] = n + 1;
        }
    }
    for (int i = 0; i < graph->next_first[job->node_count]; i++) {
        waits[first_of_unit[graph->nexts[i]] - 1]++;
    }
    for (int n = 0; n < job->node_count; n++) {
        if (first_of_unit[n] == n + 1 && waits[n] == 0) {
            queue[--queued] = n;
        }
    }
    while (queued < job->node_count) {
        int start = queue[queued++];
        int kind = job->nodes[start].kind;
        ms_recorded_unit *unit = &graph->units[graph->unit_count++];
        *unit = (ms_recorded_unit){.first = placed,
                                   .is_meeting = !MS_RECORDED_KINDS[kind].is_lonely,
                                   .is_across_dp = MS_RECORDED_KINDS[kind].is_across_dp &&
                                                   ms_recorded_has_rule(job, MS_RULE_REPLICAS)};
        int n = start;
        do {
            graph->members[placed++] = n;
            n = b->partners[n];
        } while (n != start);
        unit->count = placed - unit->first;
        for (int i = unit->first; i < placed; i++) {
            int node = graph->members[i];
            for (int k = graph->next_first[node]; k < graph->next_first[node + 1]; k++) {
                int next = first_of_unit[graph->nexts[k]] - 1;
                if (--waits[next] == 0) {
                    queue[--queued] = next;
                }
            }
        }
    }
    for (int n = 0; n < job->node_count && placed < job->node_count; n++) {
        if (waits[n] > 0) {
            refuse(b, n,
                   "waits for itself in a circle: the orders of the stages do not fit "
                   "together");
        }
    }
}

ms_status ms_recorded_graph_build(const ms_recorded *job, ms_arena *arena, ms_diag *diag,
                                  ms_recorded_graph *graph_out) {
    size_t nodes = (size_t)job->node_count;
    building b = {.job = job,
                  .arena = arena,
                  .diag = diag,
                  .edges = {.item_B = sizeof(int[2])},
                  .partners = MS_NEW(arena, int, nodes)};
    ms_memo_init(&b.keys, sizeof(message_key), sizeof(int));
    for (size_t n = 0; b.partners != NULL && n < nodes; n++) {
        b.partners[n] = (int)n;
    }
    for (int stage = 0; stage < job->stages && b.status == MS_OK; stage++) {
        add_stage(&b, stage);
    }
    if (!arena->has_failed && b.status == MS_OK) {
        add_messages(&b);
    }
    if (!arena->has_failed && b.status == MS_OK) {
        meet_collectives(&b);
    }
    ms_recorded_graph graph = {.next_first = MS_NEW(arena, int32_t, nodes + 1),
                               .nexts = MS_NEW(arena, int, b.edges.count),
                               .members = MS_NEW(arena, int, nodes),
                               .units = MS_NEW(arena, ms_recorded_unit, nodes)};
    int *waits = MS_NEW(arena, int, nodes);
    int *first_of_unit = MS_NEW(arena, int, nodes);
    if (b.edges.failed || arena->has_failed) {
        b.status = ms_diag_no_memory(diag);
    }
    if (b.status == MS_OK) {
        list_nexts(&b, &graph);
        sort_units(&b, &graph, waits, first_of_unit);
        *graph_out = graph;
    }
    ms_vector_release(&b.edges);
    ms_memo_release(&b.keys);
    return b.status;
}
