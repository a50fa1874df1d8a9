/* Makes the measured job of a what-if: with another order of passes or split of layers, without a
 * worker or replica, with more replicas, or with other transfers. Measured times of passes are kept
 * and scaled; nothing is simulated. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "search/recorded/change.h"

/* The passes of a job while they are laid out anew. */
typedef struct relayout {
    const ms_recorded *job;
    const ms_recorded_change *change;
    const int64_t *ideal_ps;
    int *pass_of; /* [(kind * G + gmc) * M + mb] node of a pass; -1: none */
    int *worker;  /* [G] pipeline stage of a virtual stage */
} relayout;

/* ---- times of passes ---- */

/* The time of a measured pass. The parts of a backward pass that was not split are its halves.  at:
 * index of its first node's time of a step and data-parallel rank. */
static double measured(const relayout *r, int kind, int gmc, int mb, size_t at) {
    const ms_recorded *job = r->job;
    double times[MS_RECORDED_WEIGHT_GRAD + 1] = {0};
    bool is_there = false;
    for (int k = 0; k <= MS_RECORDED_WEIGHT_GRAD; k++) {
        int node = r->pass_of[(k * job->model_stages + gmc) * job->microbatches + mb];
        is_there = is_there || (k == kind && node >= 0);
        times[k] = node < 0 ? 0.0 : (double)job->own_ps[at + (size_t)node * (size_t)job->dp];
    }
    if (is_there || kind == MS_RECORDED_FORWARD) {
        return times[kind];
    }
    return kind == MS_RECORDED_BACKWARD
               ? times[MS_RECORDED_INPUT_GRAD] + times[MS_RECORDED_WEIGHT_GRAD]
               : times[MS_RECORDED_BACKWARD] / 2.0;
}

/* The part of a pass that is no layer: by how much the first and last virtual stage take longer for
 * a layer than the mean of those between them, or, of two, than the other. */
static double extra(const relayout *r, int kind, int gmc, int mb, size_t at) {
    int count = r->job->model_stages;
    const int *layers = r->change->layers_before;
    double sum = 0.0;
    int others = 0;
    if (count < 2 || (gmc != 0 && gmc != count - 1)) {
        return 0.0;
    }
    for (int g = 0; g < count; g++) {
        if (count == 2 ? g != gmc : g != 0 && g != count - 1) {
            sum += measured(r, kind, g, mb, at) / layers[g];
            others++;
        }
    }
    double own = measured(r, kind, gmc, mb, at) - layers[gmc] * sum / others;
    return own > 0.0 ? own : 0.0;
}

/* The time of a pass of the new layout: as long for a layer as its worker takes now, and what is no
 * layer.  node: of the new job.  parts: slices of a microbatch. */
static double pass_time(const relayout *r, const ms_recorded_node *node, int parts, size_t at) {
    int count = r->job->model_stages;
    int stages = r->change->stages_after;
    int gmc = node->gmc % stages;
    /* of two directions the second has the second half of the microbatches */
    int mb = node->mb / parts + (node->gmc >= stages ? r->job->microbatches / 2 : 0);
    double sum = 0.0;
    double layers = 0.0;
    for (int g = 0; g < count; g++) {
        if (r->worker[g] == node->stage) {
            sum += measured(r, node->kind, g, mb, at) - extra(r, node->kind, g, mb, at);
            layers += r->change->layers_before[g];
        }
    }
    double time = sum * r->change->layers_after[gmc] / layers;
    time += gmc == 0 ? extra(r, node->kind, 0, mb, at) : 0.0;
    time += gmc == stages - 1 && count > 1 ? extra(r, node->kind, count - 1, mb, at) : 0.0;
    return time / parts;
}

/* ---- another order ---- */

/* Append a node to a new job.  source: of the old job, whose times it keeps; -1: none. */
static void add_node(ms_vector *nodes, ms_recorded_node node, int source) {
    node.row = source;
    node.start_ps = (int64_t)nodes->count;
    node.length_ps = 0;
    ms_vector_add(nodes, &node, 1);
}

/* The number of the overlapped pair that an action belongs to; -1: none. */
static int pair_of(const ms_program *program, int worker, size_t index) {
    bool is_second = index > program->first[worker] && program->actions[index - 1].is_overlapped;
    return program->actions[index].is_overlapped ? (int)index : is_second ? (int)index - 1 : -1;
}

/* Append an action of a worker, with its messages to and from other workers. */
static void add_action(const ms_program *program, int worker, size_t index, ms_vector *nodes) {
    const ms_action *action = &program->actions[index];
    static const uint8_t KINDS[] = {[MS_PASS_F] = MS_RECORDED_FORWARD,
                                    [MS_PASS_I] = MS_RECORDED_INPUT_GRAD,
                                    [MS_PASS_W] = MS_RECORDED_WEIGHT_GRAD,
                                    [MS_PASS_B] = MS_RECORDED_BACKWARD};
    bool is_forward = action->pass == MS_PASS_F;
    int stage = action->stage;
    bool has_next = ms_program_has_next(program, stage) && program->stage_rank[stage + 1] != worker;
    bool has_last =
        ms_program_has_previous(program, stage) && program->stage_rank[stage - 1] != worker;
    int send = is_forward ? MS_RECORDED_FORWARD_SEND : MS_RECORDED_BACKWARD_SEND;
    ms_recorded_node node = {.kind = KINDS[action->pass],
                             .stage = worker,
                             .mc = program->stage_chunk[stage],
                             .gmc = stage,
                             .mb = action->mb,
                             .pair = pair_of(program, worker, index)};
    add_node(nodes, node, -1);
    for (int is_send = 0; is_send < 2 && action->pass != MS_PASS_W; is_send++) {
        node.kind = (uint8_t)(is_send ? send : send + 1);
        if (is_forward == is_send ? has_next : has_last) {
            add_node(nodes, node, -1);
        }
    }
}

/* Lay out the nodes of a job in the order of a program: what precedes the passes of a worker, its
 * passes with their messages, and what follows them. */
static ms_status lay_out(const relayout *r, ms_arena *arena, ms_recorded *out) {
    const ms_recorded *job = r->job;
    const ms_program *program = r->change->program;
    ms_vector nodes = {.item_B = sizeof(ms_recorded_node)};
    out->first = MS_NEW(arena, int, job->stages + 1);
    for (int s = 0; s < job->stages && out->first != NULL; s++) {
        bool is_before = true;
        for (int n = job->first[s]; n < job->first[s + 1]; n++) {
            bool is_pass = ms_recorded_is_pass(job->nodes[n].kind);
            for (size_t i = program->first[s]; i < program->first[s + 1] && is_pass && is_before;
                 i++) {
                add_action(program, s, i, &nodes);
            }
            is_before = is_before && !is_pass;
            if (!is_pass && !ms_recorded_is_message(job->nodes[n].kind)) {
                add_node(&nodes, job->nodes[n], n);
            }
        }
        out->first[s + 1] = (int)nodes.count;
    }
    out->node_count = (int)nodes.count;
    out->model_stages = program->stages;
    out->microbatches = program->mb_count;
    out->has_labels = true;
    out->is_serial = true;
    out->nodes = ms_vector_keep(&nodes, arena);
    return arena->has_failed ? MS_E_NOMEM : MS_OK;
}

/* Set the times of the passes and messages of a job that was laid out anew, and copy the others. */
static void set_times(const relayout *r, ms_recorded *out) {
    const ms_recorded *job = r->job;
    const ms_program *program = r->change->program;
    size_t dp = (size_t)job->dp;
    int parts = program == NULL || program->spec.slices < 1 ? 1 : program->spec.slices;
    for (int n = 0; n < out->node_count; n++) {
        const ms_recorded_node *node = &out->nodes[n];
        int source = program == NULL ? n : node->row;
        for (size_t i = 0; i < (size_t)job->step_count * dp; i++) {
            size_t step = i / dp;
            size_t from = step * (size_t)job->node_count * dp + i % dp;
            size_t to = (step * (size_t)out->node_count + (size_t)n) * dp + i % dp;
            out->own_ps[to] = ms_recorded_is_pass(node->kind)
                                  ? llround(pass_time(r, node, parts, from))
                              : source >= 0 ? job->own_ps[from + (size_t)source * dp]
                                            : r->ideal_ps[node->kind * job->stages + node->stage];
        }
    }
}

/* Find the node of every pass and the worker of every virtual stage.  Returns MS_OK; MS_E_INPUT
 * (reported) for a job whose microbatches run through the stages in two directions. */
static ms_status find_passes(relayout *r, ms_arena *arena, ms_diag *diag) {
    const ms_recorded *job = r->job;
    int count = job->model_stages * job->microbatches;
    int *numbers = MS_NEW(arena, int, 4 * (size_t)job->model_stages);
    r->pass_of = MS_NEW(arena, int, 4 * (size_t)count);
    r->worker = MS_NEW(arena, int, job->model_stages);
    if (numbers == NULL || r->pass_of == NULL || r->worker == NULL) {
        return ms_diag_no_memory(diag);
    }
    memset(r->pass_of, -1, 4 * (size_t)count * sizeof(int));
    for (int n = 0; n < job->node_count; n++) {
        const ms_recorded_node *node = &job->nodes[n];
        if (ms_recorded_is_pass(node->kind)) {
            int number = numbers[4 * node->gmc + node->kind]++;
            int mb = node->mb >= 0 ? node->mb : number;
            r->worker[node->gmc] = node->stage;
            if (mb >= 0 && mb < job->microbatches) {
                r->pass_of[node->kind * count + node->gmc * job->microbatches + mb] = n;
            }
        }
    }
    for (int g = 1; g < job->model_stages; g++) {
        int last = r->pass_of[(g - 1) * job->microbatches];
        int own = r->pass_of[g * job->microbatches];
        if (last >= 0 && own >= 0 && r->worker[g] == r->worker[g - 1] &&
            job->nodes[own].start_ps < job->nodes[last].start_ps) {
            return ms_diag_error(diag, "a job whose microbatches run in two directions keeps its "
                                       "schedule and layers in a what-if");
        }
    }
    return MS_OK;
}

/* Check that every measured virtual stage has a layer: the time of a layer is that of a pass
 * divided by its layers. */
static ms_status check_layers(const ms_recorded *job, const ms_recorded_change *change,
                              ms_diag *diag) {
    for (int g = 0; g < job->model_stages; g++) {
        if (change->layers_before[g] < 1) {
            return ms_diag_error(diag,
                                 "virtual stage %d of the workload has no layers, so the measured "
                                 "time of its passes is not that of layers, and cannot be scaled",
                                 g);
        }
    }
    return MS_OK;
}

/* Change the order of passes or the split of layers. */
static ms_status change_layout(const ms_recorded *job, const ms_recorded_change *change,
                               ms_arena *arena, ms_diag *diag, ms_recorded *out) {
    relayout r = {.job = job, .change = change, .ideal_ps = ms_recorded_ideal(job, arena)};
    ms_status status = find_passes(&r, arena, diag);
    status = status == MS_OK ? check_layers(job, change, diag) : status;
    if (status != MS_OK || r.ideal_ps == NULL) {
        return status == MS_OK ? ms_diag_no_memory(diag) : status;
    }
    if (change->program != NULL && lay_out(&r, arena, out) != MS_OK) {
        return ms_diag_no_memory(diag);
    }
    size_t times = (size_t)out->node_count * (size_t)job->step_count * (size_t)job->dp;
    ms_recorded_graph *graph = MS_NEW(arena, ms_recorded_graph, 1);
    out->own_ps = MS_NEW(arena, int64_t, times);
    if (out->own_ps == NULL || graph == NULL) {
        return ms_diag_no_memory(diag);
    }
    set_times(&r, out);
    if (change->program != NULL) {
        status = ms_recorded_graph_build(out, arena, diag, graph);
        out->graph = graph;
    }
    return status;
}

/* ---- other workers, other transfers ---- */

/* The typical time of a node on the data-parallel ranks but one: the median.  own: [dp]. */
static int64_t usual_time(const int64_t *own, int dp, int without, int64_t *room) {
    int count = 0;
    for (int d = 0; d < dp; d++) {
        if (d != without) {
            room[count++] = own[d];
        }
    }
    return ms_recorded_typical(room, (size_t)count, false);
}

/* Change the workers or the transfers: the nodes stay.  out: `dp` is set.  sources: [out->dp] old
 * data-parallel rank of each new one. */
static void change_times(const ms_recorded *job, const ms_recorded_change *change,
                         const int *sources, int64_t *room, ms_recorded *out) {
    for (size_t row = 0; row < (size_t)job->step_count * (size_t)job->node_count; row++) {
        const ms_recorded_node *node = &job->nodes[row % (size_t)job->node_count];
        const int64_t *own = job->own_ps + row * (size_t)job->dp;
        bool is_lonely = MS_RECORDED_KINDS[node->kind].is_lonely;
        for (int d = 0; d < out->dp; d++) {
            bool is_replaced = change->without_stage == node->stage && change->without_dp == d;
            int64_t time = is_replaced ? usual_time(own, job->dp, d, room) : own[sources[d]];
            out->own_ps[row * (size_t)out->dp + (size_t)d] =
                is_lonely ? time : llround((double)time * change->transfer_factor);
        }
    }
}

/* Choose the data-parallel ranks of the new job: those that stay, and some drawn from them. */
static void choose_sources(const ms_recorded *job, const ms_recorded_change *change, int *sources) {
    ms_random random = {.state = change->seed};
    int kept = 0;
    for (int d = 0; d < job->dp; d++) {
        if (d != change->without_dp || change->without_stage >= 0) {
            sources[kept++] = d;
        }
    }
    for (int i = 0; i < change->replicas; i++) {
        sources[kept + i] = sources[ms_random_range(&random, 0, kept - 1)];
    }
}

ms_status ms_recorded_change_job(const ms_recorded *job, const ms_recorded_change *change,
                                 ms_arena *arena, ms_diag *diag, ms_recorded **out) {
    ms_recorded *changed = MS_NEW(arena, ms_recorded, 1);
    bool is_removed = change->without_dp >= 0 && change->without_stage < 0;
    if (changed == NULL) {
        return ms_diag_no_memory(diag);
    }
    if (job->dp < 2 && change->without_dp >= 0) {
        return ms_diag_error(diag, "the job has one data-parallel rank, and needs it");
    }
    *changed = *job;
    changed->delay_ps = NULL;
    *out = changed;
    if (change->layers_after != NULL) {
        return change_layout(job, change, arena, diag, changed);
    }
    changed->dp = job->dp - is_removed + change->replicas;
    size_t times = (size_t)job->node_count * (size_t)job->step_count * (size_t)changed->dp;
    int *sources = MS_NEW(arena, int, changed->dp);
    int64_t *room = MS_NEW(arena, int64_t, job->dp);
    changed->own_ps = MS_NEW(arena, int64_t, times);
    if (sources == NULL || room == NULL || changed->own_ps == NULL) {
        return ms_diag_no_memory(diag);
    }
    choose_sources(job, change, sources);
    change_times(job, change, sources, room, changed);
    return MS_OK;
}
