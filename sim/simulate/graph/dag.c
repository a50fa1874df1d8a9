/* The operation graph under construction: adders that append records to growing arrays, and
 * ms_dag_finish, which checks all indices and computes the times of flows and fused passes. The
 * lowering (sim/simulate/lower) builds a graph once per run; engines and metrics only read the
 * graph. */
#include "simulate/graph/dag.h"

#include "simulate/graph/fused_passes.h"
#include "simulate/graph/work_times.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The growing arrays of a graph under construction, as indices into ms_dag_builder.vectors. Each
 * becomes an array of ms_dag of the same name in ms_dag_finish. STEPS becomes step_first;
 * FUSED_PASSES, PARTS and PART_WAITS become the arrays of ms_fused_passes. */
enum {
    RANKS,
    STREAMS,
    LINKS,
    CROSSINGS,
    FLOWS,
    PHASES,
    WORKS,
    OPS,
    MEMBER_FIRST,
    MEMBER_STREAM,
    MEMBER_NEXT,
    DEP_FIRST,
    DEPS,
    STEPS,
    FUSED_PASSES,
    PARTS,
    PART_WAITS,
};

void ms_dag_init(ms_dag *dag) {
    static const size_t SIZES[] = {
        [RANKS] = sizeof(ms_dag_rank),
        [STREAMS] = sizeof(ms_dag_stream),
        [LINKS] = sizeof(ms_dag_link),
        [CROSSINGS] = sizeof(ms_dag_crossing),
        [FLOWS] = sizeof(ms_dag_flow),
        [PHASES] = sizeof(ms_dag_phase),
        [WORKS] = sizeof(ms_dag_work),
        [OPS] = sizeof(ms_dag_op),
        [MEMBER_FIRST] = sizeof(int32_t),
        [MEMBER_STREAM] = sizeof(int32_t),
        [MEMBER_NEXT] = sizeof(int32_t),
        [DEP_FIRST] = sizeof(int32_t),
        [DEPS] = sizeof(int32_t),
        [STEPS] = sizeof(int32_t),
        [FUSED_PASSES] = sizeof(ms_fused_pass),
        [PARTS] = sizeof(ms_dag_part),
        [PART_WAITS] = sizeof(int32_t),
    };
    *dag = (ms_dag){0};
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        ms_vector_init(&dag->builder.vectors[i], SIZES[i]);
    }
    ms_vector_init(&dag->builder.stream_last, sizeof(int32_t));
    for (int kind = 0; kind < MS_COLL_COUNT; kind++) {
        dag->network.compute_slowdown[kind] = 1.0;
    }
}

void ms_dag_release(ms_dag *dag) {
    for (size_t i = 0; i < sizeof dag->builder.vectors / sizeof dag->builder.vectors[0]; i++) {
        ms_vector_release(&dag->builder.vectors[i]);
    }
    ms_vector_release(&dag->builder.stream_last);
    ms_dag_init(dag);
}

/* Append an uninitialised record to array `which` and return its address; NULL after a failure, now
 * or earlier: a builder that has failed adds nothing any more. An array is limited to INT32_MAX
 * records, because records are named by 32-bit indices. */
static inline void *next_record(ms_dag *dag, int which) {
    ms_vector *vector = &dag->builder.vectors[which];
    bool has_numbers = !dag->builder.failed && vector->count < INT32_MAX;
    void *record = has_numbers ? ms_vector_next(vector) : NULL;
    dag->builder.failed = record == NULL;
    return record;
}

/* Append a copy of `record` to array `which`. Returns the index of the copy; -1 after a failure. */
static int32_t add(ms_dag *dag, int which, const void *record) {
    ms_vector *vector = &dag->builder.vectors[which];
    void *slot = next_record(dag, which);
    if (slot == NULL) {
        return -1;
    }
    memcpy(slot, record, vector->item_B);
    return (int32_t)(vector->count - 1);
}

/* Append a number to array `which`, an array of int32_t. It does what `add` does, but without a
 * memcpy of variable size: a graph may have tens of millions of numbers. */
static inline void add_number(ms_dag *dag, int which, int32_t number) {
    int32_t *slot = next_record(dag, which);
    if (slot != NULL) {
        *slot = number;
    }
}

/* The newest record of array `which`; NULL after a failure. An empty array is a failure, too: the
 * caller adds to a parent record that does not exist. */
static void *newest(ms_dag *dag, int which) {
    const ms_vector *vector = &dag->builder.vectors[which];
    dag->builder.failed = dag->builder.failed || vector->count == 0;
    return dag->builder.failed ? NULL : (char *)vector->data + (vector->count - 1) * vector->item_B;
}

int32_t ms_dag_add_rank(ms_dag *dag, int32_t rank, int32_t multiplicity, int32_t pp) {
    return add(dag, RANKS,
               &(ms_dag_rank){.rank = rank, .multiplicity = multiplicity, .pp = pp, .compute = -1});
}

int32_t ms_dag_add_stream(ms_dag *dag, int32_t rank, int32_t peer, ms_axis axis) {
    int32_t none = -1;
    if (rank < 0 || (size_t)rank >= dag->builder.vectors[RANKS].count) {
        dag->builder.failed = true;
        return -1;
    }
    int32_t stream =
        add(dag, STREAMS, &(ms_dag_stream){.rank = rank, .peer = peer, .axis = (int32_t)axis});
    if (stream < 0 || ms_vector_add(&dag->builder.stream_last, &none, 1) == NULL) {
        dag->builder.failed = true;
        return -1;
    }
    ms_dag_rank *owner = &MS_AT(&dag->builder.vectors[RANKS], ms_dag_rank, rank);
    if (axis == MS_AXIS_NONE && owner->compute < 0) {
        owner->compute = stream;
    }
    return stream;
}

int32_t ms_dag_add_link(ms_dag *dag, double capacity_Bps, int32_t id, int32_t tier) {
    return add(dag, LINKS, &(ms_dag_link){.capacity_Bps = capacity_Bps, .id = id, .tier = tier});
}

int32_t ms_dag_add_work(ms_dag *dag, const ms_dag_work *work) {
    ms_dag_work copy = *work;
    copy.phase_first = (int32_t)dag->builder.vectors[PHASES].count;
    copy.phase_count = 0;
    return add(dag, WORKS, &copy);
}

/* Append a record to array `which` for its parent, as a phase for its work. count: the parent's
 * number of such records, which grows by one; NULL: there is no parent, and nothing is appended.
 * Returns the index of the new record; -1 after a failure. */
static int32_t add_part_of(ms_dag *dag, int which, const void *record, int32_t *count) {
    int32_t index = count == NULL ? -1 : add(dag, which, record);
    if (index >= 0) {
        ++*count;
    }
    return index;
}

int32_t ms_dag_add_phase(ms_dag *dag, double latency_s) {
    ms_dag_work *owner = newest(dag, WORKS);
    const ms_dag_phase phase = {.latency_s = latency_s,
                                .flow_first = (int32_t)dag->builder.vectors[FLOWS].count};
    return add_part_of(dag, PHASES, &phase, owner == NULL ? NULL : &owner->phase_count);
}

ms_dag_flow *ms_dag_add_flow(ms_dag *dag, double bytes) {
    ms_dag_phase *owner = newest(dag, PHASES);
    const ms_dag_flow flow = {.bytes = bytes,
                              .slowness = 1.0,
                              .alone_s = -1.0,
                              .crossing_first = (int32_t)dag->builder.vectors[CROSSINGS].count};
    add_part_of(dag, FLOWS, &flow, owner == NULL ? NULL : &owner->flow_count);
    return newest(dag, FLOWS);
}

ms_dag_crossing *ms_dag_add_crossing(ms_dag *dag, int32_t link, int32_t weight, int32_t own) {
    ms_dag_flow *owner = newest(dag, FLOWS);
    const ms_dag_crossing crossing = {.link = link, .weight = weight, .own = own, .carried = own};
    add_part_of(dag, CROSSINGS, &crossing, owner == NULL ? NULL : &owner->crossing_count);
    return newest(dag, CROSSINGS);
}

int32_t ms_dag_add_fused_pass(ms_dag *dag) {
    return add(dag, FUSED_PASSES,
               &(ms_fused_pass){.part_first = (int32_t)dag->builder.vectors[PARTS].count});
}

/* The part's list of waits is empty, and grows with ms_dag_add_part_wait. */
int32_t ms_dag_add_part(ms_dag *dag, const ms_dag_part *part) {
    ms_fused_pass *owner = newest(dag, FUSED_PASSES);
    ms_dag_part copy = *part;
    copy.wait_first = (int32_t)dag->builder.vectors[PART_WAITS].count;
    copy.wait_count = 0;
    return add_part_of(dag, PARTS, &copy, owner == NULL ? NULL : &owner->part_count);
}

void ms_dag_add_part_wait(ms_dag *dag, int32_t part) {
    ms_dag_part *owner = newest(dag, PARTS);
    add_part_of(dag, PART_WAITS, &part, owner == NULL ? NULL : &owner->wait_count);
}

/* Find the crossings of a work: they are those from index *first_out to *end_out - 1 of CROSSINGS
 * (both 0: none). They lie side by side because the phases, flows and crossings of a work are added
 * in one go. */
static void find_crossings(const ms_dag *dag, int32_t work, int32_t *first_out, int32_t *end_out) {
    const ms_vector *v = dag->builder.vectors;
    const ms_dag_work *w = &MS_AT(&v[WORKS], ms_dag_work, work);
    *first_out = 0;
    *end_out = 0;
    for (int32_t p = w->phase_first; p < w->phase_first + w->phase_count; p++) {
        const ms_dag_phase *phase = &MS_AT(&v[PHASES], ms_dag_phase, p);
        for (int32_t f = phase->flow_first; f < phase->flow_first + phase->flow_count; f++) {
            const ms_dag_flow *flow = &MS_AT(&v[FLOWS], ms_dag_flow, f);
            *first_out = *end_out == 0 ? flow->crossing_first : *first_out;
            *end_out = flow->crossing_first + flow->crossing_count;
        }
    }
}

bool ms_dag_works_meet(const ms_dag *dag, int32_t a, int32_t b) {
    const ms_vector *crossings = &dag->builder.vectors[CROSSINGS];
    int32_t first[2]; /* of works a and b */
    int32_t end[2];
    find_crossings(dag, a, &first[0], &end[0]);
    find_crossings(dag, b, &first[1], &end[1]);
    for (int32_t i = first[0]; i < end[0]; i++) {
        for (int32_t j = first[1]; j < end[1]; j++) {
            if (MS_AT(crossings, ms_dag_crossing, i).link ==
                MS_AT(crossings, ms_dag_crossing, j).link) {
                return true;
            }
        }
    }
    return false;
}

void ms_dag_begin_step(ms_dag *dag) {
    int32_t first = (int32_t)dag->builder.vectors[OPS].count;
    add(dag, STEPS, &first);
}

void ms_dag_reserve(ms_dag *dag, double ops) {
    static const int ARRAYS[] = {OPS, MEMBER_FIRST, MEMBER_STREAM, MEMBER_NEXT, DEP_FIRST, DEPS};
    for (size_t i = 0; i < sizeof ARRAYS / sizeof ARRAYS[0]; i++) {
        ms_vector_reserve(&dag->builder.vectors[ARRAYS[i]], (size_t)fmin(ops, INT32_MAX));
    }
}

int32_t ms_dag_add_op(ms_dag *dag, const ms_dag_op *op) {
    int32_t first = (int32_t)dag->builder.vectors[MEMBER_STREAM].count;
    add_number(dag, MEMBER_FIRST, first);
    ms_dag_op *slot = next_record(dag, OPS);
    if (slot == NULL) {
        return -1;
    }
    *slot = *op;
    return (int32_t)dag->builder.vectors[OPS].count - 1;
}

/* The newest operation becomes `member_next` of the stream's last member so far. All members'
 * dependencies lie in one array, so the list of a new member begins where that of the member before
 * it ends. */
void ms_dag_add_member(ms_dag *dag, int32_t stream) {
    if (stream < 0 || (size_t)stream >= dag->builder.stream_last.count ||
        newest(dag, OPS) == NULL) {
        dag->builder.failed = true;
        return;
    }
    int32_t first = (int32_t)dag->builder.vectors[DEPS].count;
    int32_t *last = &MS_AT(&dag->builder.stream_last, int32_t, stream);
    if (*last >= 0) {
        int32_t op = (int32_t)dag->builder.vectors[OPS].count - 1;
        MS_AT(&dag->builder.vectors[MEMBER_NEXT], int32_t, *last) = op;
    }
    *last = (int32_t)dag->builder.vectors[MEMBER_STREAM].count;
    add_number(dag, MEMBER_STREAM, stream);
    add_number(dag, MEMBER_NEXT, -1);
    add_number(dag, DEP_FIRST, first);
}

void ms_dag_add_dep(ms_dag *dag, int32_t op) {
    if (op >= 0 && newest(dag, MEMBER_STREAM) != NULL) {
        add_number(dag, DEPS, op);
    }
}

/* Set the read pointers and counts of the graph to the builder's arrays, which grow no more. */
static void set_pointers(ms_dag *dag) {
    const ms_vector *v = dag->builder.vectors;
    dag->ranks = v[RANKS].data;
    dag->streams = v[STREAMS].data;
    dag->network.links = v[LINKS].data;
    dag->network.crossings = v[CROSSINGS].data;
    dag->network.flows = v[FLOWS].data;
    dag->network.phases = v[PHASES].data;
    dag->network.fused.passes = v[FUSED_PASSES].data;
    dag->network.fused.parts = v[PARTS].data;
    dag->network.fused.waits = v[PART_WAITS].data;
    dag->network.fused.count = (int32_t)v[FUSED_PASSES].count;
    dag->works = v[WORKS].data;
    dag->ops = v[OPS].data;
    dag->member_first = v[MEMBER_FIRST].data;
    dag->member_stream = v[MEMBER_STREAM].data;
    dag->member_next = v[MEMBER_NEXT].data;
    dag->dep_first = v[DEP_FIRST].data;
    dag->deps = v[DEPS].data;
    dag->step_first = v[STEPS].data;
    dag->rank_count = (int32_t)v[RANKS].count;
    dag->stream_count = (int32_t)v[STREAMS].count;
    dag->network.link_count = (int32_t)v[LINKS].count;
    dag->network.crossing_count = (int32_t)v[CROSSINGS].count;
    dag->network.flow_count = (int32_t)v[FLOWS].count;
    dag->network.phase_count = (int32_t)v[PHASES].count;
    dag->work_count = (int32_t)v[WORKS].count;
    dag->op_count = (int32_t)v[OPS].count;
    dag->member_count = (int32_t)v[MEMBER_STREAM].count;
    dag->dep_count = (int32_t)v[DEPS].count;
    dag->step_count = (int32_t)v[STEPS].count - 1;
}

/* Whether a value can be a time or a number of bytes: it is not negative, and finite. */
static bool is_amount(double value) {
    return value >= 0.0 && isfinite(value);
}

/* Check the slow-downs of computations. Returns what the graph has that it must not have, as a
 * fragment of an error message; NULL: nothing is wrong. */
static const char *find_bad_slowdown(const ms_dag *dag) {
    for (int kind = 0; kind < MS_COLL_COUNT; kind++) {
        if (!(dag->network.compute_slowdown[kind] >= 1.0) ||
            !isfinite(dag->network.compute_slowdown[kind])) {
            return "a slow-down of computations that is below 1 or not finite";
        }
    }
    return NULL;
}

/* Check works and phases; returns as find_bad_slowdown. */
static const char *find_bad_work(const ms_dag *dag) {
    for (int32_t i = 0; i < dag->work_count; i++) {
        const ms_dag_work *work = &dag->works[i];
        if (!is_amount(work->time_s) || !is_amount(work->host_s)) {
            return "a work with a time that is negative or not finite";
        }
        if (work->is_communication != (work->phase_count > 0)) {
            return "a communication without phases, or a computation with phases";
        }
        if (work->coll >= MS_COLL_COUNT) {
            return "a work of a kind that does not exist";
        }
        if (work->stands_for < 1) {
            return "a work that stands for nothing";
        }
        if (work->fused < 0 || work->fused > dag->network.fused.count ||
            (work->fused > 0 && work->is_communication)) {
            return "a work that is a fused pass that does not exist";
        }
    }
    for (int32_t i = 0; i < dag->network.phase_count; i++) {
        if (!is_amount(dag->network.phases[i].latency_s)) {
            return "a phase with a latency that is negative or not finite";
        }
    }
    return NULL;
}

/* Check flows, crossings and links; returns as find_bad_slowdown. */
static const char *find_bad_link(const ms_dag *dag) {
    for (int32_t i = 0; i < dag->network.flow_count; i++) {
        if (!is_amount(dag->network.flows[i].bytes)) {
            return "a flow with a number of bytes that is negative or not finite";
        }
        if (!(dag->network.flows[i].slowness >= 1.0)) {
            return "a flow whose slowness is below 1";
        }
    }
    for (int32_t i = 0; i < dag->network.crossing_count; i++) {
        const ms_dag_crossing *crossing = &dag->network.crossings[i];
        if (crossing->link < 0 || crossing->link >= dag->network.link_count || crossing->own < 1 ||
            crossing->weight < crossing->own) {
            return "a crossing of a link that does not exist, or without weight";
        }
    }
    for (int32_t i = 0; i < dag->network.link_count; i++) {
        if (!(dag->network.links[i].capacity_Bps > 0.0) ||
            !isfinite(dag->network.links[i].capacity_Bps)) {
            return "a link without a finite capacity";
        }
    }
    return NULL;
}

/* Check that no flow has two crossings of one link; a flow that crosses a link several times has
 * one crossing with a larger weight. last_flow: [link_count] zeros; 1 + the last flow seen on each
 * link.
 */
static const char *find_repeated_link(const ms_dag *dag, int32_t *last_flow) {
    for (int32_t i = 0; i < dag->network.flow_count; i++) {
        const ms_dag_flow *flow = &dag->network.flows[i];
        for (int32_t c = 0; c < flow->crossing_count; c++) {
            int32_t link = dag->network.crossings[flow->crossing_first + c].link;
            if (last_flow[link] == i + 1) {
                return "a flow with two crossings of one link";
            }
            last_flow[link] = i + 1;
        }
    }
    return NULL;
}

/* Check steps, operations and dependencies; returns as find_bad_slowdown. A dependency may name a
 * later operation. */
static const char *find_bad_op(const ms_dag *dag) {
    if (dag->step_first[0] != 0) {
        return "an operation before the first step";
    }
    for (int32_t i = 0; i < dag->op_count; i++) {
        if (dag->ops[i].work < 0 || dag->ops[i].work >= dag->work_count) {
            return "an operation without work";
        }
        if (dag->member_first[i + 1] <= dag->member_first[i]) {
            return "an operation without members";
        }
    }
    for (int32_t i = 0; i < dag->dep_count; i++) {
        if (dag->deps[i] >= dag->op_count) {
            return "a dependency on an operation that does not exist";
        }
    }
    return NULL;
}

/* Check all records of a graph whose read pointers are set; the first fault counts. *fault_out:
 * what is wrong, as a fragment of an error message; NULL: nothing. Returns MS_OK, also with a
 * fault; MS_E_NOMEM. */
static ms_status check(const ms_dag *dag, const char **fault_out) {
    *fault_out = find_bad_slowdown(dag);
    *fault_out = *fault_out == NULL ? find_bad_work(dag) : *fault_out;
    *fault_out = *fault_out == NULL ? find_bad_link(dag) : *fault_out;
    *fault_out = *fault_out == NULL ? find_bad_op(dag) : *fault_out;
    *fault_out = *fault_out == NULL ? ms_dag_find_bad_fused_pass(dag) : *fault_out;
    if (*fault_out != NULL || dag->network.link_count == 0) {
        return MS_OK;
    }
    ms_vector last_flow;
    ms_vector_init(&last_flow, sizeof(int32_t));
    ms_status status = MS_E_NOMEM;
    if (ms_vector_add(&last_flow, NULL, (size_t)dag->network.link_count) != NULL) {
        *fault_out = find_repeated_link(dag, last_flow.data);
        status = MS_OK;
    }
    ms_vector_release(&last_flow);
    return status;
}

/* Whether a failure of the builder came from a lack of memory, rather than from a wrong index. */
static bool is_out_of_memory(const ms_dag *dag) {
    bool is_out = dag->builder.stream_last.failed;
    for (size_t i = 0; i < sizeof dag->builder.vectors / sizeof dag->builder.vectors[0]; i++) {
        is_out = is_out || dag->builder.vectors[i].failed;
    }
    return is_out;
}

/* The adders do not report faults; a missing parent record and a lack of memory both set
 * builder.failed, and are told apart here. */
ms_status ms_dag_finish(ms_dag *dag, ms_diag *diag) {
    int32_t members = (int32_t)dag->builder.vectors[MEMBER_STREAM].count;
    int32_t deps = (int32_t)dag->builder.vectors[DEPS].count;
    int32_t ops = (int32_t)dag->builder.vectors[OPS].count;
    const char *fault = NULL;
    /* each array of first indices ends with the end of its last list */
    add(dag, MEMBER_FIRST, &members);
    add(dag, DEP_FIRST, &deps);
    if (dag->builder.vectors[STEPS].count == 0) {
        add(dag, STEPS, &(int32_t){0});
    }
    add(dag, STEPS, &ops);
    set_pointers(dag);
    if (dag->builder.failed && !is_out_of_memory(dag)) {
        fault = "a record that belongs to something that does not exist";
    } else if (dag->builder.failed || check(dag, &fault) != MS_OK) {
        ms_diag_error(diag, "out of memory while building the operation graph");
        return MS_E_NOMEM;
    }
    if (fault != NULL) {
        ms_diag_error(diag, "bug: the operation graph has %s", fault);
        return MS_E_BUG;
    }
    if (ms_dag_time_flows(dag) != MS_OK || ms_dag_time_fused_passes(dag) != MS_OK) {
        ms_diag_error(diag, "out of memory while building the operation graph");
        return MS_E_NOMEM;
    }
    return MS_OK;
}

/* The operation that a member belongs to: the last one whose members begin at or before it, found
 * by bisection of member_first. */
static int32_t op_of_member(const ms_dag *dag, int32_t member) {
    int32_t low = 0;
    int32_t high = dag->op_count;
    while (high - low > 1) {
        int32_t middle = low + (high - low) / 2;
        *(dag->member_first[middle] <= member ? &low : &high) = middle;
    }
    return low;
}

/* Members are stored in the order of operations, so the nearest one before `member` on the same
 * stream is the one wanted. */
int32_t ms_dag_find_previous(const ms_dag *dag, int32_t member) {
    for (int32_t before = member - 1; before >= 0; before--) {
        if (dag->member_stream[before] == dag->member_stream[member]) {
            return op_of_member(dag, before);
        }
    }
    return -1;
}

char *ms_dag_describe(const ms_dag *dag, int32_t op, char *text_out, size_t size) {
    const ms_dag_op *o = &dag->ops[op];
    const ms_dag_stream *stream = &dag->streams[dag->member_stream[dag->member_first[op]]];
    char where[96] = "";
    int length = 0;
    if (o->stage >= 0) {
        length += snprintf(where, sizeof where, " stage %d", o->stage);
    }
    if (o->mb >= 0) {
        length += snprintf(where + length, sizeof where - (size_t)length, " mb %d", o->mb);
    }
    if (o->layer >= 0) {
        snprintf(where + length, sizeof where - (size_t)length, " layer %d", o->layer);
    }
    snprintf(text_out, size, "%s%s on rank %d", ms_op_kind_name((ms_op_kind)o->kind), where,
             dag->ranks[stream->rank].rank);
    return text_out;
}
