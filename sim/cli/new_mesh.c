/* Chooses the mesh of a new workload (`meshsim new`): goes through meshes that fill the GPUs,
 * estimates the step of each by closed forms without a simulation, and keeps the fastest that fits
 * in memory. A candidate is a mesh with its recomputation and ZeRO stage; it is described by sets,
 * overrides "key.path=value" of the job's base. */
#include "cli/new_mesh.h"

#include "cli/job_options.h"

/* CHANGES: sets of a candidate. EP_MAX: a larger ep costs more to try than it gains for a first
 * mesh. */
enum { CHANGES = 4, EP_MAX = 64 };

/* A candidate. */
typedef struct new_mesh {
    int tp, pp, ep, dp; /* sizes of the mesh's axes */
    int zero;           /* ZeRO stage: 0, 1 or 3 */
    bool is_recomputed; /* full recomputation of activations, else none */
} new_mesh;

/* State of the choice: the job, and the best candidate so far. */
typedef struct mesh_choice {
    const ms_invocation *call;
    const ms_new_job *job;
    ms_diag mute; /* for faults of candidates, most of which are expected and skipped */
    ms_estimator *estimator;
    bool has_base;
    ms_job_spec base; /* the job with the first candidate that could be read; the specs of all
                         further candidates are derived from it */
    bool has_best;
    ms_new_mesh best;
} mesh_choice;

/* List the sets of a candidate: mesh, recompute, data_parallel and schedule.partition. Where pp
 * does not divide the number of layers, the layers are partitioned by their cost. Before the base
 * is read that number is unknown, and the partition is even. *sets_out: in the call's arena.
 * Returns MS_OK; MS_E_NOMEM. */
static ms_status describe(const mesh_choice *choice, const new_mesh *candidate,
                          ms_words *sets_out) {
    ms_arena *arena = choice->call->arena;
    const char **items = MS_NEW(arena, const char *, CHANGES);
    if (items == NULL) {
        return MS_E_NOMEM;
    }
    bool is_even = !choice->has_base || choice->base.model.layers % candidate->pp == 0;
    items[0] = candidate->ep > 1
                   ? ms_arena_printf(
                         arena, "mesh={dp: %d, pp: %d, tp: %d, ep: %d, order: [pp, dp, ep, tp]}",
                         candidate->dp, candidate->pp, candidate->tp, candidate->ep)
                   : ms_arena_printf(arena, "mesh={dp: %d, pp: %d, tp: %d}", candidate->dp,
                                     candidate->pp, candidate->tp);
    items[1] = candidate->is_recomputed ? "recompute=full" : "recompute=none";
    items[2] = ms_arena_printf(arena, "data_parallel={zero: %d}", candidate->zero);
    items[3] = is_even ? "schedule.partition=even" : "schedule.partition=balanced";
    *sets_out = (ms_words){.items = items, .count = CHANGES};
    return arena->has_failed ? MS_E_NOMEM : MS_OK;
}

/* Read the job with the sets of a candidate, and keep it as the base. The job alone, which has no
 * mesh, could not be read. diag: receives the faults. Returns as ms_job_spec_read. */
static ms_status read_base(mesh_choice *choice, const ms_words *sets, ms_diag *diag) {
    ms_job_request request;
    if (!ms_cli_extend_request(&choice->job->base, sets, choice->call->arena, &request)) {
        return MS_E_NOMEM;
    }
    ms_status status = ms_job_spec_read(&request, choice->call->arena, diag, &choice->base);
    choice->has_base = status == MS_OK;
    return status;
}

/* Whether estimate `a` beats `b`: a job that fits beats one that does not; of two that fit the
 * shorter step, of two that do not the smaller peak of memory. */
static bool is_better(const ms_spec_estimate *a, const ms_spec_estimate *b) {
    if (a->fits != b->fits) {
        return a->fits;
    }
    return a->fits ? a->step_s < b->step_s : a->peak_B < b->peak_B;
}

/* Find whether the computations of a candidate alone take at least as long as the step of the best
 * candidate. Such a candidate needs no estimate. */
static ms_status judge_bound(mesh_choice *choice, const ms_job_spec *spec, bool *is_hopeless_out) {
    ms_price_use least;
    *is_hopeless_out = false;
    if (!choice->has_best || !choice->best.estimate.fits) {
        return MS_OK;
    }
    ms_status status = ms_estimator_bound(choice->estimator, spec, &choice->mute, &least);
    *is_hopeless_out = status == MS_OK && least.step_s >= choice->best.estimate.step_s;
    return status;
}

/* Estimate one candidate, and keep it if it is the best so far. Candidates that make no job are
 * skipped. Returns MS_OK, also for a skipped candidate; MS_E_NOMEM; MS_E_IO. */
static ms_status consider(mesh_choice *choice, const new_mesh *candidate) {
    ms_words sets;
    ms_job_spec spec;
    ms_spec_estimate estimate;
    bool is_hopeless = false;
    ms_status status = describe(choice, candidate, &sets);
    if (status == MS_OK && !choice->has_base) {
        status = read_base(choice, &sets, &choice->mute);
    }
    status = status == MS_OK ? ms_job_spec_read_again(&choice->base, &sets, choice->call->arena,
                                                      &choice->mute, &spec)
                             : status;
    status = status == MS_OK ? judge_bound(choice, &spec, &is_hopeless) : status;
    if (status == MS_OK && is_hopeless) {
        return MS_OK;
    }
    status = status == MS_OK ? ms_estimator_run(choice->estimator, &spec, &choice->mute, &estimate)
                             : status;
    if (status == MS_OK && (!choice->has_best || is_better(&estimate, &choice->best.estimate))) {
        choice->best = (ms_new_mesh){.sets = sets, .estimate = estimate};
        choice->has_best = true;
    }
    return status == MS_E_NOMEM || status == MS_E_IO ? status : MS_OK;
}

/* Context of a walk over all meshes with one ZeRO stage. */
typedef struct mesh_visit {
    mesh_choice *choice;
    int zero;
} mesh_visit;

/* Consider a mesh with and without recomputation: `visit` of ms_mesh_walk_all, with a mesh_visit as
 * its context. Skipped are meshes whose data-parallel ranks do not divide the batch and, once the
 * base is read and so the model is known, those with more stages than layers, or with ep above 1
 * for a model without experts. A single replica has ZeRO 0. */
static ms_status consider_mesh(void *context, const ms_axis_sizes *sizes) {
    const mesh_visit *visit = context;
    mesh_choice *choice = visit->choice;
    const ms_model *model = choice->has_base ? &choice->base.model : NULL;
    int replicas = sizes->dp * sizes->ep; /* ep ranks have sequences of their own, as dp ranks do */
    bool is_odd =
        model != NULL && (sizes->pp > model->layers || (sizes->ep > 1 && model->moe.experts == 0));
    /* ZeRO 3 gathers the parameters before every pass; it is tried without a pipeline only. */
    if (is_odd || choice->job->batch % replicas != 0 || (visit->zero == 3 && sizes->pp > 1)) {
        return MS_OK;
    }
    new_mesh candidate = {.tp = sizes->tp,
                          .pp = sizes->pp,
                          .ep = sizes->ep,
                          .dp = sizes->dp,
                          .zero = replicas > 1 ? visit->zero : 0};
    ms_status status = consider(choice, &candidate);
    candidate.is_recomputed = true;
    return status == MS_OK ? consider(choice, &candidate) : status;
}

/* Consider all meshes that fill the GPUs, with one ZeRO stage: tp within a node, any pp, ep up to
 * EP_MAX, no cp. */
static ms_status consider_all(mesh_choice *choice, int zero) {
    const int gpus = choice->job->gpus;
    const ms_mesh_walk walk = {
        .ranks = gpus,
        .most = {.tp = choice->job->gpus_per_node, .pp = gpus, .cp = 1, .ep = EP_MAX}};
    mesh_visit visit = {.choice = choice, .zero = zero};
    return ms_mesh_walk_all(&walk, consider_mesh, &visit);
}

/* All meshes are estimated, first with ZeRO 1 and, if no mesh fits in memory, with ZeRO 3. If no
 * mesh makes a job, the cause is found with the plainest mesh. */
ms_status ms_cli_new_mesh(const ms_invocation *call, const ms_new_job *job, ms_new_mesh *mesh_out) {
    mesh_choice choice = {.call = call, .job = job};
    ms_diag_init_mute(&choice.mute);
    choice.estimator = ms_estimator_new(call->arena);
    if (choice.estimator == NULL) {
        return ms_diag_no_memory(call->diag);
    }
    /* ZeRO 1 shards optimizer states alone. ZeRO 3, which shards parameters too but communicates
     * more, is tried only where nothing fits in memory. */
    ms_status status = consider_all(&choice, 1);
    if (status == MS_OK && !(choice.has_best && choice.best.estimate.fits)) {
        status = consider_all(&choice, 3);
    }
    ms_estimator_free(choice.estimator);
    if (status != MS_OK) {
        return status == MS_E_NOMEM ? ms_diag_no_memory(call->diag) : status;
    }
    if (!choice.has_best) {
        /* No candidate made a job. Read the job once more with the plainest mesh, so that the fault
         * is reported; if that mesh is legal, only the batch can have stood in the way. */
        ms_words sets = {.count = 0};
        const new_mesh plain = {.tp = 1, .pp = 1, .ep = 1, .dp = job->gpus};
        status = describe(&choice, &plain, &sets);
        status = status == MS_OK ? read_base(&choice, &sets, call->diag) : status;
        if (status == MS_OK) {
            ms_diag_error(call->diag,
                          "no mesh of %d GPUs shares %d sequences a step; expected other --gpus or "
                          "another --batch",
                          job->gpus, job->batch);
        }
        return status == MS_E_NOMEM ? ms_diag_no_memory(call->diag) : MS_E_INPUT;
    }
    *mesh_out = choice.best;
    return MS_OK;
}
