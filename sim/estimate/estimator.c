/* Estimates of many specs. The parts of an estimate are kept in four tables by keys that hold all
 * that the part depends on: a placement (ranks on GPUs, times of their communication), an order of
 * passes, the costs of all stages, and the times of layers. A search meets few different parts in
 * many candidates, so that an estimate is mostly look-ups and one run of the clocks (step.c).
 * Balanced partitions, which need estimates themselves, also start here. */
#include <math.h>
#include <string.h>

#include "base/memo.h"
#include "cluster/platform/price.h"
#include "estimate/compute.h"
#include "estimate/estimate.h"
#include "estimate/layer_partition.h"
#include "estimate/partition.h"
#include "estimate/rank_memory.h"
#include "estimate/work_bound.h"

/* All that the positions of ranks and groups on the GPUs, and the times of their communication,
 * depend on. */
typedef struct placement_key {
    const ms_platform *cluster;
    int kinds[MS_MESH_AXES_MAX], sizes[MS_MESH_AXES_MAX], strides[MS_MESH_AXES_MAX];
    ms_rank_placement_choice placement; /* lists are compared by address */
    ms_expert_axes experts;
    ms_coll_choices algorithms;
    ms_fidelity fidelity;
} placement_key;

/* The ranks of a mesh on a platform, and the times of their communication. */
typedef struct known_placement {
    ms_comm_classes comm;
    ms_mesh mesh, expert_mesh;
} known_placement;

/* A program of passes with their order, some 100 KB to 1 MB. */
typedef struct made_order {
    ms_program program;
    ms_order in_order; /* of `program` */
} made_order;

/* An order of passes, and all that follows from it alone. */
typedef struct known_order {
    ms_job job; /* the first job with this order, without costs; its program has no actions */
    const made_order *made; /* valid while `generation` is that of the estimator */
    int generation;
    ms_memory_moments moments;
    ms_pass_counts counts;
    unsigned passes; /* 1 << ms_pass of all passes in it */
} known_order;

/* All that a balanced partition depends on beside the rest of a cost_key: the time of the step that
 * the partition makes short depends on it. */
typedef struct share_key {
    int placement; /* number in ms_estimator.placements */
    ms_spec_host host;
    ms_sends sends;
    ms_step_end step_end;
    int steps;
    ms_partition_use use;
} share_key;

/* All that the costs of all stages depend on. */
typedef struct cost_key {
    const ms_platform *cluster;
    ms_model model;
    ms_given_costs given;
    ms_precision precision;
    ms_model_layout layout; /* without stage_rank, which follows from the order */
    ms_spec_partition partition;
    int order;        /* number in ms_estimator.orders */
    share_key shared; /* zeros unless the partition is balanced */
} cost_key;

/* All that the times of layers depend on, by which a balanced partition shares them out. */
typedef struct layer_key {
    const ms_platform *cluster;
    ms_model model;
    ms_precision precision;
    ms_model_layout layout; /* without the fields that ms_layer_times_find does not use */
    ms_spec_host host;
    int placement; /* number in ms_estimator.placements */
} layer_key;

/* What follows from the costs of all stages. The costs themselves, some 30 KB, are not kept: a spec
 * that needs its step and finds its key here computes them once more. */
typedef struct known_costs {
    const int *stage_layers; /* layers of each virtual stage; NULL: there is no model */
    double peak_B;           /* highest peak of any pipeline rank */
    double busy_s;           /* as in ms_estimate */
} known_costs;

/* Share of a step by which its bound may be too low. With it the bound of most specs follows from
 * the estimate without a second run of the clocks, which saves half of their time; estimates have
 * errors of this size. */
static const double BOUND_SLACK = 0.005;

/* The value of a key of a table: a part of estimates, or the refusal of all specs that need it. */
typedef struct known_item {
    void *item;         /* NULL: refused */
    const char *reason; /* text of the refusal; NULL: the diagnostics at that time kept no text */
} known_item;

/* Maximum size of the made_orders, and of all other parts, that an estimator keeps [B]. Beyond it
 * they are dropped, and made again where they are needed, so that the memory of a search does not
 * grow with its space. */
enum { MADE_MAX_B = 96 << 20, KEPT_MAX_B = 64 << 20 };

struct ms_estimator {
    ms_arena kept;    /* all parts that are kept, except each made_order */
    ms_arena made;    /* each made_order */
    int generation;   /* how often `made` was cleared, + 1 */
    ms_arena scratch; /* storage for one spec */
    ms_layout_storage space;
    ms_memo placements, orders, costs,
        layers;    /* known_item by placement_key, ms_job_order_key, cost_key
                  and layer_key; the items are a known_placement,
                  known_order, known_costs and ms_layer_times */
    ms_memo works; /* made by ms_work_bounds_init */
};

/* The state of the work on one spec. */
typedef struct estimating {
    ms_estimator *e;
    ms_diag *diag;
    ms_job job;
    known_placement *placement;
    known_order *order;
    known_costs *costs;
    int placement_number, order_number; /* numbers of placement and order in their tables */
    bool has_costs;                     /* job.costs are set */
    ms_partition_use use;               /* purpose of a balanced partition */
} estimating;

/* Make the tables of an estimator that keeps nothing yet. */
static void init_kept(ms_estimator *e) {
    ms_arena_init(&e->kept);
    ms_arena_init(&e->made);
    e->generation = 1;
    ms_memo_init(&e->placements, sizeof(placement_key), sizeof(known_item));
    ms_memo_init(&e->orders, sizeof(ms_job_order_key), sizeof(known_item));
    ms_memo_init(&e->costs, sizeof(cost_key), sizeof(known_item));
    ms_memo_init(&e->layers, sizeof(layer_key), sizeof(known_item));
    ms_work_bounds_init(&e->works);
}

/* Free all that an estimator keeps. */
static void release_kept(ms_estimator *e) {
    for (size_t i = 0; i < e->placements.values.count; i++) {
        known_placement *placement = MS_MEMO_VALUE(&e->placements, known_item, i)->item;
        if (placement != NULL) {
            ms_comm_classes_release(&placement->comm);
        }
    }
    ms_memo_release(&e->placements);
    ms_memo_release(&e->orders);
    ms_memo_release(&e->costs);
    ms_memo_release(&e->layers);
    ms_memo_release(&e->works);
    ms_arena_release(&e->kept);
    ms_arena_release(&e->made);
}

ms_estimator *ms_estimator_new(ms_arena *arena) {
    ms_estimator *e = MS_NEW(arena, ms_estimator, 1);
    if (e != NULL) {
        ms_arena_init(&e->scratch);
        ms_layout_storage_init(&e->space, NULL);
        init_kept(e);
    }
    return e;
}

void ms_estimator_free(ms_estimator *e) {
    if (e != NULL) {
        release_kept(e);
        ms_layout_storage_release(&e->space);
        ms_arena_release(&e->scratch);
    }
}

/* A copy of the reason why a spec was just refused, for later specs with the same key; NULL: none,
 * or no memory. */
static const char *keep_reason(const estimating *work) {
    const ms_buffer *reason = work->diag->reason;
    return reason == NULL ? NULL : ms_arena_strdup(&work->e->kept, ms_buffer_text(reason));
}

/* Find the item of a key in a table. The item of a new key is made by `make`, which reports a
 * refusal; a refusal is kept as well, and is returned for the same key without another report.
 *  *number_out: of the key in the table.  *item_out: NULL where it is refused. */
static ms_status find_known(estimating *work, ms_memo *table, const void *key,
                            ms_status (*make)(estimating *, void **), int *number_out,
                            void **item_out) {
    bool is_new = false;
    ms_status status = ms_memo_find_or_add(table, key, number_out, &is_new);
    if (status != MS_OK) {
        return status;
    }
    known_item *found = MS_MEMO_VALUE(table, known_item, *number_out);
    if (is_new) {
        status = make(work, &found->item);
        if (status != MS_OK) {
            *found = (known_item){NULL, status == MS_E_NOMEM ? NULL : keep_reason(work)};
        }
    } else if (found->item == NULL) {
        status = MS_E_INPUT;
        if (found->reason != NULL && work->diag->reason != NULL) {
            ms_buffer_puts(work->diag->reason, found->reason);
        }
    }
    *item_out = found->item;
    return status;
}

/* Copy a mesh of a spec so that it outlives the spec. Where ranks are placed on GPUs one by one,
 * their list of GPUs is copied to `arena` as well. */
static ms_status keep_mesh(ms_arena *arena, const ms_mesh *mesh, ms_mesh *copy) {
    *copy = *mesh;
    if (mesh->devices == NULL) {
        return MS_OK;
    }
    int *devices = MS_NEW(arena, int, mesh->ranks);
    if (devices != NULL) {
        memcpy(devices, mesh->devices, (size_t)mesh->ranks * sizeof *devices);
    }
    copy->devices = devices;
    return devices == NULL ? MS_E_NOMEM : MS_OK;
}

/* Make the known_placement of the job: copies of its meshes, and comm classes that borrow the
 * copies. Passed to find_known. */
static ms_status make_placement(estimating *work, void **placement_out) {
    ms_arena *arena = &work->e->kept;
    known_placement *placement = MS_NEW(arena, known_placement, 1);
    ms_status status =
        placement == NULL ? MS_E_NOMEM : keep_mesh(arena, &work->job.mesh, &placement->mesh);
    if (status == MS_OK && work->job.expert_mesh != NULL) {
        status = keep_mesh(arena, work->job.expert_mesh, &placement->expert_mesh);
    }
    if (status == MS_OK) {
        ms_job kept = work->job;
        kept.mesh = placement->mesh;
        kept.expert_mesh = work->job.expert_mesh == NULL ? NULL : &placement->expert_mesh;
        status = ms_comm_classes_init(&placement->comm, &kept, arena);
    }
    *placement_out = placement;
    return status;
}

/* Find the job's placement in the table, or make it. The key is cleared with memset and filled
 * field by field, since memos also compare the padding. */
static ms_status find_placement(estimating *work) {
    const ms_mesh *mesh = &work->job.mesh;
    placement_key key;
    void *placement = NULL;
    memset(&key, 0, sizeof key);
    key.cluster = work->job.platform;
    key.fidelity = work->job.spec.simulation.fidelity;
    for (int a = 0; a < mesh->axes; a++) {
        key.kinds[a] = (int)mesh->kinds[a];
        key.sizes[a] = mesh->sizes[a];
        key.strides[a] = mesh->strides[a];
    }
    memcpy(&key.placement, &work->job.spec.placement, sizeof key.placement);
    memcpy(&key.experts, &work->job.spec.experts, sizeof key.experts);
    memcpy(&key.algorithms, &work->job.spec.algorithms, sizeof key.algorithms);
    ms_status status = find_known(work, &work->e->placements, &key, make_placement,
                                  &work->placement_number, &placement);
    work->placement = placement;
    return status;
}

/* Make the made_order of the job's order of passes, unless it is there: build the program, and sort
 * its passes (order.c). The job gets the program. */
static ms_status open_order(estimating *work, known_order *known) {
    ms_estimator *e = work->e;
    ms_status status = MS_OK;
    if (known->generation != e->generation) {
        made_order *made = MS_NEW(&e->made, made_order, 1);
        bool has_order = work->job.program.actions != NULL;
        status = made == NULL ? MS_E_NOMEM : MS_OK;
        if (status == MS_OK && !has_order) {
            status = ms_job_order(&work->job, &e->made, work->diag);
        }
        if (status == MS_OK) {
            made->program = work->job.program;
            status =
                ms_order_make(&made->program, &e->made, &e->scratch, work->diag, &made->in_order);
        }
        known->made = made;
        known->generation = status == MS_OK ? e->generation : 0;
    }
    if (status == MS_OK) {
        work->job.program = known->made->program;
    }
    return status;
}

/* Keep a job's order without its actions, which belong to a made_order. */
static ms_status keep_order(estimating *work, ms_job *kept) {
    static ms_shard_move some_move; /* stands for all moves: the program has some */
    const ms_program *program = &work->job.program;
    int *stage_rank = MS_NEW(&work->e->kept, int, program->stages);
    if (stage_rank == NULL) {
        return MS_E_NOMEM;
    }
    memcpy(stage_rank, program->stage_rank, (size_t)program->stages * sizeof *stage_rank);
    *kept = work->job;
    kept->program.stage_rank = stage_rank;
    kept->program.actions = NULL;
    kept->program.shard_moves = program->shard_moves == NULL ? NULL : &some_move;
    return MS_OK;
}

/* Make the known_order of the job and its made_order: find the moments at which memory may peak and
 * count the passes of each kind. Passed to find_known. */
static ms_status make_order(estimating *work, void **order_out) {
    ms_estimator *e = work->e;
    known_order *known = MS_NEW(&e->kept, known_order, 1);
    ms_memory_model memory;
    if (known == NULL) {
        return MS_E_NOMEM;
    }
    const ms_program *program = &work->job.program;
    ms_status status = open_order(work, known);
    /* of the costs, moments need the number of slices only */
    const ms_stage_costs slices = {.slices = program->spec.slices};
    if (status == MS_OK) {
        status = ms_memory_model_init(program, &slices, &e->scratch, &memory);
    }
    if (status == MS_OK) {
        status = ms_memory_moments_find(&memory, &e->kept, &known->moments);
    }
    status = status == MS_OK ? ms_compute_count(program, &e->kept, &known->counts) : status;
    status = status == MS_OK ? keep_order(work, &known->job) : status;
    for (int i = 0; status == MS_OK && i < known->made->in_order.slot_count; i++) {
        const ms_order_slot *slot = &known->made->in_order.slots[i];
        known->passes |= 1U << slot->pass;
        known->passes |= slot->second_stage < 0 ? 0U : 1U << slot->second_pass;
    }
    *order_out = known;
    return status;
}

/* Find the job's order of passes in the table, or make it; the job gets the program, without its
 * actions (open_order). */
static ms_status find_order(estimating *work) {
    ms_job_order_key key;
    void *order = NULL;
    ms_job_find_order_key(&work->job, &key);
    ms_status status =
        find_known(work, &work->e->orders, &key, make_order, &work->order_number, &order);
    work->order = order;
    if (status == MS_OK) {
        ms_job_take_order(&work->job, &work->order->job);
    }
    return status;
}

/* Make the ms_layer_times of the job, for find_known. Faults are reported for the key `model` of
 * the spec. */
static ms_status make_layers(estimating *work, void **times_out) {
    ms_layer_times *times = MS_NEW(&work->e->kept, ms_layer_times, 1);
    ms_key_diag placed;
    *times_out = times;
    ms_key_diag_init(&placed, &work->job.spec, "model", work->diag);
    return times == NULL ? MS_E_NOMEM
                         : ms_layer_times_find(&work->job, &work->e->kept, &placed.diag, times);
}

/* The input of ms_step_estimate for the spec, with slack of the bound, without contention and
 * without the order. */
static ms_step_context step_context_of(const estimating *work) {
    return (ms_step_context){.comm = &work->placement->comm,
                             .space = &work->e->space,
                             .scratch = &work->e->scratch,
                             .bound_slack = BOUND_SLACK};
}

/* `open` of ms_partition_input: open the order of a job.  opener: the estimating. */
static ms_status open_for_partition(void *opener, const ms_order **order_out) {
    estimating *work = opener;
    ms_status status = open_order(work, work->order);
    *order_out = &work->order->made->in_order;
    return status;
}

/* Share the layers of a balanced partition among the stages; the spec has other partitions already.
 * The times of layers are computed once for all orders, since they take longer than the rest of an
 * estimate: the fields of the layout that depend on the order are left out of their key. */
static ms_status balance_layers(estimating *work) {
    layer_key key;
    int number = 0;
    void *times = NULL;
    if (work->job.layout.stage_layers != NULL) {
        return MS_OK;
    }
    memset(&key, 0, sizeof key);
    key.cluster = work->job.platform;
    memcpy(&key.model, &work->job.spec.model, sizeof key.model);
    memcpy(&key.precision, &work->job.precision, sizeof key.precision);
    memcpy(&key.layout, &work->job.layout, sizeof key.layout);
    key.layout.chunks = key.layout.directions = key.layout.slices = 0;
    key.layout.recompute_layers = 0;
    key.layout.stage_rank = NULL;
    memcpy(&key.host, &work->job.spec.host, sizeof key.host);
    key.placement = work->placement_number;
    ms_status status = find_known(work, &work->e->layers, &key, make_layers, &number, &times);
    if (status != MS_OK) {
        return status;
    }
    const ms_partition_input input = {.job = &work->job,
                                      .times = times,
                                      .open = open_for_partition,
                                      .opener = work,
                                      .context = step_context_of(work),
                                      .moments = &work->order->moments,
                                      .passes = work->order->passes,
                                      .use = work->use};
    return ms_partition_find(&input, &work->e->kept, &work->job.layout.stage_layers);
}

/* Compute the costs of all stages, in the scratch storage: those that the spec gives, or those of
 * the model, after its layers are shared out, unless they are already. Of layers that are alike
 * only a few are built (ms_model_outline). */
static ms_status cost_stages(estimating *work) {
    ms_job *job = &work->job;
    ms_arena *scratch = &work->e->scratch;
    ms_status status = MS_OK;
    if (!job->spec.has_model) {
        const ms_given_sizes sizes = {job->layout.pp, job->layout.chunks, job->layout.slices};
        status = ms_costs_build(&job->spec.costs, &sizes, scratch, work->diag, &job->costs);
    } else {
        if (job->layout.stage_layers == NULL) {
            status = ms_job_partition(job, &work->e->kept, work->diag);
            status = status == MS_OK ? balance_layers(work) : status;
        }
        status = status == MS_OK ? ms_model_outline(&job->spec.model, &job->layout, &job->precision,
                                                    &job->platform->gpu, work->order->passes,
                                                    scratch, work->diag, &job->costs)
                                 : status;
    }
    work->has_costs = status == MS_OK;
    return status;
}

/* Make the known_costs of the job, which has its order and placement. Passed to find_known. */
static ms_status make_costs(estimating *work, void **costs_out) {
    ms_estimator *e = work->e;
    ms_memory_model memory;
    known_costs *known = MS_NEW(&e->kept, known_costs, 1);
    const ms_stage_costs *costs = &work->job.costs;
    ms_status status = known == NULL ? MS_E_NOMEM : cost_stages(work);
    if (status == MS_OK) {
        status = ms_memory_model_init(&work->order->job.program, costs, &e->scratch, &memory);
    }
    if (status == MS_OK) {
        known->stage_layers = work->job.layout.stage_layers;
        known->peak_B = ms_memory_highest_B(&memory, &work->order->moments);
        known->busy_s = ms_compute_bound_s(&work->job, &work->order->counts, costs);
    }
    *costs_out = known;
    return status;
}

/* Find what follows from the costs of all stages in the table, or make it; the job gets its layers
 * of each stage. The key of a balanced partition has more fields than that of others, which so
 * share their costs among more specs. */
static ms_status find_costs(estimating *work) {
    const ms_job_spec *spec = &work->job.spec;
    cost_key key;
    void *costs = NULL;
    int number = 0;
    memset(&key, 0, sizeof key);
    key.cluster = spec->platform.cluster;
    memcpy(&key.model, &spec->model, sizeof key.model);
    memcpy(&key.given, &spec->costs, sizeof key.given);
    memcpy(&key.precision, &work->job.precision, sizeof key.precision);
    memcpy(&key.layout, &work->job.layout, sizeof key.layout);
    key.layout.stage_rank = NULL;
    memcpy(&key.partition, &spec->schedule.partition, sizeof key.partition);
    key.order = work->order_number;
    if (spec->schedule.partition.kind == MS_PARTITION_BALANCED) {
        key.shared.placement = work->placement_number;
        memcpy(&key.shared.host, &spec->host, sizeof key.shared.host);
        key.shared.sends = spec->schedule.sends;
        key.shared.step_end = spec->schedule.step_end;
        key.shared.steps = spec->simulation.steps;
        key.shared.use = work->use;
    }
    ms_status status = find_known(work, &work->e->costs, &key, make_costs, &number, &costs);
    work->costs = costs;
    if (status == MS_OK) {
        work->job.layout.stage_layers = work->costs->stage_layers;
    }
    return status;
}

/* Estimate the step of a spec that is laid out, and its bound. */
static ms_status run_step(const estimating *work, ms_spec_estimate *estimate) {
    ms_step_context context = step_context_of(work);
    context.order = &work->order->made->in_order;
    return ms_step_estimate(&work->job, &context, &estimate->step_s, &estimate->lower_bound_s);
}

/* Start the work on a spec: shape its job, and check all that needs no order of passes, no costs
 * and no placement.  O(axes). */
static ms_status start_spec(estimating *work, const ms_job_spec *spec) {
    work->e->space.diag = work->diag;
    ms_status status = ms_job_shape(spec, &work->e->scratch, work->diag, &work->job);
    /* checked first because the order of a thousand stages takes longer than the rest of an
     * estimate, and few models have as many layers */
    return status == MS_OK ? ms_job_check_layers(&work->job, work->diag) : status;
}

/* Find order, placement and costs of the spec, and with them its memory. The placement is needed
 * before the costs, as a balanced partition depends on it. */
static ms_status lay_out(estimating *work) {
    ms_status status = find_order(work);
    status = status == MS_OK ? find_placement(work) : status;
    return status == MS_OK ? find_costs(work) : status;
}

/* Whether the spec's highest peak of memory is at most the capacity of a GPU. */
static bool fits(const estimating *work) {
    const ms_gpu_type *gpu = &work->job.platform->gpu;
    return work->costs->peak_B <= gpu->hbm_B - gpu->reserve_B;
}

/* Estimate step, bound and memory of a spec. */
static ms_status run(estimating *work, const ms_job_spec *spec, ms_spec_estimate *estimate) {
    ms_work_bound early;
    ms_status status = start_spec(work, spec);
    if (status == MS_OK) {
        status = ms_work_bound_find(&work->e->works, &work->job, &work->e->scratch, &early);
    }
    status = status == MS_OK ? lay_out(work) : status;
    status = status == MS_OK && !work->has_costs ? cost_stages(work) : status;
    status = status == MS_OK ? open_order(work, work->order) : status;
    status = status == MS_OK ? run_step(work, estimate) : status;
    if (status == MS_OK) {
        estimate->peak_B = work->costs->peak_B;
        estimate->fits = fits(work);
        /* the bound of the step may be too low by BOUND_SLACK, and so below the early one */
        estimate->lower_bound_s = fmax(estimate->lower_bound_s, early.step_s);
        estimate->least =
            ms_job_price_use(&work->job, estimate->lower_bound_s, work->costs->busy_s);
    }
    return status;
}

/* End the work on a spec: clear the scratch storage, drop what is kept if it is too much, and
 * report a lack of memory.  doing: the work, for the report.  Returns `status`. */
static ms_status end_spec(estimating *work, ms_status status, const char *doing) {
    ms_estimator *e = work->e;
    ms_arena_clear(&e->scratch);
    if (e->made.used_B > MADE_MAX_B) {
        ms_arena_release(&e->made);
        e->generation++;
    }
    if (e->kept.used_B + e->costs.keys.count * sizeof(cost_key) > KEPT_MAX_B) {
        release_kept(e);
        init_kept(e);
    }
    if (status == MS_E_NOMEM) {
        ms_diag_error(work->diag, "out of memory while %s", doing);
    }
    return status;
}

ms_status ms_estimator_run(ms_estimator *estimator, const ms_job_spec *spec, ms_diag *diag,
                           ms_spec_estimate *estimate_out) {
    ms_spec_estimate estimate = {0};
    estimating work = {.e = estimator, .diag = diag, .use = MS_PARTITION_OF_CANDIDATE};
    ms_status status = run(&work, spec, &estimate);
    if (status == MS_OK) {
        *estimate_out = estimate;
    }
    return end_spec(&work, status, "estimating the step");
}

ms_status ms_estimator_fit(ms_estimator *estimator, const ms_job_spec *spec, ms_diag *diag,
                           double *peak_B_out, bool *fits_out) {
    estimating work = {.e = estimator, .diag = diag, .use = MS_PARTITION_TO_FIT};
    ms_status status = start_spec(&work, spec);
    status = status == MS_OK ? lay_out(&work) : status;
    if (status == MS_OK) {
        *peak_B_out = work.costs->peak_B;
        *fits_out = fits(&work);
    }
    return end_spec(&work, status, "finding a job's memory");
}

ms_status ms_estimator_bound(ms_estimator *estimator, const ms_job_spec *spec, ms_diag *diag,
                             ms_price_use *least_out) {
    ms_work_bound early;
    estimating work = {.e = estimator, .diag = diag};
    ms_status status = start_spec(&work, spec);
    if (status == MS_OK) {
        status = ms_work_bound_find(&estimator->works, &work.job, &estimator->scratch, &early);
    }
    if (status == MS_OK) {
        *least_out = ms_job_price_use(&work.job, early.step_s, early.busy_s);
    }
    return end_spec(&work, status, "bounding the step");
}

/* Find the balanced partition of a job that is laid out, but has no layers per stage yet. */
static ms_status partition(estimating *work) {
    work->e->space.diag = work->diag;
    ms_status status = find_order(work);
    status = status == MS_OK ? find_placement(work) : status;
    return status == MS_OK ? balance_layers(work) : status;
}

ms_status ms_layer_partition_balance(ms_job *job, ms_arena *arena, ms_diag *diag) {
    if (!job->spec.has_model || job->layout.stage_layers != NULL) {
        return MS_OK;
    }
    ms_arena own; /* an estimator for this job alone, released at the end */
    ms_arena_init(&own);
    estimating work = {
        .e = ms_estimator_new(&own), .diag = diag, .job = *job, .use = MS_PARTITION_OF_JOB};
    int stages = job->program.model_stages;
    int *layers = MS_NEW(arena, int, stages);
    ms_status status = work.e == NULL || layers == NULL ? MS_E_NOMEM : partition(&work);
    if (status == MS_OK) {
        memcpy(layers, work.job.layout.stage_layers, (size_t)stages * sizeof *layers);
        job->layout.stage_layers = layers;
    } else if (status == MS_E_NOMEM) {
        ms_diag_error(diag, "out of memory while sharing layers among stages");
    }
    ms_estimator_free(work.e);
    ms_arena_release(&own);
    return status;
}
