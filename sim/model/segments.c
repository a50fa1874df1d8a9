/* The builder's segments: the computations and collectives of the pass under construction, in
 * order, and the asynchronous collectives that each waits for. Kernels are added to the last
 * computation, the open segment. */
#include <string.h>

#include "model/internal.h"

/* Initialise the builder's vectors; no layer is being added. */
void ms_cost_begin(ms_cost_builder *builder) {
    ms_vector_init(&builder->segments, sizeof(ms_segment));
    ms_vector_init(&builder->kernels, sizeof(ms_kernel));
    ms_vector_init(&builder->uses, sizeof(ms_kernel_use));
    builder->layer = -1;
}

void ms_cost_end(ms_cost_builder *builder) {
    ms_vector_release(&builder->segments);
    ms_vector_release(&builder->kernels);
    ms_vector_release(&builder->uses);
}

bool ms_cost_failed(const ms_cost_builder *builder) {
    return builder->segments.failed || builder->kernels.failed || builder->uses.failed ||
           builder->arena->has_failed;
}

/* The newest segment; NULL: there is none, or an allocation has failed. */
ms_segment *ms_cost_last_segment(ms_cost_builder *builder) {
    if (ms_cost_failed(builder) || builder->segments.count == 0) {
        return NULL;
    }
    return &MS_AT(&builder->segments, ms_segment, builder->segments.count - 1);
}

void ms_cost_begin_plan(ms_cost_builder *builder) {
    builder->pass_first = builder->unit.open_first = builder->segments.count;
}

/* Remove the last segment if it is a computation of this layer that was opened and got no kernel.
 * One that waits for a collective stays, because what follows relies on that wait. */
static void drop_empty(ms_cost_builder *builder) {
    const ms_segment *last = ms_cost_last_segment(builder);
    if (last && builder->segments.count > builder->unit.open_first && !last->is_collective &&
        last->kernels.uses == 0 && last->wait_count == 0 && last->layer == builder->layer) {
        builder->segments.count--;
    }
}

/* A computation for the layer that is being added, without kernels yet. */
static ms_segment new_segment(const ms_cost_builder *builder) {
    return (ms_segment){.is_recompute = builder->is_recompute,
                        .layer = builder->layer,
                        .kernels = {.use_first = (int)builder->uses.count}};
}

/* Open a compute segment, or continue the last one. Segments before unit.open_first are closed:
 * those of earlier plans, and those that must not be joined with what follows, such as computation
 * before a unit's gather. */
void ms_cost_compute(ms_cost_builder *builder) {
    ms_segment *last = ms_cost_last_segment(builder);
    if (last && builder->segments.count > builder->unit.open_first && !last->is_collective &&
        last->layer == builder->layer && last->is_recompute == builder->is_recompute) {
        return;
    }
    drop_empty(builder);
    ms_segment segment = new_segment(builder);
    ms_vector_add(&builder->segments, &segment, 1);
}

/* Open a compute segment before which the host waits for the GPU. */
void ms_cost_host_wait(ms_cost_builder *builder) {
    drop_empty(builder);
    ms_segment segment = new_segment(builder);
    segment.kernels.has_host_wait = true;
    ms_vector_add(&builder->segments, &segment, 1);
}

/* A degree in which 0 means 1. */
static double degree(int value) {
    return value > 0 ? value : 1;
}

/* Ranks of a group along a set of axes. A group of experts has the axes of the experts' own mesh,
 * whose dp includes the ranks of cp and of the user's axis. */
double ms_group_size(const ms_model_layout *layout, unsigned axes) {
    const double SIZES[MS_AXIS_COUNT] = {
        [MS_AXIS_TP] = degree(layout->tp), [MS_AXIS_CP] = degree(layout->cp),
        [MS_AXIS_EP] = degree(layout->ep), [MS_AXIS_PP] = degree(layout->pp),
        [MS_AXIS_DP] = degree(layout->dp), [MS_AXIS_OTHER] = degree(layout->other)};
    const double OF_EXPERTS[MS_AXIS_COUNT] = {[MS_AXIS_TP] = degree(layout->expert_mesh.tp),
                                              [MS_AXIS_CP] = 1,
                                              [MS_AXIS_EP] = degree(layout->ep),
                                              [MS_AXIS_PP] = degree(layout->pp),
                                              [MS_AXIS_DP] = degree(layout->expert_mesh.dp),
                                              [MS_AXIS_OTHER] = 1};
    double size = 1;
    for (int axis = MS_AXIS_TP; axis < MS_AXIS_COUNT; axis++) {
        double along = axes & MS_AXES_OF_EXPERTS ? OF_EXPERTS[axis] : SIZES[axis];
        size *= axes & MS_AXIS_BIT(axis) ? along : 1;
    }
    return size;
}

unsigned ms_axes_of_experts(const ms_model_layout *layout, unsigned axes) {
    return layout->expert_mesh.tp > 0 ? axes | MS_AXES_OF_EXPERTS : axes;
}

unsigned ms_axis_of_experts(const ms_model_layout *layout, ms_axis axis) {
    return layout->expert_mesh.tp > 0 ? MS_AXIS_BIT(axis) | MS_AXES_OF_EXPERTS : 0;
}

double ms_expert_tp(const ms_model_layout *layout) {
    return degree(layout->expert_mesh.tp > 0 ? layout->expert_mesh.tp : layout->tp);
}

/* Where the host waits behind every kernel (blocking_launch_s), it launches a collective only when
 * the computation before the collective has ended. The launch's time is added to that
 * computation. */
static void add_blocking_launch(ms_cost_builder *builder) {
    ms_segment *last = ms_cost_last_segment(builder);
    bool is_behind =
        last && builder->segments.count > builder->unit.open_first && !last->is_collective;
    if (is_behind && builder->layout->blocking_launch_s > 0) {
        last->time_s += builder->layout->blocking_launch_s;
        last->kernels.launches++;
    }
}

/* Add a collective; none if its group has one member or nothing to send. Returns its number in the
 * pass, from 1, if it is asynchronous. */
int ms_cost_communicate(ms_cost_builder *builder, const ms_comm *comm) {
    unsigned axes = comm->group_axes != 0 ? comm->group_axes : MS_AXIS_BIT(comm->axis);
    double members = comm->is_between_directions ? degree(builder->layout->directions)
                                                 : ms_group_size(builder->layout, axes);
    if (members <= 1 || comm->bytes <= 0) {
        return 0;
    }
    drop_empty(builder);
    add_blocking_launch(builder);
    ms_segment segment = {.is_collective = true,
                          .is_async = comm->is_async,
                          .is_recompute = builder->is_recompute,
                          .when = comm->when,
                          .layer = builder->layer,
                          .axis = comm->axis,
                          .group_axes = comm->group_axes,
                          .coll = comm->kind,
                          .coll_B = comm->bytes,
                          .coll_intra_node_B = comm->intra_node_B,
                          .coll_load_imbalance = comm->load_imbalance,
                          .is_between_directions = comm->is_between_directions,
                          .kernels = {.use_first = (int)builder->uses.count}};
    ms_cost_wait(builder, &segment, comm->after);
    ms_vector_add(&builder->segments, &segment, 1);
    int number = (int)(builder->segments.count - builder->pass_first); /* as ms_cost_wait takes */
    return comm->is_async ? number : 0;
}

/* Add an asynchronous collective to those that a segment waits for. The list is made anew, because
 * copies of the segment share it. Numbers count from 1, entries of the list from 0. */
void ms_cost_wait(ms_cost_builder *builder, ms_segment *segment, int after) {
    int count = segment->wait_count;
    int *waits = after == 0 ? NULL : MS_NEW(builder->arena, int, count + 1);
    if (waits == NULL) {
        return;
    }
    for (int i = 0; i < count; i++) {
        waits[i] = segment->waits[i];
    }
    waits[count] = after - 1;
    segment->waits = waits;
    segment->wait_count = count + 1;
}

/* Open a compute segment that waits for an asynchronous collective. */
void ms_cost_compute_after(ms_cost_builder *builder, int after) {
    if (after == 0) {
        ms_cost_compute(builder);
        return;
    }
    drop_empty(builder);
    ms_segment segment = new_segment(builder);
    ms_cost_wait(builder, &segment, after);
    ms_vector_add(&builder->segments, &segment, 1);
}

void ms_cost_collective(ms_cost_builder *builder, ms_coll_kind kind, double bytes) {
    ms_cost_communicate(builder, &(ms_comm){.axis = MS_AXIS_TP, .kind = kind, .bytes = bytes});
}

/* Append the segments of a built layer for another layer. Waits inside the layer are moved along
 * with it. Waits for segments before the layer (gathers) are dropped: ms_fsdp_unit_end sets those
 * of the copy. */
void ms_cost_copy_layer(ms_cost_builder *builder, const ms_built_layer *built, int layer) {
    /* segments of the pass before the built layer; by how many segments the copy lies further on */
    int before = (int)((size_t)built->plan.first - built->pass_first);
    int moved = (int)(builder->segments.count - builder->pass_first) - before;
    for (int i = 0; i < built->plan.count && !ms_cost_failed(builder); i++) {
        ms_segment segment = MS_AT(&builder->segments, ms_segment, built->plan.first + i);
        const ms_segment *original = &MS_AT(&builder->segments, ms_segment, built->plan.first + i);
        segment.layer = layer;
        segment.wait_count = 0;
        for (int k = 0; k < original->wait_count; k++) {
            int awaited = original->waits[k]; /* from 0; ms_cost_wait counts from 1 */
            ms_cost_wait(builder, &segment, awaited >= before ? awaited + moved + 1 : 0);
        }
        ms_vector_add(&builder->segments, &segment, 1);
    }
}
